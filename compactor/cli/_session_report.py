"""What the verbs of ledgers found, as lines for people and as plain data. Pure. Everything that was said is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from compactor.audit import Audit, Finding
from compactor.context import ActiveContext, record_to_plain
from compactor.events import Event
from compactor.ledger import SessionInfo
from compactor.messages import AssistantMessage, Message, ToolResult, message_to_plain, text_of
from compactor.plain import thaw
from compactor.recall import Hit, Page
from compactor.statistics import Statistics
from compactor.units import summary_units

from ._report import count, row
from ._session_owner import Owner
from ._words import one_line

if TYPE_CHECKING:
    from ._session_frame import Seen

LINE_MAX: Final = 100
"""Code points of a message that a listing shows."""


def when(seconds: float) -> str:
    """A time for people, in UTC."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):  # no clock gave it
        return f"{seconds:g} s"


def visible(line: str) -> str:
    """A line of what was said, with its tabs, and with nothing else that a terminal would obey."""
    return "\t".join([one_line(part) for part in line.split("\t")])


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


def _role(message: Message) -> str:
    return str(message_to_plain(message)["role"])


def seen_to_plain(seen: Seen) -> dict[str, Any]:
    """The events behind a surface; of a turn also what its event tells."""
    entries = [
        {"seq": seq, "id": message.id, "role": _role(message)}
        for seq, message in zip(seen.seqs, seen.context.messages, strict=True)
    ]
    return {"entries": entries, "shown": None if seen.shown is None else _turn_to_plain(seen.shown)}


def _turn_to_plain(event: Event) -> dict[str, Any]:
    kept = ("turn", "units", "pending", "overhead", "format", "model")
    return {"seq": event.seq, "time": event.time, **{key: event.data[key] for key in kept}}


def surface_lines(ledger: str, name: str, seen: Seen, *, full: bool) -> list[str]:
    """What the model is sent, one line an element or, when *full*, all of it; each with the event that holds it."""
    context = seen.context
    lines = context_lines(name, context)
    if seen.shown is not None:
        turn = _turn_to_plain(seen.shown)
        to = ", ".join([f"{turn[key]}" for key in ("model", "format") if turn[key] is not None])
        lines.append(row("shown", f"turn {turn['turn']}, {when(turn['time'])}{f', to {to}' if to else ''}"))
    lines += [
        row(
            "record", f"{record.id}: {count(record.boundary, 'message')}, {record.units_before:,} -> {record.units_after:,} units"
        )
        for record in context.compactions
    ]
    if context.compactions:
        last = context.compactions[-1].id
        lines.append(row("", f"what it hides: compactor session read {ledger} {last} --session {name}"))
    say = _said_in_full if full else _said_in_short
    lines += [line for item in context.requirements for line in say("pin", item.id or "", item.content)]
    if context.summary is not None:
        lines += say("summary", context.summary.id or "", context.summary.content)
    for seq, message in zip(seen.seqs, context.messages, strict=True):
        who, text = _message_said(message)
        lines += say(who, f"{'pending' if seq is None else seq} {message.id}", text)
    return lines


def _said_in_short(who: str, what: str, text: str) -> list[str]:
    return [row(who, f"{what}: {short(text)}")]


def _said_in_full(who: str, what: str, text: str) -> list[str]:
    return [row(who, f"{what}:"), *[f"    {visible(line)}" for line in text.split("\n")], ""]


def _message_said(message: Message) -> tuple[str, str]:
    match message:
        case ToolResult():
            return "result", f"{message.tool_name}: {text_of(message.content)}"
        case AssistantMessage():
            calls = [f"[calls {call.name} {json.dumps(thaw(call.arguments), ensure_ascii=False)}]" for call in message.tool_calls]
            return "assistant", "\n".join([part for part in (text_of(message.content), *calls) if part])
        case _:
            return "user", text_of(message.content)


def diff_to_plain(before: Seen, after: Seen, hiding: Mapping[int, str]) -> dict[str, Any]:
    """What came and what went between two surfaces, by id; *hiding* tells which compaction hid an event."""
    old, new = [
        {str(message.id): (seq, message) for seq, message in zip(seen.seqs, seen.context.messages, strict=True)}
        for seen in (before, after)
    ]
    pins = [{str(item.id) for item in seen.context.requirements} for seen in (before, after)]
    earlier, later = before.context.summary, after.context.summary
    return {
        "units": {"before": before.context.units, "after": after.context.units},
        "appeared": [{"id": id_, "seq": seq, "role": _role(message)} for id_, (seq, message) in new.items() if id_ not in old],
        "hidden": [
            {"id": id_, "seq": seq, "role": _role(message), "by": None if seq is None else hiding.get(seq)}
            for id_, (seq, message) in old.items()
            if id_ not in new
        ],
        "changed": [
            {"id": id_, "seq": seq, "role": _role(message)}
            for id_, (seq, message) in new.items()
            if id_ in old and message_to_plain(message) != message_to_plain(old[id_][1])
        ],
        "pinned": sorted(pins[1] - pins[0]),
        "unpinned": sorted(pins[0] - pins[1]),
        "summary": None if later is None or later == earlier else later.id,
        "summaryGone": None if earlier is None or later == earlier else earlier.id,
    }


