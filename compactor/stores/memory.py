"""A ledger in memory: the reference of the protocol. It survives nothing; epochs, markers and the chain are real."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import trio

from ..errors import CompactionError, ErrorCode
from ..events import Draft, Event, EventType, names_of, reseal, seal
from ..ledger import Lease, NamesTakenError, Origin, SessionInfo, busy, check_session_id, fenced, no_event, no_session
from ..searching import Query, scan, searchable
from ..surface import Log, Surface, hidden_by


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
    names: dict[str, int] = attrs.field(factory=dict)
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

    async def _checkpoint(self) -> None:
        await trio.lowlevel.checkpoint()
        if self._closed:
            raise CompactionError(ErrorCode.SESSION_CLOSED, "the ledger handle is closed", fix="open another handle")

    # ------------------------------------------------------------------------------------------------ owning

    async def acquire(self, session_id: str, *, owner: str, takeover: bool = False, origin: Origin | None = None) -> _MemoryLease:
        """Begin a new life of the session."""
        check_session_id(session_id)
        await self._checkpoint()
        shelf = self._shelves.get(session_id)
        held = None if shelf is None else shelf.lease
        if held is not None and not held.handle._closed and not takeover:
            raise busy(session_id, held.owner)
        opened: dict[str, Any] = {"owner": owner}
        if shelf is None:
            shelf = _Shelf(Surface(session_id))
            if origin is not None:
                opened |= self._copy(shelf, origin)
        elif origin is not None:
            raise CompactionError(
                ErrorCode.INVALID_INPUT, "exists already", where=f"session {session_id}", fix="give the fork another id"
            )
        lease = _MemoryLease(session_id, shelf.surface.epoch + 1, shelf.surface, owner, self)
        self._write(shelf, lease, [Draft(EventType.SESSION_OPENED, opened)])
        self._shelves[session_id] = shelf
        shelf.lease = lease
        return lease

    def _copy(self, shelf: _Shelf, origin: Origin) -> dict[str, Any]:
        """Take a prefix of another session over; gives what the opening event says of it."""
        parent = self._shelf(origin.session_id)
        if not 0 <= origin.seq < len(parent.events):
            raise no_event(origin.session_id, origin.seq)
        surface = shelf.surface
        for event in parent.events[: origin.seq + 1]:
            copied = reseal(event, session_id=surface.session_id, previous=surface.head)
            self._keep(shelf, copied)
            shelf.names |= dict.fromkeys(names_of(event), event.seq)
        return {"parent": {"session": origin.session_id, "seq": origin.seq, "digest": parent.events[origin.seq].digest.hex()}}

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

    # ----------------------------------------------------------------------------------------------- writing

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        """Write all or nothing."""
        await self._checkpoint()
        return self._write(self._own(lease), lease, drafts)

    async def redact(self, lease: Lease, seq: int, tombstone: bytes, draft: Draft) -> Event:
        """Replace the data of one event, and say why."""
        await self._checkpoint()
        shelf = self._own(lease)
        if not 0 <= seq < len(shelf.events):
            raise no_event(lease.session_id, seq)
        old = shelf.events[seq]
        (event,) = self._write(shelf, lease, [draft])
        shelf.events[seq] = attrs.evolve(old, body=tombstone, redacted=old.redacted or hashlib.sha256(old.body).digest())
        return event

    def _own(self, lease: Lease) -> _Shelf:
        shelf = self._shelves[lease.session_id]
        if shelf.lease is not lease:
            raise fenced(lease.session_id, shelf.surface.epoch, lease.epoch)
        return shelf

    def _write(self, shelf: _Shelf, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        surface, now = shelf.surface, self._clock()
        events: list[Event] = []
        taken: dict[str, int] = {}
        fresh: dict[str, int] = {}
        seq, previous = surface.next_seq, surface.head
        for draft in drafts:
            event = seal(draft, session_id=lease.session_id, seq=seq, time=now, epoch=lease.epoch, previous=previous)
            events.append(event)
            for name in names_of(draft):
                if name in shelf.names or name in fresh:
                    taken[name] = shelf.names.get(name, fresh.get(name, seq))
                fresh[name] = seq
            seq, previous = seq + 1, event.digest
        surface.check(events, Log(lease.session_id, shelf.events))
        if taken:
            raise NamesTakenError(taken)
        for event in events:
            self._keep(shelf, event)
        shelf.names |= fresh
        return tuple(events)

    @staticmethod
    def _keep(shelf: _Shelf, event: Event) -> None:
        shelf.surface.apply(event, Log(event.session_id, shelf.events))
        shelf.events.append(event)

    # ----------------------------------------------------------------------------------------------- reading

    def _shelf(self, session_id: str) -> _Shelf:
        shelf = self._shelves.get(session_id)
        if shelf is None:
            raise no_session(session_id)
        return shelf

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
        """The events from *start* up to *stop*; none for a session that does not exist."""
        await self._checkpoint()
        shelf = self._shelves.get(session_id)
        return tuple(shelf.events[start:stop]) if shelf else ()

    async def surface_at(self, session_id: str, seq: int | None = None) -> Surface:
        """The surface when *seq* had been folded in."""
        await self._checkpoint()
        shelf = self._shelf(session_id)
        if seq is None:
            return shelf.surface.copy()
        if not 0 <= seq < len(shelf.events):
            raise no_event(session_id, seq)
        return Log(session_id, shelf.events).fold(seq + 1)

    async def find(self, session_id: str, name: str) -> int | None:
        """The seq of the event with this name."""
        await self._checkpoint()
        shelf = self._shelves.get(session_id)
        return shelf.names.get(name) if shelf else None

    async def hiding(self, session_id: str, seq: int) -> int | None:
        """The summary that hides an event now."""
        await self._checkpoint()
        return self._hidden(self._shelf(session_id)).get(seq)

    @staticmethod
    def _hidden(shelf: _Shelf) -> dict[int, int]:
        """Hidden event → the summary that hides it, for everything that is hidden now."""
        found: dict[int, int] = {}
        summaries = list(shelf.surface.order)
        while summaries:
            summary = summaries.pop()
            hidden = hidden_by(shelf.events[summary]) or ()
            found |= dict.fromkeys(hidden, summary)
            summaries += hidden
        return found

    async def search(self, session_id: str, query: Query, limit: int) -> tuple[Event, ...]:
        """Hidden messages that match, by a plain scan."""
        await self._checkpoint()
        shelf = self._shelf(session_id)
        hidden = [shelf.events[seq] for seq in sorted(self._hidden(shelf))]
        messages = [event for event in hidden if event.type is EventType.MESSAGE_APPENDED]
        return tuple([messages[at] for at in scan(query, [searchable(event.data) for event in messages], limit)])

    async def index(self, session_id: str) -> None:  # noqa: ARG002
        """Nothing to do: a scan needs no index."""
        await self._checkpoint()

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """All sessions, in the order of their beginning."""
        await self._checkpoint()
        return tuple(
            [
                SessionInfo(name, len(shelf.events), shelf.surface.epoch, shelf.events[0].time, shelf.events[-1].time)
                for name, shelf in self._shelves.items()
            ]
        )
