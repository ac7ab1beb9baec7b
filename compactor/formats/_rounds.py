"""What exporters to strict formats share: rounds in wire order, and call ids that a provider takes.

Both only ever look back, so the export of a longer context begins with the export of a shorter one.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

import attrs

from compactor.errors import shown
from compactor.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

from ._shared import Log, extras_of, text_or

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

LOST: Final = {
    "thinking_left_out": "{} thinking blocks were left out: they do not belong to this format, or cannot go back whole",
    "reasoning_left_out": "{} reasoning items were left out: without encrypted_content they are only known where they were made",
    "media_left_out": "{} images or files were left out: the format takes none there",
    "opaque_left_out": "{} items of other providers were left out",
    "empty_left_out": "{} messages without anything that the format can hold were left out",
    "results_moved": "{} tool results were moved directly behind their call",
    "error_mark_left_out": "{} tool results lost their error mark: the format has none",
    "call_ids_changed": "{} call ids were changed to what the format takes",
    "user_added": "the conversation starts with the assistant; a user message that says so was put before it",
}


def tell(lost: Counter[str], log: Log) -> None:
    """Write what was counted into the notes of an export."""
    for what, count in lost.items():
        if count:
            log.add(what, LOST[what].format(count))


@attrs.frozen
class Round:
    """A user message; or an assistant message and directly behind it, in their order, the results of its calls."""

    message: UserMessage | AssistantMessage
    answers: tuple[tuple[ToolCall, ToolResult | None], ...] = ()


def rounds(messages: Sequence[Message], lost: Counter[str], log: Log) -> Iterator[Round]:
    """The messages with every result directly behind its call. A call that waits comes last, with None."""
    results = {message.tool_call_id: at for at, message in enumerate(messages) if type(message) is ToolResult}
    for at, message in enumerate(messages):
        if type(message) is UserMessage:
            yield Round(message)
        elif type(message) is AssistantMessage:
            calls = message.tool_calls
            answered = sorted([(results[call.id], call) for call in calls if call.id in results], key=lambda pair: pair[0])
            answers: list[tuple[ToolCall, ToolResult | None]] = []
            for offset, (where, call) in enumerate(answered, start=1):
                lost["results_moved"] += where != at + offset
                result = messages[where]
                answers.append((call, result if type(result) is ToolResult else None))
            for call in calls:
                if call.id not in results:
                    log.add("call_closed", f"call {shown(call.id)} waits for its result; a fixed text stands in its place")
                    answers.append((call, None))
            yield Round(message, tuple(answers))


class WireIds:
    """Call ids as they are sent: the one that the provider gave, where it is still free; else one that the format takes."""

    __slots__ = ("_forbidden", "_longest", "_taken")

    def __init__(self, forbidden: str, longest: int) -> None:
        self._forbidden = re.compile(forbidden)
        self._longest = longest
        self._taken: set[str] = set()

    def of(self, message: AssistantMessage, lost: Counter[str]) -> dict[str, str]:
        """The id of each call of *message*, for good: what comes later does not change it."""
        renamed = extras_of(message.meta, "renamedCalls")
        found: dict[str, str] = {}
        for call in message.tool_calls:
            original = text_or(renamed.get(call.id), call.id)
            name = next((name for name in (self._fit(original), self._fit(call.id)) if name not in self._taken), None)
            name = name or self._fit(f"{call.id}\0{len(self._taken)}", marked=True)
            self._taken.add(name)
            lost["call_ids_changed"] += name not in (original, call.id)
            found[call.id] = name
        return found

    def _fit(self, id_: str, *, marked: bool = False) -> str:
        """A function of *id_* alone; two ids that became one are told apart by their digest."""
        fit = self._forbidden.sub("_", id_)
        if not marked and len(fit) <= self._longest:
            return fit
        digest = hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"{fit[: self._longest - 17]}_{digest}"
