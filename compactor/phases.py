"""The machine: every transition is a row of one table, none is code.

Two rules. Every change of phase is a row here; there is no special case beside the table. And this module knows
nothing else: no context, no ledger, no clock. ``step`` looks a row up; whoever takes the row performs its effects.

A *checked* row is a phase edge: before it is taken, the actor meets a full checkpoint inside the run's cancel scope,
and if the run was cancelled takes the CANCELLED row instead. An unchecked row follows an effect that may not be torn
from its consequence.
"""

from __future__ import annotations

import enum
from typing import Final

import attrs

from .errors import CompactionError, ErrorCode


class Phase(enum.StrEnum):
    """Where a run stands."""

    IDLE = "IDLE"
    SELECTING = "SELECTING"
    SUMMARIZING = "SUMMARIZING"
    VALIDATING = "VALIDATING"
    COMMITTED = "COMMITTED"
    FAILED = "FAILED"


class Signal(enum.StrEnum):
    """What happened; past participles, mostly."""

    UNDER_THRESHOLD = "UNDER_THRESHOLD"
    REQUESTED = "REQUESTED"
    CUT_CHOSEN = "CUT_CHOSEN"
    NOTHING_TO_CUT = "NOTHING_TO_CUT"
    NO_PROGRESS = "NO_PROGRESS"
    BUSY = "BUSY"
    LOCKED = "LOCKED"
    LOCK_FAILED = "LOCK_FAILED"
    LOCK_UNKNOWN = "LOCK_UNKNOWN"
    SUMMARIZED = "SUMMARIZED"
    SUMMARIZER_FAILED = "SUMMARIZER_FAILED"
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    REJECTED_RETRYABLE = "REJECTED_RETRYABLE"
    CONFLICT = "CONFLICT"
    COMMITTED_DURABLY = "COMMITTED_DURABLY"
    COMMIT_FAILED = "COMMIT_FAILED"
    COMMIT_UNKNOWN = "COMMIT_UNKNOWN"
    LEDGER_UNREADABLE = "LEDGER_UNREADABLE"
    EFFECT_FAILED = "EFFECT_FAILED"
    CANCELLED = "CANCELLED"
    SETTLED = "SETTLED"


class Effect(enum.StrEnum):
    """What the actor does after a row was taken; imperatives. The last effect of a row gives the next signal."""

    SELECT = "select"
    LOCK = "write the start marker"
    READ_START_MARKER = "read the start marker"
    SUMMARIZE = "summarize"
    VALIDATE = "validate"
    COMMIT = "commit"
    READ_END_MARKER = "read the end marker"
    PUBLISH = "publish"
    CLOSE_MARKER = "close the marker"
    REFUSE_WRITES = "refuse further writes"
    REPLY = "reply"
    FOLLOW_UP = "follow up"


@attrs.frozen
class Transition:
    """One row: in *phase*, *signal* leads to *target*; then *effects*, in order. *why* is for people."""

    phase: Phase
    signal: Signal
    target: Phase
    effects: tuple[Effect, ...]
    checked: bool
    why: str


_P, _S, _E = Phase, Signal, Effect
_CLOSE = (_E.CLOSE_MARKER, _E.REPLY)
_FENCE = (_E.REFUSE_WRITES, _E.REPLY)
_DONE = (_E.PUBLISH, _E.REPLY, _E.FOLLOW_UP)
_EDGE, _BOUND = True, False

