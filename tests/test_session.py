"""Sessions: what is published and when, who waits for what, and what a ledger that fails leaves behind."""

from __future__ import annotations

import ast
import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing
from scenes import BUDGET, PATIENT, FaultyLedger, Swap, Waiting, agree, call, conversation, good, result, shown_ids, user

import compactor
from compactor.actor import QUEUE_MAX
from compactor.compaction import compact_context
from compactor.context import build_active_context
from compactor.errors import CompactionError, ErrorCode, FailureKind
from compactor.events import Draft, EventType, Replace, ranges
from compactor.identity import RENAMED
from compactor.messages import AssistantMessage, Text, ToolCall, UserMessage
from compactor.outcomes import Committed, Failed, Missed, Outcome, Unchanged
from compactor.phases import TRANSITIONS, Phase, Signal
from compactor.policy import Budget
from compactor.session import open_session
from compactor.stores import MemoryLedger

blocked = trio.testing.wait_all_tasks_blocked


def opened(ledger: Any = None, *, count: int = 10, **options: Any) -> Any:
    """A session with ten messages, over its budget, that compacts only when it is asked to."""
    given = {"session_id": "s", "context": conversation(count), "policy": BUDGET, "summarizer": good, "auto": False}
    return open_session(ledger, **(given | options))


async def take(outcomes: list[Outcome], asked: Awaitable[Outcome]) -> None:
    outcomes.append(await asked)


def ends(events: Any) -> list[str | None]:
    """With which code each run of a ledger ended."""
    return [event.data["code"] for event in events if event.type is EventType.COMPACTION_ENDED]


# --------------------------------------------------------------------------------------------------- what is published


async def test_the_snapshot_is_the_base_until_it_is_committed() -> None:
    waiting, seen = Waiting(), []
    async with opened(summarizer=waiting) as session, trio.open_nursery() as nursery:
        base = session.snapshot
        nursery.start_soon(session.compact)
        await waiting.called.wait()
        assert session.phase is Phase.SUMMARIZING
        await session.append(user(10))
        assert session.snapshot is base
        assert session.context is not base

        async def gate(phase: Phase, signal: Signal) -> None:
            seen.append((phase, signal, session.snapshot is base))

        session.machine.gate = gate
        waiting.told.set()
        await blocked()
        assert seen == [(Phase.SUMMARIZING, Signal.SUMMARIZED, True), (Phase.VALIDATING, Signal.ACCEPTED, True)]
        assert session.snapshot is session.context is session.last_outcome.context
        assert session.snapshot is not base


async def test_appends_while_the_model_summarizes_stay_after_the_summary_in_order() -> None:
    waiting, ledger = Waiting(), MemoryLedger()
    async with opened(ledger, summarizer=waiting) as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.compact)
        await waiting.called.wait()
        late = [user(number, units=500) for number in range(10, 14)]
        for message in late:
            await session.append(message)
        waiting.told.set()
        await blocked()
        outcome = session.last_outcome
        assert isinstance(outcome, Committed)
        assert [message.id for message in session.context.messages] == ["u8", "u9", "u10", "u11", "u12", "u13"]
        assert list(session.context.messages[2:]) == late
        assert outcome.record.compacted_message_ids == tuple([f"u{number}" for number in range(8)])
        await agree(session, ledger)


async def test_the_summarizer_sees_exactly_what_is_compacted() -> None:
    waiting = Waiting()
    waiting.told.set()
    async with opened(summarizer=waiting) as session:
        await session.pin("keep it", id="r")
        outcome = await session.compact("look at names")
        (request,) = waiting.requests
        assert request.messages.ids == outcome.record.compacted_message_ids
        assert (request.boundary, request.max_summary_units, request.attempt) == (
            9,
            100,
            1,
        )  # the requirement takes the place of one message
        assert [requirement.id for requirement in request.requirements] == ["r"]
        assert (request.previous_summary, request.instructions, request.rejection) == (None, "look at names", None)
        assert session.context.summary.id == request.summary_id == outcome.record.summary_id
        waiting.answer = "a second summary"
        await session.append(*[user(number) for number in range(10, 20)])
        await session.compact()
        assert waiting.requests[1].previous_summary.content == "a good summary"
        assert session.context.summary.content == "a second summary"
        assert len(session.context.compactions) == 2


async def test_a_rejected_summary_is_tried_again_and_told_why() -> None:
    requests: list[Any] = []

    def answer(request: Any) -> str:
        requests.append(request)
        return "x" * 101 if request.attempt < 3 else "short"

    async with opened(summarizer=answer, policy=attrs.evolve(BUDGET, attempts=3)) as session:
        outcome = await session.compact()
        assert isinstance(outcome, Committed)
        assert [request.attempt for request in requests] == [1, 2, 3]
        assert requests[0].rejection is None
        assert "units, 100 are allowed" in requests[1].rejection
        assert "\n" not in requests[2].rejection


async def test_under_the_threshold_the_very_same_context_is_returned() -> None:
    async with opened(count=8) as session:
        context = session.context
        outcome = await session.compact()
        assert type(outcome) is Unchanged
        assert outcome.context is context is session.context is outcome.unwrap()
        assert outcome.record is None


async def test_force_compacts_below_the_threshold_and_below_the_target() -> None:
    async with opened(count=3) as session:
        assert type(await session.compact()) is Unchanged
        outcome = await session.compact(force=True)
        assert isinstance(outcome, Committed)
        assert [message.id for message in session.context.messages] == ["u2"]


async def test_an_overflow_is_never_answered_unchanged() -> None:
    async with opened(count=7) as session:
        assert isinstance(await session.compact(trigger="overflow"), Committed)


async def test_there_are_exactly_four_callers_of_publish() -> None:
    callers = []
    package = Path(compactor.__file__).parent
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "publish":
                callers.append(path.name)
            targets = node.targets if isinstance(node, ast.Assign) else []
            assert not any(getattr(target, "attr", "") == "snapshot" for target in targets) or path.name == "writer.py"
    # The opening and a context taken over, an unpin, and the PUBLISH effect.
    assert callers == ["sessionwork.py", "writer.py", "writer.py", "writer.py"]


# ------------------------------------------------------------------------------------------------- single flight, queue


async def test_a_request_with_equal_options_joins_the_run_in_hand() -> None:
    waiting, outcomes = Waiting(), list[Outcome]()
    async with opened(summarizer=waiting) as session, trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(take, outcomes, session.compact())
        await waiting.called.wait()
        nursery.start_soon(take, outcomes, session.compact())
        await blocked()
        waiting.told.set()
        await blocked()
        assert len(outcomes) == 6
        assert all(outcome is outcomes[0] for outcome in outcomes)
        assert len(waiting.requests) == 1


