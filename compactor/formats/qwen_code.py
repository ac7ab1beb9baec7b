"""Qwen Code sessions (import only): JSONL, a tree of ``uuid`` and ``parentUuid`` whose rows hold Gemini contents.

The conversation is the way from the last row back to the root; a rewind is a branch, or names the row that it goes back to. A
compression on the way replaces what was before it by the history that it names, whose first message is the summary. System
rows hold no message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, shown
from compactor.messages import AssistantMessage, Message, Summary, UserMessage
from compactor.plain import SESSION_LIMITS, Limits, is_blank, is_object

from ._gemini_parts import Extras, is_response, model_block, noted, parts_in, plain_block, result_of, text_in
from ._pairing import Draft
from ._reply import pruned
from ._sessions import Row, finished, identified, named, not_in_context, objects, paired, reraised, source_of
from ._shared import Log, Names, metadata, text_or, without

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compactor.context import ActiveContext

NAME: Final = "qwen-code"
_SPOKEN: Final = ("user", "assistant", "tool_result")
_UNSENT: Final = ("realtime_message", "code_mode_tool_result")
_PLACED: Final = (
    "uuid", "parentUuid", "sessionId", "timestamp", "type", "cwd", "version", "gitBranch", "message", "model", "usageMetadata",
)  # fmt: skip


def is_row(value: object) -> bool:
    """True for a row that only Qwen Code writes."""
    if not is_object(value):
        return False
    row: Any = value
    if type(row.get("uuid")) is not str or "sessionId" not in row:
        return False
    if row.get("type") == "system":
        return type(row.get("subtype")) is str and "systemPayload" in row
    inner = row.get("message")
    return row.get("type") in _SPOKEN and is_object(inner) and type(inner.get("parts")) in (list, tuple)


def is_row_outline(keys: Mapping[str, object]) -> bool:
    """The same for the keys of a row that is cut off."""
    return keys.get("type") == "tool_result" and "uuid" in keys and "parentUuid" in keys


def _is_foreign(row: Row) -> bool:
    inner = row.get("message")
    return "payload" in row or row.get("type") == "session" or (is_object(inner) and "content" in inner and "parts" not in inner)


@attrs.frozen
class _Entry:
    """A content of the history. *unit* is the row that it came in."""

    line: int
    unit: Row = attrs.field(repr=False)
    content: Row = attrs.field(repr=False)
    index: int | None = None

    @property
    def is_own(self) -> bool:
        """True when the row is this message and nothing else."""
        return self.index is None

    @property
    def parts(self) -> list[Any]:
        """The parts of its message."""
        return parts_in(self.content.get("parts")) or []

    @property
    def made(self) -> str:
        """The id that it takes when it has none."""
        return f"qwen-{self.line}" if self.index is None else f"qwen-{self.line}-{self.index}"


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read the rows of a session: a list of rows, or ``Rows`` with their lines. A row of another format → FORMAT_INVALID."""
    source = source_of(data, name)
    log, names, beside = Log(name), Names(), Counter[str]()
    rows = objects(source, _is_foreign, log)
    way = _way(rows, log)
    others = [row for line, row in rows if line not in way and _is_message(row)]
    if others:
        text = f"{len(others)} rows are not on the branch of the last row and are not in the context"
        log.skip("not_on_branch", text, rows=len(others))
    history, hidden_calls = _folded([(line, row) for line, row in rows if line in way], log)
    for line, row in rows:
        if _is_message(row) or _is_compression(row, way, line):
            continue
        kind = text_or(row.get("type"))
        if kind == "system" or (kind in _SPOKEN and text_or(row.get("subtype")) in _UNSENT):
            beside[f"{kind}/{row['subtype']}" if text_or(row.get("subtype")) else kind] += 1
        else:
            log.skip("row_not_understood", "the row's type or shape is not known; it was set aside", line, row=row)
    history, first = _summarized(history)
    summary = None if first is None else Summary(text_in(first.parts), id=names.take(first.made))
    drafts = [draft for entry in history for draft in _drafts(entry, names, log)]
    drafted = {id(draft.row) for draft in drafts}
    if first is not None and id(first.unit) not in drafted:
        log.kept += 1
        drafted.add(id(first.unit))
    for line, row in rows:
        if _is_compression(row, way, line) and id(row) not in drafted:
            log.skip("summary_superseded", "nothing of this compression is in the context", line)
    messages = paired(drafts, log, names, hidden_calls=hidden_calls)
    not_in_context(beside, log)
    total = len(source.rows) + (source.torn is not None)
    return finished(NAME, log, rows=total, messages=messages, summary=summary, torn=source.torn, limits=limits)


def _is_message(row: Row) -> bool:
    inner = row.get("message")
    is_spoken = row.get("type") in _SPOKEN and text_or(row.get("subtype")) not in _UNSENT
    return is_spoken and is_object(inner) and parts_in(inner.get("parts", 0)) is not None


def _is_compression(row: Row, way: set[int], line: int) -> bool:
    """True for a compression on the way that names a history."""
    payload = row.get("systemPayload")
    if row.get("type") != "system" or row.get("subtype") != "chat_compression" or not is_object(payload) or line not in way:
        return False
    return type(payload.get("compressedHistory")) in (list, tuple)


