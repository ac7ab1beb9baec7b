"""Sessions and messages of other programs become valid contexts, and what was done to them is reported."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.context import build_live_context
from compactor.errors import CompactionError, ErrorCode
from compactor.formats import (
    FORMATS,
    ImportReport,
    Note,
    Rows,
    check_openai_chat,
    parse_messages,
    render_messages,
)
from compactor.messages import (
    AssistantMessage,
    Media,
    Opaque,
    Requirement,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from compactor.plain import SESSION_LIMITS, thaw
from compactor.readers import read_bytes_transcript, read_transcript, sample_bytes
from compactor.transcript import validate_transcript

SHARED = Path(__file__).parent.parent.parent / "shared"


def pi(*rows, header=True, version=3):
    """Rows of a version 3 session in one line; ids and parents are filled in where they are not given."""
    out = [{"type": "session", "version": version, "id": "s", "timestamp": "t", "cwd": "/w"}] if header else []
    parent = None
    for number, row in enumerate(rows, start=1):
        out.append({"id": f"e{number}", "parentId": parent, "timestamp": "t", **row})
        parent = out[-1]["id"]
    return parse_messages("pi", out, name="s.jsonl")


def message(role, content="", **rest):
    return {"type": "message", "message": {"role": role, "content": content, **rest}}


def calling(*ids, stop="toolUse", name="bash", **rest):
    blocks = [{"type": "toolCall", "id": id_, "name": name, "arguments": {"n": 1}} for id_ in ids]
    return message("assistant", blocks, stopReason=stop, **rest)


def answer(id_, text="ok", name="bash", **rest):
    return message("toolResult", [{"type": "text", "text": text}], toolCallId=id_, toolName=name, isError=False, **rest)


def whats(context):
    return [note.what for note in context.report.notes if note.what not in ("row_not_in_context", "header_missing")]


def noted(context, what):
    return [note for note in context.report.notes if note.what == what]


def checked(context):
    report = context.report
    assert type(report) is ImportReport
    assert report.kept + report.skipped + report.torn == report.rows
    assert sum(note.rows for note in report.notes) == report.skipped
    assert validate_transcript(list(context.messages), live=True) == ()
    assert check_openai_chat(render_messages("openai-chat", context).data) == ()
    return context


# -------------------------------------------------------------------------------------------------- the corpus


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder ../shared with the corpus is not beside this checkout")
def test_every_pi_file_of_the_corpus_is_imported_and_exported():
    paths = sorted((SHARED / "corpus").glob("pi/*.jsonl")) + sorted((SHARED / "corpus").glob("openclaw/*.jsonl"))
    assert paths
    for path in paths:
        context = checked(read_transcript(path))
        assert len(context.messages) > 0
        again = read_bytes_transcript(render_messages("compactor", context).to_json().encode(), "again")
        assert again == context


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder ../shared with the corpus is not beside this checkout")
def test_the_corpus_slice_of_version_1_keeps_everything_and_says_why():
    context = read_transcript(SHARED / "corpus/pi/v1-before-compaction.L540-724.jsonl")
    assert (context.report.rows, context.report.kept, context.report.skipped) == (184, 179, 5)
    assert context.report.count("call_closed") == 2
    assert context.report.count("boundary_outside_file") == 1
    assert context.messages.ids[0] == "pi-1"
    assert context.summary.id == "pi-89"
    assert context.compactions == ()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder ../shared with the corpus is not beside this checkout")
def test_a_compaction_that_keeps_from_a_metadata_entry_hides_nothing():
    context = read_transcript(SHARED / "corpus/pi/v3-small-two-compactions.jsonl")
    assert context.messages.ids == ("30c6a75f", "22a2720e", "ddd2179a", "4a666296")
    assert context.summary.id == "2c19d326"
    assert context.compactions == ()
    assert whats(context) == ["summary_superseded"]


# ---------------------------------------------------------------------------------------------------------- Pi


def test_every_kind_of_pi_content_has_its_place():
    usage = {"input": 1, "output": 2}
    context = checked(
        pi(
            message("user", [{"type": "text", "text": "look"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]),
            message(
                "assistant",
                [
                    {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                    {"type": "thinking", "thinking": "", "thinkingSignature": "blob", "redacted": True},
                    {"type": "text", "text": "I see", "textSignature": "ts"},
                    {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"x": 1}, "thoughtSignature": "th"},
                    {"type": "novelty", "x": 1},
                    7,
                ],
                usage=usage,
                stopReason="toolUse",
                model="m",
            ),
            answer("c", details={"diff": "+"}),
        )
    )
    user, assistant, result = context.messages
    assert user.content == (Text("look"), Media("data:image/png;base64,AAAA", media_type="image/png"))
    assert assistant.content == (
        Thinking("hm", signature="sig"),
        Thinking("", signature="blob", redacted=True),
        Text("I see"),
        ToolCall("c", name="bash", arguments={"x": 1}),
        Opaque("pi:novelty", data={"type": "novelty", "x": 1}),
        Opaque("pi:block", data={"$raw": 7}),
    )
    assert thaw(assistant.meta) == {
        "usage": usage,
        "stopReason": "toolUse",
        "model": "m",
        "entryTimestamp": "t",
        "blockExtras": {"2": {"textSignature": "ts"}, "3": {"thoughtSignature": "th"}},
    }
    assert result.content == "ok"
    assert result.meta["details"] == {"diff": "+"}


def test_pi_entries_beside_messages_are_in_the_context_where_pi_shows_them():
    context = checked(
        pi(
            {"type": "model_change", "modelId": "m"},
            message("bashExecution", command="ls", output="a", exitCode=2, truncated=True),
            message("bashExecution", command="ls", output="", cancelled=True),
            message("bashExecution", command="ls", output="a", excludeFromContext=True),
            message("custom", "note", customType="x"),
            message("branchSummary", summary="went there", fromId="e1"),
            message("compactionSummary", summary="earlier", tokensBefore=9),
            {"type": "custom_message", "customType": "y", "content": [{"type": "text", "text": "hi"}], "display": False},
            {"type": "branch_summary", "fromId": "e1", "summary": "came back"},
            {"type": "custom", "customType": "z", "data": {}},
            {"type": "label", "targetId": "e1", "label": "l"},
            {"type": "session_info", "name": "n"},
            {"type": "compact", "legacy": True},
            message("oracle", "?"),
            message("user", 7),
            message("branchSummary", summary=" "),
        )
    )
    texts = [message.content for message in context.messages]
    assert texts[0] == "Ran `ls`\n```\na\n```\n\nCommand exited with code 2\n\n[output truncated]"
    assert texts[1] == "Ran `ls`\n(no output)\n\n(command cancelled)"
    assert [message.meta["kind"] for message in context.messages] == [
        "bashExecution",
        "bashExecution",
        "custom",
        "branchSummary",
        "compactionSummary",
        "custom_message",
        "branchSummary",
    ]
    assert "went there" in texts[3]
    assert texts[5] == "hi"
    aside = noted(context, "row_not_understood")
    assert [note.row["id"] for note in aside] == ["e13", "e14", "e15", "e16"]
    assert [note.line for note in aside] == [14, 15, 16, 17]


def test_the_context_is_the_branch_of_the_last_entry():
    context = checked(
        pi(
            message("user", "root"),
            message("user", "left"),
            calling("c1"),
            {**message("user", "right"), "parentId": "e1"},
            message("user", "leaf"),
        )
    )
    assert context.messages.ids == ("e1", "e4", "e5")
    [note] = noted(context, "not_on_branch")
    assert note.rows == 2


def test_a_lost_parent_does_not_take_the_conversation_along():
    context = checked(pi(message("user", "a"), message("user", "b"), {**message("user", "c"), "parentId": "gone"}))
    assert context.messages.ids == ("e1", "e2", "e3")
    assert whats(context) == ["parent_outside_file"]
    assert pi({**message("user", "a"), "parentId": "gone"}).messages.ids == ("e1",)
    assert pi({**message("user", "a"), "parentId": "s"}).report.count("parent_outside_file") == 0


def test_a_circle_of_parents_ends():
    context = checked(pi({**message("user", "a"), "parentId": "e2"}, message("user", "b")))
    assert set(context.messages.ids) == {"e1", "e2"}
    assert "parent_cycle" in whats(context)


def test_ids_that_are_missing_or_used_again_are_made_distinct():
    context = checked(pi(message("user", "a"), {**message("user", "b"), "id": "e1"}, {**message("user", "c"), "id": None}))
    assert context.messages.ids == ("e1", "e1_2", "pi-4")
    assert whats(context) == ["id_made", "id_made"]
    newer = pi(message("user", "a"), version=4)
    assert whats(newer) == ["newer_version"]


def test_a_doubled_line_is_read_once():
    row = {**message("user", "b"), "id": "b", "parentId": "e1"}
    context = checked(pi(message("user", "a"), row, row, {**message("user", "c"), "parentId": "b"}))
    assert context.messages.ids == ("e1", "b", "e4")


def test_a_compaction_hides_what_stands_before_its_first_kept_entry():
    context = checked(
        pi(
            message("user", "one"),
            message("user", "two"),
            {"type": "compaction", "summary": "first", "firstKeptEntryId": "e2"},
            message("user", "three"),
            message("user", "four"),
            {"type": "compaction", "summary": "second", "firstKeptEntryId": "e5"},
            message("user", "five"),
        )
    )
    assert context.messages.ids == ("e5", "e7")
    assert context.summary == Summary("second", id="e6")
    first, second = context.compactions
    assert (first.compacted_message_ids, first.summary_id, first.boundary) == (("e1",), "e3", 1)
    assert second.compacted_message_ids == ("e2", "e4")
    # Units: a message 4 + id + text, a summary 5 + id + text.
    assert (first.units_before, first.units_after) == (9 + 9, 12 + 9)
    assert (second.units_before, second.units_after) == (12 + 9 + 11 + 10, 13 + 10)
    [note] = noted(context, "hidden_by_compaction")
    assert note.rows == 3


def test_a_later_compaction_that_shows_messages_again_takes_older_records_along():
    context = checked(
        pi(
            message("user", "one"),
            message("user", "two"),
            {"type": "compaction", "summary": "first", "firstKeptEntryId": "e2"},
            {"type": "compaction", "summary": "second", "firstKeptEntryId": "e1"},
        )
    )
    assert context.messages.ids == ("e1", "e2")
    assert context.compactions == ()


@pytest.mark.parametrize("kept", ["gone", None, 7, "e4"])
def test_a_first_kept_entry_that_is_not_there_hides_nothing(kept):
    context = checked(
        pi(
            message("user", "one"),
            message("user", "two"),
            {"type": "compaction", "summary": "s", "firstKeptEntryId": kept},
            message("user", "x"),
        )
    )
    assert context.messages.ids == ("e1", "e2", "e4")
    assert context.summary.content == "s"
    assert whats(context) == ["boundary_outside_file"]


def test_a_compaction_without_a_summary_is_set_aside():
    context = checked(pi(message("user", "one"), {"type": "compaction", "summary": " ", "firstKeptEntryId": "e1"}))
    assert context.summary is None
    assert whats(context) == ["row_not_understood"]


def test_a_result_whose_call_is_hidden_is_set_aside():
    context = checked(
        pi(calling("c"), answer("c"), {"type": "compaction", "summary": "s", "firstKeptEntryId": "e2"}, message("user", "x"))
    )
    assert context.messages.ids == ("e4",)
    [note] = noted(context, "orphan_set_aside")
    assert "hidden" in note.text
    assert note.row["id"] == "e2"


def old(*rows, header=True):
    first = [{"type": "session", "id": "s", "timestamp": "t", "cwd": "/w", "provider": "p"}] if header else []
    return parse_messages("pi", [*first, *rows])


def test_version_1_has_no_ids_and_counts_entries():
    rows = [message("user", "one"), message("user", "two"), message("user", "three")]
    compaction = {"type": "compaction", "timestamp": "t", "summary": "s", "firstKeptEntryIndex": 3}
    context = checked(old(*rows, compaction, message("user", "four")))
    assert context.messages.ids == ("pi-4", "pi-6")
    assert context.summary.id == "pi-5"
    assert context.compactions[0].compacted_message_ids == ("pi-2", "pi-3")
    assert noted(context, "id_made")[0].line == 2


@pytest.mark.parametrize(("index", "header"), [(3, False), (4, True), (99, True), (-1, True), ("3", True), (None, True)])
def test_an_index_that_cannot_be_trusted_hides_nothing(index, header):
    rows = [message("user", "one"), message("user", "two"), message("user", "three")]
    compaction = {"type": "compaction", "summary": "s", "firstKeptEntryIndex": index}
    context = checked(old(*rows, compaction, header=header))
    assert len(context.messages) == 3
    assert context.summary.content == "s"
    assert context.report.count("boundary_outside_file") == 1


# ------------------------------------------------------------------------------------------------------ pairing


@pytest.mark.parametrize("stop", ["aborted", "error", "length"])
def test_calls_of_a_broken_off_message_are_closed_and_marked(stop):
    context = checked(pi(calling("a", "b", "c", stop=stop), answer("b"), message("user", "go on")))
    results = context.messages[1:4]
    assert [result.tool_call_id for result in results] == ["b", "a", "c"]
    assert thaw(results[1].meta) == {"synthetic": True, "reason": stop}
    assert results[1].is_error
    assert results[1].content == "No result was recorded for this tool call."
    assert context.report.count("call_closed") == 2
    assert context.open_calls == ()
    # Also when nothing comes after.
    assert pi(calling("a", stop=stop)).report.count("call_closed") == 1


def test_calls_that_still_run_at_the_end_stay_open():
    context = checked(pi(calling("a", "b"), answer("a")))
    assert context.open_calls == ("b",)
    assert whats(context) == ["calls_left_open"]
    context = checked(pi(calling("a", "b"), answer("a"), message("user", "and?")))
    assert context.open_calls == ()
    assert context.messages[2].meta["reason"] == "no_result"
    assert [type(message).__name__ for message in context.messages][-1] == "UserMessage"


def test_results_without_before_and_beside_their_call_are_set_aside():
    context = checked(pi(answer("c"), answer("x"), calling("c"), answer("c"), answer("c", "again")))
    assert whats(context) == ["early_result_set_aside", "orphan_set_aside", "duplicate_set_aside"]
    assert [note.row["id"] for note in context.report.notes if note.row] == ["e1", "e2", "e5"]
    assert context.messages.ids == ("e3", "e4")


def test_call_ids_that_are_used_again_get_names_of_their_own():
    context = checked(pi(calling("c", "c"), answer("c", "1"), answer("c", "2"), calling("c"), answer("c", "3"), calling("c_2")))
    calls = [call.id for message in context.messages if isinstance(message, AssistantMessage) for call in message.tool_calls]
    assert calls == ["c", "c_2", "c_3", "c_2_2"]
    answers = [(message.tool_call_id, message.content) for message in context.messages if isinstance(message, ToolResult)]
    assert answers == [("c", "1"), ("c_2", "2"), ("c_3", "3")]
    assert thaw(context.messages[3].meta["renamedCalls"]) == {"c_3": "c"}
    assert context.report.count("call_id_renamed") == 3
    wire = render_messages("openai-chat", context).data
    assert [call["id"] for message in wire for call in message.get("tool_calls", [])] == ["c", "c_2", "c", "c_2"]


def test_a_result_that_names_another_tool_takes_the_calls_name():
    context = checked(pi(calling("c"), answer("c", name="write")))
    assert context.messages[1].tool_name == "bash"
    assert context.messages[1].meta["originalToolName"] == "write"
    assert whats(context) == ["tool_name_corrected"]


def test_arguments_that_are_no_object_are_kept_as_they_came():
    row = message("assistant", [{"type": "toolCall", "id": "c", "name": "bash", "arguments": "{broken"}], stopReason="toolUse")
    context = checked(pi(row))
    assert context.messages[0].tool_calls[0].arguments == {"$raw": "{broken"}
    assert "arguments_kept_raw" in whats(context)
    nameless = message("assistant", [{"type": "toolCall", "id": "c", "name": " ", "arguments": {}}])
    assert type(pi(nameless).messages[0].content[0]) is Opaque


# ------------------------------------------------------------------------------------------------------- OpenAI


def chat(*messages):
    return parse_messages("openai-chat", list(messages))


def call(id_="c", arguments="{}", name="ls"):
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


PARTS = [
    {"type": "text", "text": "see"},
    {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "high"}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
    {"type": "input_audio", "input_audio": {"data": "BB", "format": "mp3"}},
    {"type": "file", "file": {"file_id": "file-1"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,CC"}},
    {"type": "file", "file": {"filename": "a.png", "file_data": "data:image/png;base64,CC"}, "cache": True},
    {"type": "novelty", "novelty": 1},
]
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": [{"type": "text", "text": "Use tools."}]},
    {"role": "user", "content": PARTS, "name": "ann"},
    {"role": "user", "content": ""},
    {"role": "assistant", "content": None, "tool_calls": [call("a", '{"p": [1, 2.5, null]}'), call("b", "{broken")]},
    {"role": "tool", "tool_call_id": "b", "content": "2"},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "1"}]},
    {"role": "assistant", "content": None, "refusal": "No."},
    {
        "role": "assistant",
        "content": "x",
        "tool_calls": [call("a", '{"$raw": "y"}'), call("d", "[1]"), call("e", '{"x": 1e999}')],
    },
    {"role": "tool", "tool_call_id": "a", "content": ""},
    {"role": "tool", "tool_call_id": "d", "content": "2"},
    {"role": "tool", "tool_call_id": "e", "content": "3"},
    {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "audio": {"id": "q"}},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "f", "type": "custom", "custom": {"name": "grammar", "input": "a b"}}],
    },
    {"role": "tool", "tool_call_id": "f", "content": "ok"},
]


def test_chat_messages_go_in_and_come_out_the_same():
    assert check_openai_chat(CHAT) == ()
    context = checked(chat(*CHAT))
    rendered = render_messages("openai-chat", context)
    again = chat(*rendered.data)
    assert again == context
    assert [thaw(message.meta) for message in again.messages] == [thaw(message.meta) for message in context.messages]
    assert render_messages("openai-chat", again).data == rendered.data
    assert rendered.notes == ()
    for before, after in zip(CHAT, rendered.data, strict=True):
        if before["role"] in ("user", "tool"):
            assert before == after
    assert [item["function"]["arguments"] for item in rendered.data[8]["tool_calls"]] == ['{"$raw": "y"}', "[1]", '{"x": 1e999}']


def test_what_an_import_of_chat_messages_does_is_noted():
    context = checked(
        parse_messages(
            "openai-chat",
            {
                "model": "m",
                "messages": [
                    {"role": "system", "content": " "},
                    {"role": "system", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]},
                    {"role": "session_meta", "content": "x"},
                    {"role": "assistant", "reasoning_content": "hm", "content": None, "tool_calls": [call("c", "oops")]},
                ],
            },
        )
    )
    assert whats(context) == [
        "key_ignored",
        "key_ignored",
        "row_not_understood",
        "arguments_kept_raw",
        "system_pinned",
        "calls_left_open",
    ]
    assert context.requirements == (Requirement("x", id="system-1"),)
    assert context.messages[0].content == (Thinking("hm"), ToolCall("c", name="ls", arguments={"$raw": "oops"}))
    assert context.messages[0].id == "msg-1"


def test_legacy_function_calls_are_paired_by_name():
    context = checked(
        chat(
            {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
            {"role": "function", "name": "ls", "content": "ok"},
            {"role": "function", "name": "ls", "content": "ok"},
        )
    )
    assert context.messages[1].tool_name == "ls"
    assert whats(context) == ["id_made", "orphan_set_aside"]


def test_message_ids_of_a_log_are_kept():
    context = checked(chat({"role": "user", "content": "x", "id": "m"}, {"role": "user", "content": "y", "id": "m"}))
    assert context.messages.ids == ("m", "m_2")
    assert chat(*render_messages("openai-chat", context).data) == context


@pytest.mark.parametrize(
    "bad",
    [
        7,
        {},
        {"role": None},
        {"role": " "},
        {"role": "toolResult"},
        {"role": "user", "content": 7},
        {"role": "user", "content": [7]},
        {"role": "assistant", "tool_calls": 7},
        {"role": "assistant", "tool_calls": [7]},
        {"role": "assistant", "tool_calls": [{"id": "x"}]},
        {"role": "assistant", "tool_calls": [{"id": " ", "function": {"name": "x", "arguments": ""}}]},
        {"role": "assistant", "function_call": {"name": " "}},
    ],
)
def test_a_message_without_the_shape_of_its_role_is_named(bad):
    with pytest.raises(CompactionError, match=r"messages\[1\]") as caught:
        chat({"role": "user", "content": "x"}, bad)
    assert caught.value.code is ErrorCode.FORMAT_INVALID
    assert caught.value.fix


# ------------------------------------------------------------------------------------------------------- export


def live(*messages, **rest):
    return build_live_context({"messages": list(messages), **rest}, limits=SESSION_LIMITS)


CALL = ToolCall("c", name="ls")


def test_requirements_come_first_then_the_summary_as_reference_data():
    context = live(
        UserMessage("hi", id="u"), requirements=[Requirement("Never.", id="r")], summary={"id": "s", "content": "We began."}
    )
    system, summary, user = render_messages("openai-chat", context).data
    assert system == {"role": "system", "content": "Never."}
    assert summary["role"] == "user"
    assert "carries no authority" in summary["content"]
    assert summary["content"].endswith("<conversation-summary>\nWe began.\n</conversation-summary>")
    assert user == {"role": "user", "content": "hi"}


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["</conversation-summary>", "</CONVERSATION-summary >", "< / conversation-summary>", "<conversation-summary>"]
        )
        | st.text(max_size=5),
        max_size=6,
    ).map("".join)
)
def test_no_summary_can_close_its_frame(text):
    context = live(summary={"id": "s", "content": "x" + text})
    [message] = render_messages("openai-chat", context).data
    content = message["content"]
    assert content.casefold().count("conversation-summary>".casefold()) >= 2
    assert content.count("<conversation-summary>") == 1
    assert content.count("</conversation-summary>") == 1
    assert content.endswith("\n</conversation-summary>")
    assert "</conversation-summary" not in content.casefold().removesuffix("</conversation-summary>")


def test_results_that_came_late_are_moved_behind_their_call():
    context = live(
        AssistantMessage((CALL, ToolCall("d", name="ls")), id="a"),
        UserMessage("wait", id="u"),
        ToolResult("d", "2", tool_name="ls", id="r2"),
        ToolResult(CALL, "1", is_error=True, id="r1"),
    )
    rendered = render_messages("openai-chat", context)
    assert [message["role"] for message in rendered.data] == ["assistant", "tool", "tool", "user"]
    assert [note.what for note in rendered.notes] == ["results_moved", "error_mark_left_out"]


def test_open_calls_are_closed_in_the_export_only():
    context = live(AssistantMessage((CALL,), id="a"))
    rendered = render_messages("openai-chat", context)
    assert rendered.data[1] == {"role": "tool", "tool_call_id": "c", "content": "No result was recorded for this tool call."}
    assert [note.what for note in rendered.notes] == ["call_closed"]
    assert context.open_calls == ("c",)


def test_what_the_format_cannot_hold_is_left_out_and_counted():
    image = Media("data:image/png;base64,AA", media_type="image/png")
    context = live(
        UserMessage((Opaque("pi:x"), Media("https://x/y.pdf", media_type="application/pdf")), id="u"),
        UserMessage((image, Media("file-1", name="n")), id="u2"),
        AssistantMessage((Thinking("a"), Thinking("b")), id="a"),
        AssistantMessage((image, CALL, Text("after")), id="a2"),
        ToolResult(CALL, (Text("t"), image), id="r"),
        AssistantMessage((Text(""),), id="a3"),
    )
    rendered = render_messages("openai-chat", context)
    assert {note.what: note.text.split()[0] for note in rendered.notes} == {
        "opaque_left_out": "1",
        "media_left_out": "2",
        "empty_left_out": "3",
        "thinking_left_out": "2",
        "blocks_reordered": "1",
        "media_moved": "1",
    }
    assert [message["role"] for message in rendered.data] == ["user", "assistant", "tool", "user"]
    assert rendered.data[0]["content"][1] == {"type": "file", "file": {"file_id": "file-1", "filename": "n"}}
    assert rendered.data[3]["content"][1]["image_url"] == {"url": "data:image/png;base64,AA"}
    assert check_openai_chat(rendered.data) == ()


def test_exports_are_fresh_and_the_same_each_time():
    context = read_bytes_transcript(sample_bytes(), "sample")
    for name in ("openai-chat", "compactor"):
        first, second = render_messages(name, context), render_messages(name, context)
        assert first.to_json() == second.to_json()
        first.data.clear()
        assert render_messages(name, context).to_json() == second.to_json()
        assert str(len(context.messages[0].content)) not in repr(first)


def test_a_lone_surrogate_is_escaped_in_the_text_of_an_export():
    rendered = render_messages("openai-chat", live(UserMessage("\ud800", id="u")))
    assert "\\ud800" in rendered.to_json()
    assert "é" in render_messages("openai-chat", live(UserMessage("é", id="u"))).to_json(indent=1)


TOOL = {"role": "tool", "tool_call_id": "c", "content": "x"}
ASKED = {"role": "assistant", "content": None, "tool_calls": [call("c")]}


@pytest.mark.parametrize(
    ("messages", "what"),
    [
        (7, "no list"),
        ([7], "role"),
        ([{"role": "oracle", "content": "x"}], "role"),
        ([TOOL], "no call"),
        ([ASKED], "never answered"),
        ([ASKED, {"role": "user", "content": "x"}, TOOL], "must be answered"),
        ([ASKED, TOOL, TOOL], "no call"),
        ([{**ASKED, "tool_calls": [call("c"), call("c")]}, TOOL], "two calls"),
        ([{**ASKED, "tool_calls": []}], "leave it out"),
        ([{**ASKED, "tool_calls": [{}]}], "no id"),
        ([{**ASKED, "tool_calls": [{"id": "c", "type": "function"}]}, TOOL], "needs a name"),
        ([{**ASKED, "tool_calls": [call("c", arguments={})]}, TOOL], "needs a name"),
        ([{"role": "assistant", "content": ""}], "says and calls nothing"),
        ([{"role": "system", "content": " "}], "blank"),
        ([{"role": "user", "content": []}], "empty"),
        ([{"role": "user", "content": [{}]}], "no type"),
        ([{"role": "user", "content": None}], "neither"),
    ],
)
def test_the_validator_fires_on_a_broken_export(messages, what):
    assert any(what in fault for fault in check_openai_chat(messages))


def test_the_exporter_is_checked_by_the_validator(monkeypatch):
    from compactor.formats import openai_chat

    monkeypatch.setattr(openai_chat, "check_openai_chat", lambda _messages: ("messages[0]: broken",))
    with pytest.raises(CompactionError, match="breaks a rule") as caught:
        render_messages("openai-chat", live())
    assert caught.value.code is ErrorCode.INTERNAL


# ---------------------------------------------------------------------------------------------------- our format

FULL = live(
    UserMessage((Text("x"), Media("u", media_type="image/png", name="n", cost=7), Opaque("k", data={"a": [1, 1.5]})), id="u"),
    AssistantMessage(
        (
            Thinking("t", signature="s"),
            Thinking("", signature="b", redacted=True),
            Text("y"),
            ToolCall("c", name="n", arguments={"": None}),
        ),
        id="a",
        meta={"usage": {"n": 2**60}, "renamedCalls": {"c": "z"}},
    ),
    ToolResult("c", (Text("r"),), is_error=True, tool_name="n", id="r", meta={"synthetic": True}),
    AssistantMessage((ToolCall("open", name="n"),), id="a"),
    requirements=[Requirement("Never.", id="q")],
    summary={"id": "s", "content": "was"},
    compactions=[{"id": "k", "summaryId": "s", "boundary": 1, "compactedMessageIds": ["z"], "unitsBefore": 9, "unitsAfter": 3}],
)


def test_our_format_holds_everything():
    rendered = render_messages("compactor", FULL)
    assert (rendered.data["format"], rendered.data["version"], rendered.notes) == ("compactor", 1, ())
    again = parse_messages("compactor", json.loads(rendered.to_json()))
    assert again == FULL
    assert again.units == FULL.units
    assert again.open_calls == ("open",)
    assert whats(again) == ["calls_left_open"]
    assert (again.report.rows, again.report.kept) == (7, 7)


def test_a_plain_context_and_a_list_are_read():
    plain = [{"role": "user", "id": "u", "content": "x"}]
    assert parse_messages("compactor", plain).messages == parse_messages("compactor", {"messages": plain, "note": 1}).messages
    assert whats(parse_messages("compactor", {"messages": plain, "note": 1})) == ["key_ignored"]


@pytest.mark.parametrize(
    ("data", "code", "what"),
    [
        ({"format": "compactor", "version": 2}, ErrorCode.FORMAT_INVALID, "version 2 is unknown"),
        ({"format": "compactor", "version": "1"}, ErrorCode.FORMAT_INVALID, "of type str"),
        ({"format": "compactor", "version": True}, ErrorCode.FORMAT_INVALID, "of type bool"),
        ({"format": "compactor"}, ErrorCode.FORMAT_INVALID, "version is missing"),
        ({"format": "other", "version": 1}, ErrorCode.FORMAT_UNKNOWN, "'other'"),
        ({"summary": {"id": "s", "content": " "}}, ErrorCode.FORMAT_INVALID, "blank"),
        ({"messages": [{"role": "tool", "id": "x"}]}, ErrorCode.INVALID_TRANSCRIPT, "role"),
        (7, ErrorCode.FORMAT_INVALID, "int"),
    ],
)
def test_a_document_of_ours_that_is_wrong_is_refused(data, code, what):
    with pytest.raises(CompactionError, match=what) as caught:
        parse_messages("compactor", data, name="f.json")
    assert caught.value.code is code
    assert caught.value.where.startswith("f.json")
    assert caught.value.fix


# ------------------------------------------------------------------------------------------------------ registry


def test_formats_are_named_in_every_refusal():
    assert {"pi", "claude-code", "openai-chat", "openai-responses", "anthropic", "compactor"} <= FORMATS.keys()
    for attempt in (
        lambda: parse_messages("word", []),
        lambda: parse_messages(7, []),
        lambda: render_messages("pi", live()),
        lambda: render_messages("word", live()),
    ):
        with pytest.raises(CompactionError, match="openai-chat") as caught:
            attempt()
        assert caught.value.code is ErrorCode.FORMAT_UNKNOWN
    for name in FORMATS:
        with pytest.raises(CompactionError) as caught:
            parse_messages(name, 7)
        assert caught.value.code is ErrorCode.FORMAT_INVALID


def test_data_that_is_not_json_is_refused_by_name():
    for value in (object(), {1}, float("nan"), 10**400):
        for name, data in (
            ("pi", [message("user", "x", extra=value)]),
            ("openai-chat", [{"role": "user", "content": "x", "extra": value}]),
            ("compactor", [{"role": "user", "id": "u", "content": "x", "meta": {"x": value}}]),
        ):
            with pytest.raises(CompactionError) as caught:
                parse_messages(name, data, name="f")
            assert caught.value.code in (ErrorCode.FORMAT_INVALID, ErrorCode.INVALID_TRANSCRIPT)
            assert caught.value.where.startswith("f")


def test_rows_carry_their_lines_into_notes():
    torn = Note("torn_line", "torn", 9)
    context = checked(parse_messages("pi", Rows(((3, message("user", "x")), (7, {"type": "odd"})), torn)))
    assert [note.line for note in context.report.notes if note.line] == [3, 7, 9]
    assert (context.report.rows, context.report.torn) == (3, 1)


# ------------------------------------------------------------------------------------------------- properties

ROWS = st.lists(
    st.one_of(
        st.builds(message, st.just("user"), st.text(max_size=3)),
        st.builds(
            lambda ids, stop: calling(*ids, stop=stop),
            st.lists(st.sampled_from("abc"), max_size=3),
            st.sampled_from(["toolUse", "stop", "aborted", "error"]),
        ),
        st.builds(answer, st.sampled_from("abcd")),
        st.builds(
            lambda kept: {"type": "compaction", "summary": "s", "firstKeptEntryId": kept},
            st.sampled_from([f"e{number}" for number in range(1, 9)]),
        ),
        st.just({"type": "odd"}),
    ),
    max_size=14,
)


@settings(max_examples=300, deadline=None)
@given(ROWS)
def test_any_order_of_calls_results_and_compactions_gives_a_valid_context(rows):
    context = checked(pi(*rows))
    results = [message for message in context.messages if isinstance(message, ToolResult)]
    assert sum(message.meta.get("synthetic", False) for message in results) == context.report.count("call_closed")
    exported = render_messages("openai-chat", context).data
    once = chat(*exported)
    assert chat(*render_messages("openai-chat", once).data) == once
    assert parse_messages("compactor", render_messages("compactor", context).data) == context


def test_pi_content_of_other_shapes_is_kept_or_set_aside():
    context = checked(
        pi(
            message("user", None),
            message("user", ["bare", {"type": "text", "text": "x"}]),
            message("assistant", "plain text"),
            message("assistant", None),
            message("assistant", [{"type": "thinking", "thinking": "x", "thinkingSignature": 7}]),
            message("assistant", 7),
            message("toolResult", "x", toolCallId=" "),
            message("bashExecution", command=7),
            message("custom", 7),
            {"type": "message", "message": 7},
            header=False,
        )
    )
    assert [message.content for message in context.messages] == [
        "",
        (Opaque("pi:block", data={"$raw": "bare"}), Text("x")),
        (Text("plain text"),),
        (),
        (Opaque("pi:thinking", data={"type": "thinking", "thinking": "x", "thinkingSignature": 7}),),
    ]
    assert len(noted(context, "row_not_understood")) == 5


def test_rows_of_version_3_without_a_parent_follow_the_row_before():
    rows = [{"type": "message", "id": id_, "message": {"role": "user", "content": "x"}} for id_ in "ab"]
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "t"}
    assert parse_messages("pi", [header, *rows]).messages.ids == ("a", "b")


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "7",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": ' + "9" * 400 + "}",
        '{"a":' * 150 + "1" + "}" * 150,
        "[" * 99_999,
        '{"$raw": "x"}',
    ],
)
def test_argument_text_that_the_nouns_cannot_hold_comes_back_as_it_came(arguments):
    asked = {"role": "assistant", "content": None, "tool_calls": [call("c", arguments)]}
    context = checked(chat(asked, {"role": "tool", "tool_call_id": "c", "content": "x"}))
    assert context.messages[0].tool_calls[0].arguments == {"$raw": arguments}
    assert render_messages("openai-chat", context).data[0]["tool_calls"] == asked["tool_calls"]


def test_arguments_that_are_an_object_already_are_taken():
    asked = {"role": "assistant", "content": None, "tool_calls": [call("c", {"a": 1})]}
    assert chat(asked).messages[0].tool_calls[0].arguments == {"a": 1}


@pytest.mark.parametrize(
    "parts", [["bare"], [{"type": "image_url", "image_url": 7}], [{"type": "file", "file": {}}], [{"x": 1}], []]
)
def test_parts_that_are_not_known_do_not_stop_an_import(parts):
    context = checked(chat({"role": "user", "content": parts}, {"role": "assistant", "content": parts or "x"}))
    assert len(context.messages) == 2