async def test_a_request_with_other_options_queues() -> None:
    waiting, outcomes = Waiting(), list[Outcome]()
    async with opened(summarizer=waiting) as session, trio.open_nursery() as nursery:
        nursery.start_soon(take, outcomes, session.compact())
        await waiting.called.wait()
        joined = list[Outcome]()
        nursery.start_soon(take, joined, session.compact("other instructions"))
        nursery.start_soon(take, joined, session.compact("other instructions"))
        nursery.start_soon(take, outcomes, session.compact(when_running="queue"))
        await blocked()
        waiting.told.set()
        await blocked()
        assert [type(outcome) for outcome in outcomes] == [Committed, Unchanged]
        assert joined[0] is joined[1]
        assert joined[0] is not outcomes[1]


async def test_a_request_may_refuse_to_wait() -> None:
    waiting = Waiting()
    async with opened(summarizer=waiting) as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.compact)
        await waiting.called.wait()
        outcome = await session.compact(when_running="refuse")
        assert (outcome.code, outcome.kind) == (ErrorCode.BUSY, FailureKind.BUSY)
        with pytest.raises(CompactionError, match="a compaction is in hand"):
            outcome.unwrap()
        waiting.told.set()
        await blocked()
        assert type(await session.compact(when_running="refuse")) is Unchanged


async def test_more_than_sixty_four_requests_are_not_queued() -> None:
    waiting, outcomes = Waiting(), list[Outcome]()
    async with opened(summarizer=waiting) as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.compact)
        await waiting.called.wait()
        for _ in range(QUEUE_MAX):
            nursery.start_soon(take, outcomes, session.compact(when_running="queue"))
        await blocked()
        refused = await session.compact(when_running="queue")
        assert (refused.code, refused.error.message) == (ErrorCode.BUSY, "64 requests wait already")
        waiting.told.set()
        await blocked()
        assert len(outcomes) == 64


async def test_a_cancelled_joiner_leaves_and_the_run_commits_for_the_others() -> None:
    waiting, outcomes, scope = Waiting(), list[Outcome](), trio.CancelScope()
    async with opened(summarizer=waiting) as session, trio.open_nursery() as nursery:

        async def impatient() -> None:
            with scope:
                await session.compact()

        nursery.start_soon(impatient)
        nursery.start_soon(take, outcomes, session.compact())
        await waiting.called.wait()
        scope.cancel()
        await blocked()
        assert scope.cancelled_caught
        assert session.phase is Phase.SUMMARIZING
        waiting.told.set()
        await blocked()
        assert isinstance(outcomes[0], Committed)


async def test_the_last_waiter_who_leaves_cancels_the_run() -> None:
    waiting, ledger = Waiting(), MemoryLedger()
    async with opened(ledger, summarizer=waiting) as session, trio.open_nursery() as nursery:
        snapshot = session.snapshot
        scopes = [trio.CancelScope(), trio.CancelScope()]

        async def impatient(scope: trio.CancelScope) -> None:
            with scope:
                await session.compact()

        for scope in scopes:
            nursery.start_soon(impatient, scope)
        await waiting.called.wait()
        for scope in scopes:
            scope.cancel()
        await blocked()
        assert all(scope.cancelled_caught for scope in scopes)
        assert session.phase is Phase.IDLE
        assert session.snapshot is snapshot
        assert ends(await ledger.read("s")) == ["CONTEXT_CANCELLED"]
        waiting.told.set()
        assert isinstance(await session.compact(), Committed)


async def test_a_cancelled_request_in_the_queue_is_withdrawn_at_once() -> None:
    waiting = Waiting()
    async with opened(summarizer=waiting) as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.compact)
        await waiting.called.wait()
        with trio.CancelScope() as scope:
            scope.cancel()
            await session.compact("other", force=True)
        assert scope.cancelled_caught
        assert session.phase is Phase.SUMMARIZING
        waiting.told.set()
        await blocked()
        assert len(waiting.requests) == 1


async def test_a_withdrawn_request_does_not_stand_in_the_way_of_an_automatic_run() -> None:
    waiting = Waiting()
    async with opened(summarizer=waiting, auto=True, context=None) as session, trio.open_nursery() as nursery:
        await session.append(*[user(number) for number in range(8)])
        nursery.start_soon(lambda: session.compact(force=True))
        await waiting.called.wait()
        with trio.CancelScope() as scope:
            scope.cancel()
            await session.compact("withdrawn")
        # Grows over the threshold while the first run is in hand: nothing but the end of that run can ask for the next.
        await session.append(*[user(number) for number in range(10, 20)])
        waiting.told.set()
        await blocked()
        assert [request.attempt for request in waiting.requests] == [1, 1]
        assert session.context.units <= 800


async def test_refuse_counts_only_those_who_still_wait() -> None:
    async with opened() as session:
        with trio.CancelScope() as scope:
            scope.cancel()
            await session.compact()
        assert scope.cancelled_caught
        assert isinstance(await session.compact(when_running="refuse"), Committed)


async def test_the_run_lasts_as_long_as_its_most_patient_waiter(autojump_clock: trio.testing.MockClock) -> None:
    async def slow(_request: Any) -> str:
        await trio.sleep(20)
        return "late but in time"

    outcomes: list[Outcome] = []
    async with opened(summarizer=slow, policy=PATIENT) as session, trio.open_nursery() as nursery:
        began = trio.current_time()

        async def patient() -> None:
            with trio.move_on_after(30):
                outcomes.append(await session.compact())

        nursery.start_soon(patient)
        with trio.move_on_after(5) as limit:
            await session.compact()
        assert limit.cancelled_caught
        assert trio.current_time() - began == 5
        await trio.sleep(20)
        assert isinstance(outcomes[0], Committed)


async def test_a_deadline_of_the_only_waiter_ends_the_run(autojump_clock: trio.testing.MockClock) -> None:
    async with opened(summarizer=Waiting(), policy=PATIENT) as session:
        with trio.move_on_after(5) as limit:
            await session.compact()
        assert limit.cancelled_caught
        assert session.phase is Phase.IDLE
        assert session.last_outcome.kind is FailureKind.CANCELLED


# --------------------------------------------------------------------------------------------------------- automatic


async def test_an_append_that_crosses_the_threshold_compacts_in_the_background() -> None:
    waiting = Waiting()
    async with opened(context=None, summarizer=waiting, auto=True) as session:
        await session.append(*[user(number) for number in range(8)])
        await blocked()
        assert (session.pressure, session.phase) == (1.0, Phase.IDLE)
        await session.append(user(8))
        await waiting.called.wait()
        await session.append(user(9))
        waiting.told.set()
        await blocked()
        assert isinstance(session.last_outcome, Committed)
        assert session.pressure < 0.5


