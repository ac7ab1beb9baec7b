"""``compactor demo``: the lesson from the command line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from compactor.cli import run


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ([], "snapshot is the object from before: False"),
        (["--cancel-at", "VALIDATING"], "FAILED (cancelled)"),
        (["--cancel-at", "idle"], "cancelled here"),
        (["--fail", "SUMMARIZING"], "FAILED (summarizer)"),
    ],
)
def test_the_demo_walks_and_compares(options: list[str], end: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", *options]) == 0
    shown = capsys.readouterr()
    assert end in shown.out
    assert "ORPHAN_TOOL_RESULT" in shown.out
    assert shown.err == ""


def test_a_phase_that_cannot_be_cut_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--cancel-at", "COMMITTED"]) == 2
    assert "COMMITTED" in capsys.readouterr().err


def test_step_waits_for_enter_at_each_edge() -> None:
    command = [sys.executable, "-m", "compactor", "demo", "--step"]
    done = subprocess.run(command, input="\n\n\n\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.count("(Enter)") == 4
    assert "COMMITTED" in done.stdout
