"""A ledger in memory: the reference of the protocol. It survives nothing; epochs, markers and the chain are real."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import attrs
import trio

from ..errors import CompactionError, ErrorCode, shown
from ..ledger import Draft, Event, EventType, Lease, Surface, check_session_id, seal


@attrs.define(eq=False, repr=False)
class _MemoryLease:
    session_id: str
    epoch: int
    surface: Surface
    owner: str
    handle: MemoryLedger = attrs.field(repr=False)


@attrs.define(eq=False, repr=False)
class _Shelf:
    """All that is kept of one session."""

    surface: Surface
    events: list[Event] = attrs.field(factory=list)
    lease: _MemoryLease | None = None


@attrs.define(eq=False, init=False, repr=False)
class MemoryLedger:
    """One handle on a ledger in memory; *share* gives a second handle on the same one, as another process would have.

    *clock* gives the wall time of events, in seconds.
    """

    _shelves: dict[str, _Shelf]
    _clock: Callable[[], float]
    _closed: bool

    def __init__(self, share: MemoryLedger | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._shelves = {} if share is None else share._shelves
        self._clock = clock
        self._closed = False

    def _check_open(self) -> None:
        if self._closed:
            raise CompactionError(ErrorCode.SESSION_CLOSED, "the ledger handle is closed", fix="open another handle")

    async def acquire(self, session_id: str, *, owner: str, takeover: bool = False) -> _MemoryLease:
        """Begin a new life of the session."""
        check_session_id(session_id)
        await trio.lowlevel.checkpoint()
        self._check_open()
        shelf = self._shelves.get(session_id) or _Shelf(Surface(session_id))
        held = shelf.lease
        if held is not None and not held.handle._closed and not takeover:
            raise CompactionError(
                ErrorCode.BUSY,
                f"session {shown(session_id)} is open: {held.owner}",
                where="ledger",
                fix="close it there, or wait",
            )
        self._shelves[session_id] = shelf
        lease = _MemoryLease(session_id, shelf.surface.epoch + 1, shelf.surface, owner, self)
        self._write(shelf, lease, [Draft(EventType.SESSION_OPENED, {"owner": owner})])
        shelf.lease = lease
        return lease

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        """Write all or nothing."""
        await trio.lowlevel.checkpoint()
        self._check_open()
        shelf = self._shelves[lease.session_id]
        if shelf.lease is not lease:
            raise CompactionError(
                ErrorCode.FENCED,
                f"session {shown(lease.session_id)} has a newer owner (epoch {shelf.surface.epoch}, this one is {lease.epoch})",
                where="ledger",
                fix="open the session again",
            )
        return self._write(shelf, lease, drafts)

    def _write(self, shelf: _Shelf, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        surface, now = shelf.surface, self._clock()
        events: list[Event] = []
        seq, previous = surface.next_seq, surface.head
        for draft in drafts:
            event = seal(draft, session_id=lease.session_id, seq=seq, time=now, epoch=lease.epoch, previous=previous)
            events.append(event)
            seq, previous = seq + 1, event.digest
        surface.check(events)
        for event in events:
            surface.apply(event)
        shelf.events += events
        return tuple(events)

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
        """The events from *start* up to *stop*; none for a session that does not exist."""
        await trio.lowlevel.checkpoint()
        self._check_open()
        shelf = self._shelves.get(session_id)
        return tuple(shelf.events[start:stop]) if shelf else ()

    async def sessions(self) -> tuple[str, ...]:
        """The ids of all sessions, in the order of their beginning."""
        await trio.lowlevel.checkpoint()
        self._check_open()
        return tuple(self._shelves)

    async def release(self, lease: Lease) -> None:
        """Give the session up."""
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
        shelf = self._shelves[lease.session_id]
        if shelf.lease is lease:
            shelf.lease = None

    async def aclose(self) -> None:
        """Close this handle; what it still owns can be taken over at once."""
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
        self._closed = True
