"""The lesson tells the truth: what it says about the snapshot is what the session does."""

from __future__ import annotations

import pytest
import trio

from compactor import TRANSITIONS, Committed, CompactionError, Failed, Phase, validate_transcript
from compactor.lesson import EDGES, FAILURES, STEPS, compare, naive_cut, run, sample, walk


def told(**options: object) -> tuple[str, object]:
    lines: list[str] = []

    async def main() -> object:
        return await walk(lines.append, **options)

    outcome = trio.run(main)
    return "\n".join(lines), outcome


def test_a_walk_goes_through_every_edge_and_commits() -> None:
    text, outcome = told()
    assert isinstance(outcome, Committed)
    assert text.count("snapshot  the very same object") == 4
    assert text.endswith("snapshot is the object from before: False")


@pytest.mark.parametrize("phase", EDGES)
def test_cancelled_at_an_edge_nothing_has_happened(phase: Phase) -> None:
    text, outcome = told(cancel_at=phase)
    assert outcome is None
    assert "-> cancelled here" in text
    assert text.endswith("snapshot is the object from before: True")


@pytest.mark.parametrize(
    ("phase", "kind"), [(Phase.SELECTING, "no_progress"), (Phase.SUMMARIZING, "summarizer"), (Phase.VALIDATING, "rejected")]
)
def test_a_failure_in_a_phase_leaves_the_same_object(phase: Phase, kind: str) -> None:
    text, outcome = told(fail=phase)
    assert isinstance(outcome, Failed)
    assert outcome.kind == kind
    assert text.endswith("snapshot is the object from before: True")


def test_every_edge_of_the_table_that_a_first_attempt_meets_has_a_step() -> None:
    edges = {(row.phase, row.signal) for row in TRANSITIONS if row.checked and row.signal.name != "REJECTED_RETRYABLE"}
    assert set(STEPS) == edges
    assert {phase for phase, _signal in STEPS} == set(EDGES)
    assert set(FAILURES) < set(EDGES)


@pytest.mark.parametrize("options", [{"cancel_at": Phase.COMMITTED}, {"fail": Phase.IDLE}])
def test_what_cannot_be_shown_is_refused(options: dict[str, Phase]) -> None:
    with pytest.raises(CompactionError, match="choose one of"):
        told(**options)


def test_a_lesson_can_pause_at_each_step() -> None:
    pauses = 0

    async def pause() -> None:
        nonlocal pauses
        pauses += 1
        await trio.lowlevel.checkpoint()

    told(pause=pause)
    assert pauses == 4


def test_the_naive_cut_splits_a_tool_round_and_the_boundary_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    compare(print)
    shown = capsys.readouterr().out
    assert "ORPHAN_TOOL_RESULT" in shown
    assert "faults: 0" in shown
    messages = tuple(sample().messages)
    assert any(validate_transcript(naive_cut(messages, keep), live=True) for keep in range(1, len(messages)))


def test_it_runs_from_plain_code_as_in_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    run(cancel_at=Phase.VALIDATING)
    assert "cancelled here" in capsys.readouterr().out
