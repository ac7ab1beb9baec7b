"""OpenAI Chat Completions messages, in and out.

In: ``system`` and ``developer`` messages become pinned requirements, everything else the transcript. Out: requirements,
then the summary in a frame that says that it is reference data, then the messages; every tool call is directly followed
by its results, and ``check_openai_chat`` has looked at every export. What only this format knows (part details, names)
is kept in a message's metadata under ``openai``, so that reading what was written gives the same messages again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from compactor.context import build_live_context, with_report
from compactor.errors import CompactionError, ErrorCode, shown
from compactor.messages import AssistantMessage, Message, Requirement, Text, Thinking, ToolCall, ToolResult, UserMessage
from compactor.plain import SESSION_LIMITS, Limits, is_blank, is_object, thaw

from ._frame import framed
from ._openai_check import check_openai_chat
from ._openai_parts import OPENAI, arguments_text, content_of, parts_of, read_arguments
from ._pairing import NO_RESULT, Draft, repair
from ._reply import each, no_system, pruned, reported, wrong
from ._shared import Log, Names, Rendered, extras_of, invalid, kind_of, metadata, replaced, text_or, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactor.context import ActiveContext
    from compactor.plain import JsonObject

NAME: Final = "openai-chat"

_ROLES: Final = ("user", "assistant", "tool", "function")


# ----------------------------------------------------------------------------------------------------------- in


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read a list of messages or ``{"messages": [...]}``. A message without the shape of its role → FORMAT_INVALID."""
    log = Log(name)
    items = data
    if is_object(data):
        document: Any = data
        items = document.get("messages")
        for key in without(document, "messages"):
            log.aside(
                "key_ignored", f"the key {shown(key)} beside the messages is not part of the context", None, {key: document[key]}
            )
    if type(items) is not list and type(items) is not tuple:
        raise invalid(name, None, f"needs a list of messages, got {kind_of(items)}", 'pass a list, or {"messages": [...]}')
    requirements: list[Requirement] = []
    drafts: list[Draft] = []
    legacy: dict[str, str] = {}
    names = Names()
    for index, item in enumerate(items):
        try:
            _read(item, index, requirements, drafts, legacy, names, log)
        except CompactionError as error:
            if error.where.startswith("messages["):
                raise replaced(error, name, None) from error
            inner = f"messages[{index}]"
            raise replaced(CompactionError(error.code, error.message, where=inner, fix=error.fix), name, None) from error
    if requirements:
        log.add("system_pinned", f"{len(requirements)} system messages were pinned as requirements, in their order")
    messages = repair(drafts, log, names)
    context = build_live_context({"requirements": tuple(requirements), "messages": messages}, limits=limits)
    return with_report(context, log.report(NAME, len(items)))


def _wrong(index: int, where: str, what: str, fix: str) -> CompactionError:
    return CompactionError(ErrorCode.FORMAT_INVALID, what, where=f"messages[{index}]{where}", fix=fix)


def _read(
    item: Any, index: int, requirements: list[Requirement], drafts: list[Draft], legacy: dict[str, str], names: Names, log: Log
) -> None:
    if not is_object(item):
        raise _wrong(index, "", f"needs an object, got {kind_of(item)}", "give the message a role and a content")
    role = item.get("role")
    if role in ("system", "developer"):
        _pin(item, index, requirements, log)
        return
    if role not in _ROLES:
        _set_aside(item, role, index, log)
        return
    wanted = text_or(item.get("id"), f"msg-{len(drafts) + 1}")
    id_ = names.take(wanted)
    if id_ != wanted:
        log.add("id_made", f"messages[{index}]: id {shown(wanted)} is used again; this message is now {shown(id_)}")
    match role:
        case "user":
            content, extras = content_of(item.get("content"), f"messages[{index}].content")
            message: Message = UserMessage(content, id=id_, meta=_meta(item, extras, "role", "content"))
        case "assistant":
            message = _assistant(item, index, id_, legacy, log)
        case _:
            content, extras = content_of(item.get("content"), f"messages[{index}].content")
            # Legacy function results name their function, not their call.
            key = "tool_call_id" if role == "tool" else "name"
            call_id = text_or(item.get(key), "?")
            if role == "function":
                call_id = legacy.pop(call_id, call_id)
            message = ToolResult(call_id, content, id=id_, meta=_meta(item, extras, "role", "content", key))
    drafts.append(Draft(message, item, f"messages[{index}]"))


