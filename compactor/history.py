"""What a ledger says of a session: its context now, or as it was shown at any turn, and the transcript of everything.

Reads through the ``Ledger`` protocol only, and never more than a surface: what it costs does not grow with the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .context import ActiveContext
from .errors import CompactionError, ErrorCode, shown
from .events import Event, EventType
from .ledger import Ledger
from .messages import Message
from .plain import SESSION_LIMITS
from .reading import read_one
from .replay import RECORDS_KEPT, context_of, spans
from .surface import Surface, hidden_by


async def fetch(ledger: Ledger, session_id: str, seqs: Iterable[int]) -> dict[int, Event]:
    """These events, and few others, by seq."""
    found: dict[int, Event] = {}
    for start, stop in spans(seqs):
        events = await ledger.read(session_id, start, stop)
        for seq in range(start, stop):
            event = events[seq - start] if seq - start < len(events) else None
            if event is None or (event.seq, event.session_id) != (seq, session_id):
                raise CompactionError(
                    ErrorCode.LEDGER_CORRUPT,
                    f"is missing in session {shown(session_id)}",
                    where=f"event {seq}",
                    fix="verify tells what else is wrong; restore the ledger from a backup",
                )
            found[seq] = event
    return found


async def load(
    ledger: Ledger,
    session_id: str,
    surface: Surface,
    *,
    pending: Iterable[Any] = (),
    replaced: Mapping[int, Event] = MappingProxyType({}),
) -> ActiveContext:
    """The context that *surface* shows, *pending* messages after it; *replaced* events count instead of the ledger's."""
    events = {**await fetch(ledger, session_id, (*surface.order, *surface.pins.values())), **replaced}
    records = await _records(ledger, session_id, surface, events)
    return context_of(surface, events, records, SESSION_LIMITS, pending=pending)


async def _records(ledger: Ledger, session_id: str, surface: Surface, events: dict[int, Event]) -> list[dict[str, Any]]:
    """The records of the compactions in force, oldest first: each summary hides the one before it."""
    records: list[dict[str, Any]] = []
    event = events[surface.order[0]] if surface.order else None
    while event is not None and len(records) < RECORDS_KEPT:
        hidden = hidden_by(event)
        if hidden is None:
            break
        records.insert(0, event.data["record"])
        event = (await fetch(ledger, session_id, hidden[:1]))[hidden[0]]
    if len(records) < RECORDS_KEPT:
        records = [*await _adopted(ledger, session_id, surface, event), *records]
    return records


async def _adopted(ledger: Ledger, session_id: str, surface: Surface, oldest: Event | None) -> list[dict[str, Any]]:
    """The records that came with an adopted context, where they still tell of *oldest*, the first event that counts."""
    adopted = await ledger.find(session_id, "records")
    if adopted is None or adopted >= (surface.next_seq if oldest is None else oldest.seq):
        return []
    event, *after = await ledger.read(session_id, adopted, adopted + 2)
    # A summary that was adopted stands behind them, and a rewind may have taken it away.
    with_summary = any(each.type is EventType.SUMMARY_PLACED and hidden_by(each) is None for each in after)
    if with_summary and (oldest is None or oldest.seq != adopted + 1):
        return []
    records: list[dict[str, Any]] = event.data["records"]
    return records


async def context_at(
    ledger: Ledger, session_id: str, *, turn: int | None = None, seq: int | None = None
) -> tuple[ActiveContext, Event | None]:
    """What the model was shown at a turn, pending input included, or the surface as of event *seq*, or as it is now.

    With *turn* also its ``turn/shown`` event. INVALID_INPUT without such a turn or event.
    """
    if turn is None:
        return await load(ledger, session_id, await ledger.surface_at(session_id, seq)), None
    found = await ledger.find(session_id, f"turn:{turn}")
    if found is None:
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"session {shown(session_id)} has no turn {turn}",
            where="turn",
            fix="turns are counted from 1; statistics() says how many there were",
        )
    (event,) = await ledger.read(session_id, found, found + 1)
    surface = await ledger.surface_at(session_id, found)
    return await load(ledger, session_id, surface, pending=event.data.get("shown", ())), event


async def originals(ledger: Ledger, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Message, ...]:
    """Every message as it was appended, in order, hidden or not: what happened, rather than what the model is sent."""
    events = await ledger.read(session_id, start, stop)
    return tuple([read_one(event.data)[0] for event in events if event.type is EventType.MESSAGE_APPENDED])