async def test_an_automatic_run_that_failed_waits_for_growth() -> None:
    calls: list[Any] = []

    def bad(request: Any) -> str:
        calls.append(request)
        raise ValueError("boom")

    async with opened(context=None, summarizer=bad, auto=True) as session:
        await session.append(*[user(number) for number in range(9)])
        await blocked()
        assert len(calls) == 1
        await session.append(user(10, units=39))  # a twentieth of the threshold is 40 units
        await blocked()
        assert len(calls) == 1
        await session.append(user(11, units=8))
        await blocked()
        assert len(calls) == 2


async def test_nobody_has_to_wait_for_an_automatic_run() -> None:
    waiting = Waiting()
    async with opened(context=None, summarizer=waiting, auto=True) as session:
        await session.append(*[user(number) for number in range(9)])
        await waiting.called.wait()
        with trio.CancelScope() as scope:
            scope.cancel()
            await session.compact()
        waiting.told.set()
        await blocked()
        assert isinstance(session.last_outcome, Committed)


# ----------------------------------------------------------------------------------------------- cancelled and committed


async def test_committed_is_returned_when_the_cancellation_came_too_late() -> None:
    ledger = FaultyLedger(plans=[("commit", "slow")])
    returned: list[Outcome] = []
    async with opened(ledger) as session, trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def caller() -> None:
            with scope:
                returned.append(await session.compact())
                await trio.lowlevel.checkpoint()
                raise AssertionError("the cancellation is met at the next checkpoint")

        nursery.start_soon(caller)
        await ledger.reached.wait()
        scope.cancel()
        await blocked()
        assert not returned
        ledger.release_it.set()
        await blocked()
        assert isinstance(returned[0], Committed)
        assert scope.cancelled_caught
        assert session.snapshot is returned[0].context


@pytest.mark.parametrize("via", ["body", "aclose", "cancel"])
async def test_closing_while_the_run_commits_lets_it_commit(via: str) -> None:
    ledger = FaultyLedger(plans=[("commit", "slow")])
    outcomes: list[Outcome] = []
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def live() -> None:
            with scope:
                async with opened(ledger) as session, trio.open_nursery() as inner:
                    inner.start_soon(take, outcomes, session.compact())
                    await ledger.reached.wait()
                    if via == "aclose":
                        await session.aclose()
                    if via == "cancel":
                        await trio.sleep_forever()

        nursery.start_soon(live)
        await ledger.reached.wait()
        await blocked()
        if via == "cancel":
            scope.cancel()
            await blocked()
        ledger.release_it.set()
    assert ends(await ledger.read("s")) == [None]
    assert [type(outcome) for outcome in outcomes] == [Committed]


async def test_closing_ends_the_run_in_hand_and_refuses_those_that_wait() -> None:
    waiting, outcomes, ledger = Waiting(), list[Outcome](), MemoryLedger()
    async with opened(ledger, summarizer=waiting) as session, trio.open_nursery() as nursery:
        nursery.start_soon(take, outcomes, session.compact())
        await waiting.called.wait()
        nursery.start_soon(take, outcomes, session.compact("other"))
        await blocked()
        await session.aclose()
        await session.aclose()
        await blocked()
        assert [(outcome.code, outcome.kind) for outcome in outcomes] == [(ErrorCode.CANCELLED, FailureKind.CANCELLED)] * 2
        for use in (
            session.compact,
            lambda: session.append(user(11)),
            lambda: session.pin("x"),
            lambda: session.unpin("x"),
            lambda: session.close_calls("x"),
        ):
            with pytest.raises(CompactionError, match="the session is closed") as caught:
                await use()
            assert caught.value.code is ErrorCode.SESSION_CLOSED
    assert ends(await ledger.read("s")) == ["CONTEXT_CANCELLED"]


async def test_closing_works_in_a_cancelled_scope() -> None:
    async with opened() as session:
        with trio.CancelScope() as scope:
            scope.cancel()
            await session.aclose()
        assert not scope.cancelled_caught


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), StopAsyncIteration(), GeneratorExit()], ids=repr)
async def test_the_bodys_own_exception_leaves_bare(error: BaseException) -> None:
    ledger = MemoryLedger()
    with pytest.raises(type(error)) as caught:
        async with opened(ledger):
            raise error
    assert caught.value is error
    async with opened(ledger, context=None):
        pass


# ------------------------------------------------------------------------------------------------------ owning, reopening


@pytest.mark.parametrize("share", [False, True])
async def test_a_session_has_one_owner(share: bool) -> None:
    ledger = MemoryLedger()
    other = MemoryLedger(share=ledger) if share else ledger
    async with opened(ledger):
        with pytest.raises(CompactionError, match=r"session 's' is open: process \d+") as caught:
            async with opened(other, context=None):
                raise AssertionError("not reached")
        assert caught.value.code is ErrorCode.BUSY
        async with opened(other, session_id="another"):
            pass
    async with opened(other, context=None):
        pass


async def test_a_reopened_session_goes_on_where_it_was() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await session.pin("a rule", id="r")
        await session.append(call("c", "a1"), result("c", "t1"))
        await session.compact()
        await session.append(call("c", "a2"))
        first = session.context
    async with opened(MemoryLedger(share=ledger), context=None) as session:
        assert session.context == first
        assert session.snapshot is session.context
        assert session.context.units == first.units
        assert session.open_calls == first.open_calls == ("c_2",)
        assert session.context.compactions == first.compactions
        await session.append(result("c", "t2"))
        assert session.open_calls == ()
        assert (await session.append(user(0)))[0].id == "u0"  # hidden, known, the same: nothing happens
        assert session.context.messages[-1].id == "t2"
        await session.append(*[user(number) for number in range(20, 30)])
        assert isinstance(await session.compact(), Committed)
        assert len(session.context.compactions) == 2
        await agree(session, ledger)


async def test_a_session_with_content_takes_no_other_context_over() -> None:
    ledger = MemoryLedger()
    async with opened(ledger):
        pass
    with pytest.raises(CompactionError, match="has content already"):
        async with opened(ledger):
            raise AssertionError("not reached")
    async with opened(ledger, context=None) as session:
        assert len(session.context.messages) == 10


async def test_a_context_with_everything_in_it_is_taken_over() -> None:
    ledger = MemoryLedger()
    before = (await compact_context(conversation(), BUDGET, summarizer=good)).context
    async with opened(ledger, context=before) as session:
        assert session.context == before
    async with opened(ledger, context=None) as session:
        assert session.context == before


async def test_a_session_has_the_wide_limits_whatever_its_context_was_built_with() -> None:
    async with opened() as session:
        await session.append(user(10, units=100_000))
        assert session.context.units == 101_000


