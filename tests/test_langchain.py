"""LangChain messages, in and out: what is read is written again as it came, and any context can be written."""

import json

import attrs
import pytest
from foreign import DEEP, calls, checked, compacts, lines, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.context import build_live_context
from compactor.errors import CompactionError
from compactor.formats import detect, parse_messages, render_messages
from compactor.messages import AssistantMessage, Media, Opaque, Summary, Text, Thinking, ToolCall, ToolResult, UserMessage
from compactor.plain import SESSION_LIMITS, thaw
from compactor.readers import read_bytes_transcript

COMMON = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None}


def made(kind, content, **rest):
    return {"type": kind, "data": {"content": content, **COMMON, "type": kind, **rest}}


def ai(content="", *tools, **rest):
    found = [{"name": "ls", "args": {"n": 1}, "id": id_, "type": "tool_call"} for id_ in tools]
    return made(
        "ai", content, **{"example": False, "tool_calls": found, "invalid_tool_calls": [], "usage_metadata": None, **rest}
    )


def tool(id_="c1", content="ok", **rest):
    return made("tool", content, **{"name": "ls", "tool_call_id": id_, "artifact": None, "status": "success", **rest})


USAGE = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}
ROWS = [
    made("system", "be brief"),
    made("human", "go", id="h1", example=False),
    ai("look", "c1", "c2", id="run-1", usage_metadata=USAGE, response_metadata={"model_name": "m", "finish_reason": "tool_calls"}),
    tool("c1", id="t1"),
    tool("c2", [{"type": "text", "text": "bad"}], status="error", artifact={"a": 1}, id="t2"),
    made("human", [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}, {"type": "odd"}], id="h2"),
    ai([{"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "done"}], id="run-2"),
    made("human", "thanks", id="h3"),
    ai("bye", id="run-3"),
]  # fmt: skip


def test_messages_become_a_context_and_are_written_as_they_came():
    context = parsed("langchain", ROWS)
    assert [requirement.content for requirement in context.requirements] == ["be brief"]
    go, answer, one, two, see, done, _thanks, _bye = context.messages
    assert (go.id, answer.id, one.tool_name, one.content, two.is_error) == ("h1", "run-1", "ls", "ok", True)
    assert (thaw(answer.meta["usage"]), answer.meta["model"], answer.meta["stopReason"]) == (USAGE, "m", "tool_calls")
    assert see.content == (
        Text("see"),
        Media("https://x/y.png", media_type="image/*"),
        Opaque("langchain:odd", data={"type": "odd"}),
    )
    assert done.content == (Thinking("hm", signature="sig"), Thinking("", signature="x", redacted=True), Text("done"))
    assert context.report.kept == context.report.rows == 9
    out = render_messages("langchain", context)
    assert out.notes == ()
    for row, found in zip(ROWS, out.data, strict=True):
        assert found["type"] == row["type"]
        assert {key: value for key, value in found["data"].items() if key in row["data"] and value is not None} == {
            key: value for key, value in row["data"].items() if value is not None
        }
    assert render_messages("langchain", parsed("langchain", out.data)).data == out.data
    compacts(context)


def test_a_message_may_be_a_row_or_stand_in_a_document():
    for data in (lines(*ROWS), json.dumps(ROWS).encode(), json.dumps({"messages": ROWS}, indent=1).encode()):
        context = checked(read_bytes_transcript(data, "f"), "langchain")
        assert texts(context) == texts(parsed("langchain", ROWS))
    assert detect(json.dumps(ROWS[1])[:-3], whole=False).format == "langchain"
    constructors = [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "HumanMessage"],
            "kwargs": {"content": "go", "type": "human"},
        },
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"content": "yes", "type": "ai"},
        },
    ]
    assert texts(checked(read_bytes_transcript(json.dumps(constructors).encode(), "f"), "langchain")) == ["go", "yes"]


