"""Standard input, whole; what is wrong with it is one sentence."""

from __future__ import annotations

import sys
from typing import Final

from compactor.errors import ErrorCode

from ._words import refused

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
