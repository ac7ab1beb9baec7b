"""The file: its tables, how it comes to be, and what is checked before anything in it is believed.

One clustered table of events, whose key is the session's number and the seq; all else is a projection of it that could
be made again: ``sessions`` (the heads), ``names``, ``folds``, ``spans``, and the two search indexes. Triggers refuse
what no version of this program does: to change, delete or replace an event, or to leave a gap. The one change that
is possible is redaction.

A new file is made whole beside its place and then linked there, so a process that dies on the way leaves no half file.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from typing import Any, Final, Literal

import apsw

from ..errors import CompactionError, ErrorCode
from ._faults import BUSY_SECONDS, corrupt, told

APPLICATION_ID: Final = 0x63706374  # "cpct"
VERSION: Final = 1
SQLITE_MIN: Final = (3, 51, 3)
"""Earlier versions can corrupt a file when a WAL is reset while it is read."""

LOG_KEPT: Final = 32 << 20
"""Bytes of the write-ahead log that stay for the next writes, after an import made it longer."""

SEQ_BITS: Final = 40
SEQ_MASK: Final = (1 << SEQ_BITS) - 1

Durability = Literal["full", "normal"]

TABLES: Final = {
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "sessions": """CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, next INTEGER NOT NULL, digest BLOB NOT NULL,
    began REAL NOT NULL, changed REAL NOT NULL, folded INTEGER NOT NULL, sum BLOB NOT NULL
) STRICT""",
    "events": """CREATE TABLE events (
    id INTEGER PRIMARY KEY, type TEXT NOT NULL, time REAL NOT NULL, epoch INTEGER NOT NULL, body BLOB NOT NULL,
    op TEXT, sources TEXT, digest BLOB NOT NULL, redacted BLOB
) STRICT""",
    "placed": "CREATE INDEX placed ON events (id) WHERE type = 'summary/placed'",
    "names": """CREATE TABLE names (
    session INTEGER NOT NULL, hash BLOB NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (session, hash)
) STRICT, WITHOUT ROWID""",
    "folds": "CREATE TABLE folds (id INTEGER PRIMARY KEY, state BLOB NOT NULL, sum BLOB NOT NULL) STRICT",
    "spans": "CREATE TABLE spans (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, summary INTEGER NOT NULL) STRICT",
    "marks": "CREATE TABLE marks (session INTEGER PRIMARY KEY, indexed INTEGER NOT NULL) STRICT",
    "events_follow": """CREATE TRIGGER events_follow BEFORE INSERT ON events
WHEN (SELECT max(id) FROM events WHERE id <= new.id) IS NOT new.id - 1
    AND (new.id & 1099511627775 <> 0 OR EXISTS (SELECT 1 FROM events WHERE id = new.id))
BEGIN SELECT RAISE(ABORT, 'an event follows the one before it, and takes nobody''s place'); END""",
    "events_stay": """CREATE TRIGGER events_stay BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END""",
    "events_last": """CREATE TRIGGER events_last BEFORE UPDATE ON events
WHEN new.id IS NOT old.id OR new.type IS NOT old.type OR new.time IS NOT old.time OR new.epoch IS NOT old.epoch
    OR new.op IS NOT old.op OR new.sources IS NOT old.sources OR new.digest IS NOT old.digest
    OR new.redacted IS NULL OR substr(new.redacted, 1, 32) IS NOT ifnull(substr(old.redacted, 1, 32), substr(new.redacted, 1, 32))
