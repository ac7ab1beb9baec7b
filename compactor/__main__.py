"""The console script: ``compactor`` and ``python -m compactor``.

Owns the first and the last moment of the process. Ctrl-C ends in exit code 130 and without a traceback at any of them,
so nothing heavy is imported before the handler stands, and nothing can interrupt the interpreter's shutdown. Until the
session runs nothing exists that would need cleaning up: there Ctrl-C ends the process at once, which is safer than an
exception in the middle of somebody's import. While it runs, Ctrl-C is Trio's (see ``cli``).
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

INTERRUPTED = 130
BUG = 70
"""The exit code of a fault in this program: EX_SOFTWARE, apart from the codes that the input can cause."""


def main() -> int:
    """Run the command line of this process and give its exit code; never a traceback."""
    # One handler may itself be interrupted: launchers deliver the terminal's Ctrl-C a second time.
    try:
        try:
            return _guarded(sys.argv[1:])
        except KeyboardInterrupt:
            return _interrupted()
    except KeyboardInterrupt:
        return _interrupted()


def _guarded(arguments: Sequence[str]) -> int:
    import signal  # noqa: PLC0415 - inside the guard

    # Whoever started this process may have had Ctrl-C ignored (nohup, a background job): that stays.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        with contextlib.suppress(ValueError):  # Not the main thread: Ctrl-C does not come here.
            signal.signal(signal.SIGINT, _leave)
    code = _run(arguments)
    if ours:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    """End at once: nothing was written, nothing is open that would need to be closed."""
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _interrupted() -> int:
    import signal  # noqa: PLC0415 - loaded already

    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    try:
        try:
            from compactor.cli import run  # noqa: PLC0415 - the heavy part, and its library may be missing
        except ModuleNotFoundError as error:
            if error.name != "click":
                raise
            what = "the command line needs the library click, which is not installed"
            return _fail(arguments, 2, "CLI_USAGE", what, "run: pip install 'trio-compactor[cli]'")
        return run(arguments)
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is not None:
            return _interrupted()
        return _bug(arguments, group)
    except Exception as error:  # noqa: BLE001 - the last one who can say it in a sentence
        return _bug(arguments, error)


def _bug(arguments: Sequence[str], error: BaseException) -> int:
    """Say where it was raised; its own text may quote the session, so it stays out."""
    place, traceback = "", error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename.replace("\\", "/")
        if "/compactor/" in file:
            place = f" at {file.rpartition('/compactor/')[2]}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    what = f"compactor itself failed ({type(error).__name__}{place}) and nothing was changed by the failing step"
    return _fail(arguments, BUG, "CONTEXT_INTERNAL", what, "please report this line and the command as a bug")


def _fail(arguments: Sequence[str], exit_code: int, code: str, message: str, fix: str) -> int:
    """What ``cli`` does with an error, for when ``cli`` cannot."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"error: {message}; {fix}\n")
    if "--json" in arguments:
        import json  # noqa: PLC0415 - rarely needed

        found = {"code": code, "message": message, "fix": fix, "file": None, "line": None}
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stdout.write(json.dumps({"schema": 1, "error": found}) + "\n")
            sys.stdout.flush()
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
