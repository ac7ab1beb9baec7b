"""``LedgerView``: what a ledger says of its sessions, for whoever looks in from outside. Reads only, needs no ownership."""

from __future__ import annotations

from typing import Any

import attrs

from .context import ActiveContext
from .history import context_at, originals
from .ledger import Ledger, SessionInfo
from .messages import Message


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

    async def render(self, session_id: str, format: str, *, turn: int | None = None, seq: int | None = None) -> Any:  # noqa: A002
        """The surface at a turn or event as the arguments of a provider's request, in *format*."""
        from .formats import render_request  # noqa: PLC0415 - codecs load when a format is used

        return render_request(format, await self.surface_at(session_id, turn=turn, seq=seq))