def _set_aside(item: dict[str, Any], role: Any, index: int, log: Log) -> None:
    """A message of an unknown role: logs mix rows of their own into the messages."""
    if role == "toolResult":
        raise _wrong(index, ".role", "belongs to another format than the rest", "keep one format in a file")
    if not text_or(role):
        raise _wrong(index, ".role", f"is {shown(role)}", "use system, developer, user, assistant or tool")
    log.skip("row_not_understood", f"messages[{index}]: role {shown(role)} is not known; the message was set aside", row=item)


def _meta(item: dict[str, Any], extras: dict[str, Any], *known: str) -> JsonObject:
    """What the nouns do not hold: other keys of the message, and extras of its parts by index."""
    rest = without(item, *known)
    found = {**({"extra": rest} if rest else {}), **extras}
    return metadata({OPENAI: found} if found else {})


def _pin(item: dict[str, Any], index: int, requirements: list[Requirement], log: Log) -> None:
    content, _extras = content_of(item.get("content"), f"messages[{index}].content")
    texts = [content] if isinstance(content, str) else [block.text for block in content if type(block) is Text]
    text = "\n".join(texts)
    rest = without(item, "role", "content")
    if is_blank(text):
        log.skip("row_not_in_context", f"messages[{index}]: a {item['role']} message without text cannot be pinned", row=item)
        return
    if rest or (not isinstance(content, str) and len(texts) != len(content)):
        log.aside("key_ignored", f"messages[{index}]: only the text of a {item['role']} message was pinned", None, item)
    requirements.append(Requirement(text, id=f"system-{len(requirements) + 1}"))
    log.kept += 1


def _assistant(item: dict[str, Any], index: int, id_: str, legacy: dict[str, str], log: Log) -> AssistantMessage:
    where = f"messages[{index}]"
    blocks: list[Any] = []
    known = ["role", "content"]
    reasoning = item.get("reasoning_content")
    if type(reasoning) is str:
        known.append("reasoning_content")
        blocks += [Thinking(reasoning)] if reasoning else []
    content, extras = content_of(item.get("content"), f"{where}.content", shift=len(blocks))
    if isinstance(content, str):
        content = (Text(content),)
    # Empty text says nothing and could not be told from none when it is written.
    blocks += content if extras else [block for block in content if block != Text("")]
    refusal = item.get("refusal")
    if type(refusal) is str and refusal:
        known.append("refusal")
        extras["refusal"] = True
        blocks.append(Text(refusal))
    elif refusal is None:
        known.append("refusal")
    calls = item.get("tool_calls")
    if calls is not None:
        if type(calls) is not list and type(calls) is not tuple:
            raise _wrong(index, ".tool_calls", f"needs a list, got {kind_of(calls)}", "pass a list of calls, or leave it out")
        custom = [_call(call, index, blocks, log) for call in calls]
        if any(custom):
            extras["customCalls"] = [at for at, is_custom in enumerate(custom) if is_custom]
    function = item.get("function_call")
    if function is not None:
        id_made = f"call-{index}"
        name = _function(function, id_made, index, ".function_call", blocks, log)
        legacy[name] = id_made
        log.add("id_made", f"{where}: a legacy function call has no id; it is now {shown(id_made)}")
    return AssistantMessage(tuple(blocks), id=id_, meta=_meta(item, extras, *known, "tool_calls", "function_call"))


def _call(call: Any, index: int, blocks: list[Any], log: Log) -> bool:
    """Read one call; True for a custom one, whose input is free text."""
    where = ".tool_calls[]"
    if not is_object(call) or not text_or(call.get("id")):
        raise _wrong(index, where, "needs an object with an id", "give the call the id that its tool message names")
    if call.get("type") == "custom" and is_object(call.get("custom")):
        custom = call["custom"]
        _function(
            {"name": custom.get("name"), "arguments": custom.get("input")}, call["id"], index, where, blocks, log, custom=True
        )
        return True
    _function(call.get("function"), call["id"], index, where, blocks, log)
    return False


def _function(function: Any, id_: str, index: int, where: str, blocks: list[Any], log: Log, *, custom: bool = False) -> str:
    if not is_object(function) or not text_or(function.get("name")):
        raise _wrong(index, where, "needs a function with a name", "name the function that was called")
    arguments, is_raw = read_arguments(function.get("arguments"), as_text=custom)
    if is_raw:
        text = f"messages[{index}]: the arguments of call {shown(id_)} are no JSON object; their text was kept as it came"
        log.add("arguments_kept_raw", text)
    blocks.append(ToolCall(id_, name=function["name"], arguments=arguments))
    return str(function["name"])


