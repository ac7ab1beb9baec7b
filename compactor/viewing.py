"""``LedgerView``: what a ledger says of its sessions, for whoever looks in from outside. Reads only, needs no ownership."""

from __future__ import annotations

import os
from typing import Any, Protocol, runtime_checkable

import attrs

from .audit import Audit, Finding, verify
from .context import ActiveContext
from .errors import CompactionError, ErrorCode
from .history import context_at, originals
from .ledger import Ledger, SessionInfo
from .messages import Message
from .recall import Hit, Page, history_read, history_search
from .statistics import Statistics, statistics


@runtime_checkable
class FileLedger(Protocol):
    """What a ledger in a file offers beside the protocol."""

    async def verify_file(self) -> tuple[str, ...]:
        """What is wrong with the file itself."""

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy it."""


@attrs.frozen(eq=False)
class LedgerView:
    """A ledger, seen from outside."""

    store: Ledger = attrs.field(repr=False)
    """The ledger itself: single events, by ``read`` and ``find``."""

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """All sessions, in the order of their beginning."""
        return await self.store.sessions()

    async def surface_at(self, session_id: str, *, turn: int | None = None, seq: int | None = None) -> ActiveContext:
        """What the model was shown at *turn* (from 1; pending input included), or the surface as of event *seq*, or now.

        Costs what the surface costs, however long the ledger is. INVALID_INPUT without such a session, turn or event.
        """
        context, _shown = await context_at(self.store, session_id, turn=turn, seq=seq)
        return context

    async def transcript(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Message, ...]:
        """Every message as it was appended, hidden or not, from event *start* up to *stop*."""
        return await originals(self.store, session_id, start, stop)

    async def history_search(self, session_id: str, query: str, *, limit: int = 10, everywhere: bool = False) -> tuple[Hit, ...]:
        """Hidden messages that match, best first; *everywhere*: also what the model still sees."""
        return await history_search(self.store, session_id, query, limit=limit, everywhere=everywhere)

    async def history_read(self, session_id: str, record_id: str, cursor: str | None = None) -> Page:
        """One page of what a compaction hid."""
        return await history_read(self.store, session_id, record_id, cursor)

    async def statistics(self, session_id: str) -> Statistics:
        """Counts of everything that happened in a session."""
        return await statistics(self.store, session_id)

    async def verify(self, session_id: str | None = None) -> Audit:
        """Check one session, or all: chain, fold, pairing, coverage, digests. Says what is wrong where; repairs nothing.

        Of all of a file also its pages and everything that is kept beside the events.
        """
        audit = await verify(self.store, session_id)
        if session_id is None and isinstance(self.store, FileLedger):
            file = [Finding("", -1, "file", fault) for fault in await self.store.verify_file()]
            audit = attrs.evolve(audit, faults=(*audit.faults, *file))
        return audit

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy a ledger file as it is now to a new file, also while it is used."""
        if not isinstance(self.store, FileLedger):
            raise CompactionError(ErrorCode.INVALID_INPUT, "is in no file", where="ledger", fix="export its sessions")
        await self.store.backup(path)

    async def render(self, session_id: str, format: str, *, turn: int | None = None, seq: int | None = None) -> Any:  # noqa: A002
        """The surface at a turn or event as the arguments of a provider's request, in *format*."""
        from .formats import render_request  # noqa: PLC0415 - codecs load when a format is used

        return render_request(format, await self.surface_at(session_id, turn=turn, seq=seq))
