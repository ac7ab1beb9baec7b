"""The session's actor: one child task that takes one request at a time through the machine.

Owns the mailbox, the single-flight slot, the deadlines of those who wait, and the restraint of automatic runs. It runs
in a task of its own so that Ctrl-C, which Trio raises in the main task, cannot tear it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import attrs
import trio
from trio.lowlevel import enable_ki_protection

from .asking import Asking
from .context import ActiveContext, SummaryRequest
from .errors import CompactionError, ErrorCode, FailureKind
from .host import Host
from .machine import Machine, Run
from .outcomes import Committed, Failed, Outcome, TransitionRecord
from .phases import Signal
from .requests import Request
from .sessionwork import SessionWork
from .usercode import INSIDE, Box

QUEUE_MAX: Final = 64
"""Requests that may wait; more are refused as busy. A loop that queues more has lost its own outcomes."""

AUTO_STEP: Final = 20
"""After a failed automatic run the context must grow by a twentieth before the next one is tried."""

OVERFLOW: Final = "overflow"
"""The trigger of a run that a provider asked for by refusing a request as too long."""

WhenRunning: TypeAlias = Literal["join", "queue", "refuse"]


@attrs.define(eq=False, init=False, repr=False)
class Actor:
    """Everything of a session that happens in its own time."""

    machine: Machine
    current: Request | None
    """The request in hand; None between runs."""
    last_outcome: Outcome | None
    idle: trio.Event
    """Set between runs; what follows a commit belongs to its run."""
    ceiling: int | None
    """Units that a provider refused as too many; never reached again."""
    crash: BaseException | None

    _host: Host
    _nursery: trio.Nursery
    _summarizer: Callable[[SummaryRequest], Any]
    _auto: bool
    _grace: float
    _new_id: Callable[[], str]
    _waiting: list[Request]
    _send: trio.MemorySendChannel[Request]
    _mailbox: trio.MemoryReceiveChannel[Request]
    _stray: Box | None
    """User code that did not respond to an earlier run's cancellation."""
    _auto_floor: int
    _indexing: trio.CancelScope
    _closing: bool
    _closed: trio.Event

    def __init__(
        self,
        host: Host,
        nursery: trio.Nursery,
        observe: Callable[[TransitionRecord], None],
        *,
        summarizer: Callable[[SummaryRequest], Any],
        auto: bool,
        grace: float,
        new_id: Callable[[], str],
    ) -> None:
        self.machine = Machine(observe)
        self.current = None
        self.last_outcome = None
        self.idle = trio.Event()
        self.idle.set()
        self.ceiling = None
        self.crash = None
        self._host = host
        self._nursery = nursery
        self._summarizer = summarizer
        self._auto = auto
        self._grace = grace
        self._new_id = new_id
        self._waiting = []
        self._send, self._mailbox = trio.open_memory_channel[Request](QUEUE_MAX)
        self._stray = None
        self._auto_floor = 0
        self._indexing = trio.CancelScope()
        self._closing = False
        self._closed = trio.Event()
        nursery.start_soon(self._act, name="compactor actor")

    async def ask(self, instructions: str | None, *, force: bool, trigger: str, when_running: WhenRunning) -> Outcome:
        """Join a request with equal options, or enqueue one, and wait for its outcome."""
        in_hand = [self.current] if self.current else []
        if when_running == "refuse" and (in_hand or self._somebody_waits):
            return self._busy("a compaction is in hand")
        if when_running == "join":
            for request in (*in_hand, *self._waiting):
                if not request.withdrawn and request.same(instructions, force=force, trigger=trigger):
                    return await self._outcome_of(request)
        request = Request(instructions, force, trigger)
        if not self._enqueue(request):
            return self._busy(f"{QUEUE_MAX} requests wait already")
        return await self._outcome_of(request)

    def threshold(self, context: ActiveContext) -> int:
        """The units above which to compact: the policy's, or what a provider taught."""
        threshold = self._host.sizing.threshold(context)
        return threshold if self.ceiling is None else min(threshold, self.ceiling)

    def _busy(self, what: str) -> Failed:
        error = CompactionError(ErrorCode.BUSY, what, where=self._host.id, fix="wait for it", kind=FailureKind.BUSY)
        return Failed(self._host.context, error, FailureKind.BUSY)

    def refused_twice(self) -> Failed:
        """The end of overflows: compacting did not help the provider to take the same turn."""
        error = CompactionError(
            ErrorCode.NO_PROGRESS,
            f"the provider refused this turn again, at {self._host.context.units:,} units",
            where=self._host.id,
            fix="shorten the last messages or the system prompt; compacting again cannot help",
            kind=FailureKind.NO_PROGRESS,
        )
        return Failed(self._host.context, error, FailureKind.NO_PROGRESS)

    @property
    def _somebody_waits(self) -> bool:
        """A withdrawn request stays in the mailbox until it is its turn, but nobody waits for it."""
        return any(not request.withdrawn for request in self._waiting)

    def _enqueue(self, request: Request) -> bool:
        try:
            self._send.send_nowait(request)
        except trio.WouldBlock:
            return False
        self._waiting.append(request)
        return True

    async def _outcome_of(self, request: Request) -> Outcome:
        """Wait for a request as one of those who want it."""
        token = request.join()
        try:
            await request.settled.wait()
        except trio.Cancelled:
            if not request.leave(token):
                raise
            if not request.begun:
                request.withdrawn = True
                raise
            request.scope.cancel()
            with trio.CancelScope(shield=True):
                await request.settled.wait()
            if type(request.outcome) is not Committed:
                raise
        assert request.outcome is not None
        return request.outcome

    def consider(self) -> None:
        """Ask for an automatic run when the threshold is crossed. A flag, no wait: appends never block on it."""
        units = self._host.context.units
        try:
            over = units > self.threshold(self._host.context)
        except Exception:  # noqa: BLE001 - a policy's own bug; the next run that is asked for tells it
            return
        if not self._auto or self._closing or self._host.unwritable or not over:
            return
        if units < self._auto_floor or self.current is not None or self._somebody_waits:
            return
        self._enqueue(Request(None, force=False, trigger="automatic", automatic=True))

    def check_reentrant(self, what: str) -> None:
        """Refuse what would make user code wait for itself."""
        if id(self._host) in INSIDE.get():
            raise CompactionError(
                ErrorCode.REENTRANT,
                f"{what} was called from code that this session is waiting for",
                where=self._host.id,
                fix="return first",
            )

    @enable_ki_protection
    async def _act(self) -> None:
        """Take requests one at a time until the mailbox closes."""
        try:
            async for request in self._mailbox:
                self._waiting.remove(request)
                if not request.withdrawn:
                    await self._serve(request)
        except trio.Cancelled:
            raise
        except BaseException as crash:  # noqa: BLE001 - told to the owner when the session closes
            self.crash = crash
            self._nursery.cancel_scope.cancel()
        finally:
            self._closing = True
            for request in self._waiting:
                request.settle(self._stopped())
            self._closed.set()

    def _stopped(self) -> Failed:
        error = CompactionError(
            ErrorCode.CANCELLED, "the session was closed before the run began", where=self._host.id, kind=FailureKind.CANCELLED
        )
        return Failed(self._host.context, error, FailureKind.CANCELLED)

    async def _serve(self, request: Request) -> None:
        """One run, from its first row until the machine is idle again."""
        self.current, request.begun = request, True
        self.idle = trio.Event()
        run = Run(f"c-{self._new_id()}", request.trigger, trio.current_time(), session_id=self._host.id)
        try:
            with request.scope:
                if self._stray is not None:
                    # User code of an earlier run did not end in its grace; two at once would be one too many.
                    await self._stray.ended.wait()
                    run.exit, self._stray = self._stray.exit, None
                if run.exit is None:
                    await self._drive(run, request)
                if run.stopped is not None:
                    raise run.stopped
        finally:
            self.current = None
            request.settle(self._stopped())
            self.last_outcome = request.outcome
            if isinstance(self.last_outcome, Committed) and run.notes:
                self.last_outcome = attrs.evolve(self.last_outcome, notes=tuple(run.notes))
            self._learn(request)
            self.idle.set()
        if run.exit is not None:
            raise run.exit
        if isinstance(self.last_outcome, Committed):
            await self._index()
        self.consider()

    async def _index(self) -> None:
        """Make what was hidden quick to find. Between runs, so that nobody waits; what is left out is found by a scan."""
        self._indexing = trio.CancelScope()
        if self._closing:
            self._indexing.cancel()
        with self._indexing, contextlib.suppress(Exception):
            await self._host.store.index(self._host.id)

    async def _drive(self, run: Run, request: Request) -> None:
        base = self._host.context
        run.units_before = base.units
        if request.trigger == OVERFLOW:
            # The provider says that the policy's numbers are too large; half of what it refused is a new beginning.
            self.ceiling = min(base.units - 1, self.ceiling or base.units)
        asking = Asking(self._summarizer, self._nursery, self._host, math.inf, self._grace)
        work = SessionWork(self._host, request, asking, base, f"s-{self._new_id()}")
        due = request.force or request.trigger == OVERFLOW
        try:
            asking.timeout = self._host.sizing.timeout
            due = due or base.units > self.threshold(base)
        except Exception as trouble:  # noqa: BLE001 - a policy's own bug fails the run, as any other work that raises
            work.trouble, due = trouble, True
        await self.machine.drive(run, work, Signal.REQUESTED if due else Signal.UNDER_THRESHOLD)
        if asking.box is not None and not asking.box.ended.is_set():
            self._stray = asking.box

    @property
    def late_exit(self) -> BaseException | None:
        """KeyboardInterrupt or SystemExit out of user code that ended after its run."""
        return None if self._stray is None else self._stray.exit

    def _learn(self, request: Request) -> None:
        """After a failed automatic run wait until the context has grown; anything else resets that."""
        self._auto_floor = 0
        if type(request.outcome) is Failed and request.automatic:
            units = self._host.context.units
            self._auto_floor = units + max(1, units // AUTO_STEP)

    async def close(self) -> None:
        """Cancel the run in hand, refuse those that wait, and wait until the task has ended."""
        self._closing = True
        self._indexing.cancel()
        if self.current is not None:
            self.current.scope.cancel()
        for request in self._waiting:
            request.withdrawn = True
            request.settle(self._stopped())
        self._send.close()
        with trio.CancelScope(shield=True):
            await self._closed.wait()
