"""``-o``: the result replaces a file whole or not at all.

A temporary file in the same folder is written, synced and renamed, and the folder synced. Whatever goes wrong before
the rename, Ctrl-C included, removes the temporary file and leaves the old one as it was.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from ._signals import deferred
from ._words import RefusedError, refused, told

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK: Final = 1 << 20
"""How much is written before Ctrl-C is looked at again."""

TEMPORARY: Final = ".compactor-"
"""How the temporary file's name begins."""


@attrs.frozen
class Target:
    """Where the result goes: the file behind all links, and what it is called."""

    path: Path
    name: str
    status: os.stat_result | None
    """Of the file that is there already."""


def target(out: str) -> Target:
    """Look at where the result shall go, before any work is done; refuse what cannot be replaced by a file."""
    name = told(out) if out else "''"
    try:
        path = Path(os.path.realpath(out))
        try:
            status = path.stat()
        except FileNotFoundError:
            status = None
        if (status is not None and stat.S_ISDIR(status.st_mode)) or out.endswith(os.sep) or not out:
            raise refused("is a directory", "name a file in it", name)
        if status is not None and not stat.S_ISREG(status.st_mode):
            raise refused("is no regular file", "name a new file, or use -o - for standard output", name)
        if not path.parent.is_dir():
            raise refused("its folder is not there", "make it first, or name another one", name)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise refused("its folder may not be written to", "name a file in another folder", name)
    except (OSError, ValueError) as error:
        raise _unwritable(error, name) from error
    return Target(path, name, status)


def _unwritable(error: OSError | ValueError, name: str) -> RefusedError:
    reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "not a usable path"
    return refused(f"cannot be written: {reason}", "check the folder and the disk; nothing was changed", name)


def replace(goal: Target, data: bytes) -> None:
    """Put *data* in the place of the target. Ctrl-C before the rename: KeyboardInterrupt, and nothing has happened."""
    temporary = goal.path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}.tmp")
    with deferred() as check:
        try:
            _write(temporary, data, goal.status, check)
            check()
            temporary.replace(goal.path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            if isinstance(error, OSError):
                raise _unwritable(error, goal.name) from error
            raise
        _sync_folder(goal.path.parent)


def _write(path: Path, data: bytes, status: os.stat_result | None, check: Callable[[], None]) -> None:
    # Nobody may read the new contents who could not read the old ones.
    mode = 0o666 if status is None else 0o600
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        if status is not None:
            with contextlib.suppress(OSError, AttributeError):
                os.chown(path, status.st_uid, status.st_gid)
            path.chmod(stat.S_IMODE(status.st_mode))
        for start in range(0, len(data), _CHUNK):
            check()
            file.write(data[start : start + _CHUNK])
        file.flush()
        check()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the rename durable, where folders can be synced."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