def diff_lines(plain: dict[str, Any]) -> list[str]:
    """The same for people."""
    lines = [row("units", f"{plain['units']['before']:,} -> {plain['units']['after']:,}")]
    lines += [row(label, plain[key]) for label, key in (("- summary", "summaryGone"), ("+ summary", "summary")) if plain[key]]
    for item in plain["hidden"]:
        why = "" if item["by"] is None else f", hidden by compaction {item['by']}"
        lines.append(row("-", f"{item['seq']} {item['id']}, {item['role']}{why}"))
    lines += [row("+", f"{item['seq']} {item['id']}, {item['role']}") for item in plain["appeared"]]
    lines += [row("changed", f"{item['seq']} {item['id']}, {item['role']}") for item in plain["changed"]]
    lines += [row(key, id_) for key in ("pinned", "unpinned") for id_ in plain[key]]
    return lines if len(lines) > 1 else [*lines, row("", "nothing came and nothing left")]


# ---------------------------------------------------------------------------------------------------------- sessions


def session_to_plain(info: SessionInfo, seen: Seen | None, owner: Owner) -> dict[str, Any]:
    """One session of a list; without numbers that only its events tell when they are damaged."""
    return {
        "session": info.id,
        "events": info.events,
        "lives": info.epoch,
        "turns": None if seen is None else seen.surface.turns,
        "messages": None if seen is None else len(seen.context.messages),
        "units": None if seen is None else seen.context.units,
        "compactions": None if seen is None else len(seen.context.compactions),
        "began": info.began,
        "changed": info.changed,
        "owner": owner.to_plain(),
        "damaged": seen is None,
    }


def session_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The list for people."""
    return [line for plain in rows for line in _session_lines(plain)] or ["no sessions"]


def _session_lines(plain: dict[str, Any]) -> list[str]:
    owner = Owner(plain["owner"]["state"], plain["owner"]["text"])
    head = one_line(f"{plain['session']}  {when(plain['changed'])}  {count(plain['events'], 'event')}")
    if plain["damaged"]:
        return [f"{head}, damaged: compactor session verify tells where"]
    units, turns = f"{plain['units']:,} units", count(plain["turns"], "turn")
    parts = (count(plain["messages"], "message"), units, turns, count(plain["compactions"], "compaction"))
    return [one_line(f"{head}, {', '.join(parts)}; {owner}")]


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
    """A page, and where the next one begins. Newlines and tabs stay; nothing else that a terminal would obey does."""
    lines = [visible(line) for line in page.text.split("\n")]
    more = [] if page.cursor is None else [f"(more: --cursor {page.cursor})"]
    return [*lines, *more]


# ------------------------------------------------------------------------------------------------------------- audit


def _finding(finding: Finding) -> str:
    return str(finding) if finding.session_id else f"the file: {finding.message} [{finding.rule}]"


def audit_lines(audit: Audit) -> list[str]:
    """What ``verify`` found."""
    lines = [row("fault", _finding(finding)) for finding in audit.faults]
    lines += [row("trace", _finding(finding)) for finding in audit.traces]
    verdict = "everything holds" if audit.ok else f"{count(len(audit.faults), 'fault')} found"
    return [*lines, row("verify", f"{count(audit.sessions, 'session')}, {count(audit.events, 'event')}: {verdict}")]


def marker_lines(name: str, owner: Owner, markers: Sequence[dict[str, Any]], *, done: bool) -> list[str]:
    """Who or what blocks a session, and what was done about it."""
    lines = [row("session", f"{name}: {owner}")]
    lines += [
        row("marker", f"run {marker['run']} at event {marker['seq']}, life {marker['epoch']}, since {when(marker['time'])}")
        for marker in markers
    ]
    if done:
        result = "it was taken over and closed; whoever had it open can write no more"
    elif owner.state == "open":
        result = "nothing was changed; --yes takes it over and closes it: its owner can then write no more"
    elif markers:
        result = "nothing was changed; the next one who opens it clears the marker, and so does --yes"
    else:
        result = "nothing blocks it"
    return [*lines, row("unlocked" if done else "result", result)]


# -------------------------------------------------------------------------------------------------------- redaction


def events_to_plain(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Events without what they say."""
    return [{"seq": event.seq, "type": event.type.value, "id": event.data.get("id")} for event in events]


def redacted_lines(events: Sequence[Event], *, done: bool) -> list[str]:
    """What is redacted, or would be."""
    lines = []
    for event in events:
        before = ", redacted before" if event.redacted is not None else ""
        lines.append(
            row("redacted" if done else "would", f"event {event.seq}: {event.type.value} {event.data.get('id', '')}{before}")
        )
    if done:
        lines.append(
            row("beware", "what quotes it stays: look with session search, and in summaries, forks, backups and exports")
        )
    else:
        lines.append(row("result", "nothing was changed; what is redacted is gone for good: add --yes to do it"))
    return lines
