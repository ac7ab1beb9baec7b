"""The command line: every exit code, every kind of bad input as one sentence, one JSON object, and files whole or not at all.

What a user meets is tested through real processes; the rest calls ``main`` in this one.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

import compactor
from compactor import CompactionError, ErrorCode, __main__, cli
from compactor.formats import Note, check_openai_chat
from compactor.readers import read_transcript, sample_bytes

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "pi"
FILES = sorted(CORPUS.glob("*.jsonl"))
SMALL = ("--max-units", "4000")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COVERAGE_PROCESS_START")},
    "PYTHONPATH": str(Path(compactor.__file__).parents[1]),
}


@pytest.fixture(autouse=True)
def _signal_is_kept() -> Iterator[None]:
    """``main`` is made to be the last thing that its process does; this one goes on."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


Main = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    """Call ``main`` in this process: exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["compactor", *map(str, arguments)])
        code = __main__.main()
        out, err = capsys.readouterr()
        return code, out, err

    return call


def process(*arguments: object, data: bytes = b"", prefix: tuple[str, ...] = (), **more: Any) -> tuple[int, str, str]:
    """Run a real process: exit code, stdout, stderr."""
    command = [*prefix, sys.executable, "-m", "compactor", *map(str, arguments)]
    done = subprocess.run(command, input=data, capture_output=True, env=ENVIRONMENT, timeout=60, check=False, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(sample_bytes())
    return path


# ----------------------------------------------------------------------------------------------------- main job


def test_the_sample_is_compacted_by_a_real_process_and_nothing_is_written(tmp_path: Path) -> None:
    code, out, err = process("compact", "--sample", *SMALL, cwd=tmp_path)
    assert code == 0
    labels = [line.split()[0] for line in out.splitlines()]
    assert labels == ["read", "units", "boundary", "messages", "summary", "open", "result"]
    assert out.splitlines()[-1].endswith("compactor compact --sample --max-units 4000 -o FILE")
    assert all(line.startswith("note: ") for line in err.splitlines())
    assert not [*tmp_path.iterdir()]


def test_the_result_in_a_file_is_a_session_of_its_own(run: Main, sample: Path, tmp_path: Path) -> None:
    goal = tmp_path / "out.json"
    code, out, _err = run("compact", sample, *SMALL, "-o", goal)
    assert (code, out.splitlines()[-1].split()[:2]) == (0, ["written", str(goal)])
    context = read_transcript(goal)
    assert context.units < 4_000
    assert len(context.compactions) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "session.jsonl"]
    assert sample.read_bytes() == sample_bytes()


def test_minus_reads_standard_input_and_writes_only_the_result_to_standard_output() -> None:
    code, out, err = process("compact", "-", *SMALL, "--to", "openai-chat", "-o", "-", data=sample_bytes())
    assert code == 0
    assert check_openai_chat(json.loads(out)) == ()
    assert "read       <stdin>: pi" in err


def test_a_session_under_its_threshold_is_unchanged_unless_forced(run: Main) -> None:
    code, out, _err = run("compact", "--sample", "--json")
    assert (code, json.loads(out)["status"], json.loads(out)["record"]) == (0, "unchanged", None)
    assert "unchanged" in run("compact", "--sample")[1]
    code, out, _err = run("compact", "--sample", "--force", "--instructions", "look at the tests", "--json")
    assert (code, json.loads(out)["status"]) == (0, "committed")


@pytest.mark.parametrize("path", FILES or [None], ids=[path.stem[:12] for path in FILES] or ["none"])
def test_every_file_of_the_corpus_is_compacted_and_obeys_the_target_format(run: Main, path: Path | None, tmp_path: Path) -> None:
    if path is None:
        pytest.skip("the corpus of Pi sessions is not beside this checkout")
    units = read_transcript(path).units
    budget = (
        "--max-units",
        units - 1,
        "--target-units",
        units * 3 // 4,
        "--summary-max-units",
        max(120, units // 10),
        "--retain",
        1,
    )
    for format_ in ("openai-chat", "compactor"):
        goal = tmp_path / f"{format_}.json"
        code, out, err = run("compact", path, *budget, "--to", format_, "-o", goal)
        assert (code, "units" in out) == (0, True), err
    assert check_openai_chat(json.loads((tmp_path / "openai-chat.json").read_bytes())) == ()
    context = read_transcript(tmp_path / "compactor.json")
    assert context.units <= units * 3 // 4
    assert context.messages == read_transcript(path).messages[-len(context.messages) :]


def test_from_names_the_session_where_a_place_holds_several(run: Main, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    (storage / "message").mkdir(parents=True)
    (storage / "session" / "p").mkdir(parents=True)
    for name in ("ses_1", "ses_2"):
        (storage / "session" / "p" / f"{name}.json").write_text(json.dumps({"id": name}))
    for verb in ("compact", "plan", "check"):
        code, _out, err = run(verb, storage)
        assert (code, "holds 2 sessions; pass --from with one of 'ses_1', 'ses_2'" in err) == (3, True)
        assert run(verb, storage, "--from", "ses_1")[0] == 0


# --------------------------------------------------------------------------------------------------------- plan


def test_plan_says_what_compact_then_does(run: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = json.loads(run("plan", "--sample", *SMALL, "--json", "-o", "out.json")[1])
    done = json.loads(run("compact", "--sample", *SMALL, "--json")[1])
    assert (plan["schema"], plan["command"], plan["status"], plan["would"]) == (1, "plan", "planned", "compact")
    assert plan["boundary"] == done["boundary"]
    assert plan["hiddenMessageIds"] == done["record"]["compactedMessageIds"]
    assert plan["budget"] == done["budget"]
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "compact would change nothing"),
        (SMALL, "compact would summarize"),
        (("--max-units", 100), "compact would fail"),
        (("--force",), "compact would summarize"),
        (("--window", 20_000, "--output-reserve", 1_000), "compact would summarize"),
    ],
)
def test_plan_speaks_to_people(run: Main, options: tuple[object, ...], text: str) -> None:
    code, out, err = run("plan", "--sample", *options)
    assert code == 0
    assert text in out
    assert "nothing was written" in out.splitlines()[-1]
    assert err.startswith("note: ")


# -------------------------------------------------------------------------------------------------------- check


def test_check_is_clean_for_what_compact_wrote(run: Main, tmp_path: Path) -> None:
    goal = tmp_path / "out.json"
    run("compact", "--sample", *SMALL, "-o", goal)
    code, out, _err = run("check", goal)
    assert (code, out.splitlines()[-1].split()) == (0, ["check", "clean"])


def test_check_finds_what_the_import_had_to_repair(run: Main) -> None:
    code, out, _err = run("check", "--sample")
    assert code == 1
    assert next(line for line in out.splitlines() if line.startswith("fault")).endswith("[call_closed]")
    assert out.splitlines()[-1].split() == ["check", "1", "fault", "found"]
    code, out, _err = run("check", "--sample", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["clean"], found["faultCount"], found["faults"]) == (1, "checked", False, 1, [])
    assert [note["what"] for note in found["report"]["notes"] if note["fault"]] == ["call_closed"]


def test_a_torn_last_line_is_accepted_and_a_fault(run: Main, sample: Path) -> None:
    sample.write_bytes(sample_bytes() + b'{"type":"mess')
    code, out, _err = run("compact", sample, *SMALL)
    assert (code, ", 1 torn" in out) == (0, True)
    code, out, _err = run("check", sample)
    assert (code, "[torn_line]" in out) == (1, True)


TWICE = [{"role": "toolResult", "id": f"m{n}", "toolCallId": "c1", "toolName": "t", "content": "x"} for n in (1, 2)]


def test_check_lists_every_fault_of_a_document_that_is_read_strictly(run: Main, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({"format": "compactor", "version": 1, "messages": TWICE}))
    code, out, _err = run("check", path)
    assert code == 1
    assert [line.split()[0] for line in out.splitlines()][-1] == "check"
    assert sum(line.startswith("fault") for line in out.splitlines()) >= 2
    code, _out, err = run("compact", path)
    assert (code, err.count("\n")) == (3, 1)
    code, out, _err = process("check", "-", "--json", data=path.read_bytes())
    assert (code, len(json.loads(out)["faults"]) >= 2, json.loads(out)["report"]) == (1, True, None)


def test_faults_that_cannot_be_listed_are_refused_with_the_first_one(run: Main, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({"format": "compactor", "version": 1, "messages": TWICE}))
    job = cli.Job("check", str(tmp_path / "gone.json"))
    assert cli._all_faults(job, None) == ()
    assert cli._all_faults(job, b'{"other": 1}') == ()


# ---------------------------------------------------------------------------------------------------- bad input

ROW = b'{"type":"message","message":{"role":"user","content":"hi"}}\n'
CHAT = b'[{"role":"user","content":"hi"}]\n'
BAD: dict[str, tuple[bytes | None, str]] = {
    "not found": (None, "is not there"),
    "empty": (b"", "is empty"),
    "binary": (b"\x7fELF\x02\x01\x01\0\0\0\0\0\x9c\xff", "is binary"),
    "compressed": (b"\x1f\x8b\x08\0\0\0", "gzip"),
    "broken middle line": (ROW + b'{"type":"mess\n' + ROW, "is not JSON"),
    "wrong encoding": (ROW + '{"type":"message","message":{"role":"user","content":"é"}}\n'.encode("latin-1") + ROW, "not UTF-8"),
    "utf-16": (ROW.decode().encode("utf-16"), "UTF-16"),
    "chat after chat": (CHAT + CHAT, "another value follows"),
    "pi row in a chat list": (b'[{"role":"user","content":"a"},{"role":"toolResult","toolCallId":"c","content":[]}]', ""),
    "unknown": (b'{"some": "thing"}', "no importer"),
    "cut document": (b'[{"role":"user","content":"hi"},', "ends in the middle"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_sentence_and_exit_3(kind: str, tmp_path: Path) -> None:
    data, text = BAD[kind]
    path = tmp_path / "session.jsonl"
    if data is not None:
        path.write_bytes(data)
    code, out, err = process("compact", path, "--json", "-o", tmp_path / "out.json")
    assert code == 3
    assert err.startswith(f"error: {path}:")
    assert (err.count("\n"), text in err, "Traceback" in err) == (1, True, False)
    found = json.loads(out)
    assert (found["schema"], found["error"]["file"]) == (1, str(path))
    assert {*found["error"]} == {"code", "message", "fix", "file", "line"}
    assert found["error"]["fix"]
    assert not (tmp_path / "out.json").exists()


def test_the_broken_line_is_named(run: Main, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(BAD["broken middle line"][0] or b"")
    code, out, err = run("plan", path, "--json")
    assert (code, json.loads(out)["error"]["line"], f"{path}:2: " in err) == (3, 2, True)


@pytest.mark.parametrize("verb", ["compact", "plan", "check"])
def test_a_directory_is_refused_by_every_verb(run: Main, verb: str, tmp_path: Path) -> None:
    code, out, err = run(verb, tmp_path)
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "is a directory; " in err


def test_formats_that_are_mixed_line_by_line_are_refused_or_set_aside_aloud(run: Main, tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(ROW + CHAT + ROW)
    code, _out, err = run("check", path)
    assert code in (1, 3), err


def test_a_closed_standard_input_is_refused() -> None:
    code, out, err = process("compact", "-", prefix=("sh", "-c", 'exec "$0" "$@" <&-'))
    assert (code, out, err) == (3, "", "error: <stdin>: is closed; pipe a session in, or name a file\n")


def test_a_name_that_a_terminal_would_obey_is_escaped(run: Main, tmp_path: Path) -> None:
    code, _out, err = run("compact", tmp_path / "a\x1b[2Jb\n")
    assert (code, "\x1b" in err, err.count("\n")) == (3, False, 1)


# -------------------------------------------------------------------------------------------------------- usage


@pytest.mark.parametrize(
    "arguments",
    [
        ("compact",),
        ("compact", "--sample", "file"),
        ("compact", "--sample", "--max-units", "5", "--window", "5"),
        ("compact", "--sample", "--retain", "5"),
        ("compact", "--sample", "--output-reserve", "5"),
        ("compact", "--sample", "--max-units", "10", "--target-units", "20"),
        ("compact", "--sample", "--window", "10", "--output-reserve", "10"),
        ("compact", "--sample", "--max-units", "9" * 5_000),
        ("compact", "--sample", "--to", "pi"),
        ("compact", "--sample", "-o", "-"),
        ("transform",),
        ("check", "--sample", "--force"),
    ],
)
def test_what_cannot_be_meant_is_exit_2(run: Main, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments, "--json")
    assert (code, "Traceback" in err) == (2, False)
    assert json.loads(out)["error"]["code"] == "CLI_USAGE"
    assert err


def test_without_arguments_the_help_is_shown(run: Main) -> None:
    code, out, err = run()
    assert (code, "Usage: compactor" in out + err) == (2, True)


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("compact", "--help"), ("--version",)])
def test_help_and_version_are_answered(run: Main, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, bool(out), err) == (0, True, "")


def test_without_click_one_sentence_says_what_to_install() -> None:
    program = "import sys; sys.modules['click'] = None; from compactor.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "check", "--sample", "--json"]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.decode().endswith("pip install 'trio-compactor[cli]'\n")
    assert done.stderr.count(b"\n") == 1
    assert json.loads(done.stdout)["error"]["code"] == "CLI_USAGE"


# ---------------------------------------------------------------------------------------------- the other codes


def test_a_compaction_that_cannot_be_is_exit_4_and_leaves_the_old_result(run: Main, tmp_path: Path) -> None:
    goal = tmp_path / "out.json"
    goal.write_text("old")
    code, out, err = run("compact", "--sample", "--max-units", 100, "-o", goal, "--json")
    assert (code, json.loads(out)["error"]["code"], goal.read_text()) == (4, "CONTEXT_NO_PROGRESS", "old")
    assert err.startswith("error: <sample>: ")
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize(("error", "code"), [(ErrorCode.BUSY, 5), (ErrorCode.INTERNAL, 70), (ErrorCode.CONFLICT, 4)])
def test_an_error_of_the_session_has_its_exit_code(
    run: Main, monkeypatch: pytest.MonkeyPatch, error: ErrorCode, code: int
) -> None:
    def refuse(**_options: object) -> None:
        raise CompactionError(error, "no", where="session s", fix="wait")

    monkeypatch.setattr(cli, "open_session", refuse)
    assert run("compact", "--sample", *SMALL)[::2] == (code, _NOTES + "error: <sample>: session s: no; wait\n")


_NOTES = "".join(f"{line}\n" for line in cli._report.grouped(cli.read_bytes_transcript(sample_bytes(), "").report.notes))


def test_an_export_that_its_format_refuses_is_exit_3(run: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise CompactionError(ErrorCode.FORMAT_INVALID, "cannot hold this")

    monkeypatch.setattr(cli, "render_messages", refuse)
    code, out, err = run("compact", "--sample", *SMALL, "-o", tmp_path / "out.json")
    assert (code, out, err.splitlines()[-1]) == (3, "", "error: <sample>: cannot hold this")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("raised", [RuntimeError("a secret"), ExceptionGroup("a secret", [ValueError("a secret")])])
def test_a_bug_is_one_sentence_without_what_it_says(run: Main, monkeypatch: pytest.MonkeyPatch, raised: Exception) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(cli, "plan_compaction", fail)
    code, out, err = run("plan", "--sample", "--json")
    assert (code, err.count("\n"), "secret" in err + out, "Traceback" in err) == (70, 1, False, False)
    assert (type(raised).__name__ in err, "at cli/__init__.py:" in err) == (True, True)
    assert json.loads(out)["error"]["code"] == "CONTEXT_INTERNAL"


def test_a_library_that_is_missing_for_another_reason_is_a_bug(run: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "compactor.cli", None)
    code, _out, err = run("check", "--sample")
    assert (code, "ModuleNotFoundError" in err) == (70, True)


# ------------------------------------------------------------------------------------------------------ outputs


def test_an_existing_file_keeps_its_bytes_when_the_disk_refuses_the_new_ones(tmp_path: Path) -> None:
    goal = tmp_path / "out.json"
    goal.write_text("old")
    limit = ("sh", "-c", 'ulimit -f 2; exec "$0" "$@"')  # Bytes beyond it are refused, even to root.
    code, out, err = process("compact", "--sample", "-o", goal, "--json", prefix=limit)
    assert (code, json.loads(out)["error"]["code"], goal.read_text()) == (3, "CLI_OUTPUT", "old")
    assert err == f"error: {goal}: cannot be written: File too large; check the folder and the disk; nothing was changed\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_a_folder_that_goes_away_while_the_session_is_compacted_is_one_sentence(
    run: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    real = trio.run

    def removing(*arguments: Any) -> Any:
        folder.rmdir()
        return real(*arguments)

    monkeypatch.setattr(trio, "run", removing)
    code, out, err = run("compact", "--sample", *SMALL, "-o", folder / "out.json")
    assert (code, out, "cannot be written: No such file" in err) == (3, "", True)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (Path.mkdir, "is a directory"),
        (_pipe, "is no regular file"),
        (lambda path: path.symlink_to(path), "cannot be written: Too many levels of symbolic links"),
    ],
)
def test_what_is_no_file_is_not_replaced(run: Main, tmp_path: Path, make: Callable[[Path], None], text: str) -> None:
    goal = tmp_path / "goal"
    make(goal)
    before = goal.lstat()
    code, out, err = run("compact", "--sample", *SMALL, "-o", goal)
    assert (code, out, err.count("\n"), text in err) == (3, "", 1, True)
    assert (goal.lstat().st_ino, goal.lstat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("name", ["missing/out.json", "new/", "", "x" * 300, "a\0b", "file/out.json"])
def test_a_place_that_cannot_hold_a_file_is_refused_before_any_work(
    run: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.delattr(cli, "read_bytes_transcript")
    code, out, err = run("compact", "--sample", "-o", name)
    assert (code, out, err.count("\n")) == (3, "", 1)


def test_a_folder_that_may_not_be_written_to_is_refused(run: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # For root, everything is allowed.
    code, _out, err = run("compact", "--sample", "-o", tmp_path / "out.json")
    assert (code, "may not be written to" in err) == (3, True)


def test_a_file_keeps_its_permissions_and_a_link_stays_a_link(run: Main, tmp_path: Path) -> None:
    goal, link = tmp_path / "out.json", tmp_path / "link.json"
    goal.write_text("old")
    goal.chmod(0o640)
    link.symlink_to(goal.name)
    assert run("compact", "--sample", *SMALL, "-o", link)[0] == 0
    assert (stat.S_IMODE(goal.stat().st_mode), link.is_symlink()) == (0o640, True)
    assert json.loads(goal.read_bytes())["format"] == "compactor"


def test_a_new_file_has_the_usual_permissions(run: Main, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        assert run("compact", "--sample", *SMALL, "-o", tmp_path / "out.json")[0] == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o640


def test_the_input_is_replaced_when_it_is_named_and_only_then(run: Main, sample: Path) -> None:
    assert run("compact", sample, *SMALL, "-o", sample)[0] == 0
    assert json.loads(sample.read_bytes())["format"] == "compactor"


def test_json_names_the_file_that_was_written(run: Main, tmp_path: Path) -> None:
    goal = tmp_path / "out.json"
    code, out, err = run("compact", "--sample", *SMALL, "--json", "-o", goal, "--to", "openai-chat")
    found = json.loads(out)
    assert (code, err, found["export"]["format"], found["export"]["path"]) == (0, "", "openai-chat", str(goal))
    assert [*found] == [
        *("schema", "command", "file", "status", "units", "budget", "boundary", "messages", "summary", "openCalls"),
        *("record", "report", "export"),
    ]
    assert found["units"]["after"] == found["record"]["unitsAfter"]
    assert found["messages"]["before"] == found["messages"]["hidden"] + found["messages"]["kept"]


def test_notes_are_grouped_into_few_lines(run: Main) -> None:
    notes = [Note(f"kind_{number % 12}", "text", number) for number in range(100)]
    lines = cli._report.grouped(notes)
    assert len(lines) == 10
    assert lines[0] == "note: line 0: text [kind_0] and 8 more of this kind"
    assert lines[-1].startswith("note: 3 more kinds")


def test_a_cut_behind_the_last_message_is_named(run: Main, tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "word " * 500}] * 2))
    code, out, _err = run("plan", path, "--max-units", 1_000, "--target-units", 400, "--retain", 0)
    assert (code, "2, behind the last message" in out) == (0, True)


# ------------------------------------------------------------------------------------------------- dead streams


def test_a_reader_that_went_away_ends_the_command_quietly() -> None:
    command = [sys.executable, "-m", "compactor", "compact", "--sample", *SMALL, "-o", "-"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as dead:
        done = subprocess.run(command, stdout=dead, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=60, check=False)
    assert done.returncode == 141
    assert b"Broken" not in done.stderr
    assert b"error" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_full_standard_output_is_one_sentence(options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "compactor", "check", "--sample", *options]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stderr == b"error: <stdout>: cannot be written: No space left on device; send the output somewhere else\n"


def test_a_closed_standard_output_and_a_full_standard_error_change_nothing_else(tmp_path: Path) -> None:
    goal = tmp_path / "out.json"
    closed = ("sh", "-c", 'exec "$0" "$@" >&- 2>/dev/full')
    code, out, err = process("compact", "--sample", *SMALL, "-o", goal, "--trace", "json", prefix=closed)
    assert (code, out, err) == (3, "", "")
    assert json.loads(goal.read_bytes())["format"] == "compactor"


def test_without_standard_error_the_result_still_comes() -> None:
    code, out, _err = process("check", "--sample", prefix=("sh", "-c", 'exec "$0" "$@" 2>&-'))
    assert (code, "1 fault found" in out) == (1, True)


def test_dead_streams_in_this_process(run: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as dead:
        monkeypatch.setattr(sys, "stdout", dead)
        assert run("check", "--sample")[0] == 141
        dead.write("goes nowhere now")
        dead.flush()
    monkeypatch.setattr(sys, "stdout", None)
    code, _out, err = run("check", "--sample", "--json")
    assert (code, err) == (3, "error: <stdout>: cannot be written: Bad file descriptor; send the output somewhere else\n")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as dead:
        monkeypatch.setattr(sys, "stderr", dead)
        assert run("compact", "missing")[0] == 3
    monkeypatch.setattr(sys, "stderr", None)
    assert run("compact", "missing")[0] == 3


class _Stdin:
    """Standard input as far as this program uses it."""

    def __init__(self, data: bytes | OSError) -> None:
        self.data = data
        self.buffer = self

    def read(self) -> bytes:
        if isinstance(self.data, OSError):
            raise self.data
        return self.data


def test_standard_input_in_this_process(run: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(sample_bytes()))
    code, out, err = run("compact", "-", *SMALL, "-o", "-")
    assert (code, json.loads(out)["format"], err.splitlines()[-1].split()[0]) == (0, "compactor", "written")
    monkeypatch.setattr(sys, "stdin", _Stdin(OSError(5, "Input/output error")))
    assert run("check", "-")[::2] == (
        3,
        "error: <stdin>: cannot be read: Input/output error; pipe a session in, or name a file\n",
    )
    monkeypatch.setattr(sys, "stdin", None)
    assert run("check", "-")[0] == 3


def test_without_click_in_this_process(run: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("compactor.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "click", None)
    code, out, err = run("check", "--sample", "--json")
    assert (code, err.count("\n"), json.loads(out)["error"]["code"]) == (2, 1, "CLI_USAGE")


# -------------------------------------------------------------------------------------------------------- trace


def test_the_trace_is_one_event_per_row_on_standard_error(run: Main) -> None:
    code, _out, err = run("compact", "--sample", *SMALL, "--json", "--trace", "json")
    events = [json.loads(line) for line in err.splitlines()]
    assert code == 0
    assert {event["event"] for event in events} == {"compaction.transition"}
    assert [event["signal"] for event in events][-2:] == ["COMMITTED_DURABLY", "SETTLED"]
    code, _out, err = run("compact", "--sample", *SMALL, "--json", "--trace", "pretty")
    assert [line.split("->")[1].split()[1] for line in err.splitlines()] == [event["signal"] for event in events]


def test_a_failed_run_shows_its_code(run: Main) -> None:
    code, _out, err = run("compact", "--sample", "--max-units", 100, "--trace", "pretty", "--json")
    assert (code, "CONTEXT_NO_PROGRESS" in err.splitlines()[1]) == (4, True)


def test_the_trace_is_off_where_nobody_looks(run: Main) -> None:
    assert run("compact", "--sample", *SMALL, "--json")[2] == ""


def on_terminal(*arguments: object, start: tuple[str, ...] = ("-m", "compactor"), **environment: str) -> bytes:
    """What a terminal as stderr gets."""
    ours, theirs = pty.openpty()
    command = [sys.executable, *start, "compact", "--sample", *SMALL, "--json", *map(str, arguments)]
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**ENVIRONMENT, "TERM": "xterm", **environment},
            timeout=60,
            check=False,
        )
        os.close(theirs)
        assert done.returncode == 0
        seen = b""
        while True:
            try:
                more = os.read(ours, 65_536)
            except OSError:  # Linux says end of file in this way.
                return seen
            if not more:
                return seen
            seen += more
    finally:
        os.close(ours)


def test_a_terminal_gets_the_trace_in_colour_unless_it_asked_not_to() -> None:
    assert b"\x1b[" in on_terminal()
    plain = on_terminal(NO_COLOR="1")
    assert b"COMMITTED_DURABLY" in plain
    assert b"\x1b[3" not in plain
    assert on_terminal("--trace", "off") == b""


def test_the_trace_needs_no_rich(run: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None; from compactor.__main__ import main; sys.exit(main())"
    seen = on_terminal(start=("-c", program))
    assert (b"COMMITTED_DURABLY" in seen, b"\x1b[" in seen) == (True, False)


def test_a_terminal_in_this_process_is_coloured_by_rich(run: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    code, _out, err = run("compact", "--sample", *SMALL, "--json")
    assert (code, "COMMITTED_DURABLY" in err) == (0, True)
