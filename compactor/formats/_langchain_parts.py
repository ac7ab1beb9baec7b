"""Content blocks of LangChain messages ↔ our blocks. A block that has no noun goes and comes back whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compactor.messages import Block, Content, Media, Opaque, Text, Thinking, ToolCall
from compactor.plain import EMPTY, JsonObject, is_object, thaw

from ._shared import raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

LANGCHAIN: Final = "langchain"
"""The key of a message's metadata that holds what only this format knows."""
_OPAQUE: Final = "langchain:"
_DATA: Final = "data:"

Extras = dict[str, Any]


def own(meta: JsonObject) -> JsonObject:
    """The part of a message's metadata that belongs to this format."""
    found = meta.get(LANGCHAIN, EMPTY)
    return found if type(found) is JsonObject else EMPTY


def items_of(value: object) -> list[Any] | None:
    """The blocks of a content that is a list; a text is one block. None for a shape that is not known."""
    if value is None or value == "":
        return []
    if type(value) is str:
        return [value]
    return list(value) if type(value) is list or type(value) is tuple else None


def content_of(value: object, extras: Extras) -> Content | None:
    """The content of a message that calls nothing."""
    if value is None or type(value) is str:
        return value or ""
    items = items_of(value)
    if items:
        extras["list"] = True
    return None if items is None else tuple([plain_block(item, at, extras) for at, item in enumerate(items)])


def plain_block(item: Any, index: int, extras: Extras) -> Text | Media | Opaque:
    """A block that any message may hold."""
    if type(item) is str:
        _rest({"as": "text"}, index, extras)
        return Text(item)
    if not is_object(item):
        return Opaque(f"{_OPAQUE}block", data=raw_arguments(item))
    if item.get("type") == "text" and type(item.get("text")) is str:
        _rest(without(item, "type", "text"), index, extras)
        return Text(item["text"])
    found = _media(item)
    if found is not None:
        _rest({"as": item}, index, extras)
        return found
    return Opaque(f"{_OPAQUE}{text_or(item.get('type'), 'block')}", data=item)


def model_block(item: Any, index: int, extras: Extras) -> Block:
    """A block of what the model said."""
    if type(item) is str and "list" not in extras:
        return Text(item)
    if is_object(item):
        kind = item.get("type")
        if kind == "thinking" and type(item.get("thinking")) is str and type(item.get("signature", "")) is str:
            _rest(without(item, "type", "thinking", "signature"), index, extras)
            return Thinking(item["thinking"], signature=item.get("signature", ""))
        if kind == "redacted_thinking" and type(item.get("data")) is str:
            _rest(without(item, "type", "data"), index, extras)
            return Thinking("", signature=item["data"], redacted=True)
    return plain_block(item, index, extras)


def _media(item: dict[str, Any]) -> Media | None:
    """An image, audio or file, in any of the shapes that its time wrote it in."""
    kind = item.get("type")
    if kind == "image_url":
        inner = item.get("image_url")
        url = text_or(inner.get("url") if is_object(inner) else inner)
        return Media(url, media_type=_media_type(url, "image/*")) if url else None
    source: Any = item.get("source")
    if kind in ("image", "document") and is_object(source):
        item = {**source, "type": kind, "mime_type": source.get("media_type")}
    if kind not in ("image", "audio", "video", "file", "document"):
        return None
    other = "" if kind in ("file", "document") else f"{kind}/*"
    media_type = text_or(item.get("mime_type"), other)
    url, data = text_or(item.get("url")), text_or(item.get("base64")) or text_or(item.get("data"))
    if url:
        return Media(url, media_type=_media_type(url, media_type))
    if data:
        return Media(f"data:{media_type};base64,{data}", media_type=media_type)
    file = text_or(item.get("file_id")) or text_or(item.get("id"))
    return Media(file, media_type=media_type) if file else None


def _media_type(source: str, other: str) -> str:
    """The media type that a ``data:`` URL names."""
    if not source.startswith(_DATA):
        return other
    return source[len(_DATA) : source.find(",", 0, 200)].partition(";")[0] or other


def _rest(rest: dict[str, Any], index: int, extras: Extras) -> None:
    if rest:
        extras[str(index)] = rest


# ---------------------------------------------------------------------------------------------------------- out


def wire_content(blocks: Content | Sequence[Block], extras: dict[str, Any], lost: Counter[str]) -> str | list[Any]:
    """Write a content; calls are not part of it. What cannot be held is counted in *lost*."""
    if isinstance(blocks, str):
        return blocks
    found: list[Any] = []
    for index, block in enumerate(blocks):
        rest = extras.get(str(index))
        rest = rest if isinstance(rest, dict) else {}
        match block:
            case Text():
                plain = {"type": "text", "text": block.text, **without(rest, "type", "text")}
                found.append(block.text if rest == {"as": "text"} else plain)
            case Thinking():
                key = {"type": "redacted_thinking", "data": block.signature} if block.redacted else None
                found.append({**(key or {"type": "thinking", "thinking": block.text}), **rest})
                if block.signature and not block.redacted:
                    found[-1]["signature"] = block.signature
            case Media():
                found.append(rest["as"] if is_object(rest.get("as")) else _wire_media(block))
            case Opaque() if block.kind.startswith(_OPAQUE):
                found.append(thaw(block.data))
            case Opaque():
                lost["opaque_left_out"] += 1
            case ToolCall():
                pass
    if len(found) == 1 and (type(found[0]) is str or found[0].keys() == {"type", "text"}) and not extras:
        return str(found[0]["text"])
    return found or ""


def _wire_media(block: Media) -> dict[str, Any]:
    """A standard block; an image as the URL that every integration takes."""
    if block.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": block.source}}
    kind = block.media_type.partition("/")[0]
    found: dict[str, Any] = {"type": kind if kind in ("audio", "video") else "file"}
    if block.media_type:
        found["mime_type"] = block.media_type
    if block.source.startswith(_DATA):
        found |= {"base64": block.source.partition(",")[2]}
    elif block.source.startswith(("http:", "https:")):
        found |= {"url": block.source}
    else:
        found |= {"file_id": block.source}
    return found
