"""When to compact, and with which budget. Pure: numbers in, numbers out.

``Budget`` states the numbers in units. ``Policy`` derives them from a model's window. Both answer the same two
questions: ``threshold(context)`` and ``options(context)``.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

import attrs

from .context import ActiveContext, BudgetOptions, read_budget_number
from .errors import CompactionError, ErrorCode, kind_name

DEFAULT_WINDOW: Final = 200_000
"""The window that is assumed when nobody says: what most hosted models offer today."""

HEADROOM_MAX: Final = 65_536
"""What a reply and the next tool results may need at most; small windows reserve a fifth of themselves instead."""


FRAME_UNITS: Final = 500
"""What a summary's frame and footer take beside its text, in every format: part of the room that a policy gives it."""


class Sizing(Protocol):
    """What the actor asks of a budget or a policy."""

    @property
    def attempts(self) -> int:
        """How many summaries are tried."""

    @property
    def timeout(self) -> float:
        """How many seconds each may take."""

    def threshold(self, context: ActiveContext, /) -> int:
        """The units above which the context is compacted."""

    def limit(self, context: ActiveContext, /) -> int:
        """The units that may not be exceeded: above them a turn waits for a compaction."""

    def options(self, context: ActiveContext, /) -> BudgetOptions:
        """Target, room for the summary, and messages to keep."""


def _refuse(what: str, fix: str) -> CompactionError:
    return CompactionError(ErrorCode.INVALID_BUDGET, what, where="budget", fix=fix)