def _way(rows: list[tuple[int, Row]], log: Log) -> set[int]:
    """The lines of the rows on the way from the last one to the root. Of several rows with one uuid the nearest before counts."""
    ids = [text_or(row.get("uuid")) for _line, row in rows]
    known = [id_ for id_ in ids if id_]
    if len(set(known)) * 2 < len(known) or not known:
        if known:
            log.add("ids_not_distinct", "most rows have the same uuid; the file is read as a list")
        return {line for line, _row in rows}
    places: dict[str, list[int]] = {}
    for place, id_ in enumerate(ids):
        if id_:
            places.setdefault(id_, []).append(place)
    at: int | None = len(rows) - 1
    seen: set[int] = set()
    while at is not None:
        if at in seen:
            log.add("parent_cycle", "the rows' parents form a circle; the walk ended there", rows[at][0])
            break
        seen.add(at)
        line, row = rows[at]
        payload = row.get("systemPayload")
        target = row.get("targetUuid", payload.get("targetUuid") if is_object(payload) else None)
        is_rewind = row.get("type") == "system" and row.get("subtype") == "rewind" and type(target) is str and target in places
        parent: Any = target if is_rewind else row.get("parentUuid")
        if not is_rewind and "parentUuid" not in row:
            at = at - 1 if at else None
        elif parent is None:
            at = None
        else:
            found = places.get(parent, []) if type(parent) is str else []
            if not found:
                log.add("parent_outside_file", "the row's parent is not in the file; the row before it was taken instead", line)
            before = bisect_left(found, at)
            at = (found[before - 1] if before else found[0]) if found else (at - 1 if at else None)
    return {rows[place][0] for place in seen}


def _folded(rows: list[tuple[int, Row]], log: Log) -> tuple[list[_Entry], set[str]]:
    """The history as the model was sent it, and the ids of calls that a compression hid."""
    history: list[_Entry] = []
    hidden_calls: set[str] = set()
    for line, row in rows:
        if _is_message(row):
            history.append(_Entry(line, row, row["message"]))
        elif _is_compression(row, {line}, line):
            for part in [part for entry in history for part in entry.parts]:
                call = part.get("functionCall") if is_object(part) else None
                hidden_calls |= {text_or(call.get("id"))} if is_object(call) else set()
            own = sum([entry.is_own for entry in history])
            if own:
                text = f"{own} rows are hidden by the compression; the history that it names stands for them"
                log.skip("hidden_by_compaction", text, line, rows=own)
            given = row["systemPayload"]["compressedHistory"]
            history = [_Entry(line, row, item, index) for index, item in enumerate(given, start=1) if is_object(item)]
            if len(history) < len(given):
                log.aside("row_not_understood", "a content of the compression is no object", line, {"compressedHistory": given})
    return history, hidden_calls - {""}


def _summarized(history: Sequence[_Entry]) -> tuple[list[_Entry], _Entry | None]:
    """Take the summary from the front of a compressed history."""
    first = history[0] if history else None
    if first is None or first.is_own or first.content.get("role") != "user" or is_blank(text_in(first.parts)):
        return list(history), None
    return list(history[1:]), first


def _drafts(entry: _Entry, names: Names, log: Log) -> list[Draft]:
    """The messages of a content: the results in it, and its words."""
    row = entry.unit if entry.is_own else entry.content
    is_model = entry.content.get("role") == "model" or (entry.is_own and row.get("type") == "assistant")
    told = pruned(without(row, *_PLACED, "role", "parts")) | ({"entryTimestamp": row["timestamp"]} if "timestamp" in row else {})
    wanted = text_or(row.get("uuid")) if entry.is_own else ""
    found: list[tuple[Message, str]] = []
    try:
        if is_model:
            beside = pruned({"model": row.get("model"), "usage": row.get("usageMetadata")})
            found.append((_answer(entry, wanted or entry.made, told | beside), named(names, wanted, entry.made, log, entry.line)))
        else:
            found += _sent(entry, told, wanted, names, log)
    except CompactionError as error:
        raise reraised(error, log, entry.line) from error
    return [Draft(identified(message, id_), entry.unit, f"message {shown(id_)}", entry.line) for message, id_ in found]


def _answer(entry: _Entry, id_: str, told: Row) -> AssistantMessage:
    extras: Extras = {}
    blocks = tuple([model_block(part, at, extras, f"{id_}-call-{at + 1}") for at, part in enumerate(entry.parts)])
    return AssistantMessage(blocks, meta=metadata(told, noted(extras)))


def _sent(entry: _Entry, told: Row, wanted: str, names: Names, log: Log) -> list[tuple[Message, str]]:
    """What the model was sent: results, each a message, and the user's words."""
    found: list[tuple[Message, str]] = []
    said = [part for part in entry.parts if not is_response(part)]
    for part in entry.parts:
        if is_response(part):
            call: Any = entry.unit.get("toolCallResult") if entry.is_own else None
            told_id = text_or(call.get("callId")) if is_object(call) else ""
            result = result_of(part, text_or(part["functionResponse"].get("id"), told_id or "?"), told)
            found.append((result, named(names, "" if found else wanted, f"{entry.made}-{len(found) + 1}", log, entry.line)))
    if said or not found:
        extras: Extras = {}
        blocks = tuple([plain_block(part, at, extras) for at, part in enumerate(said)])
        id_ = names.take(f"{wanted or entry.made}-text") if found else named(names, wanted, entry.made, log, entry.line)
        found.append((UserMessage(blocks, meta=metadata(told, noted(extras))), id_))
    return found
