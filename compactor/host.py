"""What a run and the actor need of a session: the face that the writer shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import trio

from .context import ActiveContext
from .ledger import Lease, Ledger
from .messages import Message
from .outcomes import Committed
from .policy import Sizing


class Host(Protocol):
    """What a run needs of its session."""

    unwritable: str | None
    """Why nothing may be written any more."""

    @property
    def id(self) -> str:
        """The session's id."""

    @property
    def context(self) -> ActiveContext:
        """What the model would be sent now."""

    @property
    def store(self) -> Ledger:
        """Where events go."""

    @property
    def lease(self) -> Lease:
        """The right to write them."""

    @property
    def sizing(self) -> Sizing:
        """The budget or policy."""

    @property
    def writing(self) -> trio.Lock:
        """Held from checking a write to applying it."""

    @property
    def after_commit(self) -> Callable[[Committed], Any] | None:
        """What to call after a commit; its messages are appended."""

    async def append(self, *messages: Any) -> tuple[Message, ...]:
        """Append messages."""

    def publish(self, context: ActiveContext) -> None:
        """Make *context* the snapshot."""
