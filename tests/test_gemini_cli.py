"""Sessions of Gemini CLI become valid contexts: documents, rows with changes, checkpoints; calls and results out of one record."""

import json

import pytest
from foreign import CORPUS, calls, checked, compacts, lines, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.errors import CompactionError, ErrorCode
from compactor.formats import detect
from compactor.messages import AssistantMessage, Media, Text, Thinking, UserMessage
from compactor.plain import thaw
from compactor.readers import read_bytes_transcript, read_transcript

FILES = sorted([*(CORPUS / "gemini-cli").glob("*.json"), *(CORPUS / "gemini-cli").glob("*.jsonl")])
HEAD = {"sessionId": "s", "projectHash": "h", "startTime": "t", "lastUpdated": "t", "kind": "main"}


def user(text="go", id_="u1", **rest):
    return {"id": id_, "timestamp": "t", "type": "user", "content": text, **rest}


def said(text="", id_="g1", *, tools=(), **rest):
    more = {"toolCalls": list(tools)} if tools else {}
    return {"id": id_, "timestamp": "t", "type": "gemini", "content": text, "model": "m", **more, **rest}


def tool(id_="c1", output="ok", status="success", name="ls", **rest):
    result = [{"functionResponse": {"id": id_, "name": name, "response": {"output": output}}}]
    return {"id": id_, "name": name, "args": {"n": 1}, "status": status, "timestamp": "t2", "result": result, **rest}


ROWS = [
    user("go", "u1"),
    said(
        "look",
        "g1",
        tools=[tool("c1"), tool("c2", "more")],
        tokens={"input": 5, "output": 1, "total": 6},
        thoughts=[{"subject": "s"}],
    ),
    {"id": "i1", "timestamp": "t", "type": "info", "content": "Request cancelled."},
    user([{"text": "and this"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}], "u2"),
    said("done", "g2"),
    user("/help", "u3"),
    user("thanks", "u4"),
    said([{"text": "hm", "thought": True, "thoughtSignature": "sig"}, {"text": "bye"}], "g3"),
]


def document(*rows, **more):
    return parsed("gemini-cli", {**HEAD, "messages": list(rows), **more})


def session(*rows):
    return parsed("gemini-cli", [HEAD, *rows])


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_of_the_corpus_is_imported_and_compacted(path):
    context = checked(read_transcript(path), "gemini-cli")
    compacts(context)
    if path.suffix == ".json":
        raw = json.loads(path.read_text())["messages"]
        assert context.report.rows == len(raw)
        spoken = [entry for entry in raw if entry["type"] in ("user", "gemini", "model")]
        tools = [call for entry in raw for call in entry.get("toolCalls", ())]
        assert context.report.kept == len(spoken)
        assert (len(calls(context)), len(context.messages)) == (len(tools), len(spoken) + len(tools))


@pytest.mark.parametrize("read", [document, session])
def test_a_record_is_an_answer_and_the_results_of_its_calls(read):
    context = read(*ROWS)
    go, answer, one, two, image, done, thanks, bye = context.messages
    assert (go.id, answer.id, one.id, one.tool_call_id, one.tool_name) == ("u1", "g1", "g1-result-1", "c1", "ls")
    assert (texts(context)[0], one.content, two.content) == ("go", "ok", "more")
    assert thaw(answer.meta["usage"]) == {"input": 5, "output": 1, "total": 6}
    assert (answer.meta["model"], answer.meta["entryTimestamp"], one.meta["entryTimestamp"]) == ("m", "t", "t2")
    assert thaw(answer.meta["thoughts"]) == [{"subject": "s"}]
    assert image.content == (Text("and this"), Media("data:image/png;base64,AA", media_type="image/png"))
    assert bye.content == (Thinking("hm", signature="sig"), Text("bye"))
    assert (done.meta["model"], thanks.id) == ("m", "u4")
    assert context.report.kept == 6
    compacts(context)


def test_results_say_how_they_ended():
    failed = tool("c2", status="error", result=[{"functionResponse": {"id": "c2", "name": "ls", "response": {"error": "no"}}}])
    odd = tool(
        "c3",
        result=[
            {"functionResponse": {"id": "c3", "name": "ls", "response": {"a": 1}}},
            {"inlineData": {"mimeType": "image/png", "data": "AA"}},
        ],
    )
    context = document(
        user(),
        said(
            "",
            tools=[
                tool("c1", status="error"),
                failed,
                odd,
                tool("c4", result="plain"),
                tool("c5", status="cancelled", result=None),
            ],
        ),
    )
    one, two, three, four, five = results(context)
    assert (one.is_error, two.is_error, two.content) == (True, True, "no")
    assert three.content == (Text('{"a": 1}'), Media("data:image/png;base64,AA", media_type="image/png"))
    assert thaw(three.meta["gemini"]["response"]) == {"a": 1}
    assert (four.content, five.meta["reason"]) == ("plain", "cancelled")
    waiting = document(user(), said("", tools=[tool("c1", result=None, status="executing")]))
    assert waiting.open_calls == ("c1",)


