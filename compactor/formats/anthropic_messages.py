"""Anthropic Messages, in and out: ``{"system": [...], "messages": [...]}``.

In: the system text becomes pinned requirements, results and text of a user message become messages of their own. Out:
roles alternate, so neighbours of one side are merged; contents are always lists of blocks, so that a message that grows
by a merge still begins with the same blocks and a provider's cache stays warm.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from compactor.context import build_live_context, with_report
from compactor.errors import CompactionError, ErrorCode, shown
from compactor.messages import AssistantMessage, Message, Requirement, ToolCall, ToolResult, UserMessage
from compactor.plain import SESSION_LIMITS, Limits, is_object

from ._anthropic_check import check_anthropic
from ._anthropic_parts import assistant_block, extra_of, noted, plain_block, result_of, wire_content, wire_said
from ._frame import framed
from ._pairing import NO_RESULT, Draft, repair
from ._reply import each, no_system, pruned, reported, wrong
from ._rounds import Round, WireIds, rounds, tell
from ._shared import RAW, Log, Names, Rendered, invalid, kind_of, metadata, replaced, text_or, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactor.context import ActiveContext

NAME: Final = "anthropic"
_STOPS: Final = {"tool_use": "toolUse"}
_BEGINNING: Final = "[The beginning of this conversation is not shown.]"
_NO_OUTPUT: Final = "[no output]"
"""What an error without any text is sent with: the format demands a content there."""


# ----------------------------------------------------------------------------------------------------------- in


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read ``{"system": ..., "messages": [...]}`` or a list of messages. A message without the shape of its role → FORMAT_INVALID."""
    log = Log(name)
    items, requirements = data, list[Requirement]()
    if is_object(data):
        document: Any = data
        items = document.get("messages")
        requirements = _pinned(document.get("system"), log)
        for key in without(document, "messages", "system"):
            text = f"the key {shown(key)} beside the messages is not part of the context"
            log.aside("key_ignored", text, None, {key: document[key]})
    if type(items) is not list and type(items) is not tuple:
        raise invalid(name, None, f"needs a list of messages, got {kind_of(items)}", 'pass a list, or {"messages": [...]}')
    drafts: list[Draft] = []
    names = Names()
    rows = len(items)
    for index, item in enumerate(items):
        try:
            found = _read(item, index, names, log)
        except CompactionError as error:
            if error.where.startswith("messages["):
                raise replaced(error, name, None) from error
            inner = CompactionError(error.code, error.message, where=f"messages[{index}]", fix=error.fix)
            raise replaced(inner, name, None) from error
        rows += max(0, len(found) - 1)
        drafts += found
    messages = repair(drafts, log, names)
    context = build_live_context({"requirements": tuple(requirements), "messages": messages}, limits=limits)
    return with_report(context, log.report(NAME, rows))


def _pinned(system: Any, log: Log) -> list[Requirement]:
    """The requirements of the system text: one for each block."""
    if system is None:
        return []
    blocks = [{"type": "text", "text": system}] if type(system) is str else system
    if type(blocks) is not list and type(blocks) is not tuple:
        raise invalid(
            log.name, None, f"the system needs text or text blocks, got {kind_of(system)}", "pass text, or leave it out"
        )
    found: list[Requirement] = []
    for block in blocks:
        if not is_object(block) or not text_or(block.get("text")):
            log.aside("key_ignored", "a system block without text cannot be pinned", None, block)
            continue
        if without(block, "type", "text"):
            log.aside("key_ignored", "only the text of a system block was pinned", None, without(block, "type", "text"))
        found.append(Requirement(block["text"], id=f"system-{len(found) + 1}"))
    if found:
        log.add("system_pinned", f"{len(found)} system texts were pinned as requirements, in their order")
    return found


def _wrong(index: int, where: str, what: str, fix: str) -> CompactionError:
    return CompactionError(ErrorCode.FORMAT_INVALID, what, where=f"messages[{index}]{where}", fix=fix)


def _read(item: Any, index: int, names: Names, log: Log) -> list[Draft]:
    """The drafts of one message; each block of results is a row of its own in the report."""
    if not is_object(item):
        raise _wrong(index, "", f"needs an object, got {kind_of(item)}", "give the message a role and a content")
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant"):
        raise _wrong(index, ".role", f"is {shown(role)}", "use user or assistant; the system stands beside the messages")
    if type(content) not in (str, list, tuple):
        raise _wrong(index, ".content", f"needs text or a list of blocks, got {kind_of(content)}", "pass text or blocks")
    if role == "assistant":
        message = _assistant(item, log)
        found: list[Message] = [message]
    else:
        found = _user(item, lambda _call: "")
    wanted = text_or(item.get("id"), f"msg-{index + 1}")
    stop = text_or(item.get("stop_reason"))
    drafts: list[Draft] = []
    for message_ in found:
        id_ = names.take(wanted)
        message_ = _with_id(message_, id_)  # noqa: PLW2901 - the same message, named
        drafts.append(Draft(message_, item, f"messages[{index}]", stop=_STOPS.get(stop, stop)))
    return drafts


def _with_id(message: Message, id_: str) -> Message:
    match message:
        case UserMessage():
            return UserMessage(message.content, id=id_, meta=message.meta)
        case AssistantMessage():
            return AssistantMessage(message.content, id=id_, meta=message.meta)
        case ToolResult():
            call, name = message.tool_call_id, message.tool_name
            return ToolResult(call, message.content, message.is_error, tool_name=name, id=id_, meta=message.meta)


