"""Ids of a live session: filled in when missing, known when retried, made distinct when a call id comes again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from .context import ActiveContext
from .errors import CompactionError, ErrorCode, kind_name
from .events import EventType
from .messages import AssistantMessage, Message, is_message, message_to_plain
from .plain import is_object

RENAMED = "renamedCalls"
"""The key in a message's ``meta`` that holds {new call id: original call id}; a renaming can be taken back."""


@attrs.define(eq=False, repr=False)
class Ids:
    """Which message ids and call ids a session has used: those of this life and of the surface that it began with.

    What is hidden from before is known to the ledger alone, which refuses a name that is taken; ``learn`` keeps that.
    """

    new_id: Callable[[], str]
    complete: bool = True
    """False when earlier lives may have used ids that are not known here."""
    _seqs: dict[str, int] = attrs.field(factory=dict)
    _calls: set[str] = attrs.field(factory=set)
    _renamed: dict[str, list[str]] = attrs.field(factory=dict)
    """Original call id → the ids that it was given, oldest first."""
    replies: int = 0
    """How many assistant messages were noted: a turn ends when one more comes."""

    def note(self, kind: EventType, seq: int, data: dict[str, Any]) -> None:
        """Remember what the event *seq* uses."""
        if kind is not EventType.MESSAGE_APPENDED:
            return
        self._seqs[data["id"]] = seq
        if data["role"] != "assistant":
            return
        self.replies += 1
        originals = data.get("meta", {}).get(RENAMED, {})
        for block in data["content"]:
            if block["type"] == "toolCall":
                self._calls.add(block["id"])
                if block["id"] in originals:
                    self._renamed.setdefault(originals[block["id"]], []).append(block["id"])

    def meet(self, seqs: Sequence[int], messages: Sequence[Message]) -> None:
        """Note the messages of a surface that are not known yet: those it began with, or that an edit brought back."""
        for seq, message in zip(seqs, messages, strict=True):
            if message.id not in self._seqs:
                self.note(EventType.MESSAGE_APPENDED, seq, message_to_plain(message))

    def learn(self, taken: Mapping[str, int]) -> None:
        """Remember names that the ledger refused."""
        for name, seq in taken.items():
            kind, _, id_ = name.partition(":")
            if kind == "message":
                self._seqs[id_] = seq
            elif kind == "call":
                self._calls.add(id_)

    def forget(self, data: dict[str, Any]) -> None:
        """Take back the newest ``note``: its message was not recorded after all."""
        del self._seqs[data["id"]]
        if data["role"] != "assistant":
            return
        self.replies -= 1
        originals = data.get("meta", {}).get(RENAMED, {})
        for block in reversed(data["content"]):
            if block["type"] == "toolCall":
                self._calls.discard(block["id"])
                if block["id"] in originals:
                    self._renamed[originals[block["id"]]].pop()

    def filled(self, value: object) -> dict[str, Any]:
        """The message as plain data, with an id."""
        if is_message(value):
            plain = message_to_plain(value)
        elif is_object(value):
            plain = value
        else:
            raise CompactionError(
                ErrorCode.INVALID_INPUT,
                f"needs a message, got {kind_name(value)}",
                where="append",
                fix="pass a noun or a plain object",
            )
        return plain if plain.get("id") is not None else {**plain, "id": f"m-{self.new_id()}"}

    def seq_of(self, plain: dict[str, Any]) -> int | None:
        """The seq of the event that appended this id, if one did."""
        id_ = plain["id"]
        return self._seqs.get(id_) if type(id_) is str else None

    def distinct(self, plain: dict[str, Any], open_calls: Sequence[str], seq: int) -> dict[str, Any]:
        """The message, to be event *seq*, with call ids that nobody else has; a result follows the newest open call of its id."""
        role = plain.get("role")
        if type(role) is not str:
            return plain
        if role == "toolResult" and self._renamed:
            original = plain.get("toolCallId")
            names = self._renamed.get(original, []) if type(original) is str else []
            target = next((name for name in reversed(names) if name in open_calls), None)
            return plain if target is None else _noted({**plain, "toolCallId": target}, {target: original})
        if role == "assistant" and self._calls and type(plain.get("content")) in (list, tuple):
            return self._with_fresh_calls(plain, seq)
        return plain

    def _with_fresh_calls(self, plain: dict[str, Any], seq: int) -> dict[str, Any]:
        renamed: dict[str, Any] = {}
        blocks: list[Any] = []
        own = [block.get("id") for block in plain["content"] if is_object(block)]
        for block in plain["content"]:
            call_id = block.get("id") if is_object(block) and block.get("type") == "toolCall" else None
            if type(call_id) is str and call_id in self._calls:
                # Earlier lives may have counted up already; nobody else can have used the seq.
                fresh, count = call_id, 1 if self.complete else seq - 1
                while fresh in self._calls or fresh in renamed or fresh in own:
                    count += 1
                    fresh = f"{call_id}_{count}"
                renamed[fresh] = call_id
                blocks.append({**block, "id": fresh})
            else:
                blocks.append(block)
        return _noted({**plain, "content": blocks}, renamed) if renamed else plain

    def tool_name(self, context: ActiveContext, call_id: str) -> str:
        """The tool of the open call that a result with this id answers; empty when none waits."""
        names = [call_id, *self._renamed.get(call_id, ())]
        wanted = next((name for name in reversed(names) if name in context.open_calls), None)
        for message in reversed(context.messages) if wanted is not None else ():
            if type(message) is AssistantMessage:
                for call in message.tool_calls:
                    if call.id == wanted:
                        return call.name
        return ""

    @staticmethod
    def original(plain: dict[str, Any]) -> dict[str, Any]:
        """The message as it came, before calls were renamed."""
        meta = dict(plain.get("meta", {}))
        renamed = meta.pop(RENAMED, None)
        if renamed is None:
            return plain
        restored = {key: value for key, value in plain.items() if key != "meta"} | ({"meta": meta} if meta else {})
        if "toolCallId" in restored:
            restored["toolCallId"] = renamed[restored["toolCallId"]]
        else:
            restored["content"] = [
                {**block, "id": renamed[block["id"]]} if block.get("id") in renamed else block for block in restored["content"]
            ]
        return restored


def has_id(value: object) -> bool:
    """True when a message brought its id along."""
    id_ = value.id if is_message(value) else value.get("id") if is_object(value) else None
    return id_ is not None


def _noted(plain: dict[str, Any], renamed: dict[str, Any]) -> dict[str, Any]:
    meta = plain.get("meta")
    return {**plain, "meta": {**(meta if is_object(meta) else {}), RENAMED: renamed}}
