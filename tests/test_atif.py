"""Trajectories, in and out: what is read is written again, any context can be written, and every call has its result."""

import json

import attrs
import pytest
from foreign import CORPUS, calls, checked, compacts, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.context import build_live_context
from compactor.errors import CompactionError
from compactor.formats import detect, parse_messages, render_messages
from compactor.formats._atif_check import check_atif
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
from compactor.readers import read_bytes_transcript, read_transcript

FILES = sorted([*CORPUS.glob("*/*.json*"), *CORPUS.glob("opencode/*/session/*/*.json")])


def step(source, message, **rest):
    return {"source": source, "message": message, **rest}


def tool(id_="c1"):
    return {"tool_call_id": id_, "function_name": "sh", "arguments": {"n": 1}}


def got(id_="c1", content="ok", **rest):
    return {"source_call_id": id_, "content": content, **rest}


STEPS = [
    step("system", "be brief"),
    step("user", "go", timestamp="2026-01-01T00:00:00Z"),
    step(
        "agent", "look", reasoning_content="hm", model_name="m", reasoning_effort="high", metrics={"prompt_tokens": 5, "extra": {"x": 1}},
        tool_calls=[tool(), tool("c2")], observation={"results": [got(), got("c2", "bad", extra={"is_error": True})]}, llm_call_count=1,
    ),
    step("user", [{"type": "text", "text": "see"}, {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}]),
    step("agent", "done", extra={"y": 2}),
    step("user", "thanks"),
    step("agent", "bye"),
]  # fmt: skip
for number, each in enumerate(STEPS, start=1):
    each["step_id"] = number


def document(*steps, **more):
    return {
        "schema_version": "ATIF-v1.6",
        "agent": {"name": "a", "version": "1", "model_name": "dm"},
        "steps": list(steps),
        **more,
    }


def test_steps_become_messages_and_are_written_as_they_came():
    context = parsed("atif", document(*STEPS))
    assert [requirement.content for requirement in context.requirements] == ["be brief"]
    go, answer, one, two, see, done, *_rest = context.messages
    assert answer.content == (
        Thinking("hm"),
        Text("look"),
        ToolCall("c1", name="sh", arguments={"n": 1}),
        ToolCall("c2", name="sh", arguments={"n": 1}),
    )
    assert (go.meta["entryTimestamp"], answer.meta["model"], done.meta["model"]) == ("2026-01-01T00:00:00Z", "m", "dm")
    assert (one.content, two.is_error, one.tool_name) == ("ok", True, "sh")
    assert see.content == (Text("see"), Media("a.png", media_type="image/png"))
    assert (context.report.rows, context.report.kept) == (7, 7)
    assert whats(context) == ["key_ignored", "system_pinned"]
    out = render_messages("atif", context)
    assert out.notes == ()
    assert (out.data["schema_version"], check_atif(out.data)) == ("ATIF-v1.7", ())
    assert out.data["steps"] == [
        entry | ({"model_name": entry.get("model_name", "dm")} if entry["source"] == "agent" else {}) for entry in STEPS
    ]
    compacts(context)


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
def test_every_session_of_the_corpus_can_be_written():
    for path in FILES:
        try:
            context = read_transcript(path)
        except CompactionError:
            continue
        data = render_messages("atif", context).data
        assert check_atif(data) == ()
        again = checked(parse_messages("atif", json.loads(json.dumps(data))), "atif")
        assert render_messages("atif", again).data["steps"] == data["steps"]
        assert again.summary == context.summary


def test_any_context_can_be_written():
    messages = [
        UserMessage((Text("a"), Media("x", media_type="audio/wav"), Opaque("o"))),
        AssistantMessage(
            (
                Thinking("t", signature="s"),
                Thinking("", signature="r", redacted=True),
                Text("b"),
                Text("c"),
                ToolCall("c1", name="f"),
            )
        ),
        UserMessage("between"),
        ToolResult(ToolCall("c1", name="f"), "r", is_error=True, id="r1"),
        AssistantMessage((ToolCall("c2", name="f", arguments={"$raw": "x"}),), meta={"usage": {"input": 1}}),
    ]
    messages = [attrs.evolve(found, id=f"m{at}") if type(found) is not ToolResult else found for at, found in enumerate(messages)]
    channels = {"requirements": (Requirement("rule", id="q"),), "summary": Summary("what was", id="s"), "messages": messages}
    out = render_messages("atif", build_live_context(channels, limits=SESSION_LIMITS))
    assert [entry["source"] for entry in out.data["steps"]] == ["system", "user", "user", "agent", "user", "agent"]
    assert [entry.get("is_copied_context", False) for entry in out.data["steps"]] == [False, False, True, True, True, True]
    assert out.data["steps"][5]["metrics"] == {"extra": {"input": 1}}
    assert {note.what for note in out.notes} == {
        "thinking_left_out",
        "signature_left_out",
        "media_left_out",
        "opaque_left_out",
        "results_moved",
        "call_closed",
    }
    again = parsed("atif", out.data)
    assert again.summary == Summary("what was", id="s")
    assert texts(again) == ["a", "bc", "r", "between", "", "No result was recorded for this tool call."]


def test_what_is_not_understood_is_set_aside():
    odd = [
        7,
        step("odd", "x"),
        step("user", 7),
        step("agent", "x", tool_calls=7, observation=7),
        step("system", ""),
        step("system", "a", observation={}),
    ]
    more = [
        step(
            "agent",
            None,
            tool_calls=[7, tool()],
            observation={"results": [7, {"content": "r"}, {"content": "free"}, got("gone")]},
        )
    ]
    context = parsed("atif", document(*odd, *more, notes="n"))
    assert [result.content for result in results(context)] == ["r"]
    assert texts(context)[-1] == "free"
    assert context.messages[-1].meta["kind"] == "observation"
    assert whats(context) == [
        "key_ignored",
        "key_ignored",
        "row_not_understood",
        "row_not_understood",
        "row_not_understood",
        "row_not_understood",
        "requirement_doubled",
        "key_ignored",
        "row_not_understood",
        "row_not_understood",
        "orphan_set_aside",
        "system_pinned",
    ]
    assert thaw(context.messages[0].content[0].data) == {"$raw": 7}
    with pytest.raises(CompactionError, match="needs a trajectory"):
        parsed("atif", [])
    assert (
        len(
            check_atif(
                {
                    "schema_version": "x",
                    "agent": {},
                    "steps": [7, {**step("odd", 7, novel=1), "tool_calls": [tool()]}, step("user", "x", metrics={})],
                }
            )
        )
        == 11
    )
    assert check_atif(7) == ("the trajectory is no object",)
    assert check_atif({})[-1] == "steps: needs a list"
    assert len(calls(context)) == 1


def test_trajectories_are_told_by_their_tag():
    for indent in (None, 1):
        text = json.dumps(document(*STEPS), indent=indent)
        assert checked(read_bytes_transcript(text.encode(), "f"), "atif").report.kept == 7
        assert detect(text[:300], whole=False).format == "atif"
    untagged = {key: value for key, value in document(*STEPS).items() if key != "schema_version"}
    assert detect(json.dumps(untagged), whole=True).format == "atif"


@settings(max_examples=300, deadline=None)
@given(mutated(STEPS))
def test_any_document_gives_a_valid_context_and_a_true_report(steps):
    context = survives("atif", document(*steps))
    if context is not None:
        assert check_atif(render_messages("atif", context).data) == ()
