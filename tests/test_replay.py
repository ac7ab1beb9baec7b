"""What a session writes adds up to what it showed: events → context, context → events."""

from __future__ import annotations

import attrs
import pytest
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import BUDGET, FaultyLedger, Swap, call, conversation, good, replayed, result, user

from compactor.compaction import compact_context
from compactor.context import ActiveContext, build_live_context
from compactor.errors import CompactionError, ErrorCode
from compactor.events import GENESIS, EventType, seal, unranged
from compactor.outcomes import Committed
from compactor.plain import SESSION_LIMITS
from compactor.replay import adopting
from compactor.session import open_session
from compactor.stores import MemoryLedger
from compactor.surface import fold
from compactor.testing import transcripts


def written(context: ActiveContext) -> list[object]:
    """The events that a new session writes to take *context* over."""
    events, previous = [], GENESIS
    for seq, draft in enumerate(adopting(context)):
        events.append(seal(draft, session_id="s", seq=seq, time=0.0, epoch=1, previous=previous))
        previous = events[-1].digest
    return events


@settings(deadline=None, max_examples=50)
@given(transcripts(live=True), st.booleans(), st.integers(0, 3))
def test_a_context_that_is_written_is_read_back(messages: list[object], summarized: bool, pins: int) -> None:
    context = build_live_context(
        {
            "requirements": [{"id": f"r{number}", "content": "keep \ud800 \n"} for number in range(pins)],
            "summary": {"id": "s", "content": "so far"} if summarized else None,
            "messages": messages,
        },
        limits=SESSION_LIMITS,
    )
    assert replayed("s", written(context)) == context


def test_nothing_is_read_back_from_nothing() -> None:
    assert replayed("s", []) == build_live_context({}, limits=SESSION_LIMITS)
    assert adopting(build_live_context({}, limits=SESSION_LIMITS)) == []


async def test_records_and_a_summary_are_taken_over() -> None:
    context = (await compact_context(conversation(), BUDGET, summarizer=good)).context
    assert [draft.type for draft in adopting(context)][:2] == [EventType.RECORDS_ADOPTED, EventType.SUMMARY_PLACED]
    assert replayed("s", written(context)) == context


STEPS = ["append", "call", "answer", "compact", "force", "fail", "pin", "unpin", "close", "reopen", "lost", "lost end"]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(STEPS), min_size=4, max_size=16))
async def test_whatever_happened_the_ledger_adds_up_to_what_is_shown(steps: list[str]) -> None:
    ledger, swap, number = FaultyLedger(inner=MemoryLedger(clock=lambda: 0.0)), Swap(good), 100
    pending = ["reopen", *steps, "reopen"]
    first = conversation()
    shown = None
    while pending:
        async with open_session(ledger, session_id="s", context=first, policy=BUDGET, summarizer=swap, auto=False) as session:
            first = None
            if shown is not None:
                assert session.context == shown
                assert session.context.open_calls == shown.open_calls
            while pending:
                number += 1
                step = pending.pop(0)
                match step:
                    case "reopen":
                        break
                    case "append":
                        await session.append(user(number))
                    case "call":
                        await session.append(call("c", f"a{number}"))
                    case "answer":
                        if session.open_calls:
                            await session.append(result(session.open_calls[0], f"t{number}"))
                    case "compact":
                        await session.compact()
                    case "force":
                        await session.compact(force=True)
                    case "fail":
                        swap.now = lambda _request: 1 / 0
                        await session.compact(force=True)
                        swap.now = good
                    case "lost":
                        ledger.plans.append(("commit", "after"))
                        await session.compact(force=True)
                        ledger.plans.clear()
                    case "lost end":
                        ledger.plans.append(("commit", "before"))
                        await session.compact(force=True)
                        ledger.plans.clear()
                    case "pin":
                        await session.pin("keep", id=f"r{number}")
                    case "unpin":
                        if session.context.requirements:
                            await session.unpin(session.context.requirements[0].id)
                    case "close":
                        await session.close_calls("dead")
                events = await ledger.read("s")
                assert replayed("s", events) == session.context
                assert attrs.asdict(fold("s", events)) == attrs.asdict(session.lease.surface)
                assert session.context.units == replayed("s", events).units
            shown = session.context
    assert shown is not None


async def test_what_a_record_says_is_what_was_published() -> None:
    ledger = MemoryLedger()
    async with open_session(
        ledger, session_id="s", context=conversation(), policy=BUDGET, summarizer=good, auto=False
    ) as session:

        async def gate(_phase: object, _signal: object) -> None:
            await session.append(user(session.lease.surface.next_seq))

        session.machine.gate = gate
        outcome = await session.compact()
        assert isinstance(outcome, Committed)
        await trio.testing.wait_all_tasks_blocked()
        events = await ledger.read("s")
        (end,) = [event.data for event in events if event.type is EventType.COMPACTION_ENDED]
        (placed,) = [event.data for event in events if event.type is EventType.SUMMARY_PLACED]
        assert (end["units_before"], end["units_after"]) == (outcome.record.units_before, outcome.record.units_after)
        assert placed["record"]["unitsAfter"] == outcome.context.units
        assert replayed("s", events).compactions == outcome.context.compactions
        assert [events[seq].data["id"] for seq in unranged(end["hidden"])] == list(outcome.record.compacted_message_ids)


async def test_everything_that_was_compacted_is_still_in_the_ledger() -> None:
    ledger, context = MemoryLedger(), conversation()
    async with open_session(ledger, session_id="s", context=context, policy=BUDGET, summarizer=good, auto=False) as session:
        await session.compact()
    kept = [event.data["id"] for event in await ledger.read("s") if event.type is EventType.MESSAGE_APPENDED]
    assert tuple(kept) == context.messages.ids


def test_events_that_break_a_rule_are_refused_with_their_place() -> None:
    events = written(conversation())
    broken = [*events[:3], attrs.evolve(events[3], op=None), *events[4:]]
    with pytest.raises(
        CompactionError, match="event 3: message/appended is a surface type and must carry an operation"
    ) as caught:
        replayed("s", broken)
    assert caught.value.code is ErrorCode.LEDGER_CORRUPT
    with pytest.raises(CompactionError, match="event 1: is not the next one, which is 0"):
        replayed("s", events[1:])
    with pytest.raises(CompactionError, match="event 0: belongs to another session"):
        replayed("other", events)
