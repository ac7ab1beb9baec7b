"""Contexts of Kimi CLI become valid contexts: marks counted, usage kept with answers, the summary of a rotated file known."""

import json

import pytest
from foreign import CORPUS, calls, checked, compacts, lines, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.errors import CompactionError
from compactor.formats import detect
from compactor.messages import Text, Thinking, ToolCall
from compactor.plain import thaw
from compactor.readers import read_bytes_transcript, read_transcript

FILES = sorted((CORPUS / "kimi-cli").glob("*.jsonl"))


def mark(id_):
    return {"role": "_checkpoint", "id": id_}


def parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


ROWS = [
    {"role": "_system_prompt", "content": "be brief"},
    mark(0),
    {"role": "user", "content": "go"},
    {"role": "_usage", "token_count": 5},
    {
        "role": "assistant",
        "content": [{"type": "think", "think": "hm", "encrypted": "sig"}, *parts("look")],
        "tool_calls": [{"type": "function", "id": "Bash:0", "function": {"name": "Bash", "arguments": '{"n": 1}'}}],
    },
    {"role": "_usage", "token_count": 9},
    {"role": "tool", "content": parts("<system>ran</system>", "ok"), "tool_call_id": "Bash:0"},
    mark(1),
    {"role": "assistant", "content": parts("done")},
    {"role": "user", "content": "thanks"},
    {"role": "assistant", "content": "bye"},
]


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_of_the_corpus_is_imported_and_compacted(path):
    raw = [json.loads(line) for line in path.read_text().split("\n") if line]
    context = checked(read_transcript(path), "kimi-cli")
    spoken = [row for row in raw if not row["role"].startswith("_")]
    assert (context.report.rows, context.report.kept, len(context.messages)) == (len(raw), len(spoken), len(spoken))
    assert len(calls(context)) == sum(len(row.get("tool_calls", ())) for row in spoken)
    assert whats(context) == []
    compacts(context)


def test_messages_stand_between_marks():
    context = parsed("kimi-cli", ROWS)
    assert [requirement.content for requirement in context.requirements] == ["be brief"]
    answer = context.messages[1]
    assert answer.content == (Thinking("hm", signature="sig"), Text("look"), ToolCall("Bash:0", name="Bash", arguments={"n": 1}))
    assert thaw(answer.meta["usage"]) == {"token_count": 9}
    assert (results(context)[0].tool_name, texts(context)[2:]) == ("Bash", ["<system>ran</system>ok", "done", "thanks", "bye"])
    assert (context.report.rows, context.report.kept) == (11, 7)
    compacts(context)


def test_a_rotated_file_begins_with_its_summary():
    summary = {
        "role": "user",
        "content": parts("<system>Previous context has been compacted. Here is the compaction output:</system>", "what was"),
    }
    context = parsed("kimi-cli", [mark(0), summary, *ROWS[2:]])
    assert context.summary.content.endswith("what was")
    assert texts(context)[0] == "go"
    late = parsed("kimi-cli", [*ROWS, summary])
    assert late.summary is None


def test_what_is_not_understood_is_set_aside():
    rows = [
        7,
        {"role": "novelty"},
        {"role": "user", "content": 7},
        {"role": "_future"},
        {"x": 1},
        {"role": "system", "content": "rules"},
        *ROWS,
        {"role": "_system_prompt", "content": "new"},
    ]
    context = parsed("kimi-cli", rows)
    assert [requirement.content for requirement in context.requirements] == ["rules", "new"]
    assert whats(context) == [
        "row_not_object",
        "row_not_understood",
        "row_not_understood",
        "row_not_understood",
        "row_superseded",
        "system_pinned",
    ]
    with pytest.raises(CompactionError, match="another format"):
        parsed("kimi-cli", [mark(0), {"type": "session"}])


def test_contexts_are_told_by_their_marks():
    context = checked(read_bytes_transcript(lines(*ROWS).replace(b"\n", b"\r\n") + b'{"role', "f"), "kimi-cli")
    assert (context.report.torn, context.report.kept) == (1, 7)
    assert detect(json.dumps(ROWS[0])[:-3], whole=False).format == "kimi-cli"


@settings(max_examples=200, deadline=None)
@given(mutated(ROWS))
def test_any_rows_give_a_valid_context_and_a_true_report(rows):
    survives("kimi-cli", rows)