def reply(value: object, tool_name: Callable[[str], str]) -> list[Any]:
    """The messages of a ``ChatCompletion`` of the SDK, of one of its choices, or of message dicts that the loop sends next."""

    def read(given: Any, named: Callable[[str], str]) -> list[Any]:
        told: dict[str, Any] = {}
        id_: str | None = None
        if "choices" in given:
            choices = given["choices"]
            if type(choices) not in (list, tuple) or len(choices) != 1 or not is_object(choices[0]):
                raise wrong("needs a completion with one choice", "append the choice that the conversation goes on with")
            told = reported(given, choices[0].get("finish_reason"), "openai")
            id_ = f"{given['id']}-{choices[0].get('index', 0)}" if text_or(given.get("id")) else None
            given = choices[0].get("message")
        elif is_object(given.get("message")):
            told = reported({}, given.get("finish_reason"), "openai")
            given = given["message"]
        if not is_object(given) or given.get("role") not in _LIVE_ROLES:
            role = given.get("role") if is_object(given) else None
            raise (
                no_system(role)
                if role in ("system", "developer")
                else wrong("needs a message with the role user, assistant or tool")
            )
        given = {key: item for key, item in pruned(given).items() if key != "annotations" or item}
        try:
            return [_spoken(given, id_, told, named)]
        except CompactionError as error:
            inner = error.where.partition("]")[2].lstrip(".")
            raise wrong(f"{inner}: {error.message}" if inner else error.message, error.fix) from error

    return each(value, read, tool_name)


_LIVE_ROLES: Final = ("user", "assistant", "tool")


def _spoken(given: dict[str, Any], id_: str | None, told: dict[str, Any], tool_name: Callable[[str], str]) -> Message:
    """A message of a live conversation."""
    if given["role"] == "assistant":
        if given.get("function_call") is not None:
            raise wrong("legacy function calls have no ids", "use tools instead of functions")
        said = _assistant(given, 0, id_ or "", {}, Log())
        return AssistantMessage(said.content, id=id_, meta=metadata(told, said.meta))
    content, extras = content_of(given.get("content"), "messages[0].content")
    if given["role"] == "user":
        return UserMessage(content, meta=_meta(given, extras, "role", "content"))
    call_id = text_or(given.get("tool_call_id"), "?")
    meta = _meta(given, extras, "role", "content", "tool_call_id")
    return ToolResult(call_id, content, tool_name=tool_name(call_id), meta=meta)


# ---------------------------------------------------------------------------------------------------------- out


def render(context: ActiveContext) -> Rendered:
    """Write a context as messages that keep the format's pairing rules; the notes say what could not be held."""
    log = Log()
    out: list[dict[str, Any]] = [{"role": "system", "content": item.content} for item in context.requirements]
    if context.summary is not None:
        out.append({"role": "user", "content": framed(context)})
    messages = list(context.messages)
    results = {message.tool_call_id: at for at, message in enumerate(messages) if type(message) is ToolResult}
    lost: Counter[str] = Counter()
    for at, message in enumerate(messages):
        match message:
            case UserMessage():
                content = parts_of(message.content, message.meta, lost)
                if content or message.content in ("", ()):
                    out.append({"role": "user", "content": content, **_extra(message)})
                else:
                    lost["empty_left_out"] += 1
            case AssistantMessage():
                out += _said(message, at, messages, results, lost, log)
            case ToolResult():
                pass
    for what, count in lost.items():
        log.add(what, _LOST[what].format(count))
    faults = check_openai_chat(out)
    if faults:
        raise CompactionError(ErrorCode.INTERNAL, f"the export breaks a rule of its format: {faults[0]}", fix="report this bug")
    return Rendered(NAME, out, tuple(log.notes))


_LOST: Final = {
    "thinking_left_out": "{} thinking blocks were left out: the format has no place for them",
    "media_left_out": "{} images or files were left out: the format takes none there",
    "media_moved": "{} images or files of tool results were moved into a user message behind the results",
    "opaque_left_out": "{} items of other providers were left out",
    "empty_left_out": "{} messages without anything that the format can hold were left out",
    "results_moved": "{} tool results were moved directly behind their call",
    "blocks_reordered": "{} messages had text behind a tool call; the format puts text first",
    "error_mark_left_out": "{} tool results lost their error mark: the format has none",
}


