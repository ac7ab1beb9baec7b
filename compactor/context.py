"""``ActiveContext``: what a model is sent, in four channels; how it is built, measured, and what a compaction makes of it.

Everything here is pure. A context exists only if it is valid: ``build_active_context`` is the one way to make one from
outside, and what it returned once is never checked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import attrs

from .boundary import earliest_cut
from .budgets import BudgetOptions, Options, option, read_budget_number, read_budget_options
from .channels import CompactionRecord, invalid_input, measure, read_records, read_requirements, read_summary, record_to_plain
from .errors import CompactionError, ErrorCode, kind_name, shown
from .plain import Limits, Tally, is_object, limit_error
from .reading import read_one
from .transcript import Transcript, read_transcript_data
from .units import message_units, requirement_units, summary_units

if TYPE_CHECKING:
    from .messages import Message, Requirement, Summary

__all__ = [
    "DEFAULT_LIMITS",
    "ActiveContext",
    "BudgetOptions",
    "CompactionRecord",
    "Contextual",
    "Options",
    "SummaryRequest",
    "build_active_context",
    "build_live_context",
    "choose_boundary",
    "compacted",
    "estimate_context_units",
    "measure",
    "option",
    "read_budget_number",
    "read_budget_options",
    "record_to_plain",
    "select_compaction_boundary",
    "with_limits",
    "with_message",
    "with_records",
    "with_report",
    "with_requirements",
]

DEFAULT_LIMITS: Final = Limits()


class _NoPublicConstructor(type):
    """A class that only its own package makes (as in trio): whoever holds an object may rely on it."""

    def __call__(cls, *_args: object, **_kwargs: object) -> NoReturn:
        msg = f"{cls.__name__} has no public constructor; use build_active_context(...)"
        raise TypeError(msg)

    def make(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)


@attrs.frozen
class ActiveContext(metaclass=_NoPublicConstructor):
    """An immutable, valid context: pinned requirements, one summary or None, messages, and the records of compactions."""

    requirements: tuple[Requirement, ...]
    summary: Summary | None
    messages: Transcript
    compactions: tuple[CompactionRecord, ...]
    units: int
    """What all of it costs; O(1) to read."""
    limits: Limits = attrs.field(repr=False, eq=False)
    fixed_counts: tuple[int, int, int] = attrs.field(repr=False, eq=False)
    """Units, items and code points of everything but the messages."""
    report: Any = attrs.field(default=None, repr=False, eq=False)
    """What an importer read, kept and skipped; None for a context that was built from data."""

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of tool calls that wait for their result; only a live session's context has any."""
        return self.messages.open_calls

    @property
    def requirement_units(self) -> int:
        """The units of the pinned requirements."""
        return sum([requirement_units(requirement) for requirement in self.requirements])


@attrs.frozen
class SummaryRequest:
    """What a summarizer is given; all of it immutable. It answers with text of at most ``max_text`` code points."""

    requirements: tuple[Requirement, ...]
    """Pinned and sent to the model as they are; a summary need not repeat them."""
    previous_summary: Summary | None
    """What the new summary replaces; whatever of it is still true belongs into the new one."""
    messages: Transcript
    """Exactly the messages that the summary will stand for, oldest first."""
    boundary: int
    max_summary_units: int
    summary_id: str = attrs.field(repr=shown)
    instructions: str | None = attrs.field(default=None, repr=False)
    """What the caller wants the summary to look at."""
    rejection: str | None = attrs.field(default=None, repr=False)
    """On a second attempt: why the first answer was refused."""
    attempt: int = 1

    @property
    def max_text(self) -> int:
        """How many code points the text may have, so that the summary fits its budget."""
        return self.max_summary_units - 5 - len(self.summary_id)


Contextual: TypeAlias = ActiveContext | Mapping[str, Any]


def build_active_context(data: Contextual, *, limits: Limits = DEFAULT_LIMITS) -> ActiveContext:
    """Validate *data* and give an immutable copy; a context is returned as it is.

    *data* is a dict with ``requirements``, ``summary``, ``messages``, ``compactions`` (camelCase inside, as in JSON, or
    this package's nouns). Raises ``CompactionError``; the first fault wins, in that order of channels.
    """
    return _built(data, limits, live=False, rich=False)


