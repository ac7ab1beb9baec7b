"""The frozen nouns of a conversation, the one reader that makes them, and the pairing rules of a transcript.

Plain data (camelCase keys, as parsed from JSON) and the nouns of this module are read by the same function. What
real sessions hold beyond the plain subset (thinking, media, provider items, blocks in user messages and tool
results, metadata) exists as nouns and in this project's own file format; in plain data it is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

import attrs

from .errors import CompactionError, ErrorCode, kind_name, shown
from .plain import BLANK, EMPTY, MISSING, SESSION_LIMITS, Faulty, JsonObject, Limits, Tally, frozen_object, is_object, limit_error

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Mapping, Sequence

MEDIA_UNITS: Final = 6_400
"""What an image or a file costs when its owner says nothing: 1,600 tokens, a full-size image at the large providers,
at four code points each."""


def _size(value: object) -> str:
    """Describe a text or a collection in a repr without showing it: reprs end up in logs."""
    return f"<{len(value)} {'characters' if isinstance(value, str) else 'blocks'}>" if isinstance(value, str | tuple) else "<…>"


def _meta(value: object) -> JsonObject:
    return EMPTY if value is None else frozen_object(value)


def _blocks(value: object) -> object:
    return tuple(value) if type(value) is list else value


def _said(value: object) -> object:
    return (Text(value),) if type(value) is str else _blocks(value)


_id: Any = attrs.field(default=None, kw_only=True)
_metadata: Any = attrs.field(default=EMPTY, kw_only=True, converter=_meta, repr=lambda meta: f"<{len(meta)} keys>")


@attrs.frozen
class Text:
    """A text block. Units: 2 + length."""

    text: str = attrs.field(repr=_size)


@attrs.frozen
class ToolCall:
    """A call of tool *name*; *id* is the provider's. Units: 6 + id + name + the JSON size of *arguments*."""

    id: str
    name: str = attrs.field(kw_only=True)
    arguments: JsonObject = attrs.field(default=EMPTY, kw_only=True, converter=_meta, repr=lambda value: f"<{len(value)} keys>")


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
    media_type: str = attrs.field(default="", kw_only=True)
    name: str = attrs.field(default="", kw_only=True, repr=_size)
    cost: int = attrs.field(default=MEDIA_UNITS, kw_only=True)


@attrs.frozen
class Opaque:
    """A provider's item that is carried and never interpreted. Units: 2 + kind + the JSON size of *data*."""

    kind: str
    data: JsonObject = attrs.field(default=EMPTY, kw_only=True, converter=_meta, repr=lambda value: f"<{len(value)} keys>")


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

    tool_call_id: str
    tool_name: str
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


# ---------------------------------------------------------------------------------------------------------- out


def _block_plain(block: Block) -> dict[str, Any]:
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
        return [_block_plain(block) if is_block(block) else block for block in content]
    return content


def message_to_plain(message: Message) -> dict[str, Any]:
    """Write a message as plain data in this project's own format; ``read_messages(rich=True)`` is its inverse."""
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


# --------------------------------------------------------------------------------------------------------- read

Rule = str
_FIXES: Final[dict[Rule, str]] = {
    "INVALID_TRANSCRIPT": "pass a list of messages",
    "INVALID_MESSAGE": "give the message the shape of its role",
    "EMPTY_TOOL_NAME": "name the tool with a string that is not blank",
    "INVALID_TOOL_ARGUMENTS": "pass a JSON object of finite numbers",
    "DUPLICATE_TOOL_CALL_ID": "give each tool call an id of its own",
    "DUPLICATE_TOOL_RESULT": "keep one result for each tool call",
    "ORPHAN_TOOL_RESULT": "drop the result, or put its call before it",
    "TOOL_RESULT_BEFORE_CALL": "put the result after its call",
    "TOOL_NAME_MISMATCH": "give the result the tool name of its call",
    "MISSING_TOOL_RESULT": "append the result, or close the call",
}


# What attrs' constructors do, for values that were checked here: no converter, and half the time.
_new: Final = object.__new__
_SET_TEXT: Final = Text.text.__set__  # type: ignore[attr-defined]
_SET_CALL: Final = tuple([getattr(ToolCall, name).__set__ for name in ("id", "name", "arguments")])
_SET_USER: Final = tuple([getattr(UserMessage, name).__set__ for name in ("content", "id", "meta")])
_SET_ASSISTANT: Final = tuple([getattr(AssistantMessage, name).__set__ for name in ("content", "id", "meta")])
_SET_RESULT: Final = tuple(
    [getattr(ToolResult, name).__set__ for name in ("tool_call_id", "tool_name", "content", "is_error", "id", "meta")]
)


