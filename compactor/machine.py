"""The moving part: one run through the table. The only caller of ``step``.

``Machine.drive`` takes rows until one gives no further signal. What an effect does is the business of the *work* that
is passed in: a session with its ledger, or one ``compact_context`` call without any. The machine owns the order, the
checks and the records.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import attrs
import trio

from .context import ActiveContext
from .errors import CompactionError, ErrorCode, FailureKind, kind_name, shown
from .outcomes import Failed, Outcome, TransitionRecord
from .phases import Effect, Phase, Signal, Transition, step

GRACE: Final = 5.0
"""Seconds that cancelled user code has to end before a run settles without it."""

Gate = Callable[[Phase, Signal], Awaitable[None]]
"""Awaited inside the run's scope before a checked row is taken; lessons and tests stand still there."""


@attrs.define(eq=False, repr=False)
class Run:
    """What one run knows of itself."""

    id: str
    trigger: str
    began: float
    session_id: str = ""
    attempt: int = 0
    units_before: int = 0
    units_after: int | None = None
    boundary: int | None = None
    error: CompactionError | None = None
    outcome: Outcome | None = None
    stopped: trio.Cancelled | None = attrs.field(default=None, repr=kind_name)
    """The cancellation that ended the run; raised again when the run has settled, so that it reaches its owner."""
    exit: BaseException | None = attrs.field(default=None, repr=kind_name)
    """KeyboardInterrupt or SystemExit out of user code; raised when the run has settled."""
    notes: list[str] = attrs.field(factory=list)

    def fail(
        self, code: ErrorCode, message: str, *, kind: FailureKind, fix: str = "", cause: BaseException | None = None
    ) -> None:
        """Set the error that the run ends with."""
        self.error = CompactionError(code, message, fix=fix, kind=kind)
        self.error.__cause__ = cause


class Work(Protocol):
    """What the effects do. Each gives the next signal. An effect that raises Cancelled or any Exception has done nothing."""

    async def perform(self, effect: Effect, run: Run) -> Signal | None:
        """Perform one effect."""


@attrs.define(eq=False, repr=False)
class Machine:
    """The phase, and the one door through which it changes."""

    observe: Callable[[TransitionRecord], None]
    phase: Phase = Phase.IDLE
    gate: Gate | None = None

    async def drive(self, run: Run, work: Work, signal: Signal | None) -> None:
        """Take rows from *signal* on until the machine is idle again.

        Raises neither Cancelled nor what user code raised: ``run.stopped`` and ``run.exit`` hold it, for the caller to
        raise where the right scope can catch it.
        """
        while signal is not None:
            signal = await self.handle(run, work, signal)

    async def handle(self, run: Run, work: Work, signal: Signal) -> Signal | None:
        """Look the row up, check for cancellation if it is an edge, record it, perform its effects."""
        row = step(self.phase, signal)
        if row.checked:
            signal = await self._edge(run, row)
            row = step(self.phase, signal)
        self.phase = row.target
        self._record(run, row)
        following: Signal | None = None
        for effect in row.effects:
            following = await self._perform(run, work, effect)
        return following

    async def _edge(self, run: Run, row: Transition) -> Signal:
        """A full checkpoint: the cheaper ones miss a deadline that passed while the task ran."""
        try:
            if self.gate is not None:
                await self.gate(row.phase, row.signal)
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as stopped:
            run.stopped = stopped
            run.error = None
            return Signal.CANCELLED
        return row.signal

    async def _perform(self, run: Run, work: Work, effect: Effect) -> Signal | None:
        try:
            return await work.perform(effect, run)
        except trio.Cancelled as stopped:
            run.stopped = stopped
            return Signal.CANCELLED
        except CompactionError as error:
            run.error = error
            return Signal.EFFECT_FAILED
        except Exception as error:  # noqa: BLE001 - an estimator, a verdict, a bug: the run fails, the state stays
            run.fail(ErrorCode.INTERNAL, f"{effect.value} raised {kind_name(error)}", kind=FailureKind.INTERNAL, cause=error)
            return Signal.EFFECT_FAILED

    def _record(self, run: Run, row: Transition) -> None:
        code = run.error.code if run.error is not None and row.target is Phase.FAILED else None
        if row.signal is Signal.CANCELLED:
            code = ErrorCode.CANCELLED
        record = TransitionRecord(
            session_id=run.session_id,
            run_id=run.id,
            trigger=run.trigger,
            phase=row.phase,
            signal=row.signal,
            target=row.target,
            elapsed=trio.current_time() - run.began,
            attempt=run.attempt,
            units_before=run.units_before,
            units_after=run.units_after,
            boundary=run.boundary,
            code=code,
        )
        with contextlib.suppress(Exception):
            self.observe(record)


def failed(run: Run, context: ActiveContext) -> Failed:
    """The outcome of a run that did not commit."""
    if run.stopped is not None or run.exit is not None or run.error is None:
        reason = getattr(run.stopped, "reason", None)
        why = f": {shown(reason, 200)}" if type(reason) is str and reason else ""
        run.fail(
            ErrorCode.CANCELLED,
            f"the run was cancelled before it committed{why}",
            kind=FailureKind.CANCELLED,
            fix="nothing changed; try again",
        )
    assert run.error is not None
    return Failed(context, run.error, run.error.kind or FailureKind.INTERNAL, run.id, tuple(run.notes))


def require_trio(what: str) -> None:
    """Under another event loop Trio fails obscurely; say what to do instead."""
    if not trio.lowlevel.in_trio_task():
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"{what} runs under Trio, and this is no Trio task",
            fix="use trio.run(...); from asyncio or plain code use compactor.portal",
        )
