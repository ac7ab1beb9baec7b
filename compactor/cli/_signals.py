"""Who gets Ctrl-C, by part of the run.

At first the handler of ``__main__`` stands: it ends the process at once. ``interruptible`` hands Ctrl-C to Trio.
``deferred`` holds it back while a file is written, so that it can never come between a step and its cleaning up.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _is_ours() -> bool:
    """False where Ctrl-C never comes: in other threads, or when it was ignored from the start."""
    ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
    return threading.current_thread() is threading.main_thread() and not ignored


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Inside, Ctrl-C raises KeyboardInterrupt; ``trio.run`` takes charge of it only then."""
    if not _is_ours():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def deferred() -> Iterator[Callable[[], None]]:
    """Inside, Ctrl-C comes only where the function that is given is called: it raises KeyboardInterrupt.

    When the block ends well, what was asked for is done: a Ctrl-C that comes later comes too late and is ignored.
    """
    caught = False

    def note(*_: Any) -> None:
        nonlocal caught
        caught = True

    def check() -> None:
        if caught:
            raise KeyboardInterrupt

    if not _is_ours():
        yield check
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield check
    except BaseException:
        signal.signal(signal.SIGINT, before)
        raise
    signal.signal(signal.SIGINT, signal.SIG_IGN)
