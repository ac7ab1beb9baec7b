"""OpenCode parts → messages: a message of its model is one or more steps, each with the results of its calls behind it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.messages import (
    AssistantMessage,
    Block,
    Media,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from compactor.plain import is_object

from ._gemini_parts import written
from ._reply import pruned
from ._shared import Log, metadata, raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.messages import Content

OPENCODE: Final = "opencode"
"""The key of a message's metadata that holds what only this format knows; with a colon the kind of an opaque block."""
CLEARED: Final = "[Old tool result content cleared]"
"""What the program sends where it gave up an old output."""
_ASKED: Final = "What did we do so far?"
_SUBTASK: Final = "The following tool was executed by the user"
_BESIDE: Final = frozenset({"step-finish", "snapshot", "patch", "retry", "agent", "step-start"})
"""Parts that are known and never sent."""
_WAITS: Final = frozenset({"pending", "running"})
_READ: Final = ("text/plain", "application/x-directory")
"""Files whose contents stand as text in a part of their own."""

Part = dict[str, Any]


@attrs.define
class Step:
    """What a model made in one go, and what its calls gave."""

    blocks: list[Block] = attrs.field(factory=list)
    extras: dict[str, Any] = attrs.field(factory=dict)
    results: list[ToolResult] = attrs.field(factory=list)
    ended: float = 0
    """When the last of its calls ended; 0: nobody said."""


def objects_in(parts: object, label: str, log: Log) -> list[Part]:
    """The parts that are objects; others are set aside."""
    if type(parts) is not list and type(parts) is not tuple:
        return []
    found: list[Part] = []
    for part in parts:
        if is_object(part):
            found.append(part)
        else:
            log.aside("part_not_understood", f"{label}: a part is no object", None, part)
    return found


def user_message(parts: Sequence[Part], beside: Counter[str], told: dict[str, Any]) -> UserMessage | None:
    """What the user sent; None when nothing of it is sent to the model."""
    blocks: list[Text | Media | Opaque] = []
    extras: dict[str, Any] = {}
    for part in parts:
        kind = text_or(part.get("type"))
        if kind in _BESIDE or part.get("ignored") is True:
            beside[kind or "ignored"] += 1
            continue
        block = _sent(part, kind)
        if block is None:
            beside[kind] += 1
            continue
        extras |= _extra(part, len(blocks), block)
        blocks.append(block)
    if not blocks and parts:
        return None
    one = blocks[0] if len(blocks) == 1 else None
    content: Content = one.text if type(one) is Text else tuple(blocks)
    return UserMessage(content, meta=metadata(told, _noted(extras)))


def _sent(part: Part, kind: str) -> Text | Media | Opaque | None:
    match kind:
        case "text" if type(part.get("text")) is str:
            return Text(part["text"])
        case "file":
            mime = text_or(part.get("mime"))
            if mime in _READ:
                return None
            url = text_or(part.get("url"))
            if url:
                return Media(url, media_type=mime, name=text_or(part.get("filename")))
        case "compaction":
            return Text(_ASKED)
        case "subtask":
            return Text(_SUBTASK)
        case _:
            pass
    return Opaque(f"{OPENCODE}:{kind or 'part'}", data=part)


def steps_of(parts: Sequence[Part], id_: str, beside: Counter[str], log: Log, label: str) -> list[Step]:
    """The steps of a model's message. Without marks a new one begins where something was said after the calls had ended."""
    steps = [Step()]
    for number, part in enumerate(parts, start=1):
        kind = text_or(part.get("type"))
        step = steps[-1]
        if kind == "step-start" and step.blocks:
            steps.append(Step())
        if kind in _BESIDE or kind in ("file", "compaction"):
            beside[kind] += 1
            if kind in ("file", "compaction"):
                log.aside("part_not_sent", f"{label}: a {kind} part of the model's message is not sent to it again", None, part)
            continue
        if kind != "tool" and step.ended and _started(part) >= step.ended:
            step = Step()
            steps.append(step)
        at = len(step.blocks)
        block = _made(part, kind, f"{id_}-call-{number}")
        step.blocks.append(block)
        step.extras |= {} if type(block) is ToolCall else _extra(part, at, block)
        if type(block) is ToolCall:
            result = _result(part, block)
            step.results += [] if result is None else [result]
            ended = _time(part["state"], "end") if is_object(part.get("state")) else 0
            step.ended = max(step.ended, ended)
    return [step for step in steps if step.blocks]


def _time(value: Any, key: str) -> float:
    """A time inside a part; 0 when it says none."""
    times = value.get("time")
    found = times.get(key) if is_object(times) else None
    return found if type(found) is int or type(found) is float else 0


def _started(part: Part) -> float:
    return _time(part, "start")


def _made(part: Part, kind: str, made: str) -> Block:
    if kind == "text" and type(part.get("text")) is str:
        return Text(part["text"])
    if kind == "reasoning" and type(part.get("text")) is str:
        return Thinking(part["text"])
    if kind == "tool" and text_or(part.get("tool")):
        state: Any = part.get("state")
        given = state.get("input") if is_object(state) else None
        arguments = given if is_object(given) else {} if given is None else raw_arguments(given)
        return ToolCall(text_or(part.get("callID"), made), name=part["tool"], arguments=arguments)
    return Opaque(f"{OPENCODE}:{kind or 'part'}", data=part)


def _result(part: Part, call: ToolCall) -> ToolResult | None:
    """The outcome of a call; None while it waits."""
    state: Any = part.get("state")
    status = text_or(state.get("status")) if is_object(state) else ""
    if not status or status in _WAITS:
        return None
    times: Any = state.get("time")
    cleared = is_object(times) and bool(times.get("compacted"))
    is_error = status == "error"
    value = state.get("error" if is_error else "output")
    text = value if type(value) is str else "" if value is None else written(value)
    rest = without(state, "status", "input", "time", "error" if is_error else "output")
    content: Content = text
    if cleared:
        content, rest = CLEARED, rest | {"output": value}
    elif type(state.get("attachments")) in (list, tuple):
        media = [_sent(item, "file") for item in state["attachments"] if is_object(item)]
        found = tuple([item for item in media if item is not None])
        content = (Text(text), *found) if found else text
    elif type(value) is not str and value is not None:
        rest = rest | {"output": value}
    told = {"entryTimestamp": times.get("end")} if is_object(times) and times.get("end") is not None else {}
    more = pruned({"state": rest or None, **without(part, "id", "sessionID", "messageID", "type", "callID", "tool", "state")})
    return ToolResult(call, content, is_error, id=text_or(part.get("id")) or None, meta=metadata(told, {OPENCODE: more}))


def _extra(part: Part, index: int, block: Block) -> dict[str, Any]:
    """What a part says beyond its block."""
    if type(block) is Opaque:
        return {}
    rest = without(part, "id", "sessionID", "messageID", "type", "text", "mime", "url", "filename")
    return {str(index): rest} if rest else {}


def _noted(extras: dict[str, Any]) -> dict[str, Any]:
    return {OPENCODE: {"parts": extras}} if extras else {}


def message_of(step: Step, told: dict[str, Any]) -> Message:
    """The message of one step."""
    return AssistantMessage(tuple(step.blocks), meta=metadata(told, _noted(step.extras)))
