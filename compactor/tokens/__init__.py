"""What a text costs a model, in tokens: calibrated without a tokenizer, exact with one, anchored on what was billed.

Three sources, one interface, ``TokenCounter``: a name, and ``count(text)``. ``CalibratedEstimator`` needs nothing and is
the same on every platform. ``from_tokenizer`` wraps a real tokenizer, ``openai_tokenizer`` brings one. ``message_tokens``
prices the nouns with any of them. ``UsageAnchor`` starts from what the provider reported for the last turn and estimates
only what came after it. All of it is pure; units (``compactor.units``) stay the measure of ledgers and tests.
"""

from __future__ import annotations

from ._counters import (
    TokenCounter,
    from_tokenizer,
    message_tokens,
    openai_tokenizer,
    requirement_tokens,
    summary_tokens,
    token_estimator,
)
from ._estimate import CalibratedEstimator, estimate_tokens
from ._usage import Usage, UsageAnchor, read_usage

__all__ = [
    "CalibratedEstimator",
    "TokenCounter",
    "Usage",
    "UsageAnchor",
    "estimate_tokens",
    "from_tokenizer",
    "message_tokens",
    "openai_tokenizer",
    "read_usage",
    "requirement_tokens",
    "summary_tokens",
    "token_estimator",
]
