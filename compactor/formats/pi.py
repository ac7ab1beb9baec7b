"""Pi sessions, versions 1 to 3 (import only): JSONL, a ``session`` header, then entries.

Version 1 is a list: entries have no ids, and a compaction names its first kept entry by ``firstKeptEntryIndex``, an
absolute index over all entries, the header included. From version 2 on the entries are a tree of ``id`` and
``parentId``; the conversation is the way from the last entry back to the root, and a compaction names its first kept
entry by id. In both the latest compaction counts: its summary, then what it kept, then what came after. OpenClaw writes
a superset. Rows that are not understood are set aside with their contents.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.context import CompactionRecord, build_live_context, with_report
from compactor.errors import CompactionError, shown
from compactor.messages import AssistantMessage, Summary
from compactor.plain import SESSION_LIMITS, Limits, is_blank, is_object, safe_int
from compactor.units import message_units, summary_units

from ._pairing import Draft, repair
from ._pi_rows import message_of
from ._shared import Log, Names, Rows, invalid, kind_of, replaced, text_or

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compactor.context import ActiveContext

NAME: Final = "pi"
_METADATA: Final = frozenset({"model_change", "thinking_level_change", "custom", "label", "session_info"})
_TYPES: Final = frozenset({"session", "message", "compaction", "branch_summary", "custom_message", *_METADATA})
_OTHERS: Final = frozenset({"user", "assistant", "response_item", "event_msg", "session_meta", "turn_context"})
"""Row types of other agents' session files; none of them is a Pi type."""


def is_row(value: object) -> bool:
    """True for a row that only Pi (or a superset of it) writes."""
    if not is_object(value):
        return False
    row: Any = value
    match row.get("type"):
        case "session":
            return type(row.get("timestamp")) is str and "createdAt" not in row
        case "message":
            inner = row.get("message")
            return is_object(inner) and type(inner.get("role")) is str and "uuid" not in row
        case "compaction":
            return type(row.get("summary")) is str and ("firstKeptEntryId" in row or "firstKeptEntryIndex" in row)
        case "model_change":
            return "modelId" in row
        case "thinking_level_change":
            return "thinkingLevel" in row
        case kind:
            return type(kind) is str and kind in _TYPES and "parentId" in row and "timestamp" in row


def is_row_outline(keys: Mapping[str, object]) -> bool:
    """The same for the keys of a row that is cut off: weaker evidence, for a file that holds nothing else."""
    kind = keys.get("type")
    return type(kind) is str and kind in _TYPES and not {"role", "createdAt", "uuid", "messages"} & keys.keys()


def _is_foreign(row: dict[str, Any]) -> bool:
    """True for a row that belongs to another format: files that were glued together are refused, not guessed at."""
    kind = row.get("type")
    if type(kind) is str:
        return kind in _OTHERS or (kind == "message" and "message" not in row and "role" in row)
    return "role" in row or "messages" in row or "requirements" in row or "format" in row


@attrs.frozen
class _Entry:
    position: int
    """Index over all entries of the file, the header included."""
    line: int
    row: dict[str, Any] = attrs.field(repr=False)
    kind: str
    id: str
    has_id: bool