async def test_whoever_lost_the_session_writes_nothing_more() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        context = session.context
        await ledger.acquire("s", owner="a newer one", takeover=True)
        before = await ledger.read("s")
        for write in (lambda: session.append(user(10)), lambda: session.pin("x"), lambda: session.close_calls("x", "c")):
            with pytest.raises(CompactionError, match=r"\[CONTEXT_(FENCED|INVALID_INPUT)\]$"):
                await write()
        outcome = await session.compact()
        assert (outcome.code, outcome.kind) == (ErrorCode.FENCED, FailureKind.PERSISTENCE)
        assert session.context is context
        assert await ledger.read("s") == before


async def test_an_owner_that_is_fenced_while_it_summarizes_commits_nothing() -> None:
    ledger, waiting = MemoryLedger(), Waiting()
    async with opened(ledger, summarizer=waiting) as session, trio.open_nursery() as nursery:
        snapshot = session.snapshot
        nursery.start_soon(session.compact)
        await waiting.called.wait()
        await ledger.acquire("s", owner="a newer one", takeover=True)
        waiting.told.set()
        await blocked()
        assert session.last_outcome.code is ErrorCode.FENCED
        assert session.last_outcome.notes == ("the end marker could not be written: CompactionError",)
        assert session.snapshot is snapshot
        assert ends(await ledger.read("s")) == []


# ------------------------------------------------------------------------------------------------------------ open calls


async def test_nothing_at_or_behind_the_first_open_call_is_compacted() -> None:
    async with opened() as session:
        await session.append(call("c", "a1"), *[user(number) for number in range(10, 20)])
        outcome = await session.compact()
        assert (outcome.code, outcome.kind) == (ErrorCode.NO_PROGRESS, FailureKind.NO_PROGRESS)
        outcome = await session.compact(force=True)
        assert type(outcome) is Failed
        await session.append(result("c", "t1"), user(20))
        assert isinstance(await session.compact(), Committed)


async def test_the_prefix_before_an_open_call_is_compacted_and_its_result_attaches_later() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await session.append(call("c", "a1"), user(10))
        outcome = await session.compact()
        assert isinstance(outcome, Committed)
        assert "a1" not in outcome.record.compacted_message_ids
        assert session.open_calls == ("c",)
        await session.append(result("c", "t1"))
        assert session.open_calls == ()
        await agree(session, ledger)


async def test_only_open_calls_left_is_named() -> None:
    async with opened(context=None) as session:
        await session.append(call("c", "a1"), *[user(number) for number in range(10)])
        outcome = await session.compact()
        assert outcome.kind is FailureKind.NOTHING_TO_CUT
        assert "nothing can be cut: 11 messages, the last 1 stay, 1 tool calls wait" in outcome.error.message
        assert "close_calls" in outcome.error.fix


async def test_no_progress_names_the_numbers() -> None:
    async with opened(context=None) as session:
        await session.append(*[user(number) for number in range(8)], user(8, units=250))
        outcome = await session.compact()
        assert outcome.error.message == "requirements 0 + summary 100 + smallest tail 250 exceed the target 300"
        assert outcome.code is ErrorCode.NO_PROGRESS


async def test_dead_calls_are_closed_with_results_that_are_marked() -> None:
    async with opened(context=None) as session:
        await session.append(call("c", "a1"), call("d", "a2"), call("e", "a3"))
        with trio.CancelScope() as scope:
            scope.cancel()
            (closed,) = await session.close_calls("it crashed", "d")
        assert not scope.cancelled_caught
        assert (closed.tool_call_id, closed.is_error, closed.meta["synthetic"]) == ("d", True, True)
        assert session.open_calls == ("c", "e")
        with pytest.raises(CompactionError, match="'d' is not an open call"):
            await session.close_calls("again", "d")
        assert len(await session.close_calls("all of them")) == 2
        assert await session.close_calls("none") == ()
        assert session.open_calls == ()
        with pytest.raises(CompactionError, match="DUPLICATE_TOOL_RESULT"):
            await session.append(result("c", "late"))


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        ([result("nobody", "t")], "ORPHAN_TOOL_RESULT"),
        ([call("c", "a"), result("c", "t"), result("c", "t2")], "DUPLICATE_TOOL_RESULT"),
        ([call("c", "a"), attrs.evolve(user(1), content="x"), {"role": "toolResult", "toolCallId": "c", "toolName": "other",
           "content": "", "isError": False}], "TOOL_NAME_MISMATCH"),
    ],
    ids=["orphan", "twice", "other name"],
)  # fmt: skip
async def test_a_result_that_fits_no_waiting_call_is_refused_with_its_whole_batch(messages: list[Any], rule: str) -> None:
    async with opened(context=None) as session:
        with pytest.raises(CompactionError, match=rule) as caught:
            await session.append(*messages)
        assert caught.value.code is ErrorCode.INVALID_TRANSCRIPT
        assert not session.context.messages
        assert not session.lease.surface.order


# ------------------------------------------------------------------------------------------------------------------- ids


async def test_a_retried_append_is_recorded_once() -> None:
    async with opened(context=None) as session:
        await session.append(UserMessage("hello", id="m"))
        context, seq = session.context, session.lease.surface.next_seq
        assert (await session.append({"id": "m", "role": "user", "content": "hello"}))[0] == context.messages[0]
        assert session.context is context
        assert session.lease.surface.next_seq == seq
        with pytest.raises(CompactionError, match="message id 'm' was appended before, with other content"):
            await session.append(UserMessage("other", id="m"))
        assert session.context is context


async def test_the_same_id_twice_in_one_batch_is_a_retry_or_an_error_too() -> None:
    async with opened(context=None) as session:
        kept = await session.append(UserMessage("hello", id="m"), UserMessage("hello", id="m"))
        assert len(kept) == 2
        assert len(session.context.messages) == 1
        with pytest.raises(CompactionError, match="with other content"):
            await session.append(UserMessage("one", id="n"), UserMessage("two", id="n"))
        assert len(session.context.messages) == 1


async def test_ids_are_made_where_they_are_missing() -> None:
    async with opened(context=None) as session:
        kept = await session.append(UserMessage("a"), {"role": "user", "content": "b"})
        assert len({message.id for message in kept}) == 2
        assert [message.id for message in session.context.messages] == [message.id for message in kept]


async def test_a_call_id_that_comes_again_is_renamed_and_its_result_follows() -> None:
    async with opened(context=None) as session:
        await session.append(call("c", "a1"), result("c", "t1"))
        second, answer = (await session.append(call("c", "a2"))) + (await session.append(result("c", "t2")))
        assert second.tool_calls[0].id == answer.tool_call_id == "c_2"
        assert second.meta[RENAMED] == answer.meta[RENAMED] == {"c_2": "c"}
        assert session.open_calls == ()
        # A retry comes with the original ids and is recognised.
        context = session.context
        assert await session.append(call("c", "a2"), result("c", "t2")) == (second, answer)
        assert session.context is context


