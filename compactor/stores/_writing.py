"""The one writer of a file: transactions, what becomes of them, and what an append writes. Runs in threads, one at a time.

A transaction takes several actions, each of which may be refused without harm to the others. A commit has three
outcomes. Where SQLite reports an error the heads are read again: they tell whether it landed. If it did not, its pages may
still stand in the write-ahead log, behind the end that everybody knows, and a later recovery could take them for good;
so another commit is put in their place before anybody is told that nothing was written. Where that fails too, nobody
knows: this handle then reads and writes no more, for only opening the file again can tell.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import TypeVar

import apsw
import attrs

from ..errors import CompactionError, ErrorCode, shown
from ..events import Append, Draft, Event, Restore, Rewind, names_of, seal_all
from ..ledger import NamesTakenError, fenced
from ..surface import Surface
from . import _spans
from ._faults import corrupt, fault, told
from ._folding import Rows, due, fold_in, link
from ._rows import Head, Place, digest_before, head_at, named, put_events, put_head, put_names
from ._schema import Durability, connect

T = TypeVar("T")
Landed = Callable[[Place], bool]
"""Tells from the file whether a write is in it."""
Action = Callable[[Place], tuple[Landed | None, T]]
"""Writes something, or nothing; gives what tells that it landed, and what the caller wants to know."""


class UnknownOutcomeError(Exception):
    """A commit was sent, and whether it landed cannot be read: no error of this package, as the protocol wants it."""


@attrs.define(eq=False)
class Writer:
    """The connection that writes."""

    path: str
    durability: Durability
    vfs: str | None
    unknown: bool = False
    """Nobody knows what the last commit did."""
    unscrubbed: bool = False
    """Redacted bytes may still stand in the write-ahead log."""
    _place: Place | None = None

    def place(self) -> Place:
        """The connection, made again if it was lost."""
        self.check()
        if self._place is None:
            with told(self.path, "written"):
                connection = connect(self.path, writable=True, durability=self.durability, vfs=self.vfs)
            self._place = Place(connection, self.path)
        return self._place

    def check(self) -> None:
        """Refuse everything once an outcome is unknown."""
        if self.unknown:
            raise CompactionError(
                ErrorCode.FILE_UNREADABLE,
                "nobody knows whether the last write was recorded: the disk failed while it was committed",
                where=self.path,
                fix="check the disk, then open the ledger again: that tells",
            )

    def scrub(self) -> None:
        """Empty the write-ahead log, which holds earlier pages; if somebody reads one of them for long, when this is closed."""
        self.unscrubbed = True
        with contextlib.suppress(apsw.Error, CompactionError):
            row = self.place().connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self.unscrubbed = row is None or row[0] != 0

    def close(self) -> None:
        """Close the connection."""
        if self.unscrubbed and self._place is not None:
            self.scrub()
        place, self._place = self._place, None
        if place is not None:
            with contextlib.suppress(apsw.Error):
                place.connection.close()

    def transact(self, actions: Sequence[Action[T]]) -> list[T | Exception]:
        """Run actions in one transaction; give what each of them gave, or why it was refused. Raises what befell all of them."""
        place = self.place()
        try:
            place.connection.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            raise fault(error, self.path, "written") from error
        results: list[T | Exception] = []
        written: list[Landed] = []
        try:
            for action in actions:
                landed, result = self._run(place, action, several=len(actions) > 1)
                results.append(result)
                if landed is not None:
                    written.append(landed)
        except BaseException:
            self._roll_back(place)
            raise
        if not written:
            self._roll_back(place)
            return results
        try:
            place.connection.execute("COMMIT")
        except apsw.Error as error:
            self._resolve(place, written, error)
        return results

    def _run(self, place: Place, action: Action[T], *, several: bool) -> tuple[Landed | None, T | Exception]:
        if several:
            place.connection.execute("SAVEPOINT action")
        refused: Exception
        try:
            given = action(place)
        except CompactionError as error:
            refused = error
        except apsw.Error as error:
            if not place.connection.in_transaction:  # SQLite has rolled everything back
                raise fault(error, self.path, "written") from error
            refused = fault(error, self.path, "written")
            refused.__cause__ = error
        except Exception as bug:  # noqa: BLE001 - whatever it is, it is not the others'
            refused = bug
        else:
            if several:
                place.connection.execute("RELEASE action")
            return given
        if several:
            place.connection.execute("ROLLBACK TO action")
            place.connection.execute("RELEASE action")
        return None, refused

    def _roll_back(self, place: Place) -> None:
        """End the transaction; a connection that cannot is given up, which ends it too."""
        try:
            if place.connection.in_transaction:
                place.connection.execute("ROLLBACK")
        except apsw.Error:
            self.close()

    def _resolve(self, place: Place, written: Sequence[Landed], error: apsw.Error) -> None:
        """Find out what became of a commit that was answered with an error; return when it landed."""
        self._roll_back(place)
        try:
            now = self.place()
            if all(landed(now) for landed in written):
                return
            if not isinstance(error, apsw.FullError):  # which says that the last page could not be written
                now.connection.execute("BEGIN IMMEDIATE")
                now.connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'mends'")
                now.connection.execute("COMMIT")
        except (apsw.Error, CompactionError) as lost:
            self.close()
            self.unknown = True
            raise UnknownOutcomeError(self.path) from lost
        raise fault(error, self.path, "written") from error


def has(head: Head, place: Place) -> bool:
    """Tell whether the file has what *head* stands for; a newer owner may have written more since."""
    now = head_at(place, head.key)
    return now.next >= head.next and digest_before(place, head, head.next) == head.digest


# ------------------------------------------------------------------------------------------------------------ recording


@attrs.frozen
class Recorded:
    """What one session's write came to. *surface* takes the place of the owner's, where it had to be folded here."""

    events: tuple[Event, ...]
    head: Head
    surface: Surface | None = None


def record(
    place: Place, head: Head, surface: Surface, drafts: Sequence[Draft], *, epoch: int, now: float
) -> tuple[Landed, Recorded]:
    """Seal, check and write *drafts* behind *head*, whose surface is *surface*; it is left as it is."""
    session_id, start = head.name, head.next
    events = seal_all(drafts, session_id=session_id, seq=start, time=now, epoch=epoch, previous=head.digest)
    seq = start + len(events)
    fresh: dict[str, int] = {}
    taken: dict[str, int] = {}
    for at, draft in enumerate(drafts, start):
        for name in names_of(draft):
            if name in fresh:
                taken[name] = fresh[name]
            fresh[name] = at
    ops = {type(event.op) for event in events}
    moves = not ops <= {Append, NoneType}
    looks_back = Restore in ops or Rewind in ops
    after = Head(head.key, session_id, epoch, seq, events[-1].digest, head.began, now, head.folded)
    # First of all, so that an owner who lost its session is told that, and not what its successor wrote.
    if not put_head(place, head, after):
        raise _behind(place, head, epoch)
    surface.check(events, Rows(place, head))
    _claim_names(place, head, fresh, taken)
    put_events(place, head, events)
    if not moves and not due(surface, head.folded, seq):
        return functools.partial(has, after), Recorded(tuple(events), after)
    past = Rows(place, after)
    folded: Surface | None = None
    if looks_back or due(surface, head.folded, seq):
        folded = surface.copy()
        last = fold_in(past, folded, events)
        if looks_back:
            link(past, folded)
        if last != head.folded:
            before, after = after, attrs.evolve(after, folded=last)
            put_head(place, before, after)
    if moves:
        _spans.keep(past, events, folded.order if folded is not None else ())
    return functools.partial(has, after), Recorded(tuple(events), after, folded)


def _behind(place: Place, head: Head, epoch: int) -> CompactionError:
    """Why a session does not end where its owner thinks."""
    now = head_at(place, head.key)
    if now.epoch != epoch:
        return fenced(head.name, now.epoch, epoch)
    return CompactionError(
        ErrorCode.PERSISTENCE_FAILED,
        f"session {shown(head.name)} does not end where its owner left it",
        where=place.path,
        fix="close the session and open it again",
    )


def _claim_names(place: Place, head: Head, fresh: Mapping[str, int], taken: Mapping[str, int]) -> None:
    """Write the names of a batch, or say which of them are taken."""
    if not taken:
        try:
            put_names(place, head, fresh.items())
        except apsw.ConstraintError:
            pass
        else:
            return
    earlier = {name: named(place, head, name) for name in fresh}
    known = dict(taken) | {name: seq for name, seq in earlier.items() if seq is not None and seq < head.next}
    if not known:
        raise corrupt(place.path, f"two names of session number {head.key} have one hash")
    raise NamesTakenError(known)
