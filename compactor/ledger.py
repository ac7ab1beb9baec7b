"""The ledger as stores offer it: the ``Ledger`` protocol, the right to write one session, and what a session may be called.

Stores keep events and know no policy. ``compactor.testing.check_ledger`` is the executable definition of the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import attrs

from .errors import CompactionError, ErrorCode, shown
from .events import Draft, Event
from .searching import Query
from .surface import Surface

_SESSION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


def check_session_id(session_id: object) -> str:
    """Session ids are data that ends up in file names and queries; so they are few characters, and checked."""
    if type(session_id) is not str or _SESSION_ID.fullmatch(session_id) is None:
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"{shown(session_id)} is not a session id",
            where="session_id",
            fix="use 1 to 128 of A-Z a-z 0-9 . _ : - and begin with a letter or digit",
        )
    return session_id


class NamesTakenError(CompactionError):
    """A batch was refused because other events have its names; *taken* says which, and the seqs of those events."""

    def __init__(self, taken: Mapping[str, int]) -> None:
        """Nothing of the batch was written."""
        count = len(taken)
        super().__init__(
            ErrorCode.INVALID_INPUT,
            f"{count} name{'s' if count > 1 else ''} of the batch {'are' if count > 1 else 'is'} taken by earlier events",
            where=f"event {min(taken.values())}",
            fix="give each message an id of its own",
        )
        self.taken = dict(taken)


def fenced(session_id: str, current: int, own: int) -> CompactionError:
    """FENCED: this owner's life is over."""
    return CompactionError(
        ErrorCode.FENCED,
        f"session {shown(session_id)} has a newer owner (epoch {current}, this one is {own})",
        where="ledger",
        fix="open the session again",
    )


def busy(session_id: str, owner: str) -> CompactionError:
    """BUSY: a living owner, named."""
    return CompactionError(
        ErrorCode.BUSY, f"session {shown(session_id)} is open: {owner}", where="ledger", fix="close it there, or wait"
    )


def no_session(session_id: str) -> CompactionError:
    """INVALID_INPUT for a session that the ledger does not hold."""
    return CompactionError(
        ErrorCode.INVALID_INPUT, f"the ledger has no session {shown(session_id)}", where="session_id", fix="sessions() lists them"
    )


def no_event(session_id: str, seq: int) -> CompactionError:
    """INVALID_INPUT for an event that the session does not have."""
    return CompactionError(
        ErrorCode.INVALID_INPUT, f"session {shown(session_id)} has no event {seq}", where="seq", fix="sessions() says how many"
    )


@attrs.frozen
class Origin:
    """Where a fork begins: another session of the same ledger, up to and with event *seq*."""

    session_id: str
    seq: int


@attrs.frozen
class SessionInfo:
    """One session of a ledger: how many events it has, its current life, and when the first and last event were written."""

    id: str
    events: int
    epoch: int
    began: float
    changed: float


class Lease(Protocol):
    """The right to write one session, from ``acquire`` until ``release``, or until a newer owner takes over."""

    @property
    def session_id(self) -> str:
        """The session."""

    @property
    def epoch(self) -> int:
        """The number of this life; every write carries it."""

    @property
    def surface(self) -> Surface:
        """The fold of everything that is durable; read it, never change it."""


class Ledger(Protocol):
    """What a store offers. ``compactor.testing.check_ledger`` is its executable definition.

    Cancellation: every method meets a checkpoint before it does anything and none after; Cancelled raised means
    nothing was recorded. A ``CompactionError`` from ``append`` means the same. Any other exception from ``append``
    means that nobody knows yet: the caller reads again.
    """

    async def acquire(self, session_id: str, *, owner: str, takeover: bool = False, origin: Origin | None = None) -> Lease:
        """Begin a new life of the session: epoch + 1, and a ``session/opened`` event. BUSY names a living owner.

        With *origin* the session must not exist: it begins with a copy of that prefix, and the event names its parent.
        """

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        """Write all or nothing, durably, in one transaction. FENCED when a newer owner exists.

        ``NamesTakenError`` when an earlier event, or one of the batch, has one of the names (``events.names_of``).
        """

    async def redact(self, lease: Lease, seq: int, tombstone: bytes, draft: Draft) -> Event:
        """Replace the data of one event by *tombstone*, and write *draft*, which says why; both or nothing."""

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
        """The events from seq *start* up to *stop*, exclusive; no ownership needed. What does not fit the chain is refused."""

    async def surface_at(self, session_id: str, seq: int | None = None) -> Surface:
        """The surface when *seq* had been folded in, or all of it. INVALID_INPUT without such a session or event."""

    async def find(self, session_id: str, name: str) -> int | None:
        """The seq of the event that has this name (``events.names_of``), or None."""

    async def hiding(self, session_id: str, seq: int) -> int | None:
        """The seq of the placed summary that hides event *seq* now, or None: it is on the surface, or was rewound away."""

    async def search(self, session_id: str, query: Query, limit: int) -> tuple[Event, ...]:
        """At most *limit* hidden messages that match, best first; what the search index does not hold yet is scanned."""

    async def index(self, session_id: str) -> None:
        """Bring the search index up to date with what is hidden. May be cancelled between its steps; nothing depends on it."""

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """All sessions, in the order of their beginning."""

    async def release(self, lease: Lease) -> None:
        """Give the session up; works inside a cancelled scope."""
