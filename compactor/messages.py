"""The frozen nouns of a conversation, and how they are written as plain data.

The public constructors take what a caller has and judge nothing: a noun is checked when it enters a transcript, by
the same reader as plain data. A repr shows ids, escaped and bounded, and sizes; never a content, because reprs end
up in logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

import attrs

from .errors import shown
from .plain import EMPTY, JsonObject, frozen_object

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_UNITS: Final = 6_400
"""What an image or a file costs when its owner says nothing: 1,600 tokens, a full-size image at the large providers,
at four code points each."""


def _size(value: object) -> str:
    """Describe a text or a collection in a repr without showing it."""
    kind = type(value)
    if kind is str or kind is tuple:
        return f"<{len(value)} {'characters' if kind is str else 'blocks'}>"  # type: ignore[arg-type]
    return "<…>"


def _keys(value: JsonObject) -> str:
    return f"<{len(value)} keys>"


def _id_shown(value: object) -> str:
    return "None" if value is None else shown(value)


def _meta(value: object) -> JsonObject:
    return EMPTY if value is None else frozen_object(value, "meta")


def _arguments(value: object) -> JsonObject:
    return EMPTY if value is None else frozen_object(value, "arguments")


def _data(value: object) -> JsonObject:
    return EMPTY if value is None else frozen_object(value, "data")


def _blocks(value: object) -> object:
    return tuple(value) if type(value) is list else value


def _said(value: object) -> object:
    return (Text(value),) if type(value) is str else _blocks(value)


_id: Any = attrs.field(default=None, kw_only=True, repr=_id_shown)
_metadata: Any = attrs.field(default=EMPTY, kw_only=True, converter=_meta, repr=_keys)


@attrs.frozen
class Text:
    """A text block. Units: 2 + length."""

    text: str = attrs.field(repr=_size)


@attrs.frozen
class ToolCall:
    """A call of tool *name*; *id* is the provider's. Units: 6 + id + name + the JSON size of *arguments*."""

    id: str = attrs.field(repr=shown)
    name: str = attrs.field(kw_only=True, repr=shown)
    arguments: JsonObject = attrs.field(default=EMPTY, kw_only=True, converter=_arguments, repr=_keys)


@attrs.frozen
class Thinking:
    """A model's reasoning, kept verbatim. A signed block goes back whole or not at all. Units: 2 + text + signature.

    For redacted thinking *text* is empty and *signature* holds the provider's opaque data.
    """

    text: str = attrs.field(repr=_size)
    signature: str = attrs.field(default="", kw_only=True, repr=_size)
    redacted: bool = attrs.field(default=False, kw_only=True)


@attrs.frozen
class Media:
    """An image or a file by reference: *source* is a URL, a ``data:`` URL or a provider's file id. Units: 2 + *cost*.

    *cost* is what the provider charges for it, not the length of the reference.
    """

    source: str = attrs.field(repr=_size)
    media_type: str = attrs.field(default="", kw_only=True, repr=shown)
    name: str = attrs.field(default="", kw_only=True, repr=_size)
    cost: int = attrs.field(default=MEDIA_UNITS, kw_only=True)


@attrs.frozen
class Opaque:
    """A provider's item that is carried and never interpreted. Units: 2 + kind + the JSON size of *data*."""

    kind: str = attrs.field(repr=shown)
    data: JsonObject = attrs.field(default=EMPTY, kw_only=True, converter=_data, repr=_keys)


Content: TypeAlias = str | tuple[Text | Media | Opaque, ...]
Block: TypeAlias = Text | ToolCall | Thinking | Media | Opaque


@attrs.frozen
class UserMessage:
    """What the user said: text, or blocks. Units: 4 + id + content."""

    content: Content = attrs.field(converter=_blocks, repr=_size)
    id: str | None = _id
    meta: JsonObject = _metadata