# fmt: off
TRANSITIONS: Final[tuple[Transition, ...]] = (
    Transition(_P.IDLE,        _S.UNDER_THRESHOLD,    _P.IDLE,        (_E.REPLY,),             _BOUND, "the very same context is returned; the summarizer is not called"),
    Transition(_P.IDLE,        _S.SETTLED,            _P.IDLE,        (),                      _BOUND, "after that reply"),
    Transition(_P.IDLE,        _S.CANCELLED,          _P.FAILED,      (_E.REPLY,),             _BOUND, "asked to stop before anything began"),
    Transition(_P.IDLE,        _S.REQUESTED,          _P.SELECTING,   (_E.SELECT,),            _EDGE,  "pressure, a manual request, or a provider's overflow"),

    Transition(_P.SELECTING,   _S.CUT_CHOSEN,         _P.SELECTING,   (_E.LOCK,),              _EDGE,  "the durable start marker is the lock"),
    Transition(_P.SELECTING,   _S.LOCKED,             _P.SUMMARIZING, (_E.SUMMARIZE,),         _BOUND, "a marker exists exactly in SUMMARIZING and VALIDATING"),
    Transition(_P.SELECTING,   _S.NOTHING_TO_CUT,     _P.FAILED,      (_E.REPLY,),             _BOUND, "no safe cut reaches the target; nothing was written"),
    Transition(_P.SELECTING,   _S.NO_PROGRESS,        _P.FAILED,      (_E.REPLY,),             _BOUND, "even the smallest legal context would be too large; nothing was written"),
    Transition(_P.SELECTING,   _S.BUSY,               _P.FAILED,      (_E.REPLY,),             _BOUND, "an older run of this life left its marker; nothing was written"),
    Transition(_P.SELECTING,   _S.LOCK_FAILED,        _P.FAILED,      (_E.REPLY,),             _BOUND, "the marker is known not to have landed; nothing was written"),
    Transition(_P.SELECTING,   _S.LOCK_UNKNOWN,       _P.SELECTING,   (_E.READ_START_MARKER,), _BOUND, "the answer was lost; the ledger knows"),
    Transition(_P.SELECTING,   _S.LEDGER_UNREADABLE,  _P.FAILED,      _FENCE,                  _BOUND, "nobody can know: the session must be reopened"),
    Transition(_P.SELECTING,   _S.EFFECT_FAILED,      _P.FAILED,      (_E.REPLY,),             _BOUND, "selecting raised; nothing was written"),
    Transition(_P.SELECTING,   _S.CANCELLED,          _P.FAILED,      (_E.REPLY,),             _BOUND, "asked to stop; nothing was written"),

    Transition(_P.SUMMARIZING, _S.SUMMARIZED,         _P.VALIDATING,  (_E.VALIDATE,),          _EDGE,  "text came back"),
    Transition(_P.SUMMARIZING, _S.SUMMARIZER_FAILED,  _P.FAILED,      _CLOSE,                  _BOUND, "it raised, timed out, did not respond, or cannot be awaited"),
    Transition(_P.SUMMARIZING, _S.EFFECT_FAILED,      _P.FAILED,      _CLOSE,                  _BOUND, "anything else raised"),
    Transition(_P.SUMMARIZING, _S.CANCELLED,          _P.FAILED,      _CLOSE,                  _BOUND, "asked to stop; the context is left as it was"),

    Transition(_P.VALIDATING,  _S.REJECTED_RETRYABLE, _P.SUMMARIZING, (_E.SUMMARIZE,),         _EDGE,  "attempts are left: summarize again, told why"),
    Transition(_P.VALIDATING,  _S.ACCEPTED,           _P.VALIDATING,  (_E.COMMIT,),            _EDGE,  "the last check before the point of no return"),
    Transition(_P.VALIDATING,  _S.COMMITTED_DURABLY,  _P.COMMITTED,   _DONE,                   _BOUND, "one atomic write has landed"),
    Transition(_P.VALIDATING,  _S.COMMIT_UNKNOWN,     _P.VALIDATING,  (_E.READ_END_MARKER,),   _BOUND, "the answer was lost; the ledger knows"),
    Transition(_P.VALIDATING,  _S.COMMIT_FAILED,      _P.FAILED,      _CLOSE,                  _BOUND, "known not to have landed"),
    Transition(_P.VALIDATING,  _S.LEDGER_UNREADABLE,  _P.FAILED,      _FENCE,                  _BOUND, "nobody can know: the session must be reopened"),
    Transition(_P.VALIDATING,  _S.REJECTED,           _P.FAILED,      _CLOSE,                  _BOUND, "the summary broke a rule; the context is left as it was"),
    Transition(_P.VALIDATING,  _S.CONFLICT,           _P.FAILED,      _CLOSE,                  _BOUND, "the span is no longer what was summarized; nothing is lost"),
    Transition(_P.VALIDATING,  _S.EFFECT_FAILED,      _P.FAILED,      _CLOSE,                  _BOUND, "a verdict raised"),
    Transition(_P.VALIDATING,  _S.CANCELLED,          _P.FAILED,      _CLOSE,                  _BOUND, "asked to stop; the context is left as it was"),

    Transition(_P.COMMITTED,   _S.SETTLED,            _P.IDLE,        (),                      _BOUND, "ready for the next request"),
    Transition(_P.FAILED,      _S.SETTLED,            _P.IDLE,        (),                      _BOUND, "ready for the next request"),
)
# fmt: on

_ROWS: Final = {(row.phase, row.signal): row for row in TRANSITIONS}
assert len(_ROWS) == len(TRANSITIONS), "two rows for one (phase, signal)"


def step(phase: Phase, signal: Signal) -> Transition:
    """Give the row for *signal* in *phase*; pure. Without a row: PHASE_REFUSED, and nothing has changed."""
    row = _ROWS.get((phase, signal))
    if row is None:
        accepted = ", ".join(sorted(row.signal.name for row in TRANSITIONS if row.phase is phase))
        raise CompactionError(
            ErrorCode.PHASE_REFUSED,
            f"signal {signal.name} is not accepted in phase {phase.name}; accepted there: {accepted}",
            fix="send a signal that the table has",
        )
    return row