def _user(content: Content, id_: str, meta: JsonObject) -> UserMessage:
    noun, (set_content, set_id, set_meta) = _new(UserMessage), _SET_USER
    set_content(noun, content)
    set_id(noun, id_)
    set_meta(noun, meta)
    return noun


def _assistant(content: tuple[Block, ...], id_: str, meta: JsonObject) -> AssistantMessage:
    noun, (set_content, set_id, set_meta) = _new(AssistantMessage), _SET_ASSISTANT
    set_content(noun, content)
    set_id(noun, id_)
    set_meta(noun, meta)
    return noun


def _result(call: str, name: str, content: Content, is_error: bool, id_: str, meta: JsonObject) -> ToolResult:
    noun, (set_call, set_name, set_content, set_error, set_id, set_meta) = _new(ToolResult), _SET_RESULT
    set_call(noun, call)
    set_name(noun, name)
    set_content(noun, content)
    set_error(noun, is_error)
    set_id(noun, id_)
    set_meta(noun, meta)
    return noun


class Reading:
    """One pass over messages: what was read, the links for the pairing check, and what to do about a fault.

    With ``collect`` set, faults are gathered and reading goes on; else the first one is raised.
    """

    __slots__ = ("calls", "collect", "count", "messages", "results", "rich", "tally")

    def __init__(self, tally: Tally, *, rich: bool = False, collect: list[TranscriptFault] | None = None) -> None:
        self.tally = tally
        self.count = tally.count
        self.rich = rich
        self.collect = collect
        self.messages: list[Message] = []
        self.calls: list[tuple[str, str | None, int]] = []
        self.results: list[tuple[str, str | None, int]] = []

    def fault(self, rule: Rule, index: int, where: str, what: str) -> None:
        """Gather the fault, or raise it as INVALID_TRANSCRIPT."""
        if self.collect is None:
            place = f"messages[{index}]{where}" if index >= 0 else "messages"
            raise CompactionError(ErrorCode.INVALID_TRANSCRIPT, f"{what} [{rule}]", where=place, fix=_FIXES[rule])
        self.collect.append(TranscriptFault(rule, index, f"{where.lstrip('.')} {what}; {_FIXES[rule]}".lstrip()))

    def message(self, value: object, index: int) -> None:
        """Read one message at *index*, in the order that the rules demand: role, id, then by role."""
        rich = self.rich
        if type(value) is not dict and is_message(value):
            value, rich = message_to_plain(value), True
        elif not is_object(value):
            self.fault("INVALID_MESSAGE", index, "", f"needs a plain object, got {kind_name(value)}")
            return
        plain: dict[str, Any] = value  # type: ignore[assignment]
        role = plain.get("role", MISSING)
        if role is MISSING:
            self.fault("INVALID_MESSAGE", index, ".role", "is missing")
            return
        id_ = plain.get("id")
        if type(id_) is not str or not self.count(id_, "messages[].id").strip(BLANK):
            self.fault("INVALID_MESSAGE", index, ".id", "needs a string that is not blank")
            return
        reader = _READERS.get(role) if type(role) is str else None
        if reader is None:
            self.fault("INVALID_MESSAGE", index, ".role", f"is {shown(role)}, not one of user, assistant, toolResult")
            return
        meta = EMPTY
        if rich and "meta" in plain:
            meta = self._object(plain["meta"], "INVALID_MESSAGE", index, ".meta")
        reader(self, plain, index, id_, meta, rich)

    def _object(self, value: object, rule: Rule, index: int, name: str) -> JsonObject:
        """Read a JSON object; a faulty one is reported and read as empty."""
        if type(value) is not dict and type(value) is not JsonObject:
            self.fault(rule, index, name, f"needs a JSON object, got {kind_name(value)}")
            return EMPTY
        try:
            return self.tally.json(value, name)  # type: ignore[no-any-return]
        except Faulty:
            self.fault(rule, index, name, "holds a value that is not JSON")
            return EMPTY

    def _text(self, value: object, index: int, name: str) -> str:
        if type(value) is str:
            return self.count(value, name)
        self.fault("INVALID_MESSAGE", index, name, f"needs a string, got {kind_name(value)}")
        return ""

    def _name(self, value: object, index: int, name: str) -> str | None:
        if type(value) is str and self.count(value, name).strip(BLANK):
            return value
        self.fault("EMPTY_TOOL_NAME", index, name, "needs a tool name that is not blank")
        return None

    def _content(self, value: object, index: int, rich: bool) -> Content:
        """Read the content of a user message or a tool result: text, or in rich data blocks without calls."""
        if rich and type(value) in (list, tuple):
            blocks = self._block_list(value, index, rich)
            for block in blocks:
                if type(block) is ToolCall or type(block) is Thinking:
                    self.fault("INVALID_MESSAGE", index, ".content", "holds a block that only an assistant sends")
            return blocks  # type: ignore[return-value]
        return self._text(value, index, ".content")

    def _block_list(self, value: object, index: int, rich: bool) -> tuple[Block, ...]:
        items: Sequence[object] = value  # type: ignore[assignment]
        self.tally.take(len(items), "messages[].content")
        block = self._block
        blocks = [block(item, index, rich) for item in items]
        return tuple(blocks if self.collect is None else [block for block in blocks if block is not None])  # type: ignore[arg-type]

    def _block(self, value: object, index: int, rich: bool) -> Block | None:
        """Read one block; None where it is faulty and faults are being collected."""
        if type(value) is not dict and is_block(value):
            value, rich = _block_plain(value), True
        elif not is_object(value):
            self.fault("INVALID_MESSAGE", index, ".content[]", f"needs a plain object, got {kind_name(value)}")
            return None
        plain: dict[str, Any] = value  # type: ignore[assignment]
        kind = plain.get("type", MISSING)
        if type(kind) is str:
            if kind == "text":
                text = plain.get("text", MISSING)
                noun = _new(Text)
                _SET_TEXT(noun, self.count(text, "text") if type(text) is str else self._text(text, index, ".content[].text"))
                return noun
            if kind == "toolCall":
                return self._call(plain, index)
            if rich and kind in _RICH_BLOCKS:
                return _RICH_BLOCKS[kind](self, plain, index)
        self.fault("INVALID_MESSAGE", index, ".content[].type", f"is {shown(kind)}, not one of text, toolCall")
        return None

    def _call(self, plain: dict[str, Any], index: int) -> ToolCall | None:
        id_ = plain.get("id")
        if type(id_) is not str or not self.count(id_, "content[].id").strip(BLANK):
            self.fault("INVALID_MESSAGE", index, ".content[].id", "needs a string that is not blank")
            return None
        name = self._name(plain.get("name"), index, ".content[].name")
        arguments = self._object(plain.get("arguments", MISSING), "INVALID_TOOL_ARGUMENTS", index, ".content[].arguments")
        self.calls.append((id_, name, index))
        noun, (set_id, set_name, set_arguments) = _new(ToolCall), _SET_CALL
        set_id(noun, id_)
        set_name(noun, name or "")
        set_arguments(noun, arguments)
        return noun

    def read_thinking(self, plain: dict[str, Any], index: int) -> Thinking:
        text = self._text(plain.get("text"), index, ".content[].text")
        signature = self._text(plain.get("signature", ""), index, ".content[].signature")
        return Thinking(text, signature=signature, redacted=plain.get("redacted") is True)

    def read_media(self, plain: dict[str, Any], index: int) -> Media:
        source, media_type, name = (
            self._text(plain.get(key, ""), index, f".content[].{key}") for key in ("source", "mediaType", "name")
        )
        cost = plain.get("cost", MEDIA_UNITS)
        if type(cost) is not int or not 0 <= cost <= self.tally.limits.units:
            self.fault("INVALID_MESSAGE", index, ".content[].cost", "needs a whole number of units")
            cost = MEDIA_UNITS
        return Media(source, media_type=media_type, name=name, cost=cost)

    def read_opaque(self, plain: dict[str, Any], index: int) -> Opaque:
        kind = self._text(plain.get("kind"), index, ".content[].kind")
        return Opaque(kind, data=self._object(plain.get("data", EMPTY), "INVALID_MESSAGE", index, ".content[].data"))

    def read_user(self, plain: dict[str, Any], index: int, id_: str, meta: JsonObject, rich: bool) -> None:
        content = plain.get("content", MISSING)
        content = self.count(content, "content") if type(content) is str else self._content(content, index, rich)
        self.messages.append(_user(content, id_, meta))

    def read_assistant(self, plain: dict[str, Any], index: int, id_: str, meta: JsonObject, rich: bool) -> None:
        content = plain.get("content", MISSING)
        if type(content) is not list and type(content) is not tuple:
            self.fault("INVALID_MESSAGE", index, ".content", f"needs an array of blocks, got {kind_name(content)}")
            return
        self.messages.append(_assistant(self._block_list(content, index, rich), id_, meta))

    def read_result(self, plain: dict[str, Any], index: int, id_: str, meta: JsonObject, rich: bool) -> None:
        call_id = plain.get("toolCallId")
        if type(call_id) is not str or not self.count(call_id, "messages[].toolCallId").strip(BLANK):
            self.fault("INVALID_MESSAGE", index, ".toolCallId", "needs a string that is not blank")
            return
        name = self._name(plain.get("toolName"), index, ".toolName")
        content = plain.get("content", MISSING)
        content = self.count(content, "content") if type(content) is str else self._content(content, index, rich)
        is_error = plain.get("isError")
        if type(is_error) is not bool:
            self.fault("INVALID_MESSAGE", index, ".isError", f"needs true or false, got {kind_name(is_error)}")
            is_error = False
        self.results.append((call_id, name, index))
        self.messages.append(_result(call_id, name or "", content, is_error, id_, meta))