async def test_a_call_id_may_come_again_in_the_same_batch() -> None:
    async with opened(context=None) as session:
        kept = await session.append(call("c", "a1"), result("c", "t1"), call("c", "a2"), result("c", "t2"))
        assert kept[2].tool_calls[0].id == kept[3].tool_call_id == "c_2"
        assert session.open_calls == ()


async def test_a_renamed_call_among_others_keeps_its_neighbours() -> None:
    async with opened(context=None) as session:
        await session.append(call("c", "a1"), result("c", "t1"))
        (message,) = await session.append(
            AssistantMessage([Text("both"), ToolCall("c", name="tool"), ToolCall("d", name="tool")], id="a2")
        )
        assert [block.id for block in message.tool_calls] == ["c_2", "d"]
        assert message.meta[RENAMED] == {"c_2": "c"}
        (message,) = await session.append(AssistantMessage([ToolCall("c", name="tool"), ToolCall("c_3", name="tool")], id="a3"))
        assert [block.id for block in message.tool_calls] == ["c_4", "c_3"]


async def test_what_was_not_recorded_is_not_known() -> None:
    async with opened(context=None) as session:
        await session.append(call("c", "a1"), result("c", "t1"))
        for _ in range(2):
            with pytest.raises(CompactionError, match="ORPHAN_TOOL_RESULT"):
                await session.append(call("c", "a2"), result("nobody", "t2"))
            with trio.CancelScope() as scope:
                scope.cancel()
                await session.append(call("c", "a2"))
            assert scope.cancelled_caught
        (message,) = await session.append(call("c", "a2"))
        assert message.tool_calls[0].id == "c_2"
        assert (await session.append(result("c", "t2")))[0].tool_call_id == "c_2"


@pytest.mark.parametrize("value", [None, 5, "text", [], object(), {1: 2}], ids=repr)
async def test_what_is_no_message_is_refused(value: Any) -> None:
    async with opened(context=None) as session:
        with pytest.raises(CompactionError, match=r"\[CONTEXT_INVALID_(INPUT|TRANSCRIPT)\]$"):
            await session.append(user(1), value)
        assert not session.context.messages


# ------------------------------------------------------------------------------------------------------------------ pins


async def test_a_pin_during_a_run_is_published_with_it() -> None:
    waiting, ledger = Waiting(), MemoryLedger()
    async with opened(ledger, summarizer=waiting) as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.compact)
        await waiting.called.wait()
        await session.pin("never forget", id="r")
        with pytest.raises(CompactionError, match="a compaction is in hand") as caught:
            await session.unpin("r")
        assert caught.value.code is ErrorCode.BUSY
        waiting.told.set()
        await blocked()
        assert isinstance(session.last_outcome, Committed)
        assert [requirement.id for requirement in session.snapshot.requirements] == ["r"]
    async with opened(ledger, context=None) as session:
        assert [requirement.content for requirement in session.context.requirements] == ["never forget"]


async def test_a_pin_during_a_run_is_judged() -> None:
    waiting = Waiting()
    async with opened(summarizer=waiting) as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.compact)
        await waiting.called.wait()
        await session.pin("x" * 200, id="r")
        waiting.told.set()
        await blocked()
        outcome = session.last_outcome
        assert (outcome.code, outcome.kind) == (ErrorCode.SUMMARY_INSUFFICIENT, FailureKind.REJECTED)
        assert session.phase is Phase.IDLE


async def test_a_pin_between_the_verdict_and_the_commit_is_judged_as_well() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:

        async def gate(phase: Phase, signal: Signal) -> None:
            if signal is Signal.ACCEPTED:
                await session.pin("x" * 200, id="r")

        session.machine.gate = gate
        snapshot = session.snapshot
        outcome = await session.compact()
        assert (outcome.code, outcome.kind) == (ErrorCode.SUMMARY_INSUFFICIENT, FailureKind.REJECTED)
        assert session.snapshot is snapshot
        assert ends(await ledger.read("s")) == ["CONTEXT_SUMMARY_INSUFFICIENT"]


async def test_an_append_between_the_verdict_and_the_commit_is_kept() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:

        async def gate(phase: Phase, signal: Signal) -> None:
            if signal is Signal.ACCEPTED:
                await session.append(user(10, units=5_000))

        session.machine.gate = gate
        assert isinstance(await session.compact(), Committed)
        assert session.context.messages[-1].id == "u10"
        await agree(session, ledger)


async def test_unpinning_begins_a_new_base() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await session.pin("x", id="r")
        before = session.snapshot
        await session.unpin("r")
        assert session.snapshot is session.context is not before
        assert not session.context.requirements
        with pytest.raises(CompactionError, match="'r' is not pinned"):
            await session.unpin("r")
    async with opened(ledger, context=None) as session:
        assert not session.context.requirements


@pytest.mark.parametrize(("text", "name"), [("", "r"), (" ", "r"), (5, "r"), ("x", " "), ("x", 5)], ids=repr)
async def test_a_pin_is_checked(text: Any, name: Any) -> None:
    async with opened() as session:
        with pytest.raises(CompactionError, match=r"\[CONTEXT_INVALID_INPUT\]$"):
            await session.pin(text, id=name)
        await session.pin("fine", id="r")
        with pytest.raises(CompactionError, match=r"\[CONTEXT_INVALID_INPUT\]$"):
            await session.pin("again", id="r")


# ----------------------------------------------------------------------------------------------- every row, really taken


@attrs.define
class Scene:
    """A session in which one row of the table is going to be taken."""

    session: Any
    ledger: FaultyLedger
    swap: Swap


async def replace_the_span(scene: Scene) -> None:
    """What somebody else's edit of the surface would do: the span moves under the run."""
    order = scene.session.lease.surface.order
    draft = Draft(
        EventType.SUMMARY_PLACED,
        {"id": "x", "content": "edited", "hidden": ranges(order[:2])},
        Replace(order[0], order[1]),
        tuple(order[:2]),
    )
    await scene.ledger.append(scene.session.lease, [draft])


async def at(scene: Scene, signal: Signal, act: Callable[[], Awaitable[None]]) -> None:
    """Do something just before a checked row is taken."""

    async def gate(_phase: Phase, arrived: Signal) -> None:
        if arrived is signal:
            await act()

    scene.session.machine.gate = gate


async def cancelled_at(scene: Scene, signal: Signal) -> None:
    with trio.CancelScope() as scope:

        async def cancel() -> None:
            scope.cancel()
            await trio.lowlevel.checkpoint()

        await at(scene, signal, cancel)
        await scene.session.compact()
    assert scope.cancelled_caught


