"""Codex response items → drafts: what a model made between two inputs is one message, everything else a message of its own.

The items are those of the Responses endpoint, kept where its codec keeps them, so that an export to it gives them back.
What a rollout alone has (local shell calls, messages between agents) becomes a call, a user message or an opaque block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, shown
from compactor.messages import AssistantMessage, Block, Message, Opaque, Text, ToolCall, ToolResult, UserMessage
from compactor.plain import is_object

from ._openai_parts import read_arguments
from ._pairing import Draft
from ._reply import pruned
from ._responses_check import OUTPUTS
from ._responses_parts import OPAQUE, content_of, noted
from ._sessions import Row, identified, named, reraised
from ._shared import Log, Names, metadata, text_or, without

if TYPE_CHECKING:
    from collections.abc import Iterable

_CALLS: Final = (*OUTPUTS.values(), "local_shell_call")
_ANSWERS: Final = ("_output", "_response", "_result")
_SENT: Final = ("agent_message",)
"""Items that the model was sent though their type does not say so."""


@attrs.define
class Item:
    """An item of the history. *row* is the row that it came with: several come with one compaction."""

    line: int
    item: Row = attrs.field(repr=False)
    row: Row = attrs.field(repr=False)
    index: int | None = None
    told: Row = attrs.field(factory=dict, repr=False)
    """What other rows say about it: times, model, usage."""

    @property
    def kind(self) -> str:
        """The type; without one it is a message."""
        return text_or(self.item.get("type"), "message")

    @property
    def is_made(self) -> bool:
        """True for what a model made."""
        if self.kind == "message":
            return self.item.get("role") == "assistant"
        return not self.kind.endswith(_ANSWERS) and self.kind not in _SENT

    @property
    def text(self) -> str:
        """The words of a message."""
        content = content_of(self.item.get("content"), {}) or ""
        return content if isinstance(content, str) else "\n".join([part.text for part in content if type(part) is Text])

    @property
    def call_id(self) -> str:
        """The id of the call, or of the call that is answered."""
        return text_or(self.item.get("call_id")) or (text_or(self.item.get("id")) if self.kind == "local_shell_call" else "")

    @property
    def wanted(self) -> str:
        """The id that a message of this item takes where nothing better is known."""
        return f"codex-{self.line}" if self.index is None else f"codex-{self.line}-{self.index}"


def drafts_of(items: Iterable[Item], names: Names, log: Log) -> list[Draft]:
    """The drafts of a history."""
    drafts: list[Draft] = []
    group: list[Item] = []
    for item in items:
        if item.is_made:
            group.append(item)
            continue
        drafts += _answer(group, names, log)
        group = []
        try:
            message = _sent(item)
        except CompactionError as error:
            raise reraised(error, log, item.line) from error
        id_ = named(names, text_or(item.item.get("id")), item.wanted, log, item.line)
        drafts.append(_draft(message, id_, item.row, item.line))
    return [*drafts, *_answer(group, names, log)]


def _draft(message: Message, id_: str, row: object, line: int) -> Draft:
    return Draft(identified(message, id_), row, f"message {shown(id_)}", line)


def _sent(item: Item) -> Message:
    """The user's words, an output, or another answer of the client. A shape that is not known stays opaque."""
    value, kind, extras = item.item, item.kind, dict[str, Any]()
    rest = pruned(without(value, "type", "id"))
    if kind in OUTPUTS:
        output, is_error = _output(value.get("output"))
        content = content_of(output, extras)
        if content is not None:
            rest = without(rest, "call_id", "output")
            meta = metadata(item.told, noted(blocks=extras, extra=rest))
            return ToolResult(item.call_id or "?", content, is_error, meta=meta)
    elif kind == "message" or kind in _SENT:
        content = content_of(value.get("content", 0), extras)
        if content is not None:
            beside = {"kind": kind} if kind in _SENT else {}
            rest = without(rest, "role", "content")
            told = beside | rest if kind in _SENT else {}
            return UserMessage(content, meta=metadata(item.told, told, noted(blocks=extras, extra={} if told else rest)))
    return UserMessage((Opaque(f"{OPAQUE}{kind}", data=value),), meta=metadata(item.told))


def _output(value: Any) -> tuple[Any, bool]:
    """An output, and whether it says that it failed."""
    if is_object(value) and "content" in value and not value.keys() - {"content", "success", "content_items"}:
        content = value["content"] if value.get("content") is not None else value.get("content_items")
        return content, value.get("success") is False
    return value, False


# ------------------------------------------------------------------------------------------------------ answers


def _answer(group: list[Item], names: Names, log: Log) -> list[Draft]:
    """One message of the items that a model made one after the other."""
    if not group:
        return []
    first = group[0]
    blocks: list[Block] = []
    extras: Row = {}
    items: Row = {}
    told: Row = {}
    for item in group:
        try:
            _take(item, blocks, extras, items, log)
        except CompactionError as error:
            raise reraised(error, log, item.line) from error
        told |= item.told
    told |= {key: first.told[key] for key in ("entryTimestamp",) if key in first.told}
    starts = [
        at for at in map(int, items) if at and type(blocks[at]) is not ToolCall and type(blocks[at - 1]) not in (ToolCall, Opaque)
    ]
    id_ = named(names, "", first.wanted, log)
    meta = metadata(told, noted(blocks=extras, items={key: rest for key, rest in items.items() if rest}, starts=starts))
    rows = {id(item.row): item.row for item in group}
    # Rows beyond the first are counted here; the pairing counts one for each draft.
    log.kept += len(rows) - 1
    return [_draft(AssistantMessage(tuple(blocks), meta=meta), id_, first.row, first.line)]


def _take(item: Item, blocks: list[Block], extras: Row, items: Row, log: Log) -> None:
    """Add what one item holds."""
    value, kind, at = item.item, item.kind, len(blocks)
    rest = pruned(without(value, "type"))
    if kind == "message":
        content = content_of(value.get("content", 0), extras, shift=at)
        if content is not None:
            blocks += [Text(content)] if isinstance(content, str) else content
            if len(blocks) > at:
                items[str(at)] = without(rest, "role", "content")
            return
    elif kind in _CALLS and item.call_id:
        name = "local_shell" if kind == "local_shell_call" else text_or(value.get("name"))
        if name:
            items[str(at)] = _call(item, kind, name, rest, blocks, log)
            return
    blocks.append(Opaque(f"{OPAQUE}{kind}", data=value))


def _call(item: Item, kind: str, name: str, rest: Row, blocks: list[Block], log: Log) -> Row:
    """Add a call; what the Responses endpoint says beside it is given back."""
    custom = kind == "custom_tool_call"
    key = {"custom_tool_call": "input", "local_shell_call": "action"}.get(kind, "arguments")
    arguments, is_raw = read_arguments(item.item.get(key), as_text=custom)
    if is_raw and not custom:
        text = f"the arguments of call {shown(item.call_id)} are no JSON object; they were kept as they came"
        log.add("arguments_kept_raw", text, item.line)
    blocks.append(ToolCall(item.call_id, name=name, arguments=arguments))
    return without(rest, "call_id", "name", key) | ({"custom": True} if custom else {})