def build_live_context(data: Contextual, *, limits: Limits, rich: bool = True) -> ActiveContext:
    """The same for sessions and files of this project: tool calls may wait, and the richer content may come as plain data."""
    return _built(data, limits, live=True, rich=rich)


def _built(data: object, limits: Limits, *, live: bool, rich: bool) -> ActiveContext:
    if type(data) is ActiveContext:
        if not live and data.open_calls:
            _check_closed(data)
        return data
    try:
        return _read_context(data, Tally(limits), live=live, rich=rich)
    except CompactionError:
        raise
    except Exception as error:
        raise CompactionError(
            ErrorCode.INVALID_INPUT, f"the context cannot be read: {kind_name(error)}", where="context"
        ) from error


def _check_closed(context: ActiveContext) -> None:
    """A context from a live session may go where pairing is strict only when no call waits."""
    raise CompactionError(
        ErrorCode.INVALID_TRANSCRIPT,
        f"tool call {shown(context.open_calls[0])} has no result [MISSING_TOOL_RESULT]",
        where="messages",
        fix="wait for the result, or close the call",
    )


def _read_context(data: object, tally: Tally, *, live: bool, rich: bool) -> ActiveContext:
    if not is_object(data):
        raise invalid_input("context", f"needs a plain object, got {kind_name(data)}", "pass a dict with messages")
    get = data.get
    requirements = read_requirements(get("requirements", []), tally)
    summary = read_summary(get("summary", None), tally)
    fixed_units = sum([requirement_units(item) for item in requirements]) + (summary_units(summary) if summary else 0)
    items, chars = tally.items, tally.chars
    messages = read_transcript_data(get("messages", []), tally, rich=rich, live=live)
    items, chars = items - tally.items, chars - tally.chars
    records = read_records(get("compactions", []), tally)
    units = fixed_units + messages.units
    if units > tally.limits.units:
        raise limit_error("context", "units", units, tally.limits.units)
    fixed = (fixed_units, items + tally.items, chars + tally.chars)
    made: ActiveContext = ActiveContext.make(requirements, summary, messages, records, units, tally.limits, fixed)
    return made


def estimate_context_units(context: Contextual) -> int:
    """The units of a context; it is built first when it is plain data."""
    return build_active_context(context).units


# ------------------------------------------------------------------------------------------------------- decide


def select_compaction_boundary(context: Contextual, options: Options | BudgetOptions) -> int | None:
    """The exclusive message index of the earliest safe cut that reaches the target, or None.

    *options*: ``target_units``, ``summary_max_units``, ``retain_recent_messages`` (or camelCase). The context is
    validated before the options. The present summary does not count: a new one replaces it.
    """
    built = build_active_context(context)
    return choose_boundary(built, read_budget_options(options, built.limits))


def choose_boundary(context: ActiveContext, budget: BudgetOptions) -> int | None:
    """``select_compaction_boundary`` for checked values."""
    return earliest_cut(
        context.messages,
        fixed=context.requirement_units + budget.summary_max_units,
        target=budget.target_units,
        retain=budget.retain_recent_messages,
    )


# ------------------------------------------------------------------------------------------------------- change


def with_message(context: ActiveContext, value: object) -> tuple[ActiveContext, Message]:
    """The context with one more message, read and paired in live mode; O(1)."""
    message, tally = read_one(value, context.limits)
    cost = message_units(message)
    # All of it before anything grows, in the order of a build: a message that does not fit leaves no trace.
    _check_room(context.messages, context.fixed_counts, context.limits, (1, tally.items, tally.chars))
    if context.units + cost > context.limits.units:
        context.messages.check_pairing(message)
        raise limit_error("context", "units", context.units + cost, context.limits.units)
    messages = context.messages.appended(message, cost, tally)
    made: ActiveContext = ActiveContext.make(
        context.requirements,
        context.summary,
        messages,
        context.compactions,
        context.units + cost,
        context.limits,
        context.fixed_counts,
    )
    return made, message


def with_requirements(context: ActiveContext, requirements: tuple[Requirement, ...]) -> ActiveContext:
    """The context with these requirements instead, checked."""
    kept = read_requirements(requirements, Tally(context.limits))
    fixed = measure(kept, context.summary, context.compactions)
    return _assembled(kept, context.summary, context.messages, context.compactions, context.limits, fixed)


