"""What a compaction would do now: a decision, without doing it. Pure."""

from __future__ import annotations

import attrs

from .budgets import BudgetOptions
from .context import ActiveContext, choose_boundary
from .policy import Sizing


@attrs.frozen
class Plan:
    """What a compaction would do now: cut at *boundary* (None: nothing), which ids it would hide, and the numbers."""

    boundary: int | None
    hidden_message_ids: tuple[str, ...] = attrs.field(repr=lambda ids: f"<{len(ids)} ids>")
    units: int
    threshold: int
    options: BudgetOptions

    @property
    def due(self) -> bool:
        """True when the context is over its threshold."""
        return self.units > self.threshold


def plan_compaction(context: ActiveContext, sizing: Sizing) -> Plan:
    """Decide, purely, what a compaction of *context* would do under a ``Budget`` or a ``Policy``."""
    options = sizing.options(context)
    boundary = choose_boundary(context, options)
    ids = context.messages.before(boundary).ids if boundary else ()
    return Plan(boundary, ids, context.units, sizing.threshold(context), options)
