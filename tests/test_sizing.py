"""A policy of one's own: refused when it cannot be asked, and its bugs fail a run, never the session."""

from __future__ import annotations

import attrs
import pytest

from compactor import Budget, BudgetOptions, Committed, CompactionError, ErrorCode, Failed, Phase, UserMessage, open_session
from compactor.testing import scripted


@attrs.define
class Own:
    """Answers like a Budget, until told to raise."""

    broken: bool = False
    attempts: int = 1
    timeout: float = 10.0

    def threshold(self, _context: object) -> int:
        if self.broken:
            msg = "a bug of the policy"
            raise ZeroDivisionError(msg)
        return 400

    def limit(self, _context: object) -> int:
        return 1_000

    def options(self, _context: object) -> BudgetOptions:
        return BudgetOptions(300, 60, 1)


async def test_a_policy_of_ones_own_is_asked_like_a_budget() -> None:
    async with open_session(policy=Own(), summarizer=scripted(), auto=False) as session:
        await session.append(*[UserMessage("x" * 50) for _ in range(10)])
        assert isinstance(await session.compact(), Committed)


async def test_a_policy_that_raises_fails_the_run_and_appends_go_on() -> None:
    policy = Own()
    async with open_session(policy=policy, summarizer=scripted()) as session:
        policy.broken = True
        await session.append(*[UserMessage("x" * 50) for _ in range(10)])
        base = session.snapshot
        outcome = await session.compact()
        assert isinstance(outcome, Failed)
        assert outcome.code is ErrorCode.INTERNAL
        assert isinstance(outcome.error.__cause__, ZeroDivisionError)
        assert session.snapshot is base
        assert session.phase is Phase.IDLE
        policy.broken = False
        assert isinstance(await session.compact(), Committed)


@pytest.mark.parametrize("wrong", [5, "200000", object(), {"max_units": 5}])
async def test_what_is_no_policy_is_refused_before_anything_is_written(wrong: object) -> None:
    with pytest.raises(CompactionError, match="has not their methods") as caught:
        async with open_session(policy=wrong):
            pass
    assert caught.value.code is ErrorCode.INVALID_INPUT


async def test_a_policy_that_never_tries_is_refused() -> None:
    with pytest.raises(CompactionError, match="attempts is not 1 to 10") as caught:
        async with open_session(policy=Own(attempts=0)):
            pass
    assert caught.value.code is ErrorCode.INVALID_BUDGET


async def test_after_an_overflow_the_summary_is_judged_by_the_halved_target() -> None:
    text = "z" * 60
    budget = Budget(100_000, summary_max_units=100, target_units=90_000, retain_recent_messages=1, attempts=1)
    async with open_session(policy=budget, summarizer=scripted(text), auto=False) as session:
        await session.append(*[UserMessage("x" * 50) for _ in range(10)])
        units = session.context.units
        outcome = await session.compact(trigger="overflow")
        assert isinstance(outcome, Committed), outcome
        assert outcome.record.units_after <= units // 2


async def test_a_forced_run_tells_the_summarizer_to_stay_below_what_it_hides() -> None:
    budget = Budget(100_000, retain_recent_messages=1)
    summarizer = scripted("s")
    async with open_session(policy=budget, summarizer=summarizer, auto=False) as session:
        await session.append(*[UserMessage("x" * 20, id=f"m{number}") for number in range(4)])
        outcome = await session.compact(force=True)
        assert isinstance(outcome, Committed)
        hidden = 3 * (4 + 2 + 20)
        assert summarizer.requests[0].max_summary_units == hidden - 1


async def test_what_costs_less_than_any_summary_is_not_hidden() -> None:
    async with open_session(policy=Budget(100_000, retain_recent_messages=1), auto=False) as session:
        await session.append(UserMessage("", id="a"), UserMessage("b", id="b"))
        outcome = await session.compact(force=True)
        assert isinstance(outcome, Failed)
        assert outcome.kind == "nothing_to_cut"
        assert "no more than a summary" in outcome.error.message
