"""Sessions of Claude Code become valid contexts: the last branch, answers put together, compactions kept, and all of it told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.compaction import compact_context
from compactor.errors import CompactionError, ErrorCode
from compactor.formats import Rows, check_anthropic, detect, parse_messages, render_messages
from compactor.messages import AssistantMessage, Media, Text, Thinking, ToolCall, ToolResult, UserMessage
from compactor.outcomes import Committed
from compactor.plain import thaw
from compactor.policy import Budget
from compactor.readers import read_bytes_transcript, read_transcript
from compactor.transcript import validate_transcript

CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpus" / "claude-code"
FILES = sorted(CORPUS.glob("*.jsonl"))
needs_corpus = pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")


def session(*rows):
    """Rows in one line: each is the child of the one before, where it does not say else."""
    out, parent = [], None
    for number, row in enumerate(rows, start=1):
        base = {"uuid": f"u{number}", "parentUuid": parent, "sessionId": "s", "isSidechain": False, "timestamp": f"t{number}"}
        out.append(base | row)
        parent = out[-1]["uuid"]
    return checked(parse_messages("claude-code", out, name="s.jsonl"))


def user(content="hi", **rest):
    return {"type": "user", "message": {"role": "user", "content": content}, **rest}


def said(*blocks, mid="msg_1", stop=None, usage=None, **rest):
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    inner = {"id": mid, "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop}
    return {"type": "assistant", "message": {**inner, "usage": usage or {"output_tokens": 1}}, **rest}


def use(id_="toolu_1", name="ls"):
    return {"type": "tool_use", "id": id_, "name": name, "input": {"n": 1}}


def got(id_="toolu_1", text="ok", **rest):
    return user([{"type": "tool_result", "tool_use_id": id_, "content": text}], **rest)


def boundary(**metadata):
    return {
        "type": "system", "subtype": "compact_boundary", "parentUuid": None, "logicalParentUuid": "u1",
        "compactMetadata": {"trigger": "auto", "preTokens": 9, **metadata},
    }  # fmt: skip


def summary(text="what was", **rest):
    return user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True, **rest)


def checked(context):
    report = context.report
    assert report.format == "claude-code"
    assert report.kept + report.skipped + report.torn == report.rows
    assert sum(note.rows for note in report.notes) == report.skipped
    assert validate_transcript(list(context.messages), live=True) == ()
    assert check_anthropic(render_messages("anthropic", context).data) == ()
    return context


def whats(context):
    return [note.what for note in context.report.notes if note.what != "row_not_in_context"]


def texts(context):
    return [
        content if isinstance(content := message.content, str) else "".join([b.text for b in content if type(b) is Text])
        for message in context.messages
    ]


# -------------------------------------------------------------------------------------------------------- corpus


@needs_corpus
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_of_the_corpus_is_imported_exported_and_compacted(path):
    context = checked(read_transcript(path))
    assert len(context.messages) > 0
    again = read_bytes_transcript(render_messages("compactor", context).to_json().encode(), "again")
    assert again == context
    for name in ("openai-chat", "openai-responses", "anthropic"):
        render_messages(name, context)
    if len(context.messages) > 3 and not context.open_calls:

        async def main():
            room = max(60, context.units // 4)
            budget = Budget(context.units - 1, target_units=context.units - 1, summary_max_units=room, retain_recent_messages=1)
            return await compact_context(context, budget)

        outcome = trio.run(main)
        assert type(outcome) is Committed
        assert outcome.context.units < context.units


@needs_corpus
def test_a_real_session_is_read_row_by_row():
    context = read_transcript(CORPUS / "real-13-tools.jsonl")
    assert (context.report.rows, context.report.kept, context.report.skipped) == (58, 39, 19)
    calls = [call for message in context.messages if type(message) is AssistantMessage for call in message.tool_calls]
    assert len(calls) == 13
    assert context.open_calls == ()
    first = context.messages[1]
    assert [type(block) for block in first.content] == [Thinking, ToolCall]
    assert first.id.startswith("msg_")
    assert first.meta["usage"]["output_tokens"] > 0
    assert context.messages[2].meta["toolUseResult"]


@needs_corpus
def test_messages_that_a_compaction_preserved_stand_behind_its_summary():
    context = read_transcript(CORPUS / "dag-compact-after-rewind-preserved.jsonl")
    assert texts(context) == ["Second answer", "Keep going", "Kept going", "After compaction", "Final answer"]
    assert context.summary.id == "cs"
    assert context.summary.content.startswith("This session is being continued")
    assert whats(context) == ["hidden_by_compaction"]


@needs_corpus
def test_a_file_of_a_sub_agent_is_read_as_its_own_session():
    context = read_transcript(CORPUS / "subagent-child-agent-a0ad4f44468bdf20d.jsonl")
    assert texts(context) == ["Search the repo for TODO comments", "Searching.", "a.txt:1: TODO fix"]
    assert context.messages[2].tool_call_id == context.messages[1].tool_calls[0].id == "ca1-call-2"


@needs_corpus
def test_a_file_of_odd_rows_loses_none_of_its_words():
    context = read_transcript(CORPUS / "ccl-edge_cases.jsonl")
    assert len(context.messages) > 10
    assert {"row_not_object", "row_not_understood", "call_closed"} <= set(whats(context))


# ------------------------------------------------------------------------------------------------------- answers


def test_the_rows_of_an_answer_become_one_message():
    context = session(
        user("go", promptId="p"),
        said({"type": "thinking", "thinking": "hm", "signature": "sig"}, usage={"output_tokens": 0}),
        said("I look"),
        {"type": "progress", "data": {}},
        said(use("a"), stop="tool_use", usage={"output_tokens": 9}, requestId="r"),
        got("a", toolUseResult={"stdout": "ok"}),
        said("done", mid="msg_2", stop="end_turn"),
    )
    assert [type(message) for message in context.messages] == [UserMessage, AssistantMessage, ToolResult, AssistantMessage]
    answer, result = context.messages[1], context.messages[2]
    assert [type(block) for block in answer.content] == [Thinking, Text, ToolCall]
    assert answer.id == "msg_1"
    assert thaw(answer.meta["usage"]) == {"output_tokens": 9}
    assert (answer.meta["stopReason"], answer.meta["model"], answer.meta["requestId"]) == ("tool_use", "m", "r")
    assert thaw(result.meta["toolUseResult"]) == {"stdout": "ok"}
    assert (result.tool_name, result.id, result.meta["entryTimestamp"]) == ("ls", "u6", "t6")
    assert context.messages[0].meta["promptId"] == "p"
    assert context.report.kept == 6


def test_calls_that_ran_side_by_side_are_taken_in_from_beside_the_way():
    context = session(
        user("go"),
        said("both", uuid="t"),
        said(use("a"), uuid="a", parentUuid="t"),
        said(use("b"), uuid="b", parentUuid="a"),
        got("a", "A", uuid="ra", parentUuid="a"),
        said(use("c"), uuid="c", parentUuid="a"),
        got("c", "C", uuid="rc", parentUuid="c"),
        got("b", "B", uuid="rb", parentUuid="b"),
        said("done", mid="msg_2", parentUuid="rb"),
    )
    _, answer, *results, done = context.messages
    assert [call.id for call in answer.tool_calls] == ["a", "b", "c"]
    assert sorted(result.content for result in results) == ["A", "B", "C"]
    assert texts(context)[-1] == "done"
    assert type(done) is AssistantMessage
    assert whats(context) == []


def test_one_row_may_hold_results_and_words():
    blocks = [{"type": "tool_result", "tool_use_id": id_, "content": id_} for id_ in ("a", "b")]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    context = session(user("go"), said(use("a"), use("b")), user([*blocks, "stop", image]))
    one, two, words = context.messages[2:]
    assert (one.content, two.content) == ("a", "b")
    assert words.content == (Text("stop"), Media("data:image/png;base64,AA", media_type="image/png"))
    assert (one.id, words.id) == ("u3", "u3-text")


def test_one_message_id_on_both_sides_of_the_users_words_is_two_messages():
    context = session(user("one"), said("a"), user("two"), said("b"))
    assert texts(context) == ["one", "a", "two", "b"]
    assert whats(context) == ["id_made"]


def test_calls_without_an_id_get_one_and_find_their_result():
    call = {"type": "tool_use", "name": "ls", "input": {}}
    result = {"type": "tool_result", "content": "x"}
    context = session(
        user("go"),
        said(call, call, uuid="a", mid=None),
        user([result], sourceToolAssistantUUID="a"),
        user([result], sourceToolAssistantUUID="a"),
    )
    assert [message.tool_call_id for message in context.messages[2:]] == ["a-call-1", "a-call-2"]
    stray = session(user("go"), user([result], sourceToolUseID="gone"))
    assert "orphan_set_aside" in whats(stray)


def test_a_call_at_the_end_may_still_run_and_one_before_is_closed():
    assert session(user("go"), said(use("a"), stop="tool_use")).open_calls == ("a",)
    context = session(user("go"), said(use("a"), stop="tool_use"), user("again"))
    assert context.open_calls == ()
    assert "call_closed" in whats(context)


# ---------------------------------------------------------------------------------------------------------- tree


def test_the_context_is_the_branch_of_the_last_message():
    context = session(
        user("start"),
        said("ready"),
        user("first try"),
        said("first answer", mid="msg_2"),
        user("second try", parentUuid="u2"),
        said("second answer", mid="msg_3"),
        {"type": "last-prompt", "uuid": None, "parentUuid": None},
    )
    assert texts(context) == ["start", "ready", "second try", "second answer"]
    (note,) = [note for note in context.report.notes if note.what == "not_on_branch"]
    assert note.rows == 2


def test_a_parent_that_was_never_written_brings_no_old_messages_back():
    context = session(
        user("days old"), said("old"), boundary(), summary(), said("kept", mid="msg_2"), user("now", parentUuid="never")
    )
    assert texts(context) == ["kept", "now"]
    assert context.summary.content == "what was"
    assert whats(context) == ["parent_outside_file", "hidden_by_compaction"]


def test_a_lost_row_does_not_take_the_conversation_along():
    context = session(user("one"), said("two"), user("three", parentUuid="lost"), said("four", mid="msg_2"))
    assert texts(context) == ["one", "two", "three", "four"]
    assert whats(context) == ["parent_outside_file"]


def test_a_circle_of_parents_ends():
    context = session(user("one", parentUuid="u2"), said("two", parentUuid="u1"))
    assert texts(context) == ["one", "two"]
    assert whats(context) == ["parent_cycle"]


def test_rows_of_sub_agents_are_set_aside():
    context = session(
        user("go"),
        said("x"),
        user("inner", isSidechain=True),
        said("inner", mid="m", isSidechain=True),
        user("on", parentUuid="u2"),
    )
    assert texts(context) == ["go", "x", "on"]
    assert whats(context) == ["sidechain_set_aside"]
    alone = session(user("inner", isSidechain=True), said("yes", isSidechain=True))
    assert texts(alone) == ["inner", "yes"]


def test_a_file_without_parents_is_a_list():
    rows = [user("one", parentUuid=None), said("two", parentUuid=None), user("three", parentUuid=None)]
    assert texts(session(*rows)) == ["one", "two", "three"]
    context = session(*rows, boundary(), summary("s", parentUuid=None), user("four", parentUuid=None))
    assert (texts(context), context.summary.content) == (["four"], "s")


def test_rows_that_were_not_sent_to_the_model_are_not_in_the_context():
    context = session(
        user("go"),
        said("API Error", mid="m0", isApiErrorMessage=True),
        user("caveat", isMeta=True),
        user("only shown", isVisibleInTranscriptOnly=True),
        said("partial", mid="m1", uuid="p"),
        said("whole", mid="m2", supersedesUuids=["p"]),
    )
    assert texts(context) == ["go", "caveat", "whole"]
    assert context.messages[1].meta["isMeta"] is True
    assert whats(context) == ["row_superseded"]


def test_a_row_that_was_written_twice_is_read_once():
    row = {**user("one", parentUuid=None), "uuid": "x"}
    rows = [row, row, {**user("two", parentUuid=None), "uuid": "x"}]
    context = checked(parse_messages("claude-code", rows))
    assert texts(context) == ["one", "two"]
    assert whats(context) == ["row_doubled", "id_made"]


# ---------------------------------------------------------------------------------------------------- compactions


def test_the_latest_compaction_counts():
    context = session(
        user("a"), said("b"), boundary(), summary("first"), user("c"), said("d", mid="m2"),
        boundary(), summary([{"type": "text", "text": "second"}]), user("e"),
    )  # fmt: skip
    assert texts(context) == ["e"]
    assert (context.summary.content, context.summary.id) == ("second", "u8")
    notes = {note.what: note for note in context.report.notes}
    assert notes["hidden_by_compaction"].rows == 4
    assert notes["summary_superseded"].line == 4


def test_a_preserved_segment_is_walked_from_its_tail():
    kept = {"headUuid": "u3", "anchorUuid": "u6", "tailUuid": "u4"}
    context = session(user("a"), said("b"), user("c"), said("d", mid="m2"), boundary(preservedSegment=kept), summary(), user("e"))
    assert texts(context) == ["c", "d", "e"]
    cut = session(user("a"), boundary(preservedSegment={"headUuid": "gone", "tailUuid": "u1"}), summary(), user("e"))
    assert texts(cut) == ["e"]
    lost = session(user("a"), boundary(preservedMessages={"uuids": ["u1", "gone", 7]}), summary(), user("e"))
    assert texts(lost) == ["a", "e"]
    assert "preserved_outside_file" in whats(lost)


def test_a_boundary_without_a_summary_hides_what_is_before_it():
    context = session(user("a"), said("b"), boundary(), user("c"))
    assert texts(context) == ["c"]
    assert context.summary is None
    assert whats(context) == ["hidden_by_compaction"]
    blank = session(user("a"), said("b"), summary(" "), user("c"))
    assert texts(blank) == ["a", "b", "c"]
    assert blank.summary is None


def test_a_result_whose_call_was_hidden_is_set_aside():
    context = session(user("a"), said(use("a")), boundary(), summary(), got("a"), user("on"))
    assert texts(context) == ["on"]
    (note,) = [note for note in context.report.notes if note.what == "orphan_set_aside"]
    assert "hidden by the compaction" in note.text


def test_a_file_that_ends_with_its_summary_is_that_summary():
    context = session(user("a"), said("b"), boundary(), summary())
    assert (texts(context), context.summary.content) == ([], "what was")


# -------------------------------------------------------------------------------------------------- odd and foreign


def test_what_is_not_understood_is_set_aside_with_its_contents():
    rows = (
        (1, {**user("hi"), "uuid": "u"}),
        (2, 7),
        (3, {"type": "novelty", "x": 1}),
        (4, {"type": "user", "message": "error"}),
        (5, {"type": "assistant", "message": {"contenst": []}}),
        (6, {"type": "mode"}),
    )
    context = checked(parse_messages("claude-code", Rows(rows)))
    aside = [note for note in context.report.notes if note.row is not None]
    assert [(note.line, note.what) for note in aside] == [
        (2, "row_not_object"),
        *[(line, "row_not_understood") for line in (3, 4, 5)],
    ]
    assert thaw(aside[1].row) == {"type": "novelty", "x": 1}
    assert checked(parse_messages("claude-code", [])).report.rows == 0


def test_rows_of_another_format_are_refused_by_line():
    for row in ({"type": "session", "version": 3}, {"type": "response_item"}):
        with pytest.raises(CompactionError, match="another format") as caught:
            parse_messages("claude-code", [user("x"), row], name="f")
        assert (caught.value.code, caught.value.where) == (ErrorCode.FORMAT_INVALID, "f:2")
    with pytest.raises(CompactionError, match="needs a list of rows"):
        parse_messages("claude-code", 7)
    for bad in (
        user([{"type": "text", "text": "x", "odd": object()}]),
        said({"type": "novelty", "x": object()}),
        {"type": "odd", "x": object()},
    ):
        with pytest.raises(CompactionError) as caught:
            parse_messages("claude-code", [bad], name="f")
        assert (caught.value.code, caught.value.where) == (ErrorCode.FORMAT_INVALID, "f:1")


def test_a_session_is_told_by_its_rows():
    row = {**user("hi"), "uuid": "u", "parentUuid": None, "sessionId": "s"}
    head = {"type": "file-history-snapshot", "messageId": "m"}
    assert detect("\n".join(map(json.dumps, (head, row))), whole=True).format == "claude-code"
    assert detect(json.dumps(row)[:-2], whole=False).format == "claude-code"
    qwen = {**row, "message": {"role": "user", "parts": [{"text": "x"}]}}
    assert detect("\n".join(map(json.dumps, (head, qwen))), whole=True).format == "qwen-code"


ROW = st.one_of(
    st.builds(user, st.text(max_size=3)),
    st.builds(lambda ids, mid: said(*[use(id_) for id_ in ids], mid=mid), st.lists(st.sampled_from("abc"), max_size=2), st.sampled_from(["m1", "m2", None])),
    st.builds(lambda text, mid: said(text, mid=mid), st.text(max_size=2), st.sampled_from(["m1", "m2"])),
    st.builds(got, st.sampled_from("abcd")),
    st.builds(boundary),
    st.builds(summary, st.sampled_from(["s", ""])),
    st.just({"type": "progress"}),
    st.just({"type": "odd"}),
)  # fmt: skip
PLACED = st.tuples(ROW, st.fixed_dictionaries({}, optional={
    "parentUuid": st.sampled_from(["u1", "u2", "u3", "u5", "gone", None]), "uuid": st.sampled_from(["u1", "x"]), "isSidechain": st.booleans(),
    "isVisibleInTranscriptOnly": st.booleans(), "supersedesUuids": st.just(["u2"]),
}))  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PLACED, max_size=12))
def test_any_rows_give_a_valid_context_and_a_true_report(rows):
    session(*[{**row, **more} for row, more in rows])