def test_a_call_that_stands_twice_in_a_record_is_one_call():
    part = {"functionCall": {"name": "ls", "args": {"n": 1}}}
    context = document(user(), said([{"text": "x"}, part], tools=[tool("c1"), tool("c2")]))
    assert len(calls(context)) == len(results(context)) == 2


def test_rows_change_what_was_before():
    context = session(
        user(),
        said("a"),
        said("a and b"),
        {"$set": {"lastUpdated": "t9"}},
        user("more", "u2"),
        said("bad", "g2"),
        {"$rewindTo": "u2"},
        user("else", "u3"),
    )
    assert texts(context) == ["go", "a and b", "else"]
    assert sorted(whats(context)) == ["rolled_back", "row_superseded"]
    assert (context.report.rows, context.report.kept) == (9, 3)
    assert texts(session(user(), {"$rewindTo": "gone"}, said("x"))) == ["x"]
    fresh = session(user(), said("a"), {"$set": {"messages": [user("b", "u8"), said("c", "g8"), 7]}}, user("d", "u9"))
    assert texts(fresh) == ["b", "c", "d"]
    assert (fresh.report.rows, fresh.report.kept) == (5, 2)


def test_a_state_snapshot_is_the_summary():
    context = session(
        user("old"),
        {"$set": {"messages": [user("<state_snapshot>what was</state_snapshot>", "s1"), said("Got it."), user("on", "u9")]}},
    )
    assert context.summary.content == "<state_snapshot>what was</state_snapshot>"
    assert texts(context) == ["Got it.", "on"]


def test_a_checkpoint_is_a_list_of_contents():
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "ls", "args": {}}}, {"functionCall": {"name": "ls", "args": {"a": 1}}}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": out}}} for out in ("1", "2")]},
        {"role": "model", "parts": [{"text": "done"}]},
    ]
    for data in (contents, {"history": contents}):
        context = parsed("gemini-cli", data)
        assert [result.content for result in results(context)] == ["1", "2"]
        assert [type(message) for message in context.messages[:2]] == [UserMessage, AssistantMessage]
        assert read_bytes_transcript(json.dumps(data, indent=1).encode(), "f") == context
        assert context.report.kept == 4


def test_what_is_not_understood_is_set_aside():
    context = document(
        user(), 7, {"type": "novelty", "id": "x"}, said(7), said("x", "g9", toolCalls=[{"id": "c"}, 7]), user("y", "u1")
    )
    assert texts(context) == ["go", "x", "y"]
    assert whats(context) == [
        "row_not_object",
        "row_not_understood",
        "row_not_understood",
        "row_not_understood",
        "row_not_understood",
        "id_made",
    ]
    with pytest.raises(CompactionError, match="needs a list of messages") as caught:
        parsed("gemini-cli", {"messages": 7})
    assert caught.value.code is ErrorCode.FORMAT_INVALID
    with pytest.raises(CompactionError, match="another format"):
        session({"type": "user", "uuid": "u"})


def test_sessions_are_told_by_their_contents():
    assert read_bytes_transcript(lines(HEAD, *ROWS), "f").report.format == "gemini-cli"
    whole = {**HEAD, "messages": ROWS}
    for text in (json.dumps(whole), json.dumps(whole, indent=2)):
        assert checked(read_bytes_transcript(text.encode(), "f"), "gemini-cli").report.kept == 6
        assert detect(text[:200], whole=False).format == "gemini-cli"
    assert (
        checked(
            read_bytes_transcript(lines(HEAD, user("a\u2028b")).replace(b"\n", b"\r\n") + b'{"id"', "f"), "gemini-cli"
        ).report.torn
        == 1
    )
    deep = json.loads("[" * 230 + "]" * 230)
    with pytest.raises(CompactionError, match=r"needs a plain JSON object|levels") as caught:
        read_bytes_transcript(json.dumps({**HEAD, "messages": [user(), user("x", "u2", more=deep)]}, indent=1).encode(), "f")
    assert caught.value.code is ErrorCode.FORMAT_INVALID


@settings(max_examples=200, deadline=None)
@given(
    mutated(
        [
            HEAD,
            *ROWS[:5],
            {"$set": {"messages": [user("x"), said("y", tools=[tool()])]}},
            *ROWS[5:],
            {"$rewindTo": "u4"},
            user("end", "u9"),
        ]
    )
)
def test_any_rows_give_a_valid_context_and_a_true_report(rows):
    survives("gemini-cli", rows)


@settings(max_examples=200, deadline=None)
@given(mutated(ROWS))
def test_any_document_gives_a_valid_context_and_a_true_report(rows):
    survives("gemini-cli", {**HEAD, "messages": rows})