@attrs.frozen
class _Compaction:
    entry: _Entry
    at: int
    """How many drafts of the conversation stand before it."""
    start: int | None
    """How many drafts its summary stands for; None: its first kept entry is not in the file."""
    summary: Summary


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read the rows of a Pi session: a list of rows, or ``Rows`` with their lines. A row of another format → FORMAT_INVALID."""
    source = _source(data, name)
    log = Log(name)
    entries = _entries(source, log)
    conversation = _conversation(entries, log)
    drafts, compactions = _read(conversation, entries, log)
    hidden, records = _compacted(drafts, compactions, log)
    names = Names()
    for draft in drafts:
        names.take(draft.message.id or "")
    hidden_calls = {
        call.id for draft in drafts[:hidden] if type(draft.message) is AssistantMessage for call in draft.message.tool_calls
    }
    messages = repair(drafts[hidden:], log, names, hidden_calls=hidden_calls)
    summary = compactions[-1].summary if compactions else None
    context = build_live_context({"summary": summary, "messages": messages, "compactions": records}, limits=limits)
    total = len(source.rows) + (source.torn is not None)
    return with_report(context, log.report(NAME, total, source.torn))


def _source(data: object, name: str) -> Rows:
    if type(data) is Rows:
        return data
    if type(data) is list or type(data) is tuple:
        return Rows(tuple(enumerate(data, start=1)))
    raise invalid(name, None, f"needs a list of rows, got {kind_of(data)}", "pass the decoded rows of the session file")


def _entries(source: Rows, log: Log) -> list[_Entry]:
    """The rows that are objects; a row of another format ends the import."""
    found: list[_Entry] = []
    for position, (line, row) in enumerate(source.rows):
        if not is_object(row):
            log.skip("row_not_object", f"the row is no JSON object but {kind_of(row)}; it was set aside", line, row=row)
            continue
        if _is_foreign(row):
            raise invalid(
                log.name, line, "the row belongs to another format than the rest", "keep one session of one format in a file"
            )
        id_ = text_or(row.get("id"))
        found.append(_Entry(position, line, row, text_or(row.get("type")), id_ or f"pi-{line}", bool(id_)))
    return found


def _conversation(entries: list[_Entry], log: Log) -> list[_Entry]:
    """The entries that lead to the last one, in order; headers and other branches are noted and left out."""
    body = [entry for entry in entries if entry.kind != "session"]
    headers = [entry for entry in entries if entry.kind == "session"]
    for header in headers:
        log.skip("row_not_in_context", "the session's header is not part of the context", header.line)
    if not headers or headers[0].position:
        log.add("header_missing", "the file does not start with a session header; it is read as a part of a session")
    version = safe_int(headers[0].row.get("version"), 1) if headers else None
    if version is not None and version > 3:
        log.add("newer_version", f"version {version} is newer than 3; it is read as version 3", headers[0].line)
    is_tree = version >= 2 if version is not None else any(entry.has_id and "parentId" in entry.row for entry in body)
    made = [
        entry
        for entry in body
        if not entry.has_id and entry.kind in ("message", "custom_message", "compaction", "branch_summary")
    ]
    if made:
        log.add(
            "id_made", f"{len(made)} entries have no id; ids were made from their lines, like {shown(made[0].id)}", made[0].line
        )
    if not is_tree or not body:
        return body
    chosen = _branch(body, {header.id for header in headers}, log)
    others = len(body) - len(chosen)
    if others:
        log.skip(
            "not_on_branch", f"{others} entries are not on the branch of the last entry and are not in the context", rows=others
        )
    return chosen


def _branch(body: list[_Entry], roots: set[str], log: Log) -> list[_Entry]:
    """Walk from the last entry to the root. Of several entries with one id the nearest before the child is its parent."""
    places: dict[str, list[int]] = {}
    for index, entry in enumerate(body):
        places.setdefault(entry.id, []).append(index)
    at: int | None = len(body) - 1
    # A dict, because it keeps the order of the walk.
    seen: dict[int, None] = {}
    while at is not None:
        if at in seen:
            log.add("parent_cycle", "the entries' parents form a circle; the walk ended there", body[at].line)
            break
        seen[at] = None
        entry = body[at]
        parent = entry.row.get("parentId")
        if "parentId" not in entry.row:
            at = at - 1 if at else None
        elif parent is None:
            at = None
        else:
            found = places.get(parent, []) if type(parent) is str else []
            if not found and type(parent) is str and parent in roots:
                break
            if not found:
                # A lost row must not take everything before it along.
                log.add(
                    "parent_outside_file",
                    "the entry's parent is not in the file; the entry before it was taken instead",
                    entry.line,
                )
                at = at - 1 if at else None
                continue
            before = bisect_left(found, at)
            at = found[before - 1] if before else found[0]
    return [body[index] for index in reversed(seen)]


def _read(conversation: list[_Entry], entries: list[_Entry], log: Log) -> tuple[list[Draft], list[_Compaction]]:
    """Read the entries of the conversation into drafts with distinct ids, and its compactions."""
    has_header = bool(entries) and entries[0].kind == "session" and entries[0].position == 0
    names = Names()
    drafts: list[Draft] = []
    starts: dict[str, int] = {}
    positions: list[int] = []
    compactions: list[_Compaction] = []
    metadata: Counter[str] = Counter()
    for entry in conversation:
        if entry.kind == "compaction":
            start = _first_kept(entry, starts, positions if has_header else None, log)
            compaction = _compaction(entry, len(drafts), start, log)
            compactions += [] if compaction is None else [compaction]
        elif entry.kind in _METADATA:
            metadata[entry.kind] += 1
        else:
            draft = _draft(entry, names, log)
            if draft is not None:
                starts[entry.id] = len(drafts)
                drafts.append(draft)
                positions.append(entry.position)
                continue
        starts[entry.id] = len(drafts)
    for kind, count in metadata.items():
        log.skip("row_not_in_context", f"{count} {kind} entries are not part of the context", rows=count)
    return drafts, compactions


def _draft(entry: _Entry, names: Names, log: Log) -> Draft | None:
    """The draft of one entry; None when it was set aside or is not for the model."""
    inner: Any = entry.row.get("message")
    if is_object(inner) and inner.get("role") == "bashExecution" and inner.get("excludeFromContext") is True:
        log.skip("row_not_in_context", "the command was run outside the context", entry.line)
        return None
    id_ = names.take(entry.id)
    try:
        message = message_of(entry.row, id_, entry.line, log)
    except CompactionError as error:
        raise replaced(error, log.name, entry.line) from error
    if message is None:
        log.skip("row_not_understood", "the entry's type or shape is not known; it was set aside", entry.line, row=entry.row)
        return None
    if id_ != entry.id:
        log.add("id_made", f"id {shown(entry.id)} is used again; this message is now {shown(id_)}", entry.line)
    stop = text_or(message.meta.get("stopReason"))
    return Draft(message, entry.row, f"message {shown(id_)}", entry.line, stop)


def _compaction(entry: _Entry, at: int, start: int | None, log: Log) -> _Compaction | None:
    text = entry.row.get("summary")
    if type(text) is not str or is_blank(text):
        log.skip(
            "row_not_understood", "the compaction has no summary; it was set aside and hides nothing", entry.line, row=entry.row
        )
        return None
    return _Compaction(entry, at, start, Summary(text, id=entry.id))


def _first_kept(entry: _Entry, starts: dict[str, int], positions: Sequence[int] | None, log: Log) -> int | None:
    """How many drafts stand before the first kept entry.

    An id must be that of an earlier entry of the conversation. An index is absolute, so it is worth something only when
    the file starts with its session's header, and only when it points before the compaction.
    """
    if "firstKeptEntryId" in entry.row:
        kept = entry.row["firstKeptEntryId"]
        found = starts.get(kept) if type(kept) is str else None
    else:
        index = safe_int(entry.row.get("firstKeptEntryIndex"), 0)
        usable = positions is not None and index is not None and index < entry.position
        found = bisect_left(positions, index) if usable and positions is not None and index is not None else None
    if found is None:
        text = "the compaction's first kept entry cannot be told from this file; everything before it stays visible"
        log.add("boundary_outside_file", text, entry.line)
    return found


def _compacted(drafts: list[Draft], compactions: list[_Compaction], log: Log) -> tuple[int, list[CompactionRecord]]:
    """How many drafts are hidden, and the records of the compactions that hid them.

    Only the latest compaction decides what is visible. A record claims what its compaction hid beyond the one before; when a
    later one shows messages again, the records before it would be wrong and are left out.
    """
    records: list[CompactionRecord] = []
    record_names = Names()
    before, previous = 0, None
    for compaction in compactions:
        start = compaction.start or 0
        if start < before:
            records, before = [], 0
        if start > before:
            seen = [message_units(draft.message) for draft in drafts[before : compaction.at]]
            hidden = start - before
            new = summary_units(compaction.summary)
            records.append(
                CompactionRecord(
                    record_names.take(compaction.entry.id),
                    summary_id=compaction.summary.id or "",
                    boundary=hidden,
                    compacted_message_ids=tuple([draft.message.id or "" for draft in drafts[before:start]]),
                    units_before=sum(seen) + (summary_units(previous) if previous else 0),
                    units_after=sum(seen[hidden:]) + new,
                )
            )
            before = start
        previous = compaction.summary
    for compaction in compactions[:-1]:
        log.skip("summary_superseded", "a later compaction's summary took this one's place", compaction.entry.line)
    if not compactions:
        return 0, []
    log.kept += 1
    last = compactions[-1]
    hidden = last.start or 0
    if hidden:
        lines = f"lines {drafts[0].line} to {drafts[hidden - 1].line}"
        text = f"{hidden} messages ({lines}) are hidden by compaction {shown(last.entry.id)}; its summary stands for them"
        log.skip("hidden_by_compaction", text, last.entry.line, rows=hidden)
    return hidden, records
