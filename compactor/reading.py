"""The one reader: untrusted plain data and nouns in, frozen nouns and what they count and cost out.

Here messages are judged, in the exact order of the rules. Nearly all of them are everyday data that ``everyday``
accepts without a judgement; what it gives up on is read here from the start. Whatever it accepts, this reader would
have read the same (a property test compares them).

No method of a foreign object is ever called: types are compared by identity before a value is compared, hashed or
measured, and the keys of a dict are looked at before any lookup.

Plain data of the plain subset is always read. What real sessions hold beyond it (thinking, media, provider items,
blocks in user messages and tool results, metadata) is read from nouns, and from plain data where ``rich`` is set.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final

from .errors import CompactionError, ErrorCode, kind_name, shown
from .everyday import Unusual, everyday
from .messages import (
    MEDIA_UNITS,
    Block,
    Content,
    Media,
    Message,
    Opaque,
    Thinking,
    ToolCall,
    TranscriptFault,
    block_to_plain,
    is_block,
    is_message,
    made_assistant,
    made_call,
    made_result,
    made_text,
    made_user,
    message_to_plain,
)
from .pairing import FIXES, Link, Rule, duplicate_faults, pairing_faults, transcript_error, well_paired
from .plain import (
    BLANK,
    EMPTY,
    MISSING,
    SESSION_LIMITS,
    Faulty,
    JsonObject,
    Limits,
    Tally,
    is_object,
    limit_error,
)
from .units import message_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Reading:
    """One pass over messages: what was read, its running totals, and the links for the pairing check.

    With ``collect`` set, faults are gathered and reading goes on; else the first one is raised.
    """

    __slots__ = ("calls", "chars", "collect", "count", "items", "messages", "results", "rich", "tally", "units")

    def __init__(self, tally: Tally, *, rich: bool = False, collect: list[TranscriptFault] | None = None) -> None:
        self.tally = tally
        self.count = tally.count
        self.rich = rich
        self.collect = collect
        self.messages: list[Message] = []
        self.calls: list[Link] = []
        self.results: list[Link] = []
        # Entry k of a total is the sum over the messages before k.
        self.units = array("q", (0,))
        self.items = array("q", (0,))
        self.chars = array("q", (0,))

    def run(self, values: Sequence[object]) -> None:
        """Read every message, the quick way where it is everyday data."""
        tally, messages, calls, results, rich = self.tally, self.messages, self.calls, self.results, self.rich
        string_max, chars_max, items_max = tally.string_max, tally.chars_max, tally.items_max
        items, chars, units = tally.items, tally.chars, 0
        # The tally counted all messages at once, before any of them was looked at; the totals count one by one.
        first_items, first_chars = items - 1, chars
        for index, value in enumerate(values):
            try:
                message, size, count, cost = everyday(value, index, tally.limits, calls, results, rich=rich)
                # All strings of the message together are within the limit of one, so each of them is.
                accepted = size <= string_max and chars + size <= chars_max and items + count <= items_max
            except (Unusual, KeyError):
                accepted = False
            if accepted:
                chars += size
                items += count
                units += cost
                messages.append(message)
            else:
                tally.items, tally.chars = items, chars
                self.message(value, index)
                items, chars = tally.items, tally.chars
                # Where faults are gathered a message may be missing, and nobody asks for the totals.
                units += message_units(messages[-1]) if messages else 0
            self.units.append(units)
            self.items.append(items - first_items + index)
            self.chars.append(chars - first_chars)
        tally.items, tally.chars = items, chars

    def fault(self, rule: Rule, index: int, where: str, what: str) -> None:
        """Gather the fault, or raise it as INVALID_TRANSCRIPT."""
        if self.collect is None:
            raise transcript_error(rule, what, where)
        self.collect.append(TranscriptFault(rule, index, f"{where}: {what}; {FIXES[rule]}"))

    def message(self, value: object, index: int) -> None:
        """Read one message at *index*, in the order that the rules demand: role, id, then by role."""
        for links in (self.calls, self.results):
            while links and links[-1][2] == index:
                links.pop()  # noted by the quick reader before it gave up
        rich, where = self.rich, f"messages[{index}]"
        if type(value) is not dict and is_message(value):
            value, rich = message_to_plain(value), True
        elif not is_object(value):
            self.fault("INVALID_MESSAGE", index, where, f"needs a plain object, got {kind_name(value)}")
            return
        plain: dict[str, Any] = value
        role = plain.get("role", MISSING)
        if role is MISSING:
            self.fault("INVALID_MESSAGE", index, f"{where}.role", "is missing")
            return
        id_ = self._id(plain.get("id"), index, f"{where}.id")
        if id_ is None:
            return
        reader = _READERS.get(role) if type(role) is str else None
        if reader is None:
            self.fault("INVALID_MESSAGE", index, f"{where}.role", f"is {shown(role)}, not one of user, assistant, toolResult")
            return
        meta = EMPTY
        if rich and "meta" in plain:
            meta = self._object(plain["meta"], "INVALID_MESSAGE", index, f"{where}.meta")
        reader(self, plain, index, where, id_, meta, rich)

    def read_user(self, plain: dict[str, Any], index: int, where: str, id_: str, meta: JsonObject, rich: bool) -> None:
        """Read a user message."""
        content = self._content(plain.get("content", MISSING), index, f"{where}.content", rich)
        self.messages.append(made_user(content, id_, meta))

    def read_assistant(self, plain: dict[str, Any], index: int, where: str, id_: str, meta: JsonObject, rich: bool) -> None:
        """Read an assistant message."""
        content, where = plain.get("content", MISSING), f"{where}.content"
        if type(content) is not list and type(content) is not tuple:
            self.fault("INVALID_MESSAGE", index, where, f"needs an array of blocks, got {kind_name(content)}")
            return
        self.messages.append(made_assistant(self._blocks(content, index, where, rich), id_, meta))

    def read_result(self, plain: dict[str, Any], index: int, where: str, id_: str, meta: JsonObject, rich: bool) -> None:
        """Read a tool result."""
        call_id = self._id(plain.get("toolCallId"), index, f"{where}.toolCallId")
        if call_id is None:
            return
        name = self._name(plain.get("toolName"), index, f"{where}.toolName")
        content = self._content(plain.get("content", MISSING), index, f"{where}.content", rich)
        is_error = plain.get("isError")
        if type(is_error) is not bool:
            self.fault("INVALID_MESSAGE", index, f"{where}.isError", f"needs true or false, got {kind_name(is_error)}")
            is_error = False
        self.results.append((call_id, name, index))
        self.messages.append(made_result(call_id, name or "", content, is_error, id_, meta))

    def _id(self, value: object, index: int, where: str) -> str | None:
        if type(value) is str and self.count(value, where).strip(BLANK):
            return value
        self.fault("INVALID_MESSAGE", index, where, "needs a string that is not blank")
        return None

    def _name(self, value: object, index: int, where: str) -> str | None:
        if type(value) is str and self.count(value, where).strip(BLANK):
            return value
        self.fault("EMPTY_TOOL_NAME", index, where, "needs a tool name that is not blank")
        return None

    def _text(self, value: object, index: int, where: str) -> str:
        if type(value) is str:
            return self.count(value, where)
        self.fault("INVALID_MESSAGE", index, where, f"needs a string, got {kind_name(value)}")
        return ""

    def _object(self, value: object, rule: Rule, index: int, where: str) -> JsonObject:
        """Read a JSON object; a faulty one is reported and read as empty."""
        if type(value) is not dict and type(value) is not JsonObject:
            self.fault(rule, index, where, f"needs a JSON object, got {kind_name(value)}")
            return EMPTY
        try:
            return self.tally.json(value, where)  # type: ignore[no-any-return]
        except Faulty:
            self.fault(rule, index, where, "holds a value that is not JSON")
            return EMPTY

    def _content(self, value: object, index: int, where: str, rich: bool) -> Content:
        """Read the content of a user message or a tool result: text, or in rich data blocks without calls."""
        if not rich or (type(value) is not list and type(value) is not tuple):
            return self._text(value, index, where)
        blocks = self._blocks(value, index, where, rich)
        if any(type(block) is ToolCall or type(block) is Thinking for block in blocks):
            self.fault("INVALID_MESSAGE", index, where, "holds a block that only an assistant sends")
        return blocks  # type: ignore[return-value]

    def _blocks(self, values: Sequence[object], index: int, where: str, rich: bool) -> tuple[Block, ...]:
        self.tally.take(len(values), where)
        blocks = [self._block(value, index, f"{where}[{at}]", rich) for at, value in enumerate(values)]
        return tuple([block for block in blocks if block is not None])

    def _block(self, value: object, index: int, where: str, rich: bool) -> Block | None:
        """Read one block; None where it is faulty and faults are being collected."""
        if type(value) is not dict and is_block(value):
            value, rich = block_to_plain(value), True
        elif not is_object(value):
            self.fault("INVALID_MESSAGE", index, where, f"needs a plain object, got {kind_name(value)}")
            return None
        plain: dict[str, Any] = value
        kind = plain.get("type", MISSING)
        if type(kind) is str:
            if kind == "text":
                return made_text(self._text(plain.get("text", MISSING), index, f"{where}.text"))
            if kind == "toolCall":
                return self._call(plain, index, where)
            if rich and kind in _RICH_BLOCKS:
                return _RICH_BLOCKS[kind](self, plain, index, where)
        self.fault("INVALID_MESSAGE", index, f"{where}.type", f"is {shown(kind)}, not one of text, toolCall")
        return None

    def _call(self, plain: dict[str, Any], index: int, where: str) -> ToolCall | None:
        id_ = self._id(plain.get("id"), index, f"{where}.id")
        if id_ is None:
            return None
        name = self._name(plain.get("name"), index, f"{where}.name")
        arguments = self._object(plain.get("arguments", MISSING), "INVALID_TOOL_ARGUMENTS", index, f"{where}.arguments")
        self.calls.append((id_, name, index))
        return made_call(id_, name or "", arguments)

    def read_thinking(self, plain: dict[str, Any], index: int, where: str) -> Thinking:
        """Read a thinking block; redacted is true or absent."""
        text = self._text(plain.get("text"), index, f"{where}.text")
        signature = self._text(plain.get("signature", ""), index, f"{where}.signature")
        return Thinking(text, signature=signature, redacted=plain.get("redacted") is True)

    def read_media(self, plain: dict[str, Any], index: int, where: str) -> Media:
        """Read an image or a file."""
        keys = ("source", "mediaType", "name")
        source, media_type, name = [self._text(plain.get(key, ""), index, f"{where}.{key}") for key in keys]
        cost = plain.get("cost", MEDIA_UNITS)
        if type(cost) is not int or not 0 <= cost <= self.tally.limits.units:
            self.fault("INVALID_MESSAGE", index, f"{where}.cost", "needs a whole number of units")
            cost = MEDIA_UNITS
        return Media(source, media_type=media_type, name=name, cost=cost)

    def read_opaque(self, plain: dict[str, Any], index: int, where: str) -> Opaque:
        """Read a provider's item."""
        kind = self._text(plain.get("kind"), index, f"{where}.kind")
        return Opaque(kind, data=self._object(plain.get("data", EMPTY), "INVALID_MESSAGE", index, f"{where}.data"))


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


