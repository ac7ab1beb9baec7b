"""LangChain messages, in and out: the shape of ``messages_to_dict``, a list of ``{"type": ..., "data": {...}}``.

In: system messages become pinned requirements, everything else the transcript; calls whose arguments did not parse are calls
with their text. The serialised constructors of ``dumpd`` are read too. Out: the same again; what only this format knows is kept
in a message's metadata under ``langchain`` and given back. Every call is directly followed by its result.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from compactor.errors import CompactionError, shown
from compactor.messages import (
    AssistantMessage,
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from compactor.plain import SESSION_LIMITS, Limits, is_object, thaw

from ._frame import framed
from ._langchain_parts import LANGCHAIN, Extras, content_of, items_of, model_block, own, wire_content
from ._openai_parts import arguments_text
from ._pairing import NO_RESULT, Draft
from ._rounds import rounds, tell
from ._sessions import Pins, Row, finished, identified, named, paired, reraised, source_of
from ._shared import Log, Names, Rendered, Rows, extras_of, kind_of, metadata, raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactor.context import ActiveContext
    from compactor.plain import JsonObject

NAME: Final = "langchain"
_KINDS: Final = {
    "human": "human", "HumanMessageChunk": "human", "HumanMessage": "human",
    "ai": "ai", "AIMessageChunk": "ai", "AIMessage": "ai",
    "tool": "tool", "ToolMessageChunk": "tool", "ToolMessage": "tool",
    "system": "system", "SystemMessageChunk": "system", "SystemMessage": "system",
    "chat": "chat", "ChatMessageChunk": "chat", "ChatMessage": "chat",
    "function": "function", "FunctionMessageChunk": "function", "FunctionMessage": "function",
}  # fmt: skip
_SAID: Final = {"user": "human", "assistant": "ai", "system": "system", "developer": "system"}


def is_row(value: object) -> bool:
    """True for one message of this format."""
    if not is_object(value):
        return False
    row: Any = value
    kind = row.get("type")
    return type(kind) is str and kind in _KINDS and is_object(row.get("data")) and "content" in row["data"]


def is_row_outline(keys: Mapping[str, object]) -> bool:
    """The same for the keys of a row that is cut off."""
    return keys.get("type") in _KINDS and keys.get("data") == "{"


def is_document(keys: Mapping[str, object], fields: Mapping[str, set[str | None]]) -> bool:
    """True for a list of messages. *fields* are those of the messages with their values."""
    del keys
    kinds = fields.get("type", set())
    return ("{" in fields.get("data", ()) and not kinds.isdisjoint(_KINDS)) or ("lc" in fields and "constructor" in kinds)


# ----------------------------------------------------------------------------------------------------------- in


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read a list of messages, ``{"messages": [...]}`` or one message on each row. What is not understood is set aside."""
    log = Log(name)
    if is_object(data):
        document: Any = data
        for key in without(document, "messages"):
            text = f"the key {shown(key)} beside the messages is not part of the context"
            log.aside("key_ignored", text, None, {key: document[key]})
        data = document.get("messages")
    source = source_of(data, name)
    lined = type(data) is Rows
    pins, names = Pins(log), Names()
    drafts: list[Draft] = []
    functions: dict[str, list[str]] = {}
    for index, (line, row) in enumerate(source.rows):
        label = f"line {line}" if lined else f"messages[{index}]"
        try:
            _read(row, index, label, line if lined else None, drafts, pins, names, functions, log)
        except CompactionError as error:
            raise reraised(error, log, line if lined else None, "" if lined else label) from error
    messages = paired(drafts, log, names)
    total = len(source.rows) + (source.torn is not None)
    return finished(NAME, log, rows=total, messages=messages, requirements=pins.tell(), torn=source.torn, limits=limits)


def _opened(row: Any) -> tuple[str, Row] | None:
    """The kind and the data of a message; None when it is none."""
    if not is_object(row):
        return None
    kind, inner = row.get("type"), row.get("data")
    if kind == "constructor" and type(row.get("id")) in (list, tuple) and row["id"]:
        kind, inner = row["id"][-1], row.get("kwargs")
    if type(kind) is not str or kind not in _KINDS or not is_object(inner):
        return None
    found = _KINDS[kind]
    if found == "chat":
        role = inner.get("role")
        found = _SAID.get(role, "human") if type(role) is str else "human"
    return found, inner


