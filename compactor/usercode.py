"""User code in a task of its own, under a private nursery, with its answer in a box.

Whatever the code does to scopes, nurseries and tasks stays in here: it may leak a cancel scope, start tasks in its
parent's nursery or cancel it, raise anything, swallow cancellation. The run looks at the box and decides by the
state of its scopes, never by the type of what was raised.
"""

from __future__ import annotations

import contextlib
import enum
import math
import sys
import types
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, Final

import attrs
import trio

from .errors import CompactionError, ErrorCode, kind_name

AWAIT_DEPTH: Final = 64
"""How many awaitables may answer with another awaitable."""

INSIDE: Final[ContextVar[frozenset[int]]] = ContextVar("compactor_inside", default=frozenset())
"""Which sessions are waiting for the code that runs now (by ``id``): it may not wait for them in turn."""


class Unobservable(Exception):  # noqa: N818 - a finding of this module, told as ASYNC_VALUE_UNOBSERVABLE
    """Trio cannot await what user code returned. Never raised where user code could catch it, so no code can spoof it."""


class Ended(enum.Enum):
    """How waiting for a box ended."""

    ANSWERED = enum.auto()
    TIMED_OUT = enum.auto()
    UNRESPONSIVE = enum.auto()


@attrs.define(eq=False, repr=False)
class Box:
    """What one call of user code came to."""

    value: Any = attrs.field(default=None, repr=False)
    error: BaseException | None = attrs.field(default=None, repr=kind_name)
    raised_by_call: bool = False
    """The call itself raised, before it returned anything."""
    ended: trio.Event = attrs.field(factory=trio.Event)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)

    @property
    def exit(self) -> BaseException | None:
        """KeyboardInterrupt or SystemExit, alone or in a group: they keep their meaning."""
        return _find_exit(self.error)


def _find_exit(error: BaseException | None) -> BaseException | None:
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _find_exit(inner)) is not None), None)
    return None


def start(nursery: trio.Nursery, inside: object, function: Callable[..., Any], *args: Any) -> Box:
    """Call *function* in a task of its own; *inside* is the session that will wait for it."""
    box = Box()
    nursery.start_soon(_hold, box, id(inside), function, args, name=f"compactor user code {kind_name(function)}")
    return box


async def _hold(box: Box, inside: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        with box.scope:
            async with trio.open_nursery() as private:
                private.start_soon(_call, box, inside, function, args, private.cancel_scope)
    except BaseException as error:  # noqa: BLE001 - what leaked tasks raise is user code, too
        # It explains a Cancelled that the call met; an exit counts whatever the call came to.
        if _find_exit(error) is not None or type(box.error) is trio.Cancelled:
            box.error = error
    finally:
        box.ended.set()


@trio.lowlevel.disable_ki_protection
async def _call(box: Box, inside: int, function: Callable[..., Any], args: tuple[Any, ...], private: trio.CancelScope) -> None:
    INSIDE.set(INSIDE.get() | {inside})
    answered = False
    try:
        value = function(*args)
        answered = True
        box.value = await _settled(value)
    except BaseException as error:  # noqa: BLE001 - boxed; the run decides what it means
        box.error = error
        box.raised_by_call = not answered
    finally:
        # Tasks that the code started beside itself end with it.
        private.cancel()


async def _settled(value: Any) -> Any:
    """Follow awaitables until something else comes."""
    for _ in range(AWAIT_DEPTH):
        if not _is_awaitable(value):
            return value
        value = await _driven(value)
    if _is_awaitable(value):
        _discard(value)
        msg = f"awaitables answered with awaitables more than {AWAIT_DEPTH} times"
        raise CompactionError(ErrorCode.SUMMARIZER_FAILED, msg, fix="return text")
    return value


def _is_awaitable(value: Any) -> bool:
    """True for what ``await`` takes, judged by its type alone; futures of other frameworks are refused here."""
    kind = type(value)
    for name, attribute in (("asyncio", "Future"), ("concurrent.futures", "Future")):
        module = sys.modules.get(name)
        future = getattr(module, attribute, None)
        if future is not None and future in kind.__mro__:
            raise Unobservable
    if kind is types.GeneratorType:
        return bool(value.gi_code.co_flags & 0x100)  # CO_ITERABLE_COROUTINE
    return any("__await__" in vars(base) for base in kind.__mro__)


def _discard(value: Any) -> None:
    """Close a coroutine that nobody will await, so that it does not warn. What closing raises changes nothing."""
    with contextlib.suppress(Exception):
        close = getattr(value, "close", None)
        if callable(close):
            close()


@types.coroutine
def _driven(awaitable: Any) -> Generator[Any, Any, Any]:
    """``await`` it, but look at what it yields: anything that is not Trio's would stall or crash the task."""
    step = awaitable if isinstance(awaitable, types.GeneratorType) else awaitable.__await__()
    send: Any = None
    error: BaseException | None = None
    while True:
        try:
            if error is not None and hasattr(step, "throw"):
                message = step.throw(error)
            elif error is not None:
                raise error
            else:
                message = step.send(send) if hasattr(step, "send") else next(step)
        except StopIteration as stop:
            return stop.value
        kind = message if isinstance(message, type) else type(message)
        if not kind.__module__.startswith("trio."):
            _discard(step)
            raise Unobservable
        send = error = None
        try:
            send = yield message
        except BaseException as raised:  # noqa: BLE001 - handed on to the awaitable
            error = raised


async def wait(box: Box, *, seconds: float, grace: float) -> Ended:
    """Wait *seconds* for the box; cancellation is forwarded, and then the code has *grace* seconds to end.

    Raises Cancelled when the run was cancelled, after that wait. UNRESPONSIVE: the code still runs; its answer will
    be ignored.
    """
    try:
        with trio.move_on_after(seconds) if seconds < math.inf else trio.CancelScope() as limit:
            await box.ended.wait()
    finally:
        if not box.ended.is_set():
            box.scope.cancel()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + grace):
                await box.ended.wait()
    if not limit.cancelled_caught:
        return Ended.ANSWERED
    return Ended.TIMED_OUT if box.ended.is_set() else Ended.UNRESPONSIVE
