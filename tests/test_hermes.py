"""Sessions of Hermes become valid contexts: prompt pinned, reasoning kept, summaries of its compressor known."""

import json

import pytest
from foreign import CORPUS, calls, checked, compacts, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.errors import CompactionError
from compactor.formats import detect
from compactor.messages import Text, Thinking, ToolCall
from compactor.plain import thaw
from compactor.readers import read_bytes_transcript, read_transcript

FILES = sorted((CORPUS / "hermes").glob("*.json"))
HEAD = {"session_id": "s", "model": "m", "platform": "cli", "session_start": "t", "system_prompt": "be brief"}


def call(id_="c1", arguments='{"n": 1}'):
    return {"id": id_, "call_id": id_, "type": "function", "function": {"name": "sh", "arguments": arguments}}


ROWS = [
    {"role": "user", "content": "go", "timestamp": 1},
    {
        "role": "assistant",
        "content": "look",
        "reasoning": "hm",
        "reasoning_content": "hm",
        "tool_calls": [call(), call("c2", "{oh")],
        "finish_reason": "tool_calls",
    },
    {"role": "tool", "content": "ok", "tool_call_id": "c1", "tool_name": "sh"},
    {"role": "tool", "content": "bad", "tool_call_id": "c2", "tool_name": "sh"},
    {"role": "session_meta"},
    {"role": "assistant", "content": "done", "finish_reason": "stop"},
    {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
    {"role": "assistant", "content": "bye"},
]


def session(*rows, **more):
    return parsed("hermes", {**HEAD, **more, "messages": list(rows)})


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_of_the_corpus_is_imported_and_compacted(path):
    raw = json.loads(path.read_text())
    context = checked(read_transcript(path), "hermes")
    spoken = [row for row in raw["messages"] if row["role"] in ("user", "assistant", "tool")]
    assert (context.report.rows, context.report.kept) == (len(raw["messages"]), len(spoken))
    assert texts(context) == [row["content"] for row in spoken]
    assert len(calls(context)) == sum(len(row.get("tool_calls", ())) for row in spoken)
    assert [requirement.content for requirement in context.requirements] == [raw[key] for key in ("system_prompt",) if key in raw]
    compacts(context)


def test_messages_keep_what_they_say_beside_their_text():
    context = session(*ROWS)
    answer = context.messages[1]
    assert [type(block) for block in answer.content] == [Thinking, Text, ToolCall, ToolCall]
    assert answer.content[3].arguments["$raw"] == "{oh"
    assert (answer.meta["model"], answer.meta["stopReason"], context.messages[0].meta["entryTimestamp"]) == ("m", "tool_calls", 1)
    assert [result.tool_name for result in results(context)] == ["sh", "sh"]
    assert thaw(context.messages[1].meta["openai"]["extra"]) == {"finish_reason": "tool_calls"}
    assert whats(context) == ["arguments_kept_raw", "system_pinned"]
    compacts(context)


def test_the_compressors_message_is_the_summary():
    summary = {"role": "user", "content": "[CONTEXT COMPACTION — REFERENCE ONLY] what was"}
    older = {"role": "assistant", "content": "[CONTEXT SUMMARY]: older"}
    context = session(ROWS[0], older, summary, *ROWS[5:])
    assert context.summary.content == summary["content"]
    assert texts(context) == ["go", "done", "thanks", "bye"]
    assert whats(context) == ["summary_superseded", "summary_moved", "system_pinned"]


def test_what_is_not_understood_is_set_aside():
    odd = [7, {"role": "novelty"}, {"role": "user", "content": 7}, {"role": "assistant", "content": "x", "tool_calls": 7}]
    more = [
        {"role": "system", "content": "rules"},
        {"role": "system", "content": "rules"},
        {"role": "assistant", "tool_calls": [7]},
    ]
    context = session(*odd, *more)
    assert whats(context) == [
        "row_not_object",
        "row_not_understood",
        "row_not_understood",
        "row_not_understood",
        "requirement_doubled",
        "row_not_understood",
        "system_pinned",
    ]
    assert [requirement.content for requirement in context.requirements] == ["be brief", "rules"]
    with pytest.raises(CompactionError, match="needs a list of messages"):
        parsed("hermes", {"messages": 7})


def test_sessions_are_told_by_their_keys():
    for indent in (None, 1):
        text = json.dumps({**HEAD, "messages": ROWS}, indent=indent)
        assert checked(read_bytes_transcript(text.encode(), "f"), "hermes").report.kept == 7
        assert detect(text[:300], whole=False).format == "hermes"


@settings(max_examples=200, deadline=None)
@given(mutated(ROWS))
def test_any_document_gives_a_valid_context_and_a_true_report(rows):
    survives("hermes", {**HEAD, "messages": rows})
