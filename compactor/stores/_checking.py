"""Does the file agree with itself? SQLite's own check, and every projection made again from the events and compared.

Walks through a session in chunks, each in a snapshot of its own, so that a long check keeps nobody from writing and
can be cancelled; what is written meanwhile is not looked at. The chain of each event is checked as it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from ..errors import CompactionError
from ..events import Event, canonical, names_of
from ..surface import Surface
from ._faults import told
from ._folding import Rows, read_fold
from ._rows import CHUNK, Head, Place, heads, named, walk
from ._spans import in_force, stored


@attrs.define(eq=False)
class Check:
    """The check of one session, a chunk at a time."""

    head: Head
    """As it was when the check began: that is how far it goes."""
    surface: Surface = attrs.field(init=False)
    faults: list[str] = attrs.field(factory=list)
    names: int = 0
    _folds: int = 0

    def __attrs_post_init__(self) -> None:
        self.surface = Surface(self.head.name)

    def advance(self, place: Place) -> bool:
        """Check the next events; True when there are more."""
        stop = min(self.surface.next_seq + CHUNK, self.head.next)
        past = Rows(place, self.head)
        try:
            with told(place.path, "read"):
                checkpoints = self._checkpoints(place, stop)
                for events in walk(place, self.head, self.surface.next_seq, stop, previous=self.surface.head):
                    self._fold(past, events, checkpoints)
                for seq in checkpoints:
                    self._note(f"event {seq}", "a checkpoint of the fold stands behind the last event")
                if stop == self.head.next:
                    self._finish(place, past)
        except CompactionError as error:
            self.faults.append(str(error))
            return False
        return stop < self.head.next

    def _note(self, where: str, what: str) -> None:
        self.faults.append(f"session {self.head.name}, {where}: {what}")

    def _checkpoints(self, place: Place, stop: int) -> dict[int, Surface]:
        """The checkpoints that stand in the next chunk, by the seq that they were written behind."""
        found: dict[int, Surface] = {}
        rows = place.connection.execute(
            "SELECT id, state, sum FROM folds WHERE id >= ? AND id < ? ORDER BY id",
            (self.head.id(self.surface.next_seq), self.head.id(stop)),
        ).fetchall()
        for row in rows:
            surface = read_fold(self.head, row, place.path)
            found[surface.next_seq - 1] = surface
        return found

    def _fold(self, past: Rows, events: Sequence[Event], checkpoints: dict[int, Surface]) -> None:
        for event in events:
            self.surface.move(event, past)
            for name in names_of(event):
                self.names += 1
                if named(past.place, self.head, name) != event.seq:
                    self._note(f"event {event.seq}", "the index of names does not have one of its names")
            checkpoint = checkpoints.pop(event.seq, None)
            if checkpoint is not None:
                self._folds = checkpoint.next_seq
                if canonical(checkpoint.dump()) != canonical(self.surface.dump()):
                    self._note(f"event {event.seq}", "the checkpoint of the fold is not what the events before it give")

    def _finish(self, place: Place, past: Rows) -> None:
        """What can be told at the end only; a session that was written to since is not compared."""
        head = next((each for each in heads(place) if each.key == self.head.key), None)
        if head is None or head.next != self.head.next:
            return
        if (head.epoch, head.folded) != (self.surface.epoch, self._folds):
            self._note("head record", "names another owner, or another checkpoint, than the events")
        count = place.connection.execute("SELECT count(*) FROM names WHERE session = ?", (head.key,)).get
        if count != self.names:
            self._note("names", f"{count:,} are indexed, the events have {self.names:,}")
        spans = sorted(stored(place, head))
        if spans != sorted([(seq, summary) for summary, hidden in in_force(past, self.surface.order) for seq in hidden]):
            self._note("spans", "the index of what is hidden is not what the surface says")


def pages(place: Place) -> list[str]:
    """What SQLite itself finds wrong."""
    with told(place.path, "read"):
        rows = [str(row[0]) for row in place.connection.execute("PRAGMA integrity_check(100)")]
    return [] if rows == ["ok"] else [f"{place.path}: {row}" for row in rows]


def checks(place: Place) -> Iterator[Check]:
    """A check for each session."""
    return map(Check, heads(place))
