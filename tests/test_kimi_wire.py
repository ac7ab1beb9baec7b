"""Wire logs of Kimi Code become valid contexts: steps put together, the compaction applied, every row accounted for."""

import json

import pytest
from foreign import CORPUS, calls, checked, compacts, lines, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.errors import CompactionError
from compactor.formats import detect
from compactor.messages import Opaque, Text, Thinking, ToolCall
from compactor.plain import thaw
from compactor.readers import read_bytes_transcript, read_transcript

FILES = sorted((CORPUS / "kimi-code-wire").glob("*.jsonl"))


def user(text="go", origin="user"):
    message = {"role": "user", "content": [{"type": "text", "text": text}], "toolCalls": [], "origin": {"kind": origin}}
    return {"type": "context.append_message", "message": message, "time": 1}


def event(kind, **rest):
    return {"type": "context.append_loop_event", "event": {"type": kind, **rest}, "time": 2}


def step(uuid, *parts, tools=(), finish="end_turn"):
    made = [event("content.part", uuid="p", stepUuid=uuid, part=part) for part in parts]
    ran = [event("tool.call", uuid=id_, stepUuid=uuid, toolCallId=id_, name="Bash", args={"n": 1}) for id_ in tools]
    got = [event("tool.result", parentUuid=id_, toolCallId=id_, result={"output": f"ran {id_}"}) for id_ in tools]
    end = event("step.end", uuid=uuid, usage={"output": 1}, finishReason=finish, messageId="r")
    return [event("step.begin", uuid=uuid, turnId="0", step=1), *made, *ran, *got, end]


def text(words):
    return {"type": "text", "text": words}


def compaction(count=99, kept=1, **rest):
    return {
        "type": "context.apply_compaction",
        "summary": "short",
        "contextSummary": "what was",
        "compactedCount": count,
        "keptUserMessageCount": kept,
        **rest,
    }


HEAD = [
    {"type": "metadata", "protocol_version": "1.4"},
    {"type": "config.update", "systemPrompt": "be brief"},
    {"type": "turn.prompt", "input": []},
]
ROWS = [
    *HEAD, user(), *step("s1", {"type": "think", "think": "hm"}, text("look"), tools=("a", "b"), finish="tool_use"), *step("s2", text("done")),
    user("more"), *step("s3", text("bye")),
]  # fmt: skip


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_of_the_corpus_is_imported_and_compacted(path):
    raw = [json.loads(line) for line in path.read_text().split("\n") if line]
    context = checked(read_transcript(path), "kimi-wire")
    assert context.report.rows == len(raw)
    at = max([at for at, row in enumerate(raw) if row["type"] == "context.apply_compaction"], default=None)
    users = [
        row["message"] for row in raw if row["type"] == "context.append_message" and row["message"]["origin"]["kind"] == "user"
    ]
    if at is not None:
        assert context.summary.content == raw[at]["contextSummary"]
        assert (
            texts(context)
            == ["".join(part["text"] for part in message["content"]) for message in users][-raw[at]["keptUserMessageCount"] :]
        )
    else:
        assert len(context.messages) == sum(row["type"] == "context.append_message" for row in raw)
    assert len(context.requirements) == 1
    compacts(context)


def test_the_rows_of_a_step_are_one_message():
    context = parsed("kimi-wire", ROWS)
    assert [requirement.content for requirement in context.requirements] == ["be brief"]
    answer = context.messages[1]
    assert answer.content[:3] == (Thinking("hm"), Text("look"), ToolCall("a", name="Bash", arguments={"n": 1}))
    assert (answer.id, thaw(answer.meta["usage"]), answer.meta["stopReason"], answer.meta["entryTimestamp"]) == (
        "s1",
        {"output": 1},
        "tool_use",
        2,
    )
    assert [(result.tool_name, result.content) for result in results(context)] == [("Bash", "ran a"), ("Bash", "ran b")]
    assert texts(context) == ["go", "look", "ran a", "ran b", "done", "more", "bye"]
    assert context.report.kept == len(ROWS) - 2
    compacts(context)


def test_a_compaction_hides_the_first_messages_but_for_the_latest_of_the_user():
    context = parsed("kimi-wire", [*ROWS, compaction(), user("on"), *step("s4", text("yes"))])
    assert context.summary.content == "what was"
    assert texts(context) == ["more", "on", "yes"]
    assert texts(parsed("kimi-wire", [*ROWS, compaction(4, 0)])) == ["done", "more", "bye"]
    assert texts(parsed("kimi-wire", [*ROWS, user("told", "system"), compaction(kept=5)])) == ["go", "more"]
    twice = parsed("kimi-wire", [*ROWS, compaction(), compaction(contextSummary="all")])
    assert (twice.summary.content, texts(twice)) == ("all", ["more"])
    late = parsed("kimi-wire", [*ROWS[:8], compaction(kept=0), *ROWS[8:]])
    assert "orphan_set_aside" in whats(late)


def test_what_is_not_understood_is_kept_or_set_aside():
    odd = [
        7,
        {"type": "novelty"},
        {"type": "context.clear"},
        event("step.end", uuid="gone"),
        event("novel", stepUuid="s3"),
        {"type": "context.append_message", "message": {"role": "x"}},
    ]
    context = parsed(
        "kimi-wire", [*ROWS, event("content.part", stepUuid="s9", part={"type": "novel"}), event("step.begin", uuid="s8"), *odd]
    )
    assert type(context.messages[-1].content[0]) is Opaque
    assert whats(context) == [
        "row_not_object",
        "row_not_understood",
        "row_not_understood",
        "row_not_understood",
        "row_not_understood",
        "part_kept_opaque",
        "row_not_understood",
        "system_pinned",
    ]
    tool = {"role": "assistant", "content": "x", "toolCalls": [{"id": "z", "name": "f", "arguments": {"q": 1}}]}
    again = parsed(
        "kimi-wire",
        [
            {"type": "context.append_message", "message": tool},
            {"type": "context.append_message", "message": {"role": "tool", "toolCallId": "z", "content": "r"}},
        ],
    )
    assert (calls(again)[0].arguments["q"], results(again)[0].content) == (1, "r")
    error = parsed(
        "kimi-wire",
        [
            *step("s", tools=("a",))[:2],
            event("tool.result", toolCallId="a", result={"output": [text("no")], "isError": True, "more": 1}),
        ],
    )
    assert (results(error)[0].is_error, texts(error)[-1]) == (True, "no")
    with pytest.raises(CompactionError, match="another format"):
        parsed("kimi-wire", [{"type": "session"}])


def test_logs_are_told_by_their_rows():
    context = checked(read_bytes_transcript(lines(*ROWS).replace(b"\n", b"\r\n") + b'{"type', "f"), "kimi-wire")
    assert (context.report.torn, context.report.kept) == (1, len(ROWS) - 2)
    assert detect(json.dumps(ROWS[3])[:-9], whole=False).format == "kimi-wire"


@settings(max_examples=300, deadline=None)
@given(mutated([*ROWS, compaction(5), user("on"), *step("s4", text("x"), tools=("c",))]))
def test_any_rows_give_a_valid_context_and_a_true_report(rows):
    survives("kimi-wire", rows)
