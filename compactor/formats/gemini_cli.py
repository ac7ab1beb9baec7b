"""Gemini CLI sessions (import only): a JSON document, the newer JSONL of records and changes, and saved checkpoints.

A record holds a message with its calls and their results. In JSONL a repeated id takes the record's place, ``$rewindTo`` takes
a record and all behind it away, ``$set`` changes the header or all messages. A conversation that begins with a state snapshot
was compressed: the snapshot is its summary. Notices and slash commands are not sent to the model and are left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, shown
from compactor.messages import AssistantMessage, Block, Message, Summary, ToolCall, ToolResult, UserMessage
from compactor.plain import SESSION_LIMITS, Limits, is_object

from ._gemini_parts import Extras, is_response, model_block, noted, parts_in, plain_block, result_of, text_in
from ._pairing import Draft
from ._sessions import Row, finished, identified, named, not_in_context, objects, paired, reraised, source_of
from ._shared import Log, Names, Rows, invalid, kind_of, metadata, raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compactor.context import ActiveContext

NAME: Final = "gemini-cli"
_NOTICES: Final = frozenset({"info", "error", "warning"})
_MODEL: Final = frozenset({"gemini", "model", "assistant"})
_TYPES: Final = _NOTICES | _MODEL | {"user"}
_SNAPSHOT: Final = "<state_snapshot>"
_RECORD: Final = (
    "id",
    "type",
    "role",
    "timestamp",
    "content",
    "parts",
    "displayContent",
    "toolCalls",
    "tokens",
    "model",
    "thoughts",
)
_LISTS: Final = ("messages", "history")


def is_row(value: object) -> bool:
    """True for a row that only Gemini CLI writes."""
    if not is_object(value):
        return False
    row: Any = value
    if "$rewindTo" in row or "$set" in row:
        return True
    if "messages" in row or "uuid" in row:
        return False
    kind = row.get("type")
    if kind is None:
        return type(row.get("projectHash")) is str and type(row.get("sessionId")) is str
    if type(kind) is not str or kind not in _TYPES or "message" in row or "parentId" in row or "role" in row:
        return False
    return type(row.get("id")) is str and "timestamp" in row and ("content" in row or "toolCalls" in row)


def is_row_outline(keys: Mapping[str, object]) -> bool:
    """The same for the keys of a row that is cut off."""
    return keys.get("type") == "gemini" and "id" in keys and "uuid" not in keys


def is_document(keys: Mapping[str, object], fields: Mapping[str, set[str | None]]) -> bool:
    """True for a session's document or a checkpoint. *keys* are its own, *fields* those of its messages with their values."""
    if "gemini" in fields.get("type", ()):
        return True
    if "projectHash" in keys and "sessionId" in keys:
        return True
    return "[" in fields.get("parts", ()) and "model" in fields.get("role", ()) and "uuid" not in fields


