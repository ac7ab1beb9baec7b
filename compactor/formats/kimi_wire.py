"""Kimi Code wire logs (import only): JSONL of what happened; the context is the fold of the rows ``context.*``.

A step of the model stands on several rows, from ``step.begin`` to ``step.end``, and is one message; results stand on rows of their
own. A compaction hides the first messages but for the latest that the user wrote, and its text is the summary. The system prompt
that was set last is pinned. Everything else says how the program ran and is counted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, shown
from compactor.messages import AssistantMessage, Block, Message, Opaque, Summary, Text, Thinking, ToolCall, ToolResult
from compactor.plain import SESSION_LIMITS, Limits, is_object, safe_int

from ._chat_rows import chat_message
from ._gemini_parts import written
from ._pairing import Draft
from ._reply import pruned
from ._sessions import Pins, Row, finished, identified, named, not_in_context, objects, paired, reraised, source_of
from ._shared import Log, Names, metadata, raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactor.context import ActiveContext

NAME: Final = "kimi-wire"
_KIMI: Final = "kimi"
_CONTEXT: Final = frozenset({"context.append_message", "context.append_loop_event", "context.apply_compaction"})
_FAMILIES: Final = frozenset({
    "metadata", "config", "tools", "turn", "llm", "usage", "permission", "plan_mode", "full_compaction", "token_counting",
    "plugin", "runtime", "profile",
})  # fmt: skip
"""What stands before the dot in the types of rows that hold no message."""
_LIST: Final = (list, tuple)
_STOPS: Final = {"tool_use": "toolUse", "end_turn": ""}


def is_row(value: object) -> bool:
    """True for a row that only Kimi Code writes."""
    if not is_object(value):
        return False
    row: Any = value
    kind = row.get("type")
    if kind == "metadata":
        return type(row.get("protocol_version")) is str
    return type(kind) is str and kind in _CONTEXT and "uuid" not in row


def is_row_outline(keys: Mapping[str, object]) -> bool:
    """The same for the keys of a row that is cut off."""
    return keys.get("type") in _CONTEXT


def _is_foreign(row: Row) -> bool:
    return "uuid" in row or "payload" in row or row.get("type") == "session" or ("role" in row and "type" not in row)


@attrs.define
class _Entry:
    """A message of the history, of one row or of a step's rows."""

    line: int
    rows: list[Row] = attrs.field(repr=False)
    kind: str
    uuid: str = ""
    made: list[Row] = attrs.field(factory=list, repr=False)
    """The events of a step that hold something."""
    end: Row = attrs.field(factory=dict, repr=False)

    @property
    def is_users(self) -> bool:
        """True for what the user wrote, not the program in the user's name."""
        message: Any = self.rows[0].get("message")
        if self.kind != "message" or not is_object(message) or message.get("role") != "user":
            return False
        origin = message.get("origin")
        return not is_object(origin) or origin.get("kind", "user") == "user"

    @property
    def calls(self) -> set[str]:
        """The ids of its calls."""
        return {text_or(event.get("toolCallId")) for event in self.made if event.get("type") == "tool.call"} - {""}


