"""Where a transcript may be cut: between tool rounds, never inside one.

A tool round is an assistant message with calls and everything up to its last result, merged with every round that
starts inside it. All functions here are pure.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import attrs

from .messages import AssistantMessage, Message
from .plain import Limits, Tally
from .transcript import Transcript, read_transcript_data

if TYPE_CHECKING:
    from collections.abc import Sequence


class GroupKind(enum.StrEnum):
    """What a group is."""

    MESSAGE = "message"
    TOOL_ROUND = "tool_round"


@attrs.frozen
class Group:
    """The messages from *start* to *end* (exclusive) that stay together."""

    kind: GroupKind
    start: int
    end: int
    messages: tuple[Message, ...] = attrs.field(repr=False)


def group_tool_rounds(
    messages: Sequence[Any] | Transcript, *, live: bool = False, limits: Limits | None = None
) -> tuple[Group, ...]:
    """Cut a transcript into its smallest groups; they tile it.

    *messages* is plain data, a sequence of message nouns or a ``Transcript``. Raises INVALID_TRANSCRIPT or
    LIMIT_EXCEEDED. With *live*, a call without a result opens a round that lasts to the end.
    """
    if type(messages) is Transcript and (live or not messages.open_calls):
        return groups_of(messages)
    return groups_of(read_transcript_data(messages, Tally(limits or Limits()), live=live))


def groups_of(transcript: Transcript) -> tuple[Group, ...]:
    """The groups of a valid transcript."""
    groups: list[Group] = []
    start = 0
    for end in [*transcript.cuts(), *([len(transcript)] if transcript.open_calls else [])]:
        first = transcript[start]
        is_round = end - start > 1 or (type(first) is AssistantMessage and bool(first.tool_calls))
        groups.append(Group(GroupKind.TOOL_ROUND if is_round else GroupKind.MESSAGE, start, end, transcript[start:end]))
        start = end
    return tuple(groups)


def earliest_cut(transcript: Transcript, *, fixed: int, target: int, retain: int) -> int | None:
    """The earliest safe cut that leaves *fixed* + the rest within *target* units and keeps *retain* messages; O(log n)."""
    last = len(transcript) - retain
    if last <= 0:
        return None
    return transcript.cut_for(target - fixed, last)