@attrs.frozen
class _Record:
    """A message record. *unit* is the row that it came in, *place* says where."""

    row: Row = attrs.field(repr=False)
    unit: Row = attrs.field(repr=False)
    line: int | None
    place: str
    made: str
    """The id that it takes when it has none."""

    @property
    def id(self) -> str:
        """The record's own id."""
        return text_or(self.row.get("id"))

    @property
    def kind(self) -> str:
        """Who speaks."""
        return text_or(self.row.get("type"), text_or(self.row.get("role")))


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read a session's document, its rows (``Rows``, or a list of them), or a checkpoint's list of contents."""
    log = Log(name)
    source: Rows | None = None
    if is_object(data):
        records, total = _document(data, log)
    else:
        source = source_of(data, name)
        is_checkpoint = any(is_object(row) and "role" in row and "parts" in row for _line, row in source.rows)
        records = _contents(source, log) if is_checkpoint else _folded(source, log)
        total = len(source.rows) + (source.torn is not None)
    names = Names()
    first = _snapshot(records)
    summary = None if first is None else Summary(_words(first), id=names.take(first.id or first.made))
    beside: Counter[str] = Counter()
    drafts = [draft for record in records if record is not first for draft in _drafts(record, names, beside, log)]
    messages = paired(drafts, log, names)
    _account(records, first, {id(draft.row) for draft in drafts}, log)
    not_in_context(beside, log)
    torn = source.torn if source is not None else None
    return finished(NAME, log, rows=total, messages=messages, summary=summary, torn=torn, limits=limits)


# ------------------------------------------------------------------------------------------------------ records


def _document(data: Row, log: Log) -> tuple[list[_Record], int]:
    key = next((key for key in _LISTS if key in data), "messages")
    items = data.get(key)
    if type(items) is not list and type(items) is not tuple:
        fix = "pass the session's document, or its rows"
        raise invalid(log.name, None, f"needs a list of messages, got {kind_of(items)}", fix)
    found: list[_Record] = []
    for index, item in enumerate(items):
        if is_object(item):
            unit = dict(item)
            found.append(_Record(unit, unit, None, f"messages[{index}]", f"gemini-{index + 1}"))
        else:
            what = f"messages[{index}] is no object but {kind_of(item)}; it was set aside"
            log.skip("row_not_object", what, row=item)
    return found, len(items)


def _contents(source: Rows, log: Log) -> list[_Record]:
    """A checkpoint: the contents as the model was sent them."""
    rows = objects(source, lambda _row: False, log)
    return [_Record(row, row, line, f"messages[{line - 1}]", f"gemini-{line}") for line, row in rows]


def _is_foreign(row: Row) -> bool:
    return "uuid" in row or "payload" in row or "parentId" in row or row.get("type") == "session"


def _folded(source: Rows, log: Log) -> list[_Record]:
    """Apply the rows of a JSONL file in their order."""
    found: dict[str, _Record] = {}
    gone: list[tuple[_Record, str]] = []
    beside: Counter[str] = Counter()
    for line, row in objects(source, _is_foreign, log):
        if "$rewindTo" in row:
            beside["$rewindTo"] += 1
            gone += [(record, "rolled_back") for record in _rewound(row["$rewindTo"], found)]
        elif "$set" in row:
            gone += [(record, "row_superseded") for record in _set(row, line, found, beside, log)]
        elif text_or(row.get("type")):
            record = _Record(row, row, line, f"line {line}", f"gemini-{line}")
            key = record.id or record.made
            gone += [(found[key], "row_superseded")] if key in found else []
            found[key] = record
        elif text_or(row.get("sessionId")):
            beside["header"] += 1
        else:
            log.skip("row_not_understood", "the row's type or shape is not known; it was set aside", line, row=row)
    not_in_context(beside, log)
    here = {id(record.unit) for record in found.values()}
    for what, text in (("rolled_back", "{} rows were taken back"), ("row_superseded", "{} rows were replaced by later ones")):
        units = {id(record.unit) for record, why in gone if why == what} - here
        here |= units
        if units:
            log.skip(what, text.format(len(units)) + " and are not in the context", rows=len(units))
    return list(found.values())


def _rewound(target: Any, found: dict[str, _Record]) -> list[_Record]:
    """Take a record and all behind it away; all of them when it is not there, as the program itself does."""
    ids = list(found)
    start = ids.index(target) if type(target) is str and target in found else 0
    return [found.pop(key) for key in ids[start:]]


def _set(row: Row, line: int, found: dict[str, _Record], beside: Counter[str], log: Log) -> list[_Record]:
    """A change of the header; one that names messages puts them in the place of all before, which are given back."""
    change = row["$set"]
    items = change.get("messages") if is_object(change) else None
    if (type(items) is not list and type(items) is not tuple) or not items:
        beside["$set"] += 1
        return []
    gone = list(found.values())
    found.clear()
    for index, item in enumerate(items, start=1):
        if is_object(item):
            record = _Record(dict(item), row, line, f"line {line}", f"gemini-{line}-{index}")
            found[record.id if record.id not in found and record.id else record.made] = record
        else:
            log.aside("row_not_object", "a message of the change is no object", line, item)
    if not found:
        log.skip("row_not_understood", "the change holds no message that is understood", line)
    return gone


def _words(record: _Record) -> str:
    return text_in(parts_in(record.row.get("content", record.row.get("parts"))) or [])


def _snapshot(records: Sequence[_Record]) -> _Record | None:
    """The state snapshot at the front of the conversation."""
    first = next((record for record in records if record.kind not in _NOTICES), None)
    is_snapshot = first is not None and first.kind == "user" and _words(first).lstrip().startswith(_SNAPSHOT)
    return first if is_snapshot else None


def _account(records: Sequence[_Record], first: _Record | None, drafted: set[int], log: Log) -> None:
    """Count the rows that the pairing did not: the summary's, and changes of which no message is in the context."""
    if first is not None:
        log.kept += id(first.unit) not in drafted
        drafted = drafted | {id(first.unit)}
    for record in records:
        if record.unit is not record.row and id(record.unit) not in drafted:
            log.skip("row_not_in_context", "no message of the change is in the context", record.line)
            drafted = drafted | {id(record.unit)}


# ------------------------------------------------------------------------------------------------------- drafts


def _drafts(record: _Record, names: Names, beside: Counter[str], log: Log) -> list[Draft]:
    """The message of a record and the results of its calls."""
    row, kind = record.row, record.kind
    parts = parts_in(row.get("content", row.get("parts")))
    parts = parts_in(row.get("parts")) if not parts and "parts" in row else parts
    owned = record.unit is row
    if kind in _NOTICES:
        if owned:
            beside[kind] += 1
        return []
    if parts is None or kind not in _TYPES:
        text = f"{record.place}: the record's type or shape is not known; it was set aside"
        log.skip("row_not_understood", text, record.line, row=row, rows=int(owned))
        return []
    if kind == "user" and text_in(parts).strip().startswith(("/", "?")) and not any(map(is_response, parts)):
        log.skip(
            "row_not_in_context",
            f"{record.place}: a command to the program is not sent to the model",
            record.line,
            rows=int(owned),
        )
        return []
    try:
        return _model(record, parts, names, log) if kind in _MODEL else _user(record, parts, names, log)
    except CompactionError as error:
        raise reraised(error, log, record.line, "" if record.line else record.place) from error


