"""Sessions of OpenCode become valid contexts, out of storage folders, databases and exports: steps, compactions, what was taken back."""

import json
import shutil
import sqlite3

import pytest
from foreign import CORPUS, calls, checked, compacts, mutated, parsed, results, survives, texts, whats
from hypothesis import given, settings

from compactor.errors import CompactionError, ErrorCode
from compactor.formats import detect
from compactor.messages import AssistantMessage, Media, Opaque, Text, Thinking, ToolResult
from compactor.plain import thaw
from compactor.readers import read_bytes_transcript, read_transcript

FILES = sorted((CORPUS / "opencode").glob("*/session/*/*.json"))


def user(*parts, id_="msg_1", **rest):
    return {"info": {"id": id_, "sessionID": "s", "role": "user", "time": {"created": 1}, **rest}, "parts": [*map(text, parts)]}


def said(*parts, id_="msg_2", **rest):
    info = {"id": id_, "sessionID": "s", "role": "assistant", "time": {"created": 2}, "modelID": "m", "providerID": "p"}
    return {"info": {**info, "finish": "stop", "tokens": {"input": 5, "output": 1}, **rest}, "parts": [*map(text, parts)]}


def text(part):
    return {"id": "prt", "type": "text", "text": part} if isinstance(part, str) else part


def tool(call="c1", output="ok", status="completed", end=5, **state):
    found = {"status": status, "input": {"n": 1}, "output": output, "time": {"start": 4, "end": end}, **state}
    return {"id": f"prt_{call}", "type": "tool", "callID": call, "tool": "bash", "state": found}


