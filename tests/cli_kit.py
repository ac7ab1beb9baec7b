"""What the tests of ``compactor session`` share: ``main`` in this process, and sessions to work with."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

import compactor
from compactor import __main__

SMALL = ("--max-units", "6000")
Main = Callable[..., tuple[int, str, str]]
Told = Callable[..., dict[str, Any]]

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(compactor.__file__).parents[1])}
"""For real processes."""

with as_file(files("compactor") / "samples" / "session.jsonl") as SAMPLE:
    PI = [SAMPLE, *sorted((Path(__file__).parents[2] / "shared" / "corpus" / "pi").glob("*.jsonl"))]
"""Sessions of Pi: the packaged one, and real ones where they stand beside this checkout."""


def kept_signal() -> Iterator[None]:
    """``main`` is made to be the last thing that its process does; this one goes on."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def caller(monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> Main:
    """Call ``main`` in this process: exit code, stdout, stderr."""

    def call(verb: str, *arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["compactor", "session", verb, *map(str, arguments)])
        if threading.current_thread() is threading.main_thread():
            # The last thing that ``main`` does is to ignore Ctrl-C.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = __main__.main()
        out, err = capture.readouterr()
        return code, out.decode(), err.decode()

    return call


def teller(run: Main) -> Told:
    """What a verb gives to programs; it must have worked."""

    def call(verb: str, *arguments: object, exit_code: int = 0) -> dict[str, Any]:
        code, out, err = run(verb, *arguments, "--json")
        assert (code, err) == (exit_code, ""), (out, err)
        found: dict[str, Any] = json.loads(out)
        assert (found["schema"], found["command"]) == (1, f"session {verb}")
        return found

    return call


_MADE: list[bytes] = []


def made_ledger(run: Main, folder: Path) -> Path:
    """A ledger with the packaged sample as session ``s`` and a pin; imported once, then copied."""
    path = folder / "agent.ledger"
    if _MADE:
        path.write_bytes(_MADE[0])
        return path
    code, _out, err = run("import", path, "--sample", "--session", "s", "--pin", "Be kind.")
    assert code == 0, err
    assert not path.with_name("agent.ledger-wal").exists(), "a ledger that is closed is one file"
    _MADE.append(path.read_bytes())
    return path
