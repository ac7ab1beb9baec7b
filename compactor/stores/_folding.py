"""The fold of a session, at any of its events, for the price of its surface: from a checkpoint, and few events after it.

A checkpoint is written when the events since the last one are as many as the surface has entries, and at least
``EVENTS_MIN``: so to fold from one costs no more than to read the surface does, and all of them together no more than
the events.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from ..events import Event, Restore, Rewind, canonical
from ..replay import spans
from ..surface import Surface
from ._faults import corrupt, told
from ._rows import Head, Place, event_at, walk

EVENTS_MIN: Final = 256
"""Events that a fold without a checkpoint may cost: a millisecond or two."""


@attrs.define(eq=False)
class Rows:
    """The past of a session, looked up in the file. ``meet`` reads many events at once."""

    place: Place
    head: Head
    _met: dict[int, Event] = attrs.field(factory=dict)
    _orders: dict[int, Sequence[int]] = attrs.field(factory=dict)

    def event(self, seq: int) -> Event:
        """The event *seq*."""
        return self._met.get(seq) or event_at(self.place, self.head, seq)

    def order_at(self, seq: int) -> Sequence[int]:
        """The order of the surface when *seq* had been folded in."""
        if seq not in self._orders:
            self._orders[seq] = folded(self, seq + 1).order
        return self._orders[seq]

    def meet(self, seqs: Iterable[int]) -> None:
        """Read events that will be asked for."""
        wanted = set(seqs)
        for start, stop in spans(wanted):
            for events in walk(self.place, self.head, start, stop):
                self._met |= {event.seq: event for event in events if event.seq in wanted}


def due(surface: Surface, folded_before: int, seq: int) -> bool:
    """Tell whether a checkpoint has to be written when the next event is *seq*."""
    return seq - folded_before >= max(EVENTS_MIN, len(surface.order) + len(surface.pins))


def fold_in(past: Rows, surface: Surface, events: Iterable[Event]) -> int:
    """Fold events in that are written already, with a checkpoint wherever one is due; gives where the last one stands."""
    last = past.head.folded
    move = surface.move
    for seq, event in enumerate(events, surface.next_seq + 1):
        move(event, past)
        # After an edit always, so that no fold has to look back again: edits of edits would cost ever more.
        if (seq - last >= EVENTS_MIN and due(surface, last, seq)) or type(event.op) in (Restore, Rewind):
            put_fold(past.place, past.head, surface)
            last = surface.next_seq
    return last


def link(past: Rows, surface: Surface) -> None:
    """Find what the fold left to be looked up."""
    past.meet([seq for seq in (*surface.order, *surface.pins.values()) if seq not in surface.digests])
    surface.link(past)


def put_fold(place: Place, head: Head, surface: Surface) -> None:
    """Write a checkpoint."""
    state = canonical(surface.dump())
    place.connection.execute("INSERT INTO folds VALUES (?, ?, ?)", (head.id(surface.next_seq - 1), state, _sum(head, state)))


def _sum(head: Head, state: bytes) -> bytes:
    return hashlib.sha256(f"{head.name}|".encode() + state).digest()[:16]


def read_fold(head: Head, row: Sequence[Any], path: str) -> Surface:
    """A checkpoint, as it was written."""
    id_, state, checksum = row
    if type(state) is not bytes or checksum != _sum(head, state):
        raise corrupt(path, f"the checkpoint of session number {head.key} was changed", event=id_ - head.id(0))
    surface = Surface.load(head.name, json.loads(state))
    if head.id(surface.next_seq - 1) != id_:
        raise corrupt(path, f"a checkpoint of session number {head.key} stands at another place", event=id_ - head.id(0))
    return surface


def folded(past: Rows, stop: int) -> Surface:
    """The surface after the first *stop* events, without what ``link`` finds."""
    place, head = past.place, past.head
    row = place.connection.execute(
        "SELECT id, state, sum FROM folds WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1", (head.id(0), head.id(stop))
    ).fetchone()
    surface = Surface(head.name) if row is None else read_fold(head, row, place.path)
    for events in walk(place, head, surface.next_seq, stop, previous=surface.head):
        for event in events:
            surface.move(event, past)
    return surface


def surface_at(place: Place, head: Head, stop: int) -> Surface:
    """The surface after the first *stop* events."""
    with told(place.path, "read"):
        past = Rows(place, head)
        surface = folded(past, stop)
        link(past, surface)
    if stop == head.next and surface.head != head.digest:
        raise corrupt(place.path, "is not the one that the head record of its session names", event=stop - 1)
    return surface