class Sized:
    """A sizing of the application's own that is broken somewhere."""

    def __init__(self, **broken: Any) -> None:
        self.broken = broken
        self.asked = 0

    attempts = property(lambda self: self.broken.get("attempts", 1))
    timeout = property(lambda self: self.broken.get("timeout", 10))

    def threshold(self, _context: Any) -> int:
        return 800

    def limit(self, _context: Any) -> int:
        return 1_000

    def options(self, context: Any) -> Any:
        self.asked += 1
        if self.asked == self.broken.get("fails_at"):
            raise ZeroDivisionError
        return BUDGET.options(context)


async def plain_run(scene: Scene) -> None:
    await scene.session.compact()


async def enough(scene: Scene) -> None:
    await scene.session.compact()
    await scene.session.compact()


async def open_call_first(scene: Scene) -> None:
    await scene.session.append(*[user(number) for number in range(10)])
    await scene.session.compact()


async def unreadable_surface(scene: Scene) -> None:
    async def broken() -> None:
        scene.ledger.lease.broken = True

    await at(scene, Signal.REQUESTED, broken)
    await scene.session.compact()
    scene.ledger.lease.broken = False


async def orphan(scene: Scene) -> None:
    scene.ledger.plans.append(("close", "before"))
    scene.swap.now = lambda _request: None
    await scene.session.compact()
    scene.swap.now = good
    await scene.session.compact()


async def test_a_marker_that_stayed_is_named_with_its_age_and_the_way_out() -> None:
    ledger, swap = FaultyLedger(), Swap(lambda _request: None)
    async with opened(ledger, summarizer=swap) as session:
        ledger.plans.append(("close", "before"))
        lost = await session.compact()
        swap.now = good
        outcome = await session.compact()
        assert (outcome.code, outcome.kind) == (ErrorCode.BUSY, FailureKind.BUSY)
        assert f"run {lost.run_id} of this life left its start marker 0 s ago" in str(outcome.error)
        assert "close the session and open it again" in outcome.error.fix
    async with opened(ledger, context=None, summarizer=good) as session:
        assert isinstance(await session.compact(), Committed), "an earlier life's marker is a trace"


async def blind(scene: Scene) -> None:
    scene.ledger.unreadable = True
    await scene.session.compact()
    scene.ledger.unreadable = False


async def edited(scene: Scene) -> None:
    async def edit() -> None:
        await replace_the_span(scene)

    await at(scene, Signal.SUMMARIZED, edit)
    await scene.session.compact()


def cancelling(signal: Signal) -> Callable[[Scene], Awaitable[None]]:
    async def act(scene: Scene) -> None:
        await cancelled_at(scene, signal)

    return act


async def second_attempt(scene: Scene) -> None:
    scene.swap.now = lambda request: "" if request.attempt == 1 else "better"
    await scene.session.compact()


async def rejected(scene: Scene) -> None:
    scene.swap.now = lambda _request: ""
    await scene.session.compact()


async def raising(scene: Scene) -> None:
    scene.swap.now = lambda _request: 1 / 0
    await scene.session.compact()


P, S = Phase, Signal
SCENES: dict[tuple[Phase, Signal], tuple[Callable[[Scene], Awaitable[None]], dict[str, Any]]] = {
    (P.IDLE, S.UNDER_THRESHOLD): (enough, {}),
    (P.IDLE, S.SETTLED): (enough, {}),
    (P.IDLE, S.CANCELLED): (cancelling(S.REQUESTED), {}),
    (P.IDLE, S.REQUESTED): (plain_run, {}),
    (P.SELECTING, S.CUT_CHOSEN): (plain_run, {}),
    (P.SELECTING, S.LOCKED): (plain_run, {}),
    (P.SELECTING, S.NOTHING_TO_CUT): (
        open_call_first,
        {"context": {"messages": [{"id": "a", "role": "assistant", "content": [
            {"type": "toolCall", "id": "c", "name": "tool", "arguments": {}}]}]}},
    ),
    (P.SELECTING, S.NO_PROGRESS): (plain_run, {"policy": attrs.evolve(BUDGET, target_units=150, retain_recent_messages=1)}),
    (P.SELECTING, S.BUSY): (orphan, {}),
    (P.SELECTING, S.LOCK_FAILED): (plain_run, {"plans": [("start", "refused")]}),
    (P.SELECTING, S.LOCK_UNKNOWN): (plain_run, {"plans": [("start", "after")]}),
    (P.SELECTING, S.LEDGER_UNREADABLE): (blind, {"plans": [("start", "after")]}),
    (P.SELECTING, S.EFFECT_FAILED): (unreadable_surface, {}),
    (P.SELECTING, S.CANCELLED): (cancelling(S.CUT_CHOSEN), {}),
    (P.SUMMARIZING, S.SUMMARIZED): (plain_run, {}),
    (P.SUMMARIZING, S.SUMMARIZER_FAILED): (raising, {}),
    (P.SUMMARIZING, S.EFFECT_FAILED): (plain_run, {"policy": Sized(timeout=-1)}),
    (P.SUMMARIZING, S.CANCELLED): (cancelling(S.SUMMARIZED), {}),
    (P.VALIDATING, S.REJECTED_RETRYABLE): (second_attempt, {"policy": attrs.evolve(BUDGET, attempts=2)}),
    (P.VALIDATING, S.ACCEPTED): (plain_run, {}),
    (P.VALIDATING, S.COMMITTED_DURABLY): (plain_run, {}),
    (P.VALIDATING, S.COMMIT_UNKNOWN): (plain_run, {"plans": [("commit", "after")]}),
    (P.VALIDATING, S.COMMIT_FAILED): (plain_run, {"plans": [("commit", "refused")]}),
    (P.VALIDATING, S.LEDGER_UNREADABLE): (blind, {"plans": [("commit", "before")]}),
    (P.VALIDATING, S.REJECTED): (rejected, {}),
    (P.VALIDATING, S.CONFLICT): (edited, {}),
    (P.VALIDATING, S.EFFECT_FAILED): (plain_run, {"policy": Sized(fails_at=2)}),
    (P.VALIDATING, S.CANCELLED): (cancelling(S.ACCEPTED), {}),
    (P.COMMITTED, S.SETTLED): (plain_run, {}),
    (P.FAILED, S.SETTLED): (rejected, {}),
}  # fmt: skip


def test_there_is_a_scene_for_every_row_and_for_nothing_else() -> None:
    assert list(SCENES) == [(row.phase, row.signal) for row in TRANSITIONS]


