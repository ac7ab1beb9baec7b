"""Cancellation at every step: whole or absent, told the truth, and the next run works."""

from __future__ import annotations

import pytest
import trio
from harness import Seen, append_scenario, caller_scenario, edges_are_met, session_scenario

from compactor import TRANSITIONS, Budget, CompactionError, ErrorCode, Phase, UserMessage, compact_context
from compactor.testing import Cutter, cancel_at_every_step, scripted

BUSY_PHASES = {Phase.IDLE, Phase.SELECTING, Phase.SUMMARIZING, Phase.VALIDATING}


@pytest.mark.parametrize("via", ["cancel", "deadline"])
@pytest.mark.parametrize("make", [caller_scenario, session_scenario])
def test_a_cut_at_any_step_leaves_the_run_whole_or_absent(make, via: str) -> None:
    seen = Seen()
    cuts = cancel_at_every_step(make(seen), via=via)
    assert len(cuts) > 10
    assert seen.phases >= BUSY_PHASES, seen.phases
    assert seen.committed
    assert seen.cancelled


@pytest.mark.parametrize("via", ["cancel", "deadline"])
def test_a_run_that_is_told_to_try_again_can_be_cut_at_any_step(via: str) -> None:
    seen = Seen()
    cancel_at_every_step(caller_scenario(seen, summarizer=lambda: scripted("z" * 500, "short enough")), via=via)
    assert seen.phases >= BUSY_PHASES
    assert seen.committed
    assert seen.cancelled


@pytest.mark.parametrize("via", ["cancel", "deadline"])
def test_appends_and_pins_are_recorded_exactly_when_they_did_not_raise(via: str) -> None:
    seen = Seen()
    cancel_at_every_step(append_scenario(seen), via=via)
    assert seen.committed
    assert seen.cancelled


@pytest.mark.parametrize("where", ["option", "outside"])
@pytest.mark.parametrize("via", ["cancel", "deadline"])
def test_compact_context_raises_or_returns_never_both(where: str, via: str) -> None:
    data = {"messages": [{"id": f"m{index}", "role": "user", "content": "x" * 50} for index in range(10)]}
    budget = {"max_units": 400, "target_units": 300, "summary_max_units": 60, "retain_recent_messages": 1}
    results: set[str] = set()

    async def scenario(cutter: Cutter) -> None:
        options = {**budget, "summary_id": "s", "record_id": "r", "summarizer": scripted()}
        result = error = None
        cutter.arm()
        if where == "option":
            options["signal"] = cutter.scope
            try:
                result = await compact_context(data, options)
            except CompactionError as raised:
                error = raised
            cutter.disarm()
            assert (result is None) != (error is None)
            assert error is None or error.code is ErrorCode.CANCELLED
        else:
            with cutter.scope:
                result = await compact_context(data, options)
                cutter.disarm()
            cutter.disarm()
            assert (result is None) == cutter.scope.cancelled_caught
        results.add("committed" if result else "cancelled")

    cancel_at_every_step(scenario, via=via)
    assert results == {"committed", "cancelled"}


async def test_every_checked_row_is_an_edge_where_a_cancelled_run_stops() -> None:
    met = await edges_are_met()
    assert set(met) == {(row.phase.name, row.signal.name) for row in TRANSITIONS if row.checked}


async def test_two_callers_of_one_run_and_the_cancelled_one_leaves_alone(autojump_clock: object) -> None:
    from compactor import Committed, open_session

    budget = Budget(400, target_units=300, summary_max_units=60, retain_recent_messages=1)

    async def slow(request: object) -> str:
        await trio.sleep(10)
        return "a summary"

    async with open_session(policy=budget, summarizer=slow, auto=False) as session:
        await session.append(*[UserMessage("x" * 50) for _ in range(10)])
        outcomes: list[object] = []

        async def wait(seconds: float) -> None:
            with trio.move_on_after(seconds):
                outcomes.append(await session.compact())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, 1)
            nursery.start_soon(wait, 60)
        assert [type(outcome) for outcome in outcomes] == [Committed]
