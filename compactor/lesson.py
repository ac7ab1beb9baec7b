"""The lesson: one compaction, step by step, on the packaged sample; and a careless cutter to compare with.

Each step says what is known, what could go wrong here, and shows that the published snapshot is still the very same
object, until it is not. The run is a real one: the steps are its phase edges.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import attrs
import trio

from .context import ActiveContext, SummaryRequest
from .errors import CompactionError, ErrorCode
from .messages import Message
from .outcomes import Committed, Failed, Outcome
from .phases import Phase, Signal
from .policy import Budget
from .readers import read_bytes_transcript, sample_bytes
from .session import Session, open_session, plan_compaction
from .summarizers import DigestSummarizer
from .transcript import validate_transcript

BUDGET: Final = Budget(16_000, attempts=1)
EDGES: Final = (Phase.IDLE, Phase.SELECTING, Phase.SUMMARIZING, Phase.VALIDATING)
"""The phases that have a phase edge: a run can be cancelled there. COMMITTED and FAILED have none, on purpose."""

FAILURES: Final = (Phase.SELECTING, Phase.SUMMARIZING, Phase.VALIDATING)
"""The phases whose work can be made to fail."""

Say = Callable[[str], None]
Pause = Callable[[], Awaitable[None]]


@attrs.frozen
class Step:
    """What a teacher says at one phase edge."""

    title: str
    known: str
    risk: str


STEPS: Final[dict[tuple[Phase, Signal], Step]] = {
    (Phase.IDLE, Signal.REQUESTED): Step(
        "asked, not begun",
        "the context is over its threshold",
        "a caller that gave up already: nothing may begin, not even a marker",
    ),
    (Phase.SELECTING, Signal.CUT_CHOSEN): Step(
        "a boundary is chosen",
        "everything before it will be summarized; no tool call is split from its result",
        "two runs at once: a start marker in the ledger is the lock, and it is written next",
    ),
    (Phase.SUMMARIZING, Signal.SUMMARIZED): Step(
        "text came back",
        "the summarizer has answered; nobody has believed it yet",
        "blank, too long, not text, or late: it is judged before anything changes",
    ),
    (Phase.VALIDATING, Signal.ACCEPTED): Step(
        "the text is good",
        "the new context is built and fits its target; it is not published",
        "the last moment to cancel: behind this edge stands one atomic write, and nothing between it and publication",
    ),
}


def naive_cut(messages: Sequence[Message], keep: int) -> tuple[Message, ...]:
    """What careless code does: keep the last *keep* messages, whatever they are."""
    return tuple(messages)[-keep:]


def compare(say: Say, context: ActiveContext | None = None) -> None:
    """Show a naive cut that splits a tool round, and the boundary that does not."""
    found = context or sample()
    messages = tuple(found.messages)
    keep = next(count for count in range(8, len(messages)) if validate_transcript(naive_cut(messages, count), live=True))
    say(f"naive: keep the last {keep} of {len(messages)} messages")
    for fault in validate_transcript(naive_cut(messages, keep), live=True):
        say(f"  {fault.rule} at {fault.index}: a provider refuses this conversation")
    boundary = plan_compaction(found, BUDGET).boundary or 0
    faults = validate_transcript(messages[boundary:], live=True)
    say(f"safe:  hide the first {boundary}, keep {len(messages) - boundary}; faults: {len(faults)}")


def sample() -> ActiveContext:
    """The packaged session."""
    return read_bytes_transcript(sample_bytes(), "sample")


async def walk(
    say: Say, *, cancel_at: Phase | None = None, fail: Phase | None = None, pause: Pause | None = None
) -> Outcome | None:
    """Walk through one compaction. *cancel_at* cancels at that phase's edge, *fail* makes its work fail.

    Gives the outcome; None when it was cancelled. Works in a notebook as ``trio.run(walk, print)``.
    """
    _check(cancel_at, EDGES, "cancel at")
    _check(fail, FAILURES, "fail")
    budget = BUDGET if fail is not Phase.SELECTING else Budget(16_000, target_units=200, summary_max_units=100)
    async with open_session(context=sample(), policy=budget, summarizer=_summarizer(fail), auto=False) as session:
        base = session.snapshot
        say(f"a session of {len(base.messages)} messages, {base.units:,} units; the threshold is {budget.max_units:,}")
        scope = trio.CancelScope()
        session.machine.gate = _Teacher(say, session, base, scope, cancel_at, pause).at
        outcome: Outcome | None = None
        with scope:
            outcome = await session.compact()
        _tell_end(say, session, base, outcome)
        return outcome


def run(**options: Any) -> None:
    """``walk`` with ``print``, from plain code or a notebook cell."""
    trio.run(lambda: walk(print, **options))


def _check(phase: Phase | None, allowed: tuple[Phase, ...], what: str) -> None:
    if phase is not None and phase not in allowed:
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"cannot {what} {phase.name}",
            where="lesson",
            fix=f"choose one of {', '.join(name.value for name in allowed)}",
        )


def _summarizer(fail: Phase | None) -> Callable[[SummaryRequest], Any]:
    digest = DigestSummarizer()

    def broken(_request: SummaryRequest) -> str:
        msg = "the model is down"
        raise ConnectionError(msg)

    def blank(_request: SummaryRequest) -> str:
        return "   "

    return {Phase.SUMMARIZING: broken, Phase.VALIDATING: blank}.get(fail, digest) if fail else digest


@attrs.define(eq=False)
class _Teacher:
    """Stands at every phase edge of one run and talks."""

    say: Say
    session: Session
    base: ActiveContext
    scope: trio.CancelScope
    cancel_at: Phase | None
    pause: Pause | None
    count: int = 0

    async def at(self, phase: Phase, signal: Signal) -> None:
        """Say what is known; then go on, or cancel."""
        self.count += 1
        step = STEPS[phase, signal]
        same = "the very same object" if self.session.snapshot is self.base else "another object"
        self.say(f"\n{self.count}. {phase.value}: {step.title}")
        self.say(f"   known     {step.known}")
        self.say(f"   risk      {step.risk}")
        self.say(f"   snapshot  {same}")
        if self.pause is not None:
            await self.pause()
        if phase is self.cancel_at:
            self.say("   -> cancelled here")
            self.scope.cancel()
            await trio.sleep_forever()


def _tell_end(say: Say, session: Session, base: ActiveContext, outcome: Outcome | None) -> None:
    same = session.snapshot is base
    if isinstance(outcome, Committed):
        record = outcome.record
        say(
            f"\nCOMMITTED: {record.units_before:,} -> {record.units_after:,} units, {record.boundary} messages hidden, none deleted"
        )
    elif isinstance(outcome, Failed):
        say(f"\nFAILED ({outcome.kind.value}): {outcome.error}")
    else:
        say("\nFAILED (cancelled): Cancelled was raised in the caller, and means that nothing happened")
    say(f"snapshot is the object from before: {same}")
