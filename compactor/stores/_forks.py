"""How a session begins: with nothing, with what it has, or with a copy of a prefix of another one."""

from __future__ import annotations

from typing import Any

import attrs

from ..errors import CompactionError, ErrorCode
from ..events import Draft, EventType, reseal
from ..ledger import Origin, no_event, no_session
from ..surface import Surface
from . import _spans
from ._folding import Rows, fold_in, link, surface_at
from ._rows import Head, Place, head_of, new_head, put_events, put_head, walk
from ._writing import Landed, record


def begin(place: Place, session_id: str, *, owner: str, origin: Origin | None, now: float) -> tuple[Landed, tuple[Head, Surface]]:
    """Begin a new life of a session; gives its head record and its surface."""
    opened: dict[str, Any] = {"owner": owner}
    head = head_of(place, session_id)
    if head is None:
        if origin is None:
            head, surface = new_head(place, session_id, now), Surface(session_id)
        else:
            head, surface, parent = _copy(place, session_id, origin)
            opened["parent"] = parent
    elif origin is not None:
        raise CompactionError(
            ErrorCode.INVALID_INPUT, "exists already", where=f"session {session_id}", fix="give the fork another id"
        )
    else:
        surface = surface_at(place, head, head.next)
    draft = Draft(EventType.SESSION_OPENED, opened)
    landed, recorded = record(place, head, surface, [draft], epoch=surface.epoch + 1, now=now)
    if recorded.surface is not None:
        surface = recorded.surface
    else:
        surface.apply(recorded.events[0], Rows(place, recorded.head))
    return landed, (recorded.head, surface)


def _copy(place: Place, session_id: str, origin: Origin) -> tuple[Head, Surface, dict[str, Any]]:
    """Take a prefix over, under another name and so with other digests; names, folds and spans with it."""
    parent = head_of(place, origin.session_id)
    if parent is None:
        raise no_session(origin.session_id)
    if not 0 <= origin.seq < parent.next:
        raise no_event(origin.session_id, origin.seq)
    surface, last = Surface(session_id), b""
    fresh = new_head(place, session_id, parent.began)
    past = Rows(place, fresh)
    for events in walk(place, parent, 0, origin.seq + 1):
        copies, previous, last = [], past.head.digest, events[-1].digest
        for event in events:
            copies.append(reseal(event, session_id=session_id, previous=previous))
            previous = copies[-1].digest
        put_events(place, past.head, copies)
        past.head = attrs.evolve(past.head, next=copies[-1].seq + 1, digest=previous)
        past.head = attrs.evolve(past.head, folded=fold_in(past, surface, copies))
    head = past.head
    put_head(place, fresh, head)
    place.connection.execute(
        "INSERT INTO names SELECT ?, hash, seq FROM names WHERE session = ? AND seq <= ?", (head.key, parent.key, origin.seq)
    )
    link(past, surface)
    _spans.renew(past, surface.order)
    return head, surface, {"session": origin.session_id, "seq": origin.seq, "digest": last.hex()}
