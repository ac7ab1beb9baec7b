"""Chat messages as session files of several programs hold them: OpenAI's shape, read leniently. What is unknown is kept.

A message whose shape is not understood gives None and its importer sets it aside; nothing here ends an import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compactor.errors import CompactionError, shown
from compactor.messages import AssistantMessage, Block, Message, Text, Thinking, ToolCall, ToolResult, UserMessage
from compactor.plain import is_object

from ._openai_parts import OPENAI, content_of, read_arguments
from ._reply import pruned
from ._shared import Log, metadata, text_or, without

if TYPE_CHECKING:
    from compactor.messages import Content

_THOUGHTS: Final = ("reasoning_content", "reasoning")
_LIST: Final = (list, tuple)

Row = dict[str, Any]


def chat_message(row: Row, id_: str, label: str, line: int | None, log: Log, told: Row | None = None) -> Message | None:
    """The message of a row with a role; *told* is what its importer knows beside it. None: not understood."""
    role = row.get("role")
    beside = told or {}
    if role == "assistant":
        return _answer(row, id_, label, line, log, beside)
    found = _content(row.get("content"))
    if found is None:
        return None
    content, extras = found
    if role == "user":
        return UserMessage(content, meta=_meta(row, extras, beside, "role", "content"))
    if role != "tool":
        return None
    name = text_or(row.get("tool_name"), text_or(row.get("name")))
    meta = _meta(row, extras, beside, "role", "content", "tool_call_id", *(("tool_name", "name") if name else ()))
    return ToolResult(text_or(row.get("tool_call_id"), "?"), content, tool_name=name, meta=meta)


def words_of(row: Row) -> str:
    """The text of a row's content; nothing else of it is looked at."""
    value = row.get("content")
    if type(value) is str:
        return value
    parts = value if type(value) in _LIST and value is not None else ()
    return "\n".join([part["text"] for part in parts if is_object(part) and type(part.get("text")) is str])


def _content(value: Any) -> tuple[Content, Row] | None:
    """Text or blocks, and what the parts say beyond them."""
    if type(value) in _LIST:
        value = [part if is_object(part) or type(part) is str else {"type": "value", "value": part} for part in value]
    try:
        return content_of(value, "content")
    except CompactionError as error:
        if "part" in error.message or "needs a string" in error.message:
            return None
        raise


def _meta(row: Row, extras: Row, told: Row, *known: str) -> Any:
    rest = without(row, *known)
    stamp = {"entryTimestamp": rest.pop("timestamp")} if "timestamp" in rest else {}
    stop = {"stopReason": rest["finish_reason"]} if text_or(rest.get("finish_reason")) else {}
    found = {**({"extra": rest} if rest else {}), **extras}
    return metadata(stamp, stop, told, {OPENAI: found} if found else {})


def _answer(row: Row, id_: str, label: str, line: int | None, log: Log, told: Row) -> AssistantMessage | None:
    given = row.get("content")
    thoughts = next((row[key] for key in _THOUGHTS if text_or(row.get(key))), None)
    blocks: list[Block] = [] if thoughts is None else [Thinking(thoughts)]
    extras: Row = {}
    rest: list[Any] = []
    if type(given) is list or type(given) is tuple:
        for part in given:
            if is_object(part) and part.get("type") == "think" and type(part.get("think")) is str:
                signature = part.get("encrypted")
                blocks.append(Thinking(part["think"], signature=signature if type(signature) is str else ""))
            else:
                rest.append(part)
    found = _content(rest if type(given) in _LIST else given)
    if found is None:
        return None
    content = found[0]
    shift = len(blocks)
    said = (Text(content),) if isinstance(content, str) else content
    blocks += [block for block in said if block != Text("")]
    parts = found[1].get("parts", {})
    if parts and len(said) == len(blocks) - shift:
        extras = {"parts": {str(int(key) + shift): value for key, value in parts.items()}}
    calls = row.get("tool_calls")
    if calls is not None and type(calls) not in _LIST:
        log.aside("row_not_understood", f"{label}: the calls are no list", line, {"tool_calls": calls})
        calls = None
    for number, call in enumerate(calls or (), start=1):
        block = _call(call, f"{id_}-call-{number}", label, line, log)
        blocks += [] if block is None else [block]
    known = ("role", "content", "tool_calls", *(key for key in _THOUGHTS if row.get(key) == thoughts))
    return AssistantMessage(tuple(blocks), meta=_meta(pruned(row), extras, told, *known))


def _call(call: Any, made: str, label: str, line: int | None, log: Log) -> ToolCall | None:
    function = call.get("function") if is_object(call) else None
    if not is_object(function) or not text_or(function.get("name")):
        log.aside("row_not_understood", f"{label}: a call names no function", line, {"call": call})
        return None
    call_id = text_or(call.get("id"), text_or(call.get("call_id"), made))
    given = function.get("arguments")
    arguments, is_raw = ({}, False) if given is None or given == "" else read_arguments(given)
    if is_raw:
        text = f"{label}: the arguments of call {shown(call_id)} are no JSON object; they were kept as they came"
        log.add("arguments_kept_raw", text, line)
    return ToolCall(call_id, name=function["name"], arguments=arguments)
