"""The test kit, for this project's tests and for yours: plain asserts, no pytest.

``scripted`` is a summarizer with prepared answers, ``hold`` parks a run between two phases, ``cancel_at_every_step``
cancels a scenario one scheduler step later each time, ``check_ledger`` is what every store must satisfy,
``check_summarizer`` what every summarizer should, and ``transcripts`` generates valid conversations for hypothesis.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

import attrs
import trio
import trio.testing

from .context import SummaryRequest
from .errors import CompactionError, ErrorCode
from .events import APPEND, Draft, EventType, Replace, verify_chain
from .ledger import Ledger
from .messages import AssistantMessage, Requirement, ToolCall, ToolResult, UserMessage
from .phases import Phase, Signal
from .session import Session
from .surface import fold
from .transcript import transcript_of

# ----------------------------------------------------------------------------------------------------- summarizers


@attrs.define(eq=False)
class Scripted:
    """A summarizer that gives its *answers* in turn, the last one for ever; an exception is raised. Keeps the requests."""

    answers: tuple[Any, ...]
    checkpoints: int = 1
    """How many checkpoints it meets before it answers."""
    requests: list[SummaryRequest] = attrs.field(factory=list)

    async def __call__(self, request: SummaryRequest) -> Any:
        """Answer the next one."""
        self.requests.append(request)
        for _ in range(self.checkpoints):
            await trio.lowlevel.checkpoint()
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def scripted(*answers: Any, checkpoints: int = 1) -> Scripted:
    """Make a summarizer that answers with *answers* in turn (default: one fixed text)."""
    return Scripted(answers or ("a summary",), checkpoints)


def check_summarizer(call: Callable[[SummaryRequest], Awaitable[Any]]) -> None:
    """Assert what every summarizer should keep to: text, within its budget, for small and odd requests too.

    *call* awaits the summarizer under test. Runs Trio itself.
    """

    async def main() -> None:
        conversation = transcript_of(_conversation(12))
        for messages in (conversation, transcript_of([UserMessage("", id="m0")])):
            for max_text in (40, 400, 4_000):
                request = SummaryRequest((Requirement("be brief", id="r"),), None, messages, len(messages), max_text + 6, "s")
                text = await call(request)
                assert type(text) is str, f"answered {type(text).__name__}, not text"
                assert text.strip(), "answered blank text"
                assert len(text) <= request.max_text, f"answered {len(text)} characters, {request.max_text} are allowed"

    trio.run(main)


# ------------------------------------------------------------------------------------------------------ standing still


@attrs.define(eq=False)
class Held:
    """A run that stands still. ``await reached()``, look around, then ``release()``."""

    _reached: trio.Event = attrs.field(factory=trio.Event)
    _released: trio.Event = attrs.field(factory=trio.Event)

    async def reached(self) -> None:
        """Wait until a run has come to the phase."""
        await self._reached.wait()

    def release(self) -> None:
        """Let the run go on; the hold is over."""
        self._released.set()


@contextlib.asynccontextmanager
async def hold(session: Session, phase: Phase) -> AsyncIterator[Held]:
    """Park the next run in *phase*, before its next checked row. COMMITTED and FAILED have none and are refused."""
    if phase in (Phase.COMMITTED, Phase.FAILED):
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"a run cannot be held in {phase.name}: what it did there is not to be torn from its consequence",
            fix="hold it in IDLE, SELECTING, SUMMARIZING or VALIDATING",
        )
    held = Held()

    async def gate(at: Phase, _signal: Signal) -> None:
        if at is phase:
            held._reached.set()  # noqa: SLF001
            await held._released.wait()  # noqa: SLF001

    machine = session.machine
    before, machine.gate = machine.gate, gate
    try:
        yield held
    finally:
        held.release()
        machine.gate = before


# --------------------------------------------------------------------------------------------------- cancel everywhere


@attrs.define(eq=False)
class Cutter(trio.abc.Instrument):
    """Cancels ``scope`` before the *at*-th task step that is counted; and looks at ``invariant`` before every step.

    A scenario puts ``scope`` where it wants to be cancelled, calls ``arm()`` when counting shall begin and
    ``disarm()`` when it shall end.
    """

    at: int
    via: Literal["cancel", "deadline"] = "cancel"
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    label: Callable[[], object] = lambda: None
    """What to note about the moment of the cut, such as the session's phase."""
    invariant: Callable[[], None] = lambda: None
    steps: int = 0
    fired: bool = False
    cut_in: object = None
    broken: BaseException | None = None
    _armed: bool = False

    def arm(self) -> None:
        """Begin to count steps."""
        self._armed = True

    def disarm(self) -> None:
        """Stop counting."""
        self._armed = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count, look, cut."""
        del task
        if not self._armed:
            return
        if self.broken is None:
            try:
                self.invariant()
            except AssertionError as broken:
                self.broken = broken
        self.steps += 1
        if self.steps == self.at:
            self.fired, self.cut_in = True, self.label()
            if self.via == "cancel":
                self.scope.cancel()
            else:
                self.scope.deadline = trio.current_time()


def cancel_at_every_step(
    scenario: Callable[[Cutter], Awaitable[None]],
    *,
    via: Literal["cancel", "deadline"] = "cancel",
    limit: int = 5_000,
) -> tuple[object, ...]:
    """Run *scenario* again and again, cancelled one step later each time, until a run is not cut any more.

    The scenario checks what has to hold after a cut. Gives what ``label`` said at each cut, one entry for every cut,
    and asserts that there was at least one.
    """
    cuts: list[object] = []
    for at in range(1, limit):
        cutter = Cutter(at, via)
        trio.run(scenario, cutter, clock=trio.testing.MockClock(autojump_threshold=0), instruments=[cutter])
        if cutter.broken is not None:
            raise cutter.broken
        if not cutter.fired:
            assert cuts, "nothing was cut: the scenario never armed its cutter"
            return tuple(cuts)
        cuts.append(cutter.cut_in)
    msg = f"the scenario was still cut after {limit} steps"
    raise AssertionError(msg)


# -------------------------------------------------------------------------------------------------------------- stores


def _message(text: str, index: int) -> Draft:
    return Draft(EventType.MESSAGE_APPENDED, {"id": f"m{index}", "role": "user", "content": text}, APPEND)


async def check_ledger(open_handle: Callable[[], Awaitable[Ledger]]) -> None:
    """Assert that a store keeps to the ``Ledger`` protocol. *open_handle* gives a new handle on the same, empty ledger.

    Always with two handles, as two processes would have: what holds only inside one object is not a ledger.
    """
    ours, theirs = await open_handle(), await open_handle()
    await _check_lives(ours, theirs)
    await _check_appending(ours, theirs)
    await _check_runs(ours, theirs)
    await _check_cancellation(ours, theirs)


async def _refused(code: ErrorCode, wanted: Awaitable[Any]) -> CompactionError:
    try:
        await wanted
    except CompactionError as error:
        assert error.code is code, f"refused with {error.code}, not {code}"
        return error
    msg = f"was not refused with {code}"
    raise AssertionError(msg)


async def _check_lives(ours: Ledger, theirs: Ledger) -> None:
    assert await theirs.read("lives") == ()
    lease = await ours.acquire("lives", owner="the first owner")
    busy = await _refused(ErrorCode.BUSY, theirs.acquire("lives", owner="the second owner"))
    assert "the first owner" in str(busy), "busy must name the owner"
    await _refused(ErrorCode.BUSY, ours.acquire("lives", owner="the same process"))
    await ours.release(lease)
    await _refused(ErrorCode.FENCED, ours.append(lease, [_message("after release", 0)]))
    second = await theirs.acquire("lives", owner="the second owner")
    assert second.epoch == lease.epoch + 1, "a new life, a new epoch"
    third = await ours.acquire("lives", owner="a takeover", takeover=True)
    await _refused(ErrorCode.FENCED, theirs.append(second, [_message("from a paused owner", 1)]))
    await theirs.release(second)
    await ours.append(third, [_message("the new owner goes on", 2)])
    events = await theirs.read("lives")
    opened = [event for event in events if event.type is EventType.SESSION_OPENED]
    assert [event.epoch for event in opened] == [1, 2, 3], "every life begins with an event"
    await _refused(ErrorCode.INVALID_INPUT, ours.acquire("../etc", owner="nobody"))
    await ours.release(third)


async def _check_appending(ours: Ledger, theirs: Ledger) -> None:
    lease = await ours.acquire("appends", owner="us")
    odd = {
        "id": "m1",
        "role": "user",
        "content": "\ud800 \u2028 \U0001f600",
        "meta": {"big": 2**70, "float": 1e-7, "deep": [[{}]]},
    }
    written = await ours.append(lease, [_message("one", 0), Draft(EventType.MESSAGE_APPENDED, odd, APPEND)])
    read = await theirs.read("appends")
    assert read[-2:] == written, "what was acknowledged is there, for everybody"
    assert read[-1].data == odd, "data come back without loss"
    assert [event.seq for event in read] == list(range(len(read))), "seqs have no gaps"
    assert await theirs.read("appends", 1, 2) == read[1:2]
    verify_chain(read)
    assert attrs.asdict(fold("appends", read)) == attrs.asdict(lease.surface), (
        "the lease's surface is the fold of what is durable"
    )
    before = await theirs.read("appends")
    for wrong in (
        Draft(EventType.MESSAGE_APPENDED, {"id": "x"}),
        Draft(EventType.REQUIREMENT_PINNED, {"id": "r", "content": "c"}, APPEND),
        Draft(EventType.SUMMARY_PLACED, {"id": "s", "content": "c", "hidden": [[0, 1]]}, Replace(0, 1), (0, 1)),
        Draft(EventType.COMPACTION_ENDED, {"run": "never started"}),
    ):
        await _refused(ErrorCode.LEDGER_CORRUPT, ours.append(lease, [_message("goes with it", 9), wrong]))
    assert await theirs.read("appends") == before, "a refused batch changes nothing"
    assert "appends" in [info.id for info in await theirs.sessions()]
    await ours.release(lease)


async def _check_runs(ours: Ledger, theirs: Ledger) -> None:
    lease = await ours.acquire("runs", owner="us")
    first = await ours.append(lease, [_message(str(index), index) for index in range(4)])
    seqs = tuple([event.seq for event in first])
    (started,) = await ours.append(lease, [Draft(EventType.COMPACTION_STARTED, {"run": "c1"})])
    assert lease.surface.orphan() == "c1", "a start marker without an end is visible"
    placed = Draft(
        EventType.SUMMARY_PLACED,
        {"id": "s1", "content": "two", "hidden": [[seqs[0], seqs[1]]]},
        Replace(seqs[0], seqs[1]),
        (*seqs[:2], started.seq),
    )
    ended = Draft(EventType.COMPACTION_ENDED, {"run": "c1", "code": None})
    await _refused(ErrorCode.LEDGER_CORRUPT, ours.append(lease, [placed, ended, ended]))
    summary, _end = await ours.append(lease, [placed, ended])
    assert lease.surface.order == [summary.seq, *seqs[2:]], "the summary stands where its span stood"
    assert lease.surface.orphan() is None
    await _refused(ErrorCode.LEDGER_CORRUPT, ours.append(lease, [ended]))
    await ours.release(lease)
    again = await theirs.acquire("runs", owner="them")
    assert again.surface.order == [summary.seq, *seqs[2:]], "another owner folds the same surface"
    assert again.surface.orphan() is None
    await theirs.release(again)


async def _check_cancellation(ours: Ledger, theirs: Ledger) -> None:
    """Cancelled raised means: not recorded; and every method meets a checkpoint before it does anything."""
    lease = await ours.acquire("cancelled", owner="us")
    before = await theirs.read("cancelled")
    for attempt in (
        lambda: ours.append(lease, [_message("never", 0)]),
        lambda: theirs.read("cancelled"),
        theirs.sessions,
        lambda: theirs.acquire("never", owner="nobody"),
    ):
        with trio.CancelScope() as scope:
            scope.cancel()
            await attempt()
        assert scope.cancelled_caught, "a method that does not notice that it was cancelled"
    assert await theirs.read("cancelled") == before
    assert "never" not in [info.id for info in await theirs.sessions()]
    with trio.CancelScope() as scope:
        scope.cancel()
        await ours.release(lease)
    await theirs.release(await theirs.acquire("cancelled", owner="them"))


# ---------------------------------------------------------------------------------------------------------- strategies


def _conversation(size: int) -> list[Any]:
    """A fixed small conversation with tool rounds."""
    messages: list[Any] = []
    for index in range(size):
        match index % 4:
            case 0:
                messages.append(UserMessage(f"please look at file number {index}", id=f"m{index}"))
            case 1:
                call = ToolCall(f"call{index}", name="read", arguments={"path": f"src/part{index}.py"})
                messages.append(AssistantMessage([call], id=f"m{index}"))
            case 2:
                messages.append(ToolResult(f"call{index - 1}", "def f(): ...", tool_name="read", id=f"m{index}"))
            case _:
                messages.append(AssistantMessage(f"it defines f, as of step {index}", id=f"m{index}"))
    return messages


def transcripts(*, max_size: int = 24, live: bool = False) -> Any:
    """A hypothesis strategy: lists of message nouns that form a valid transcript, with interleaved parallel rounds.

    With *live*, some calls may still be open. Needs hypothesis.
    """
    from hypothesis import strategies as st  # noqa: PLC0415 - only users of the strategy need it

    @st.composite
    def build(draw: Any) -> list[Any]:
        messages: list[Any] = []
        waiting: list[ToolCall] = []
        text = st.text(max_size=12)
        for index in range(draw(st.integers(0, max_size))):
            kind = draw(st.sampled_from("uacr"))
            if kind == "r" and waiting:
                call = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
                messages.append(ToolResult(call, draw(text), is_error=draw(st.booleans()), id=f"m{index}"))
            elif kind == "c":
                calls = [
                    ToolCall(f"c{index}-{number}", name="tool", arguments={"n": number})
                    for number in range(draw(st.integers(1, 3)))
                ]
                waiting += calls
                messages.append(AssistantMessage(calls, id=f"m{index}"))
            elif kind == "a":
                messages.append(AssistantMessage(draw(text), id=f"m{index}"))
            else:
                messages.append(UserMessage(draw(text), id=f"m{index}"))
        if not live:
            messages += [ToolResult(call, "late", id=f"late-{call.id}") for call in waiting]
        return messages

    return build()
