"""Trio in one background thread of the process, and the way of a call there and back.

A call is posted to Trio's thread, runs there as a task under a scope of its own, and tells its caller when it has
ended. Callers wait in one of two ways: a task of an asyncio loop, which may be cancelled, or a blocked thread, which
Ctrl-C may interrupt. Either way the call is cancelled, and waited for.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import attrs
import trio

from ..errors import CompactionError, ErrorCode

EXIT_SECONDS: Final = 10.0
"""How long the exit of the interpreter waits for sessions that were left open: twice the grace of user code."""

LOOK_SECONDS: Final = 1.0
"""How often a blocked wait looks whether Trio's thread still exists. No time-out: it waits for as long as it does."""

Work: TypeAlias = Callable[[], Awaitable[Any]]
Home: TypeAlias = Callable[[], trio.Nursery]
"""Gives the nursery, in Trio's thread, or raises ``CompactionError``."""


def closed(why: str, cause: BaseException | None = None) -> CompactionError:
    """The error for what can no longer be reached."""
    error = CompactionError(ErrorCode.SESSION_CLOSED, why, where="portal", fix="open the session again")
    error.__cause__ = cause
    return error


def running_loop() -> asyncio.AbstractEventLoop:
    """The caller's loop, or an error that says where else to go."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            "the asyncio face of a session needs a running asyncio loop",
            where="portal",
            fix="under Trio use compactor.open_session, in plain code `with portal.open_session(...)`",
        ) from None


@attrs.define(eq=False)
class Call:
    """One call into Trio's thread: *work* runs there as a task of *home*, then *wake* tells the caller."""

    work: Work
    home: Home
    wake: Callable[[], None]
    context: contextvars.Context = attrs.field(factory=contextvars.copy_context)
    scope: trio.CancelScope | None = None
    """Trio's; None until the call has arrived in its thread."""
    value: Any = None
    error: BaseException | None = None
    stopped: bool = False
    """Ended by a cancellation, its own or its session's: it did not happen."""
    finished: bool = False

    def begin(self) -> None:
        """In Trio's thread: start the task, once."""
        if self.scope is not None or self.finished:
            return
        self.scope = trio.CancelScope()
        try:
            self.context.run(self.home().start_soon, self._perform)
        except CompactionError as error:
            self.end(error)
        except RuntimeError as error:  # the nursery is closed: the thread is ending
            self.end(closed("Trio's thread is ending", error))

    def stop(self) -> None:
        """In Trio's thread: cancel the task."""
        if self.scope is not None:
            self.scope.cancel()

    async def _perform(self) -> None:
        assert self.scope is not None
        try:
            with self.scope:
                self.value = await self.work()
        except trio.Cancelled:
            self.stopped = True
            self.end(closed("the session ended while the call was in hand; it was not recorded"))
            raise
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            self.end(error)
        else:
            self.stopped = self.scope.cancelled_caught
            self.end()

    def end(self, error: BaseException | None = None) -> None:
        """Note how it ended and tell the caller, once."""
        if not self.finished:
            self.error = error
            self.finished = True
            self.wake()

    def result(self) -> Any:
        """What it gave, or raise what it raised."""
        if self.error is None:
            return self.value
        try:
            raise self.error
        finally:
            self.error = None  # else the traceback and this object keep each other


