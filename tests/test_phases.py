"""The table is whole: the grid of phases and signals, what is reachable, and a walk to every row."""

from __future__ import annotations

import ast
from collections import deque
from itertools import product
from pathlib import Path

import pytest

import compactor
from compactor.errors import CompactionError, ErrorCode
from compactor.phases import TRANSITIONS, Effect, Phase, Signal, Transition, step

PACKAGE = Path(compactor.__file__).parent
GRID = [*product(Phase, Signal)]


@pytest.mark.parametrize(("phase", "signal"), GRID, ids=lambda member: member.name)
def test_a_pair_either_has_a_row_or_is_refused_by_name(phase: Phase, signal: Signal) -> None:
    rows = [row for row in TRANSITIONS if (row.phase, row.signal) == (phase, signal)]
    if rows:
        assert [step(phase, signal)] == rows
        return
    accepted = sorted(row.signal.name for row in TRANSITIONS if row.phase is phase)
    words = f"^signal {signal.name} is not accepted in phase {phase.name}; accepted there: {', '.join(accepted)} "
    with pytest.raises(CompactionError, match=words) as caught:
        step(phase, signal)
    assert caught.value.code is ErrorCode.PHASE_REFUSED
    assert caught.value.fix


def test_the_grid_is_the_whole_grid() -> None:
    assert len(GRID) == len(Phase) * len(Signal)
    assert len({(row.phase, row.signal) for row in TRANSITIONS}) == len(TRANSITIONS)


def walks(start: Phase) -> dict[Phase, list[Transition]]:
    """The shortest walk from *start* to every phase that can be reached."""
    found: dict[Phase, list[Transition]] = {start: []}
    queue = deque([start])
    while queue:
        phase = queue.popleft()
        for row in TRANSITIONS:
            if row.phase is phase and row.target not in found:
                found[row.target] = [*found[phase], row]
                queue.append(row.target)
    return found


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_is_reachable_and_idle_is_reachable_from_it(phase: Phase) -> None:
    assert phase in walks(Phase.IDLE)
    assert Phase.IDLE in walks(phase)


@pytest.mark.parametrize("row", TRANSITIONS, ids=lambda row: f"{row.phase.name}-{row.signal.name}")
def test_every_row_is_taken_on_a_shortest_walk(row: Transition) -> None:
    phase = Phase.IDLE
    for taken in [*walks(Phase.IDLE)[row.phase], row]:
        assert taken.phase is phase
        phase = step(phase, taken.signal).target
    assert phase is row.target
    assert Phase.IDLE in walks(phase)


def test_every_signal_and_every_effect_is_used() -> None:
    assert {row.signal for row in TRANSITIONS} == set(Signal)
    assert {effect for row in TRANSITIONS for effect in row.effects} == set(Effect)


def test_every_row_says_why_in_words_of_its_own_kind() -> None:
    for row in TRANSITIONS:
        assert row.why.strip() == row.why
        assert len(row.why) > 8


def test_only_edges_are_checked() -> None:
    checked = [(row.phase, row.signal) for row in TRANSITIONS if row.checked]
    assert checked == [
        (Phase.IDLE, Signal.REQUESTED),
        (Phase.SELECTING, Signal.CUT_CHOSEN),
        (Phase.SUMMARIZING, Signal.SUMMARIZED),
        (Phase.VALIDATING, Signal.REJECTED_RETRYABLE),
        (Phase.VALIDATING, Signal.ACCEPTED),
    ]
    # A checked row turns into CANCELLED: its phase must have that row, and it must not be checked in turn.
    for phase, _signal in checked:
        assert not step(phase, Signal.CANCELLED).checked


def test_publication_follows_the_commit_and_nothing_else() -> None:
    rows = [row for row in TRANSITIONS if Effect.PUBLISH in row.effects]
    assert [(row.phase, row.signal, row.target) for row in rows] == [
        (Phase.VALIDATING, Signal.COMMITTED_DURABLY, Phase.COMMITTED)
    ]
    assert {row.target for row in TRANSITIONS if row.phase is Phase.VALIDATING and Effect.COMMIT in row.effects} == {
        Phase.VALIDATING
    }


def test_every_way_into_failed_replies_and_a_marker_is_closed_exactly_where_one_exists() -> None:
    for row in TRANSITIONS:
        if row.target is not Phase.FAILED:
            continue
        assert row.effects[-1] is Effect.REPLY
        marked = row.phase in {Phase.SUMMARIZING, Phase.VALIDATING} and row.signal is not Signal.LEDGER_UNREADABLE
        assert (Effect.CLOSE_MARKER in row.effects) is marked


def test_a_refused_signal_changes_nothing() -> None:
    before = tuple(TRANSITIONS)
    for phase, signal in GRID:
        try:
            step(phase, signal)
        except CompactionError:
            assert before == TRANSITIONS


def test_step_has_one_caller() -> None:
    callers = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and any(name.name == "step" for name in node.names):
                callers.add(path.relative_to(PACKAGE).as_posix())
    assert callers - {"__init__.py"} == {"machine.py"}


def test_the_table_knows_nothing_else() -> None:
    tree = ast.parse((PACKAGE / "phases.py").read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported == {"__future__", "enum", "typing", "attrs", "errors"}
