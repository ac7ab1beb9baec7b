"""Content parts of Responses messages and outputs ↔ our blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compactor.messages import Block, Content, Media, Opaque, Text, ToolCall
from compactor.plain import EMPTY, JsonObject, is_object, thaw

from ._openai_parts import arguments_text
from ._reply import pruned
from ._shared import extras_of, raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections import Counter

    from compactor.messages import Thinking

RESPONSES: Final = "openaiResponses"
"""The key of a message's metadata that holds what only this format knows."""
OPAQUE: Final = "openai-responses:"
PART: Final = "openai-responses-part:"
"""Parts of a message are no items, and items no parts."""
REASONING: Final = f"{OPAQUE}reasoning"
_DATA: Final = "data:"

Extras = dict[str, Any]


def own(meta: JsonObject) -> JsonObject:
    """The part of a message's metadata that belongs to this format."""
    found = meta.get(RESPONSES, EMPTY)
    return found if type(found) is JsonObject else EMPTY


def noted(**found: object) -> dict[str, Any]:
    """The metadata of this format; empty when there is nothing to say."""
    told = {key: value for key, value in found.items() if value}
    return {RESPONSES: told} if told else {}


def content_of(value: object, extras: Extras, *, shift: int = 0) -> Content | None:
    """Text or blocks; None for a shape that is not known. *shift* blocks stand before these."""
    if value is None:
        return ""
    if type(value) is str:
        return value
    if type(value) is not list and type(value) is not tuple:
        return None
    return tuple([_block(part, index + shift, extras) for index, part in enumerate(value)])


def _block(part: Any, index: int, extras: Extras) -> Text | Media | Opaque:
    if type(part) is str:
        return Text(part)
    if not is_object(part):
        return Opaque(f"{PART}part", data=raw_arguments(part))
    part = pruned(part)
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            _rest(part, index, extras, "text")
            return Text(text)
        case {"type": "refusal", "refusal": str(text)}:
            _rest(part, index, extras, "refusal")
            extras.setdefault(str(index), {})["as"] = "refusal"
            return Text(text)
        case {"type": "input_image"}:
            key = "image_url" if text_or(part.get("image_url")) else "file_id"
            if text_or(part.get(key)):
                _rest(part, index, extras, key)
                return Media(part[key], media_type=_media_type(part[key], "image/*"))
        case {"type": "input_file"}:
            key = next((key for key in ("file_data", "file_url", "file_id") if text_or(part.get(key))), "")
            if key and type(part.get("filename", "")) is str:
                _rest(part, index, extras, key, "filename")
                extras.setdefault(str(index), {})["as"] = key
                return Media(part[key], media_type=_media_type(part[key], ""), name=part.get("filename", ""))
        case _:
            pass
    return Opaque(f"{PART}{text_or(part.get('type'), 'part')}", data=part)


def _rest(part: dict[str, Any], index: int, extras: Extras, *known: str) -> None:
    rest = without(part, "type", *known)
    if rest:
        extras[str(index)] = rest


def _media_type(source: str, other: str) -> str:
    if not source.startswith(_DATA):
        return other
    return source[len(_DATA) : source.find(",", 0, 200)].partition(";")[0] or other


# ---------------------------------------------------------------------------------------------------------- out


def wire_content(content: Content, meta: JsonObject, lost: Counter[str]) -> str | list[dict[str, Any]]:
    """The content of a user message or of an output."""
    if isinstance(content, str):
        return content
    extras = extras_of(own(meta), "blocks")
    parts = [_wire(block, extras.get(str(index)), lost) for index, block in enumerate(content)]
    return [part for part in parts if part is not None]


def wire_text(block: Text, extra: object) -> dict[str, Any]:
    """A part of an assistant's message."""
    rest = extra if isinstance(extra, dict) else {}
    if rest.get("as") == "refusal":
        return {"type": "refusal", "refusal": block.text, **without(rest, "type", "refusal", "as")}
    return {"type": "output_text", "text": block.text, **without(rest, "type", "text", "as")}


def wire_call(call: ToolCall, call_id: str, arguments: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """The item of a call; a custom one takes free text."""
    rest = without(rest, "type", "call_id", "name", "arguments", "input")
    text = arguments_text(arguments)
    if rest.pop("custom", False) is True:
        return {"type": "custom_tool_call", "call_id": call_id, "name": call.name, "input": text, **rest}
    return {"type": "function_call", "call_id": call_id, "name": call.name, "arguments": text, **rest}


def _wire(block: Block | Thinking, extra: object, lost: Counter[str]) -> dict[str, Any] | None:
    rest = extra if isinstance(extra, dict) else {}
    match block:
        case Text():
            return {"type": "input_text", "text": block.text, **without(rest, "type", "text", "as")}
        case Media():
            wire = _wire_media(block, rest)
            lost["media_left_out"] += wire is None
            return wire
        case Opaque() if block.kind == f"{PART}input_audio":
            found: dict[str, Any] = thaw(block.data)
            return found
        case _:
            lost["opaque_left_out"] += 1
            return None


def _wire_media(media: Media, rest: dict[str, Any]) -> dict[str, Any] | None:
    source, key = media.source, rest.get("as")
    more = without(rest, "type", "as", "image_url", "file_id", "file_data", "file_url", "filename")
    remote = source.startswith(("http:", "https:"))
    if not source:
        return None
    if key is None and media.media_type.startswith("image/"):
        return {"type": "input_image", "image_url" if remote or source.startswith(_DATA) else "file_id": source, **more}
    if media.media_type.startswith(("audio/", "video/")):
        return None
    key = key if type(key) is str else "file_url" if remote else "file_data" if source.startswith(_DATA) else "file_id"
    named = {"filename": media.name} if media.name else {}
    return {"type": "input_file", key: source, **named, **more}
