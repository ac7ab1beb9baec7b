"""Ctrl-C at any moment: exit code 130, no traceback, nothing half-written.

The moments are chosen by what the process can be seen to do: a module was imported, standard input is being read, the
run stands in a phase, a file is being synced. One test spreads its signals over time instead, for the moments between.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

import compactor
from compactor import __main__, cli
from compactor.cli import _signals
from compactor.readers import sample_bytes

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(compactor.__file__).parents[1])}
SMALL = ("--max-units", "4000")
OLD = b"what was there before"


@pytest.fixture(autouse=True)
def _signal_is_kept() -> Iterator[None]:
    """A child inherits "ignored": where these tests run in the background, Ctrl-C must be switched on first."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def goal(tmp_path: Path) -> Path:
    path = tmp_path / "out.json"
    path.write_bytes(OLD)
    return path


def start(*arguments: object, python: tuple[str, ...] = (), stderr: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    command = [sys.executable, *python, "-m", "compactor", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, env=ENVIRONMENT)


def is_whole(goal: Path) -> bool:
    """True when the target is as it was or completely new, and nothing else lies beside it."""
    assert [path.name for path in goal.parent.iterdir()] == [goal.name]
    data = goal.read_bytes()
    return data == OLD or json.loads(data)["format"] == "compactor"


def check_interrupted(process: subprocess.Popen[bytes], goal: Path) -> None:
    """The process ends as promised, and the target was not touched."""
    _out, err = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in (err or b"")) == (130, False), err
    assert is_whole(goal)
    assert goal.read_bytes() == OLD


# --------------------------------------------------------------------------------------------- before the run

IMPORTED = (
    "attr",
    "click",
    "trio",
    "structlog",
    "compactor.formats",
    "compactor.session",
    "compactor.cli._words",
    "compactor.cli",
)


@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("module", IMPORTED)
def test_during_the_imports(module: str, again: bool, goal: Path) -> None:
    # Standard input stays open, so that the process cannot be done before the signal comes.
    process = start("compact", "-", "-o", goal, python=("-X", "importtime"))
    assert process.stderr is not None
    for line in process.stderr:
        if line.rstrip().endswith(b" " + module.encode()):
            break
    for _ in range(1 + again):
        process.send_signal(signal.SIGINT)
    check_interrupted(process, goal)


def test_while_standard_input_is_read(goal: Path) -> None:
    process = start("compact", "-", "-o", goal)
    assert process.stdin is not None
    # More than the pipe holds: when it was taken, the process is reading.
    process.stdin.write(b'{"type":"custom"}\n' * 8_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    process.stdin = None
    check_interrupted(process, goal)


# --------------------------------------------------------------------------------------------- during the run


def held(pipe: int) -> int:
    """How many bytes wait in a pipe."""
    number = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, number)
    return number[0]


