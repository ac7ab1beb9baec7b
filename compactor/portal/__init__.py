"""The same session for asyncio (``async with``) and for plain code (``with``): Trio runs in one background thread.

Owns the two faces of a session. Underneath is the one ``Session`` of this library; the faces hand calls on by name
and hold no logic of their own::

    async with portal.open_session(policy=...) as session:      # under asyncio
        await session.append(UserMessage("hello"))

    with portal.open_session(policy=...) as session:            # plain code, in any thread
        session.append(UserMessage("hello"))

**The thread** is a daemon, started by the first session that is opened and shared by all of the process. When the
interpreter exits it ends what is still open and is waited for, ten seconds at most. A forked child starts its own; what
its parent opened stays the parent's. Trio's objects are touched in that thread only.

**Cancellation** follows Trio's rule: *cancelled raised ⇔ not recorded*. A cancelled asyncio task cancels the call in
the other thread and waits until it has ended, however often it is cancelled meanwhile. If the call had committed by
then, its value is returned, and the cancellation meets the task at its next await, unless whoever asked for it (a
time-out that was left, a task group) has taken it back. Ctrl-C in plain code cancels and waits, too, and always leaves
as ``KeyboardInterrupt``.

**Functions** that are given to a session (``summarizer``, ``after_commit``): this library's own run under Trio. Of the
caller's, under asyncio: a coroutine function is asyncio's and runs on the loop of the ``async with``, as a task that is
cancelled and awaited with its run; any other callable is called in Trio's thread, and an awaitable that it returns is
awaited on that loop. In plain code a plain function runs in a worker thread, so that it may block; a coroutine function
is Trio's. ``asyncio_summarizer`` and ``trio_summarizer`` say otherwise. ``logger``, ``new_id`` and the like are called
in Trio's thread.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import attrs
import trio

from ..context import ActiveContext
from ..errors import CompactionError, ErrorCode
from ..outcomes import Outcome
from ..phases import Phase
from ..session import Plan, Session
from ..session import open_session as open_trio_session
from ._functions import CALLERS_LOOP, asyncio_summarizer, fitted, trio_summarizer
from ._thread import Runtime, closed, running_loop, runtime

__all__ = ["AsyncioSession", "Opening", "PlainSession", "asyncio_summarizer", "open_session", "trio_summarizer"]

HIDDEN: Final = frozenset({"crash", "lease", "machine", "publish", "sizing", "store", "transitions", "unwritable", "writing"})
"""What a session has beside its public face, or what is of use under Trio only: a face does not show it."""

P = ParamSpec("P")
R = TypeVar("R")


def _is_cancellation(error: BaseException) -> bool:
    """Alone or in groups, and nothing beside it: it goes on to its scope."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(trio.Cancelled)[1] is None
    return isinstance(error, trio.Cancelled)


@attrs.define(eq=False)
class _Host:
    """One open session in Trio's thread. Everything but *runtime* and *session* is touched there only."""

    runtime: Runtime
    loop: asyncio.AbstractEventLoop | None
    open: Callable[[], AbstractAsyncContextManager[Session]]
    session: Session | None = None
    calls: trio.Nursery | None = None
    leaving: trio.Event | None = None
    ended: trio.Event | None = None
    failure: BaseException | None = None

    def nursery(self) -> trio.Nursery:
        """Where calls run while the session is open."""
        if self.calls is None:
            raise closed("the session is closed", self.failure)
        return self.calls

    async def enter(self) -> None:
        """Open the session and keep it open in a task of its own. Cancelled: it is not open."""
        await self.runtime.nursery.start(self._keep)

    async def _keep(self, *, task_status: trio.TaskStatus[None]) -> None:
        CALLERS_LOOP.set(self.loop)
        self.ended = trio.Event()
        try:
            async with self.open() as session, trio.open_nursery() as self.calls:
                self.session, self.leaving = session, trio.Event()
                task_status.started()
                try:
                    await self.leaving.wait()
                finally:
                    # What is in hand gets its answer from the session where it has one, else it is cancelled.
                    await session.aclose()
                    self.calls.cancel_scope.cancel()
        except BaseException as failure:
            if self.leaving is None or _is_cancellation(failure):
                raise
            self.failure = failure  # for whoever leaves the session
        finally:
            self.calls = None
            self.ended.set()

    def leave(self) -> None:
        """Have it closed, without waiting."""
        if self.leaving is not None:
            self.leaving.set()

    async def exit(self) -> None:
        """Close it, and raise what ended it, if something did."""
        assert self.ended is not None
        self.leave()
        with trio.CancelScope(shield=True):
            await self.ended.wait()
        if self.failure is not None:
            raise self.failure


class _Face:
    """What both faces share: reading. Plain attributes, whole at any time, from any thread, without a wait."""

    __slots__ = ("_host",)
    _host: _Host

    id: str
    snapshot: ActiveContext
    """The last published state."""
    context: ActiveContext
    """The snapshot and everything appended since."""
    phase: Phase
    pressure: float
    """How full the context is: 1.0 at the threshold."""
    open_calls: tuple[str, ...]
    last_outcome: Outcome | None
    plan: Callable[[], Plan]

    def __init__(self, host: _Host) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        """Everything else that is public: reads as they are, async methods in the manner of the face."""
        if name.startswith("_") or name in HIDDEN:
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)
        if inspect.iscoroutinefunction(getattr(Session, name, None)):
            return functools.partial(self._call, name)
        return getattr(self._host.session, name)

    def __dir__(self) -> list[str]:
        shown = [name for name in dir(self._host.session) if not name.startswith("_") and name not in HIDDEN]
        return sorted({*object.__dir__(self), *shown})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._host.session!r}>"

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - each of the two faces has its own
        msg = f"{type(self).__name__} is neither face, so {name} cannot be called"
        raise TypeError(msg)


