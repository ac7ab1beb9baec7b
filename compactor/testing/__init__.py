"""The test kit, for this project's tests and for yours: plain asserts, no pytest.

``scripted`` is a summarizer with prepared answers, ``hold`` parks a run between two phases, ``cancel_at_every_step``
cancels a scenario one scheduler step later each time, ``check_ledger`` is what every store must satisfy,
``check_summarizer`` what every summarizer should, and ``transcripts`` generates valid conversations for hypothesis.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import attrs
import trio

from ..context import SummaryRequest
from ..errors import CompactionError, ErrorCode
from ..messages import AssistantMessage, Requirement, ToolCall, ToolResult, UserMessage
from ..phases import Phase, Signal
from ..session import Session
from ..transcript import transcript_of
from ._cutting import Cutter, cancel_at_every_step
from ._ledger import check_ledger

__all__ = [
    "Cutter",
    "Held",
    "Scripted",
    "cancel_at_every_step",
    "check_ledger",
    "check_summarizer",
    "hold",
    "scripted",
    "transcripts",
]

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