def _told(record: _Record) -> Row:
    row = record.row
    stamp = {"entryTimestamp": row["timestamp"]} if "timestamp" in row else {}
    return {**without(row, *_RECORD), **stamp}


def _draft(record: _Record, message: Message, id_: str, stop: str = "") -> Draft:
    return Draft(identified(message, id_), record.unit, f"message {shown(id_)}", record.line, stop)


def _user(record: _Record, parts: list[Any], names: Names, log: Log) -> list[Draft]:
    """The user's words; in a checkpoint the results of calls stand with them."""
    told = _told(record)
    found: list[Draft] = []
    said = [part for part in parts if not is_response(part)]
    answers = [part for part in parts if is_response(part)]
    base = record.id or record.made
    for part in answers:
        inner = part["functionResponse"]
        result = result_of(part, text_or(inner.get("id"), text_or(inner.get("name"), "?")), told)
        found.append(_draft(record, result, names.take(f"{base}-result-{len(found) + 1}")))
    if said or not answers:
        extras: Extras = {}
        blocks = tuple([plain_block(part, at, extras) for at, part in enumerate(said)])
        id_ = named(names, record.id, record.made, log, record.line)
        found.append(_draft(record, UserMessage(blocks, meta=metadata(told, noted(extras))), id_))
    return found


def _model(record: _Record, parts: list[Any], names: Names, log: Log) -> list[Draft]:
    row = record.row
    id_ = named(names, record.id, record.made, log, record.line)
    extras: Extras = {}
    blocks: list[Block] = [model_block(part, at, extras, _made(part, id_, at)) for at, part in enumerate(parts)]
    given: Any = row.get("toolCalls")
    calls = given if type(given) in (list, tuple) else ()
    if given is not None and given is not calls:
        log.aside("row_not_understood", f"{record.place}: the calls are no list", record.line, {"toolCalls": given})
    results: list[Draft] = []
    stop = ""
    known = [block for block in blocks if type(block) is ToolCall]
    for number, call in enumerate(calls, start=1):
        if not is_object(call) or not text_or(call.get("name")):
            log.aside("row_not_understood", f"{record.place}: a call has no name", record.line, {"toolCall": call})
            continue
        block = _call(call, known, f"{id_}-call-{number}")
        if block not in blocks:
            blocks.append(block)
        status = text_or(call.get("status"))
        stop = status if status in ("cancelled", "error") else stop
        results += _results(record, call, block, f"{id_}-result-{number}", names)
    told = {"model": row.get("model"), "usage": row.get("tokens"), "thoughts": row.get("thoughts")}
    beside = {key: value for key, value in told.items() if value is not None}
    message = AssistantMessage(tuple(blocks), meta=metadata(_told(record), beside, noted(extras)))
    return [_draft(record, message, id_, stop), *results]


def _made(part: Any, id_: str, at: int) -> str:
    """The id of a call that has none: in a checkpoint its response names the tool alone."""
    call = part.get("functionCall") if is_object(part) else None
    return text_or(call.get("name"), f"{id_}-part-{at + 1}") if is_object(call) else ""


def _call(call: Row, known: list[ToolCall], made: str) -> ToolCall:
    """The call of a record; the same call may stand among the parts of the message."""
    given, args = text_or(call.get("id")), call.get("args")
    arguments = args if is_object(args) else {} if args is None else raw_arguments(args)
    found = ToolCall(given or made, name=call["name"], arguments=arguments)
    for at, block in enumerate(known):
        if block.id == given or (block.name == found.name and block.arguments == found.arguments):
            return known.pop(at)
    return found


def _results(record: _Record, call: Row, block: ToolCall, wanted: str, names: Names) -> list[Draft]:
    """The result that stands in the record of its call; none when nothing was recorded."""
    parts = parts_in(call.get("result")) or []
    response = next((part for part in parts if is_response(part)), None)
    rest = [part for part in parts if part is not response]
    if response is None:
        if not parts:
            return []
        response = {"functionResponse": {"name": call["name"], "response": {"output": text_in(rest)}}}
        rest = [part for part in rest if not (is_object(part) and part.keys() == {"text"})]
    if rest:
        inner = dict(response["functionResponse"])
        inner["parts"] = [*(parts_in(inner.get("parts")) or []), *rest]
        response = {**response, "functionResponse": inner}
    beside = without(call, "id", "name", "args", "result")
    stamp = {"entryTimestamp": call["timestamp"]} if "timestamp" in call else {}
    result = result_of(response, block.id, {"toolCall": without(beside, "timestamp"), **stamp})
    if call.get("status") == "error" and not result.is_error:
        result = ToolResult(block, result.content, is_error=True, meta=result.meta)
    return [_draft(record, result, names.take(wanted))]
