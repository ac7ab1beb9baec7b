"""One exception, one list of stable codes.

``errors`` is the ground of the package: it imports nothing of it. An error says whose fault it is, where, and
what to do. It never carries the text of a message, a summary or an argument: ids are escaped, contents are
described by their size.
"""

from __future__ import annotations

import enum
from typing import Any


class ErrorCode(enum.StrEnum):
    """Stable codes for programs. A code is never renamed and never gets a second meaning."""

    INVALID_INPUT = "CONTEXT_INVALID_INPUT"
    """The caller passed something that is not what was asked for."""
    INVALID_TRANSCRIPT = "CONTEXT_INVALID_TRANSCRIPT"
    """The messages break a rule of a transcript: shape, or the pairing of tool calls and results."""
    LIMIT_EXCEEDED = "CONTEXT_LIMIT_EXCEEDED"
    """One of the numbers in ``Limits`` was passed."""
    INVALID_BUDGET = "CONTEXT_INVALID_BUDGET"
    """A budget option is not a whole number in its range, or contradicts another one."""
    BOUNDARY_UNAVAILABLE = "CONTEXT_BOUNDARY_UNAVAILABLE"
    """No safe cut reaches the target."""
    SUMMARY_INVALID = "CONTEXT_SUMMARY_INVALID"
    """The summary is not text."""
    SUMMARY_INSUFFICIENT = "CONTEXT_SUMMARY_INSUFFICIENT"
    """The summary is blank, larger than its budget, or did not make the context small enough."""
    SUMMARIZER_FAILED = "CONTEXT_SUMMARIZER_FAILED"
    """The summarizer raised, timed out or did not respond."""
    ASYNC_VALUE_UNOBSERVABLE = "CONTEXT_ASYNC_VALUE_UNOBSERVABLE"
    """The summarizer returned an awaitable that only another event loop can drive."""
    CANCELLED = "CONTEXT_CANCELLED"
    """The run was asked to stop before it had committed. Nothing changed."""
    BUSY = "CONTEXT_BUSY"
    """Somebody else owns the session, or a run is in hand."""
    CONFLICT = "CONTEXT_CONFLICT"
    """The span that was summarized is no longer what it was. Nothing changed."""
    NO_PROGRESS = "CONTEXT_NO_PROGRESS"
    """Even the smallest legal context would not fit the target: compacting cannot help."""
    PERSISTENCE_FAILED = "CONTEXT_PERSISTENCE_FAILED"
    """The ledger refused a write, and it is known that nothing was written."""
    COMMIT_UNKNOWN = "CONTEXT_COMMIT_UNKNOWN"
    """A write was sent and no answer can be had. The session must be reopened."""
    LEDGER_CORRUPT = "CONTEXT_LEDGER_CORRUPT"
    """The ledger breaks one of its own rules; the message names the place."""
    FENCED = "CONTEXT_FENCED"
    """A newer owner took the session over; this one may not write any more."""
    SESSION_CLOSED = "CONTEXT_SESSION_CLOSED"
    """The session was closed, or it crashed; open it again."""
    REENTRANT = "CONTEXT_REENTRANT"
    """User code called back into the session that is waiting for it."""
    PHASE_REFUSED = "CONTEXT_PHASE_REFUSED"
    """A signal without a row in the table: a bug in the caller of ``step``."""
    FORMAT_UNKNOWN = "CONTEXT_FORMAT_UNKNOWN"
    """No importer recognises the file."""
    FORMAT_INVALID = "CONTEXT_FORMAT_INVALID"
    """The file breaks a rule of its own format; the message names the place."""
    FILE_UNREADABLE = "CONTEXT_FILE_UNREADABLE"
    """The file cannot be opened or read."""
    INTERNAL = "CONTEXT_INTERNAL"
    """A bug in this library. The cause is kept; the state is unchanged."""


class FailureKind(enum.StrEnum):
    """Why a run ended in FAILED, for policies and logs."""

    CANCELLED = "cancelled"
    CONFLICT = "conflict"
    BUSY = "busy"
    NOTHING_TO_CUT = "nothing_to_cut"
    NO_PROGRESS = "no_progress"
    REJECTED = "rejected"
    SUMMARIZER = "summarizer"
    TIMEOUT = "timeout"
    UNRESPONSIVE = "unresponsive"
    PERSISTENCE = "persistence"
    UNKNOWN = "unknown"
    INTERNAL = "internal"


class CompactionError(Exception):
    """The one exception of this package.

    *code* is for programs. *message* says what is wrong, *where* names the place (``messages[3].content``, or a
    file and line), *fix* says what to do. *kind* is set where the error ended a run.
    """

    def __init__(self, code: ErrorCode, message: str, *, where: str = "", fix: str = "", kind: FailureKind | None = None) -> None:
        """All texts are for people and free of message contents."""
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.where = where
        self.fix = fix
        self.kind = kind

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.fix})" if self.fix else ""
        return f"{place}{self.message}{advice} [{self.code.value}]"

    def __repr__(self) -> str:
        return f"CompactionError({self.code.name}, {str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {**self.__dict__}
        return _rebuild, (self.code, self.message, state)


def _rebuild(code: ErrorCode, message: str, state: dict[str, Any]) -> CompactionError:
    """Unpickle: ``Exception`` alone cannot carry keyword-only arguments."""
    error = CompactionError(code, message)
    error.__dict__.update(state)
    return error


def shown(value: object, width: int = 64) -> str:
    """Show an id on one line: exact text only, escaped, bounded. Anything else is shown by its type."""
    if type(value) is not str:
        return f"<{kind_name(value)}>"
    return ascii(value) if len(value) <= width else ascii(value[:width]) + "..."


_TYPE_NAME = type.__dict__["__name__"].__get__


def kind_name(value: object) -> str:
    """The name of *value*'s type, escaped and bounded, read without calling anything that the type could override."""
    name = _TYPE_NAME(type(value))
    if type(name) is not str:
        return "?"  # A class may be named with a subclass of str.
    return name if len(name) <= 64 and name.isidentifier() else shown(name)
