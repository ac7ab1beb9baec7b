"""``compactor session``: every way to go wrong is one sentence, one object and one exit code, and changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from cli_kit import ENVIRONMENT, SAMPLE, SMALL, Main, Told, caller, kept_signal, made_ledger, teller

from compactor import open_session
from compactor.cli import _session, _session_frame, _session_writes
from compactor.cli._session import VERBS
from compactor.cli._session_owner import owner_of
from compactor.events import Draft, EventType


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


# -------------------------------------------------------------------------------------------------- what goes wrong

WRONG: dict[str, tuple[tuple[object, ...], int, str]] = {
    "no such ledger": (("show", "nothing.ledger"), 3, "error: nothing.ledger: does not exist"),
    "no ledger to append to": (("append", "nothing.ledger", "--user", "x"), 3, "error: nothing.ledger: does not exist"),
    "not a database": (("ls", "sample.jsonl"), 3, "error: sample.jsonl: is not a SQLite database"),
    "a directory": (("ls", "."), 3, "error: .: is a directory"),
    "no folder": (("import", "no/x.ledger", "--sample"), 3, "error: no/x.ledger: its directory does not exist"),
    "no such session": (
        ("show", "agent.ledger", "--session", "nobody"),
        3,
        "has no session 'nobody'; name one with --session; there are: s",
    ),
    "no such session to verify": (("verify", "agent.ledger", "--session", "nobody"), 3, "session ls lists them"),
    "no such turn": (("at", "agent.ledger", "--turn", "3"), 3, "error: agent.ledger: session 's' has no turn 3;"),
    "no such event": (("at", "agent.ledger", "--seq", "99999"), 3, "has no event 99999; events are counted from 0; session ls"),
    "no moment": (("at", "agent.ledger"), 2, "Give --turn or --seq, and one of them only."),
    "two moments": (("at", "agent.ledger", "--turn", "1", "--seq", "0"), 2, "Give --turn or --seq, and one of them only."),
    "a moment that is none": (("diff", "agent.ledger", "3", "turn:1"), 2, "3 is no moment; write turn:3 or seq:40."),
    "turn zero": (("diff", "agent.ledger", "seq:0", "turn:0"), 2, "turn:0 is no moment"),
    "a file for no format": (("show", "agent.ledger", "-o", "out.json"), 2, "add --to"),
    "a folder for a file": (("show", "agent.ledger", "--to", "compactor", "-o", "."), 3, "is a directory"),
    "two results on one stream": (("export", "agent.ledger", "--json", "-o", "-"), 2, "both want standard output"),
    "no such record": (("undo", "agent.ledger", "c-none"), 3, "'c-none' is no compaction of this session; session show lists"),
    "no such record to try": (("undo", "agent.ledger", "c-none", "--dry-run"), 3, "'c-none' is no compaction of this session;"),
    "no such record to read": (("read", "agent.ledger", "c-none"), 3, "take the one of a hit of session search"),
    "no place in a record": (("read", "agent.ledger", "event:4", "--cursor", "x"), 3, "leave --cursor out"),
    "a blank query": (("search", "agent.ledger", " "), 3, "query: is blank"),
    "nothing to append": (("append", "agent.ledger"), 2, "Give a FILE of messages"),
    "too much to append": (("append", "agent.ledger", "wrong.json", "--user", "x"), 2, "Give a FILE of messages"),
    "what cannot be appended": (("append", "agent.ledger", "agent.ledger"), 3, "error: agent.ledger:"),
    "no file to append": (("append", "agent.ledger", "nothing.json"), 3, "error: nothing.json: cannot be read: No such file"),
    "a folder to append": (("append", "agent.ledger", "."), 3, "error: .: cannot be read: Is a directory"),
    "a message that is none": (("append", "agent.ledger", "wrong.json"), 3, "error: wrong.json:1: role: "),
    "a row that is no message": (("append", "agent.ledger", "rows.jsonl"), 3, "error: rows.jsonl:3: content: needs a string"),
    "a row that is no JSON": (("append", "agent.ledger", "torn.jsonl"), 3, "error: torn.jsonl:2: is not JSON"),
    "a result without a call": (("append", "agent.ledger", "lost.json"), 3, "error: agent.ledger: "),
    "a file that is not there": (("import", "agent.ledger", "nothing.jsonl"), 3, "error: nothing.jsonl: is not there"),
    "a file of no format": (("import", "agent.ledger", "agent.ledger"), 3, "is a SQLite database"),
    "a session that has content": (("import", "agent.ledger", "--sample", "--session", "s"), 3, "session s has content already"),
    "an id that is none": (("import", "new.ledger", "--sample", "--session", "a b"), 3, "'a b' is not a session id"),
    "no file": (("import", "agent.ledger"), 2, "Give FILE or --sample"),
    "two files": (("import", "agent.ledger", "x", "--sample"), 2, "Give FILE or --sample"),
    "a blank pin": (("import", "agent.ledger", "--sample", "--pin", " "), 2, "--pin needs a text."),
    "a fork that takes its own place": (("fork", "agent.ledger", "--as", "s"), 3, "session s is there already"),
    "a fork without a name": (("fork", "agent.ledger", "--as", ""), 3, "is not a session id"),
    "a fork of the future": (("fork", "agent.ledger", "--seq", "99999"), 3, "has no event"),
    "no way to go that far back": (("rewind", "agent.ledger", "99999"), 3, "has no event"),
    "nothing to pin": (("pin", "agent.ledger"), 2, "Give TEXT or --remove"),
    "a blank requirement": (("pin", "agent.ledger", " "), 3, "is blank"),
    "a pin that is not there": (
        ("pin", "agent.ledger", "--remove", "r-none"),
        3,
        "'r-none' is not pinned; session show lists the pins",
    ),
    "an event that says nothing": (
        ("redact", "agent.ledger", "4", "0", "--reason", "x", "--yes"),
        3,
        "event 0 is session/opened, which holds no text",
    ),
    "an event that is not there": (("redact", "agent.ledger", "4", "999", "--reason", "x", "--yes"), 3, "has no event 999"),
    "no reason": (("redact", "agent.ledger", "4", "--yes"), 2, "--reason"),
    "a backup over a file": (("backup", "agent.ledger", "sample.jsonl"), 3, "error: sample.jsonl: exists already"),
    "a backup to nowhere": (("backup", "agent.ledger", "no/copy.ledger"), 3, "error: no/copy.ledger: "),
    "a budget that cannot be": (("compact", "agent.ledger", "--max-units", "5", "--target-units", "9"), 2, "must ascend"),
    "a verb that is none": (("erase", "agent.ledger"), 2, "No such command"),
    "a compaction that cannot be": (("compact", "agent.ledger", "--max-units", "40"), 4, "exceed the target"),
    "a name that is no text": (("ls", "\udcff.ledger"), 3, "its name is not UTF-8"),
}


def files(folder: Path) -> list[str]:
    """Without those that stand beside a ledger while it is open."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm", ".locks")))


