"""Messages → Responses items, in the order and the company that the endpoint demands.

Reasoning goes back as it came or not at all. Where a piece of it does not, whatever its provider made beside it goes
without its id, or not at all: an id whose reasoning is missing is refused, for ever.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from compactor.messages import AssistantMessage, Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult, UserMessage
from compactor.plain import thaw

from ._pairing import NO_RESULT
from ._responses_check import CALL_ID_MAX, OUTPUTS
from ._responses_parts import OPAQUE, own, wire_call, wire_content, wire_text
from ._rounds import WireIds, rounds, tell
from ._shared import Log, extras_of, text_or, without

if TYPE_CHECKING:
    from collections.abc import Sequence

_OURS: Final = ("message", "item_reference", *OUTPUTS, *OUTPUTS.values())
"""Types that have a noun, or that only mean something where they were stored."""


class Export:
    """The items of one export, and what it had to leave out."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.log = Log()
        self._lost = Counter[str]()
        self._ids = WireIds(r"[\s\0]", CALL_ID_MAX)
        self._held: list[dict[str, Any]] = []
        """Reasoning that came as a message of its own waits for what it led to."""
        self._answered: set[str] = set()
        """Call ids of items that only this format has and that have their output in the context."""
        self._called: set[str] = set()

    def add(self, messages: Sequence[Message]) -> None:
        """Add all messages."""
        for message in messages:
            if type(message) is UserMessage and (item := _client_item(message)) is not None:
                self._answered.add(text_or(item.get("call_id")))
        for round_ in rounds(messages, self._lost, self.log):
            if type(round_.message) is UserMessage:
                self._user(round_.message)
            elif type(round_.message) is AssistantMessage:
                self._answer(round_.message, round_.answers)
        self._drop_held()
        tell(self._lost, self.log)

    def _drop_held(self) -> None:
        self._lost["reasoning_left_out"] += len(self._held)
        self._held = []

    def _user(self, message: UserMessage) -> None:
        self._drop_held()
        item = _client_item(message)
        if item is not None:
            known = text_or(item.get("call_id"), text_or(item.get("approval_request_id"))) in self._called
            self._lost["opaque_left_out"] += not known
            self._called.discard(text_or(item.get("call_id")))
            self.items += [item] if known else []
            return
        rest = without(extras_of(own(message.meta), "extra"), "type", "role", "content")
        content = wire_content(message.content, message.meta, self._lost)
        if not content and message.content not in ("", ()):
            self._lost["empty_left_out"] += 1
        else:
            self.items.append({"type": "message", "role": "user", "content": content or "", **rest})

    def _answer(self, message: AssistantMessage, answers: Sequence[tuple[ToolCall, ToolResult | None]]) -> None:
        names = self._ids.of(message, self._lost)
        items = self._said(message, names)
        if items and all(item["type"] == "reasoning" for item in items):
            self._held += items
            return
        if not items:
            self._lost["empty_left_out"] += 1
            return
        self.items += [*self._held, *items]
        self._held = []
        custom = {item["call_id"] for item in items if item["type"] == "custom_tool_call"}
        for call, result in answers:
            name = names[call.id]
            kind = "custom_tool_call_output" if name in custom else "function_call_output"
            self.items.append({"type": kind, "call_id": name, **self._output(result)})

    def _output(self, result: ToolResult | None) -> dict[str, Any]:
        if result is None:
            return {"output": NO_RESULT}
        self._lost["error_mark_left_out"] += result.is_error
        rest = without(extras_of(own(result.meta), "extra"), "type", "call_id", "output")
        return {"output": wire_content(result.content, result.meta, self._lost) or "", **rest}

    def _said(self, message: AssistantMessage, names: dict[str, str]) -> list[dict[str, Any]]:
        """The items of one answer, in their order."""
        told = own(message.meta)
        extras, items, starts = extras_of(told, "blocks"), extras_of(told, "items"), told.get("starts", ())
        out: list[dict[str, Any]] = []
        speaking = False
        for index, block in enumerate(message.content):
            rest = items.get(str(index), {})
            rest = rest if isinstance(rest, dict) else {}
            match block:
                case Text():
                    if not block.text:
                        continue
                    if not speaking or index in starts:
                        rest = without(rest, "type", "role", "content")
                        out.append({"type": "message", "role": "assistant", "content": [], **rest})
                    out[-1]["content"].append(wire_text(block, extras.get(str(index))))
                    speaking = True
                    continue
                case ToolCall():
                    out.append(wire_call(block, names[block.id], thaw(block.arguments), rest))
                case Opaque():
                    out += self._item(block)
                case Thinking():
                    self._lost["thinking_left_out"] += 1
                    continue
                case Media():
                    self._lost["media_left_out"] += 1
                    continue
            speaking = False
        return self._sound(out)

    def _item(self, block: Opaque) -> list[dict[str, Any]]:
        """An item that goes back as it came, once it has its output."""
        kind, call_id = block.data.get("type"), block.data.get("call_id")
        usable = block.kind.startswith(OPAQUE) and type(kind) is str and kind not in _OURS
        if not usable or (type(call_id) is str and (call_id not in self._answered or call_id in self._called)):
            self._lost["opaque_left_out"] += 1
            return []
        found: dict[str, Any] = thaw(block.data)
        return [found]

    def _sound(self, out: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All of the reasoning of an answer, or none of it and no ids."""
        thoughts = [item for item in out if item["type"] == "reasoning"]
        whole = all(text_or(item.get("encrypted_content")) for item in thoughts)
        said = len(thoughts) < len(out)
        if thoughts and (not whole or (said and out[-1]["type"] == "reasoning")):
            self._lost["reasoning_left_out"] += len(thoughts)
            theirs = [item for item in out if item["type"] not in ("reasoning", *_OURS) and "id" in item]
            self._lost["opaque_left_out"] += len(theirs)
            out = [
                without(item, "id") for item in out if item["type"] in _OURS or (item["type"] != "reasoning" and "id" not in item)
            ]
        theirs = [item for item in out if item["type"] not in _OURS]
        self._called |= {text_or(item.get("call_id"), text_or(item.get("id"))) for item in theirs} - {""}
        return out


def _client_item(message: UserMessage) -> dict[str, Any] | None:
    """The item of an answer that only this format has: a screenshot, the output of a shell."""
    content = message.content
    if len(content) != 1 or type(content[0]) is not Opaque or not content[0].kind.startswith(OPAQUE):
        return None
    kind = content[0].data.get("type")
    if type(kind) is not str or kind in _OURS or not kind.endswith(("_output", "_response")):
        return None
    found: dict[str, Any] = thaw(content[0].data)
    return found
