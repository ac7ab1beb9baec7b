"""Contexts: what is built once is never looked at again, what does not fit leaves no trace, and forks keep apart."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from strategies import Plain, assistant, call, result, user

from compactor.boundary import group_tool_rounds
from compactor.budgets import read_budget_number
from compactor.context import (
    DEFAULT_LIMITS,
    ActiveContext,
    BudgetOptions,
    CompactionRecord,
    SummaryRequest,
    build_active_context,
    build_live_context,
    compacted,
    estimate_context_units,
    record_to_plain,
    select_compaction_boundary,
    with_message,
    with_report,
    with_requirements,
)
from compactor.errors import CompactionError, ErrorCode
from compactor.messages import Requirement, Summary, UserMessage
from compactor.plain import SESSION_LIMITS, Limits, safe_int
from compactor.transcript import Transcript

RECORD = {"id": "k", "summaryId": "s", "boundary": 1, "compactedMessageIds": ["m"], "unitsBefore": 9, "unitsAfter": 3}
FULL: Plain = {
    "requirements": [{"id": "q", "content": "AB"}],
    "summary": {"id": "s", "content": "ab"},
    "messages": [user("u", "a"), assistant("a", call("c")), result("r", "c")],
    "compactions": [RECORD],
}
OPTIONS = {"target_units": 60, "summary_max_units": 10, "retain_recent_messages": 0}


def live(*messages: Any, limits: Limits = SESSION_LIMITS) -> ActiveContext:
    return build_live_context({"messages": messages}, limits=limits)


# -------------------------------------------------------------------------------------------------------- build


def test_a_context_that_was_built_is_returned_as_it_is() -> None:
    context = build_active_context(FULL)
    assert build_active_context(context) is context
    assert build_active_context(context, limits=Limits(messages=0)) is context
    assert build_live_context(context, limits=Limits(messages=0)) is context
    assert estimate_context_units(context) == context.units == context.messages.units + 6 + 8


def test_a_context_is_built_from_the_parts_of_another() -> None:
    context = build_active_context(FULL)
    parts = {name: getattr(context, name) for name in ("requirements", "summary", "messages", "compactions")}
    again = build_active_context(parts)
    assert again == context
    assert again is not context
    assert hash(again) == hash(context)
    assert [record_to_plain(record) for record in again.compactions] == [RECORD | {"compactedMessageIds": ("m",)}]


def test_nouns_stand_anywhere_in_plain_data() -> None:
    record = CompactionRecord("k", summary_id="s", boundary=1, compacted_message_ids=("m",), units_before=9, units_after=3)
    data = {**FULL, "requirements": (Requirement("AB", id="q"),), "summary": Summary("ab", id="s"), "compactions": [record]}
    assert build_active_context(data) == build_active_context(FULL)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"requirements": [Requirement("x")]}, r"requirements\[0\].id: is missing"),
        ({"summary": Summary("x")}, "summary.id: is missing"),
        ({"messages": [UserMessage("x")]}, r"messages\[0\].id: needs a string"),
        ({"compactions": [attrs.evolve(build_active_context(FULL).compactions[0], boundary=True)]}, r"compactions\[0\].boundary"),
        ({"compactions": [{**RECORD, "compactedMessageIds": ["m", 1], "boundary": 2}]}, r"compactions\[0\].compactedMessageIds"),
        (
            {"compactions": [{**RECORD, "compactedMessageIds": []}]},
            r"compactions\[0\].compactedMessageIds: holds 0 ids, the boundary is 1",
        ),
        ({"compactions": [RECORD, RECORD]}, r"compactions\[1\].id: 'k' is taken"),
        ({"summary": {"id": "s"}}, "summary.content: is missing"),
        ({"summary": {"id": "s", "content": 1}}, "summary.content: needs a string, got int"),
        ([], "context: needs a plain object, got list"),
    ],
)
def test_a_fault_has_a_place(data: Any, place: str) -> None:
    with pytest.raises(CompactionError, match=f"^{place}"):
        build_active_context(data)


def test_contexts_have_no_public_constructor() -> None:
    with pytest.raises(TypeError, match=r"^ActiveContext has no public constructor; use build_active_context\(...\)$"):
        ActiveContext()  # type: ignore[call-arg]


def test_what_was_built_refuses_every_change() -> None:
    context = build_active_context(FULL)
    for name in ("messages", "units", "requirements", "summary", "compactions"):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(context, name, None)
    for holder in (context.messages, context.requirements, context.compactions, context.messages[1].content):
        with pytest.raises(TypeError, match="does not support item assignment"):
            holder[0] = None  # type: ignore[index]
    with pytest.raises(AttributeError):
        context.messages.extra = 1  # type: ignore[attr-defined]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        context.compactions[0].boundary = 2  # type: ignore[misc]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        group_tool_rounds(context.messages)[0].end = 2  # type: ignore[misc]


def test_an_unexpected_exception_is_an_invalid_input_with_its_cause() -> None:
    # Not even a constructor ran: the slots of this noun are empty.
    with pytest.raises(CompactionError, match="the context cannot be read: AttributeError") as caught:
        build_active_context({"messages": [object.__new__(UserMessage)]})
    assert caught.value.code is ErrorCode.INVALID_INPUT
    assert type(caught.value.__cause__) is AttributeError


# --------------------------------------------------------------------------------------------------- transcripts


def test_a_transcript_is_a_sequence() -> None:
    messages = build_active_context(FULL).messages
    assert [message.id for message in messages] == ["u", "a", "r"]
    assert messages[-1] is messages[2]
    assert messages[::-1] == (messages[2], messages[1], messages[0])
    assert messages[1:] == (messages[1], messages[2])
    assert messages[2:1] == ()
    assert messages == messages[:]
    assert messages == [*messages]
    assert messages != messages[:2]
    assert messages != "u"
    assert messages[0] in messages
    assert repr(messages) == "<Transcript of 3 messages, 41 units>"
    assert repr(live(user("u", ""), assistant("a", call("c"))).messages) == "<Transcript of 2 messages, 25 units, 1 open calls>"
    with pytest.raises(IndexError, match=r"^message index -4 is outside 0\.\.2$"):
        messages[-4]


# ------------------------------------------------------------------------------------------------------- growing


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (result("r", "nobody"), "ORPHAN_TOOL_RESULT"),
        (result("r", "done"), "DUPLICATE_TOOL_RESULT"),
        (assistant("a", call("open")), "DUPLICATE_TOOL_CALL_ID"),
        (assistant("a", call("done")), "DUPLICATE_TOOL_CALL_ID"),
        (assistant("a", call("new"), call("new")), "DUPLICATE_TOOL_CALL_ID"),
        ({**result("r", "open"), "toolName": "other"}, "TOOL_NAME_MISMATCH"),
        ({**user("u", "x"), "content": None}, "INVALID_MESSAGE"),
    ],
)
def test_a_message_that_breaks_a_rule_leaves_no_trace(message: Plain, rule: str) -> None:
    context = live(assistant("a1", call("done")), result("r1", "done"), assistant("a2", call("open")))
    buffer = context.messages._buffer
    with pytest.raises(CompactionError, match=rf"\[{rule}\]") as caught:
        with_message(context, message)
    assert caught.value.code is ErrorCode.INVALID_TRANSCRIPT
    assert len(buffer.messages) == len(context.messages) == 3
    grown, _message = with_message(context, result("r2", "open"))
    assert grown.messages._buffer is buffer
    assert grown.messages.cuts() == (2, 4)


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(messages=1), "2 messages, the limit is 1"),
        (Limits(items_total=1), "2 collection items together, the limit is 1"),
        (Limits(strings_total=5), "6 code points together, the limit is 5"),
        (Limits(units=13), "14 units, the limit is 13"),
        (Limits(string=1), "2 code points in one string, the limit is 1"),
    ],
)
def test_a_message_that_does_not_fit_leaves_no_trace(limits: Limits, what: str) -> None:
    context = live(user("u", "a"), limits=attrs.evolve(limits, string=max(limits.string, 1)))
    with pytest.raises(CompactionError, match=what) as caught:
        with_message(context, user("v", "abc" if limits.string > 1 else "ab"))
    assert caught.value.code is ErrorCode.LIMIT_EXCEEDED
    assert len(context.messages._buffer.messages) == 1


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(units=20), ErrorCode.INVALID_TRANSCRIPT),
        (Limits(strings_total=5), ErrorCode.LIMIT_EXCEEDED),
        (Limits(messages=1), ErrorCode.LIMIT_EXCEEDED),
    ],
)
def test_an_orphan_that_does_not_fit_is_judged_as_in_a_build(limits: Limits, code: ErrorCode) -> None:
    context, orphan = live(user("u", "a"), limits=limits), result("r", "nobody")
    with pytest.raises(CompactionError, match=r"limit|ORPHAN") as grown:
        with_message(context, orphan)
    with pytest.raises(CompactionError, match=r"limit|ORPHAN") as built:
        live(user("u", "a"), orphan, limits=limits)
    assert grown.value.code is built.value.code is code


def test_the_end_of_a_buffer_grows_it_and_a_fork_gets_its_own() -> None:
    base = live(user("u", "a"))
    left, _ = with_message(base, user("l", "b"))
    right, _ = with_message(base, user("r", "c"))
    assert left.messages._buffer is base.messages._buffer
    assert right.messages._buffer is not base.messages._buffer
    assert (base.messages.ids, left.messages.ids, right.messages.ids) == (("u",), ("u", "l"), ("u", "r"))


def test_an_older_context_still_refuses_the_call_id_that_a_shorter_one_uses_again() -> None:
    old = live(assistant("a", call("c")), result("r", "c"), user("u", ""))
    short, _record = compacted(old, boundary=2, summary=Summary("s", id="s"), record_id="k", target_units=None)
    again, _message = with_message(short, assistant("b", call("c")))
    assert again.open_calls == ("c",)
    with pytest.raises(CompactionError, match="DUPLICATE_TOOL_CALL_ID"):
        with_message(old, assistant("b", call("c")))


def test_a_result_for_a_call_that_was_compacted_is_an_orphan() -> None:
    old = live(assistant("a", call("c")), result("r", "c"), user("u", ""))
    short, _record = compacted(old, boundary=2, summary=Summary("s", id="s"), record_id="k", target_units=None)
    with pytest.raises(CompactionError, match="ORPHAN_TOOL_RESULT"):
        with_message(short, result("r", "c"))


def test_requirements_are_replaced_and_checked() -> None:
    context = build_active_context(FULL)
    pinned = with_requirements(context, (Requirement("long text", id="x"),))
    assert pinned.requirements == (Requirement("long text", id="x"),)
    assert pinned.units == context.units - 6 + 13
    assert pinned.messages is context.messages
    assert build_active_context({**FULL, "requirements": pinned.requirements}) == pinned
    assert with_requirements(context, ()).units == context.units - 6
    with pytest.raises(CompactionError, match=r"requirements\[0\].content: is blank"):
        with_requirements(context, (Requirement(" ", id="x"),))
    with pytest.raises(CompactionError, match="is taken"):
        with_requirements(context, (Requirement("x", id="x"),) * 2)


def test_a_report_changes_nothing_else() -> None:
    context = build_active_context(FULL)
    told = with_report(context, "where it came from")
    assert told == context
    assert (told.report, context.report) == ("where it came from", None)


# ---------------------------------------------------------------------------------------------------- compacting


def test_a_summary_stands_for_the_messages_before_the_boundary() -> None:
    context = build_active_context(FULL)
    smaller, record = compacted(context, boundary=1, summary=Summary("new", id="s2"), record_id="k2", target_units=None)
    assert smaller.summary == Summary("new", id="s2")
    assert smaller.messages.ids == ("a", "r")
    assert smaller.compactions == (*context.compactions, record)
    assert (record.boundary, record.compacted_message_ids) == (1, ("u",))
    assert (record.units_before, record.units_after) == (context.units, smaller.units)
    rebuilt = build_active_context(
        {name: getattr(smaller, name) for name in ("requirements", "summary", "messages", "compactions")}
    )
    assert rebuilt == smaller
    assert rebuilt.fixed_counts == smaller.fixed_counts
    assert rebuilt.messages.counted == smaller.messages.counted


def test_a_context_that_stays_too_large_is_refused() -> None:
    context = build_active_context(FULL)
    with pytest.raises(CompactionError, match=r"summary: the context would still have 50 units, the target is 49") as caught:
        compacted(context, boundary=1, summary=Summary("new", id="s"), record_id="k2", target_units=49)
    assert caught.value.code is ErrorCode.SUMMARY_INSUFFICIENT
    assert compacted(context, boundary=1, summary=Summary("new", id="s"), record_id="k2", target_units=50)[0].units == 50


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(records=1), "2 compaction records, the limit is 1"),
        (Limits(ids_per_record=2), "3 ids in one record, the limit is 2"),
        (Limits(items_total=5), "6 collection items together, the limit is 5"),
        (Limits(strings_total=26), "27 code points together, the limit is 26"),
    ],
)
def test_a_record_that_tips_a_limit_is_refused(limits: Limits, what: str) -> None:
    data: Plain = {"messages": [user("u", ""), user("v", ""), user("w", "x" * 20)], "compactions": [RECORD]}
    context = build_active_context(data, limits=limits)
    with pytest.raises(CompactionError, match=what) as caught:
        compacted(context, boundary=3, summary=Summary("new", id="s"), record_id="k" * 16, target_units=None)
    assert caught.value.code is ErrorCode.LIMIT_EXCEEDED


def test_a_request_says_how_long_the_text_may_be() -> None:
    request = SummaryRequest((), None, build_active_context(FULL).messages, 3, 100, "sid")
    assert request.max_text == 100 - 5 - 3
    assert type(request.messages) is Transcript


# ------------------------------------------------------------------------------------------------------- budgets


def test_a_budget_noun_is_checked_like_plain_options() -> None:
    context = build_active_context(FULL)
    assert select_compaction_boundary(context, BudgetOptions(60, 10, 0)) == select_compaction_boundary(context, OPTIONS)
    with pytest.raises(CompactionError, match=r"options\.target_units: needs a whole number, got str") as caught:
        select_compaction_boundary(context, BudgetOptions("60", 10, 0))  # type: ignore[arg-type]
    assert caught.value.code is ErrorCode.INVALID_BUDGET


@pytest.mark.parametrize(
    ("options", "what", "code"),
    [
        (None, "options: needs a plain object, got NoneType", ErrorCode.INVALID_INPUT),
        ({}, "options.target_units: is missing", ErrorCode.INVALID_INPUT),
        ({"target_units": None}, "options.target_units: needs a whole number, got NoneType", ErrorCode.INVALID_BUDGET),
        ({"target_units": 0}, r"options.target_units: is 0 \(pass a whole number ≥ 1\)", ErrorCode.INVALID_BUDGET),
        ({**OPTIONS, "retain_recent_messages": -1}, "options.retain_recent_messages: is -1", ErrorCode.INVALID_BUDGET),
        ({**OPTIONS, "retain_recent_messages": 4_097}, "keeps 4,097 messages .at most 4,096", ErrorCode.INVALID_BUDGET),
        ({**OPTIONS, "target_units": 1_000_001}, "target 1,000,001, summary 10", ErrorCode.INVALID_BUDGET),
        ({**OPTIONS, "summary_max_units": 61}, "target 60, summary 61", ErrorCode.INVALID_BUDGET),
    ],
)
def test_options_are_refused_with_a_place(options: Any, what: str, code: ErrorCode) -> None:
    with pytest.raises(CompactionError, match=what) as caught:
        select_compaction_boundary(FULL, options)
    assert caught.value.code is code


def test_the_bounds_of_the_options_follow_the_limits() -> None:
    wide = build_active_context(FULL, limits=Limits(units=2_000_000, messages=5_000))
    assert select_compaction_boundary(wide, {**OPTIONS, "target_units": 1_500_000, "retain_recent_messages": 4_500}) is None
    narrow = build_active_context(FULL, limits=Limits(units=55))
    with pytest.raises(CompactionError, match="the target may be at most 55 units"):
        select_compaction_boundary(narrow, OPTIONS)
    assert Limits() == DEFAULT_LIMITS


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1), (100.0, 100), (2**53 - 1, 2**53 - 1), (2**53, None), (0, None), (1.5, None), (True, None), ("1", None)],
)
def test_a_whole_number_is_a_number_without_fraction_and_never_a_bool(value: object, number: int | None) -> None:
    assert safe_int(value, 1) == number
    if number is not None:
        assert read_budget_number({"maxUnits": value}, "maxUnits", "max_units", 1) == number


def test_a_compacted_context_of_a_session_does_not_hold_what_was_hidden() -> None:
    context = build_active_context({"messages": [{"id": f"m{n}", "role": "user", "content": "x" * 50} for n in range(20)]})
    shared, _record = compacted(context, boundary=15, summary=Summary("short", id="s"), record_id="r", target_units=None)
    own, _record = compacted(
        context, boundary=15, summary=Summary("short", id="s"), record_id="r", target_units=None, detach=True
    )
    assert own == shared
    assert own.messages.cuts() == shared.messages.cuts()
    assert own.messages.counted == shared.messages.counted
    assert len(own.messages._buffer.messages) == 5
    assert len(shared.messages._buffer.messages) == 20
