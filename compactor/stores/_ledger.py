"""``SqliteLedger``: a handle on a ledger file, as the ``Ledger`` protocol wants it.

Owns what Trio sees of the file: one lock around the one writer, a queue of appends, a few connections that read. Every call
meets a checkpoint first; what writes is then shielded until it has been applied, so there is none between.
"""

from __future__ import annotations

import copy
import functools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Self, TypeVar, cast

import attrs
import trio

from ..errors import CompactionError, ErrorCode, shown
from ..events import Draft, Event
from ..ledger import Lease, Origin, SessionInfo, check_session_id, fenced, no_event, no_session
from ..searching import Query
from ..surface import Surface
from . import _checking, _copying, _rows, _search, _spans
from ._folding import surface_at
from ._forks import begin
from ._indexing import advance
from ._leases import SqliteLease
from ._owners import claim
from ._queue import Job, Queue
from ._readers import Readers
from ._redacting import redact
from ._rows import Head, Place
from ._schema import Durability, check_file, check_library, check_schema, create
from ._writing import Action, Landed, Recorded, UnknownOutcomeError, Writer, record

READERS: Final = 4
"""Threads that read at once; more would wait for the same disk."""

T = TypeVar("T")


@attrs.define(eq=False, repr=False)
class SqliteLedger:
    """One handle on a ledger file; ``open_store`` gives it. Closed with ``aclose``."""

    path: str
    read_only: bool
    _clock: Callable[[], float]
    _writer: Writer
    _writing: trio.Lock = attrs.field(factory=trio.Lock)
    _queue: Queue = attrs.field(init=False)
    _readers: Readers = attrs.field(init=False)
    _leases: list[SqliteLease] = attrs.field(factory=list)
    _threads: trio.CapacityLimiter = attrs.field(factory=lambda: trio.CapacityLimiter(READERS))
    _closed: bool = False

    def __attrs_post_init__(self) -> None:
        self._queue = Queue(self._writing, self._commit)
        self._readers = Readers(self.path, self._writer.vfs)

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        vfs: str | None = None,
    ) -> Self:
        """Open a ledger file, or make one. *vfs* names what SQLite reaches the file through; tests inject faults there."""
        if durability not in ("full", "normal"):
            raise CompactionError(
                ErrorCode.INVALID_INPUT, f"{shown(durability)} is no durability", where="durability", fix='use "full" or "normal"'
            )
        check_library()
        # Behind all links, so that every name of a file has the same locks beside it.
        absolute = os.path.realpath(os.fspath(path))  # noqa: ASYNC240 - a few names, once
        ledger = cls(absolute, read_only, clock, Writer(absolute, durability, vfs))
        await trio.lowlevel.checkpoint()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(ledger._open)
        return ledger

    def _open(self) -> None:
        if not check_file(self.path):
            if self.read_only:
                raise CompactionError(ErrorCode.FILE_UNREADABLE, "does not exist", where=self.path, fix="check its name")
            create(self.path, vfs=self._writer.vfs)
        if self.read_only:
            try:
                self._readers.read(lambda place: check_schema(place.connection, self.path, writable=False))
            except BaseException:
                self._readers.close()
                raise
            return
        try:
            check_schema(self._writer.place().connection, self.path, writable=True)
        except BaseException:
            self._writer.close()
            raise

    async def aclose(self) -> None:
        """Close this handle; what it still owns can be taken over at once."""
        self._closed = True
        with trio.CancelScope(shield=True):
            async with self._writing:
                await trio.to_thread.run_sync(self._close, limiter=_UNLIMITED)

    def _close(self) -> None:
        for lease in self._leases:
            lease.claim.drop()
        self._leases.clear()
        self._readers.close()
        self._writer.close()

    # ------------------------------------------------------------------------------------------------ two ways in

    def _check_open(self) -> None:
        if self._closed:
            raise CompactionError(ErrorCode.SESSION_CLOSED, "the ledger handle is closed", fix="open another handle")

    def _check_writable(self) -> None:
        self._check_open()
        if self.read_only:
            raise CompactionError(
                ErrorCode.PERSISTENCE_FAILED, "was opened with read_only=True", where=self.path, fix="open it for writing"
            )

    async def _read(self, work: Callable[[Place], T]) -> T:
        """Read, in a thread, all of it in one snapshot."""
        await trio.lowlevel.checkpoint()
        self._check_open()
        return await trio.to_thread.run_sync(self._reading, work, limiter=self._threads)

    def _reading(self, work: Callable[[Place], T]) -> T:
        self._writer.check()
        return self._readers.read(work)

    async def _write(self, work: Callable[..., T], *args: Any) -> T:
        """Write, in a thread; never cancelled once it began."""
        await self._writing.acquire()
        try:
            self._check_writable()
            with trio.CancelScope(shield=True):
                given = await trio.to_thread.run_sync(work, *args, limiter=_UNLIMITED)
        finally:
            self._writing.release()
        return given

    def _one(self, action: Action[T]) -> T:
        """A transaction of one action."""
        try:
            (result,) = self._writer.transact([action])
        except UnknownOutcomeError as lost:
            what = "nobody knows whether this was recorded: the disk failed while it was committed"
            raise CompactionError(ErrorCode.COMMIT_UNKNOWN, what, where=self.path, fix="open the ledger again") from lost
        if isinstance(result, Exception):
            raise result
        return result

    # ------------------------------------------------------------------------------------------------------ owning

    @trio.lowlevel.enable_ki_protection
    async def acquire(self, session_id: str, *, owner: str, takeover: bool = False, origin: Origin | None = None) -> SqliteLease:
        """Begin a new life of the session."""
        check_session_id(session_id)
        await trio.lowlevel.checkpoint()
        self._check_writable()
        lease = await self._write(self._begin, session_id, owner, takeover, origin)
        self._leases.append(lease)
        return lease

    def _begin(self, session_id: str, owner: str, takeover: bool, origin: Origin | None) -> SqliteLease:
        held = claim(self.path, session_id, owner, takeover=takeover)
        try:
            now = self._clock()
            head, surface = self._one(lambda place: begin(place, session_id, owner=owner, origin=origin, now=now))
        except BaseException:
            held.drop()
            raise
        return SqliteLease(session_id, head.epoch, surface, head, held)

    @trio.lowlevel.enable_ki_protection
    async def release(self, lease: Lease) -> None:
        """Give the session up."""
        own = self._own(lease)
        own.released = True
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(own.claim.drop, limiter=_UNLIMITED)
        if own in self._leases:
            self._leases.remove(own)

    def _own(self, lease: Lease) -> SqliteLease:
        if not isinstance(lease, SqliteLease):
            raise CompactionError(ErrorCode.INVALID_INPUT, "is of another ledger", where="lease", fix="acquire the session here")
        return lease

    # ----------------------------------------------------------------------------------------------------- writing

    @trio.lowlevel.enable_ki_protection
    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        """Write all or nothing."""
        own = self._own(lease)
        await trio.lowlevel.checkpoint()
        self._check_writable()
        return await self._queue.append(Job(own, drafts))

    async def _commit(self, batch: Sequence[Job]) -> None:
        """Write what waits, in one transaction, and apply it."""
        now = self._clock()
        actions = [functools.partial(self._append, job.lease, job.drafts, now) for job in batch]
        try:
            self._check_writable()
            results = await trio.to_thread.run_sync(self._writer.transact, actions, limiter=_UNLIMITED)
        except (CompactionError, UnknownOutcomeError) as error:
            for job in batch:
                job.error = copy.copy(error)
                job.error.__cause__ = error.__cause__
            return
        for job, result in zip(batch, results, strict=True):
            if isinstance(result, Exception):
                job.error = result
                continue
            job.events = result.events
            _apply(job.lease, result)

    def _append(self, lease: SqliteLease, drafts: Sequence[Draft], now: float, place: Place) -> tuple[Landed | None, Recorded]:
        _check_held(lease)
        if not drafts:
            return None, Recorded((), lease.head)
        return record(place, lease.head, lease.surface, drafts, epoch=lease.epoch, now=now)

    @trio.lowlevel.enable_ki_protection
    async def redact(self, lease: Lease, seq: int, tombstone: bytes, draft: Draft) -> Event:
        """Replace the data of one event, and say why; then its bytes are wiped from the files."""
        own = self._own(lease)
        await trio.lowlevel.checkpoint()
        self._check_writable()
        now = self._clock()

        def action(place: Place) -> tuple[Landed | None, Recorded]:
            _check_held(own)
            return redact(place, own.head, own.surface, seq, tombstone, draft, now=now)

        async with self._writing:
            self._check_writable()
            with trio.CancelScope(shield=True):
                recorded = await trio.to_thread.run_sync(self._redact, action, limiter=_UNLIMITED)
                _apply(own, recorded)
        return recorded.events[0]

    def _redact(self, action: Action[Recorded]) -> Recorded:
        (recorded,) = self._writer.transact([action])
        if isinstance(recorded, Exception):
            raise recorded
        self._writer.scrub()
        return recorded

    # ----------------------------------------------------------------------------------------------------- reading

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
        """The events from *start* up to *stop*; none for a session that does not exist."""

        def work(place: Place) -> tuple[Event, ...]:
            head = _rows.head_of(place, session_id)
            if head is None:
                return ()
            end = head.next if stop is None else min(stop, head.next)
            return tuple(_rows.read(place, head, max(start, 0), end))

        return await self._read(work)

    async def surface_at(self, session_id: str, seq: int | None = None) -> Surface:
        """The surface when *seq* had been folded in."""

        def work(place: Place) -> Surface:
            head = _known(place, session_id)
            if seq is not None and not 0 <= seq < head.next:
                raise no_event(session_id, seq)
            return surface_at(place, head, head.next if seq is None else seq + 1)

        return await self._read(work)

    async def find(self, session_id: str, name: str) -> int | None:
        """The seq of the event with this name."""

        def work(place: Place) -> int | None:
            head = _rows.head_of(place, session_id)
            return None if head is None else _rows.find(place, head, name)

        return await self._read(work)

    async def hiding(self, session_id: str, seq: int) -> int | None:
        """The summary that hides an event now."""
        return await self._read(lambda place: _spans.hiding(place, _known(place, session_id), seq))

    async def search(self, session_id: str, query: Query, limit: int) -> tuple[Event, ...]:
        """Hidden messages that match: those with all terms, the latest first; then those with the rarest terms."""
        return await self._read(lambda place: tuple(_search.search(place, _known(place, session_id), query, limit)))

    async def index(self, session_id: str) -> None:
        """Bring the search index up to what is hidden. A handle that only reads leaves it as it is."""
        await self._read(lambda place: _known(place, session_id))
        while not self.read_only and await self._write(self._one, functools.partial(advance, session_id)):
            await trio.lowlevel.checkpoint()

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """All sessions, in the order of their beginning."""
        found = await self._read(_rows.heads)
        return tuple([SessionInfo(head.name, head.next, head.epoch, head.began, head.changed) for head in found])

    # ------------------------------------------------------------------------------------------------- the file itself

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger as it is now to a new file, while it is used. The copy is a ledger."""
        target = os.path.abspath(os.fspath(path))  # noqa: ASYNC240 - asks for the working directory, once
        await self._read(lambda place: _copying.copy(place, target))

    async def verify_file(self) -> tuple[str, ...]:
        """Let SQLite check the file, and compare everything that is kept beside the events with them; gives what is wrong.

        May be cancelled, and keeps nobody from writing.
        """
        try:
            faults = await self._read(_checking.pages)
            checks = await self._read(lambda place: list(_checking.checks(place)))
        except CompactionError as error:
            return (str(error),)
        for check in checks:
            while await self._read(check.advance):
                pass
            faults += check.faults
        return tuple(faults)


def _check_held(lease: SqliteLease) -> None:
    if lease.released:
        raise fenced(lease.session_id, lease.epoch, lease.epoch)


def _apply(lease: SqliteLease, recorded: Recorded) -> None:
    """Show an owner what was recorded for it."""
    lease.head = recorded.head
    if recorded.surface is not None:
        lease.surface = recorded.surface
        return
    for event in recorded.events:
        lease.surface.apply(event, _NO_PAST)


def _known(place: Place, session_id: str) -> Head:
    head = _rows.head_of(place, session_id)
    if head is None:
        raise no_session(session_id)
    return head


class _Unlimited:
    """The writer's lock lets one thread in at a time; to ask a limiter too would cost a round of the scheduler."""

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        """Let everybody in."""

    def release_on_behalf_of(self, borrower: object) -> None:
        """Nothing was taken."""


_UNLIMITED: Final = cast(trio.CapacityLimiter, _Unlimited())


class _NoPast:
    """What appends and replacements look back at when they are applied: nothing. All else is folded where it is written."""

    def event(self, seq: int) -> Event:
        raise AssertionError(seq)

    def order_at(self, seq: int) -> Sequence[int]:
        raise AssertionError(seq)


_NO_PAST: Final = _NoPast()
