"""``open_session``: an agent's conversation that compacts itself while the agent goes on.

Owns: the session's writer (one lock: check, write, apply, in seq order), its actor (a child task that takes one
request at a time through the machine), and the two published values. ``snapshot`` is assigned by ``publish`` alone;
``context`` is the snapshot and every later append.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs
import trio
from trio.lowlevel import enable_ki_protection

from .actor import OVERFLOW, Actor, WhenRunning
from .asking import default_summarizer
from .context import ActiveContext, BudgetOptions, Contextual, SummaryRequest, build_live_context, choose_boundary, with_limits
from .errors import CompactionError, ErrorCode
from .history import load
from .ledger import Lease, Ledger, check_session_id
from .machine import GRACE, Machine, require_trio
from .messages import Message, ToolResult
from .outcomes import Committed, Missed, Outcome, TransitionRecord
from .phases import Phase
from .plain import SESSION_LIMITS
from .policy import Budget, Policy, Sizing, check_sizing
from .requests import Request, Stream
from .stores import MemoryLedger
from .tracing import Logger, log_to
from .turns import Turn, check_live_format
from .writer import Writer


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
    format: str | None = None,  # noqa: A002 - the public face says so
    after_commit: Callable[[Committed], Any] | None = None,
    auto: bool = True,
    grace: float = GRACE,
    logger: Logger | None = None,
    new_id: Callable[[], str] = lambda: secrets.token_hex(6),
) -> AsyncIterator[Session]:
    """Open a session for writing; ``async with`` gives the ``Session``.

    *ledger* None keeps it in memory. *context* is what a new session begins with. *policy* is a ``Policy`` or a
    ``Budget``. *format* is a provider's: ``append`` then takes what its SDK returned, and ``turn().render()`` writes it.
    *after_commit* is awaited after each commit; the messages that it gives are appended. *auto* compacts in the background
    when an append crosses the threshold. *grace* is how long cancelled user code may take to end. Raises BUSY when somebody
    else has the session open.

    Leaving ends a run in hand as cancelled, unless it is committing.
    """
    require_trio("open_session")
    if isinstance(ledger, str | os.PathLike):
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            "ledgers in files are not built yet",
            where="ledger",
            fix="leave it out, or pass a MemoryLedger",
        )
    store = MemoryLedger() if ledger is None else ledger
    sizing = Policy() if policy is None else policy
    check_sizing(sizing)
    if format is not None:
        check_live_format(format)
    name = check_session_id(f"s-{new_id()}" if session_id is None else session_id)
    first = None if context is None else with_limits(build_live_context(context, limits=SESSION_LIMITS), SESSION_LIMITS)
    lease = await store.acquire(name, owner=f"process {os.getpid()}")
    failure: BaseException | None = None
    session: Session | None = None
    try:
        found = await load(store, name, lease.surface)
        writer = Writer(store, lease, found, sizing=sizing, format=format, after_commit=after_commit, new_id=new_id)
        async with trio.open_nursery() as nursery:
            session = Session(
                writer,
                nursery,
                summarizer=summarizer or default_summarizer(),
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
        error = CompactionError(ErrorCode.INTERNAL, "the session's actor crashed", fix="report it, and open the session again")
        error.__context__ = failure
        raise error from crash
    if failure is not None:
        raise failure


class Session:
    """A live conversation. Made by ``open_session`` only. Attribute reads are plain, whole, and need no lock."""

    def __init__(
        self,
        writer: Writer,
        nursery: trio.Nursery,
        *,
        summarizer: Callable[[SummaryRequest], Any],
        auto: bool,
        grace: float,
        logger: Logger | None,
        new_id: Callable[[], str],
    ) -> None:
        self._writer = writer
        self._log = log_to(logger)
        self._new_id = new_id
        self._streams: list[Stream] = []
        self._closing = False
        self._overflowed: int | None = None
        self._actor = Actor(writer, nursery, self._observe, summarizer=summarizer, auto=auto, grace=grace, new_id=new_id)

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.phase.name} {self.context.units} units>"

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def id(self) -> str:
        """The session's id in its ledger."""
        return self._writer.id

    @property
    def snapshot(self) -> ActiveContext:
        """The last published state: as opened, then as of each commit."""
        return self._writer.snapshot

    @property
    def context(self) -> ActiveContext:
        """The snapshot and everything appended since: what the model would be sent now."""
        return self._writer.context

    @property
    def store(self) -> Ledger:
        """The ledger that the session writes."""
        return self._writer.store

    @property
    def lease(self) -> Lease:
        """The right to write it, and the surface as the ledger has it."""
        return self._writer.lease

    @property
    def sizing(self) -> Sizing:
        """The budget or policy."""
        return self._writer.sizing

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
        return self._actor.crash or self._actor.late_exit

    @property
    def pressure(self) -> float:
        """How full the context is: 1.0 at the threshold."""
        return self.context.units / self._actor.threshold(self.context)

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
        if self._writer.unwritable is not None:
            raise CompactionError(
                ErrorCode.COMMIT_UNKNOWN, self._writer.unwritable, where=self.id, fix="close the session and open it again"
            )

    @enable_ki_protection
    async def append(self, *messages: Any, usage: Mapping[str, Any] | None = None) -> tuple[Message, ...]:
        """Append messages, all or none, and give them as they are kept: with ids, and immutable.

        A message is a noun, plain data of this project, or with ``format=`` what the provider's SDK takes and returns.
        *usage* is what the provider reported; it is kept with the reply. Cancelled raised means: not recorded. The same id
        with the same content again is a retry and does nothing; with other content it is INVALID_INPUT. A result without
        a waiting call is INVALID_TRANSCRIPT. A call id that was used before is made distinct, and its result follows.
        """
        self._check_usable()
        kept = await self._writer.append(*messages, usage=usage)
        self._actor.consider()
        return kept

    @enable_ki_protection
    async def turn(self, *, pending: Sequence[Any] = (), overhead_tokens: int = 0, model: str | None = None) -> Turn:
        """What to send to the model now; the meeting point of the agent's loop and background compaction.

        Records that the model was shown the surface as of here. *pending* messages are sent, too, and are appended by the
        caller later; *overhead_tokens* is what the system prompt and the tools cost beside. Waits for a compaction only when
        all of it is over the hard limit; ``fits`` is False when even that did not help. Cancelled: not recorded.
        """
        self._check_usable()
        self._actor.check_reentrant("turn")
        if isinstance(self._actor.current, Request) and self._actor.current.settled.is_set():
            await self._actor.idle.wait()  # what follows a commit belongs to the next turn
        outcome: Outcome | None = None
        if self._writer.units_with(pending) + overhead_tokens > self._limit():
            force = self.context.units <= self._actor.threshold(self.context)
            outcome = await self._actor.ask(None, force=force, trigger="turn", when_running="join")
            self._check_usable()
        return await self._writer.show(pending, overhead=overhead_tokens, limit=self._limit(), model=model, outcome=outcome)

    def _limit(self) -> int:
        limit, ceiling = self.sizing.limit(self.context), self._actor.ceiling
        return limit if ceiling is None else min(limit, ceiling)

    @enable_ki_protection
    async def pin(self, text: str, *, id: str | None = None) -> str:  # noqa: A002 - the public face says so
        """Pin a requirement: a rule or fact that no compaction touches. Gives its id. Cancelled: not recorded."""
        self._check_usable()
        name = f"r-{self._new_id()}" if id is None else id
        await self._writer.pin(text, name)
        self._actor.consider()
        return name

    @enable_ki_protection
    async def unpin(self, id: str) -> None:  # noqa: A002 - the public face says so
        """Take a requirement away. BUSY while a run is in hand: it was selected with the pins of its beginning."""
        self._check_usable()
        await self._writer.unpin(id, in_hand=lambda: self._actor.current is not None)

    @enable_ki_protection
    async def close_calls(self, reason: str, *ids: str) -> tuple[ToolResult, ...]:
        """Answer open tool calls (all, or these) with results that are marked as synthetic.

        One call that never returns would otherwise keep everything behind it from being compacted. Works inside a
        cancelled scope.
        """
        self._check_usable()
        closed = await self._writer.close_calls(reason, ids)
        self._actor.consider()
        return closed

    @enable_ki_protection
    async def begin(self, context: ActiveContext) -> None:
        """Take a whole context over; only a session without any content may."""
        await self._writer.begin(context)
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
        if trigger == OVERFLOW:
            replies = self._writer.replies
            if self._overflowed == replies:
                return self._actor.refused_twice()
            self._overflowed = replies
        return await self._actor.ask(instructions, force=force, trigger=trigger, when_running=when_running)

    async def aclose(self) -> None:
        """End the run in hand as cancelled, unless it is committing, and stop. Works inside a cancelled scope."""
        self._actor.check_reentrant("aclose")
        self._closing = True
        await self._actor.close()
