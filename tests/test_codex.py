"""Codex rollouts become valid contexts: items folded, compactions and rollbacks applied, every row accounted for."""

import json

import pytest
from foreign import CORPUS, calls, checked, compacts, lines, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.errors import CompactionError, ErrorCode
from compactor.formats import detect, render_messages
from compactor.messages import AssistantMessage, Opaque, ToolCall, UserMessage
from compactor.plain import thaw
from compactor.readers import read_bytes_transcript, read_transcript

FILES = sorted((CORPUS / "codex").glob("*.jsonl"))


def row(type_, payload, stamp="t"):
    return {"timestamp": stamp, "type": type_, "payload": payload}


def item(type_, **rest):
    return row("response_item", {"type": type_, **rest})


def said(role, text, **rest):
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}], **rest)


def call(id_="c1", name="ls", arguments='{"n": 1}'):
    return item("function_call", call_id=id_, name=name, arguments=arguments)


def out(id_="c1", output="ok"):
    return item("function_call_output", call_id=id_, output=output)


def event(type_, **rest):
    return row("event_msg", {"type": type_, **rest})


META = row("session_meta", {"id": "s", "cwd": "/w", "cli_version": "0.1", "base_instructions": {"text": "be brief"}})
THOUGHT = item("reasoning", id="rs", summary=[], encrypted_content="sealed")
ROWS = [
    META,
    row("turn_context", {"cwd": "/w", "model": "m"}),
    said("developer", "rules"),
    said("user", "<environment_context>x</environment_context>"),
    said("user", "go", id="u1"),
    event("user_message", message="go"),
    THOUGHT,
    call(),
    call("c2", "cat", "{}"),
    event("token_count", info={"last_token_usage": {"input_tokens": 5, "output_tokens": 2}}),
    out(),
    out("c2", {"content": "bad", "success": False}),
    item("custom_tool_call", call_id="c3", name="apply_patch", input="*** Begin"),
    item("custom_tool_call_output", call_id="c3", output=[{"type": "output_text", "text": "done"}]),
    said("assistant", "ready"),
    said("user", "more"),
    said("assistant", "most"),
]


def rollout(*rows):
    return parsed("codex", list(rows))


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_of_the_corpus_is_imported_and_compacted(path):
    raw = [json.loads(line) for line in path.read_text().split("\n") if line.strip()]
    context = checked(read_transcript(path), "codex")
    assert context.report.rows == len(raw)
    compacts(context)
    last = max([at for at, entry in enumerate(raw) if entry["type"] == "compacted"], default=-1)
    seen = [entry["payload"] for entry in raw[last + 1 :] if entry["type"] == "response_item"]
    replaced = raw[last]["payload"]["replacement_history"] if last >= 0 else []
    pairs = [entry for entry in [*replaced, *seen] if entry["type"] in ("function_call", "custom_tool_call")]
    assert len(calls(context)) == len(pairs)
    inputs = [entry for entry in [*replaced, *seen] if entry["type"] == "message" and entry["role"] == "user"]
    moved = context.summary is not None
    users = [message for message in context.messages if type(message) is UserMessage and "kind" not in message.meta]
    plain = [
        message for message in users if not any(type(block) is Opaque and "part" not in block.kind for block in message.content)
    ]
    assert len(plain) == len(inputs) - moved


def test_the_items_of_an_answer_are_one_message_with_its_usage():
    context = rollout(*ROWS)
    assert [requirement.content for requirement in context.requirements] == ["be brief", "rules"]
    _env, user, answer, one, two, custom, three, ready, _more, _most = context.messages
    assert (user.id, user.content[0].text, user.meta["entryTimestamp"]) == ("u1", "go", "t")
    assert [type(block) for block in answer.content] == [Opaque, ToolCall, ToolCall]
    assert thaw(answer.meta["usage"]) == {"input_tokens": 5, "output_tokens": 2}
    assert answer.meta["model"] == ready.meta["model"] == "m"
    assert (one.tool_name, one.content, two.tool_name, two.content, two.is_error) == ("ls", "ok", "cat", "bad", True)
    assert (custom.tool_calls[0].arguments["$raw"], three.content[0].text) == ("*** Begin", "done")
    assert context.report.kept == len(ROWS) - 3
    back = render_messages("openai-responses", context).data["input"]
    sent = [
        entry["payload"] for entry in ROWS if entry["type"] == "response_item" and entry["payload"].get("role") != "developer"
    ]
    assert [entry["type"] for entry in back] == [entry["type"] for entry in sent]
    assert back[2] == sent[2]
    compacts(context)


def test_a_compaction_replaces_the_history_and_its_message_is_the_summary():
    history = [entry["payload"] for entry in (said("user", "go"), said("user", "PRE\nwhat was"))]
    compacted = row("compacted", {"message": "what was", "replacement_history": history})
    context = rollout(*ROWS, compacted, said("user", "on"), said("assistant", "yes"))
    assert context.summary.content == "PRE\nwhat was"
    assert texts(context) == ["go", "on", "yes"]
    assert [requirement.content for requirement in context.requirements] == ["be brief"]
    assert whats(context) == ["summary_moved", "hidden_by_compaction", "system_pinned"]
    assert context.report.kept == 4
    later = rollout(*ROWS, compacted, said("user", "on"), row("compacted", {"message": "all", "replacement_history": []}))
    assert (later.summary.content, later.messages) == ("all", ())
    assert "summary_superseded" in whats(later)
    late = rollout(*ROWS[:9], compacted, out())
    assert "orphan_set_aside" in whats(late)