def with_records(context: ActiveContext, records: tuple[CompactionRecord, ...]) -> ActiveContext:
    """The context with these records, which were its own, instead of all."""
    if len(records) == len(context.compactions):
        return context
    fixed = measure(context.requirements, context.summary, records)
    return _remade(context, compactions=records, fixed_counts=fixed)


def with_limits(context: ActiveContext, limits: Limits) -> ActiveContext:
    """The same context under other, wider limits."""
    return _remade(context, limits=limits)


def with_report(context: ActiveContext, report: object) -> ActiveContext:
    """The same context, saying where it came from."""
    return _remade(context, report=report)


def _remade(context: ActiveContext, **changes: Any) -> ActiveContext:
    """``attrs.evolve`` for a class without a public constructor."""
    values = {field.name: getattr(context, field.name) for field in attrs.fields(ActiveContext)}
    made: ActiveContext = ActiveContext.make(**{**values, **changes})
    return made


def _assembled(
    requirements: tuple[Requirement, ...],
    summary: Summary | None,
    messages: Transcript,
    records: tuple[CompactionRecord, ...],
    limits: Limits,
    fixed: tuple[int, int, int],
) -> ActiveContext:
    """Put checked parts together; only the limits of the whole are left to check."""
    _check_room(messages, fixed, limits)
    units = fixed[0] + messages.units
    if units > limits.units:
        raise limit_error("context", "units", units, limits.units)
    made: ActiveContext = ActiveContext.make(requirements, summary, messages, records, units, limits, fixed)
    return made


def _check_room(
    messages: Transcript, fixed: tuple[int, int, int], limits: Limits, more: tuple[int, int, int] = (0, 0, 0)
) -> None:
    """Refuse a whole that passes a limit on its size; *more* are the messages, items and code points that would come."""
    items, chars = messages.counted
    count, items, chars = len(messages) + more[0], fixed[1] + items + more[1], fixed[2] + chars + more[2]
    if count > limits.messages:
        raise limit_error("context", "messages", count, limits.messages)
    if items > limits.items_total:
        raise limit_error("context", "collection items together", items, limits.items_total)
    if chars > limits.strings_total:
        raise limit_error("context", "code points together", chars, limits.strings_total)


def compacted(
    context: ActiveContext, *, boundary: int, summary: Summary, record_id: str, target_units: int | None, detach: bool = False
) -> tuple[ActiveContext, CompactionRecord]:
    """What the context becomes when *summary* stands for the messages before *boundary*, and the record of it.

    The boundary is a safe cut, so the rest needs no second validation. Units over *target_units* →
    SUMMARY_INSUFFICIENT; too many records, or a record that tips a counter → LIMIT_EXCEEDED. With *detach* the rest gets a
    buffer of its own, O(rest), so that what was hidden can be freed: sessions last for days.
    """
    messages = context.messages.after(boundary)
    if detach:
        messages = messages.detached()
    fixed = measure(context.requirements, summary, context.compactions)
    smaller = _assembled(context.requirements, summary, messages, context.compactions, context.limits, fixed)
    if target_units is not None and smaller.units > target_units:
        raise CompactionError(
            ErrorCode.SUMMARY_INSUFFICIENT,
            f"the context would still have {smaller.units:,} units, the target is {target_units:,}",
            where="summary",
            fix="make the summary shorter",
        )
    if len(context.compactions) >= context.limits.records:
        raise limit_error("compactions", "compaction records", len(context.compactions) + 1, context.limits.records)
    record = CompactionRecord(
        record_id,
        summary_id=summary.id or "",
        boundary=boundary,
        compacted_message_ids=context.messages.before(boundary).ids,
        units_before=context.units,
        units_after=smaller.units,
    )
    records = (*context.compactions, record)
    ids = record.compacted_message_ids
    if len(ids) > context.limits.ids_per_record:
        raise limit_error("compactions", "ids in one record", len(ids), context.limits.ids_per_record)
    added = (fixed[0], fixed[1] + 1 + len(ids), fixed[2] + len(record_id) + len(record.summary_id) + sum(map(len, ids)))
    return _assembled(context.requirements, summary, messages, records, context.limits, added), record
