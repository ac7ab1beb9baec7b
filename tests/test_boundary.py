"""Where a transcript may be cut, told by pictures: one letter a message, the rounds in brackets."""

from __future__ import annotations

from typing import Any

import pytest
from strategies import assistant, call, result, user

from compactor.boundary import Group, GroupKind, earliest_cut, group_tool_rounds
from compactor.context import build_active_context, build_live_context, select_compaction_boundary
from compactor.errors import CompactionError, ErrorCode
from compactor.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from compactor.plain import SESSION_LIMITS, Limits
from compactor.transcript import transcript_of


def drawn(picture: str) -> list[dict[str, Any]]:
    """A transcript from a picture: ``u`` a user message, ``A`` calls tool a, ``AB`` joined by ``+`` in one message, ``a`` its result."""
    messages = []
    for at, letters in enumerate(picture.split()):
        if letters == "u":
            messages.append(user(f"m{at}", "x"))
        elif letters == "t":
            messages.append(assistant(f"m{at}", {"type": "text", "text": "x"}))
        elif letters.islower():
            messages.append(result(f"m{at}", letters))
        else:
            messages.append(assistant(f"m{at}", *[call(letter.lower()) for letter in letters.split("+")]))
    return messages


def picture(groups: tuple[Group, ...]) -> str:
    """The groups as sizes; a round in brackets."""
    return " ".join(str(g.end - g.start) if g.kind is GroupKind.MESSAGE else f"[{g.end - g.start}]" for g in groups)


@pytest.mark.parametrize(
    ("messages", "groups"),
    [
        ("", ""),
        ("u t u", "1 1 1"),
        ("u A a u", "1 [2] 1"),
        ("A+B b u a t", "[4] 1"),
        ("A a B b", "[2] [2]"),
        ("A B a b", "[4]"),
        ("A B b a C c", "[4] [2]"),
        ("A B a C b D c d u", "[8] 1"),
        ("A u u u a", "[5]"),
    ],
)
def test_rounds_that_overlap_are_one_and_rounds_that_touch_are_two(messages: str, groups: str) -> None:
    assert picture(group_tool_rounds(drawn(messages))) == groups


@pytest.mark.parametrize(
    ("messages", "groups", "cuts"),
    [
        ("u A", "1 [1]", (1,)),
        ("A u u", "[3]", ()),
        ("A a B u", "[2] [2]", (2,)),
        ("A B a", "[3]", ()),
        ("A+B a u", "[3]", ()),
    ],
)
def test_a_call_that_waits_holds_its_round_open(messages: str, groups: str, cuts: tuple[int, ...]) -> None:
    data = drawn(messages)
    assert picture(group_tool_rounds(data, live=True)) == groups
    assert build_live_context({"messages": data}, limits=SESSION_LIMITS).messages.cuts() == cuts
    with pytest.raises(
        CompactionError, match=r"call '.' has no result; append the result, or close the call \[MISSING_TOOL_RESULT\]"
    ):
        group_tool_rounds(data)


def test_a_transcript_with_open_calls_is_refused_where_pairing_is_strict() -> None:
    live = build_live_context({"messages": drawn("u A")}, limits=SESSION_LIMITS)
    with pytest.raises(CompactionError, match="MISSING_TOOL_RESULT"):
        group_tool_rounds(live.messages)
    with pytest.raises(CompactionError, match=r"tool call 'a' has no result .*wait for the result, or close the call") as caught:
        build_active_context(live)
    assert caught.value.code is ErrorCode.INVALID_TRANSCRIPT


def test_nouns_and_transcripts_are_grouped_like_plain_data() -> None:
    ask = ToolCall("a", name="n")
    nouns: list[Message] = [UserMessage("x", id="u"), AssistantMessage((ask,), id="a"), ToolResult(ask, "y", id="r")]
    groups = group_tool_rounds(nouns)
    assert picture(groups) == "1 [2]"
    assert group_tool_rounds(transcript_of(nouns)) == groups
    assert groups[1].messages == (nouns[1], nouns[2])


def test_grouping_runs_within_its_limits() -> None:
    with pytest.raises(CompactionError, match="2 messages, the limit is 1") as caught:
        group_tool_rounds(drawn("u u"), limits=Limits(messages=1))
    assert caught.value.code is ErrorCode.LIMIT_EXCEEDED


THREE = {"messages": [user(f"{at}", "aaaaa") for at in range(3)]}  # 10 units each


@pytest.mark.parametrize(
    ("target", "summary", "retain", "boundary"),
    [
        (25, 5, 0, 1),
        (24, 5, 0, 2),
        (15, 5, 0, 2),
        (14, 5, 0, 3),
        (5, 5, 0, 3),
        (5, 5, 1, None),
        (99, 5, 2, 1),
        (99, 5, 3, None),
        (99, 5, 4, None),
    ],
)
def test_the_earliest_cut_that_reaches_the_target_wins(target: int, summary: int, retain: int, boundary: int | None) -> None:
    options = {"target_units": target, "summary_max_units": summary, "retain_recent_messages": retain}
    assert select_compaction_boundary(THREE, options) == boundary
    built = build_active_context(THREE)
    assert select_compaction_boundary(built, options) == boundary
    assert earliest_cut(built.messages, fixed=summary, target=target, retain=retain) == boundary


def test_an_empty_context_has_no_boundary() -> None:
    assert select_compaction_boundary({}, {"target_units": 9, "summary_max_units": 1, "retain_recent_messages": 0}) is None
