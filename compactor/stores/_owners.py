"""Who may write a session: a locked file beside the ledger, one for each session, that the owner holds until it dies.

``flock`` and not ``fcntl`` locks: it conflicts inside one process too, and no other open file of the process can lose it.
The lock only tells whether an owner lives. That an owner who lost its session writes no more is for the epoch to see.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from typing import Final

import attrs

from ..errors import CompactionError, ErrorCode
from ..ledger import busy

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TEXT_MAX: Final = 400
"""Bytes of an owner's text: enough for a process, a host and a place in the code."""


@attrs.define(eq=False)
class Claim:
    """A session's lock, held."""

    path: str
    _file: int

    def drop(self) -> None:
        """Give the session up. The file stays: to remove it could take a newer owner's lock away."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1


def claim(ledger: str, session_id: str, owner: str, *, takeover: bool) -> Claim:
    """Take a session's lock. BUSY names a living owner; with *takeover* it is left with a lock that nobody looks at."""
    if fcntl is None:
        raise CompactionError(
            ErrorCode.PERSISTENCE_FAILED,
            "this platform has no flock, so nobody could tell whether a session has a living owner",
            where=ledger,
            fix="use a MemoryLedger here",
        )
    directory = f"{ledger}.locks"
    # Ids differ in case only on some file systems' terms, and the hash says nothing of them.
    path = os.path.join(directory, hashlib.sha256(session_id.encode()).hexdigest()[:32])
    try:
        os.makedirs(directory, exist_ok=True)
        held = _locked(path)
        while held is None:
            if not takeover:
                raise busy(session_id, _text(path))
            held = _replaced(path)
        os.ftruncate(held, 0)
        os.pwrite(held, owner.encode("utf-8", "replace")[:TEXT_MAX], 0)
    except OSError as error:
        raise CompactionError(
            ErrorCode.PERSISTENCE_FAILED,
            f"the lock of a session cannot be taken: {error.strerror}",
            where=directory,
            fix="make the directory writable",
        ) from error
    return Claim(path, held)


def _locked(path: str) -> int | None:
    """Lock the file that stands at *path* when it is locked; None when somebody else holds it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, path):
                return file
        except BlockingIOError:
            os.close(file)
            return None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _replaced(path: str) -> int | None:
    """Put a new file in the place of a living owner's, locked before it stands there."""
    fresh = f"{path}.{secrets.token_hex(6)}"
    file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(fresh, path)
        if _is_at(file, path):
            return file
    except BaseException:
        os.close(file)
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise
    os.close(file)
    return None


def _is_at(file: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _text(path: str) -> str:
    """What the owner wrote, on one line."""
    try:
        with open(path, "rb") as file:
            text = file.read(TEXT_MAX).decode("utf-8", "replace")
    except OSError:
        text = ""
    return "".join([char if char.isprintable() else "?" for char in text]) or "its owner did not say who it is"
