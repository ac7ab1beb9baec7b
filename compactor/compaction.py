"""``compact_context``: one compaction of one context, through the same machine as a session's, without a ledger.

The caller holds the context before and gets a new one after; nothing else remembers anything. So the marker effects
have nothing to write, and *publish* is the return value.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any, assert_never

import attrs
import trio

from .asking import Asking, default_summarizer
from .context import (
    ActiveContext,
    BudgetOptions,
    Contextual,
    SummaryRequest,
    build_active_context,
    choose_boundary,
    compacted,
    option,
    read_budget_number,
    read_budget_options,
)
from .errors import CompactionError, ErrorCode, FailureKind, kind_name, shown
from .machine import GRACE, Machine, Run, failed, require_trio
from .outcomes import Committed, Failed, Unchanged
from .phases import Effect, Signal
from .plain import MISSING, Faulty, Limits, Tally, is_object
from .policy import Budget, Policy
from .tracing import Logger, log_to
from .verdicts import read_summary_text


@attrs.frozen
class _Order:
    """Everything that was asked for, checked."""

    context: ActiveContext
    budget: BudgetOptions
    max_units: int
    summary_id: str
    record_id: str
    summarizer: Callable[[SummaryRequest], Any]
    scope: trio.CancelScope | None
    timeout: float


async def compact_context(
    context: Contextual,
    options: Budget | Policy | dict[str, Any],
    *,
    summarizer: Any = MISSING,
    summary_id: str | None = None,
    record_id: str | None = None,
    limits: Limits | None = None,
    grace: float = GRACE,
    logger: Logger | None = None,
) -> Unchanged | Committed:
    """Compact *context* once if it is over its budget; raise ``CompactionError`` and change nothing otherwise.

    *options* is a ``Budget``, a ``Policy``, or a dict with ``max_units``, ``target_units``, ``summary_max_units``,
    ``retain_recent_messages``, ``summary_id``, ``record_id``, ``summarizer`` and optionally ``signal``, a
    ``trio.CancelScope`` that was not entered yet: cancelling it gives CANCELLED. Cancellation of any scope outside
    raises ``trio.Cancelled`` as usual. Either way nothing happened; once it returns ``Committed``, it has.
    """
    require_trio("compact_context")
    built = build_active_context(context, limits=limits or Limits())
    order = _read_order(built, options, summarizer, summary_id, record_id)
    machine = Machine(log_to(logger))
    run = Run(order.record_id, "manual", trio.current_time(), units_before=built.units)
    if built.units <= order.max_units:
        await trio.lowlevel.checkpoint()
        await machine.drive(run, _Unchanged(built), Signal.UNDER_THRESHOLD)
        return Unchanged(built)
    with order.scope or trio.CancelScope():
        async with trio.open_nursery() as nursery:
            asking = Asking(order.summarizer, nursery, run, order.timeout, grace)
            await machine.drive(run, _OneShot(order, asking), Signal.REQUESTED)
        # Ctrl-C may also have hit code that did not end in its grace: the nursery has waited for it.
        leave = run.exit or (asking.box.exit if asking.box is not None else None)
        if leave is not None:
            raise leave
        if run.stopped is not None:
            raise run.stopped
    if isinstance(run.outcome, Committed):
        return run.outcome
    assert isinstance(run.outcome, Failed)
    raise run.outcome.error


def _read_order(
    context: ActiveContext, options: object, summarizer: Any, summary_id: str | None, record_id: str | None
) -> _Order:
    """Check the options, all of them, also when nothing will be compacted. The order is part of the rules."""
    timeout = math.inf
    if isinstance(options, Budget | Policy):
        budget = options
        timeout = budget.timeout
        numbers = budget.options(context)
        options = {
            "target_units": numbers.target_units,
            "summary_max_units": numbers.summary_max_units,
            "retain_recent_messages": numbers.retain_recent_messages,
            "max_units": budget.threshold(context),
            "summary_id": summary_id or f"s-{secrets.token_hex(6)}",
            "record_id": record_id or f"c-{secrets.token_hex(6)}",
            "summarizer": default_summarizer(),
        }
    if not is_object(options):
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"needs a plain object, got {kind_name(options)}",
            where="options",
            fix="pass a dict or a Budget",
        )
    checked = read_budget_options(options, context.limits)
    max_units = read_budget_number(options, "maxUnits", "max_units", 1)
    if not checked.target_units <= max_units <= context.limits.units:
        raise CompactionError(
            ErrorCode.INVALID_BUDGET,
            f"max_units is {max_units:,}, the target {checked.target_units:,}",
            where="options.max_units",
            fix=f"pass a number from the target to {context.limits.units:,}",
        )
    given = {"summary_id": summary_id, "record_id": record_id}
    ids = [
        _read_id(option(options, key, name) if given[name] is None else given[name], name, context.limits)
        for key, name in (("summaryId", "summary_id"), ("recordId", "record_id"))
    ]
    asked = option(options, "summarizer", "summarizer") if summarizer is MISSING else summarizer
    if asked is MISSING or not callable(asked):
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            "is missing or not callable",
            where="options.summarizer",
            fix="pass a function or DigestSummarizer()",
        )
    return _Order(context, checked, max_units, ids[0], ids[1], asked, _read_scope(option(options, "signal", "scope")), timeout)


def _read_id(value: object, name: str, limits: Limits) -> str:
    try:
        return Tally(limits).filled(value, f"options.{name}")
    except Faulty:
        raise CompactionError(
            ErrorCode.INVALID_INPUT, "is missing, blank or not a string", where=f"options.{name}", fix="pass an id"
        ) from None


def _read_scope(value: object) -> trio.CancelScope | None:
    if value is MISSING or value is None:
        return None
    if type(value) is not trio.CancelScope:
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"needs a trio.CancelScope, got {kind_name(value)}",
            where="options.signal",
            fix="pass a new CancelScope",
        )
    if getattr(value, "_has_been_entered", False):
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            "was entered before; scopes are single-use",
            where="options.signal",
            fix="pass a new CancelScope",
        )
    return value


@attrs.define(eq=False, repr=False)
class _Unchanged:
    context: ActiveContext

    async def perform(self, effect: Effect, run: Run) -> Signal | None:
        """Only *reply* can come."""
        assert effect is Effect.REPLY
        run.outcome = Unchanged(self.context)
        return Signal.SETTLED


@attrs.define(eq=False, repr=False)
class _OneShot:
    """The effects of one call. There is no ledger, so a marker is nothing but the fact that the run goes on."""

    order: _Order
    asking: Asking
    made: Committed | None = None

    async def perform(self, effect: Effect, run: Run) -> Signal | None:
        """Perform one effect."""
        match effect:
            case Effect.SELECT:
                return self._select(run)
            case Effect.LOCK:
                return Signal.LOCKED
            case Effect.SUMMARIZE:
                run.attempt += 1
                return await self.asking.ask(run, self._request(run))
            case Effect.VALIDATE:
                return self._validate(run)
            case Effect.COMMIT:
                return Signal.COMMITTED_DURABLY
            case Effect.PUBLISH:
                run.outcome = self.made
                return None
            case Effect.CLOSE_MARKER:
                return None
            case Effect.REPLY:
                if run.outcome is None:
                    run.outcome = failed(run, self.order.context)
                return Signal.SETTLED
            case Effect.FOLLOW_UP:
                return Signal.SETTLED
            case Effect.READ_START_MARKER | Effect.READ_END_MARKER | Effect.REFUSE_WRITES:
                raise AssertionError(effect)  # no row leads here without a ledger
            case _:
                assert_never(effect)

    def _select(self, run: Run) -> Signal:
        order = self.order
        if any(record.id == order.record_id for record in order.context.compactions):
            raise CompactionError(
                ErrorCode.INVALID_INPUT,
                f"{shown(order.record_id)} is the id of an earlier record",
                where="options.record_id",
                fix="give each compaction an id of its own",
            )
        run.boundary = choose_boundary(order.context, order.budget)
        if run.boundary is None:
            run.fail(
                ErrorCode.BOUNDARY_UNAVAILABLE,
                f"no safe cut brings {order.context.units:,} units to {order.budget.target_units:,}",
                kind=FailureKind.NOTHING_TO_CUT,
                fix="raise the target, keep fewer recent messages, or unpin requirements",
            )
            return Signal.NOTHING_TO_CUT
        return Signal.CUT_CHOSEN

    def _request(self, run: Run) -> SummaryRequest:
        assert run.boundary is not None
        context, order = self.order.context, self.order
        return SummaryRequest(
            context.requirements,
            context.summary,
            context.messages.before(run.boundary),
            run.boundary,
            order.budget.summary_max_units,
            order.summary_id,
        )

    def _validate(self, run: Run) -> Signal:
        order = self.order
        assert run.boundary is not None
        try:
            summary = read_summary_text(
                self.asking.answer,
                summary_id=order.summary_id,
                max_units=order.budget.summary_max_units,
                limits=order.context.limits,
            )
            context, record = compacted(
                order.context,
                boundary=run.boundary,
                summary=summary,
                record_id=order.record_id,
                target_units=order.budget.target_units,
            )
        except CompactionError as error:
            run.error = error
            error.kind = FailureKind.REJECTED
            return Signal.REJECTED
        run.units_after = context.units
        self.made = Committed(context, record, run.id)
        return Signal.ACCEPTED