def _awaited(
    method: Callable[Concatenate[Session, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """The same method as a coroutine of asyncio."""

    @functools.wraps(method)
    async def call(self: AsyncioSession, /, *args: P.args, **kwargs: P.kwargs) -> R:
        value: R = await self._call(method.__name__, *args, **kwargs)
        return value

    return call


def _blocking(method: Callable[Concatenate[Session, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[Any, P], R]:
    """The same method as a function that blocks."""

    @functools.wraps(method)
    def call(self: PlainSession, /, *args: P.args, **kwargs: P.kwargs) -> R:
        value: R = self._call(method.__name__, *args, **kwargs)
        return value

    return call


class AsyncioSession(_Face):
    """A session whose methods are coroutines of asyncio, for tasks of any loop. Made by ``open_session`` only.

    The lines below are for type checkers and ``help``: every async method of ``Session`` is here, listed or not.
    """

    __slots__ = ()

    append = _awaited(Session.append)
    turn = _awaited(Session.turn)
    pin = _awaited(Session.pin)
    unpin = _awaited(Session.unpin)
    close_calls = _awaited(Session.close_calls)
    begin = _awaited(Session.begin)
    compact = _awaited(Session.compact)
    undo = _awaited(Session.undo)
    rewind = _awaited(Session.rewind)
    fork = _awaited(Session.fork)
    redact = _awaited(Session.redact)
    history_search = _awaited(Session.history_search)
    history_read = _awaited(Session.history_read)
    recall = _awaited(Session.recall)
    statistics = _awaited(Session.statistics)
    aclose = _awaited(Session.aclose)

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        host = self._host
        work = functools.partial(getattr(host.session, name), *args, **kwargs)
        return await host.runtime.wait_asyncio(host.nursery, work)


class PlainSession(_Face):
    """A session whose methods block, for any thread but Trio's. Made by ``open_session`` only.

    The lines below are for type checkers and ``help``: every async method of ``Session`` is here, listed or not.
    """

    __slots__ = ()

    append = _blocking(Session.append)
    turn = _blocking(Session.turn)
    pin = _blocking(Session.pin)
    unpin = _blocking(Session.unpin)
    close_calls = _blocking(Session.close_calls)
    begin = _blocking(Session.begin)
    compact = _blocking(Session.compact)
    undo = _blocking(Session.undo)
    rewind = _blocking(Session.rewind)
    fork = _blocking(Session.fork)
    redact = _blocking(Session.redact)
    history_search = _blocking(Session.history_search)
    history_read = _blocking(Session.history_read)
    recall = _blocking(Session.recall)
    statistics = _blocking(Session.statistics)
    aclose = _blocking(Session.aclose)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        host = self._host
        work = functools.partial(getattr(host.session, name), *args, **kwargs)
        return host.runtime.wait_plain(host.nursery, work)


@attrs.define(eq=False)
class Opening:
    """A session to be: enter it with ``async with`` under asyncio, with ``with`` in plain code. Once."""

    _args: tuple[Any, ...]
    _options: dict[str, Any]
    _host: _Host | None = None

    def _prepare(self, loop: asyncio.AbstractEventLoop | None) -> _Host:
        if self._host is not None:
            raise CompactionError(
                ErrorCode.INVALID_INPUT, "was entered before", where="portal", fix="call portal.open_session again"
            )
        options = fitted(self._options, under_asyncio=loop is not None)
        self._host = _Host(runtime(), loop, functools.partial(open_trio_session, *self._args, **options))
        return self._host

    async def __aenter__(self) -> AsyncioSession:
        host = self._prepare(running_loop())
        try:
            await host.runtime.wait_asyncio(lambda: host.runtime.nursery, host.enter)
        except GeneratorExit:  # the loop is gone
            host.runtime.post(host.leave)
            raise
        return AsyncioSession(host)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the session and wait, cancelled or not. What the body raised leaves bare."""
        host = self._host
        assert host is not None
        if host.runtime.inherited:
            return
        if kind is GeneratorExit:  # the loop is gone: nothing can be awaited
            host.runtime.post(host.leave)
            return
        await host.runtime.wait_asyncio(lambda: host.runtime.nursery, host.exit, stoppable=False)
        if kind is None:
            await asyncio.sleep(0)  # where a cancellation that came meanwhile is met

    def __enter__(self) -> PlainSession:
        host = self._prepare(None)
        try:
            host.runtime.wait_plain(lambda: host.runtime.nursery, host.enter)
        except KeyboardInterrupt:
            if host.session is not None:
                self.__exit__(None, None, None)
            raise
        return PlainSession(host)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the session and wait. What the body raised leaves bare."""
        host = self._host
        assert host is not None
        if not host.runtime.inherited:
            host.runtime.wait_plain(lambda: host.runtime.nursery, host.exit, stoppable=False)


def _taking_what(
    function: Callable[P, AbstractAsyncContextManager[Session]],
) -> Callable[[Callable[..., Opening]], Callable[P, Opening]]:
    """Give a function the parameters of *function*, for type checkers and ``help``."""
    return lambda own: functools.update_wrapper(own, function, assigned=())


@_taking_what(open_trio_session)
def open_session(*args: Any, **options: Any) -> Opening:
    """Open a session from asyncio (``async with``, gives ``AsyncioSession``) or plain code (``with``: ``PlainSession``).

    Takes what ``compactor.open_session`` takes. Leaving ends a run in hand as cancelled, unless it is committing, and
    waits for it, also when the leaving task was cancelled.
    """
    return Opening(args, options)
