"""``compactor session``: each verb on a real ledger, for people and for programs, and every way to go wrong in one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compactor import __main__
from compactor.cli._session_arguments import VERBS
from compactor.readers import sample_bytes

SMALL = ("--max-units", "6000")
Main = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _signal_is_kept() -> Iterator[None]:
    """``main`` is made to be the last thing that its process does; this one goes on."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Main:
    """Call ``main`` in this process: exit code, stdout, stderr."""

    def call(verb: str, *arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["compactor", "session", verb, *map(str, arguments)])
        code = __main__.main()
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


@pytest.fixture
def told(run: Main) -> Callable[..., dict[str, Any]]:
    """What a verb gives to programs; it must have worked."""

    def call(verb: str, *arguments: object, exit_code: int = 0) -> dict[str, Any]:
        code, out, err = run(verb, *arguments, "--json")
        assert (code, err) == (exit_code, ""), out
        found = json.loads(out)
        assert (found["schema"], found["command"]) == (1, f"session {verb}")
        return found

    return call


@pytest.fixture
def ledger(tmp_path: Path, run: Main) -> Path:
    """A ledger with the packaged sample as session ``s``."""
    (tmp_path / "sample.jsonl").write_bytes(sample_bytes())
    code, out, _err = run("import", tmp_path / "agent.ledger", tmp_path / "sample.jsonl", "--session", "s", "--pin", "Be kind.")
    assert code == 0, out
    return tmp_path / "agent.ledger"


def test_a_session_lives_through_every_verb(ledger: Path, told: Callable[..., dict[str, Any]], run: Main, tmp_path: Path) -> None:
    (row,) = told("ls", ledger)["sessions"]
    assert (row["session"], row["compactions"], row["turns"]) == ("s", 0, 0)
    start = told("show", ledger)
    assert start["requirements"][-1].startswith("r-")
    assert start["units"] == row["units"]

    planned = told("compact", ledger, *SMALL, "--dry-run")
    assert planned["would"] == "compact"
    assert told("show", ledger) == start, "a dry run writes nothing"
    first = told("compact", ledger, *SMALL)
    assert (first["status"], first["boundary"]) == ("committed", planned["boundary"])
    record = first["record"]["id"]

    assert told("append", ledger, "--user", "and now the port 9090, please")["messageIds"][-1].startswith("m-")
    (tmp_path / "more.jsonl").write_text(
        '{"role": "user", "content": "one", "id": "x1"}\n{"role": "assistant", "content": [{"type": "text", "text": "two"}], "id": "x2"}\n'
    )
    assert told("append", ledger, tmp_path / "more.jsonl")["appended"] == ["x1", "x2"]
    name = told("pin", ledger, "Never push to main.")["pinned"]
    assert told("pin", ledger, "--remove", name)["unpinned"] == name
    second = told("compact", ledger, *SMALL, "--force")["record"]["id"]

    hits = told("search", ledger, "9090")["hits"]
    assert [hit["role"] for hit in hits] == ["user"]
    page = told("read", ledger, record)
    assert "--- seq " in page["text"]
    hidden = told("search", ledger, "--hidden", "--limit", "1", "the")["hits"]
    assert hidden[0]["record_id"] in (record, second)
    read = told("read", ledger, hidden[0]["record_id"], "--cursor", hidden[0]["cursor"])
    assert f"seq {hidden[0]['seq']}:" in read["text"]

    moved = told("diff", ledger, "seq:5", f"seq:{row['events']}")
    assert set(moved) >= {"appeared", "hidden", "pinned", "units"}
    dry = told("undo", ledger, record, "--dry-run")
    assert dry["undone"] == [second, record]
    undone = told("undo", ledger, record)
    assert undone["undone"] == [second, record]
    assert undone["records"] == start["records"]
    back = told("rewind", ledger, row["events"] - 1)
    assert back["messageIds"] == start["messageIds"]
    assert told("at", ledger, "--seq", row["events"] - 1)["messageIds"] == start["messageIds"]

    assert told("fork", ledger, "--as", "other")["fork"] == "other"
    assert [one["session"] for one in told("ls", ledger)["sessions"]] == ["s", "other"]
    assert told("verify", ledger)["ok"] is True
    counts = told("stats", ledger, "--session", "s")
    assert (counts["runs"], counts["undone"]) == ({"committed": 2}, 2)
    assert told("unlock", ledger, "--session", "s")["markers"] == []
    assert told("redact", ledger, "4", "--session", "s", "--reason", "a key")["redacted"] == []
    assert told("redact", ledger, "4", "--session", "s", "--reason", "a key", "--yes")["redacted"] == [4]
    assert told("stats", ledger, "--session", "s")["redactions"] == 1
    copy = tmp_path / "copy.ledger"
    told("backup", ledger, copy)
    assert told("verify", copy) == {**told("verify", ledger), "ledger": str(copy)}
    told("export", ledger, "--session", "other", "--to", "openai-chat", "-o", tmp_path / "out.json")
    assert {message["role"] for message in json.loads((tmp_path / "out.json").read_text())} >= {"user", "assistant"}
    whole = told("export", ledger, "--session", "other", "--originals")
    assert len(whole["messageIds"]) == counts["messages"]
    # The same for people: every verb says something, and nothing that a terminal would obey.
    for verb, arguments in {
        "ls": (),
        "show": ("--session", "s"),
        "at": ("--session", "s", "--seq", "8"),
        "diff": ("seq:5", "seq:20", "--session", "s"),
        "search": ("9090", "--session", "other"),
        "read": (record, "--session", "other"),
        "verify": (),
        "unlock": ("--session", "s"),
        "stats": ("--session", "s"),
        "redact": ("5", "--session", "s", "--reason", "no"),
        "append": ("--session", "other", "--assistant", "done"),
        "pin": ("--session", "other", "A rule."),
        "compact": ("--session", "other", *SMALL, "--force"),
    }.items():
        code, out, err = run(verb, ledger, *arguments)
        assert code == 0, (verb, err)
        assert out.strip()
        assert "\x1b" not in out


