"""What a command found, as lines for people and as plain data for ``--json``. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compactor.context import record_to_plain
from compactor.outcomes import Committed
from compactor.plain import thaw
from compactor.units import summary_units

from ._words import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.context import ActiveContext
    from compactor.formats import ImportReport, Note
    from compactor.messages import TranscriptFault
    from compactor.outcomes import Unchanged
    from compactor.session import Plan

NOTES_MAX: Final = 10
"""How many lines of notes are shown; ``check`` shows all."""

_NO_FAULT: Final = frozenset(
    {
        "row_not_in_context",
        "not_on_branch",
        "hidden_by_compaction",
        "summary_superseded",
        "system_pinned",
        "key_ignored",
        "id_made",
        "header_missing",
        "newer_version",
        "calls_left_open",
    }
)
"""Notes on what a sound file may have. Any other one says that something was repaired or set aside."""


def is_fault(note: Note) -> bool:
    """True when the importer had to repair or set aside something."""
    return note.what not in _NO_FAULT


def row(label: str, text: str) -> str:
    """One aligned line."""
    return f"{label:<10} {one_line(text)}"


def count(number: int, noun: str) -> str:
    """``1 note``, ``1,234 notes``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def read_line(name: str, report: ImportReport) -> str:
    """What was read."""
    torn = ", 1 torn" if report.torn else ""
    what = (
        f"{count(report.rows, 'row')}, {report.kept:,} kept, {report.skipped:,} skipped{torn}, {count(len(report.notes), 'note')}"
    )
    return row("read", f"{name}: {report.format}, {what}")


def report_to_plain(report: ImportReport) -> dict[str, Any]:
    """The import report."""
    numbers = {"format": report.format, "rows": report.rows, "kept": report.kept, "skipped": report.skipped, "torn": report.torn}
    return {**numbers, "notes": notes_to_plain(report.notes)}


def notes_to_plain(notes: Sequence[Note]) -> list[dict[str, Any]]:
    """Notes without the raw rows that they keep."""
    return [
        {"what": note.what, "text": note.text, "line": note.line, "rows": note.rows, "fault": is_fault(note)} for note in notes
    ]


def note_line(note: Note) -> str:
    """One note."""
    place = "" if note.line is None else f"line {note.line}: "
    return one_line(f"{place}{note.text} [{note.what}]")


def grouped(notes: Sequence[Note]) -> list[str]:
    """At most ``NOTES_MAX`` lines: one for each kind of note, faults first."""
    kinds: dict[str, list[Note]] = {}
    for note in notes:
        kinds.setdefault(note.what, []).append(note)
    order = sorted(kinds.values(), key=lambda group: not is_fault(group[0]))
    lines = [
        f"note: {note_line(group[0])}{f' and {len(group) - 1:,} more of this kind' if len(group) > 1 else ''}" for group in order
    ]
    if len(lines) > NOTES_MAX:
        rest = len(lines) - NOTES_MAX + 1
        lines[NOTES_MAX - 1 :] = [f"note: {rest} more kinds of notes; compactor check lists all"]
    return lines


def sizing_to_plain(plan: Plan) -> dict[str, Any]:
    """The budget of a run."""
    options = plan.options
    return {
        "threshold": plan.threshold,
        "target": options.target_units,
        "summaryMax": options.summary_max_units,
        "retain": options.retain_recent_messages,
    }


def _budget(plan: Plan) -> str:
    return f"threshold {plan.threshold:,}, target {plan.options.target_units:,}"


# --------------------------------------------------------------------------------------------------------- compact


def compact_to_plain(before: ActiveContext, plan: Plan, outcome: Committed | Unchanged) -> dict[str, Any]:
    """The numbers and the record of ``compact``."""
    after, record = outcome.context, outcome.record
    summary = after.summary
    return {
        "status": "unchanged" if record is None else "committed",
        "units": {"before": before.units, "after": after.units},
        "budget": sizing_to_plain(plan),
        "boundary": None if record is None else record.boundary,
        "messages": {"before": len(before.messages), "hidden": record.boundary if record else 0, "kept": len(after.messages)},
        "summary": None if summary is None else {"id": summary.id, "units": summary_units(summary)},
        "openCalls": list(after.open_calls),
        "record": None if record is None else thaw(record_to_plain(record)),
    }


