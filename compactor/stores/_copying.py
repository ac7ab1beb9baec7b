"""A backup of a ledger that is in use, by SQLite's own means: a copy of one moment, whole or not there."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import Final

import apsw

from ..errors import CompactionError, ErrorCode
from ._faults import told
from ._rows import Place
from ._schema import sync_directory

PAGES: Final = 4_096
"""Pages that are copied at a time: 16 MB."""


def copy(place: Place, target: str) -> None:
    """Copy the file to *target*, which must not exist."""
    fresh = f"{target}.new-{secrets.token_hex(6)}"
    try:
        with told(target, "written"), contextlib.closing(apsw.Connection(fresh)) as connection:
            with connection.backup("main", place.connection, "main") as backup:
                while not backup.done:
                    backup.step(PAGES)
            connection.pragma("journal_mode", "wal")
            connection.pragma("wal_checkpoint(TRUNCATE)")
        os.link(fresh, target)
        sync_directory(os.path.dirname(target))
    except FileExistsError:
        raise CompactionError(ErrorCode.INVALID_INPUT, "exists already", where=target, fix="name a new file") from None
    except OSError as error:
        what = f"cannot be made: {error.strerror}"
        raise CompactionError(
            ErrorCode.PERSISTENCE_FAILED, what, where=target, fix="check that its directory exists, may be written and has room"
        ) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                os.unlink(fresh + suffix)
