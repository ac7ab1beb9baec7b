"""What SQLite reports, as this package's errors: a stable code, the file, and what to do. Never the text of a row."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, Literal

import apsw

from ..errors import CompactionError, ErrorCode, kind_name

BUSY_SECONDS: Final = 10.0
"""How long a write waits for another process's transaction: an append takes milliseconds, a fork or an import seconds."""

Doing = Literal["opened", "read", "written"]

RESTORE: Final = "restore the file from a backup; verify tells what else is wrong"


def corrupt(path: str, what: str, *, event: int | None = None) -> CompactionError:
    """LEDGER_CORRUPT, with the file and the place in it."""
    where = path if event is None else f"{path}: event {event}"
    return CompactionError(ErrorCode.LEDGER_CORRUPT, what, where=where, fix=RESTORE)


def fault(error: apsw.Error, path: str, doing: Doing) -> CompactionError:
    """Say what an error of SQLite means for whoever uses the ledger."""
    failed = ErrorCode.PERSISTENCE_FAILED if doing == "written" else ErrorCode.FILE_UNREADABLE
    match error:
        case apsw.CorruptError() | apsw.NotADBError():
            code, what, fix = ErrorCode.LEDGER_CORRUPT, "is damaged: SQLite cannot make sense of it", RESTORE
        case apsw.SQLError() | apsw.SchemaChangeError():
            # The schema was compared when the file was opened, so a table that is not there now was damaged since.
            code, what, fix = ErrorCode.LEDGER_CORRUPT, "does not have the tables that it had when it was opened", RESTORE
        case apsw.ConstraintError():
            code, what, fix = ErrorCode.LEDGER_CORRUPT, "refused a row that its head record allows", RESTORE
        case apsw.BusyError() | apsw.LockedError():
            code, what = failed, f"another process has held its write lock for {BUSY_SECONDS:g} s"
            fix = "try again; if it stays so, end the process that writes"
        case apsw.FullError():
            code, what, fix = ErrorCode.PERSISTENCE_FAILED, "the disk is full", "free some space, then try again"
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            code, what = failed, "may not be written by this process"
            fix = "make the file and its directory writable, or open it with read_only=True"
        case apsw.CantOpenError():
            code, what = failed, "it, or a file beside it, cannot be opened"
            fix = "check that its directory exists and may be written; SQLite keeps -wal and -shm files there"
        case apsw.NoMemError():
            code, what, fix = failed, "there is no memory left", "free some, then try again"
        case apsw.TooBigError():
            code, what, fix = ErrorCode.LIMIT_EXCEEDED, "an event is larger than SQLite's limit for a row", "append less at once"
        case apsw.IOError():
            code, what = failed, f"the disk reported an error when it was {doing}"
            fix = "check the disk, then open the ledger again"
        case _:
            code, what, fix = failed, f"SQLite raised {kind_name(error)} when it was {doing}", "open the ledger again"
    return CompactionError(code, what, where=path, fix=fix)


@contextlib.contextmanager
def told(path: str, doing: Doing) -> Iterator[None]:
    """Tell SQLite's errors as this package's."""
    try:
        yield
    except apsw.Error as error:
        raise fault(error, path, doing) from error
    except UnicodeDecodeError as error:  # a text column that is no text any more
        raise corrupt(path, "holds text that is none") from error
