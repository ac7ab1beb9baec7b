"""Gemini content parts → our blocks: texts, thoughts, calls, responses, media. Shared by the programs that write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from compactor.messages import Content, Media, Opaque, Text, Thinking, ToolCall, ToolResult
from compactor.plain import is_object, thaw

from ._reply import pruned
from ._shared import raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.messages import Block

GEMINI: Final = "gemini"
"""The key of a message's metadata that holds what only this format knows; with a colon the kind of an opaque block."""

Extras = dict[str, Any]


def parts_in(value: object) -> list[Any] | None:
    """The parts of a content: text, a part, or a list of both. None for a shape that is not known."""
    if value is None:
        return []
    if type(value) is str:
        return [{"text": value}] if value else []
    if is_object(value):
        return [value]
    if type(value) is list or type(value) is tuple:
        return [{"text": part} if type(part) is str else part for part in value]
    return None


def plain_block(part: Any, index: int, extras: Extras) -> Text | Media | Opaque:
    """A part that any message may hold."""
    if not is_object(part):
        return Opaque(f"{GEMINI}:part", data=raw_arguments(part))
    inner: Any = part.get("inlineData")
    if type(part.get("text")) is str:
        _rest(part, index, extras, "text", *(["thought"] if part.get("thought") is False else []))
        return Text(part["text"])
    if is_object(inner) and type(inner.get("data")) is str and text_or(inner.get("mimeType")):
        _rest(part, index, extras, "inlineData")
        return Media(f"data:{inner['mimeType']};base64,{inner['data']}", media_type=inner["mimeType"])
    inner = part.get("fileData")
    if is_object(inner) and text_or(inner.get("fileUri")):
        _rest(part, index, extras, "fileData")
        return Media(inner["fileUri"], media_type=text_or(inner.get("mimeType")))
    return Opaque(f"{GEMINI}:part", data=part)


def model_block(part: Any, index: int, extras: Extras, made: str) -> Block:
    """A part of what the model made; *made* is the id of a call that has none."""
    if is_object(part):
        call: Any = part.get("functionCall")
        if part.get("thought") is True and type(part.get("text")) is str:
            signature = part.get("thoughtSignature")
            _rest(part, index, extras, "text", "thought", "thoughtSignature")
            return Thinking(part["text"], signature=signature if type(signature) is str else "")
        if is_object(call) and text_or(call.get("name")):
            given = call.get("args")
            _rest(part, index, extras, "functionCall")
            arguments = given if is_object(given) else {} if given is None else raw_arguments(given)
            return ToolCall(text_or(call.get("id"), made), name=call["name"], arguments=arguments)
    return plain_block(part, index, extras)


def is_response(part: Any) -> bool:
    """True for the result of a call."""
    return is_object(part) and is_object(part.get("functionResponse"))


def result_of(part: Any, call_id: str, meta: Extras) -> ToolResult:
    """The result in a response part; what its text does not say is kept in the metadata."""
    given: Any = part["functionResponse"]
    response = given.get("response")
    text, is_error, whole = _said(response)
    content: Content = text
    extras: Extras = {}
    media = parts_in(given.get("parts")) or []
    blocks = [plain_block(item, index, extras) for index, item in enumerate(media, start=1)]
    if blocks:
        content = (Text(text), *blocks) if text else tuple(blocks)
    rest = pruned({"response": None if whole else response, **without(given, "id", "name", "response", "parts")})
    rest |= without(part, "functionResponse")
    told = meta | ({GEMINI: rest} if rest else {})
    return ToolResult(call_id, content, is_error, tool_name=text_or(given.get("name")), meta=told)


def _said(response: Any) -> tuple[str, bool, bool]:
    """The text of a response, whether it is an error, and whether the text is all of it."""
    if type(response) is str:
        return response, False, True
    if response is None or response == {}:
        return "", False, True
    if is_object(response):
        for key in ("output", "error", "content"):
            if type(response.get(key)) is str and (key != "output" or not text_or(response.get("error"))):
                return response[key], key == "error", len(response) == 1
    return written(response), False, False


def written(value: object) -> str:
    """Data as JSON text; it was decoded, or is refused when it is frozen."""
    try:
        return json.dumps(thaw(value), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def noted(extras: Extras) -> dict[str, Any]:
    """The metadata of blocks that hold more than our nouns."""
    return {GEMINI: {"parts": extras}} if extras else {}


def text_in(parts: Sequence[Any]) -> str:
    """The words of parts."""
    return "".join([part["text"] for part in parts if is_object(part) and type(part.get("text")) is str])


def _rest(part: dict[str, Any], index: int, extras: Extras, *known: str) -> None:
    rest = without(part, *known)
    if rest:
        extras[str(index)] = rest
