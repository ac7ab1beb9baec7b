"""What goes wrong, as one sentence for people and one object for programs; and what comes out, on which stream.

stdout is the result, stderr everything else. Exit codes: 0 done or unchanged, 1 faults found by ``check`` or ``verify``, 2 usage,
3 input or output refused, 4 the compaction failed, 5 busy, 70 a bug of this program, 130 Ctrl-C, 141 nobody reads the
output any more.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

import attrs

from compactor.errors import CompactionError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA: Final = 1

DONE: Final = 0
FAULTS: Final = 1
USAGE: Final = 2
REFUSED: Final = 3
FAILED: Final = 4
BUSY: Final = 5
BUG: Final = 70
INTERRUPTED: Final = 130
UNREAD: Final = 141

EXIT_CODES: Final = (
    f"Exit codes: {DONE} done or unchanged, {FAULTS} faults found by check or verify, {USAGE} usage, {REFUSED} input or output "
    f"refused, {FAILED} compaction failed, {BUSY} busy, {BUG} a bug of this program, {INTERRUPTED} Ctrl-C, {UNREAD} output not read."
)

OUTPUT: Final = "CLI_OUTPUT"
"""The code when a result cannot be written. The others are ``ErrorCode`` and this one's like."""
BAD_USAGE: Final = "CLI_USAGE"

_STDOUT: Final = "<stdout>"


def told(path: str) -> str:
    """A path for people: on one line, with nothing that a terminal would obey."""
    return path if path.isprintable() else ascii(path)


def one_line(text: str) -> str:
    """*text* on one line; it may quote what a file says."""
    return "".join([character if character.isprintable() else ascii(character)[1:-1] for character in text])


@attrs.frozen
class Problem:
    """What went wrong, where, what to do, and the exit code."""

    exit: int
    code: str
    message: str
    fix: str = ""
    file: str | None = None
    line: int | None = None

    @classmethod
    def of(cls, error: CompactionError, exit_code: int, file: str | None) -> Problem:
        """An error of the library about *file*; a bug or a busy session has an exit code of its own."""
        exit_code = {ErrorCode.INTERNAL: BUG, ErrorCode.BUSY: BUSY, ErrorCode.FENCED: BUSY}.get(error.code, exit_code)
        inner, line = error.where, None
        if file is not None and inner.startswith(file):
            inner = inner.removeprefix(file)
            found = re.match(r":(\d+)(?!\d)", inner)
            if found is not None:
                line, inner = int(found[1]), inner[found.end() :]
            inner = inner.lstrip(": ")
        message = f"{inner}: {error.message}" if inner else error.message
        return cls(exit_code, error.code.value, message, error.fix, file, line)

    @property
    def sentence(self) -> str:
        """``error: FILE:LINE: message; fix``."""
        place = "" if self.file is None else f"{self.file}: " if self.line is None else f"{self.file}:{self.line}: "
        return one_line(f"error: {place}{self.message}{'; ' if self.fix else ''}{self.fix}")

    def to_plain(self) -> dict[str, Any]:
        """The object of ``--json``."""
        names = ("code", "message", "fix", "file", "line")
        return {"schema": SCHEMA, "error": {name: getattr(self, name) for name in names}}


class RefusedError(Exception):
    """Ends a command with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem


def refused(message: str, fix: str, file: str, code: str = OUTPUT) -> RefusedError:
    """Exit 3: what was given, or where the result shall go, cannot be used."""
    return RefusedError(Problem(REFUSED, code, message, fix, file))


# -------------------------------------------------------------------------------------------------------- streams


class UnreadError(Exception):
    """Nobody reads stdout any more; there is nothing left to say."""


def put(data: bytes) -> None:
    """Write all of *data* to stdout and flush it."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))  # noqa: TRY301 - it was closed before this process began
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _mute(sys.stdout)
        raise UnreadError from None
    except OSError as error:
        _mute(sys.stdout)
        reason = os.strerror(error.errno or errno.EIO)
        raise refused(f"cannot be written: {reason}", "send the output somewhere else", _STDOUT) from error


def put_json(value: dict[str, Any]) -> None:
    """One object, in ASCII: ids may hold what no encoding can."""
    put(json.dumps(value, allow_nan=False).encode() + b"\n")


def put_lines(lines: Iterable[str]) -> None:
    """Lines for people, in the encoding of stdout as far as it goes."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    put("".join([f"{line}\n" for line in lines]).encode(encoding, "backslashreplace"))


def warn(*lines: str) -> None:
    """Lines on stderr; whether anybody reads them changes nothing."""
    if sys.stderr is None:
        return
    try:
        for line in lines:
            encoding = sys.stderr.encoding or "utf-8"
            sys.stderr.write(f"{line}\n".encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()
    except OSError:
        _mute(sys.stderr)


def _mute(stream: TextIO | None) -> None:
    """Send a dead stream to nowhere, so that the interpreter's last flush has nothing to complain about."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        number = stream.fileno()  # type: ignore[union-attr]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