@attrs.define
class _Fold:
    log: Log
    history: list[_Entry] = attrs.field(factory=list)
    steps: dict[str, _Entry] = attrs.field(factory=dict)
    beside: Counter[str] = attrs.field(factory=Counter)
    prompt: tuple[int, str] | None = None
    compaction: tuple[int, Row] | None = None
    hidden_calls: set[str] = attrs.field(factory=set)


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read the rows of a log: a list of rows, or ``Rows`` with their lines. A row of another format → FORMAT_INVALID."""
    source = source_of(data, name)
    log, names = Log(name), Names()
    fold, pins = _Fold(log), Pins(log)
    for line, row in objects(source, _is_foreign, log):
        _read(line, row, fold)
    if fold.prompt is not None:
        pins.add(fold.prompt[1])
        log.kept += 1
    summary: Summary | None = None
    if fold.compaction is not None:
        line, row = fold.compaction
        summary = Summary(_summary_text(row), id=names.take(f"kimi-{line}-summary"))
        log.kept += 1
    drafts: list[Draft] = []
    for entry in fold.history:
        try:
            drafts += _drafts(entry, names, log)
        except CompactionError as error:
            raise reraised(error, log, entry.line) from error
    messages = paired(drafts, log, names, hidden_calls=fold.hidden_calls)
    not_in_context(fold.beside, log)
    total = len(source.rows) + (source.torn is not None)
    return finished(
        NAME, log, rows=total, messages=messages, requirements=pins.tell(), summary=summary, torn=source.torn, limits=limits
    )


# -------------------------------------------------------------------------------------------------------- rows


def _read(line: int, row: Row, fold: _Fold) -> None:
    kind = text_or(row.get("type"))
    if kind == "context.append_message" and is_object(row.get("message")):
        fold.history.append(_Entry(line, [row], "message"))
    elif kind == "context.append_loop_event" and is_object(row.get("event")):
        _event(line, row, row["event"], fold)
    elif kind == "context.apply_compaction" and _summary_text(row):
        _compact(line, row, fold)
    elif text_or(row.get("systemPrompt")) and kind in ("config.update", "profile.bind"):
        if fold.prompt is not None:
            fold.beside["systemPrompt"] += 1
        fold.prompt = (line, row["systemPrompt"])
    elif kind.partition(".")[0] in _FAMILIES:
        fold.beside[kind] += 1
    else:
        fold.log.skip("row_not_understood", "the row's type or shape is not known; it was set aside", line, row=row)


def _event(line: int, row: Row, event: Row, fold: _Fold) -> None:
    kind, step_id = text_or(event.get("type")), text_or(event.get("stepUuid"), text_or(event.get("uuid")))
    if kind == "tool.result":
        fold.history.append(_Entry(line, [row], "result"))
        return
    if kind == "step.begin" or (kind in ("content.part", "tool.call") and step_id not in fold.steps):
        entry = _Entry(line, [], "step", step_id)
        fold.history.append(entry)
        fold.steps[step_id] = entry
    found = fold.steps.get(step_id)
    if found is None or kind not in ("step.begin", "step.end", "content.part", "tool.call"):
        fold.log.skip("row_not_understood", "the event's type or step is not known; it was set aside", line, row=row)
        return
    found.rows.append(row)
    if kind in ("content.part", "tool.call"):
        found.made.append(event)
    elif kind == "step.end":
        found.end = event


def _summary_text(row: Row) -> str:
    return text_or(row.get("contextSummary"), text_or(row.get("summary")))


def _compact(line: int, row: Row, fold: _Fold) -> None:
    """Hide the first messages, but for the latest of the user's among them."""
    log = fold.log
    # Steps of which nothing was written are no messages and are not counted by the program.
    counted = [entry for entry in fold.history if entry.kind != "step" or entry.made]
    count = safe_int(row.get("compactedCount"), 0)
    count = len(counted) if count is None else min(count, len(counted))
    kept = safe_int(row.get("keptUserMessageCount"), 0) or 0
    gone = counted[:count]
    users = [entry for entry in gone if entry.is_users]
    stays = {id(entry) for entry in (users[-kept:] if kept else [])} | {id(entry) for entry in counted[count:]}
    lost = [entry for entry in fold.history if id(entry) not in stays]
    rows = sum([len(entry.rows) for entry in lost])
    if rows:
        text = f"{rows} rows are hidden by the latest compaction; its summary stands for them"
        log.skip("hidden_by_compaction", text, line, rows=rows)
    if fold.compaction is not None:
        log.skip("summary_superseded", "a later compaction's summary took this one's place", fold.compaction[0])
    fold.compaction = (line, row)
    fold.hidden_calls |= {call for entry in lost for call in entry.calls}
    fold.history = [entry for entry in fold.history if id(entry) in stays]
    # What a hidden step says later has no message to go to.
    fold.steps = {key: entry for key, entry in fold.steps.items() if id(entry) in stays}


