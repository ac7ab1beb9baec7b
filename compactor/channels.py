"""The three channels beside the messages: requirements, the summary, and the records of compactions.

Each is read from plain data or from nouns, in the order of the rules; the first fault wins. What they count against the
limits is measured here too, so that a context need not be read again when only one channel changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from .errors import CompactionError, ErrorCode, kind_name, shown
from .messages import Requirement, Summary
from .plain import MISSING, Faulty, Tally, is_object, limit_error, safe_int
from .units import requirement_units, summary_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@attrs.frozen
class CompactionRecord:
    """One compaction: which messages (ids, oldest first) the summary *summary_id* stands for, and units before and after."""

    id: str = attrs.field(repr=shown)
    summary_id: str = attrs.field(kw_only=True, repr=shown)
    boundary: int = attrs.field(kw_only=True)
    compacted_message_ids: tuple[str, ...] = attrs.field(kw_only=True, repr=lambda ids: f"<{len(ids)} ids>")
    units_before: int = attrs.field(kw_only=True)
    units_after: int = attrs.field(kw_only=True)


def invalid_input(where: str, what: str, fix: str = "", code: ErrorCode = ErrorCode.INVALID_INPUT) -> CompactionError:
    """INVALID_INPUT at a place, unless *code* says otherwise."""
    return CompactionError(code, what, where=where, fix=fix)


def _filled(get: Callable[..., Any], key: str, where: str, tally: Tally) -> str:
    """A string that is there and not blank, or INVALID_INPUT."""
    value = get(key, MISSING)
    try:
        return tally.filled(value, f"{where}.{key}")
    except Faulty:
        what = (
            "is missing" if value is MISSING else "is blank" if type(value) is str else f"needs a string, got {kind_name(value)}"
        )
        raise invalid_input(f"{where}.{key}", what, "pass a string that is not blank") from None


def _items(value: object, where: str, limit: int, what: str, tally: Tally) -> Sequence[object]:
    """The elements of an array within *limit*, counted."""
    kind = type(value)
    if kind is not list and kind is not tuple:
        raise invalid_input(where, f"needs an array, got {kind_name(value)}", "leave it out, or pass a list")
    items: Sequence[object] = value  # type: ignore[assignment]
    if len(items) > limit:
        raise limit_error(where, what, len(items), limit)
    tally.take(len(items), where)
    return items


def read_requirements(value: object, tally: Tally) -> tuple[Requirement, ...]:
    """Read the pinned requirements."""
    found: dict[str, Requirement] = {}
    for index, item in enumerate(_items(value, "requirements", tally.limits.requirements, "requirements", tally)):
        where = f"requirements[{index}]"
        get = _getter(item, Requirement, where)
        id_ = _filled(get, "id", where, tally)
        content = _filled(get, "content", where, tally)
        if id_ in found:
            raise invalid_input(f"{where}.id", f"{shown(id_)} is taken", "give each requirement an id of its own")
        found[id_] = Requirement(content, id=id_)
    return tuple(found.values())


def _getter(item: object, noun: type, where: str) -> Callable[..., Any]:
    """Look fields up in plain data or in one of the small nouns."""
    if type(item) is noun:
        return {key: value for key, value in (("id", item.id), ("content", item.content)) if value is not None}.get  # type: ignore[attr-defined]
    if not is_object(item):
        raise invalid_input(where, f"needs a plain object, got {kind_name(item)}")
    return item.get


def read_summary(value: object, tally: Tally) -> Summary | None:
    """Read the summary; None means: there is none."""
    if value is None:
        return None
    get = _getter(value, Summary, "summary")
    id_ = _filled(get, "id", "summary", tally)
    content = get("content", MISSING)
    try:
        text = tally.filled(content, "summary.content")
    except Faulty:
        if type(content) is str:
            raise invalid_input("summary.content", "is blank", "leave the summary out", ErrorCode.SUMMARY_INVALID) from None
        what = "is missing" if content is MISSING else f"needs a string, got {kind_name(content)}"
        raise invalid_input("summary.content", what) from None
    return Summary(text, id=id_)


def read_records(value: object, tally: Tally) -> tuple[CompactionRecord, ...]:
    """Read the records of earlier compactions."""
    found: dict[str, CompactionRecord] = {}
    for index, item in enumerate(_items(value, "compactions", tally.limits.records, "compaction records", tally)):
        record = _read_record(item, f"compactions[{index}]", tally)
        if record.id in found:
            raise invalid_input(f"compactions[{index}].id", f"{shown(record.id)} is taken", "give each record an id of its own")
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
        raise invalid_input(
            f"{where}.compactedMessageIds", f"holds {len(ids)} ids, the boundary is {boundary}", "they must be equal"
        )
    try:
        checked = tuple([tally.filled(message_id, where) for message_id in ids])
    except Faulty:
        raise invalid_input(f"{where}.compactedMessageIds", "holds something else than ids") from None
    return CompactionRecord(
        id_, summary_id=summary_id, boundary=boundary, compacted_message_ids=checked, units_before=before, units_after=after
    )


def _whole(get: Callable[..., Any], key: str, where: str, minimum: int) -> int:
    value = get(key, MISSING)
    number = safe_int(value, minimum)
    if number is None:
        raise invalid_input(f"{where}.{key}", f"needs a whole number ≥ {minimum}, got {kind_name(value)}")
    return number


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
