"""The numbers of one cut, as a caller gives them and as they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import attrs

from .errors import CompactionError, ErrorCode, kind_name
from .plain import MISSING, SAFE_INT_MAX, Limits, is_object, safe_int

Options: TypeAlias = Mapping[str, Any]


@attrs.frozen
class BudgetOptions:
    """The numbers of one compaction, in units."""

    target_units: int
    summary_max_units: int
    retain_recent_messages: int


_FIELDS: Final = (
    ("targetUnits", "target_units", 1),
    ("summaryMaxUnits", "summary_max_units", 1),
    ("retainRecentMessages", "retain_recent_messages", 0),
)


def option(options: Any, key: str, name: str) -> object:
    """Look an option up under its JSON or its Python name."""
    value = options.get(key, MISSING)
    return options.get(name, MISSING) if value is MISSING else value


def read_budget_options(options: object, limits: Limits) -> BudgetOptions:
    """Check the three numbers of a cut. Missing → INVALID_INPUT, out of range → INVALID_BUDGET."""
    if type(options) is BudgetOptions:
        options = {name: getattr(options, name) for _key, name, _minimum in _FIELDS}
    if not is_object(options):
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"needs a plain object, got {kind_name(options)}",
            where="options",
            fix="pass a dict, or a Budget",
        )
    target, summary_max, retain = [read_budget_number(options, *field) for field in _FIELDS]
    if target > limits.units or summary_max > target:
        raise CompactionError(
            ErrorCode.INVALID_BUDGET,
            f"target {target:,}, summary {summary_max:,}",
            where="options",
            fix=f"the target may be at most {limits.units:,} units, the summary at most the target",
        )
    if retain > limits.messages:
        raise CompactionError(
            ErrorCode.INVALID_BUDGET, f"keeps {retain:,} messages", where="options", fix=f"at most {limits.messages:,}"
        )
    return BudgetOptions(target, summary_max, retain)


def read_budget_number(options: object, key: str, name: str, minimum: int) -> int:
    """One number of a budget."""
    value = option(options, key, name)
    fix = f"pass a whole number ≥ {minimum}"
    if value is MISSING:
        raise CompactionError(ErrorCode.INVALID_INPUT, "is missing", where=f"options.{name}", fix=fix)
    number = safe_int(value, minimum)
    if number is None:
        # An int of thousands of digits cannot be written out.
        is_writable = type(value) is int and -SAFE_INT_MAX <= value <= SAFE_INT_MAX
        what = f"is {value}" if is_writable else f"needs a whole number, got {kind_name(value)}"
        raise CompactionError(ErrorCode.INVALID_BUDGET, what, where=f"options.{name}", fix=fix)
    return number
