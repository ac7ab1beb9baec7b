"""The shipped kit itself: each check passes what is right and fails what is wrong."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given

from compactor import Budget, Committed, CompactionError, DigestSummarizer, Phase, UserMessage, open_session, validate_transcript
from compactor.testing import Cutter, cancel_at_every_step, check_summarizer, hold, scripted, transcripts

BUDGET = Budget(400, target_units=300, summary_max_units=60, retain_recent_messages=1)


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.SELECTING, Phase.SUMMARIZING, Phase.VALIDATING])
async def test_a_held_run_stands_still_and_nothing_is_published(phase: Phase) -> None:
    async with open_session(policy=BUDGET, summarizer=scripted(), auto=False) as session:
        await session.append(*[UserMessage("x" * 50) for _ in range(10)])
        base, outcomes = session.snapshot, []

        async def run() -> None:
            outcomes.append(await session.compact())

        async with trio.open_nursery() as nursery, hold(session, phase) as held:
            nursery.start_soon(run)
            await held.reached()
            await trio.testing.wait_all_tasks_blocked()
            assert session.phase is phase
            assert session.snapshot is base
            assert not outcomes
            held.release()
        assert isinstance(outcomes[0], Committed)
        assert session.snapshot is outcomes[0].context


async def test_a_held_run_can_be_cancelled_where_it_stands() -> None:
    async with open_session(policy=BUDGET, summarizer=scripted(), auto=False) as session:
        await session.append(*[UserMessage("x" * 50) for _ in range(10)])
        base = session.snapshot
        async with hold(session, Phase.VALIDATING) as held:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(session.compact)
                    await held.reached()
                    scope.cancel()
        assert session.snapshot is base
        assert session.last_outcome is not None
        assert session.last_outcome.kind == "cancelled"
        assert isinstance(await session.compact(), Committed)


@pytest.mark.parametrize("phase", [Phase.COMMITTED, Phase.FAILED])
async def test_a_run_is_not_held_where_it_must_not_be_torn(phase: Phase) -> None:
    async with open_session() as session:
        with pytest.raises(CompactionError, match="cannot be held"):
            async with hold(session, phase):
                pass


def test_a_scenario_that_never_arms_its_cutter_proves_nothing_and_says_so() -> None:
    async def lazy(_cutter: Cutter) -> None:
        await trio.lowlevel.checkpoint()

    with pytest.raises(AssertionError, match="never armed"):
        cancel_at_every_step(lazy)


def test_a_scenario_that_never_ends_is_reported() -> None:
    async def busy(cutter: Cutter) -> None:
        cutter.arm()
        for _ in range(10):
            await trio.lowlevel.checkpoint()

    with pytest.raises(AssertionError, match="still cut after 3 steps"):
        cancel_at_every_step(busy, limit=3)


def test_a_broken_invariant_is_raised() -> None:
    async def scenario(cutter: Cutter) -> None:
        def never() -> None:
            raise AssertionError("seen")

        cutter.invariant = never
        cutter.arm()
        await trio.lowlevel.checkpoint()

    with pytest.raises(AssertionError, match="seen"):
        cancel_at_every_step(scenario)


def test_the_digest_passes_check_summarizer() -> None:
    async def call(request: object) -> object:
        await trio.lowlevel.checkpoint()
        return DigestSummarizer()(request)

    check_summarizer(call)


@pytest.mark.parametrize(("answer", "message"), [(5, "not text"), (" ", "blank"), ("x" * 5_000, "are allowed")])
def test_check_summarizer_fails_what_is_wrong(answer: object, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_summarizer(scripted(answer))


async def test_scripted_gives_its_answers_in_turn_and_raises_exceptions() -> None:
    summarizer = scripted("one", ValueError("two"))
    assert await summarizer("a request") == "one"
    with pytest.raises(ValueError, match="two"):
        await summarizer("a request")
    with pytest.raises(ValueError, match="two"):
        await summarizer("another")
    assert len(summarizer.requests) == 3


@given(transcripts())
def test_generated_transcripts_are_valid(messages: list[object]) -> None:
    assert validate_transcript(messages) == ()


@given(transcripts(live=True))
def test_generated_live_transcripts_are_valid_in_live_mode(messages: list[object]) -> None:
    assert validate_transcript(messages, live=True) == ()
