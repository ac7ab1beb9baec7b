"""What the verbs of ledgers found, as lines for people and as plain data. Pure. Everything that was said is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from compactor.audit import Audit
from compactor.context import ActiveContext, record_to_plain
from compactor.ledger import SessionInfo
from compactor.messages import AssistantMessage, Message, ToolResult, message_to_plain, text_of
from compactor.plain import thaw
from compactor.recall import Hit, Page
from compactor.statistics import Statistics
from compactor.units import summary_units

from ._report import count, row
from ._words import one_line

LINE_MAX: Final = 100
"""Code points of a message that a listing shows."""


def when(seconds: float) -> str:
    """A time for people, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def short(text: str) -> str:
    """The beginning of a text, on one line."""
    line = one_line(" ".join(text[: LINE_MAX * 4].split()))
    return line if len(line) <= LINE_MAX and len(text) <= LINE_MAX * 4 else line[:LINE_MAX] + "…"


# --------------------------------------------------------------------------------------------------------- contexts


def context_to_plain(context: ActiveContext) -> dict[str, Any]:
    """A surface in numbers and ids."""
    summary = context.summary
    return {
        "units": context.units,
        "requirements": [item.id for item in context.requirements],
        "summary": None if summary is None else {"id": summary.id, "units": summary_units(summary)},
        "messageIds": [message.id for message in context.messages],
        "openCalls": list(context.open_calls),
        "records": [thaw(record_to_plain(record)) for record in context.compactions],
    }


def context_lines(name: str, context: ActiveContext) -> list[str]:
    """The same in two lines."""
    parts = [count(len(context.messages), "message"), count(len(context.requirements), "pin")]
    if context.summary is not None:
        parts.insert(0, "a summary")
    lines = [row("session", name), row("surface", f"{context.units:,} units: {', '.join(parts)}")]
    if context.open_calls:
        lines.append(row("open", f"{count(len(context.open_calls), 'call')} without a result yet"))
    return lines


def surface_lines(name: str, context: ActiveContext) -> list[str]:
    """What the model is sent, one line an element."""
    lines = context_lines(name, context)
    lines += [row("pin", f"{item.id}: {short(item.content)}") for item in context.requirements]
    if context.summary is not None:
        lines.append(row("summary", f"{context.summary.id}: {short(context.summary.content)}"))
        record = next((record for record in reversed(context.compactions) if record.summary_id == context.summary.id), None)
        if record is not None:
            lines.append(row("", f"stands for {record.boundary:,} messages; to read them: compactor session read … {record.id}"))
    lines += [_message_line(message) for message in context.messages]
    return lines


def _message_line(message: Message) -> str:
    match message:
        case ToolResult():
            return row("result", f"{message.id}: {message.tool_name}: {short(text_of(message.content))}")
        case AssistantMessage():
            calls = ", ".join([call.name for call in message.tool_calls])
            said = short(text_of(message.content))
            return row("assistant", f"{message.id}: {said}{' ' if said and calls else ''}{f'[calls {calls}]' if calls else ''}")
        case _:
            return row("user", f"{message.id}: {short(text_of(message.content))}")


def diff_to_plain(before: ActiveContext, after: ActiveContext) -> dict[str, Any]:
    """What came and what went between two surfaces, by id; and what hid it."""
    old, new = [dict.fromkeys([str(message.id) for message in context.messages]) for context in (before, after)]
    known = {record.id for record in before.compactions}
    hidden = {
        id_: record.id
        for record in after.compactions
        if record.id not in known
        for id_ in record.compacted_message_ids
        if id_ in old
    }
    pins = [{str(item.id) for item in context.requirements} for context in (before, after)]
    return {
        "units": {"before": before.units, "after": after.units},
        "appeared": [id_ for id_ in new if id_ not in old],
        "hidden": [{"id": id_, "by": hidden.get(id_)} for id_ in old if id_ not in new],
        "pinned": sorted(pins[1] - pins[0]),
        "unpinned": sorted(pins[0] - pins[1]),
        "changed": [
            str(message.id)
            for message in after.messages
            if message.id in old
            and message_to_plain(message) not in [message_to_plain(one) for one in before.messages if one.id == message.id]
        ],
        "summary": None if after.summary is None or after.summary == before.summary else after.summary.id,
    }