@pytest.mark.parametrize("pair", SCENES, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
async def test_the_actor_takes_every_row(pair: tuple[Phase, Signal]) -> None:
    act, given = SCENES[pair]
    options = dict(given)
    ledger, swap = FaultyLedger(plans=list(options.pop("plans", []))), Swap(good)
    if isinstance(options.get("policy"), Sized):
        options["policy"] = Sized(**options["policy"].broken)
    async with opened(ledger, summarizer=swap, **options) as session:
        base, context = session.snapshot, session.context
        with session.transitions() as stream:
            await act(Scene(session, ledger, swap))
            await blocked()
            taken = []
            with contextlib.suppress(trio.WouldBlock):
                while True:
                    taken.append(stream.receive_nowait())
        assert not ledger.plans, "the fault did not fire"
        assert pair in [(record.phase, record.signal) for record in taken]
        rows = {(row.phase, row.signal, row.target) for row in TRANSITIONS}
        assert {(record.phase, record.signal, record.target) for record in taken} <= rows
        # The records are one walk: each begins where the one before ended, and the last one ends in IDLE.
        assert [record.phase for record in taken] == [P.IDLE, *[record.target for record in taken[:-1]]]
        assert session.phase is taken[-1].target is P.IDLE
        outcome = session.last_outcome
        if not any(record.target is P.COMMITTED for record in taken):
            assert session.snapshot is base
        if type(outcome) is Failed:
            assert outcome.kind is outcome.error.kind
            assert "TOP-SECRET" not in str(outcome.error) + repr(outcome)
            assert session.context is not None
        assert context.units == base.units
        # The next run works, unless the ledger says that it may not.
        if outcome is not None and pair[1] not in {
            S.LEDGER_UNREADABLE,
            S.BUSY,
            S.EFFECT_FAILED,
            S.NOTHING_TO_CUT,
            S.CONFLICT,
            S.NO_PROGRESS,
        }:
            session.machine.gate, swap.now = None, good
            assert isinstance(await session.compact(force=True), Committed)
            await agree(session, ledger)


# --------------------------------------------------------------------------------------------------- a ledger that fails


@pytest.mark.parametrize(
    ("plan", "committed", "code"),
    [
        (("start", "before"), False, ErrorCode.PERSISTENCE_FAILED),
        (("start", "after"), True, None),
        (("start", "refused"), False, ErrorCode.PERSISTENCE_FAILED),
        (("commit", "before"), False, ErrorCode.PERSISTENCE_FAILED),
        (("commit", "after"), True, None),
        (("commit", "refused"), False, ErrorCode.PERSISTENCE_FAILED),
    ],
    ids=str,
)
async def test_the_ledger_decides_what_became_of_a_write(plan: tuple[str, str], committed: bool, code: ErrorCode | None) -> None:
    ledger = FaultyLedger(plans=[plan])
    async with opened(ledger) as session:
        snapshot = session.snapshot
        outcome = await session.compact()
        assert ledger.fired == [plan]
        assert isinstance(outcome, Committed) is committed
        if not committed:
            assert (outcome.code, outcome.kind) == (code, FailureKind.PERSISTENCE)
            assert session.snapshot is snapshot
            assert isinstance(await session.compact(), Committed)
        await agree(session, ledger)
        final = session.context
    async with opened(ledger, context=None) as session:
        assert session.context == final


@pytest.mark.parametrize("plan", [("start", "before"), ("start", "after"), ("commit", "before"), ("commit", "after")], ids=str)
async def test_when_nobody_can_know_the_session_refuses_to_write_until_it_is_reopened(plan: tuple[str, str]) -> None:
    ledger = FaultyLedger(plans=[plan])
    async with opened(ledger) as session:
        snapshot = session.snapshot
        ledger.unreadable = True
        outcome = await session.compact()
        assert (outcome.code, outcome.kind) == (ErrorCode.COMMIT_UNKNOWN, FailureKind.UNKNOWN)
        assert session.snapshot is snapshot
        ledger.unreadable = False
        for use in (lambda: session.append(user(10)), lambda: session.pin("x"), session.compact):
            with pytest.raises(CompactionError, match=r"nobody can tell whether run c-\w+ was recorded") as caught:
                await use()
            assert caught.value.code is ErrorCode.COMMIT_UNKNOWN
    async with opened(ledger, context=None) as session:
        assert (session.context.summary is not None) is (plan == ("commit", "after"))
        await session.append(user(11))
        assert isinstance(await session.compact(force=True), Committed)
        await agree(session, ledger)


async def test_what_is_appended_while_a_lost_commit_is_looked_up_is_kept() -> None:
    ledger = FaultyLedger(plans=[("commit", "after")], slow_reads=False)
    async with opened(ledger) as session, trio.open_nursery() as nursery:
        ledger.slow_reads = True
        nursery.start_soon(session.compact)
        await ledger.reached.wait()
        nursery.start_soon(session.append, user(10))
        await blocked()
        ledger.slow_reads = False
        ledger.release_it.set()
        await blocked()
        assert isinstance(session.last_outcome, Committed)
        assert session.context.messages[-1].id == "u10"
        await agree(session, ledger)


async def test_what_waits_to_be_appended_when_the_ledger_is_lost_is_refused() -> None:
    ledger = FaultyLedger(plans=[("commit", "slow-after")])
    refused: list[CompactionError] = []
    async with opened(ledger) as session, trio.open_nursery() as nursery:
        nursery.start_soon(session.compact)
        await ledger.reached.wait()

        async def append() -> None:
            try:
                await session.append(user(10))
            except CompactionError as error:
                refused.append(error)

        nursery.start_soon(append)
        await blocked()
        ledger.unreadable = True
        ledger.release_it.set()
        await blocked()
        ledger.unreadable = False
        assert [error.code for error in refused] == [ErrorCode.COMMIT_UNKNOWN]
        assert b"u10" not in b"".join([event.body for event in await ledger.read("s")])


@pytest.mark.parametrize("how", ["before", "after"])
async def test_an_append_whose_answer_is_lost_is_looked_up(how: str) -> None:
    ledger = FaultyLedger()
    async with opened(ledger, count=3) as session:
        ledger.plans.append(("content", how))
        if how == "before":
            with pytest.raises(CompactionError, match="the ledger raised OSError") as caught:
                await session.append(user(10))
            assert caught.value.code is ErrorCode.PERSISTENCE_FAILED
        else:
            assert (await session.append(user(10)))[0].id == "u10"
        await agree(session, ledger)
        await session.append(user(10), user(11))
        assert shown_ids(session.context) == ["u0", "u1", "u2", "u10", "u11"]
        await agree(session, ledger)
        assert isinstance(await session.compact(force=True), Committed)
        await agree(session, ledger)


async def test_an_append_that_nobody_can_know_of_ends_all_writing() -> None:
    ledger = FaultyLedger()
    async with opened(ledger, count=3) as session:
        context = session.context
        ledger.plans.append(("content", "after"))
        ledger.unreadable = True
        with pytest.raises(CompactionError, match="cannot be read") as caught:
            await session.append(user(10))
        ledger.unreadable = False
        assert caught.value.code is ErrorCode.COMMIT_UNKNOWN
        assert session.context is context
        with pytest.raises(CompactionError, match=r"\[CONTEXT_COMMIT_UNKNOWN\]$"):
            await session.append(user(11))
    async with opened(ledger, context=None) as session:
        assert shown_ids(session.context) == ["u0", "u1", "u2", "u10"]


async def test_an_end_marker_that_cannot_be_written_blocks_this_life_loudly() -> None:
    ledger, swap = FaultyLedger(plans=[("close", "before")]), Swap(lambda _request: 1 / 0)
    async with opened(ledger, summarizer=swap) as session:
        first = await session.compact()
        assert first.kind is FailureKind.SUMMARIZER
        assert first.notes == ("the end marker could not be written: OSError",)
        swap.now = good
        second = await session.compact()
        assert (second.code, second.kind) == (ErrorCode.BUSY, FailureKind.BUSY)
        assert first.run_id in second.error.message
        await session.append(user(10))
    async with opened(ledger, context=None, summarizer=good) as session:
        assert isinstance(await session.compact(), Committed)


async def test_a_corrupt_ledger_is_refused_bare_and_released() -> None:
    ledger = MemoryLedger()
    async with opened(ledger):
        pass
    kept = ledger._shelves["s"].events
    kept[2] = attrs.evolve(kept[2], seq=7)
    for _ in range(2):
        with pytest.raises(CompactionError, match="event") as caught:
            async with opened(ledger, context=None):
                raise AssertionError("not reached")
        assert caught.value.code is ErrorCode.LEDGER_CORRUPT


@pytest.mark.parametrize("fails_at", [1, 2])
async def test_a_sizing_that_raises_fails_the_run_and_not_the_session(fails_at: int) -> None:
    async with opened(policy=Sized(fails_at=fails_at)) as session:
        outcome = await session.compact()
        assert (outcome.code, outcome.kind) == (ErrorCode.INTERNAL, FailureKind.INTERNAL)
        assert isinstance(outcome.error.__cause__, ZeroDivisionError)
        assert isinstance(await session.compact(), Committed)


# -------------------------------------------------------------------------------------------------------------- watching


async def test_a_reader_sees_every_transition_of_a_run() -> None:
    async with opened() as session:
        with session.transitions() as stream:
            outcome = await session.compact()
            await blocked()
            records = [stream.receive_nowait() for _ in range(stream.statistics().current_buffer_used)]
        assert [record.signal.name for record in records] == [
            "REQUESTED",
            "CUT_CHOSEN",
            "LOCKED",
            "SUMMARIZED",
            "ACCEPTED",
            "COMMITTED_DURABLY",
            "SETTLED",
        ]
        assert {(record.session_id, record.run_id, record.trigger) for record in records} == {("s", outcome.run_id, "manual")}
        assert [record.attempt for record in records] == [0, 0, 0, 1, 1, 1, 1]
        assert (records[-1].units_before, records[-1].units_after, records[-1].boundary) == (1_000, outcome.context.units, 8)
        with pytest.raises(trio.ClosedResourceError):
            await stream.receive()


async def test_a_slow_reader_is_told_how_much_it_missed_and_blocks_nobody() -> None:
    async with opened() as session:
        with session.transitions(size=3) as slow, session.transitions() as fast:
            await session.compact()
            await blocked()
            assert fast.statistics().current_buffer_used == 7
            assert [slow.receive_nowait().signal for _ in range(3)] == [S.REQUESTED, S.CUT_CHOSEN, S.LOCKED]
            with pytest.raises(trio.WouldBlock):
                slow.receive_nowait()
            await session.compact()
            await blocked()
            assert slow.receive_nowait() == Missed(4)
            assert [slow.receive_nowait().signal for _ in range(2)] == [S.UNDER_THRESHOLD, S.SETTLED]


async def test_a_reader_that_has_gone_disturbs_nobody() -> None:
    async with opened() as session:
        with session.transitions() as stream:
            await stream.aclose()
            assert isinstance(await session.compact(), Committed)


# ----------------------------------------------------------------------------------------------------------- other loops


def test_other_event_loops_are_told_what_to_do() -> None:
    async def enter() -> None:
        async with open_session():
            raise AssertionError("not reached")

    async def once() -> None:
        await compact_context(conversation(), BUDGET, summarizer=good)

    sessions: list[Any] = []

    async def live() -> None:
        async with opened() as session:
            sessions.append(session)

    trio.run(live)

    for use in (enter, once, lambda: sessions[0].append(user(1)), sessions[0].compact):
        with pytest.raises(CompactionError, match=r"runs under Trio, and this is no Trio task .*compactor\.portal") as caught:
            asyncio.run(use())
        assert caught.value.code is ErrorCode.INVALID_INPUT


async def test_a_plan_changes_nothing_and_says_what_a_run_would_do() -> None:
    async with opened() as session:
        before = session.context
        plan = session.plan()
        assert (plan.boundary, plan.due, plan.units) == (8, True, 1_000)
        assert session.context is before
        outcome = await session.compact()
        assert plan.hidden_message_ids == outcome.record.compacted_message_ids


async def test_a_session_without_any_option_works() -> None:
    async with open_session() as session:
        await session.append(UserMessage("hello"))
        assert type(await session.compact()) is Unchanged
        assert repr(session) == f"<Session {session.id} IDLE {session.context.units} units>"


@pytest.mark.parametrize("name", ["", "../x", "a b", "a\n", "é", "x" * 129, 5], ids=repr)
async def test_a_session_id_is_checked(name: Any) -> None:
    with pytest.raises(CompactionError, match="is not a session id"):
        async with open_session(session_id=name):
            raise AssertionError("not reached")


async def test_an_invalid_context_is_refused_before_anything_is_opened() -> None:
    ledger = MemoryLedger()
    with pytest.raises(CompactionError, match=r"\[CONTEXT_INVALID_TRANSCRIPT\]$"):
        async with open_session(ledger, context={"messages": [5]}):
            raise AssertionError("not reached")
    assert await ledger.sessions() == ()


async def test_a_default_budget_compacts_with_the_digest() -> None:
    context = build_active_context(
        {"messages": [{"id": f"m{n}", "role": "user", "content": f"fact {n} " * 60} for n in range(40)]}
    )
    async with open_session(context=context, policy=Budget(8_000), auto=False) as session:
        assert isinstance(await session.compact(), Committed)
        assert session.context.units <= 4_000
