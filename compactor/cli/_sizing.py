"""The options that say how large a context may become, for every verb that compacts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from compactor.errors import CompactionError
from compactor.policy import Budget, Policy

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _number(name: str, minimum: int, text: str) -> Decorator:
    return click.option(name, type=click.IntRange(min=minimum), metavar="N", help=text)


def sizing_options() -> tuple[Decorator, ...]:
    """The options, in the order in which help shows them."""
    return (
        _number("--max-units", 1, "Compact above N units (code points)."),
        _number("--window", 1, "The model's context window; budgets are derived from it. [default: 200000]"),
        _number("--target-units", 1, "With --max-units: compact down to N. [default: half of it]"),
        _number("--summary-max-units", 1, "With --max-units: the summary's room. [default: a quarter of the target]"),
        _number("--retain", 0, "With --max-units: how many of the newest messages stay. [default: 4]"),
        _number("--output-reserve", 0, "With --window: what is kept free for the reply."),
    )


def sized(options: dict[str, Any]) -> Budget | Policy:
    """Take these options out of *options*; the budget or policy that they make."""
    max_units, window, reserve = [options.pop(name, None) for name in ("max_units", "window", "output_reserve")]
    units = {
        "target_units": options.pop("target_units", None),
        "summary_max_units": options.pop("summary_max_units", None),
        "retain_recent_messages": options.pop("retain", None),
    }
    given = {name: value for name, value in units.items() if value is not None}
    if max_units is not None and window is not None:
        raise click.UsageError("--max-units and --window exclude each other; give one of them.")
    if given and max_units is None:
        raise click.UsageError("--target-units, --summary-max-units and --retain go with --max-units.")
    if reserve is not None and window is None:
        raise click.UsageError("--output-reserve goes with --window.")
    try:
        if max_units is not None:
            return Budget(max_units, **given)
        return Policy() if window is None else Policy(window, reserve or 0)
    except CompactionError as error:
        raise click.UsageError(f"The budget cannot be: {error.message}; {error.fix}.") from error