def diff_lines(plain: dict[str, Any]) -> list[str]:
    """The same for people."""
    lines = [row("units", f"{plain['units']['before']:,} -> {plain['units']['after']:,}")]
    if plain["summary"] is not None:
        lines.append(row("summary", plain["summary"]))
    lines += [row("hidden", f"{item['id']} by {item['by'] or 'an edit'}") for item in plain["hidden"]]
    lines += [row(key, id_) for key in ("appeared", "changed", "pinned", "unpinned") for id_ in plain[key]]
    return lines


# ---------------------------------------------------------------------------------------------------------- sessions


def session_to_plain(info: SessionInfo, context: ActiveContext, counts: Statistics) -> dict[str, Any]:
    """One session of a list."""
    return {
        "session": info.id,
        "events": info.events,
        "lives": info.epoch,
        "turns": counts.turns,
        "messages": counts.messages,
        "units": context.units,
        "compactions": counts.runs.get("committed", 0),
        "began": info.began,
        "changed": info.changed,
    }


def session_lines(rows: Iterable[tuple[SessionInfo, ActiveContext, Statistics]]) -> list[str]:
    """The list for people."""
    return [
        one_line(
            f"{info.id}  {when(info.changed)}  {context.units:,} units, {count(counts.messages, 'message')}, "
            f"{count(counts.turns, 'turn')}, {count(counts.runs.get('committed', 0), 'compaction')}"
        )
        for info, context, counts in rows
    ] or ["no sessions"]


def statistics_lines(counts: Statistics) -> list[str]:
    """Counts for people."""
    runs = ", ".join([f"{number:,} {code}" for code, number in counts.runs.items()]) or "none"
    return [
        row("session", f"{counts.session_id}, {when(counts.began)} to {when(counts.changed)}"),
        row("events", f"{counts.events:,} in {count(counts.lives, 'life').replace('lifes', 'lives')}"),
        row("messages", f"{counts.messages:,}, {counts.shown:,} entries on the surface, {count(counts.pins, 'pin')}"),
        row("turns", f"{counts.turns:,}"),
        row("runs", f"{runs}; {counts.undone:,} undone, {count(counts.traces, 'trace')}"),
        row("saved", f"{counts.units_hidden:,} units in {count(counts.attempts, 'attempt')}, {counts.seconds:,.1f} s"),
        row("redacted", f"{counts.redactions:,}"),
    ]


# ------------------------------------------------------------------------------------------------------------ recall


def hit_lines(hits: Sequence[Hit]) -> list[str]:
    """Hits, each with what ``read`` wants."""
    lines = [one_line(f"{hit.record_id} --cursor {hit.cursor}  {hit.role} {hit.message_id}: {hit.snippet}") for hit in hits]
    return lines or ["nothing found; try fewer or other words"]


def page_lines(page: Page) -> list[str]:
    """A page, and where the next one begins. Newlines stay; nothing else that a terminal would obey does."""
    lines = [one_line(line) for line in page.text.split("\n")]
    more = [] if page.cursor is None else [f"(more: --cursor {page.cursor})"]
    return [*lines, *more]


# ------------------------------------------------------------------------------------------------------------- audit


def audit_lines(audit: Audit) -> list[str]:
    """What ``verify`` found."""
    lines = [row("fault", str(finding)) for finding in audit.faults]
    lines += [row("trace", str(finding)) for finding in audit.traces]
    verdict = "everything holds" if audit.ok else f"{count(len(audit.faults), 'fault')} found"
    return [*lines, row("verify", f"{count(audit.sessions, 'session')}, {count(audit.events, 'event')}: {verdict}")]


def marker_lines(name: str, markers: Sequence[dict[str, Any]], *, done: bool) -> list[str]:
    """What blocks a session, and what was done about it."""
    lines = [row("session", name)]
    lines += [
        row("marker", f"run {marker['run']} at event {marker['seq']}, life {marker['epoch']}, since {when(marker['time'])}")
        for marker in markers
    ]
    if done:
        lines.append(row("unlocked", "the session was taken over and closed; an owner that still runs is fenced"))
    elif markers:
        lines.append(row("result", "nothing was changed; to take the session over and close it: add --yes"))
    else:
        lines.append(row("result", "no marker blocks it; an owner that is alive would still be fenced with --yes"))
    return lines