# ------------------------------------------------------------------------------------------------------- drafts


def _drafts(entry: _Entry, names: Names, log: Log) -> list[Draft]:
    row = entry.rows[0]
    made, stop = f"kimi-{entry.line}", ""
    stamp = {"entryTimestamp": row["time"]} if "time" in row else {}
    if entry.kind == "step":
        if not entry.made:
            log.skip("row_not_in_context", "the model wrote nothing in this step", entry.line, rows=len(entry.rows))
            return []
        message: Message | None = _step(entry, stamp, log)
        log.kept += len(entry.rows) - 1
        stop = text_or(entry.end.get("finishReason"))
    elif entry.kind == "result":
        message = _result(row["event"], stamp)
    else:
        message = chat_message(_chat(row["message"]), made, f"line {entry.line}", entry.line, log, stamp)
    if message is None:
        log.skip("row_not_understood", "the message's role or shape is not known; it was set aside", entry.line, row=row)
        return []
    id_ = named(names, entry.uuid, made, log, entry.line)
    return [Draft(identified(message, id_), row, f"message {shown(id_)}", entry.line, _STOPS.get(stop, stop))]


def _chat(message: Row) -> Row:
    """A message as chat programs write it."""
    calls = message.get("toolCalls")
    found = without(message, "toolCalls", "toolCallId")
    if type(calls) in _LIST and calls:
        found["tool_calls"] = [_chat_call(call) if is_object(call) else call for call in calls]
    if "toolCallId" in message:
        found["tool_call_id"] = message["toolCallId"]
    return found


def _chat_call(call: Row) -> Row:
    if is_object(call.get("function")):
        return call
    return {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": call.get("arguments", call.get("args"))}}


def _step(entry: _Entry, stamp: Row, log: Log) -> AssistantMessage:
    blocks: list[Block] = []
    for number, event in enumerate(entry.made, start=1):
        part: Any = event.get("part")
        if event.get("type") == "tool.call" and text_or(event.get("name")):
            given = event.get("args")
            arguments = given if is_object(given) else {} if given is None else raw_arguments(given)
            call_id = text_or(event.get("toolCallId"), f"kimi-{entry.line}-call-{number}")
            blocks.append(ToolCall(call_id, name=event["name"], arguments=arguments))
        elif is_object(part) and part.get("type") == "text" and type(part.get("text")) is str:
            blocks.append(Text(part["text"]))
        elif is_object(part) and part.get("type") == "think" and type(part.get("think")) is str:
            signature = part.get("encrypted")
            blocks.append(Thinking(part["think"], signature=signature if type(signature) is str else ""))
        else:
            log.add("part_kept_opaque", "a part of the step is not known; it was kept as it came", entry.line)
            blocks.append(Opaque(f"{_KIMI}:{text_or(event.get('type'))}", data=event))
    told = {
        "usage": entry.end.get("usage"),
        "stopReason": entry.end.get("finishReason"),
        "responseId": entry.end.get("messageId"),
    }
    return AssistantMessage(tuple(blocks), meta=metadata(stamp, pruned(told)))


def _result(event: Row, stamp: Row) -> ToolResult:
    result: Any = event.get("result")
    given = result if is_object(result) else {"output": result}
    output = given.get("output")
    parts = chat_message({"role": "user", "content": output}, "", "", None, Log()) if type(output) in _LIST else None
    content = parts.content if parts is not None else output if type(output) is str else "" if output is None else written(output)
    rest = {key: value for key, value in given.items() if key not in ("output", "isError", "is_error")}
    is_error = given.get("isError") is True or given.get("is_error") is True
    meta = metadata(stamp, {_KIMI: rest} if rest else {})
    return ToolResult(text_or(event.get("toolCallId"), "?"), content, is_error, meta=meta)  # type: ignore[arg-type]