def test_calls_stand_where_the_provider_wrote_them_and_broken_ones_are_calls():
    blocks = ["x", {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}, {"type": "text", "text": "y"}]
    invalid = [{"name": "cat", "args": "{oh", "id": "c2", "error": "e", "type": "invalid_tool_call"}]
    context = parsed("langchain", [ai(blocks, "c1", invalid_tool_calls=invalid), tool(), tool("c2", name="cat", status="error")])
    assert [type(block) for block in context.messages[0].content] == [Text, ToolCall, Text, ToolCall]
    assert calls(context)[1].arguments["$raw"] == "{oh"
    out = render_messages("langchain", context).data
    assert (out[0]["data"]["content"], out[0]["data"]["invalid_tool_calls"][0]["args"]) == (
        ["x", {"type": "text", "text": "y"}],
        "{oh",
    )
    legacy = [ai("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}), made("function", "r", name="f")]
    assert [result.content for result in results(parsed("langchain", legacy))] == ["r"]


def test_any_context_can_be_written():
    messages = [
        UserMessage(
            (
                Text("a"),
                Media("data:audio/wav;base64,AA", media_type="audio/wav"),
                Media("file-1"),
                Media("https://x", media_type="text/plain"),
            )
        ),
        AssistantMessage(
            (Text("b"), Opaque("other", data={}), ToolCall("c1", name="f"), ToolCall("c2", name="f", arguments={"$raw": "x"}))
        ),
        UserMessage("between"),
        ToolResult(ToolCall("c1", name="f"), "r", is_error=True, id="r1"),
        ToolResult(ToolCall("c2", name="f"), "s", id="r2"),
        AssistantMessage((Opaque("other", data={}),)),
        AssistantMessage((ToolCall("c3", name="f"),)),
    ]
    messages = [attrs.evolve(found, id=f"m{at}") if type(found) is not ToolResult else found for at, found in enumerate(messages)]
    context = build_live_context({"summary": Summary("what was", id="s"), "messages": messages}, limits=SESSION_LIMITS)
    out = render_messages("langchain", context)
    assert [row["type"] for row in out.data] == ["human", "human", "ai", "tool", "tool", "human", "ai", "tool"]
    assert "what was" in out.data[0]["data"]["content"]
    assert {note.what for note in out.notes} == {"opaque_left_out", "results_moved", "empty_left_out", "call_closed"}
    again = parsed("langchain", out.data)
    assert [call.id for call in calls(again)] == ["c1", "c2", "c3"]
    assert again.messages[1].content[1] == Media("data:audio/wav;base64,AA", media_type="audio/wav")


def test_what_is_not_understood_is_set_aside_or_refused_by_place():
    rows = [
        7,
        {"type": "remove", "data": {"id": "x"}},
        made("human", 7),
        made("human", "a", id="h"),
        made("human", "b", id="h"),
        made("system", ""),
    ]
    context = parsed("langchain", rows)
    assert texts(context) == ["a", "b"]
    assert whats(context) == ["row_not_understood", "row_not_understood", "row_not_understood", "id_made", "requirement_doubled"]
    odd = parsed("langchain", {"messages": [ai("x", tool_calls=7, invalid_tool_calls=[7])], "more": 1})
    assert whats(odd) == ["key_ignored", "row_not_understood", "row_not_understood"]
    with pytest.raises(CompactionError, match="needs a list of rows"):
        parse_messages("langchain", 7)
    deep = [made("human", "x"), made("human", "y", additional_kwargs={"x": [DEEP] * 1, "y": [[[[[[[[[[DEEP]]]]]]]]]]})]
    with pytest.raises(CompactionError) as caught:
        read_bytes_transcript(json.dumps(deep, indent=1).encode(), "f")
    assert caught.value.where == "f:13"


@settings(max_examples=300, deadline=None)
@given(mutated(ROWS))
def test_any_rows_give_a_valid_context_and_a_true_report(rows):
    context = survives("langchain", rows)
    if context is not None:
        again = parse_messages("langchain", render_messages("langchain", context).data)
        assert render_messages("langchain", again).data == render_messages("langchain", context).data