def _read(
    row: Any,
    index: int,
    label: str,
    line: int | None,
    drafts: list[Draft],
    pins: Pins,
    names: Names,
    functions: dict[str, list[str]],
    log: Log,
) -> None:
    opened = _opened(row)
    items = None if opened is None else items_of(opened[1].get("content"))
    if opened is None or items is None:
        log.skip("row_not_understood", f"{label}: the message's type or shape is not known; it was set aside", line, row=row)
        return
    kind, data = opened
    if kind == "system":
        _pin(data, label, line, pins, log)
        return
    wanted = text_or(data.get("id"))
    made = f"lc-{index + 1}"
    if kind == "ai":
        message: Message = _answer(data, items, wanted or made, label, functions, log)
    elif kind == "human":
        extras: Extras = {}
        message = UserMessage(content_of(data.get("content"), extras) or "", meta=_meta(data, extras))
    else:
        message = _result(data, kind, functions)
    id_ = named(names, wanted, made, log, line)
    drafts.append(Draft(identified(message, id_), dict(row), label, line))


def _pin(data: Row, label: str, line: int | None, pins: Pins, log: Log) -> None:
    content = content_of(data.get("content"), {}) or ""
    texts = [content] if isinstance(content, str) else [block.text for block in content if type(block) is Text]
    text = "\n".join(texts)
    if pins.add(text):
        log.kept += 1
        if not isinstance(content, str) and len(texts) != len(content):
            log.aside("key_ignored", f"{label}: only the text of a system message was pinned", line, data)
    else:
        log.skip("requirement_doubled", f"{label}: the system text is pinned already, or says nothing", line, row=data)


def _meta(data: Row, extras: Extras, *known: str) -> JsonObject:
    """What the nouns do not hold: the other keys of the message, and of its blocks by index."""
    rest = without(data, "content", *known)
    if text_or(rest.get("id")):
        del rest["id"]
    usage = rest.pop("usage_metadata", None)
    told: Row = {"usage": usage} if is_object(usage) else {}
    if usage is not None and not told:
        rest["usage_metadata"] = usage
    response = rest.get("response_metadata")
    if is_object(response):
        model = response.get("model_name", response.get("model"))
        stop = response.get("finish_reason", response.get("stop_reason"))
        told |= {key: value for key, value in (("model", model), ("stopReason", stop)) if text_or(value)}
    return metadata(told, {LANGCHAIN: {"data": rest, **({"parts": extras} if extras else {})}})


def _result(data: Row, kind: str, functions: dict[str, list[str]]) -> ToolResult:
    extras: Extras = {}
    content = content_of(data.get("content"), extras) or ""
    name = text_or(data.get("name"))
    call_id = text_or(data.get("tool_call_id"))
    if kind == "function":
        call_id = (functions.get(name) or [""]).pop(0)
    known = ("tool_call_id", "name") if name else ("tool_call_id",)
    is_error = data.get("status") == "error"
    meta = _meta(data, extras, *known, *(("status",) if type(data.get("status")) is str else ()))
    return ToolResult(call_id or "?", content, is_error, tool_name=name, meta=meta)


def _answer(data: Row, items: list[Any], id_: str, label: str, functions: dict[str, list[str]], log: Log) -> AssistantMessage:
    """What the model said and called. A call may stand among the blocks too, as its provider wrote it."""
    extras: Extras = {}
    blocks: list[Block] = []
    calls = _calls(data, id_, label, functions, log)
    if items and type(data.get("content")) is not str:
        extras["list"] = True
    for item in items:
        call = calls.get(text_or(item.get("id"))) if is_object(item) and item.get("type") in ("tool_use", "tool_call") else None
        if call is not None and call not in blocks:
            blocks.append(call)
        else:
            blocks.append(model_block(item, len(blocks), extras))
    blocks += [call for call in calls.values() if call not in blocks]
    known = ("tool_calls", "invalid_tool_calls")
    return AssistantMessage(tuple(blocks), meta=_meta(data, extras, *known))


