"""Anthropic's content blocks ↔ ours. What only this format knows stays in a message's metadata under ``anthropic``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compactor.messages import Block, Content, Media, Opaque, Text, Thinking, ToolCall, ToolResult
from compactor.plain import EMPTY, JsonObject, is_blank, is_object, thaw

from ._reply import pruned
from ._shared import RAW, extras_of, metadata, raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

ANTHROPIC: Final = "anthropic"
OPAQUE: Final = "anthropic:"
_OURS: Final = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result")
"""Types that have a noun: what is opaque under such a name is broken, and would break a request."""
_DATA: Final = "data:"

Extras = dict[str, Any]


# ----------------------------------------------------------------------------------------------------------- in


def plain_content(value: object, extras: Extras) -> Content | None:
    """The content of a user message or a tool result: text or blocks; None for a shape that is not known."""
    if value is None:
        return ""
    if type(value) is str:
        return value
    if type(value) is not list and type(value) is not tuple:
        return None
    return tuple([plain_block(block, index, extras) for index, block in enumerate(value)])


def plain_block(block: Any, index: int, extras: Extras) -> Text | Media | Opaque:
    """A block that anybody may send; *extras* takes what the noun does not hold, by index."""
    if type(block) is str:
        return Text(block)
    if not is_object(block):
        return Opaque(f"{OPAQUE}block", data=raw_arguments(block))
    kind = block.get("type")
    if kind == "text" and type(block.get("text")) is str:
        _rest(block, index, extras, "text")
        return Text(block["text"])
    if kind in ("image", "document"):
        media = _media(block, kind)
        if media is not None:
            _rest(block, index, extras, "source", "title")
            if kind == "document":
                extras.setdefault(str(index), {})["as"] = kind
            return media
    return Opaque(f"{OPAQUE}{text_or(kind, 'block')}", data=block)


def assistant_block(block: Any, index: int, extras: Extras, call_id: str = "") -> Block:
    """A block that a model said; *call_id* is used for a call without an id."""
    if not is_object(block):
        return plain_block(block, index, extras)
    kind = block.get("type")
    if kind == "thinking" and type(block.get("thinking")) is str and type(block.get("signature", "")) is str:
        _rest(block, index, extras, "thinking", "signature")
        return Thinking(block["thinking"], signature=block.get("signature", ""))
    if kind == "redacted_thinking" and type(block.get("data")) is str:
        _rest(block, index, extras, "data")
        return Thinking("", signature=block["data"], redacted=True)
    if kind == "tool_use" and text_or(block.get("name")) and text_or(block.get("id"), call_id):
        given = block.get("input")
        _rest(block, index, extras, "id", "name", "input")
        return ToolCall(
            text_or(block.get("id"), call_id),
            name=block["name"],
            arguments=given if is_object(given) else {} if given is None else raw_arguments(given),
        )
    return plain_block(block, index, extras)


def result_of(
    block: dict[str, Any], tool_name: str, id_: str | None, call_id: str, more: Mapping[str, Any] = EMPTY
) -> ToolResult:
    """The noun of a tool_result block."""
    extras: Extras = {}
    content = plain_content(block.get("content"), extras)
    rest = pruned(without(block, "type", "tool_use_id", "content", "is_error"))
    if content is None:
        rest["content"], content = block.get("content"), ""
    meta = metadata(more, noted(extras, rest))
    return ToolResult(call_id, content, block.get("is_error") is True, tool_name=tool_name, id=id_, meta=meta)


def noted(extras: Extras, rest: Mapping[str, Any] = EMPTY) -> dict[str, Any]:
    """The metadata of this format; empty when there is nothing to say."""
    found = {**({"blocks": extras} if extras else {}), **({"extra": dict(rest)} if rest else {})}
    return {ANTHROPIC: found} if found else {}


def _rest(block: dict[str, Any], index: int, extras: Extras, *known: str) -> None:
    rest = pruned(without(block, "type", *known))
    if rest:
        extras[str(index)] = rest


def _media(block: dict[str, Any], kind: str) -> Media | None:
    source: Any = block.get("source")
    title: Any = block.get("title")
    if not is_object(source) or type(title) not in (str, type(None)):
        return None
    name, other = title or "", "image/*" if kind == "image" else ""
    match source:
        case {"type": "base64", "media_type": str(type_), "data": str(data)} if len(source) == 3 and not is_blank(type_):
            return Media(f"{_DATA}{type_};base64,{data}", media_type=type_, name=name)
        case {"type": "url", "url": str(url)} if len(source) == 2 and url.startswith(("http:", "https:")):
            return Media(url, media_type=other, name=name)
        case {"type": "file", "file_id": str(file)} if len(source) == 2 and not file.startswith(("http:", "https:", _DATA)):
            return Media(file, media_type=other, name=name)
        case _:
            return None


# ---------------------------------------------------------------------------------------------------------- out


def is_empty(text: str) -> bool:
    """True for a text that an endpoint refuses as empty."""
    return not text.strip() or is_blank(text)


def wire_content(content: Content, meta: JsonObject, lost: Counter[str]) -> list[dict[str, Any]]:
    """The blocks of a user message or a tool result; text without words is left out."""
    if isinstance(content, str):
        return [] if is_empty(content) else [{"type": "text", "text": content}]
    extras = extras_of(_own(meta), "blocks")
    out = [_wire_plain(block, extras.get(str(index)), lost) for index, block in enumerate(content)]
    return [block for block in out if block is not None]


def wire_said(content: tuple[Block, ...], meta: JsonObject, ids: dict[str, str], lost: Counter[str]) -> list[dict[str, Any]]:
    """The blocks of an assistant message. Thinking goes back as it came, or none of the message's does."""
    extras = extras_of(_own(meta), "blocks")
    keeps = not _is_foreign(meta) and all(block.signature for block in content if type(block) is Thinking)
    out: list[dict[str, Any]] = []
    for index, block in enumerate(content):
        rest = _object(extras.get(str(index)))
        match block:
            case ToolCall():
                out.append({"type": "tool_use", "id": ids[block.id], "name": block.name, "input": _input(block), **rest})
            case Thinking() if keeps and block.redacted:
                out.append({"type": "redacted_thinking", "data": block.signature, **rest})
            case Thinking() if keeps:
                out.append({"type": "thinking", "thinking": block.text, "signature": block.signature, **rest})
            case Thinking():
                lost["thinking_left_out"] += 1
            case Media():
                lost["media_left_out"] += 1
            case Opaque() if block.data.get("type") in ("image", "document"):
                lost["opaque_left_out"] += 1
            case _:
                wire = _wire_plain(block, rest, lost)
                out += [] if wire is None else [wire]
    if out and out[-1]["type"] in ("thinking", "redacted_thinking"):
        # Broken off in thought: an endpoint takes no message that ends there.
        lost["thinking_left_out"] += sum([block["type"] in ("thinking", "redacted_thinking") for block in out])
        out = [block for block in out if block["type"] not in ("thinking", "redacted_thinking")]
    return out