def read_messages(
    value: object,
    tally: Tally,
    *,
    rich: bool = False,
    live: bool = False,
    collect: list[TranscriptFault] | None = None,
) -> Reading:
    """Read a transcript: shape first, then, when every message was read, the pairing of calls and results."""
    reading = Reading(tally, rich=rich, collect=collect)
    if type(value) is not list and type(value) is not tuple:
        reading.fault("INVALID_TRANSCRIPT", -1, "messages", f"needs an array, got {kind_name(value)}")
        return reading
    if len(value) > tally.limits.messages:
        raise limit_error("messages", "messages", len(value), tally.limits.messages)
    tally.take(len(value), "messages")
    reading.run(value)
    calls, results = reading.calls, reading.results
    if well_paired(calls, results, live=live):
        return reading
    twice, unpaired = duplicate_faults(calls, results), pairing_faults(calls, results, live=live)
    if collect is None:
        for fault in [*twice, *unpaired]:
            raise CompactionError(ErrorCode.INVALID_TRANSCRIPT, f"{fault.fix} [{fault.rule}]", where=f"messages[{fault.index}]")
    else:
        collect += twice
        collect.sort(key=lambda fault: fault.index)
        collect += unpaired
    return reading


def read_one(value: object, limits: Limits = SESSION_LIMITS) -> tuple[Message, Tally]:
    """Read one message on its own, rich, without any pairing check, and say what it counts."""
    tally = Tally(limits)
    tally.take(1, "messages")
    reading = Reading(tally, rich=True)
    reading.run((value,))
    return reading.messages[0], tally