def test_what_the_model_was_shown_at_a_turn_comes_out_to_the_byte(tmp_path: Path, run: Main) -> None:
    import trio

    from compactor import Budget, open_session

    path, rendered = tmp_path / "agent.ledger", []

    async def main() -> None:
        async with open_session(path, session_id="s", policy=Budget(2_000), format="openai-chat") as session:
            for number in range(12):
                turn = await session.turn(pending=[{"role": "user", "content": f"question {number} é " * 20}])
                rendered.append(json.dumps(turn.render(), ensure_ascii=False).encode())
                await session.append(
                    {"role": "user", "content": f"question {number} é " * 20}, {"role": "assistant", "content": "yes"}
                )
                await session.compact()

    trio.run(main)
    for number, expected in enumerate(rendered, 1):
        code, out, err = run("at", path, "--turn", number, "--to", "openai-chat")
        assert (code, err) == (0, "")
        assert out.encode() == expected + b"\n"


WRONG: dict[str, tuple[tuple[object, ...], int, str]] = {
    "no such ledger": (("show", "nothing.ledger"), 3, "nothing.ledger"),
    "not a database": (("ls", "sample.jsonl"), 3, "is not a SQLite database"),
    "a directory": (("ls", "."), 3, "is a directory"),
    "no such session": (("show", "agent.ledger", "--session", "nobody"), 3, "there are: s"),
    "no such turn": (("at", "agent.ledger", "--turn", "3"), 3, "has no turn 3"),
    "no such event": (("at", "agent.ledger", "--seq", "99999"), 3, "has no event 99999"),
    "no moment": (("at", "agent.ledger"), 3, "pass --turn N or --seq N"),
    "a moment that is none": (("diff", "agent.ledger", "3", "turn:1"), 3, "write turn:3 or seq:40"),
    "no such record": (("undo", "agent.ledger", "c-none"), 3, "is no compaction of this session"),
    "a blank query": (("search", "agent.ledger", " "), 3, "is blank"),
    "nothing to append": (("append", "agent.ledger"), 3, "name a FILE"),
    "what cannot be appended": (("append", "agent.ledger", "agent.ledger"), 3, "is neither JSON nor JSONL"),
    "a message that is none": (("append", "agent.ledger", "wrong.json"), 3, "role"),
    "a file that is not there": (("import", "agent.ledger", "nothing.jsonl"), 3, "nothing.jsonl"),
    "a session that has content": (("import", "agent.ledger", "sample.jsonl", "--session", "s"), 3, "has content already"),
    "a fork that takes its own place": (("fork", "agent.ledger", "--as", "s"), 5, "is open"),
    "no way to go that far back": (("rewind", "agent.ledger", "99999"), 3, "has no event"),
    "nothing to pin": (("pin", "agent.ledger"), 3, "pass a TEXT to pin"),
    "a pin that is not there": (("pin", "agent.ledger", "--remove", "r-none"), 3, "is not pinned"),
    "an event that says nothing": (("redact", "agent.ledger", "0", "--reason", "x", "--yes"), 3, "holds no text"),
    "a backup over a file": (("backup", "agent.ledger", "sample.jsonl"), 3, "sample.jsonl"),
    "a budget that cannot be": (("compact", "agent.ledger", "--max-units", "5", "--target-units", "9"), 2, "must ascend"),
    "a verb that is none": (("erase", "agent.ledger"), 2, "No such command"),
    "a compaction that cannot be": (("compact", "agent.ledger", "--max-units", "40"), 4, "exceed the target"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_what_goes_wrong_is_one_sentence_and_one_object(
    case: str, ledger: Path, run: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.json").write_text('[{"role": "wizard", "content": "x"}]')
    before = ledger.read_bytes()
    (verb, *arguments), exit_code, says = WRONG[case]
    code, out, err = run(verb, *arguments)
    assert code == exit_code, err
    assert says in err
    assert "Traceback" not in err
    assert out == ""
    code, out, _err = run(verb, *arguments, "--json")
    assert code == exit_code
    assert set(json.loads(out)["error"]) == {"code", "message", "fix", "file", "line"}
    if exit_code == 2 or verb in ("show", "at", "diff", "search", "ls", "backup"):
        assert ledger.read_bytes() == before


def test_a_session_that_another_process_owns_is_busy(ledger: Path, run: Main) -> None:
    script = """
import sys, trio
from compactor import open_session
async def main():
    async with open_session(sys.argv[1], session_id="s", auto=False):
        print("open", flush=True)
        await trio.to_thread.run_sync(sys.stdin.readline)
trio.run(main)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(ledger)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    try:
        code, out, err = run("append", ledger, "--user", "me too")
        assert (code, out) == (5, "")
        assert f"process {child.pid}" in err
        assert run("show", ledger)[0] == 0, "reading needs no ownership"
        assert run("unlock", ledger, "--yes")[0] == 0
        assert run("append", ledger, "--user", "taken over")[0] == 0
    finally:
        child.communicate("\n")


def test_a_damaged_ledger_is_told_with_its_place(ledger: Path, run: Main) -> None:
    data = bytearray(ledger.read_bytes())
    at = data.rfind(b'"role":"user"')
    data[at + 9] ^= 1
    ledger.write_bytes(bytes(data))
    code, out, err = run("verify", ledger)
    assert code in (1, 3)
    assert "event" in out + err
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_explains_itself(verb: str, run: Main) -> None:
    code, out, err = run(verb, "--help")
    assert (code, err) == (0, "")
    assert "LEDGER" in out
    assert "--json" in out


def test_a_read_only_place_is_said_to_be_one(ledger: Path, run: Main, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        # The superuser may write anywhere; a name below a file cannot be made by anybody.
        code, _out, err = run("import", ledger / "x", tmp_path / "sample.jsonl")
    else:
        tmp_path.chmod(0o500)
        code, _out, err = run("import", tmp_path / "new.ledger", tmp_path / "sample.jsonl")
        tmp_path.chmod(0o700)
    assert code == 3
    assert err.startswith("error: ")
