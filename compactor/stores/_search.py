"""Search (skeleton)."""

from __future__ import annotations
from ..events import Event, EventType
from ..searching import Query, scan, searchable
from ._rows import Head, Place, walk
from ._folding import Rows, folded
from . import _spans


def forget(place, head, event, tombstone): ...


def search(place: Place, head: Head, query: Query, limit: int) -> list[Event]:
    past = Rows(place, head)
    hidden = sorted({s for _, h in _spans.in_force(past, folded(past, head.next).order) for s in h})
    past.meet(hidden)
    messages = [past.event(s) for s in hidden]
    messages = [e for e in messages if e.type is EventType.MESSAGE_APPENDED]
    return [messages[at] for at in scan(query, [searchable(e.data) for e in messages], limit)]


def index(place, *, session_id):
    return None, False