@attrs.frozen
class Budget:
    """A budget in units: compact above *max_units*, down to *target_units*.

    Left out, the target is half of the maximum and the summary may take a quarter of the target.
    *retain_recent_messages* always stay. Above *hard_units* a turn waits for a compaction. *attempts* summaries are tried; each may take *timeout* seconds.
    """

    max_units: int
    target_units: int = attrs.field(kw_only=True)
    summary_max_units: int = attrs.field(kw_only=True)
    retain_recent_messages: int = attrs.field(default=4, kw_only=True)
    hard_units: int | None = attrs.field(default=None, kw_only=True)
    attempts: int = attrs.field(default=2, kw_only=True)
    timeout: float = attrs.field(default=300.0, kw_only=True)

    @target_units.default
    def _half(self) -> int:
        return max(1, self.max_units // 2) if type(self.max_units) is int else 1

    @summary_max_units.default
    def _quarter(self) -> int:
        return max(1, self.target_units // 4) if type(self.target_units) is int else 1

    def __attrs_post_init__(self) -> None:
        numbers = attrs.asdict(self)
        for name, minimum in (("max_units", 1), ("target_units", 1), ("summary_max_units", 1), ("retain_recent_messages", 0)):
            read_budget_number(numbers, name, name, minimum)
        if self.hard_units is not None:
            read_budget_number(numbers, "hard_units", "hard_units", self.max_units)
        if not self.summary_max_units <= self.target_units <= self.max_units:
            raise _refuse(
                f"summary {self.summary_max_units:,}, target {self.target_units:,}, maximum {self.max_units:,}",
                "they must ascend",
            )
        _check_trying(self.attempts, self.timeout)

    def threshold(self, _context: ActiveContext) -> int:
        """The maximum, whatever the context is."""
        return self.max_units

    def limit(self, _context: ActiveContext) -> int:
        """A quarter above the maximum, unless *hard_units* says else."""
        return self.max_units + self.max_units // 4 if self.hard_units is None else self.hard_units

    def options(self, _context: ActiveContext) -> BudgetOptions:
        """The numbers as they were given."""
        return BudgetOptions(self.target_units, self.summary_max_units, self.retain_recent_messages)


def _check_trying(attempts: object, timeout: object) -> None:
    if type(attempts) is not int or not 1 <= attempts <= 10:
        raise _refuse("attempts is not 1 to 10", "pass a small whole number")
    if type(timeout) not in (int, float) or not timeout > 0:  # type: ignore[operator]
        raise _refuse("timeout is not a positive number of seconds", "pass seconds, or math.inf")


@attrs.frozen
class Policy:
    """The classic rule for a model with *context_window*, of which *output_reserve* is kept for the reply.

    threshold = floor(min(window x *threshold_ratio*, window - reserve - headroom)); the tail that is kept verbatim
    = floor(*retain_ratio* x (window - reserve)); target = requirements + room for the summary + tail. 0.8 and 0.16
    are starting points that nobody has proved. *headroom_tokens* None means min(65,536, window // 5).

    Sizes are counted in units, that is code points. A token is rarely less than one code point, so a session is
    compacted early rather than late.
    """

    context_window: int = DEFAULT_WINDOW
    output_reserve: int = 0
    threshold_ratio: float = attrs.field(default=0.8, kw_only=True)
    headroom_tokens: int | None = attrs.field(default=None, kw_only=True)
    retain_ratio: float = attrs.field(default=0.16, kw_only=True)
    summary_ratio: float = attrs.field(default=0.08, kw_only=True)
    """The share of window - reserve that a summary may take."""
    retain_recent_messages: int = attrs.field(default=1, kw_only=True)
    attempts: int = attrs.field(default=2, kw_only=True)
    timeout: float = attrs.field(default=300.0, kw_only=True)

    def __attrs_post_init__(self) -> None:
        numbers = attrs.asdict(self)
        for name, minimum in (("context_window", 1), ("output_reserve", 0), ("retain_recent_messages", 0)):
            read_budget_number(numbers, name, name, minimum)
        if self.headroom_tokens is not None:
            read_budget_number(numbers, "headroom_tokens", "headroom_tokens", 0)
        for name in ("threshold_ratio", "retain_ratio", "summary_ratio"):
            ratio = numbers[name]
            if type(ratio) not in (int, float) or not 0 < ratio <= 1:
                raise _refuse(f"{name} is not in (0, 1]", "pass a share of the window")
        if self.trigger < 1:
            raise _refuse(
                f"window {self.context_window:,} - reserve {self.output_reserve:,} - headroom {self.headroom:,} leaves nothing",
                "lower headroom_tokens or output_reserve",
            )
        if self.tail + self.summary_room >= self.trigger:
            raise _refuse(
                f"tail {self.tail:,} + summary {self.summary_room:,} reach the threshold {self.trigger:,}",
                "lower retain_ratio, summary_ratio, headroom_tokens or output_reserve",
            )
        _check_trying(self.attempts, self.timeout)

    @property
    def headroom(self) -> int:
        """What is kept free below the window beside the reserve."""
        return min(HEADROOM_MAX, self.context_window // 5) if self.headroom_tokens is None else self.headroom_tokens

    @property
    def trigger(self) -> int:
        """The threshold."""
        window = self.context_window
        return math.floor(min(window * self.threshold_ratio, window - self.output_reserve - self.headroom))

    @property
    def tail(self) -> int:
        """How much of the newest messages stays verbatim."""
        return math.floor(self.retain_ratio * (self.context_window - self.output_reserve))

    @property
    def summary_room(self) -> int:
        """How much a summary may take."""
        return max(1, math.floor(self.summary_ratio * (self.context_window - self.output_reserve)))

    def threshold(self, _context: ActiveContext) -> int:
        """The units above which the context is compacted."""
        return self.trigger

    def limit(self, _context: ActiveContext) -> int:
        """What the window holds beside the reserve for the reply."""
        return self.context_window - self.output_reserve

    def options(self, context: ActiveContext) -> BudgetOptions:
        """Requirements + summary + tail, as the rule says."""
        target = context.requirement_units + self.summary_room + self.tail
        # A small window pays for the frame from what it keeps free.
        text = self.summary_room - min(FRAME_UNITS, self.summary_room // 4)
        return BudgetOptions(target, text, self.retain_recent_messages)


def check_sizing(sizing: object) -> None:
    """Refuse what cannot be asked like a budget, before anything is written."""
    asked = [getattr(sizing, name, None) for name in ("threshold", "limit", "options")]
    if not all(callable(method) for method in asked):
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"{kind_name(sizing)} is no Budget and no Policy, and has not their methods",
            where="policy",
            fix="pass a Budget, a Policy, or an object with the methods of Sizing",
        )
    _check_trying(getattr(sizing, "attempts", None), 1)
