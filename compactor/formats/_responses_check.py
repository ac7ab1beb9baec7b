"""The rules that OpenAI's Responses endpoint enforces on input items. Works on any data and never raises."""

from __future__ import annotations

from typing import Any, Final

from compactor.errors import shown
from compactor.plain import is_blank, is_object

CALL_ID_MAX: Final = 64
"""Longer call ids are refused."""
OUTPUTS: Final = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}
_TEXTS: Final = ("input_text", "output_text", "refusal")


def check_openai_responses(request: object) -> tuple[str, ...]:
    """List what an endpoint would refuse in ``{"instructions", "input"}`` or a list of items; empty means valid.

    Every call has exactly one output behind it and every output its call; call ids are distinct; reasoning is followed by
    what was reasoned about; an item that has an id stands with its reasoning; no instructions and no content are empty.
    """
    given: Any = request
    faults: list[str] = []
    if is_object(given):
        told = given.get("instructions")
        if told is not None and (type(told) is not str or is_blank(told)):
            faults.append("instructions: no text; leave them out")
        given = given.get("input")
    if type(given) is not list and type(given) is not tuple:
        return (*faults, "the input is no list of items")
    calls: dict[str, str] = {}
    seen: set[str] = set()
    for index, item in enumerate(given):
        following = given[index + 1] if index + 1 < len(given) else None
        found = _item(item, following, calls, seen) if is_object(item) else ["needs an object"]
        faults += [f"input[{index}]: {fault}" for fault in found]
    faults += [f"input: call {shown(call)} is never answered" for call in calls]
    return tuple(faults)


def is_said(item: object) -> bool:
    """True for an item that a model made and that reasoning can stand before."""
    if not is_object(item):
        return False
    found: Any = item
    kind = found.get("type", "message")
    if kind == "message":
        return bool(found.get("role") == "assistant")
    return type(kind) is str and not kind.endswith("_output") and kind != "item_reference"


def _item(item: Any, following: object, calls: dict[str, str], seen: set[str]) -> list[str]:
    kind = item.get("type", "message")
    if type(kind) is not str:
        return ["the type is no text"]
    if kind == "message":
        return _message(item)
    if kind == "reasoning":
        return [] if is_said(following) else ["nothing that was reasoned about follows the reasoning"]
    if kind in OUTPUTS:
        id_ = item.get("call_id")
        waits = calls.pop(id_, None) if type(id_) is str else None
        if waits != OUTPUTS[kind]:
            return [f"no call before it waits for output {shown(id_)}"]
        output = item.get("output")
        return [] if type(output) is str else _parts(output, ("input_text", "input_image", "input_file"))
    if kind in OUTPUTS.values():
        return _call(item, kind, calls, seen)
    return _other(item, kind, seen)


def _other(item: Any, kind: str, seen: set[str]) -> list[str]:
    """Calls and outputs of tools that only this endpoint has."""
    id_ = item.get("call_id")
    if type(id_) is not str:
        return []
    if not kind.endswith("_output"):
        seen.add(id_)
        return []
    return [] if id_ in seen else [f"no call before it waits for output {shown(id_)}"]


def _call(item: Any, kind: str, calls: dict[str, str], seen: set[str]) -> list[str]:
    id_, name = item.get("call_id"), item.get("name")
    text = item.get("arguments" if kind == "function_call" else "input")
    if type(id_) is not str or not 0 < len(id_) <= CALL_ID_MAX or is_blank(id_):
        return [f"call id {shown(id_)} is empty, or longer than {CALL_ID_MAX}"]
    faults = [f"two calls have the id {shown(id_)}"] if id_ in seen else []
    seen.add(id_)
    calls[id_] = kind
    if type(name) is not str or is_blank(name) or type(text) is not str:
        faults.append(f"call {shown(id_)} needs a name and its arguments as text")
    return faults


def _message(item: Any) -> list[str]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        return [f"the role is {shown(role)}"]
    if type(content) is str:
        return []
    allowed = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image", "input_file", "input_audio")
    return _parts(content, allowed)


def _parts(content: Any, allowed: tuple[str, ...]) -> list[str]:
    if type(content) is not list or not content:
        return ["the content is neither text nor a list of parts, or is empty"]
    for part in content:
        kind = part.get("type") if is_object(part) else None
        if kind not in allowed:
            return [f"a part has the type {shown(kind)}, not one of {', '.join(allowed)}"]
        if kind in _TEXTS and type(part.get("refusal" if kind == "refusal" else "text")) is not str:
            return ["a part has no text"]
    return []
