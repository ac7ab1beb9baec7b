"""Counts of everything that happened in a session, from its ledger, in one pass."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import attrs

from .events import Event, EventType
from .ledger import Ledger, no_session

CHUNK: Final = 1_000


@attrs.frozen
class Statistics:
    """What a session came to. *runs* counts compactions by the code they ended with; a commit is ``committed``."""

    session_id: str
    events: int
    lives: int
    """How often it was opened for writing."""
    messages: int
    """Appended, hidden ones included."""
    shown: int
    """On the surface now: messages, and a summary if there is one."""
    pins: int
    turns: int
    runs: dict[str, int]
    undone: int
    traces: int
    """Runs that have a start and no end."""
    redactions: int
    units_hidden: int
    """What committed compactions took off the surface, all together."""
    attempts: int
    seconds: float
    """In compactions, from request to end."""
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
    undone: int = 0
    units: int = 0
    attempts: int = 0
    seconds: float = 0.0

    def count(self, event: Event) -> None:
        self.kinds[event.type] += 1
        match event.type:
            case EventType.COMPACTION_STARTED:
                self.open.add(event.data["run"])
            case EventType.COMPACTION_ENDED:
                data = event.data
                self.open.discard(data["run"])
                self.runs[data["code"] or "committed"] += 1
                self.attempts += data.get("attempts", 0)
                self.seconds += data.get("seconds", 0.0)
                if data["code"] is None:
                    self.units += data["units_before"] - data["units_after"]
            case EventType.COMPACTION_UNDONE:
                self.undone += len(event.data["records"])
            case _:
                pass


async def statistics(ledger: Ledger, session_id: str) -> Statistics:
    """Count a session. INVALID_INPUT when the ledger does not hold it."""
    info = next((info for info in await ledger.sessions() if info.id == session_id), None)
    if info is None:
        raise no_session(session_id)
    counting = _Counting()
    for start in range(0, info.events, CHUNK):
        for event in await ledger.read(session_id, start, min(start + CHUNK, info.events)):
            counting.count(event)
    surface = await ledger.surface_at(session_id)
    kinds = counting.kinds
    return Statistics(
        session_id,
        info.events,
        kinds[EventType.SESSION_OPENED],
        kinds[EventType.MESSAGE_APPENDED],
        len(surface.order),
        len(surface.pins),
        surface.turns,
        dict(counting.runs),
        counting.undone,
        len(counting.open),
        kinds[EventType.DATA_REDACTED],
        counting.units,
        counting.attempts,
        round(counting.seconds, 6),
        info.began,
        info.changed,
    )