def extra_of(meta: JsonObject) -> dict[str, Any]:
    """The keys that a tool result of this format came with."""
    return without(extras_of(_own(meta), "extra"), "type", "tool_use_id", "content", "is_error")


def _is_foreign(meta: JsonObject) -> bool:
    """True when another provider's model is known to have thought this."""
    api, provider = meta.get("api"), meta.get("provider")
    return (type(api) is str and not api.startswith(ANTHROPIC)) or (type(provider) is str and provider.startswith("openai"))


def _own(meta: JsonObject) -> JsonObject:
    found = meta.get(ANTHROPIC, EMPTY)
    return found if type(found) is JsonObject else EMPTY


def _object(value: object) -> dict[str, Any]:
    return without(value, "type", "id", "name", "input", "as") if isinstance(value, dict) else {}


def _input(call: ToolCall) -> dict[str, Any]:
    """A tool's input is an object here; arguments that came as text stay under their mark."""
    found: dict[str, Any] = thaw(call.arguments)
    inner = found.get(RAW)
    return inner if len(found) == 1 and isinstance(inner, dict) else found


def _wire_plain(block: Block, extra: object, lost: Counter[str]) -> dict[str, Any] | None:
    rest = extra if isinstance(extra, dict) else {}
    match block:
        case Text():
            return None if is_empty(block.text) else {"type": "text", "text": block.text, **without(rest, "type", "text", "as")}
        case Media():
            wire = _wire_media(block, rest)
            lost["media_left_out"] += wire is None
            return wire
        case Opaque() if block.kind.startswith(OPAQUE) and text_or(block.data.get("type"), "text") not in _OURS:
            found: dict[str, Any] = thaw(block.data)
            return found
        case _:
            lost["opaque_left_out"] += 1
            return None


def _wire_media(media: Media, rest: dict[str, Any]) -> dict[str, Any] | None:
    source, type_ = media.source, media.media_type
    kind = "document" if rest.get("as") == "document" or not type_.startswith("image/") else "image"
    if source.startswith(_DATA):
        head, _, data = source.partition(";base64,")
        type_ = head.removeprefix(_DATA)
        if not data or (kind == "document" and rest.get("as") != "document" and type_ != "application/pdf"):
            return None
        wire: dict[str, Any] = {"type": "base64", "media_type": type_, "data": data}
    elif source.startswith(("http:", "https:")):
        wire = {"type": "url", "url": source}
    elif source.startswith("file_") or rest.get("as") or type_ == "image/*":
        wire = {"type": "file", "file_id": source}
    else:
        return None
    named = {"title": media.name} if media.name and kind == "document" else {}
    return {"type": kind, "source": wire, **named, **without(rest, "type", "source", "title", "as")}
