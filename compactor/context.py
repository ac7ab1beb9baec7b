"""``ActiveContext``: what a model is sent, in four channels; how it is built, measured, and what a compaction makes of it.

Everything here is pure. A context exists only if it is valid: ``build_active_context`` is the one way to make one from
outside, and what it returned once is never checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeAlias

import attrs

from .boundary import earliest_cut
from .errors import CompactionError, ErrorCode, kind_name, shown
from .messages import Message, Requirement, Summary
from .plain import MISSING, Faulty, Limits, Tally, is_object, limit_error, safe_int
from .reading import read_one
from .transcript import Transcript, read_transcript_data
from .units import message_units, requirement_units, summary_units

DEFAULT_LIMITS: Final = Limits()


class _NoPublicConstructor(type):
    """A class that only its own package makes (as in trio): whoever holds an object may rely on it."""

    def __call__(cls, *_args: object, **_kwargs: object) -> NoReturn:
        msg = f"{cls.__name__} has no public constructor; use build_active_context(...)"
        raise TypeError(msg)

    def make(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)


@attrs.frozen
class CompactionRecord:
    """One compaction: which messages (ids, oldest first) the summary *summary_id* stands for, and units before and after."""

    id: str
    summary_id: str = attrs.field(kw_only=True)
    boundary: int = attrs.field(kw_only=True)
    compacted_message_ids: tuple[str, ...] = attrs.field(kw_only=True, repr=lambda ids: f"<{len(ids)} ids>")
    units_before: int = attrs.field(kw_only=True)
    units_after: int = attrs.field(kw_only=True)


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
    summary_id: str
    instructions: str | None = None
    """What the caller wants the summary to look at."""
    rejection: str | None = None
    """On a second attempt: why the first answer was refused."""
    attempt: int = 1

    @property
    def max_text(self) -> int:
        """How many code points the text may have, so that the summary fits its budget."""
        return self.max_summary_units - 5 - len(self.summary_id)


@attrs.frozen
class BudgetOptions:
    """The checked numbers of one compaction, in units."""

    target_units: int
    summary_max_units: int
    retain_recent_messages: int


Contextual: TypeAlias = ActiveContext | Mapping[str, Any]
Options: TypeAlias = Mapping[str, Any]


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
        raise _invalid("context", f"needs a plain object, got {kind_name(data)}", "pass a dict with messages")
    get = data.get  # type: ignore[attr-defined]
    requirements = _read_requirements(get("requirements", []), tally)
    summary = _read_summary(get("summary", None), tally)
    fixed_units = sum([requirement_units(item) for item in requirements]) + (summary_units(summary) if summary else 0)
    items, chars = tally.items, tally.chars
    messages = read_transcript_data(get("messages", []), tally, rich=rich, live=live)
    items, chars = items - tally.items, chars - tally.chars
    records = _read_records(get("compactions", []), tally)
    units = fixed_units + messages.units
    if units > tally.limits.units:
        raise limit_error("context", "units", units, tally.limits.units)
    fixed = (fixed_units, items + tally.items, chars + tally.chars)
    made: ActiveContext = ActiveContext.make(requirements, summary, messages, records, units, tally.limits, fixed)
    return made


def _invalid(where: str, what: str, fix: str = "", code: ErrorCode = ErrorCode.INVALID_INPUT) -> CompactionError:
    return CompactionError(code, what, where=where, fix=fix)


def _filled(get: Callable[..., Any], key: str, where: str, tally: Tally) -> str:
    """A string that is there and not blank, or INVALID_INPUT."""
    value = get(key, MISSING)
    try:
        return tally.filled(value, where)
    except Faulty:
        what = (
            "is missing" if value is MISSING else "is blank" if type(value) is str else f"needs a string, got {kind_name(value)}"
        )
        raise _invalid(f"{where}.{key}", what, "pass a string that is not blank") from None


def _items(value: object, where: str, limit: int, what: str, tally: Tally) -> tuple[object, ...]:
    """The elements of an array within *limit*, counted."""
    kind = type(value)
    if kind is not list and kind is not tuple:
        raise _invalid(where, f"needs an array, got {kind_name(value)}", "leave it out, or pass a list")
    items: tuple[object, ...] = tuple(value)  # type: ignore[arg-type]
    if len(items) > limit:
        raise limit_error(where, what, len(items), limit)
    tally.take(len(items), where)
    return items


def _read_requirements(value: object, tally: Tally) -> tuple[Requirement, ...]:
    found: dict[str, Requirement] = {}
    for index, item in enumerate(_items(value, "requirements", tally.limits.requirements, "requirements", tally)):
        where = f"requirements[{index}]"
        get = _getter(item, Requirement, where)
        id_ = _filled(get, "id", where, tally)
        content = _filled(get, "content", where, tally)
        if id_ in found:
            raise _invalid(f"{where}.id", f"{shown(id_)} is taken", "give each requirement an id of its own")
        found[id_] = Requirement(content, id=id_)
    return tuple(found.values())


def _getter(item: object, noun: type, where: str) -> Callable[..., Any]:
    """Look fields up in plain data or in one of the small nouns."""
    if type(item) is noun:
        return {key: value for key, value in (("id", item.id), ("content", item.content)) if value is not None}.get  # type: ignore[attr-defined]
    if not is_object(item):
        raise _invalid(where, f"needs a plain object, got {kind_name(item)}")
    return item.get  # type: ignore[attr-defined, no-any-return]


def _read_summary(value: object, tally: Tally) -> Summary | None:
    if value is None:
        return None
    get = _getter(value, Summary, "summary")
    id_ = _filled(get, "id", "summary", tally)
    content = get("content", MISSING)
    try:
        text = tally.filled(content, "summary.content")
    except Faulty:
        if type(content) is str:
            raise _invalid("summary.content", "is blank", "leave the summary out", ErrorCode.SUMMARY_INVALID) from None
        what = "is missing" if content is MISSING else f"needs a string, got {kind_name(content)}"
        raise _invalid("summary.content", what) from None
    return Summary(text, id=id_)


def _read_records(value: object, tally: Tally) -> tuple[CompactionRecord, ...]:
    found: dict[str, CompactionRecord] = {}
    for index, item in enumerate(_items(value, "compactions", tally.limits.records, "compaction records", tally)):
        record = _read_record(item, f"compactions[{index}]", tally)
        if record.id in found:
            raise _invalid(f"compactions[{index}].id", f"{shown(record.id)} is taken", "give each record an id of its own")
        found[record.id] = record
    return tuple(found.values())


def record_to_plain(record: CompactionRecord) -> dict[str, Any]:
    """Write a record as plain data."""
    return {
        "id": record.id,
        "summaryId": record.summary_id,
        "boundary": record.boundary,
        "compactedMessageIds": record.compacted_message_ids,
        "unitsBefore": record.units_before,
        "unitsAfter": record.units_after,
    }


def _read_record(item: object, where: str, tally: Tally) -> CompactionRecord:
    plain = record_to_plain(item) if type(item) is CompactionRecord else item
    get = _getter(plain, CompactionRecord, where)
    id_ = _filled(get, "id", where, tally)
    summary_id = _filled(get, "summaryId", where, tally)
    boundary = _whole(get, "boundary", where, 1)
    before = _whole(get, "unitsBefore", where, 0)
    after = _whole(get, "unitsAfter", where, 0)
    ids = _items(get("compactedMessageIds", MISSING), f"{where}.compactedMessageIds", tally.limits.ids_per_record, "ids", tally)
    if not ids or len(ids) != boundary:
        raise _invalid(f"{where}.compactedMessageIds", f"holds {len(ids)} ids, the boundary is {boundary}", "they must be equal")
    try:
        checked = tuple([tally.filled(message_id, where) for message_id in ids])
    except Faulty:
        raise _invalid(f"{where}.compactedMessageIds", "holds something else than ids") from None
    return CompactionRecord(
        id_, summary_id=summary_id, boundary=boundary, compacted_message_ids=checked, units_before=before, units_after=after
    )


def _whole(get: Callable[..., Any], key: str, where: str, minimum: int) -> int:
    value = get(key, MISSING)
    number = safe_int(value, minimum)
    if number is None:
        raise _invalid(f"{where}.{key}", f"needs a whole number ≥ {minimum}, got {kind_name(value)}")
    return number


def estimate_context_units(context: Contextual) -> int:
    """The units of a context; it is built first when it is plain data."""
    return build_active_context(context).units


# ------------------------------------------------------------------------------------------------------ budgets

_OPTION_FIELDS: Final = (
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
        return options
    if not is_object(options):
        raise _invalid("options", f"needs a plain object, got {kind_name(options)}", "pass a dict, or a Budget")
    target, summary_max, retain = (read_budget_number(options, *field) for field in _OPTION_FIELDS)
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
    if value is MISSING:
        raise _invalid(f"options.{name}", "is missing", f"pass a whole number ≥ {minimum}")
    number = safe_int(value, minimum)
    if number is None:
        what = f"is {value}" if type(value) is int else f"needs a whole number, got {kind_name(value)}"
        raise CompactionError(ErrorCode.INVALID_BUDGET, what, where=f"options.{name}", fix=f"pass a whole number ≥ {minimum}")
    return number


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
    messages = context.messages.appended(message, message_units(message), tally)
    return _changed(context, messages=messages), message


def with_requirements(context: ActiveContext, requirements: tuple[Requirement, ...]) -> ActiveContext:
    """The context with these requirements instead, checked."""
    tally = Tally(context.limits)
    return _changed(context, requirements=_read_requirements(requirements, tally))


def with_report(context: ActiveContext, report: object) -> ActiveContext:
    """The same context, saying where it came from."""
    made: ActiveContext = ActiveContext.make(
        context.requirements,
        context.summary,
        context.messages,
        context.compactions,
        context.units,
        context.limits,
        context.fixed_counts,
        report,
    )
    return made


def _changed(
    context: ActiveContext,
    *,
    messages: Transcript | None = None,
    requirements: tuple[Requirement, ...] | None = None,
) -> ActiveContext:
    """A context with other messages or requirements; what did not change is not counted again."""
    kept = context.requirements if requirements is None else requirements
    fixed = context.fixed_counts if requirements is None else measure(kept, context.summary, context.compactions)
    return _assembled(kept, context.summary, messages or context.messages, context.compactions, context.limits, fixed)


def measure(
    requirements: tuple[Requirement, ...], summary: Summary | None, records: tuple[CompactionRecord, ...]
) -> tuple[int, int, int]:
    """Units, items and code points of everything but the messages."""
    units = sum([requirement_units(item) for item in requirements]) + (summary_units(summary) if summary else 0)
    items = len(requirements) + len(records) + sum([len(record.compacted_message_ids) for record in records])
    chars = sum([len(item.id or "") + len(item.content) for item in requirements])
    chars += len(summary.id or "") + len(summary.content) if summary else 0
    chars += sum([len(r.id) + len(r.summary_id) + sum(map(len, r.compacted_message_ids)) for r in records])
    return units, items, chars


def _assembled(
    requirements: tuple[Requirement, ...],
    summary: Summary | None,
    messages: Transcript,
    records: tuple[CompactionRecord, ...],
    limits: Limits,
    fixed: tuple[int, int, int],
) -> ActiveContext:
    """Put checked parts together; only the limits of the whole are left to check."""
    items, chars = messages.counted
    units = fixed[0] + messages.units
    for what, found, limit in (
        ("messages", len(messages), limits.messages),
        ("collection items together", fixed[1] + items, limits.items_total),
        ("code points together", fixed[2] + chars, limits.strings_total),
        ("units", units, limits.units),
    ):
        if found > limit:
            raise limit_error("context", what, found, limit)
    made: ActiveContext = ActiveContext.make(requirements, summary, messages, records, units, limits, fixed)
    return made


def compacted(
    context: ActiveContext, *, boundary: int, summary: Summary, record_id: str, target_units: int | None
) -> tuple[ActiveContext, CompactionRecord]:
    """What the context becomes when *summary* stands for the messages before *boundary*, and the record of it.

    The boundary is a safe cut, so the rest needs no second validation. Units over *target_units* →
    SUMMARY_INSUFFICIENT; too many records, or a record that tips a counter → LIMIT_EXCEEDED.
    """
    messages = context.messages.after(boundary)
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