STEP = {"id": "prt_s", "type": "step-start"}
END = {"id": "prt_e", "type": "step-finish", "reason": "stop", "tokens": {}}
ROWS = [
    user("go", {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA", "filename": "a.png"}),
    said(
        STEP, {"type": "reasoning", "text": "hm"}, "look", tool(), tool("c2", status="error", error="bad"), END, STEP, "done", END
    ),
    user("more", id_="msg_3"),
    said(tool("c3"), {"id": "prt_t", "type": "text", "text": "after", "time": {"start": 6}}, id_="msg_4"),
    user("thanks", id_="msg_5"),
    said("bye", id_="msg_6"),
]


def session(*messages, **info):
    return parsed("opencode", {"info": {"id": "s", **info}, "messages": list(messages)})


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_session_of_the_corpus_is_imported_and_compacted(path):
    context = checked(read_transcript(path), "opencode")
    storage, id_ = path.parents[2], json.loads(path.read_text())["id"]
    assert read_transcript(storage, session=id_) == context
    messages = [json.loads(file.read_text()) for file in sorted((storage / "message" / id_).glob("*.json"))]
    parts = [json.loads(file.read_text()) for message in messages for file in (storage / "part" / message["id"]).glob("*.json")]
    assert context.report.rows == context.report.kept == len(messages)
    tools = [part for part in parts if part["type"] == "tool"]
    assert len(calls(context)) == len(results(context)) == len(tools)
    assert sorted(filter(None, texts(context)[:1])) == [part["text"] for part in parts if part["type"] == "text"][:1]
    compacts(context)


def test_a_message_is_its_steps_with_the_results_behind_them():
    context = session(*ROWS)
    go, first, one, two, done, more, third, three, after, *_rest = context.messages
    assert go.content == (Text("go"), Media("data:image/png;base64,AA", media_type="image/png", name="a.png"))
    assert first.content[:2] == (Thinking("hm"), Text("look"))
    assert (one.content, two.content, two.is_error, one.id, one.tool_name) == ("ok", "bad", True, "prt_c1", "bash")
    assert (first.id, done.id, after.id, texts(context)[8]) == ("msg_2", "msg_2-2", "msg_4-2", "after")
    assert (first.meta["model"], first.meta["provider"], thaw(first.meta["usage"])) == ("m", "p", {"input": 5, "output": 1})
    assert (first.meta["entryTimestamp"], more.content, type(third), type(three)) == (2, "more", AssistantMessage, ToolResult)
    assert context.report.kept == 6
    compacts(context)


def test_a_finished_summary_and_the_request_for_it_stand_for_what_was_before():
    request = {"type": "compaction", "auto": True, "tail_start_id": "msg_5"}
    answer = said("what was", id_="msg_8", parentID="msg_7", summary=True)
    after = user("on", id_="msg_9")
    context = session(*ROWS, user(request, id_="msg_7"), answer, after)
    assert context.summary.content == "what was"
    assert texts(context) == ["thanks", "bye", "on"]
    assert (context.report.rows, context.report.kept) == (9, 4)
    whole = session(*ROWS, user({"type": "compaction", "auto": False}, id_="msg_7"), answer, after)
    assert texts(whole) == ["on"]
    lost = session(*ROWS, user({**request, "tail_start_id": "gone"}, id_="msg_7"), answer, after)
    assert whats(lost) == ["boundary_outside_file", "hidden_by_compaction"]
    unfinished = session(
        *ROWS, user(request, id_="msg_7"), said("what", id_="msg_8", parentID="msg_7", summary=True, finish=None)
    )
    assert unfinished.summary is None
    assert texts(unfinished)[-2:] == ["What did we do so far?", "what"]
    again = session(
        *ROWS,
        user(request, id_="msg_7"),
        answer,
        after,
        user({"type": "compaction"}, id_="msg_a"),
        said("all", id_="msg_b", parentID="msg_a", summary=True),
    )
    assert (again.summary.content, again.messages) == ("all", ())
    assert "summary_superseded" in whats(again)


def test_outputs_that_were_given_up_are_sent_as_such_and_waiting_calls_stay_open():
    cleared = session(user("go"), said(tool(time={"start": 1, "end": 2, "compacted": 3})))
    assert results(cleared)[0].content == "[Old tool result content cleared]"
    assert results(cleared)[0].meta["opencode"]["state"]["output"] == "ok"
    assert session(user("go"), said(tool(status="running"))).open_calls == ("c1",)
    image = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA"}
    assert results(session(user("go"), said(tool(attachments=[image]))))[0].content[1] == Media(
        "data:image/png;base64,AA", media_type="image/png"
    )
    broken = session(user("go"), said("x", tool(status="running"), error={"name": "MessageAbortedError"}))
    assert results(broken)[0].meta["reason"] == "aborted"
    failed = session(
        user("go"), said("x", error={"name": "APIError"}), said(STEP, id_="msg_3", error={"name": "MessageAbortedError"})
    )
    assert texts(failed) == ["go"]


def test_what_was_taken_back_is_gone():
    assert texts(session(*ROWS, revert={"messageID": "msg_3"}))[-1] == "done"
    assert texts(session(*ROWS, revert={"messageID": "msg_4", "partID": "prt_t"}))[-1] == "ok"
    assert "rolled_back" in whats(session(*ROWS, revert={"messageID": "msg_3"}))


def test_what_is_not_sent_or_not_understood_is_told():
    parts = [
        {"type": "novelty", "x": 1},
        {"type": "file", "mime": "text/plain", "url": "file:///a"},
        {"type": "agent", "name": "x"},
        7,
        {"type": "text", "text": "no", "ignored": True},
        {"type": "subtask"},
    ]
    context = session(
        {"info": user()["info"], "parts": parts},
        user({"type": "agent"}, id_="msg_9"),
        7,
        {"info": {"role": "x"}},
        user("s", id_="msg_a", system="be brief"),
    )
    assert context.messages[0].content == (
        Opaque("opencode:novelty", data=parts[0]),
        Text("The following tool was executed by the user"),
    )
    assert [requirement.content for requirement in context.requirements] == ["be brief"]
    assert whats(context) == ["part_not_understood", "row_not_understood", "row_not_understood"] + ["part_not_in_context"] * 3 + [
        "system_pinned"
    ]
    with pytest.raises(CompactionError, match="needs a list of messages"):
        parsed("opencode", {"messages": 7})
    document = {"info": {"id": "s"}, "messages": ROWS}
    for data in (json.dumps(document), json.dumps(document, indent=1)):
        assert detect(data, whole=True).format == "opencode"
        assert texts(read_bytes_transcript(data.encode(), "f")) == texts(session(*ROWS))


def stored(folder):
    """The session as a storage folder."""
    (folder / "session" / "p").mkdir(parents=True)
    (folder / "session" / "p" / "s.json").write_text(json.dumps({"id": "s"}))
    for message in ROWS:
        id_ = message["info"]["id"]
        (folder / "message" / "s").mkdir(parents=True, exist_ok=True)
        (folder / "message" / "s" / f"{id_}.json").write_text(json.dumps(message["info"]))
        (folder / "part" / id_).mkdir(parents=True)
        for number, part in enumerate(message["parts"]):
            (folder / "part" / id_ / f"prt_{number:03}.json").write_text(json.dumps(part))
    return folder


def test_a_storage_folder_is_one_session(tmp_path):
    folder = stored(tmp_path / "storage")
    whole = session(*ROWS)
    assert read_transcript(folder).messages == read_transcript(folder / "session" / "p" / "s.json").messages == whole.messages
    (folder / "session" / "p" / "t.json").write_text(json.dumps({"id": "t"}))
    with pytest.raises(CompactionError, match="holds 2 sessions") as caught:
        read_transcript(folder)
    assert caught.value.code is ErrorCode.FILE_UNREADABLE
    assert read_transcript(folder, session="s").messages == whole.messages
    assert read_transcript(folder, session="t").messages == ()
    with pytest.raises(CompactionError, match="holds no session 'u'"):
        read_transcript(folder, session="u")
    (folder / "part" / "msg_1" / "prt_000.json").write_text("{oh")
    with pytest.raises(CompactionError, match="is not JSON") as caught:
        read_transcript(folder, session="s")
    assert caught.value.where.endswith("prt_000.json:1")
    shutil.rmtree(folder / "part")
    (folder / "part").mkdir()
    (folder / "part" / "prt_1.json").write_text(json.dumps({"id": "prt_1", "messageID": "msg_1", "type": "text", "text": "flat"}))
    assert texts(read_transcript(folder, session="s"))[0] == "flat"
    (folder / "session" / "p" / "t.json").write_text(json.dumps({"id": "../x"}))
    with pytest.raises(CompactionError, match="no name of a folder"):
        read_transcript(folder, session="../x")
    with pytest.raises(CompactionError, match="is a directory"):
        read_transcript(tmp_path)


def test_a_database_is_read_like_a_folder(tmp_path):
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as base:
        base.executescript(
            "CREATE TABLE session (id TEXT, title TEXT, revert TEXT); CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);"
            "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);"
        )
        base.execute("INSERT INTO session VALUES ('s', 'x', NULL)")
        for message in ROWS:
            info = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
            base.execute("INSERT INTO message VALUES (?, 's', ?)", (message["info"]["id"], json.dumps(info)))
            for number, part in enumerate(message["parts"]):
                id_ = f"prt_{message['info']['id']}_{number}"
                base.execute("INSERT INTO part VALUES (?, ?, 's', ?)", (id_, message["info"]["id"], json.dumps(part)))
    base.close()
    assert texts(read_transcript(path)) == texts(session(*ROWS))
    with sqlite3.connect(path) as base:
        base.execute("UPDATE session SET revert = ?", (json.dumps({"messageID": "msg_3"}),))
    base.close()
    assert texts(read_transcript(path))[-1] == "done"
    with sqlite3.connect(path) as base:
        base.execute("DROP TABLE part")
    base.close()
    with pytest.raises(CompactionError, match="a SQLite database"):
        read_transcript(path)


@settings(max_examples=300, deadline=None)
@given(
    mutated(
        [
            *ROWS,
            user({"type": "compaction", "tail_start_id": "msg_5"}, id_="msg_7"),
            said("sum", id_="msg_8", parentID="msg_7", summary=True),
            user("on", id_="msg_9"),
        ]
    )
)
def test_any_messages_give_a_valid_context_and_a_true_report(rows):
    survives("opencode", {"info": {"revert": {"messageID": "gone"}}, "messages": rows})
