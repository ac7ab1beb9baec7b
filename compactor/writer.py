"""The session's writer: check, write, apply, in seq order, under one lock.

Owns the two published values. ``snapshot`` is assigned by ``publish`` alone; ``context`` is the snapshot and every later
append. After a write there is no checkpoint until it has been applied, so what is recorded is what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import trio

from .appending import Appends
from .context import ActiveContext, with_message, with_records, with_requirements
from .errors import CompactionError, ErrorCode, kind_name, shown
from .events import APPEND, Draft, Event, EventType, canonical
from .identity import Ids
from .ledger import Lease, Ledger
from .messages import AssistantMessage, Message, Requirement, ToolResult, message_to_plain
from .outcomes import Committed, Outcome
from .policy import Sizing
from .replay import RECORDS_KEPT, adopting
from .turns import Turn

_REOPEN = "close the session and open it again"


@attrs.define(eq=False, init=False, repr=False)
class Writer:
    """Everything that a session writes, but for the markers and summaries of its runs."""

    store: Ledger
    lease: Lease
    sizing: Sizing
    format: str | None
    after_commit: Callable[[Committed], Any] | None
    snapshot: ActiveContext
    context: ActiveContext
    writing: trio.Lock
    unwritable: str | None
    _ids: Ids
    _new_id: Callable[[], str]
    _appends: Appends

    def __init__(
        self,
        store: Ledger,
        lease: Lease,
        context: ActiveContext,
        *,
        sizing: Sizing,
        format: str | None,  # noqa: A002
        after_commit: Callable[[Committed], Any] | None,
        new_id: Callable[[], str],
    ) -> None:
        self.store = store
        self.lease = lease
        self.sizing = sizing
        self.format = format
        self.after_commit = after_commit
        self.writing = trio.Lock()
        self.unwritable = None
        self._new_id = new_id
        self._ids = Ids(new_id, complete=lease.epoch == 1)
        self._appends = Appends(self, self._ids, format)
        self.rebase(context)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.lease.session_id

    @property
    def replies(self) -> int:
        """How many assistant messages were ever appended; no compaction takes one away."""
        return self._ids.replies

    def publish(self, context: ActiveContext) -> None:
        """The one assignment of ``snapshot``."""
        self.snapshot = self.context = context

    def rebase(self, context: ActiveContext) -> None:
        """Publish a context that shows other events than the one before: as opened, or as an edit left it."""
        # The surface names its events in the order of its messages, behind the summary.
        self._ids.meet(self.lease.surface.order[context.summary is not None :], context.messages)
        self.publish(context)

    async def append(self, *messages: Any, usage: Mapping[str, Any] | None = None) -> tuple[Message, ...]:
        """Append messages, all or none; what many tasks append at once becomes durable together."""
        return await self._appends.append(messages, usage)

    async def _record(self, drafts: list[Draft], context: ActiveContext) -> None:
        """Write, then apply, with no checkpoint between: what is recorded is what is shown."""
        events = await self.write(drafts)
        self.context = context
        for draft, event in zip(drafts, events, strict=True):
            self._ids.note(event.type, event.seq, draft.data)

    async def write(self, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        """One transaction. When its answer is lost, the ledger is read again: it knows."""
        if self.unwritable is not None:  # since this write began to wait for the lock
            raise CompactionError(ErrorCode.COMMIT_UNKNOWN, self.unwritable, where=self.id, fix=_REOPEN)
        start = self.lease.surface.next_seq
        try:
            return await self.store.append(self.lease, drafts)
        except CompactionError:
            raise
        except Exception as error:
            events = await self._read_again(start, start + len(drafts), error)
            if [event.body for event in events] == [canonical(draft.data) for draft in drafts]:
                return events
            what = f"the ledger raised {kind_name(error)}, and nothing was written"
            raise CompactionError(ErrorCode.PERSISTENCE_FAILED, what, where=self.id, fix="try again") from error

    async def _read_again(self, start: int, stop: int, lost: Exception) -> tuple[Event, ...]:
        try:
            with trio.CancelScope(shield=True):
                events = await self.store.read(self.id, start, stop)
        except Exception:  # noqa: BLE001 - nobody can know
            self.unwritable = "nobody can tell whether an append was recorded: the ledger cannot be read"
            raise CompactionError(ErrorCode.COMMIT_UNKNOWN, self.unwritable, where=self.id, fix=_REOPEN) from lost
        return events

    async def pin(self, text: str, name: str) -> None:
        """Pin a requirement."""
        async with self.writing:
            pinned = (*self.context.requirements, Requirement(text, id=name))
            context = with_requirements(self.context, pinned)
            await self._record([Draft(EventType.REQUIREMENT_PINNED, {"id": name, "content": text})], context)

    async def unpin(self, name: str, *, in_hand: Callable[[], bool]) -> None:
        """Take a requirement away, unless a run is *in_hand*; a new base begins."""
        async with self.writing:
            if in_hand():
                raise CompactionError(ErrorCode.BUSY, "a compaction is in hand", where=self.id, fix="wait for it, or cancel it")
            kept = tuple([requirement for requirement in self.context.requirements if requirement.id != name])
            if len(kept) == len(self.context.requirements):
                raise CompactionError(
                    ErrorCode.INVALID_INPUT, f"{shown(name)} is not pinned", where="unpin", fix="see context.requirements"
                )
            context = with_requirements(self.context, kept)
            await self._record([Draft(EventType.REQUIREMENT_UNPINNED, {"id": name})], context)
            self.publish(context)

    async def close_calls(self, reason: str, ids: Sequence[str]) -> tuple[ToolResult, ...]:
        """Answer open calls with results that are marked as synthetic; never cancelled."""
        with trio.CancelScope(shield=True):
            async with self.writing:
                context, drafts, closed = self.context, list[Draft](), list[ToolResult]()
                for call_id in ids or context.open_calls:
                    result = _closing(context, call_id, reason, f"m-{self._new_id()}")
                    context, message = with_message(context, result)
                    drafts.append(Draft(EventType.MESSAGE_APPENDED, message_to_plain(message), APPEND))
                    closed.append(result)
                if drafts:
                    await self._record(drafts, context)
        return tuple(closed)

    async def begin(self, context: ActiveContext) -> None:
        """Take a whole context over; only a session without any content may."""
        async with self.writing:
            if self.lease.surface.order or self.lease.surface.pins:
                raise CompactionError(
                    ErrorCode.INVALID_INPUT, "has content already", where=f"session {self.id}", fix="open it without context=..."
                )
            drafts = adopting(context)
            context = with_records(context, context.compactions[-RECORDS_KEPT:])
            if drafts:
                await self._record(drafts, context)
            self.publish(context)

    async def show(
        self, pending: Sequence[Any], *, overhead: int, limit: int, model: str | None, outcome: Outcome | None
    ) -> Turn:
        """Record that the model is shown the surface as of here, and *pending*."""
        async with self.writing:
            surface = self.lease.surface
            context, extra = self._appends.with_pending(pending)
            fits = context.units + overhead <= limit
            turn = Turn(surface.turns + 1, context, context.units, fits, self.format, outcome)
            data = {
                "turn": turn.number,
                "surface": surface.digest,
                "units": self.context.units,
                "pending": turn.units - self.context.units,
                "overhead": overhead,
                "format": self.format,
                "model": model,
            }
            if extra:
                data["shown"] = extra
            await self.write([Draft(EventType.TURN_SHOWN, data)])
        return turn

    def units_with(self, pending: Sequence[Any]) -> int:
        """The units of the context with messages that are not appended yet."""
        return self._appends.with_pending(pending)[0].units


def _closing(context: ActiveContext, call_id: str, reason: str, message_id: str) -> ToolResult:
    for message in context.messages:
        if type(message) is AssistantMessage:
            for call in message.tool_calls:
                if call.id == call_id and call_id in context.open_calls:
                    meta = {"synthetic": True, "reason": reason}
                    return ToolResult(call, f"[no result was recorded: {reason}]", is_error=True, id=message_id, meta=meta)
    raise CompactionError(
        ErrorCode.INVALID_INPUT, f"{shown(call_id)} is not an open call", where="close_calls", fix="see open_calls"
    )