def test_a_sealed_compaction_stays_as_it_came():
    sealed = {"type": "compaction", "encrypted_content": "x"}
    compacted = row("compacted", {"message": "", "replacement_history": [ROWS[2]["payload"], ROWS[4]["payload"], sealed]})
    context = rollout(*ROWS, compacted, said("assistant", "yes"))
    assert context.summary is None
    assert [type(message) for message in context.messages] == [UserMessage, AssistantMessage]
    assert thaw(context.messages[1].content[0].data) == sealed
    assert [requirement.content for requirement in context.requirements] == ["be brief", "rules"]
    told = rollout(*ROWS, row("compacted", {"message": "for the screen", "replacement_history": [sealed]}))
    assert told.summary is None
    assert "summary_not_sent" in whats(told)


def test_an_older_compaction_keeps_what_the_user_said():
    context = rollout(*ROWS, row("compacted", {"message": "what was"}), said("user", "on"))
    assert context.summary.content == "what was"
    assert texts(context) == ["<environment_context>x</environment_context>", "go", "more", "on"]
    assert [requirement.content for requirement in context.requirements] == ["be brief", "rules"]
    empty = rollout(*ROWS, row("compacted", {"message": " "}))
    assert empty.summary is None
    assert len(empty.messages) == 10
    assert "compaction_not_understood" in whats(empty)


def test_turns_that_were_taken_back_are_gone():
    context = rollout(*ROWS, event("thread_rolled_back", num_turns=1), said("user", "else"))
    assert texts(context)[-2:] == ["ready", "else"]
    assert "rolled_back" in whats(context)
    assert texts(rollout(*ROWS, event("thread_rolled_back", num_turns=9))) == ["<environment_context>x</environment_context>"]


def test_bare_items_of_older_files_are_read_too():
    head = {"id": "s", "timestamp": "t", "instructions": "be brief", "git": {}}
    rows = [head, *[entry["payload"] for entry in ROWS if entry["type"] == "response_item"], {"record_type": "state"}]
    context = rollout(*rows)
    assert texts(context) == texts(rollout(*ROWS))
    assert context.requirements[0].content == "be brief"
    assert read_bytes_transcript(lines(*rows), "f").report.format == "codex"
    shell = {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"]}}
    context = rollout(head, shell, {"type": "function_call_output", "call_id": "c", "output": "ok"})
    assert (calls(context)[0].name, results(context)[0].content) == ("local_shell", "ok")


def test_what_is_not_understood_is_kept_opaque_or_set_aside():
    search = item("tool_search_call", call_id="s1", arguments={"q": 1})
    found = item("tool_search_output", call_id="s1", tools=[])
    agent = item("agent_message", author="a", recipient="b", content=[{"type": "input_text", "text": "hello"}])
    context = rollout(
        META,
        said("user", "go"),
        search,
        found,
        agent,
        row("novelty", {"x": 1}),
        item("function_call", name="x"),
        row("event_msg", 7),
    )
    assert [type(message) for message in context.messages] == [
        UserMessage,
        AssistantMessage,
        UserMessage,
        UserMessage,
        AssistantMessage,
    ]
    assert context.messages[3].meta["author"] == "a"
    assert whats(context) == ["row_not_understood", "row_not_understood", "system_pinned"]
    assert context.report.kept == 6


def test_instructions_that_stand_in_the_conversation_are_not_pinned_twice():
    head = row("session_meta", {"id": "s", "instructions": "be brief"})
    context = rollout(head, said("user", "<user_instructions>\n\nbe brief\n\n</user_instructions>"), said("user", "go"))
    assert context.requirements == ()
    assert len(context.messages) == 2


def test_rows_of_another_format_are_refused_by_line():
    with pytest.raises(CompactionError, match="another format") as caught:
        rollout(META, {"type": "session", "version": 3})
    assert (caught.value.code, caught.value.where) == (ErrorCode.FORMAT_INVALID, "f:2")
    with pytest.raises(CompactionError, match="needs a list of rows"):
        parsed("codex", 7)


def test_bytes_are_read_whatever_their_ends():
    data = b"\xef\xbb\xbf" + lines(META, said("user", "a\u2028b"), 7).replace(b"\n", b"\r\n") + b'{"timestamp":'
    context = checked(read_bytes_transcript(data, "f"), "codex")
    assert texts(context) == ["a\u2028b"]
    assert context.report.torn == 1
    assert detect(json.dumps(META)[:-5], whole=False).format == "codex"
    with pytest.raises(CompactionError, match="is not JSON") as caught:
        read_bytes_transcript(lines(META) + b"{oh\n" + lines(META), "f")
    assert caught.value.where == "f:2"


@settings(max_examples=300, deadline=None)
@given(
    mutated(
        [
            *ROWS[:9],
            row("compacted", {"message": "s", "replacement_history": [said("user", "s")["payload"], THOUGHT["payload"]]}),
            *ROWS[9:],
        ]
    )
)
def test_any_rows_give_a_valid_context_and_a_true_report(rows):
    survives("codex", rows)