def _user(item: dict[str, Any], tool_name: Callable[[str], str]) -> list[Message]:
    """The results in a user message, each for itself, then what the user said."""
    content = item.get("content")
    rest = without(item, "role", "content", "id")
    if not isinstance(content, list | tuple):
        return [UserMessage(content or "", meta=metadata(noted({}, rest)))]
    found: list[Message] = []
    said: list[Any] = []
    for block in content:
        if is_object(block) and block.get("type") == "tool_result":
            call = text_or(block.get("tool_use_id"), "?")
            found.append(result_of(block, tool_name(call), None, call))
        else:
            said.append(block)
    if said or not found:
        extras: dict[str, Any] = {}
        blocks = tuple([plain_block(block, at, extras) for at, block in enumerate(said)])
        found.append(UserMessage(blocks, meta=metadata(noted(extras, rest))))
    return found


def _assistant(item: dict[str, Any], log: Log, id_: str | None = None) -> AssistantMessage:
    content = item.get("content")
    extras: dict[str, Any] = {}
    blocks = [{"type": "text", "text": content}] if type(content) is str else content or ()
    found = tuple([assistant_block(block, at, extras) for at, block in enumerate(blocks)])
    raw = [block for block in found if type(block) is ToolCall and RAW in block.arguments]
    if raw:
        log.add("arguments_kept_raw", f"the input of call {shown(raw[0].id)} is no JSON object; it was kept as it came")
    known = ("role", "content", "id", "type", "model", "stop_reason", "stop_sequence", "usage", "container", "context_management")
    told = reported(item, item.get("stop_reason"), NAME) if "stop_reason" in item or "usage" in item else {}
    return AssistantMessage(found, id=id_, meta=metadata(told, noted(extras, pruned(without(item, *known)))))


def reply(value: object, tool_name: Callable[[str], str]) -> list[Any]:
    """The messages of a ``Message`` of the SDK, or of message dicts that the loop sends next, results included."""

    def read(given: Any, named: Callable[[str], str]) -> list[Any]:
        role = given.get("role")
        if role == "system":
            raise no_system(role)
        if role not in ("user", "assistant") or type(given.get("content")) not in (str, list, tuple):
            raise wrong("needs a message with the role user or assistant and a content")
        if role == "user":
            return _user(given, named)
        return [_assistant(given, Log(), id_=text_or(given.get("id")) or None)]

    return each(value, read, tool_name)


# ---------------------------------------------------------------------------------------------------------- out


def render(context: ActiveContext) -> Rendered:
    """Write a context as the arguments ``system`` (absent without requirements) and ``messages`` of a request."""
    log, lost = Log(), Counter[str]()
    ids = WireIds("[^a-zA-Z0-9_-]", 64)
    out: list[dict[str, Any]] = []
    if context.summary is not None:
        _put(out, "user", [{"type": "text", "text": framed(context)}])
    for round_ in rounds(context.messages, lost, log):
        _put_round(out, round_, ids, lost)
    tell(lost, log)
    data: dict[str, Any] = {"messages": out}
    if context.requirements:
        data = {"system": [{"type": "text", "text": item.content} for item in context.requirements], **data}
    faults = check_anthropic(data)
    if faults:
        raise CompactionError(ErrorCode.INTERNAL, f"the export breaks a rule of its format: {faults[0]}", fix="report this bug")
    return Rendered(NAME, data, tuple(log.notes))


def _put(out: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    """Add blocks of one side: to the last message when it is of the same side, else as a message."""
    if out and out[-1]["role"] == role:
        out[-1]["content"] += blocks
    else:
        out.append({"role": role, "content": blocks})


def _put_round(out: list[dict[str, Any]], round_: Round, ids: WireIds, lost: Counter[str]) -> None:
    message = round_.message
    if type(message) is UserMessage:
        blocks = wire_content(message.content, message.meta, lost)
    else:
        names = ids.of(message, lost) if type(message) is AssistantMessage else {}
        blocks = wire_said(message.content, message.meta, names, lost) if type(message) is AssistantMessage else []
    if not blocks:
        lost["empty_left_out"] += 1
        return
    if type(message) is UserMessage:
        _put(out, "user", blocks)
        return
    if not out:
        lost["user_added"] += 1
        _put(out, "user", [{"type": "text", "text": _BEGINNING}])
    _put(out, "assistant", blocks)
    results = [_wire_result(names[call.id], result, lost) for call, result in round_.answers]
    if results:
        _put(out, "user", results)


def _wire_result(id_: str, result: ToolResult | None, lost: Counter[str]) -> dict[str, Any]:
    if result is None:
        return {"type": "tool_result", "tool_use_id": id_, "content": NO_RESULT, "is_error": True}
    wire: dict[str, Any] = {"type": "tool_result", "tool_use_id": id_}
    content: Any = wire_content(result.content, result.meta, lost)
    if isinstance(result.content, str):
        content = result.content if content else ""
    if content:
        wire["content"] = content
    elif result.is_error:
        wire["content"] = _NO_OUTPUT
    if result.is_error:
        wire["is_error"] = True
    return {**wire, **extra_of(result.meta)}