def _extra(message: Message) -> dict[str, Any]:
    """The keys that a message of this format came with."""
    found = extras_of(message.meta, OPENAI).get("extra", {})
    return without(found, "role", "content", "tool_calls", "tool_call_id") if isinstance(found, dict) else {}


def _said(
    message: AssistantMessage, at: int, messages: list[Message], results: dict[str, int], lost: Counter[str], log: Log
) -> list[dict[str, Any]]:
    """An assistant message and directly behind it the results of its calls."""
    calls = message.tool_calls
    kinds = [type(block) for block in message.content]
    lost["thinking_left_out"] += kinds.count(Thinking)
    if calls and any(kind is not ToolCall for kind in kinds[kinds.index(ToolCall) :]):
        lost["blocks_reordered"] += 1
    lost += Counter()
    openai = extras_of(message.meta, OPENAI)
    unsaid = (Text(""),)
    spoken = [
        (i, b) for i, b in enumerate(message.content) if type(b) is not ToolCall and type(b) is not Thinking and b not in unsaid
    ]
    wire: dict[str, Any] = {"role": "assistant", "content": None}
    if openai.get("refusal") is True and spoken and type(spoken[-1][1]) is Text:
        wire["refusal"] = spoken.pop()[1].text  # type: ignore[union-attr]
    # One plain text is written as a string; anything else as parts.
    parts = parts_of(
        tuple(block for _index, block in spoken), message.meta, lost, at=[index for index, _block in spoken], assistant=True
    )
    if isinstance(parts, list) and len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        parts = parts[0]["text"]
    wire["content"] = parts or None
    ids = _wire_ids(message)
    if calls:
        custom = openai.get("customCalls", [])
        wire["tool_calls"] = [_wire_call(call, ids[call.id], custom=position in custom) for position, call in enumerate(calls)]
    wire |= _extra(message)
    if not calls and wire["content"] is None and not wire.get("refusal"):
        lost["empty_left_out"] += 1
        return []
    batch, moved = [wire], []
    answered = sorted([(results[call.id], call) for call in calls if call.id in results], key=lambda pair: pair[0])
    for offset, (where, call) in enumerate(answered, start=1):
        if where != at + offset:
            lost["results_moved"] += 1
        result, media = _answer(messages[where], ids[call.id], lost)
        batch.append(result)
        moved += media
    for call in calls:
        if call.id not in results:
            log.add("call_closed", f"call {shown(call.id)} waits for its result; a fixed text stands in its place")
            batch.append({"role": "tool", "tool_call_id": ids[call.id], "content": NO_RESULT})
    if moved:
        lost["media_moved"] += len(moved)
        batch.append(
            {"role": "user", "content": [{"type": "text", "text": "Images or files from the tool results above:"}, *moved]}
        )
    return batch


def _wire_ids(message: AssistantMessage) -> dict[str, str]:
    """The ids that calls came with, where an import had renamed them and they are distinct within the message.

    In this format a call is paired with the tool messages directly behind it, so another message may use the same id.
    """
    renamed = extras_of(message.meta, "renamedCalls")
    ids = {call.id: text_or(renamed.get(call.id), call.id) for call in message.tool_calls}
    return ids if len(set(ids.values())) == len(ids) else {call: call for call in ids}


def _wire_call(call: ToolCall, id_: str, *, custom: bool) -> dict[str, Any]:
    text = arguments_text(thaw(call.arguments))
    if custom:
        return {"id": id_, "type": "custom", "custom": {"name": call.name, "input": text}}
    return {"id": id_, "type": "function", "function": {"name": call.name, "arguments": text}}


def _answer(message: Message, id_: str, lost: Counter[str]) -> tuple[dict[str, Any], list[Any]]:
    """The tool message of a result, and the media that only a user message can hold."""
    if type(message) is ToolResult and message.is_error:
        lost["error_mark_left_out"] += 1
    content = parts_of(message.content, message.meta, lost)
    media: list[Any] = []
    if isinstance(content, list):
        media = [part for part in content if part.get("type") in ("image_url", "input_audio", "file")]
        content = [part for part in content if part not in media] or ""
    return {"role": "tool", "tool_call_id": id_, "content": content, **_extra(message)}, media