@pytest.mark.parametrize("case", list(WRONG))
def test_what_goes_wrong_is_one_sentence_and_one_object(
    case: str, ledger: Path, run: Main, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample.jsonl").write_bytes(SAMPLE.read_bytes())
    (tmp_path / "wrong.json").write_text('[{"role": "wizard", "content": "x"}]')
    (tmp_path / "rows.jsonl").write_text('{"role": "user", "content": "x"}\n\n{"role": "user", "content": 3}\n')
    (tmp_path / "torn.jsonl").write_text('{"role": "user", "content": "x"}\n{"role": "user", "con')
    lost = {"role": "toolResult", "toolCallId": "c-0", "toolName": "t", "content": "x", "isError": False}
    (tmp_path / "lost.json").write_text(json.dumps([lost]))
    before, said = files(tmp_path), told("export", ledger)
    (verb, *arguments), exit_code, says = WRONG[case]
    code, out, err = run(verb, *arguments)
    assert (code, says in err, "Traceback" in err) == (exit_code, True, False), err
    assert "--json" in arguments or out == ""
    assert exit_code == 2 or len(err.splitlines()) == 1
    code, out, _err = run(verb, *arguments, "--json")
    error = json.loads(out)["error"]
    assert (code, set(error)) == (exit_code, {"code", "message", "fix", "file", "line"})
    assert files(tmp_path) == before
    assert told("export", ledger) == said


def test_a_session_must_be_named_where_there_are_several(ledger: Path, run: Main, told: Told) -> None:
    for number in range(25):
        told("fork", ledger, "--session", "s", "--as", f"f{number}", "--seq", "2")
    code, _out, err = run("show", ledger)
    assert (code, "has 26 sessions; name one with --session; there are: s, f0, f1," in err, "f20" in err) == (3, True, False)
    assert told("show", ledger, "--session", "f24")["session"] == "f24"


def test_a_ledger_without_sessions_says_how_to_begin(tmp_path: Path, run: Main) -> None:
    from compactor.stores import open_store

    async def empty() -> None:
        await (await open_store(tmp_path / "empty.ledger")).aclose()

    trio.run(empty)
    assert run("ls", tmp_path / "empty.ledger")[:2] == (0, "no sessions\n")
    code, _out, err = run("stats", tmp_path / "empty.ledger")
    assert (code, "has no sessions; begin one with: compactor session import" in err) == (3, True)


def test_advice_of_the_library_is_given_in_words_of_the_command_line() -> None:
    source = "".join(
        [path.read_text() for path in Path(_session_frame.__file__).parents[1].rglob("*.py") if "cli" not in path.parts]
    )
    for advice in _session_frame.ADVICE:
        assert f'"{advice}"' in source, "nobody says this any more"


# ------------------------------------------------------------------------------------------------------------- owners

OWN = """
import sys, trio
from compactor import open_session
async def main():
    async with open_session(sys.argv[1], session_id="s", auto=False) as session:
        print("open", flush=True)
        await trio.to_thread.run_sync(sys.stdin.readline)
        await session.append({"role": "user", "content": "still here"})
trio.run(main)
"""


@pytest.fixture
def other(ledger: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the session open."""
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        [sys.executable, "-c", OWN, str(ledger)], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    yield child
    child.kill()
    child.communicate()


def test_an_open_session_is_busy_for_writers_only_and_can_be_taken_over(
    ledger: Path, other: subprocess.Popen[str], run: Main, told: Told, tmp_path: Path
) -> None:
    link = tmp_path / "link.ledger"
    link.symlink_to(ledger)
    for verb, *arguments in (
        ("append", "--user", "x"),
        ("pin", "x"),
        ("compact", *SMALL),
        ("rewind", "5"),
        ("redact", "4", "--reason", "x", "--yes"),
    ):
        for path in (ledger, link):
            code, out, err = run(verb, path, *arguments)
            assert (code, out) == (5, "")
            assert (
                f"error: {path}: session 's' is open: process {other.pid}; close it there, or wait; session unlock --yes" in err
            )
    assert json.loads(run("append", ledger, "--user", "x", "--json")[1])["error"]["code"] == "CONTEXT_BUSY"
    assert f"; open, process {other.pid}" in run("ls", link)[1]
    for verb, *arguments in (("show",), ("verify",), ("search", "the"), ("compact", "--dry-run"), ("fork", "--as", "f")):
        told(verb, ledger, *arguments, "--session", "s")

    shown = told("unlock", link, "--session", "s")
    assert (shown["owner"]["state"], shown["markers"], shown["unlocked"]) == ("open", [], False)
    assert "its owner can then write no more" in run("unlock", ledger, "--session", "s")[1]
    assert told("ls", ledger)["sessions"][0]["owner"]["state"] == "open"
    assert told("unlock", link, "--yes", "--session", "s")["unlocked"] is True
    assert told("ls", ledger)["sessions"][0]["owner"] == {"state": "closed", "text": None}
    told("append", ledger, "--user", "taken over", "--session", "s")
    _out, err = other.communicate("\n")
    assert "CONTEXT_FENCED" in err
    assert told("verify", ledger)["ok"]


def test_who_died_blocks_nobody_and_is_shown(ledger: Path, other: subprocess.Popen[str], run: Main, told: Told) -> None:
    other.kill()
    other.wait()
    assert owner_of(os.path.realpath(ledger), "s").state == "left"
    assert f"closed; process {other.pid} ended without closing it" in run("ls", ledger)[1]
    assert run("unlock", ledger)[1].splitlines()[-1] == "result     nothing blocks it"
    assert told("unlock", ledger, "--yes")["unlocked"] is False
    told("append", ledger, "--user", "on")
    assert told("ls", ledger)["sessions"][0]["owner"]["state"] == "closed"


def test_a_marker_without_an_end_is_shown_and_cleared(ledger: Path, run: Main, told: Told) -> None:
    async def stuck() -> None:
        async with open_session(ledger, session_id="s", auto=False) as session:
            data = {"run": "c-stuck", "trigger": "manual", "hidden": [], "input": ""}
            await session.store.append(session.lease, [Draft(EventType.COMPACTION_STARTED, data)])

    trio.run(stuck)
    found = told("unlock", ledger)
    assert [marker["run"] for marker in found["markers"]] == ["c-stuck"]
    code, out, _err = run("unlock", ledger)
    assert (code, "marker     run c-stuck at event " in out, "so does --yes" in out) == (0, True, True)
    code, out, _err = run("unlock", ledger, "--yes")
    assert (code, out.splitlines()[-1].split()[0]) == (0, "unlocked")
    assert told("unlock", ledger)["markers"] == []
    audit = told("verify", ledger)
    assert (audit["ok"], [trace["rule"] for trace in audit["traces"]]) == (True, ["trace"])
    assert "trace      s, event " in run("verify", ledger)[1]


# ------------------------------------------------------------------------------------------------------------- damage


def test_damage_is_told_with_its_place_and_hides_no_other_session(ledger: Path, run: Main, told: Told) -> None:
    told("fork", ledger, "--as", "f", "--seq", "3")
    data = bytearray(ledger.read_bytes())
    at = data.rfind(b'"role":"user"')  # the last one that was written: of the fork
    data[at + 9] ^= 1
    ledger.write_bytes(bytes(data))
    found = told("verify", ledger, exit_code=1)
    assert (found["ok"], {fault["session_id"] for fault in found["faults"]}) == (False, {"f", ""})
    code, out, _err = run("verify", ledger)
    assert (code, out.splitlines()[0].startswith("fault      f, event ")) == (1, True)
    assert out.splitlines()[1].startswith("fault      the file: ")
    assert [row["damaged"] for row in told("ls", ledger)["sessions"]] == [False, True]
    assert "damaged: compactor session verify tells where" in run("ls", ledger)[1]
    assert run("show", ledger, "--session", "f")[0] == 3
    assert run("show", ledger, "--session", "s")[0] == 0
    assert told("verify", ledger, "--session", "s")["ok"]


def test_a_file_that_is_cut_off_is_a_fault_for_verify_and_refused_by_the_others(ledger: Path, run: Main, told: Told) -> None:
    os.truncate(ledger, ledger.stat().st_size // 2)
    found = told("verify", ledger, exit_code=1)
    assert [fault["rule"] for fault in found["faults"]] == ["file"]
    code, out, err = run("show", ledger)
    assert (code, out, "is cut off" in err) == (3, "", True)


def test_a_missing_extra_is_named(ledger: Path, tmp_path: Path) -> None:
    script = "import sys; sys.modules['apsw'] = None; from compactor.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", script, "session", "ls", str(ledger)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f'error: {ledger}: ledgers in files need the package apsw; pip install "trio-compactor[sqlite]"\n'


def obedient(*arguments: object) -> tuple[int, str, str]:
    """A real process that obeys permissions, also where the tests run as the superuser."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("the superuser may write anywhere")
        prefix = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner", "--inh-caps", "-all")
    command = [*prefix, sys.executable, "-m", "compactor", "session", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_read_only_place_can_be_read_and_is_said_to_be_read_only(ledger: Path, run: Main) -> None:
    ledger.chmod(0o400)
    ledger.parent.chmod(0o500)
    try:
        assert obedient("show", ledger)[0] == 0
        code, out, err = obedient("append", ledger, "--user", "x")
        assert (code, out) == (3, "")
        assert err == f"error: {ledger}: may not be written by this process; make the file and its directory writable\n"
    finally:
        ledger.parent.chmod(0o700)


# ------------------------------------------------------------------------------------------------------------- Ctrl-C


def test_ctrl_c_while_an_import_reads_leaves_no_ledger(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "compactor", "session", "import", str(tmp_path / "new.ledger"), "-"]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT)
    assert child.stdin is not None
    # More than the pipe holds: when it was taken, the process is reading.
    child.stdin.write(b'{"type":"custom"}\n' * 8_000)
    child.stdin.flush()
    child.send_signal(signal.SIGINT)
    _out, err = child.communicate(timeout=60)
    assert (child.returncode, err, [*tmp_path.iterdir()]) == (130, b"interrupted\n", [])


@pytest.mark.parametrize("method", ["acquire", "append", "release"])
def test_ctrl_c_while_an_import_writes_waits_until_all_of_it_is_there(
    method: str, tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    from compactor.stores._ledger import SqliteLedger

    real = getattr(SqliteLedger, method)

    async def interrupted(*args: object, **more: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        await trio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        return await real(*args, **more)

    monkeypatch.setattr(SqliteLedger, method, interrupted)
    found = told("import", tmp_path / "new.ledger", "--sample", "--session", "s", "--pin", "One.")
    monkeypatch.undo()
    assert len(found["messageIds"]) == 91
    assert told("show", tmp_path / "new.ledger")["requirements"] == found["requirements"]


def test_ctrl_c_during_a_compaction_changes_nothing(ledger: Path, run: Main, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    before = told("show", ledger)["messageIds"]
    real = _session_writes.tracer

    def tracer(kind: str | None) -> object:
        class Interrupting:
            def info(self, event: str, **fields: object) -> None:
                if fields["to_phase"] == "SUMMARIZING":
                    os.kill(os.getpid(), signal.SIGINT)

        assert real(kind) is None
        return Interrupting()

    monkeypatch.setattr(_session_writes, "tracer", tracer)
    code, out, err = run("compact", ledger, *SMALL)
    assert (code, out, err) == (130, "", "")  # "interrupted" goes past the capture
    assert told("show", ledger)["messageIds"] == before
    assert told("stats", ledger)["runs"] == {"CONTEXT_CANCELLED": 1}
    assert told("unlock", ledger)["markers"] == []


def test_what_ends_with_130_changed_nothing() -> None:
    reading = {"ls", "show", "at", "diff", "search", "read", "export", "verify", "backup", "stats"}
    assert {verb for verb, how in VERBS.items() if not how.whole} == reading | {"compact"}


# ------------------------------------------------------------------------------------------------------------ streams


def test_a_result_that_nobody_reads_ends_quietly(ledger: Path) -> None:
    command = f'"{sys.executable}" -m compactor session export "{ledger}" | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_bug_is_one_sentence_too(ledger: Path, run: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_job: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(_session, "run_session", broken)
    code, out, err = run("ls", ledger)
    assert (code, out, "Traceback" in err, len(err.splitlines())) == (70, "", False, 1)
