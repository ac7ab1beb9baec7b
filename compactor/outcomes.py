"""What a run ends with: ``Unchanged``, ``Committed`` or ``Failed``; and the record of one transition."""

from __future__ import annotations

from typing import NoReturn, TypeAlias

import attrs

from .context import ActiveContext, CompactionRecord
from .errors import CompactionError, ErrorCode, FailureKind
from .phases import Phase, Signal


@attrs.frozen
class Unchanged:
    """Nothing had to be done: *context* is the very same object as before."""

    context: ActiveContext

    @property
    def record(self) -> None:
        """No compaction, no record."""
        return

    def unwrap(self) -> ActiveContext:
        """Give the context."""
        return self.context


@attrs.frozen
class Committed:
    """The new *context* is published; *record* says what was compacted, *notes* what went wrong after it."""

    context: ActiveContext
    record: CompactionRecord
    run_id: str = ""
    notes: tuple[str, ...] = ()

    def unwrap(self) -> ActiveContext:
        """Give the context."""
        return self.context


@attrs.frozen
class Failed:
    """Nothing changed. *error* says why, *kind* sorts it for a policy, *notes* holds what else was noticed."""

    context: ActiveContext
    error: CompactionError
    kind: FailureKind
    run_id: str = ""
    notes: tuple[str, ...] = ()

    @property
    def code(self) -> ErrorCode:
        """The code of the error."""
        return self.error.code

    def unwrap(self) -> NoReturn:
        """Raise the error."""
        raise self.error


Outcome: TypeAlias = Unchanged | Committed | Failed


@attrs.frozen
class TransitionRecord:
    """One row that was taken, with the numbers of its run. Holds no message text; log, ledger and report render it."""

    session_id: str
    run_id: str
    trigger: str
    phase: Phase
    signal: Signal
    target: Phase
    elapsed: float
    """Seconds since the run began."""
    attempt: int
    units_before: int
    units_after: int | None
    boundary: int | None
    code: ErrorCode | None


@attrs.frozen
class Missed:
    """What a slow reader of transitions gets in place of *count* records."""

    count: int
