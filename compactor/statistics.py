"""Counts of everything that happened in a session, from its ledger, in one pass, in chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import attrs

from .events import Event, EventType
from .ledger import Ledger, no_session
from .surface import hidden_by

CHUNK: Final = 1_000
"""Events that are held at once."""


@attrs.frozen
class Statistics:
    """What a session came to. *runs* counts compactions by the code they ended with; a commit is ``committed``.

    Times are seconds since the epoch; *seconds* is how long compactions took, from request to end.
    """

    session_id: str
    events: int
    lives: int
    """How often it was opened for writing."""
    messages: int
    """Appended, hidden ones included."""
    shown: int
    """On the surface now: messages, and a summary if there is one."""
    hidden: int
    """Messages that summaries in force stand for; what was rewound away is neither shown nor hidden."""
    pins: int
    turns: int
    runs: dict[str, int]
    undone: int
    rewound: int
    traces: int
    """Runs that have a start and no end; in the last life one may be running."""
    redactions: int
    units_hidden: int
    """What committed compactions took off the surface, all together."""
    ratio: float | None
    """Units after ÷ units before, over all committed compactions; None without any."""
    attempts: int
    seconds: float
    began: float
    changed: float

    def to_plain(self) -> dict[str, Any]:
        """As JSON data."""
        return attrs.asdict(self)


@attrs.define(eq=False)
class _Counting:
    kinds: Counter[EventType] = attrs.field(factory=Counter)
    runs: Counter[str] = attrs.field(factory=Counter)
    open: set[str] = attrs.field(factory=set)
    standing: dict[int, int] = attrs.field(factory=dict)
    """For each placed summary how many messages it stands for, those of a summary that it hides included."""
    undone: int = 0
    before: int = 0
    after: int = 0
    attempts: int = 0
    seconds: float = 0.0

    def count(self, event: Event) -> None:
        self.kinds[event.type] += 1
        match event.type:
            case EventType.COMPACTION_STARTED:
                self.open.add(event.data["run"])
            case EventType.SUMMARY_PLACED:
                self.standing[event.seq] = self.stands_for(hidden_by(event) or ())[0]
            case EventType.COMPACTION_ENDED:
                data = event.data
                self.open.discard(data["run"])
                self.runs[data["code"] or "committed"] += 1
                self.attempts += data.get("attempts", 0)
                self.seconds += data.get("seconds", 0.0)
                if data["code"] is None:
                    self.before += data.get("units_before", 0)
                    self.after += data.get("units_after", 0)
            case EventType.COMPACTION_UNDONE:
                self.undone += len(event.data["records"])
            case _:
                pass

    def stands_for(self, seqs: Sequence[int]) -> tuple[int, int]:
        """How many messages these entries are or stand for, and how many of those stand behind summaries."""
        behind = sum([self.standing.get(seq, 0) for seq in seqs])
        return behind + sum([seq not in self.standing for seq in seqs]), behind


async def statistics(ledger: Ledger, session_id: str) -> Statistics:
    """Count a session, as far as it has come now. INVALID_INPUT when the ledger does not hold it."""
    info = next((info for info in await ledger.sessions() if info.id == session_id), None)
    if info is None:
        raise no_session(session_id)
    counting = _Counting()
    for start in range(0, info.events, CHUNK):
        for event in await ledger.read(session_id, start, min(start + CHUNK, info.events)):
            counting.count(event)
    surface = await ledger.surface_at(session_id, info.events - 1)
    kinds = counting.kinds
    return Statistics(
        session_id,
        events=info.events,
        lives=kinds[EventType.SESSION_OPENED],
        messages=kinds[EventType.MESSAGE_APPENDED],
        shown=len(surface.order),
        hidden=counting.stands_for(surface.order)[1],
        pins=len(surface.pins),
        turns=kinds[EventType.TURN_SHOWN],
        runs=dict(counting.runs),
        undone=counting.undone,
        rewound=kinds[EventType.SURFACE_REWOUND],
        traces=len(counting.open),
        redactions=kinds[EventType.DATA_REDACTED],
        units_hidden=counting.before - counting.after,
        ratio=round(counting.after / counting.before, 6) if counting.before else None,
        attempts=counting.attempts,
        seconds=round(counting.seconds, 6),
        began=info.began,
        changed=info.changed,
    )