def _calls(data: Row, id_: str, label: str, functions: dict[str, list[str]], log: Log) -> dict[str, ToolCall]:
    found: dict[str, ToolCall] = {}
    for key in ("tool_calls", "invalid_tool_calls"):
        given = data.get(key)
        if given is not None and type(given) not in (list, tuple):
            log.aside("row_not_understood", f"{label}: the calls are no list but {kind_of(given)}", None, {key: given})
            continue
        for call in given or ():
            if not is_object(call) or not text_or(call.get("name")):
                log.aside("row_not_understood", f"{label}: a call has no name", None, {key: call})
                continue
            call_id = text_or(call.get("id"), f"{id_}-call-{len(found) + 1}")
            while call_id in found:
                call_id += "_2"
            args = call.get("args")
            arguments = args if is_object(args) and key == "tool_calls" else {} if args is None else raw_arguments(args)
            if key == "invalid_tool_calls":
                log.add(
                    "arguments_kept_raw",
                    f"{label}: the arguments of call {shown(call_id)} did not parse; they were kept as they came",
                )
            found[call_id] = ToolCall(call_id, name=call["name"], arguments=arguments)
    legacy = data.get("additional_kwargs")
    function = legacy.get("function_call") if is_object(legacy) else None
    if is_object(function) and text_or(function.get("name")) and not found:
        made = f"{id_}-call-1"
        arguments = {"$raw": function.get("arguments")}
        found[made] = ToolCall(made, name=function["name"], arguments=arguments)
        log.add("id_made", f"{label}: a legacy function call has no id; it is now {shown(made)}")
    for call in found.values():
        functions.setdefault(call.name, []).append(call.id)
    return found


# ---------------------------------------------------------------------------------------------------------- out


def render(context: ActiveContext) -> Rendered:
    """Write a context as ``messages_from_dict`` takes it; the notes say what could not be held."""
    log, lost = Log(), Counter[str]()
    out: list[Row] = [_wire("system", item.content, {"id": None}) for item in context.requirements]
    if context.summary is not None:
        out.append(_wire("human", framed(context), {"id": None}))
    for round_ in rounds(context.messages, lost, log):
        message = round_.message
        told = own(message.meta)
        content = wire_content(message.content, extras_of(told, "parts"), lost)
        if type(message) is not AssistantMessage:
            out.append(_wire("human", content, _beside(message)))
            continue
        if not content and not round_.answers and message.content:
            lost["empty_left_out"] += 1
            continue
        out.append(_wire("ai", content, _beside(message) | _wire_calls(message)))
        for call, result in round_.answers:
            out.append(_wire_result(call, result, lost))
    tell(lost, log)
    return Rendered(NAME, out, tuple(log.notes))


def _wire(kind: str, content: Any, beside: Row) -> Row:
    common: Row = {"additional_kwargs": {}, "response_metadata": {}, "name": None}
    return {"type": kind, "data": {"content": content, **common, **beside, "type": kind}}


def _beside(message: Message) -> Row:
    """The keys that a message of this format came with."""
    told = own(message.meta)
    usage = message.meta.get("usage")
    rest = without(extras_of(told, "data"), "content", "tool_calls", "invalid_tool_calls", "tool_call_id")
    given = {"usage_metadata": thaw(usage)} if "data" in told and is_object(usage) else {}
    return {"id": message.id, **rest, **given}


def _wire_calls(message: AssistantMessage) -> Row:
    """The calls; one whose arguments are text is an invalid one, as this format has it."""
    sound: list[Row] = []
    broken: list[Row] = []
    for call in message.tool_calls:
        arguments = thaw(call.arguments)
        raw = arguments.get("$raw") if len(arguments) == 1 else None
        if type(raw) is str:
            text = arguments_text(arguments)
            broken.append({"name": call.name, "args": text, "id": call.id, "error": None, "type": "invalid_tool_call"})
        else:
            sound.append({"name": call.name, "args": arguments, "id": call.id, "type": "tool_call"})
    return {"tool_calls": sound, "invalid_tool_calls": broken}


def _wire_result(call: ToolCall, result: ToolResult | None, lost: Counter[str]) -> Row:
    if result is None:
        beside = {"id": None, "name": call.name, "tool_call_id": call.id, "artifact": None, "status": "error"}
        return _wire("tool", NO_RESULT, beside)
    content = wire_content(result.content, extras_of(own(result.meta), "parts"), lost)
    given = {"tool_call_id": call.id, "artifact": None, "status": "error" if result.is_error else "success"}
    return _wire("tool", content, {"name": call.name, **given, **_beside(result)})