class Runtime:
    """Trio in a thread of its own."""

    token: trio.lowlevel.TrioToken
    nursery: trio.Nursery

    def __init__(self) -> None:
        self.gone: CompactionError | None = None
        self.inherited = False
        """True in a forked child: the thread lives in the parent."""
        self._calls: set[Call] = set()
        self._ready = threading.Event()
        # An empty context: what the first caller had in its own must not live as long as the process.
        self._thread = threading.Thread(
            target=contextvars.Context().run, args=(self._run,), name="compactor portal (Trio)", daemon=True
        )
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        why: BaseException | None = None
        try:
            trio.run(self._main)
        except BaseException as crash:  # noqa: BLE001 - a bug, in here or in Trio; told to everybody who waits
            why = crash
        finally:
            self.gone = closed("Trio's thread has ended", why)
            for call in list(self._calls):
                call.end(self.gone)
            self._ready.set()

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            self.nursery, self.token = nursery, trio.lowlevel.current_trio_token()
            self._ready.set()
            await trio.sleep_forever()

    def post(self, function: Callable[[], object]) -> None:
        """Have *function*, which must not raise, called in Trio's thread; in the order of posting."""
        if self.gone is None:
            # Gone since: _run tells all calls, and who looks after the call was added sees that it is gone.
            with contextlib.suppress(trio.RunFinishedError, OSError):
                self.token.run_sync_soon(function)

    def add(self, call: Call) -> None:
        """Begin a call."""
        self._calls.add(call)
        self.post(call.begin)
        if self.gone is not None:
            call.end(self.gone)

    def forget(self, call: Call) -> None:
        """The call has ended, or nobody waits for it any more."""
        self._calls.discard(call)

    @property
    def alive(self) -> bool:
        """False when the thread was lost without a word."""
        return self.gone is None and self._thread.is_alive()

    def here(self) -> bool:
        """True in Trio's thread."""
        return threading.get_ident() == self._thread.ident

    def _stop(self) -> None:
        self.nursery.cancel_scope.cancel()

    def close(self) -> None:
        """End everything that is open, and wait, within limits."""
        self.post(self._stop)
        self._thread.join(EXIT_SECONDS)

    async def wait_asyncio(self, home: Home, work: Work, *, stoppable: bool = True) -> Any:
        """Run a call and wait for it on the running loop, cancelled or not."""
        loop, task = running_loop(), asyncio.current_task()
        assert task is not None
        requests = task.cancelling()
        waiter = loop.create_future()
        cancelled: asyncio.CancelledError | None = None

        def arrive() -> None:
            if not waiter.done():
                waiter.set_result(None)

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(arrive)

        going = Call(work, home, wake)
        self.add(going)
        try:
            while not going.finished:
                try:
                    await waiter
                except asyncio.CancelledError as error:
                    if cancelled is None:
                        cancelled = error
                        # How many requests there were before this one. The count may have been raised since, by a
                        # time-out that passed in the same round, or before the call, with the error still to come.
                        requests = min(requests, task.cancelling() - 1)
                    if stoppable:
                        self.post(going.stop)
                    waiter = loop.create_future()
        finally:
            if not going.finished:  # the coroutine was closed: the loop is gone
                self.post(going.stop)
            self.forget(going)
        if cancelled is not None:
            if going.stopped:
                raise cancelled
            _cancel_again(task, loop, requests, cancelled)
        return going.result()

    def wait_plain(self, home: Home, work: Work, *, stoppable: bool = True) -> Any:
        """Run a call and block until it has ended, interrupted or not."""
        if self.here():
            raise CompactionError(
                ErrorCode.REENTRANT,
                "the plain face of a session was used in Trio's thread, which it would block for ever",
                where="portal",
                fix="call it from a thread of your own; a summarizer gets everything it needs in its request",
            )
        bell = threading.Lock()
        bell.acquire()
        going = Call(work, home, bell.release)
        interrupted: KeyboardInterrupt | None = None
        while True:
            try:
                # Ctrl-C may come at any line: so nothing but the note of it stands outside of the try, and what
                # stands inside may be done twice.
                self.add(going)
                if interrupted is not None and stoppable:
                    self.post(going.stop)
                while not going.finished:
                    # Timed, because Windows does not interrupt a wait without a limit.
                    if not bell.acquire(timeout=LOOK_SECONDS) and not self.alive:
                        going.end(self.gone or closed("Trio's thread was lost"))
                self.forget(going)
                break
            except KeyboardInterrupt as stop:
                interrupted = stop
        if interrupted is not None:
            raise interrupted
        return going.result()


def _cancel_again(
    task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop, requests: int, cancelled: asyncio.CancelledError
) -> None:
    """Let a cancellation that came too late for a call meet the task at its next await.

    In the loop's next round, not at once: a task that ends here has done what it was asked to do, and a time-out or
    task group that is left here has taken its request back, which the count of requests tells.
    """

    def redeliver() -> None:
        if not task.done() and task.cancelling() > requests:
            task.uncancel()
            task.cancel(*cancelled.args[:1])

    loop.call_soon(redeliver)


_starting = threading.Lock()
_current: Runtime | None = None


def runtime() -> Runtime:
    """The thread of this process."""
    global _current  # noqa: PLW0603 - one per process is the point
    with _starting:
        if _current is None or not _current.alive:
            _current = Runtime()
        return _current


def _forked() -> None:
    """In a forked child: the parent's thread is not here."""
    global _current, _starting  # noqa: PLW0603 - see above
    _starting = threading.Lock()
    if _current is not None:
        _current.inherited = True
        _current.gone = closed("the session belongs to the process that opened it")
        _current = None


def _exiting() -> None:
    """At exit: end what was left open."""
    if _current is not None:
        _current.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
atexit.register(_exiting)
