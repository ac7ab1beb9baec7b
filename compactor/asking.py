"""Ask the summarizer: the one effect that a session's run and a single ``compact_context`` share."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final

import attrs
import trio

from .context import SummaryRequest
from .errors import ErrorCode, FailureKind, kind_name
from .machine import Run
from .phases import Signal
from .usercode import Box, Ended, Unobservable, start, wait

NAME_MAX: Final = 200
"""Code points of a name that a record keeps."""


@attrs.define(eq=False, repr=False)
class Asking:
    """One summarizer, where its tasks live, and how long it may take. *answer* is what it said last."""

    summarizer: Callable[[SummaryRequest], Any] = attrs.field(repr=False)
    nursery: trio.Nursery
    inside: object
    """The session that waits, for the check that its own user code does not wait for it."""
    timeout: float
    grace: float
    answer: Any = attrs.field(default=None, repr=False)
    box: Box | None = None

    async def ask(self, run: Run, request: SummaryRequest) -> Signal:
        """Call it once. A cancelled run raises Cancelled, whatever the code did about it."""
        self.box = box = start(self.nursery, self.inside, self.summarizer, request)
        try:
            ended = await wait(box, seconds=self.timeout, grace=self.grace)
        except trio.Cancelled:
            self._note(run, box)
            # One exception from "cancelled wins": a plain callable that itself raised, even if it cancelled first.
            if not box.raised_by_call or box.exit is not None:
                raise
            ended = Ended.ANSWERED
        if ended is not Ended.ANSWERED:
            self._note(run, box)
            kind = FailureKind.TIMEOUT if ended is Ended.TIMED_OUT else FailureKind.UNRESPONSIVE
            run.fail(
                ErrorCode.SUMMARIZER_FAILED,
                f"the summarizer did not answer within {self.timeout:g} s",
                kind=kind,
                fix="raise the timeout of the budget or policy, or use a faster model",
            )
            return Signal.SUMMARIZER_FAILED
        if box.exit is not None:
            run.exit = box.exit
            return Signal.CANCELLED
        if box.error is None:
            self.answer = box.value
            return Signal.SUMMARIZED
        if not box.raised_by_call:
            # What a cancelled awaitable raised says nothing: the state of the scope decides.
            await trio.lowlevel.checkpoint()
        self._fail(run, box.error)
        return Signal.SUMMARIZER_FAILED

    @staticmethod
    def _note(run: Run, box: Box) -> None:
        if not box.ended.is_set():
            run.notes.append("the summarizer does not respond to cancellation; it still runs and its answer will be ignored")
        if box.exit is not None:
            run.exit = box.exit

    @staticmethod
    def _fail(run: Run, error: BaseException) -> None:
        if type(error) is Unobservable:
            run.fail(
                ErrorCode.ASYNC_VALUE_UNOBSERVABLE,
                "the summarizer returned something that Trio cannot await",
                kind=FailureKind.SUMMARIZER,
                fix="under asyncio open the session with compactor.portal, which runs an asyncio summarizer on its own loop; "
                "wrap blocking code in summarizers.blocking(...)",
            )
            return
        run.fail(
            ErrorCode.SUMMARIZER_FAILED,
            f"the summarizer raised {kind_name(error)}",
            kind=FailureKind.SUMMARIZER,
            fix="see __cause__; the context is unchanged",
            cause=error,
        )


def described(summarizer: object) -> dict[str, str]:
    """What a record says of a summarizer: its name, and what it tells of *model* and *prompt_version*, if it does."""
    told: dict[str, str] = {}
    for attribute, key in (("name", "name"), ("model", "model"), ("prompt_version", "prompt")):
        try:
            value = getattr(summarizer, attribute, None)
        except Exception:  # noqa: BLE001 - the summarizer's own property; the record goes without it
            value = None
        if type(value) is str:
            told[key] = value[:NAME_MAX]
    return {"name": function_name(summarizer), **told}


def function_name(function: object) -> str:
    """A function's own name, else its type's."""
    name = getattr(function, "__name__", None) if isinstance(function, FunctionType | MethodType) else None
    return name if type(name) is str and name.isidentifier() else kind_name(function)


def default_summarizer() -> Callable[[SummaryRequest], Any]:
    """The digest, loaded when nobody brought a summarizer: its tables of words are the largest part of the package."""
    from .summarizers import DigestSummarizer  # noqa: PLC0415

    return DigestSummarizer()