@attrs.frozen
class AssistantMessage:
    """What the model said and called: blocks; a bare string becomes one text block. Units: 4 + id + blocks."""

    content: tuple[Block, ...] = attrs.field(converter=_said, repr=_size)
    id: str | None = _id
    meta: JsonObject = _metadata

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of this message, in order."""
        return tuple([block for block in self.content if type(block) is ToolCall])


@attrs.frozen(init=False)
class ToolResult:
    """The answer to one tool call. Units: 7 + id + call id + tool name + content."""

    tool_call_id: str = attrs.field(repr=shown)
    tool_name: str = attrs.field(repr=shown)
    content: Content = attrs.field(converter=_blocks, repr=_size)
    is_error: bool = False
    id: str | None = _id
    meta: JsonObject = _metadata

    def __init__(
        self,
        call: ToolCall | str,
        content: Content | list[Text | Media | Opaque],
        is_error: bool = False,  # noqa: FBT002 - the public face says so
        *,
        tool_name: str = "",
        id: str | None = None,  # noqa: A002
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        """*call* is the ``ToolCall`` that is answered, or its id together with *tool_name*."""
        call_id, tool_name = (call.id, call.name) if type(call) is ToolCall else (call, tool_name)
        self.__attrs_init__(call_id, tool_name, content, is_error, id=id, meta=meta)  # type: ignore[arg-type]


Message: TypeAlias = UserMessage | AssistantMessage | ToolResult


def is_message(value: object) -> TypeGuard[Message]:
    """True for exactly the three nouns. Identity, because comparing a class calls its metaclass."""
    kind = type(value)
    return kind is UserMessage or kind is AssistantMessage or kind is ToolResult


def is_block(value: object) -> TypeGuard[Block]:
    """True for exactly the five blocks."""
    kind = type(value)
    return kind is Text or kind is ToolCall or kind is Thinking or kind is Media or kind is Opaque


@attrs.frozen
class Requirement:
    """A pinned rule or fact; never compacted. Units: 3 + id + content."""

    content: str = attrs.field(repr=_size)
    id: str | None = _id


@attrs.frozen
class Summary:
    """What stands for everything that was compacted. Units: 5 + id + content."""

    content: str = attrs.field(repr=_size)
    id: str | None = _id


@attrs.frozen
class TranscriptFault:
    """One broken rule: its name, the index of the message (-1: the whole transcript), and what to do."""

    rule: str
    index: int
    fix: str

    def __iter__(self) -> Any:
        return iter((self.rule, self.index, self.fix))


# ------------------------------------------------------------------------------------------------------- makers

# What attrs' constructors do, for values that were checked: no converter, and half the time. For the reader only.
_new: Final = object.__new__
_SET_TEXT: Final = Text.text.__set__  # type: ignore[attr-defined]
_SET_CALL: Final = tuple([getattr(ToolCall, name).__set__ for name in ("id", "name", "arguments")])
_SET_USER: Final = tuple([getattr(UserMessage, name).__set__ for name in ("content", "id", "meta")])
_SET_ASSISTANT: Final = tuple([getattr(AssistantMessage, name).__set__ for name in ("content", "id", "meta")])
_SET_RESULT: Final = tuple(
    [getattr(ToolResult, name).__set__ for name in ("tool_call_id", "tool_name", "content", "is_error", "id", "meta")]
)


def made_text(text: str) -> Text:
    """A text block of a checked text."""
    noun = _new(Text)
    _SET_TEXT(noun, text)
    return noun


def made_call(id_: str, name: str, arguments: JsonObject) -> ToolCall:
    """A tool call of checked parts."""
    noun, (set_id, set_name, set_arguments) = _new(ToolCall), _SET_CALL
    set_id(noun, id_)
    set_name(noun, name)
    set_arguments(noun, arguments)
    return noun


def made_user(content: Content, id_: str, meta: JsonObject) -> UserMessage:
    """A user message of checked parts."""
    noun, (set_content, set_id, set_meta) = _new(UserMessage), _SET_USER
    set_content(noun, content)
    set_id(noun, id_)
    set_meta(noun, meta)
    return noun


def made_assistant(content: tuple[Block, ...], id_: str, meta: JsonObject) -> AssistantMessage:
    """An assistant message of checked parts."""
    noun, (set_content, set_id, set_meta) = _new(AssistantMessage), _SET_ASSISTANT
    set_content(noun, content)
    set_id(noun, id_)
    set_meta(noun, meta)
    return noun


def made_result(call: str, name: str, content: Content, is_error: bool, id_: str, meta: JsonObject) -> ToolResult:
    """A tool result of checked parts."""
    noun, (set_call, set_name, set_content, set_error, set_id, set_meta) = _new(ToolResult), _SET_RESULT
    set_call(noun, call)
    set_name(noun, name)
    set_content(noun, content)
    set_error(noun, is_error)
    set_id(noun, id_)
    set_meta(noun, meta)
    return noun


# ---------------------------------------------------------------------------------------------------------- out


def block_to_plain(block: Block) -> dict[str, Any]:
    """Write a block as plain data in this project's own format."""
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case ToolCall():
            return {"type": "toolCall", "id": block.id, "name": block.name, "arguments": block.arguments}
        case Thinking():
            plain: dict[str, Any] = {"type": "thinking", "text": block.text}
            if block.signature:
                plain["signature"] = block.signature
            if block.redacted:
                plain["redacted"] = True
            return plain
        case Media():
            return {
                "type": "media",
                "source": block.source,
                "mediaType": block.media_type,
                "name": block.name,
                "cost": block.cost,
            }
        case Opaque():
            return {"type": "opaque", "kind": block.kind, "data": block.data}


def _content_plain(content: Any) -> Any:
    """Blocks become dicts where they are nouns; anything else is left for the reader to judge."""
    if type(content) is tuple:
        return [block_to_plain(block) if is_block(block) else block for block in content]
    return content


def message_to_plain(message: Message) -> dict[str, Any]:
    """Write a message as plain data in this project's own format; the rich reader is its inverse."""
    plain: dict[str, Any]
    match message:
        case UserMessage():
            plain = {"id": message.id, "role": "user", "content": _content_plain(message.content)}
        case AssistantMessage():
            plain = {"id": message.id, "role": "assistant", "content": _content_plain(message.content)}
        case ToolResult():
            plain = {
                "id": message.id,
                "role": "toolResult",
                "toolCallId": message.tool_call_id,
                "toolName": message.tool_name,
                "content": _content_plain(message.content),
                "isError": message.is_error,
            }
    if message.meta:
        plain["meta"] = message.meta
    return plain


def text_of(content: Content | tuple[Block, ...]) -> str:
    """The plain text of a content: text blocks joined by newlines, everything else left out."""
    if isinstance(content, str):
        return content
    return "\n".join([block.text for block in content if type(block) is Text])
