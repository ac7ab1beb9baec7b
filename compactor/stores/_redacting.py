"""Redaction: the one change of an event, and how its bytes are made to be gone from the files."""

from __future__ import annotations

from ..events import Draft
from ..ledger import no_event
from ..surface import Surface
from ._indexing import replace
from ._rows import Head, Place, event_at, redacted_by
from ._writing import Landed, Recorded, record


def redact(
    place: Place, head: Head, surface: Surface, seq: int, tombstone: bytes, draft: Draft, *, now: float
) -> tuple[Landed, Recorded]:
    """Put *tombstone* in the place of what event *seq* says, and say why."""
    if not 0 <= seq < head.next:
        raise no_event(head.name, seq)
    # Written first: an owner who lost its session is told so, and no more.
    landed, recorded = record(place, head, surface, [draft], epoch=head.epoch, now=now)
    event = event_at(place, recorded.head, seq)
    replace(place, head, event, tombstone)
    place.connection.execute(
        "UPDATE events SET body = ?, redacted = ? WHERE id = ?", (*redacted_by(event, tombstone), head.id(seq))
    )
    return landed, recorded