_READERS: Final[dict[str, Callable[..., None]]] = {
    "user": Reading.read_user,
    "assistant": Reading.read_assistant,
    "toolResult": Reading.read_result,
}
_RICH_BLOCKS: Final[dict[str, Callable[..., Block]]] = {
    "thinking": Reading.read_thinking,
    "media": Reading.read_media,
    "opaque": Reading.read_opaque,
}


# ------------------------------------------------------------------------------------------------------ pairing


def _duplicates(reading: Reading) -> list[TranscriptFault]:
    """Duplicate call ids and duplicate results, in message order."""
    found: list[TranscriptFault] = []
    for rule, links in (("DUPLICATE_TOOL_CALL_ID", reading.calls), ("DUPLICATE_TOOL_RESULT", reading.results)):
        seen: set[str] = set()
        for id_, _name, index in links:
            if id_ in seen:
                found.append(TranscriptFault(rule, index, f"messages[{index}]: call id {shown(id_)} again; {_FIXES[rule]}"))
            seen.add(id_)
    found.sort(key=lambda fault: fault.index)
    return found


def _pairing(reading: Reading, *, live: bool) -> list[TranscriptFault]:
    """What is wrong between calls and results; *live* allows calls that wait for their result."""
    calls: dict[str, tuple[str | None, int]] = {}
    for id_, name, index in reading.calls:
        calls.setdefault(id_, (name, index))
    found: list[TranscriptFault] = []
    judged: set[str] = set()
    answered: set[str] = set()
    for id_, name, index in reading.results:
        call = calls.get(id_)
        if call is not None and index > call[1]:
            answered.add(id_)
        if id_ in judged:
            continue
        judged.add(id_)
        if call is None:
            rule = "ORPHAN_TOOL_RESULT"
        elif index <= call[1]:
            rule = "TOOL_RESULT_BEFORE_CALL"
        elif name is not None and call[0] is not None and name != call[0]:
            rule = "TOOL_NAME_MISMATCH"
        else:
            continue
        found.append(TranscriptFault(rule, index, f"messages[{index}]: result for call {shown(id_)}; {_FIXES[rule]}"))
    if not live:
        rule = "MISSING_TOOL_RESULT"
        found += [
            TranscriptFault(rule, index, f"messages[{index}]: call {shown(id_)} has no result; {_FIXES[rule]}")
            for id_, (_name, index) in calls.items()
            if id_ not in answered
        ]
    return found


