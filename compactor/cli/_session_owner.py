"""Who has a session open, asked from outside and without getting in an opener's way.

The file store keeps one locked file for each session; its owner writes there who it is, empties it when it closes the
session, and loses the lock when it dies. So a file that is empty is not touched at all, and the lock is tried only where
an owner left its name.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from ._words import one_line

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_TEXT_MAX: Final = 400

State = Literal["closed", "open", "left"]


@attrs.frozen
class Owner:
    """``open``: *text* says who has it open. ``left``: who died without closing it. Else it is ``closed``."""

    state: State
    text: str | None = None

    def __str__(self) -> str:
        match self.state:
            case "open":
                return f"open, {self.text}"
            case "left":
                return f"closed; {self.text} ended without closing it"
            case _:
                return "closed"

    def to_plain(self) -> dict[str, Any]:
        """As JSON data."""
        return attrs.asdict(self)


def owner_of(path: str, session_id: str) -> Owner:
    """The owner of a session of the ledger at *path*, a path without links."""
    lock = Path(f"{path}.locks") / hashlib.sha256(session_id.encode()).hexdigest()[:32]
    try:
        with lock.open("rb") as file:
            text = one_line(file.read(_TEXT_MAX).decode("utf-8", "replace"))
            if not text:
                return Owner("closed")
            return Owner("open" if _is_locked(file.fileno()) else "left", text)
    except OSError:  # never opened for writing, or not ours to look at
        return Owner("closed")


def _is_locked(file: int) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False