def compact_lines(before: ActiveContext, plan: Plan, outcome: Committed | Unchanged) -> list[str]:
    """The same for people."""
    after = outcome.context
    lines = []
    if isinstance(outcome, Committed):
        lines.append(row("units", f"{before.units:,} -> {after.units:,} ({_budget(plan)})"))
        lines.append(row("boundary", _boundary(before, outcome.record.boundary)))
        lines.append(row("messages", f"{outcome.record.boundary:,} hidden, {len(after.messages):,} kept"))
    else:
        lines.append(row("units", f"{before.units:,}, unchanged ({_budget(plan)})"))
        lines.append(row("messages", f"0 hidden, {len(after.messages):,} kept"))
    if after.summary is not None:
        lines.append(row("summary", f"{summary_units(after.summary):,} units (room for {plan.options.summary_max_units:,})"))
    if after.open_calls:
        lines.append(row("open", f"{count(len(after.open_calls), 'call')} without a result yet"))
    return lines


def _boundary(context: ActiveContext, boundary: int) -> str:
    if boundary == len(context.messages):
        return f"{boundary:,}, behind the last message"
    return f"{boundary:,}, before message {one_line(context.messages[boundary].id or '')}"


# ------------------------------------------------------------------------------------------------------------ plan


def _would(plan: Plan, *, force: bool) -> str:
    if not plan.due and not force:
        return "nothing"
    return "fail" if plan.boundary is None else "compact"


def plan_to_plain(context: ActiveContext, plan: Plan, *, force: bool) -> dict[str, Any]:
    """What ``plan`` found."""
    return {
        "status": "planned",
        "would": _would(plan, force=force),
        "due": plan.due,
        "units": {"before": plan.units},
        "budget": sizing_to_plain(plan),
        "boundary": plan.boundary,
        "messages": {
            "before": len(context.messages),
            "hidden": plan.boundary or 0,
            "kept": len(context.messages) - (plan.boundary or 0),
        },
        "hiddenMessageIds": list(plan.hidden_message_ids),
        "openCalls": list(context.open_calls),
    }


def plan_lines(context: ActiveContext, plan: Plan, *, force: bool) -> list[str]:
    """The same for people."""
    lines = [row("units", f"{plan.units:,} ({_budget(plan)})")]
    if plan.boundary is not None:
        lines.append(row("boundary", _boundary(context, plan.boundary)))
        kept = len(context.messages) - plan.boundary
        lines.append(row("messages", f"{plan.boundary:,} would be hidden, {kept:,} kept"))
        lines.append(row("summary", f"room for {plan.options.summary_max_units:,} units"))
    text = {
        "nothing": "compact would change nothing: the session is not over its threshold; --force compacts it all the same",
        "fail": "compact would fail: no safe cut reaches the target; raise the target, or keep fewer messages",
        "compact": "compact would summarize the messages before the boundary",
    }
    lines.append(row("plan", text[_would(plan, force=force)]))
    return lines


# ----------------------------------------------------------------------------------------------------------- check


def check_to_plain(report: ImportReport | None, faults: Sequence[TranscriptFault], number: int) -> dict[str, Any]:
    """What ``check`` found; *number* counts the faults of the transcript and those that the importer met."""
    found = [{"rule": fault.rule, "index": fault.index, "fix": fault.fix} for fault in faults]
    told = None if report is None else report_to_plain(report)
    return {"status": "checked", "clean": number == 0, "faultCount": number, "faults": found, "report": told}


def check_lines(report: ImportReport | None, faults: Sequence[TranscriptFault], number: int) -> list[str]:
    """The same for people: every fault, then every other note, then the verdict."""
    lines = [row("fault", f"messages[{fault.index}]: {fault.fix} [{fault.rule}]") for fault in faults]
    notes = () if report is None else report.notes
    lines += [row("fault", note_line(note)) for note in notes if is_fault(note)]
    lines += [row("note", note_line(note)) for note in notes if not is_fault(note)]
    lines.append(row("check", "clean" if number == 0 else f"{count(number, 'fault')} found"))
    return lines
