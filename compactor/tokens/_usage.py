"""What a provider reported for a turn, and an estimate that stands on it. Values only; nothing here reads a ledger.

A report counts what the model read: the part that was new, the part read from a cache and the part written to one. All
of it fills the window, however cheap it was. Reports are also wrong at times: zero, doubled, of a context that a
compaction has replaced since. What cannot be true is ignored, and the own estimate stands.
"""

from __future__ import annotations

import math
from typing import Any, Final

import attrs

from ..errors import CompactionError, ErrorCode, kind_name
from ..plain import is_object

FACTOR_MIN: Final = 0.5
"""No tokenizer that was measured takes less than 0.6 of o200k_base's tokens."""
FACTOR_MAX: Final = 3.0
"""The largest that was measured is 2.3, for Thai in an older vocabulary; tool definitions come on top."""
LEARNING_RATE: Final = 0.25
"""What the newest report weighs at least; the first ones weigh more."""
LEARN_TOKENS_MIN: Final = 1_000
"""Below it the fixed cost of a request hides what its texts cost."""
PLAUSIBLE_MIN: Final = 0.4
"""A report of less than this share of the estimate counted a part of the context only, such as what no cache held."""
WINDOWS_MAX: Final = 2
"""A report above so many windows is nonsense; one between is counted twice somewhere, and is taken as a full window."""


@attrs.frozen
class Usage:
    """What one turn took, in tokens: *context* is all that the model read, *output* what it wrote."""

    context: int
    output: int = 0


_BAD: Final = -1


def _number(usage: dict[str, Any], *path: str) -> int:
    """A count: 0 where it is absent or null, −1 where it is not a whole number ≥ 0."""
    value: Any = usage
    for key in path:
        if value is None:
            return 0
        if not is_object(value):
            return _BAD
        value = value.get(key)
    if value is None:
        return 0
    return value if type(value) is int and value >= 0 else _BAD


def _usage(output: int, context: int, *parts: int) -> Usage | None:
    if min(output, context, *parts, 0) < 0 or context + sum(parts) == 0:
        return None
    return Usage(context + sum(parts), output)


def _cached_inside(output: int, context: int, cached: int) -> Usage | None:
    # The cache is a part of the input here. More than all of it: a gateway that reports it apart.
    return _usage(output, context, cached if cached > context or cached < 0 else 0)


def read_usage(usage: object) -> Usage | None:
    """Read a provider's usage object, or give None where it says nothing that could be true.

    OpenAI chat (``prompt_tokens``) and Responses (``input_tokens`` with ``input_tokens_details``) count the cache as part
    of the input; Anthropic (``cache_read_input_tokens``, ``cache_creation_input_tokens``) and Pi (``input``, ``cacheRead``,
    ``cacheWrite``) beside it.
    """
    if not is_object(usage):
        return None
    if "prompt_tokens" in usage:
        cached = _number(usage, "prompt_tokens_details", "cached_tokens")
        return _cached_inside(_number(usage, "completion_tokens"), _number(usage, "prompt_tokens"), cached)
    if "input_tokens" in usage:
        output, context = _number(usage, "output_tokens"), _number(usage, "input_tokens")
        if "input_tokens_details" in usage:
            return _cached_inside(output, context, _number(usage, "input_tokens_details", "cached_tokens"))
        read, written = _number(usage, "cache_read_input_tokens"), _number(usage, "cache_creation_input_tokens")
        return _usage(output, context, read, written)
    if "input" in usage:
        read, written = _number(usage, "cacheRead"), _number(usage, "cacheWrite")
        return _usage(_number(usage, "output"), _number(usage, "input"), read, written)
    return None


@attrs.frozen
class UsageAnchor:
    """The last report that can be believed, and what reports taught about the estimate. Immutable: each method gives a new one.

    *measured* tokens are always those of the whole context by one counter, fixed parts of a request included where the
    caller knows them. *seq* is the place in the session up to which the model was shown it. After a compaction the report
    is dropped, for it describes a context that is no more; the factor stays.
    """

    factor: float = 1.0
    """Reported ÷ measured tokens, weighted towards the newest; from 0.5 to 3."""
    reports: int = 0
    """How many reports taught the factor."""
    reported: int = 0
    """The tokens that the provider counted; 0: nothing to stand on."""
    measured: int = 0
    """The tokens that the counter gave for the same context."""
    seq: int = -1
    """Where the report stands."""
    compacted: int = -1
    """Where the last compaction stands; what was shown before it is of no use."""

    def observe(self, usage: Usage | None, *, measured: int, seq: int, window: int) -> UsageAnchor:
        """Stand on *usage*, reported for the context up to *seq* that measures *measured*, unless it cannot be true.

        Ignored: no usage, more than twice the *window*, far less than was measured, and what is older than the last
        compaction or than the report in hand. Above the window it counts as the window and teaches nothing.
        """
        if usage is None or measured <= 0 or seq <= self.compacted or seq < self.seq:
            return self
        context = usage.context
        if type(context) is not int or not 0 < context <= WINDOWS_MAX * window or context < PLAUSIBLE_MIN * measured:
            return self
        factor, reports = self.factor, self.reports
        if context <= window and measured >= LEARN_TOKENS_MIN:
            ratio = min(FACTOR_MAX, max(FACTOR_MIN, context / measured))
            factor += max(LEARNING_RATE, 1 / (reports + 2)) * (ratio - factor)
            reports += 1
        return attrs.evolve(self, factor=factor, reports=reports, reported=min(context, window), measured=measured, seq=seq)

    def after_compaction(self, seq: int) -> UsageAnchor:
        """Drop the report: the context was replaced at *seq*. What was learned stays."""
        return attrs.evolve(self, reported=0, measured=0, seq=-1, compacted=max(seq, self.compacted))

    def estimate(self, measured: int) -> int:
        """The tokens of a context that measures *measured* now: the report, and only the difference estimated.

        The difference may be negative: a message was taken back, or something smaller stands for it.
        """
        if not self.reported:
            return max(0, math.ceil(self.factor * measured))
        return max(0, self.reported + math.ceil(self.factor * (measured - self.measured)))

    def to_plain(self) -> dict[str, Any]:
        """The state as plain data; ``from_plain`` is its inverse."""
        return attrs.asdict(self)

    @classmethod
    def from_plain(cls, plain: object) -> UsageAnchor:
        """Read what ``to_plain`` wrote."""
        if is_object(plain) and plain.keys() == {field.name for field in attrs.fields(cls)}:
            counts = {name: value for name, value in plain.items() if name != "factor"}
            factor = plain["factor"]
            whole = all(type(value) is int and value >= -1 for value in counts.values())
            if whole and type(factor) in (int, float) and FACTOR_MIN <= factor <= FACTOR_MAX:
                return cls(float(factor), **counts)
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"{kind_name(plain)} does not hold the state of a UsageAnchor",
            where="usage anchor",
            fix="pass what to_plain gave, or start with UsageAnchor()",
        )
