"""OpenAI chat content ↔ our blocks: text, images, audio, files, and what is not known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from compactor.errors import CompactionError, ErrorCode
from compactor.messages import Content, Media, Opaque, Text, Thinking, ToolCall
from compactor.plain import EMPTY, JsonObject, is_object, thaw

from ._shared import RAW, extras_of, kind_of, raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from compactor.messages import Block

OPENAI: Final = "openai"
"""The key of a message's metadata that holds what only this format knows."""

_OPAQUE: Final = "openai-chat:"
_DATA_URL: Final = "data:"


def content_of(value: object, where: str, *, shift: int = 0) -> tuple[Content, dict[str, Any]]:
    """Blocks of a content, and what parts hold beyond them (``{"parts": {index: rest}}``); *shift* blocks stand before."""
    if value is None:
        return "", {}
    if type(value) is str:
        return value, {}
    if type(value) is not list and type(value) is not tuple:
        raise CompactionError(
            ErrorCode.FORMAT_INVALID, f"needs a string or a list of parts, got {kind_of(value)}", where=where, fix="pass text"
        )
    extras: dict[str, Any] = {}
    blocks: list[Text | Media | Opaque] = []
    for index, part in enumerate(value):
        block, rest = _block(part, where)
        blocks.append(block)
        if rest:
            extras[str(index + shift)] = rest
    return tuple(blocks), ({"parts": extras} if extras else {})


def _block(part: Any, where: str) -> tuple[Text | Media | Opaque, dict[str, Any]]:
    if type(part) is str:
        return Text(part), {}
    if not is_object(part):
        raise CompactionError(
            ErrorCode.FORMAT_INVALID, f"holds a part that is {kind_of(part)}", where=where, fix="pass objects with a type"
        )
    kind, rest = part.get("type"), without(part, "type")
    inner: Any = rest.pop(kind, None) if type(kind) is str else None
    match kind:
        case "text" if type(inner) is str:
            return Text(inner), rest
        case "image_url" if is_object(inner) and text_or(inner.get("url")):
            url = inner["url"]
            media = Media(url, media_type=_media_type(url, "image/*"))
            return media, {**rest, **_inner(inner, "url")}
        case "input_audio" if is_object(inner) and type(inner.get("data")) is str and text_or(inner.get("format")):
            kind_ = f"audio/{inner['format']}"
            return Media(f"data:{kind_};base64,{inner['data']}", media_type=kind_), {**rest, **_inner(inner, "data", "format")}
        case "file" if is_object(inner):
            source = text_or(inner.get("file_data")) or text_or(inner.get("file_id"))
            if source and type(inner.get("filename", "")) is str:
                key = "file_data" if text_or(inner.get("file_data")) else "file_id"
                media = Media(source, media_type=_media_type(source, ""), name=inner.get("filename", ""))
                return media, {**rest, **_inner(inner, key, "filename"), "as": key}
        case _:
            pass
    return Opaque(f"{_OPAQUE}{text_or(kind, 'part')}", data=part), {}


def _inner(inner: dict[str, Any], *known: str) -> dict[str, Any]:
    rest = without(inner, *known)
    return {"inner": rest} if rest else {}


def _media_type(source: str, other: str) -> str:
    """The media type that a ``data:`` URL names."""
    if not source.startswith(_DATA_URL):
        return other
    return source[len(_DATA_URL) : source.find(",", 0, 200)].partition(";")[0] or other


def parts_of(
    content: Content | tuple[Block, ...],
    meta: JsonObject,
    lost: Counter[str],
    *,
    at: Sequence[int] | None = None,
    assistant: bool = False,
) -> str | list[dict[str, Any]]:
    """Write a content; *at* gives the blocks' indices in their message. What cannot be held is counted in *lost*."""
    if isinstance(content, str):
        return content
    extras = extras_of(extras_of_openai(meta), "parts")
    parts: list[dict[str, Any]] = []
    for position, block in enumerate(content):
        rest = extras.get(str(at[position] if at is not None else position), {})
        rest = rest if isinstance(rest, dict) else {}
        match block:
            case Text():
                parts.append({"type": "text", "text": block.text, **without(rest, "type", "text")})
            case Media():
                part = None if assistant else _media_part(block, rest)
                if part is None:
                    lost["media_left_out"] += 1
                else:
                    parts.append(part)
            case Opaque():
                if block.kind.startswith(_OPAQUE) and text_or(block.data.get("type"), "text") != "text":
                    parts.append(thaw(block.data))
                else:
                    lost["opaque_left_out"] += 1
            case Thinking() | ToolCall():
                continue
    return parts or ""


def extras_of_openai(meta: JsonObject) -> JsonObject:
    """The part of a message's metadata that belongs to this format."""
    found = meta.get(OPENAI, EMPTY)
    return found if type(found) is JsonObject else EMPTY


def _media_part(media: Media, rest: dict[str, Any]) -> dict[str, Any] | None:
    inner = rest.get("inner", {})
    inner = inner if isinstance(inner, dict) else {}
    outer = without(rest, "inner", "as", "type", "image_url", "input_audio", "file")
    source, kind = media.source, media.media_type
    payload = source.partition(";base64,")[2] if source.startswith(_DATA_URL) else ""
    if "as" not in rest and kind.startswith("audio/") and payload:
        sound = {"data": payload, "format": kind.removeprefix("audio/"), **inner}
        return {"type": "input_audio", "input_audio": sound, **outer}
    if "as" not in rest and kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": source, **inner}, **outer}
    if not source or source.startswith(("http:", "https:")):
        return None
    key = rest.get("as") or ("file_data" if payload else "file_id")
    named = {"filename": media.name} if media.name else {}
    return {"type": "file", "file": {str(key): source, **named, **inner}, **outer}


# ---------------------------------------------------------------------------------------------------- arguments


def read_arguments(value: object, *, as_text: bool = False) -> tuple[dict[str, Any], bool]:
    """The arguments of a call; text that is no JSON object is kept as ``{"$raw": text}``, which the second value says."""
    if is_object(value):
        return value, False
    if type(value) is not str or as_text:
        return raw_arguments(value), True
    try:
        parsed = json.loads(value, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return raw_arguments(value), True
    # An object that looks like our mark is kept as text, so that it is written back as it came.
    if type(parsed) is not dict or _is_mark(parsed) or not _is_small(parsed):
        return raw_arguments(value), True
    return parsed, False


def arguments_text(arguments: dict[str, Any]) -> str:
    """Write arguments as the format's JSON text; the inverse of ``read_arguments``."""
    if _is_mark(arguments):
        return str(arguments[RAW])
    return json.dumps(arguments, ensure_ascii=False, allow_nan=False)


def _is_mark(arguments: dict[str, Any]) -> bool:
    return len(arguments) == 1 and type(arguments.get(RAW)) is str


def _refuse(_text: str) -> float:
    raise ValueError


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _is_small(value: Any, depth: int = 0) -> bool:
    """True when the nouns can hold the value: not nested too deeply, no integer beyond a double."""
    if depth > 100:
        return False
    if type(value) is dict:
        return all(_is_small(item, depth + 1) for item in value.values())
    if type(value) is list:
        return all(_is_small(item, depth + 1) for item in value)
    if type(value) is int:
        return abs(value) < 10**308
    return True
