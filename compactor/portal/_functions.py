"""Where the functions run that a caller gives to a session: on the caller's loop, in Trio's thread, or in a worker."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final

import attrs
import trio

from ..context import SummaryRequest
from ..errors import CompactionError, ErrorCode
from ..summarizers import blocking
from ..usercode import AWAIT_DEPTH

USER_FUNCTIONS: Final = ("summarizer", "after_commit")
"""The options of a session that are functions of the caller, and may be asynchronous."""

LOOK_SECONDS: Final = 1.0
"""How often a wait for the caller's loop looks whether it was closed. No time-out: the policy has one."""

CALLERS_LOOP: Final[ContextVar[asyncio.AbstractEventLoop | None]] = ContextVar("compactor_callers_loop", default=None)
"""The loop of the ``async with``, for everything that runs in its session."""


def asyncio_summarizer(function: Callable[[SummaryRequest], Any]) -> Callable[[SummaryRequest], Awaitable[Any]]:
    """Say that *function* is asyncio's: it is called on the loop of the ``async with``, and awaited there.

    Needed where it cannot be seen: for a function that is wrapped in another, or one that is no coroutine function
    and needs the running loop when it is called.
    """

    async def on_the_loop(*args: Any) -> Any:
        return await _done_by_asyncio(function, *args)

    return on_the_loop


def trio_summarizer(function: Callable[[SummaryRequest], Any]) -> Callable[[SummaryRequest], Any]:
    """Say that *function* is Trio's, though it is given to a session under asyncio: it runs in Trio's thread."""

    def under_trio(*args: Any) -> Any:
        return function(*args)

    return under_trio


async def _done_by_asyncio(function: Callable[..., Any], *args: Any) -> Any:
    loop = CALLERS_LOOP.get()
    if loop is None:
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            "an asyncio summarizer needs a session that was opened under asyncio",
            where="portal",
            fix="open it with `async with portal.open_session(...)`",
        )
    return await _Errand(loop, function, args).run()


def fitted(options: dict[str, Any], *, under_asyncio: bool) -> dict[str, Any]:
    """The options of a session, with each function of the caller's wrapped so that it runs where it belongs."""
    fit = _for_asyncio if under_asyncio else _for_plain
    given = {name: options[name] for name in USER_FUNCTIONS if callable(options.get(name))}
    return {**options, **{name: fit(function) for name, function in given.items() if not _ours(function)}}


def _for_asyncio(function: Callable[..., Any]) -> Callable[..., Any]:
    if _is_async(function):
        return asyncio_summarizer(function)

    def in_trios_thread(*args: Any) -> Any:
        value = function(*args)
        return _awaited_by_asyncio(value) if _is_awaitable(value) else value

    return in_trios_thread


async def _awaited_by_asyncio(value: Any) -> Any:
    try:
        return await _done_by_asyncio(lambda: value)
    finally:
        if inspect.iscoroutine(value):
            value.close()  # it may not have been begun


def _for_plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return function if _is_async(function) else blocking(function)


def _code_of(function: Callable[..., Any]) -> Any:
    """What runs when *function* is called: itself, or its type's ``__call__``."""
    return function if inspect.isroutine(inspect.unwrap(function)) else type(function).__call__


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(_code_of(function))


def _ours(function: Callable[..., Any]) -> bool:
    """True for this library's own, judged by where its code was written: a wrapper may bear another's name."""
    home = getattr(_code_of(function), "__globals__", {}).get("__name__", "")
    return type(home) is str and home.split(".")[0] == __name__.split(".")[0]


def _is_awaitable(value: object) -> bool:
    return any("__await__" in vars(base) for base in type(value).__mro__)


@attrs.define(eq=False)
class _Errand:
    """One call of an asyncio function on the caller's loop, awaited under Trio; cancellation goes both ways."""

    loop: asyncio.AbstractEventLoop
    function: Callable[..., Any]
    args: tuple[Any, ...]
    context: contextvars.Context = attrs.field(factory=contextvars.copy_context)
    """That of the run: it knows which sessions wait for this code."""
    token: trio.lowlevel.TrioToken = attrs.field(factory=trio.lowlevel.current_trio_token)
    done: trio.Event = attrs.field(factory=trio.Event)
    task: asyncio.Task[None] | None = None
    value: Any = None
    error: BaseException | None = None

    async def run(self) -> Any:
        """In Trio's thread: have it done, and wait for it."""
        self._tell(self._start)
        try:
            await self._end()
        except trio.Cancelled:
            self._tell(self._cancel)
            with trio.CancelScope(shield=True):
                await self._end()
            raise
        if self.error is not None:
            raise self.error
        return self.value

    def _tell(self, what: Callable[[], object]) -> None:
        try:
            self.loop.call_soon_threadsafe(what)
        except RuntimeError as error:
            raise self._lost() from error

    async def _end(self) -> None:
        while not self.done.is_set():
            with trio.move_on_after(LOOK_SECONDS):
                await self.done.wait()
            if not self.done.is_set() and self.loop.is_closed():
                raise self._lost()

    @staticmethod
    def _lost() -> CompactionError:
        return CompactionError(
            ErrorCode.SUMMARIZER_FAILED,
            "the asyncio loop that the session was opened on is closed",
            where="portal",
            fix="leave the session before its loop ends",
        )

    def _start(self) -> None:
        self.task = self.loop.create_task(self._serve(), context=self.context)
        self.task.add_done_callback(self._ended)

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    async def _serve(self) -> None:
        """On the caller's loop."""
        try:
            value = self.function(*self.args)
            for _ in range(AWAIT_DEPTH):
                if not _is_awaitable(value):
                    break
                value = await value
            self.value = value
        except (KeyboardInterrupt, SystemExit) as error:
            self.error = error
            raise  # they end the loop, as always under asyncio
        except BaseException as error:  # noqa: BLE001 - it is the run's
            self.error = error

    def _ended(self, task: asyncio.Task[None]) -> None:
        """On the caller's loop. A task that is cancelled before its first step ends without having run at all."""
        if task.cancelled():
            self.error = asyncio.CancelledError()
        with contextlib.suppress(trio.RunFinishedError, OSError):
            self.token.run_sync_soon(self.done.set)
