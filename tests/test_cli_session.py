"""``compactor session``: each verb on a real ledger, for people and for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from cli_kit import PI, SAMPLE, SMALL, Main, Told, caller, kept_signal, made_ledger, teller

from compactor import Budget, open_ledger, open_session
from compactor.cli._session import VERBS as WORK
from compactor.cli._session_arguments import VERBS
from compactor.formats import check_openai_chat
from compactor.readers import read_transcript
from compactor.viewing import LedgerView


@pytest.fixture(autouse=True)
def _signal_is_kept() -> Iterator[None]:
    yield from kept_signal()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Main:
    return caller(monkeypatch, capsysbinary)


@pytest.fixture
def told(run: Main) -> Told:
    return teller(run)


@pytest.fixture
def ledger(tmp_path: Path, run: Main) -> Path:
    return made_ledger(run, tmp_path)


# -------------------------------------------------------------------------------------------------------- the story


@pytest.mark.parametrize("file", PI, ids=[path.stem[:20] for path in PI])
def test_import_compact_append_compact_at_undo_verify_stats(file: Path, tmp_path: Path, told: Told) -> None:
    ledger = tmp_path / "agent.ledger"
    start = told("import", ledger, file, "--session", "s")
    assert start["report"]["format"] == "pi"
    assert start["messageIds"] == [message.id for message in read_transcript(file).messages]
    sizes = ("--force", "--max-units", start["units"] + 9_000, "--target-units", start["units"] + 6_000, "--retain", 1)
    first = told("compact", ledger, *sizes)
    assert first["status"] == "committed"
    answers = [{"role": "toolResult", "toolCallId": call, "content": "done", "isError": False} for call in start["openCalls"]]
    named = [{**answer, "toolName": called(file, answer["toolCallId"])} for answer in answers]
    (tmp_path / "answers.json").write_text(json.dumps(named))
    told("append", ledger, tmp_path / "answers.json")
    told("append", ledger, "--user", "and then? " * 300, "--assistant", "this. " * 300)
    second = told("compact", ledger, *sizes)
    events = told("ls", ledger)["sessions"][0]["events"]
    shown(ledger)
    assert told("at", ledger, "--turn", 1)["messageIds"] == told("show", ledger)["messageIds"]
    assert told("at", ledger, "--seq", events - 1)["shown"] is None
    undone = told("undo", ledger, first["record"]["id"])
    assert undone["undone"] == [second["record"]["id"], first["record"]["id"]]
    assert undone["messageIds"][: len(start["messageIds"])] == start["messageIds"]
    assert len(undone["messageIds"]) == len(start["messageIds"]) + 2 + len(named)
    assert told("at", ledger, "--turn", 1)["summary"]["id"] == second["record"]["summaryId"]
    audit = told("verify", ledger)
    assert (audit["ok"], audit["faults"], audit["sessions"]) == (True, [], 1)
    counts = told("stats", ledger)
    assert (counts["runs"], counts["undone"], counts["turns"], counts["events"]) == ({"committed": 2}, 2, 1, audit["events"])


def called(file: Path, call_id: str) -> str:
    """The tool of a call."""
    calls = [call for message in read_transcript(file).messages for call in getattr(message, "tool_calls", ())]
    return next(call.name for call in calls if call.id == call_id)


def shown(ledger: Path) -> None:
    """Show the model the only session once."""

    async def main() -> None:
        async with open_session(ledger, session_id="s", auto=False) as session:
            await session.turn(model="m-1")

    trio.run(main)


# ---------------------------------------------------------------------------------------------------------- listing


def test_ls_tells_what_there_is_and_who_has_it_open(ledger: Path, told: Told, run: Main) -> None:
    told("import", ledger, "--sample", "--session", "t")
    rows = told("ls", ledger)["sessions"]
    assert [row["session"] for row in rows] == ["s", "t"]
    assert {row["owner"]["state"] for row in rows} == {"closed"}
    assert (rows[0]["events"], rows[0]["lives"], rows[0]["turns"], rows[0]["messages"]) == (93, 1, 0, 91)
    shown(ledger)

    async def looked_at_while_open() -> list[dict[str, Any]]:
        async with open_session(ledger, session_id="s", auto=False):
            return await trio.to_thread.run_sync(lambda: told("ls", ledger)["sessions"])

    first, second = trio.run(looked_at_while_open)
    assert (first["owner"]["state"], first["turns"], second["owner"]["state"]) == ("open", 1, "closed")
    assert "process" in first["owner"]["text"]
    lines = run("ls", ledger)[1].splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("t  ")
    units = f"{rows[1]['units']:,}"
    assert lines[1].endswith(f"92 events, 91 messages, {units} units, 0 turns, 0 compactions; closed")


# --------------------------------------------------------------------------------------------------------- beginning


def test_import_says_what_was_read_and_makes_the_ledger(tmp_path: Path, run: Main, told: Told) -> None:
    ledger = tmp_path / "new.ledger"
    code, out, err = run("import", ledger, SAMPLE, "--pin", "One.", "--pin", "Two.")
    assert code == 0
    read, session, surface, *_ = out.splitlines()
    assert read.startswith(f"read       {SAMPLE}: pi, ")
    assert session.split()[1].startswith("s-")
    assert surface.endswith("91 messages, 2 pins")
    assert all(line.startswith("note: ") for line in err.splitlines())
    assert told("import", ledger, SAMPLE, "--session", "again")["file"] == str(SAMPLE)
    assert len(told("ls", ledger)["sessions"]) == 2
    (document,) = [told("export", ledger, "--session", "again")["rendered"]]
    (tmp_path / "own.json").write_text(json.dumps(document))
    assert told("import", ledger, tmp_path / "own.json", "--session", "own")["report"]["format"] == "compactor"


def test_import_reads_standard_input(tmp_path: Path, run: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    with SAMPLE.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        code, out, _err = run("import", tmp_path / "new.ledger", "-", "--session", "s")
    assert (code, out.splitlines()[0].startswith("read       <stdin>: pi, ")) == (0, True)


def test_from_names_the_session_where_a_place_holds_several(tmp_path: Path, run: Main, told: Told) -> None:
    storage = tmp_path / "storage"
    for name in ("ses_1", "ses_2"):
        for path, value in {
            f"session/p/{name}.json": {"id": name},
            f"message/{name}/msg_{name}.json": {"id": f"msg_{name}", "sessionID": name, "role": "user", "time": {"created": 1}},
            f"part/msg_{name}/prt_1.json": {"id": "prt_1", "type": "text", "text": f"I am {name}."},
        }.items():
            (storage / path).parent.mkdir(parents=True, exist_ok=True)
            (storage / path).write_text(json.dumps(value))
    code, _out, err = run("import", tmp_path / "new.ledger", storage)
    assert (code, "holds 2 sessions; pass --from with one of 'ses_1', 'ses_2'" in err) == (3, True)
    told("import", tmp_path / "new.ledger", storage, "--from", "ses_2")
    assert "I am ses_2." in run("show", tmp_path / "new.ledger")[1]


# --------------------------------------------------------------------------------------------------- append and pins


@pytest.mark.parametrize(
    "text",
    [
        '{"role": "user", "content": "one", "id": "x1"}\n\n{"role": "user", "content": "two", "id": "x2"}',
        '[\n  {"role": "user", "content": "one", "id": "x1"},\n  {"role": "user", "content": "two", "id": "x2"}\n]\n',
        '[{"role": "user", "content": "one", "id": "x1"}]\n{"role": "user", "content": "two", "id": "x2"}\n',
    ],
    ids=["rows", "document", "both"],
)
def test_append_takes_rows_and_documents_and_a_second_time_changes_nothing(
    text: str, ledger: Path, told: Told, tmp_path: Path
) -> None:
    (tmp_path / "more.json").write_text(text)
    assert told("append", ledger, tmp_path / "more.json")["appended"] == ["x1", "x2"]
    again = told("append", ledger, tmp_path / "more.json")
    assert (again["appended"], again["messageIds"][-3:].count("x1")) == (["x1", "x2"], 1)


def test_append_takes_what_is_said_and_standard_input(
    ledger: Path, told: Told, run: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = told("append", ledger, "--user", "hello", "--assistant", "good morning")
    assert len(found["appended"]) == 2
    assert found["messageIds"][-2:] == found["appended"]
    (tmp_path / "in.json").write_text('{"role": "user", "content": "piped", "id": "p1"}')
    with (tmp_path / "in.json").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        code, out, err = run("append", ledger, "-")
    assert (code, out.splitlines()[0], err) == (0, "appended   p1", "")
    assert [entry["role"] for entry in told("show", ledger)["entries"][-3:]] == ["user", "assistant", "user"]


def test_a_pin_comes_and_goes(ledger: Path, told: Told, run: Main) -> None:
    name = told("pin", ledger, "Never push to main.")["pinned"]
    assert f"pin        {name}: Never push to main." in run("show", ledger)[1].splitlines()
    moved = told("diff", ledger, "seq:92", f"seq:{told('ls', ledger)['sessions'][0]['events'] - 1}")
    assert moved["pinned"] == [name]
    assert told("pin", ledger, "--remove", name)["unpinned"] == name
    assert name not in run("show", ledger)[1]


# ---------------------------------------------------------------------------------------------------------- compact


def test_compact_does_what_the_dry_run_says_and_the_dry_run_writes_nothing(ledger: Path, told: Told, run: Main) -> None:
    before = told("ls", ledger)
    planned = told("compact", ledger, *SMALL, "--dry-run")
    assert "nothing was written" in run("compact", ledger, *SMALL, "--dry-run")[1]
    assert told("ls", ledger) == before
    done = told("compact", ledger, *SMALL, "--instructions", "the port")
    assert (planned["would"], done["status"], done["boundary"]) == ("compact", "committed", planned["boundary"])
    code, out, _err = run("compact", ledger, *SMALL)
    assert (code, "unchanged" in out) == (0, True)
    code, out, err = run("compact", ledger, *SMALL, "--force", "--trace", "json")
    assert code == 0
    assert [json.loads(line)["to_phase"] for line in err.splitlines()][-2:] == ["COMMITTED", "IDLE"]
    labels = [line.split()[0] for line in out.splitlines()]
    assert labels == ["session", "units", "boundary", "messages", "summary", "open", "record"]


# ---------------------------------------------------------------------------------------------------------- surfaces


def test_what_the_model_was_shown_at_a_turn_comes_out_to_the_byte(tmp_path: Path, run: Main, told: Told) -> None:
    path, rendered = tmp_path / "agent.ledger", []

    async def main() -> None:
        async with open_session(path, session_id="s", policy=Budget(2_000), format="openai-chat") as session:
            for number in range(12):
                asked = {"role": "user", "content": f"question {number} é \ud800 " * 20}
                turn = await session.turn(pending=[asked], model="m-1")
                rendered.append(turn.render())
                await session.append(asked, {"role": "assistant", "content": "yes"})
                await session.compact()

    trio.run(main)
    for number, expected in enumerate(rendered, 1):
        code, out, err = run("at", path, "--turn", number, "--to", "openai-chat", "-o", tmp_path / "shown.json")
        assert (code, err) == (0, "")
        assert (tmp_path / "shown.json").read_bytes() == json.dumps(expected).encode() + b"\n"
        assert out.splitlines()[-1] == f"written    {tmp_path / 'shown.json'}"
        found = told("at", path, "--turn", number)
        assert (found["shown"]["turn"], found["shown"]["model"], found["shown"]["pending"] > 0) == (number, "m-1", True)
        assert found["entries"][-1]["seq"] is None
    code, out, _err = run("at", path, "--turn", 2)
    assert "shown      turn 2, " in out
    assert ", to m-1, openai-chat" in out


def test_bytes_of_text_that_can_be_encoded_are_what_a_client_sends(ledger: Path, run: Main) -> None:
    async def main() -> list[bytes]:
        async with open_session(ledger, session_id="s", auto=False) as session:
            turn = await session.turn()
            return [json.dumps(turn.render(name), ensure_ascii=False).encode() + b"\n" for name in names]

    names = ("openai-chat", "openai-responses", "anthropic", "compactor")
    for name, expected in zip(names, trio.run(main), strict=True):
        for verb in (("show",), ("at", "--turn", 1)):
            code, out, _err = run(verb[0], ledger, *verb[1:], "--to", name)
            assert (code, out.encode()) == (0, expected)


def test_show_is_for_reading_and_nothing_in_it_moves_a_terminal(ledger: Path, told: Told, run: Main) -> None:
    nasty = "a\x1b[2Jb\r\nc\u202ed\te"
    told("append", ledger, "--user", nasty)
    record = told("compact", ledger, *SMALL)["record"]["id"]
    told("append", ledger, "--user", nasty)
    short, full = run("show", ledger)[1], run("show", ledger, "--full")[1]
    assert short.count("\n") < full.count("\n")
    for text in (short, full, run("search", ledger, "b")[1], run("read", ledger, record)[1]):
        assert not set(text) & {"\x1b", "\r", "\u202e"}
    assert f"compactor session read {ledger} {record} --session s" in short
    assert "    c\\u202ed\te" in full.splitlines()
    assert "a\\x1b[2Jb" in short


def test_diff_says_what_came_what_left_and_which_compaction_hides_it(ledger: Path, told: Told, run: Main) -> None:
    first = told("compact", ledger, *SMALL)["record"]
    told("append", ledger, "--user", "more " * 100)
    middle = told("ls", ledger)["sessions"][0]["events"] - 1
    second = told("compact", ledger, "--force", *SMALL)["record"]
    end = told("ls", ledger)["sessions"][0]["events"] - 1
    whole = told("diff", ledger, "seq:92", f"seq:{end}")
    by = {item["id"]: item["by"] for item in whole["hidden"]}
    assert by.keys() == {*first["compactedMessageIds"], *second["compactedMessageIds"]} & by.keys()
    assert {by[name] for name in first["compactedMessageIds"]} == {first["id"]}
    assert {by[name] for name in by if name not in first["compactedMessageIds"]} == {second["id"]}
    assert whole["summary"] == second["summaryId"]
    part = told("diff", ledger, f"seq:{middle}", f"seq:{end}")
    assert {item["by"] for item in part["hidden"]} == {second["id"]}
    assert (part["summaryGone"], part["summary"]) == (first["summaryId"], second["summaryId"])
    text = run("diff", ledger, f"seq:{middle}", f"seq:{end}")[1]
    assert f", hidden by compaction {second['id']}" in text
    assert f"+ summary  {second['summaryId']}" in text
    back = told("diff", ledger, f"seq:{end}", "seq:92")
    assert [item["id"] for item in back["appeared"]] == [item["id"] for item in whole["hidden"]]
    assert "nothing came and nothing left" in run("diff", ledger, "seq:92", "seq:92")[1]
    shown(ledger)
    assert told("diff", ledger, "turn:1", "turn:1")["hidden"] == []


# ------------------------------------------------------------------------------------------------------------ recall


def test_what_is_hidden_is_found_with_one_search_and_one_read(ledger: Path, told: Told, run: Main) -> None:
    told("append", ledger, "--user", "the port is 9090")
    (visible,) = told("search", ledger, "9090")["hits"]
    assert visible["record_id"] == f"event:{visible['seq']}"
    assert "the port is 9090" in told("read", ledger, visible["record_id"])["text"]
    assert run("search", ledger, "--hidden", "9090")[1] == "nothing found; try fewer or other words\n"
    record = told("compact", ledger, *SMALL)["record"]["id"]
    (hit,) = told("search", ledger, "--hidden", "--limit", "1", "kiosk")["hits"]
    assert hit["record_id"] == record
    assert f"--- seq {hit['seq']}: " in told("read", ledger, record, "--cursor", hit["cursor"])["text"]
    pages, cursor = "", ()
    while True:
        page = told("read", ledger, record, *cursor)
        pages += page["text"]
        if page["cursor"] is None:
            break
        assert f"(more: --cursor {page['cursor']})" in run("read", ledger, record, *cursor)[1]
        cursor = ("--cursor", page["cursor"])
    assert pages.count("--- seq ") >= 81


# ------------------------------------------------------------------------------------------------------------- edits


def test_a_dry_undo_leaves_no_trace_and_an_undo_brings_back(ledger: Path, told: Told, run: Main) -> None:
    start = told("show", ledger)
    first, second = [told("compact", ledger, "--force", *SMALL)["record"]["id"] for _ in range(2)]
    before = told("ls", ledger)
    dry = told("undo", ledger, first, "--dry-run")
    assert (dry["undone"], dry["dryRun"], dry["messageIds"]) == ([second, first], True, start["messageIds"])
    assert "nothing was written" in run("undo", ledger, second, "--dry-run")[1]
    assert told("ls", ledger) == before
    code, out, _err = run("undo", ledger, first)
    assert (code, out.splitlines()[0]) == (0, f"undone     {second}, {first}")
    assert told("show", ledger)["records"] == []


def test_rewind_goes_back_and_says_what_cannot_stay(ledger: Path, told: Told, run: Main) -> None:
    told("compact", ledger, *SMALL)
    assert told("rewind", ledger, 92)["messageIds"] == told("at", ledger, "--seq", 92)["messageIds"]
    calls = next(entry["seq"] for entry in told("show", ledger)["entries"] if entry["role"] == "toolResult") - 1
    assert told("rewind", ledger, calls)["less"] == 1
    told("rewind", ledger, 92)
    code, out, _err = run("rewind", ledger, calls)
    assert (code, out.splitlines()[0]) == (
        0,
        f"rewound    to event {calls}, without its last 1 message, whose calls were answered later",
    )


def test_a_fork_begins_with_a_prefix_also_while_its_parent_is_open(ledger: Path, told: Told, run: Main) -> None:
    told("compact", ledger, *SMALL)

    async def forked_while_open() -> dict[str, Any]:
        async with open_session(ledger, session_id="s", auto=False) as session:
            await session.append({"role": "user", "content": "last"})
            found = await trio.to_thread.run_sync(lambda: told("fork", ledger, "--as", "f"))
            await session.append({"role": "user", "content": "and on"})
            return found

    found = trio.run(forked_while_open)
    assert (found["fork"], found["parent"], found["session"]) == ("f", "s", "f")
    assert found["messageIds"] == told("show", ledger, "--session", "s")["messageIds"][:-1]
    code, out, _err = run("fork", ledger, "--session", "s", "--seq", "30")
    assert (code, out.split()[0], out.split()[3]) == (0, "fork", "s")
    assert told("verify", ledger)["ok"]
    assert [row["session"] for row in told("ls", ledger)["sessions"]][:2] == ["s", "f"]


def test_export_writes_the_surface_or_everything(ledger: Path, told: Told, run: Main, tmp_path: Path) -> None:
    originals = told("show", ledger)["messageIds"]
    told("compact", ledger, *SMALL)
    code, out, _err = run("export", ledger, "--to", "openai-chat")
    assert (code, check_openai_chat(json.loads(out))) == (0, ())
    goal = tmp_path / "all.json"
    whole = told("export", ledger, "--originals", "-o", goal)
    assert "rendered" not in whole
    assert [message["id"] for message in json.loads(goal.read_bytes())["messages"]] == originals
    assert [item.id for item in read_transcript(goal).requirements] == told("show", ledger)["requirements"]
    # What was rewound away stays a part of everything, also with calls that nobody answers any more.
    calls = next(entry["seq"] for entry in told("at", ledger, "--seq", 92)["entries"] if entry["role"] == "toolResult") - 1
    told("rewind", ledger, calls)
    told("append", ledger, "--user", "otherwise")
    code, out, _err = run("export", ledger, "--originals", "--to", "openai-chat")
    assert (code, check_openai_chat(json.loads(out))) == (0, ())
    assert len(told("export", ledger, "--originals")["messageIds"]) == len(originals) + 1


# --------------------------------------------------------------------------------------------------- the whole file


def test_redact_shows_first_and_then_buries_for_good(ledger: Path, told: Told, run: Main) -> None:
    key = "sk-0123456789abcdef"
    told("append", ledger, "--user", f"my key is {key}")
    (hit,) = told("search", ledger, key)["hits"]
    before = told("ls", ledger)
    asked = ("redact", ledger, hit["seq"], hit["seq"], "--reason", "a key")
    dry = told(*asked)
    assert (dry["redacted"], dry["dryRun"], dry["events"][0]["type"]) == ([], True, "message/appended")
    assert "gone for good: add --yes" in run(*asked)[1]
    assert told("ls", ledger) == before
    assert told(*asked, "--yes")["redacted"] == [hit["seq"]]
    assert key.encode() not in ledger.read_bytes()
    assert told("search", ledger, key)["hits"] == []
    assert (told("verify", ledger)["ok"], told("stats", ledger)["redactions"]) == (True, 1)
    code, out, _err = run(*asked, "--yes")
    assert (code, "redacted before" in out, "what quotes it stays" in out) == (0, True, True)


def test_a_backup_is_a_ledger(ledger: Path, told: Told, run: Main, tmp_path: Path) -> None:
    copy = tmp_path / "copy.ledger"
    code, out, _err = run("backup", ledger, copy)
    assert (code, out) == (0, f"written    {copy}, {copy.stat().st_size:,} bytes\n")
    assert told("verify", copy) == {**told("verify", ledger), "ledger": str(copy)}
    assert told("show", copy)["messageIds"] == told("show", ledger)["messageIds"]


def test_verify_and_stats_speak_to_people(ledger: Path, run: Main) -> None:
    assert run("verify", ledger)[:2] == (0, "verify     1 session, 93 events: everything holds\n")
    code, out, _err = run("stats", ledger)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [
        "session",
        "events",
        "messages",
        "turns",
        "runs",
        "saved",
        "redacted",
    ]


# ------------------------------------------------------------------------------------------------------------- shape


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_explains_itself(verb: str, run: Main) -> None:
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "")
    assert {"LEDGER", "--json"} <= {word.strip("[],.") for word in out.split()}
    assert ("--session" in out) is VERBS[verb].of_session


def test_both_tables_have_the_same_verbs(run: Main) -> None:
    assert list(WORK) == list(VERBS)
    listed = run("--help")[1]
    for verb, shape in VERBS.items():
        assert f"  {verb} " in listed
        assert f"{shape.help.split('. ')[0].removesuffix('.')}." in listed, "the first sentence fits into the list"


def test_every_reading_verb_leaves_the_ledger_as_it_was(ledger: Path, run: Main) -> None:
    record = json.loads(run("compact", ledger, *SMALL, "--json")[1])["record"]["id"]
    reads: dict[str, tuple[object, ...]] = {
        "ls": (),
        "show": (),
        "at": ("--seq", 8),
        "diff": ("seq:5", "seq:20"),
        "search": ("the",),
        "read": (record,),
        "export": (),
        "verify": (),
        "unlock": (),
        "stats": (),
        "redact": (5, "--reason", "no"),
        "undo": (record, "--dry-run"),
        "compact": (*SMALL, "--dry-run"),
    }
    before, names = state(ledger), sorted(path.name for path in ledger.parent.iterdir())
    for verb, arguments in reads.items():
        code, out, err = run(verb, ledger, *arguments)
        assert (code, err) == (0, ""), verb
        assert out.strip()
        assert state(ledger) == before, verb
    assert sorted(path.name for path in ledger.parent.iterdir()) == names


def state(ledger: Path) -> object:
    """Everything that the ledger holds."""

    async def look(read: Callable[[LedgerView], Any]) -> Any:
        async with open_ledger(ledger) as view:
            return await read(view)

    async def everything(view: LedgerView) -> Any:
        return [(info, await view.store.read(info.id)) for info in await view.sessions()]

    return trio.run(look, everything)