BEGIN SELECT RAISE(ABORT, 'events are never changed, only redacted'); END""",
    "words": """CREATE VIRTUAL TABLE words USING fts5(
    text, content='', tokenize='unicode61 remove_diacritics 0')""",
    "pieces": """CREATE VIRTUAL TABLE pieces USING fts5(
    text, content='', detail=none, columnsize=0, tokenize='trigram case_sensitive 1')""",
}
"""Everything that the schema has, by name, as SQLite stores it."""

MIGRATIONS: Final[dict[int, str]] = {}
"""Version → the statements that lead to the next one. They may add; what an event says they may not touch."""


def connect(
    path: str, *, writable: bool, durability: Durability = "full", immutable: bool = False, vfs: str | None = None
) -> apsw.Connection:
    """Open a connection on a file that exists; *immutable* for one that ``stands``."""
    flags = apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY
    name = path
    if immutable:
        flags |= apsw.SQLITE_OPEN_URI
        name = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?immutable=1"
    connection = apsw.Connection(name, flags, vfs)
    try:
        connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
        connection.pragma("cache_size", -16_000 if writable else -8_000)
        connection.pragma("trusted_schema", 0)
        if writable:
            connection.pragma("synchronous", durability.upper())
            # What is redacted must not survive on free pages.
            connection.pragma("secure_delete", 1)
            connection.pragma("temp_store", "memory")
            connection.pragma("journal_size_limit", LOG_KEPT)
        else:
            connection.pragma("query_only", 1)
    except BaseException:
        connection.close()
        raise
    return connection


def stands(path: str) -> tuple[int, int, int] | None:
    """What a file is recognised by that nobody writes, and that cannot be opened as usual; None for all others.

    WAL mode keeps a file of shared memory beside the ledger. Where none can be made, and nobody has left a log, the
    ledger is all there is and is read as it stands; before each reading it is looked at again.
    """
    if os.access(os.path.dirname(path) or ".", os.W_OK) or any(map(os.path.exists, (f"{path}-wal", f"{path}-shm"))):
        return None
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def create(path: str, *, vfs: str | None) -> None:
    """Make a new, empty ledger at *path*, unless somebody was quicker."""
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise CompactionError(
            ErrorCode.FILE_UNREADABLE, "its directory does not exist", where=path, fix="make the directory first"
        )
    fresh = f"{path}.new-{secrets.token_hex(6)}"
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_EXCLUSIVE
    try:
        with told(path, "written"), contextlib.closing(apsw.Connection(fresh, flags, vfs)) as connection:
            connection.pragma("journal_mode", "wal")
            connection.execute("BEGIN IMMEDIATE")
            for statement in TABLES.values():
                connection.execute(statement)
            # FTS5 then takes what is deleted out of its segments at once, as redaction needs.
            connection.execute("INSERT INTO words (words, rank) VALUES ('secure-delete', 1)")
            connection.execute("INSERT INTO pieces (pieces, rank) VALUES ('secure-delete', 1)")
            connection.execute("INSERT INTO meta VALUES ('ledger', ?), ('mends', '0')", (secrets.token_hex(16),))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")
            connection.pragma("wal_checkpoint(TRUNCATE)")
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        sync_directory(directory)
    except OSError as error:
        raise CompactionError(
            ErrorCode.PERSISTENCE_FAILED,
            f"cannot be made: {error.strerror}",
            where=path,
            fix="check that its directory may be written and has room",
        ) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                os.unlink(fresh + suffix)


def sync_directory(directory: str) -> None:
    """Make the new name durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_file(path: str) -> bool:
    """Refuse what is no ledger of ours by its first bytes, so that nothing foreign is ever opened. False: no such file."""
    try:
        info = os.stat(path)
        if stat.S_ISDIR(info.st_mode):
            raise _foreign(path, "is a directory")
        with open(path, "rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CompactionError(
            ErrorCode.FILE_UNREADABLE, f"cannot be read: {error.strerror}", where=path, fix="check its name and permissions"
        ) from error
    if not head:
        raise _foreign(path, "is empty")
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise _foreign(path, "is not a SQLite database")
    if int.from_bytes(head[68:72]) != APPLICATION_ID:
        raise _foreign(path, "is a SQLite database of another program")
    _check_version(path, int.from_bytes(head[60:64]))
    size = int.from_bytes(head[16:18])
    pages = int.from_bytes(head[28:32]) * (65_536 if size == 1 else size)
    left_open = os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0
    if info.st_size < pages and not left_open:
        raise corrupt(path, f"is cut off: {info.st_size:,} bytes of {pages:,}")
    return True


def _foreign(path: str, what: str) -> CompactionError:
    return CompactionError(ErrorCode.FILE_UNREADABLE, what, where=path, fix="name a ledger of this program, or a new file")


def _check_version(path: str, version: int) -> None:
    if version > VERSION:
        raise CompactionError(
            ErrorCode.FILE_UNREADABLE,
            f"has version {version} of the schema, this program knows {VERSION}",
            where=path,
            fix="install the newer version of this program",
        )


def check_schema(connection: apsw.Connection, path: str, *, writable: bool) -> None:
    """Compare the schema with what it has to be: a trigger that is gone protects nothing. An older one is brought up to date."""
    with told(path, "opened"):
        version = connection.pragma("user_version")
        logged = not writable or connection.pragma("journal_mode") == "wal"
        if connection.pragma("application_id") != APPLICATION_ID or not logged:
            raise corrupt(path, "has lost its header")
    _check_version(path, version)
    if version < VERSION and not writable:
        raise CompactionError(
            ErrorCode.FILE_UNREADABLE, "was written by an older version", where=path, fix="open it for writing once"
        )
    for step in range(version, VERSION):
        with told(path, "written"), connection:
            if step not in MIGRATIONS:
                raise corrupt(path, f"has version {step} of the schema, which never was")
            connection.execute(MIGRATIONS[step])
            connection.execute(f"PRAGMA user_version = {step + 1}")
    with told(path, "opened"):
        rows: list[Any] = connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
        found = dict(rows)
        for name, statement in TABLES.items():
            if found.get(name) != statement:
                raise corrupt(path, f"its schema is damaged at {name}")


def check_library() -> None:
    """Refuse a SQLite that can corrupt a file."""
    version = apsw.sqlite_lib_version()
    if tuple(map(int, version.split("."))) < SQLITE_MIN:
        raise CompactionError(
            ErrorCode.PERSISTENCE_FAILED,
            f"apsw brings SQLite {version}, which can corrupt a file that is read and written at once",
            where="sqlite",
            fix='pip install "trio-compactor[sqlite]"',
        )
