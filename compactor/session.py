"""``open_session``: an agent's conversation that compacts itself while the agent goes on.

Owns: the session's writer (one lock: check, write, apply, in seq order), its actor (a child task that takes one
request at a time through the machine), and the two published values. ``snapshot`` is assigned by ``publish`` alone;
``context`` is the snapshot and every later append.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Literal

import attrs
import trio
from trio.lowlevel import enable_ki_protection

from .actor import Actor, WhenRunning
from .context import (
    ActiveContext,
    BudgetOptions,
    Contextual,
    SummaryRequest,
    build_live_context,
    choose_boundary,
    with_message,
    with_requirements,
)
from .errors import CompactionError, ErrorCode, shown
from .identity import Ids
from .ledger import APPEND, Draft, Event, EventType, Lease, Ledger, check_session_id
from .machine import GRACE, Machine, require_trio
from .messages import AssistantMessage, Message, Requirement, ToolResult, message_to_plain
from .outcomes import Missed, Outcome, TransitionRecord
from .phases import Phase
from .plain import SESSION_LIMITS
from .policy import Budget, Policy, Sizing
from .reading import read_one
from .replay import adopting, replayed
from .requests import Stream
from .stores import MemoryLedger
from .summarizers import DigestSummarizer
from .tracing import Logger, log_to


@attrs.frozen
class Plan:
    """What a compaction would do now: cut at *boundary* (None: nothing), which ids it would hide, and the numbers."""

    boundary: int | None
    hidden_message_ids: tuple[str, ...] = attrs.field(repr=lambda ids: f"<{len(ids)} ids>")
    units: int
    threshold: int
    options: BudgetOptions

    @property
    def due(self) -> bool:
        """True when the context is over its threshold."""
        return self.units > self.threshold


def plan_compaction(context: ActiveContext, sizing: Sizing) -> Plan:
    """Decide, purely, what a compaction of *context* would do under a ``Budget`` or a ``Policy``."""
    options = sizing.options(context)
    boundary = choose_boundary(context, options)
    ids = context.messages.before(boundary).ids if boundary else ()
    return Plan(boundary, ids, context.units, sizing.threshold(context), options)


@contextlib.asynccontextmanager
async def open_session(
    ledger: Ledger | None = None,
    *,
    session_id: str | None = None,
    context: Contextual | None = None,
    policy: Policy | Budget | Sizing | None = None,
    summarizer: Callable[[SummaryRequest], Any] | None = None,
    auto: bool = True,
    grace: float = GRACE,
    logger: Logger | None = None,
    new_id: Callable[[], str] = lambda: secrets.token_hex(6),
) -> AsyncIterator[Session]:
    """Open a session for writing; ``async with`` gives the ``Session``.

    *ledger* None keeps it in memory. *context* is what a new session begins with. *policy* is a ``Policy`` or a
    ``Budget``. *auto* compacts in the background when an append crosses the threshold. *grace* is how long cancelled
    user code may take to end. Raises BUSY when somebody else has the session open.

    Leaving ends a run in hand as cancelled, unless it is committing.
    """
    require_trio("open_session")
    store = MemoryLedger() if ledger is None else ledger
    name = check_session_id(f"s-{new_id()}" if session_id is None else session_id)
    first = None if context is None else build_live_context(context, limits=SESSION_LIMITS)
    lease = await store.acquire(name, owner=f"process {os.getpid()}")
    failure: BaseException | None = None
    session: Session | None = None
    try:
        events = await store.read(name)
        async with trio.open_nursery() as nursery:
            session = Session(
                store,
                lease,
                nursery,
                events,
                sizing=policy or Policy(),
                summarizer=summarizer or DigestSummarizer(),
                auto=auto,
                grace=grace,
                logger=logger,
                new_id=new_id,
            )
            try:
                if first is not None:
                    await session.begin(first)
                yield session
            except BaseException as raised:  # noqa: BLE001 - raised again below, outside the nursery, so that it stays bare
                failure = raised
            await session.aclose()
    finally:
        await store.release(lease)
    crash = session.crash if session is not None else None
    if isinstance(crash, KeyboardInterrupt | SystemExit):
        raise crash
    if crash is not None:
        raise CompactionError(
            ErrorCode.INTERNAL, "the session's actor crashed", fix="report it, and open the session again"
        ) from crash
    if failure is not None:
        raise failure


class Session:
    """A live conversation. Made by ``open_session`` only. Attribute reads are plain, whole, and need no lock."""

    id: str
    snapshot: ActiveContext
    """The last published state: as opened, then as of each commit."""
    context: ActiveContext
    """The snapshot and everything appended since: what the model would be sent now."""

    def __init__(
        self,
        store: Ledger,
        lease: Lease,
        nursery: trio.Nursery,
        events: Sequence[Event],
        *,
        sizing: Sizing,
        summarizer: Callable[[SummaryRequest], Any],
        auto: bool,
        grace: float,
        logger: Logger | None,
        new_id: Callable[[], str],
    ) -> None:
        self.id = lease.session_id
        self.store = store
        self.lease = lease
        self.sizing = sizing
        self.writing = trio.Lock()
        self.unwritable: str | None = None
        self._log = log_to(logger)
        self._new_id = new_id
        self._streams: list[Stream] = []
        self._ids = Ids(new_id)
        self._closing = False
        for event in events:
            self._ids.note(event.type, event.seq, event.data)
        self.publish(replayed(self.id, events, SESSION_LIMITS))
        self._actor = Actor(self, nursery, self._observe, summarizer=summarizer, auto=auto, grace=grace, new_id=new_id)

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.phase.name} {self.context.units} units>"

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def phase(self) -> Phase:
        """Where the run in hand stands; IDLE without one."""
        return self._actor.machine.phase

    @property
    def last_outcome(self) -> Outcome | None:
        """What the last run ended with; None before the first."""
        return self._actor.last_outcome

    @property
    def machine(self) -> Machine:
        """The machine, for the test kit: it can be made to stand still."""
        return self._actor.machine

    @property
    def crash(self) -> BaseException | None:
        """What ended the actor, if something did; raised when the session is left."""
        return self._actor.crash

    @property
    def pressure(self) -> float:
        """How full the context is: 1.0 at the threshold."""
        return self.context.units / self.sizing.threshold(self.context)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of tool calls that wait for their result."""
        return self.context.open_calls

    def plan(self) -> Plan:
        """What a compaction would do now. Changes nothing."""
        return plan_compaction(self.context, self.sizing)

    @contextlib.contextmanager
    def transitions(self, size: int = 256) -> Iterator[trio.MemoryReceiveChannel[TransitionRecord | Missed]]:
        """Follow the machine: a channel of transition records. A reader that is *size* behind gets one ``Missed(n)``."""
        stream, receive = Stream.open(size)
        self._streams.append(stream)
        try:
            yield receive
        finally:
            self._streams.remove(stream)
            stream.close()
            receive.close()

    def _observe(self, record: TransitionRecord) -> None:
        self._log(record)
        for stream in self._streams:
            stream.send(record)

    # ------------------------------------------------------------------------------------------------ writing

    def _check_usable(self) -> None:
        require_trio("a session")
        if self._closing:
            raise CompactionError(ErrorCode.SESSION_CLOSED, "the session is closed", where=self.id, fix="open it again")
        if self.unwritable is not None:
            raise CompactionError(
                ErrorCode.COMMIT_UNKNOWN, self.unwritable, where=self.id, fix="close the session and open it again"
            )

    @enable_ki_protection
    async def append(self, *messages: Any) -> tuple[Message, ...]:
        """Append messages, all or none, and give them as they are kept: with ids, and immutable.

        A message is a noun or plain data of this project. Cancelled raised means: not recorded. The same id with the
        same content again is a retry and does nothing; with other content it is INVALID_INPUT. A result without a
        waiting call is INVALID_TRANSCRIPT. A call id that was used before is made distinct, and its result follows.
        """
        self._check_usable()
        # A free lock is taken without a scheduler round: the store's own checkpoint follows before anything changes.
        try:
            self.writing.acquire_nowait()
        except trio.WouldBlock:
            await self.writing.acquire()
        try:
            context, drafts, kept = self.context, list[Draft](), list[Message]()
            for value in messages:
                plain = self._ids.filled(value)
                known = await self._known(plain)
                if known is not None:
                    kept.append(known)
                    continue
                context, message = with_message(context, self._ids.distinct(plain, context.open_calls))
                drafts.append(Draft(EventType.MESSAGE_APPENDED, message_to_plain(message), APPEND))
                kept.append(message)
            if drafts:
                await self._record(drafts, context)
            else:
                await trio.lowlevel.checkpoint()
        finally:
            self.writing.release()
        self._actor.consider()
        return tuple(kept)

    async def _record(self, drafts: list[Draft], context: ActiveContext) -> None:
        """Write, then apply, with no checkpoint between: what is recorded is what is shown."""
        events = await self.store.append(self.lease, drafts)
        self.context = context
        for draft, event in zip(drafts, events, strict=True):
            self._ids.note(event.type, event.seq, draft.data)

    async def _known(self, plain: dict[str, Any]) -> Message | None:
        """The message that a retried append would append again, or None when its id is new."""
        seq = self._ids.seq_of(plain)
        if seq is None:
            return None
        (event,) = await self.store.read(self.id, seq, seq + 1)
        message, _tally = read_one(event.data)
        again, _tally = read_one(plain)
        if self._ids.original(message_to_plain(message)) != message_to_plain(again):
            raise CompactionError(
                ErrorCode.INVALID_INPUT,
                f"message id {shown(message.id)} was appended before, with other content",
                where="append",
                fix="give each message an id of its own",
            )
        return message

    @enable_ki_protection
    async def pin(self, text: str, *, id: str | None = None) -> str:  # noqa: A002 - the public face says so
        """Pin a requirement: a rule or fact that no compaction touches. Gives its id. Cancelled: not recorded."""
        self._check_usable()
        name = f"r-{self._new_id()}" if id is None else id
        async with self.writing:
            pinned = (*self.context.requirements, Requirement(text, id=name))
            context = with_requirements(self.context, pinned)
            await self._record([Draft(EventType.REQUIREMENT_PINNED, {"id": name, "content": text})], context)
        self._actor.consider()
        return name

    @enable_ki_protection
    async def unpin(self, id: str) -> None:  # noqa: A002 - the public face says so
        """Take a requirement away. BUSY while a run is in hand: it was selected with the pins of its beginning."""
        self._check_usable()
        async with self.writing:
            if self._actor.current is not None:
                raise CompactionError(ErrorCode.BUSY, "a compaction is in hand", where=self.id, fix="wait for it, or cancel it")
            kept = tuple([requirement for requirement in self.context.requirements if requirement.id != id])
            if len(kept) == len(self.context.requirements):
                raise CompactionError(
                    ErrorCode.INVALID_INPUT, f"{shown(id)} is not pinned", where="unpin", fix="see context.requirements"
                )
            context = with_requirements(self.context, kept)
            await self._record([Draft(EventType.REQUIREMENT_UNPINNED, {"id": id})], context)
            self.publish(context)

    @enable_ki_protection
    async def close_calls(self, reason: str, *ids: str) -> tuple[ToolResult, ...]:
        """Answer open tool calls (all, or these) with results that are marked as synthetic.

        One call that never returns would otherwise keep everything behind it from being compacted. Works inside a
        cancelled scope.
        """
        self._check_usable()
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
        self._actor.consider()
        return tuple(closed)

    @enable_ki_protection
    async def begin(self, context: ActiveContext) -> None:
        """Take a whole context over; only a session without any content may."""
        async with self.writing:
            if self.lease.surface.order or self.lease.surface.pins:
                raise CompactionError(
                    ErrorCode.INVALID_INPUT, "has content already", where=f"session {self.id}", fix="open it without context=..."
                )
            drafts = adopting(context)
            if drafts:
                await self._record(drafts, context)
            self.publish(context)
        self._actor.consider()

    # --------------------------------------------------------------------------------------------- compacting

    @enable_ki_protection
    async def compact(
        self,
        instructions: str | None = None,
        *,
        force: bool = False,
        trigger: Literal["manual", "overflow"] = "manual",
        when_running: WhenRunning = "join",
    ) -> Outcome:
        """Compact when over the threshold, and wait for the outcome. Never raises for what goes wrong in the run.

        *force* runs below the threshold, too; so does ``trigger="overflow"``, for a provider that refused the request
        as too long. While a run with equal options is in hand or waiting, a call joins it; else it queues, or with
        ``"refuse"`` fails as busy; ``"queue"`` never joins. Cancelling the last one who waits cancels the run; if that
        came too late, ``Committed`` is returned and the cancellation meets the caller at its next checkpoint.
        """
        self._check_usable()
        self._actor.check_reentrant("compact")
        return await self._actor.ask(instructions, force=force, trigger=trigger, when_running=when_running)

    # ---------------------------------------------------------------------------------------------- publishing

    def publish(self, context: ActiveContext) -> None:
        """The one assignment of ``snapshot``."""
        self.snapshot = self.context = context

    async def aclose(self) -> None:
        """End the run in hand as cancelled, unless it is committing, and stop. Works inside a cancelled scope."""
        self._actor.check_reentrant("aclose")
        self._closing = True
        await self._actor.close()


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