def read_messages(
    value: object,
    tally: Tally,
    *,
    rich: bool = False,
    live: bool = False,
    collect: list[TranscriptFault] | None = None,
    marks: tuple[array[int], array[int]] | None = None,
) -> Reading:
    """Read a transcript; pairing is judged only after every message was read, so that a late limit beats an early orphan.

    *marks* receives the running counters (items, code points) after each message.
    """
    reading = Reading(tally, rich=rich, collect=collect)
    if type(value) is not list and type(value) is not tuple:
        reading.fault("INVALID_TRANSCRIPT", -1, "", f"needs an array, got {kind_name(value)}")
        return reading
    if len(value) > tally.limits.messages:
        raise limit_error("messages", "messages", len(value), tally.limits.messages)
    tally.take(len(value), "messages")
    items, chars = tally.items - 1, tally.chars
    for index, item in enumerate(value):
        reading.message(item, index)
        if marks is not None:
            marks[0].append(tally.items - items + index)
            marks[1].append(tally.chars - chars)
    if collect is None:
        if not reading.calls and not reading.results:
            return reading
        for fault in [*_duplicates(reading), *_pairing(reading, live=live)]:
            raise CompactionError(ErrorCode.INVALID_TRANSCRIPT, f"{fault.fix} [{fault.rule}]")
    else:
        collect += _duplicates(reading)
        collect.sort(key=lambda fault: fault.index)
        collect += _pairing(reading, live=live)
    return reading


def read_one(value: object, limits: Limits = SESSION_LIMITS) -> tuple[Message, Tally]:
    """Read one message on its own, rich, without any pairing check, and say what it counts."""
    tally = Tally(limits)
    reading = Reading(tally, rich=True)
    tally.take(1, "messages")
    reading.message(value, 0)
    return reading.messages[0], tally


def text_of(content: Content | tuple[Block, ...]) -> str:
    """The plain text of a content: text blocks joined by newlines, everything else left out."""
    if isinstance(content, str):
        return content
    return "\n".join([block.text for block in content if type(block) is Text])