@pytest.fixture(scope="module")
def trace_sizes() -> list[int]:
    """How long each line of the sample's trace is, nearly: times differ."""
    process = start("compact", "--sample", *SMALL, "--json", "--trace", "json")
    _out, err = process.communicate(timeout=60)
    return [len(line) + 1 for line in err.splitlines()]


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="this system's pipes have one size")
@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("rows", range(1, 7))
def test_while_the_run_stands_behind_a_row(rows: int, again: bool, trace_sizes: list[int], goal: Path) -> None:
    """The pipe of the trace has room for *rows* lines: the run stands still in writing the next one."""
    reading, writing = os.pipe()
    size = fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4_096)
    wanted = sum(trace_sizes[:rows])
    os.write(writing, b"." * (size - wanted - 60))
    process = start("compact", "--sample", *SMALL, "--json", "--trace", "json", "-o", goal, stderr=writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as trace:
        while held(reading) < size - 120 and process.poll() is None:
            time.sleep(0.001)
        for _ in range(1 + again):
            process.send_signal(signal.SIGINT)
        err = trace.read()
    check_interrupted(process, goal)
    assert b"Traceback" not in err
    assert err.count(b"compaction.transition") >= rows
    assert err.endswith(b"interrupted\n")


def test_a_keyboard_interrupt_inside_a_group_is_one(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise BaseExceptionGroup("of a nursery", [ValueError(), BaseExceptionGroup("inner", [KeyboardInterrupt()])])

    monkeypatch.setattr(trio, "run", fail)
    monkeypatch.setattr(sys, "argv", ["compactor", "compact", "--sample", *SMALL])
    assert __main__.main() == 130
    assert capfd.readouterr().err.splitlines()[-1] == "interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_second_keyboard_interrupt_in_the_handler_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    real, calls = __main__._interrupted, iter([fail])
    monkeypatch.setattr(__main__, "_guarded", fail)

    def interrupted() -> int:
        return next(calls, real)()

    monkeypatch.setattr(__main__, "_interrupted", interrupted)
    assert __main__.main() == 130


# -------------------------------------------------------------------------------------------- during the write


def interrupted_at(monkeypatch: pytest.MonkeyPatch, goal: Path, call: int) -> int:
    """Run in this process; Ctrl-C comes inside the *call*-th ``fsync``: 1 is the file's, 2 the folder's."""
    real: Callable[[int], None] = os.fsync
    calls: list[int] = []

    def fsync(number: int) -> None:
        calls.append(number)
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(sys, "argv", ["compactor", "compact", "--sample", *SMALL, "-o", str(goal)])
    code = __main__.main()
    assert len(calls) >= call
    return code


def test_before_the_rename_the_old_file_stays(monkeypatch: pytest.MonkeyPatch, goal: Path) -> None:
    assert interrupted_at(monkeypatch, goal, 1) == 130
    assert is_whole(goal)
    assert goal.read_bytes() == OLD


def test_after_the_rename_it_comes_too_late(monkeypatch: pytest.MonkeyPatch, goal: Path) -> None:
    assert interrupted_at(monkeypatch, goal, 2) == 0
    assert is_whole(goal)
    assert goal.read_bytes() != OLD


def test_when_the_temporary_file_is_there(goal: Path) -> None:
    for _ in range(3):
        process = start("compact", "--sample", "-o", goal)
        while process.poll() is None and len([*goal.parent.iterdir()]) == 1 and goal.read_bytes() == OLD:
            pass
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=60)
        assert (process.returncode in (0, 130), b"Traceback" in err) == (True, False), err
        assert is_whole(goal)
        assert process.returncode == 130 or goal.read_bytes() != OLD
        goal.write_bytes(OLD)


# --------------------------------------------------------------------------------------------------- any moment


def test_at_moments_that_are_spread_over_the_whole_life(tmp_path: Path) -> None:
    began = time.monotonic()
    start("compact", "--sample", *SMALL, "-o", tmp_path / "dry.json").communicate(timeout=60)
    life, many, codes = time.monotonic() - began, 24, set[int]()
    for number in range(many):
        goal = tmp_path / f"folder{number}" / "out.json"
        goal.parent.mkdir()
        goal.write_bytes(OLD)
        process = start("compact", "--sample", *SMALL, "--trace", "json", "-o", goal)
        time.sleep(life * 1.1 * number / many)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=60)
        codes.add(process.returncode)
        if process.returncode == 0:
            assert goal.read_bytes() != OLD
        elif process.returncode != 130:
            # The interpreter had not begun with this program yet: none of its lines was running.
            assert process.returncode in (-signal.SIGINT, 1), err
            assert b"compactor/__main__.py" not in err
            assert b"compactor/cli" not in err
        if process.returncode in (0, 130):
            assert b"Traceback" not in err
        assert is_whole(goal)
    assert 130 in codes


def test_where_it_was_ignored_from_the_start_it_stays_ignored(goal: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process = start("compact", "-", *SMALL, "-o", goal)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
    _out, err = process.communicate(sample_bytes(), timeout=60)
    assert (process.returncode, goal.read_bytes() != OLD) == (0, True), err


def test_in_a_thread_and_where_it_is_ignored_nothing_is_touched(monkeypatch: pytest.MonkeyPatch, goal: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _signals.interruptible(), _signals.deferred() as check:
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        check()
    monkeypatch.setattr(sys, "argv", ["compactor", "compact", "--sample", *SMALL, "-o", str(goal)])
    signal.signal(signal.SIGINT, signal.default_int_handler)

    async def elsewhere() -> int:
        return await trio.to_thread.run_sync(cli.run, sys.argv[1:])

    assert trio.run(elsewhere) == 0
    assert is_whole(goal)
