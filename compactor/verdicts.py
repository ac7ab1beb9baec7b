"""What makes a summary acceptable. Pure; the first broken rule wins."""

from __future__ import annotations

from typing import Final

from .errors import CompactionError, ErrorCode, FailureKind, kind_name
from .messages import Summary
from .plain import Limits, is_blank, limit_error

VERDICTS: Final = ("text", "size", "not blank", "budget", "target", "limits")
"""What every committed summary passed, in this order: here, and where the new context is built."""


def read_summary_text(value: object, *, summary_id: str, max_units: int, limits: Limits) -> Summary:
    """Judge what a summarizer answered; the text is kept untrimmed. Order: text at all, size, blank, budget."""
    if type(value) is not str:
        raise _rejected(ErrorCode.SUMMARY_INVALID, f"is {kind_name(value)}, not text", "return a str")
    if len(value) > limits.string:
        error = limit_error("summary", "code points in one string", len(value), limits.string)
        error.kind = FailureKind.REJECTED
        raise error
    if is_blank(value):
        raise _rejected(ErrorCode.SUMMARY_INSUFFICIENT, "is blank", "return text")
    units = 5 + len(summary_id) + len(value)
    if units > max_units:
        raise _rejected(
            ErrorCode.SUMMARY_INSUFFICIENT,
            f"costs {units:,} units, {max_units:,} are allowed",
            f"answer with at most {max(0, max_units - 5 - len(summary_id)):,} characters",
        )
    return Summary(value, id=summary_id)


def _rejected(code: ErrorCode, what: str, fix: str) -> CompactionError:
    return CompactionError(code, what, where="summary", fix=fix, kind=FailureKind.REJECTED)
