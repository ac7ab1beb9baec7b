"""What is read: standard input, whole, or a session file; what is wrong with it is one sentence."""

from __future__ import annotations

import sys
from typing import Final

import click

from compactor.errors import CompactionError, ErrorCode

from ._words import REFUSED, Problem, RefusedError, refused

STDIN: Final = "-"
"""What is typed for it in the place of a file."""

NAME: Final = "<stdin>"


def standard_input() -> bytes:
    """All of it, or exit 3."""
    if sys.stdin is None:
        raise refused("is closed", "pipe a session in, or name a file", NAME, ErrorCode.FILE_UNREADABLE.value)
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise refused(what, "pipe a session in, or name a file", NAME, ErrorCode.FILE_UNREADABLE.value) from error


FROM: Final = click.option("--from", metavar="ID", help="Which session of FILE, where it holds several.")


def unread(error: CompactionError, name: str) -> RefusedError:
    """Exit 3: the file *name* could not be read as a session."""
    fix = error.fix.replace("pass session= with", "pass --from with")
    return RefusedError(Problem.of(CompactionError(error.code, error.message, where=error.where, fix=fix), REFUSED, name))
