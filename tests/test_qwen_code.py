"""Sessions of Qwen Code become valid contexts: the way to the last row, compressions applied, thoughts kept."""

import json

import pytest
from foreign import CORPUS, calls, checked, compacts, lines, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.errors import CompactionError
from compactor.messages import Text, Thinking, ToolCall, UserMessage
from compactor.plain import thaw
from compactor.readers import read_bytes_transcript, read_transcript

FILES = sorted((CORPUS / "qwen-code").glob("*.jsonl"))


def placed(*rows):
    out, parent = [], None
    for number, row in enumerate(rows, start=1):
        base = {
            "uuid": f"q{number}",
            "parentUuid": parent,
            "sessionId": "s",
            "timestamp": f"t{number}",
            "cwd": "/w",
            "version": "1",
        }
        out.append(base | row if isinstance(row, dict) else row)
        parent = out[-1]["uuid"] if isinstance(row, dict) else parent
    return out


def user(text="go", **rest):
    return {"type": "user", "message": {"role": "user", "parts": [{"text": text}]}, **rest}


def said(*parts, **rest):
    found = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"type": "assistant", "model": "m", "usageMetadata": {"n": 1}, "message": {"role": "model", "parts": found}, **rest}


def call(id_="c1"):
    return {"functionCall": {"id": id_, "name": "read", "args": {"n": 1}}}


def got(id_="c1", response=None, **rest):
    part = {"functionResponse": {"id": id_, "name": "read", "response": response or {"output": "ok"}}}
    return {"type": "tool_result", "message": {"role": "user", "parts": [part]}, "toolCallResult": {"callId": id_}, **rest}


def system(subtype, **payload):
    return {"type": "system", "subtype": subtype, "systemPayload": payload}


COMPRESSED = system("chat_compression", info={}, compressedHistory=[
    {"role": "user", "parts": [{"text": "<state_snapshot>what was</state_snapshot>"}]},
    {"role": "model", "parts": [{"text": "Got it."}]},
])  # fmt: skip
ROWS = placed(
    user(), said({"text": "hm", "thought": True}, "look", call(), call("c2")), got(), got("c2", {"error": "bad"}), system("ui_telemetry"),
    said("done"), user("thanks"), said("bye"),
)  # fmt: skip


def session(*rows):
    return parsed("qwen-code", placed(*rows))


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_of_the_corpus_is_imported_and_compacted(path):
    raw = [json.loads(line) for line in path.read_text().split("\n") if line]
    context = checked(read_transcript(path), "qwen-code")
    spoken = [row for row in raw if row["type"] != "system"]
    assert (context.report.rows, context.report.kept, len(context.messages)) == (len(raw), len(spoken), len(spoken))
    assert len(calls(context)) == sum("functionCall" in part for row in spoken for part in row["message"]["parts"])
    compacts(context)


def test_the_way_to_the_last_row_is_the_conversation():
    context = parsed("qwen-code", ROWS)
    answer = context.messages[1]
    assert answer.content[:3] == (Thinking("hm"), Text("look"), ToolCall("c1", name="read", arguments={"n": 1}))
    assert (answer.id, answer.meta["model"], thaw(answer.meta["usage"]), answer.meta["entryTimestamp"]) == (
        "q2",
        "m",
        {"n": 1},
        "t2",
    )
    assert [(result.content, result.is_error) for result in results(context)] == [("ok", False), ("bad", True)]
    assert context.report.kept == 7
    branched = session(user(), said("a"), user("b"), said("c"), user("d", parentUuid="q2"), said("e"))
    assert texts(branched) == ["go", "a", "d", "e"]
    assert whats(branched) == ["not_on_branch"]
    rewound = session(user(), said("a"), user("b"), said("c"), system("rewind", targetUuid="q2"), user("d"))
    assert texts(rewound) == ["go", "a", "d"]
    compacts(context)


def test_a_compression_replaces_what_was_before():
    context = session(user(), said(call()), COMPRESSED, got(), user("on"), said("yes"))
    assert context.summary.content == "<state_snapshot>what was</state_snapshot>"
    assert texts(context) == ["Got it.", "on", "yes"]
    assert whats(context) == ["hidden_by_compaction", "orphan_set_aside"]
    twice = session(user(), COMPRESSED, user("on"), COMPRESSED)
    assert texts(twice) == ["Got it."]
    assert "summary_superseded" in whats(twice)
    empty = session(user(), system("chat_compression", compressedHistory=[]), user("on"))
    assert (empty.summary, texts(empty)) == (None, ["on"])


def test_what_is_not_understood_is_set_aside():
    rows = placed(
        user(),
        {"type": "novelty"},
        {"type": "user", "message": 7},
        7,
        said("x", parentUuid="gone"),
        {**got(), "message": {"role": "user", "parts": [{"text": "plain"}, 7]}},
    )
    context = parsed("qwen-code", rows)
    assert whats(context) == ["row_not_object", "parent_outside_file", "row_not_understood", "row_not_understood"]
    assert type(context.messages[-1]) is UserMessage
    with pytest.raises(CompactionError, match="another format"):
        session({"type": "user", "message": {"content": "x"}})
    same = [{**row, "uuid": "x", "parentUuid": "x"} for row in ROWS]
    assert texts(parsed("qwen-code", same)) == texts(parsed("qwen-code", ROWS))


def test_sessions_are_told_by_their_rows():
    context = checked(read_bytes_transcript(lines(*ROWS).replace(b"\n", b"\r\n") + b'{"uuid', "f"), "qwen-code")
    assert (context.report.torn, context.report.kept) == (1, 7)


@settings(max_examples=300, deadline=None)
@given(
    mutated([*ROWS[:4], placed(*[user()] * 4, COMPRESSED)[4], *placed(*[user()] * 5, said(call("c3")), got("c3"), user("x"))[5:]])
)
def test_any_rows_give_a_valid_context_and_a_true_report(rows):
    survives("qwen-code", rows)
