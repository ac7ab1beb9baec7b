"""Undo, rewind, fork and redaction: all are appends, all work across compactions, and the view stays whole."""

from __future__ import annotations

import json

import pytest
import trio
from scenes import BUDGET, Swap, Waiting, agree, call, conversation, good, replayed, result, shown_ids, user

from compactor.errors import CompactionError, ErrorCode
from compactor.events import EventType, verify_chain
from compactor.history import context_at
from compactor.messages import AssistantMessage, ToolCall
from compactor.outcomes import Committed
from compactor.session import open_session
from compactor.stores import MemoryLedger
from compactor.surface import fold
from compactor.testing import Cutter, cancel_at_every_step


def opened(ledger: MemoryLedger, summarizer: object = good, **options: object):
    return open_session(ledger, session_id="s", policy=BUDGET, summarizer=summarizer, auto=False, **options)


async def compacted(session, rounds: int = 3) -> list[str]:
    """Compact *rounds* times with appends between; the record ids, oldest first."""
    records = []
    for number in range(rounds):
        outcome = await session.compact(force=True)
        assert isinstance(outcome, Committed)
        records.append(outcome.record.id)
        await session.append(*[user(100 * (number + 1) + index) for index in range(6)])
    return records


async def test_undo_gives_the_span_back_and_first_those_of_later_compactions_over_it() -> None:
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        first, second, third = await compacted(session)
        now = shown_ids(session.context)
        planned = await session.undo(second, dry_run=True)
        assert shown_ids(session.context) == now, "a dry run changes nothing"
        before = len(await ledger.read("s"))
        undone = await session.undo(second)
        assert undone == planned
        assert undone.record_ids == (third, second)
        assert len(await ledger.read("s")) == before + 1, "one append"
        assert session.snapshot is session.context is undone.context
        assert [record.id for record in session.context.compactions] == [first]
        events = await ledger.read("s")
        assert session.context == replayed("s", events)
        everything = [event.data["id"] for event in events if event.type is EventType.MESSAGE_APPENDED]
        hidden = session.context.compactions[0].compacted_message_ids
        assert shown_ids(session.context)[1:] == [id_ for id_ in everything if id_ not in hidden]
        await session.undo(first)
        assert shown_ids(session.context) == everything
        assert session.context.compactions == ()
        with pytest.raises(CompactionError, match="is not in force") as caught:
            await session.undo(first)
        assert caught.value.code is ErrorCode.INVALID_INPUT
        with pytest.raises(CompactionError, match="is no compaction of this session"):
            await session.undo("c-unknown")
        assert isinstance(await session.compact(force=True), Committed), "the next run works"
        await agree(session, ledger)
    async with opened(ledger) as again:
        assert again.context == replayed("s", await ledger.read("s"))
        verify_chain(await ledger.read("s"))


async def test_rewind_works_across_compactions_and_drops_calls_whose_results_came_later() -> None:
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        await session.append(call("c", "a1"))
        asked = session.lease.surface.next_seq - 1
        waiting = session.context
        await session.append(result("c", "t1"), user(50))
        whole, at = session.context, session.lease.surface.next_seq - 1
        await session.compact(force=True)
        await session.pin("stays", id="r")
        rewound = await session.rewind(at)
        assert (rewound.seq, rewound.less) == (at, 0)
        assert session.context.messages == whole.messages
        assert [item.id for item in session.context.requirements] == ["r"], "pins are a channel of their own"
        rewound = await session.rewind(asked)
        assert rewound.less == 1
        assert session.open_calls == ()
        assert session.context.messages == waiting.messages[:-1]
        assert session.context == replayed("s", await ledger.read("s"))
        with pytest.raises(CompactionError, match="was appended before a rewind"):
            await session.append(user(50))
        await session.append(call("c", "a2"))
        assert session.open_calls == ("c_2",), "call ids of what was rewound away are taken"
        await session.append(result("c", "t2"))
        await agree(session, ledger)
        for wrong in (-1, 10_000, "3", None, True):
            with pytest.raises(CompactionError, match="this session has no event"):
                await session.rewind(wrong)
    async with opened(ledger) as again:
        assert again.context == replayed("s", await ledger.read("s"))


async def test_a_call_that_still_waits_survives_a_rewind() -> None:
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation(2)) as session:
        await session.append(call("c", "a1"))
        at = session.lease.surface.next_seq - 1
        await session.append(user(70))
        assert (await session.rewind(at)).less == 0
        assert session.open_calls == ("c",)
        await session.append(result("c", "t1"))
        assert session.open_calls == ()


async def test_a_point_between_a_summary_and_its_end_is_none() -> None:
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        await session.compact(force=True)
        events = await ledger.read("s")
        (placed,) = [event.seq for event in events if event.type is EventType.SUMMARY_PLACED]
        assert (await session.rewind(placed)).seq == placed + 1
        forked = await session.fork(placed)
        kept = await ledger.read(forked)
        assert [event.type for event in kept[-2:]] == [EventType.COMPACTION_ENDED, EventType.SESSION_OPENED]


async def test_a_fork_goes_its_own_way_and_remembers_its_parent() -> None:
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        first, _second = await compacted(session, 2)
        at = session.lease.surface.next_seq - 1
        forked = await session.fork(at, "child")
        assert forked == "child"
        await session.append(user(900))
        with pytest.raises(CompactionError, match="exists already"):
            await session.fork(at, "child")
        parent = session.context
    async with open_session(ledger, session_id="child", policy=BUDGET, summarizer=good, auto=False) as child:
        assert shown_ids(child.context) == shown_ids(parent)[:-1]
        await child.undo(first)
        assert child.context.summary is None
        await child.append(user(901))
        events = await ledger.read("child")
        verify_chain(events)
        assert fold("child", events).order == child.lease.surface.order
        (opening,) = [event for event in events if "parent" in event.data]
        assert opening.data["parent"]["session"] == "s"
        assert opening.data["parent"]["seq"] == at
    async with opened(ledger) as session:
        assert session.context == parent


async def test_what_was_redacted_is_gone_and_the_chain_still_verifies() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await session.append(user(1), call("c", "a1"), result("c", "t1", "the key is TOP-SECRET"), user(2))
        seq = next(event.seq for event in await ledger.read("s") if b"TOP-SECRET" in event.body)
        await session.redact(seq, "a key leaked")
        events = await ledger.read("s")
        assert not any(b"TOP-SECRET" in event.body for event in events)
        verify_chain(events)
        assert (events[-1].type, events[-1].data) == (EventType.DATA_REDACTED, {"seq": seq, "reason": "a key leaked"})
        assert session.context.messages[2].content == "[redacted]"
        assert session.snapshot is session.context
        assert session.context == replayed("s", events)
        with pytest.raises(CompactionError, match="holds no text of a conversation"):
            await session.redact(0, "no")
        with pytest.raises(CompactionError, match="has no event"):
            await session.redact(99, "no")
    async with opened(ledger) as again:
        assert again.context.messages[2].content == "[redacted]"
        assert again.open_calls == ()


async def test_edits_are_refused_while_a_run_holds_its_span() -> None:
    ledger, waiting = MemoryLedger(), Waiting()
    swap = Swap(good)
    async with opened(ledger, summarizer=swap, context=conversation()) as session:
        (record,) = await compacted(session, 1)
        swap.now = waiting
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: session.compact(force=True))
            await waiting.called.wait()
            before = session.context
            for edit in (
                lambda: session.undo(record),
                lambda: session.rewind(3),
                lambda: session.redact(3, "no"),
                lambda: session.unpin("r"),
            ):
                with pytest.raises(CompactionError) as caught:
                    await edit()
                assert caught.value.code is ErrorCode.BUSY
            assert session.context is before
            waiting.told.set()


EDITS = {
    "undo": lambda session, record: session.undo(record),
    "rewind": lambda session, record: session.rewind(4),
    "redact": lambda session, record: session.redact(3, "why"),
    "fork": lambda session, record: session.fork(None, "child"),
}


@pytest.mark.parametrize("edit", list(EDITS))
def test_an_edit_that_is_cancelled_at_any_step_was_not_recorded(edit: str) -> None:
    ended = {True: 0, False: 0}

    async def scenario(cutter: Cutter) -> None:
        ledger, done = MemoryLedger(), False
        async with opened(ledger, context=conversation()) as session:
            (record,) = await compacted(session, 1)
            base, before = session.snapshot, session.context
            cutter.arm()
            with cutter.scope:
                await EDITS[edit](session, record)
                done = True
                cutter.disarm()
            cutter.disarm()
            events = await ledger.read("s")
            kinds = {EventType.COMPACTION_UNDONE, EventType.SURFACE_REWOUND, EventType.DATA_REDACTED}
            recorded = any(event.type in kinds for event in events) or len(await ledger.sessions()) > 1
            assert recorded is done
            if not done:
                assert session.snapshot is base
                assert session.context is before
            ended[done] += 1
            await agree(session, ledger)
            assert isinstance(await session.compact(force=True), Committed)

    cuts = cancel_at_every_step(scenario)
    assert ended[False] >= len(cuts) - 1 > 0
    assert ended[True] >= 1


async def test_what_the_model_saw_at_any_turn_is_told_to_the_byte() -> None:
    ledger, rendered = MemoryLedger(), []
    async with opened(ledger, context=conversation(), format="openai-chat") as session:
        await session.pin("a rule", id="r")
        for number in range(12):
            pending = [] if number % 3 else [{"role": "user", "content": f"and now {number}?"}]
            turn = await session.turn(pending=pending)
            rendered.append(turn.render())
            await session.append(*pending, {"role": "assistant", "content": "x" * 90})
            match number:
                case 3 | 5 | 7:
                    assert isinstance(await session.compact(force=True), Committed)
                case 6:
                    await session.unpin("r")
                case 8:
                    await session.undo(session.context.compactions[1].id)
                case 9:
                    await session.rewind(12)
                case _:
                    pass
    from compactor.formats import render_request

    for number, expected in enumerate(rendered, 1):
        context, event = await context_at(ledger, "s", turn=number)
        assert event is not None
        assert render_request("openai-chat", context) == expected
    with pytest.raises(CompactionError, match="has no turn 13"):
        await context_at(ledger, "s", turn=13)


async def test_a_session_that_is_opened_again_renders_the_same_bytes() -> None:
    ledger = MemoryLedger()
    odd = {"zeta": 1, "alpha": {"y": [1, {"b": 2, "a": 3}], "x": None}}
    async with opened(ledger, format="openai-chat") as session:
        await session.append(AssistantMessage([ToolCall("c", name="tool", arguments=odd)], id="a"), result("c", "t"), user(1))
        before = json.dumps((await session.turn()).render())
        assert list(json.loads(json.loads(before)["messages"][0]["tool_calls"][0]["function"]["arguments"])) == ["zeta", "alpha"]
    async with opened(ledger, format="openai-chat") as session:
        assert json.dumps((await session.turn()).render()) == before, "a provider's cache stays warm"


async def test_what_is_no_message_is_refused_at_once_in_any_life() -> None:
    ledger = MemoryLedger()
    for _life in range(2):
        async with opened(ledger) as session:
            for wrong in (
                {"role": "wizard", "content": "x"},
                result("unknown", None),
                {"role": "wizard", "id": "w", "content": "x"},
            ):
                with trio.fail_after(60), pytest.raises(CompactionError) as caught:
                    await session.append(wrong)
                assert caught.value.code is ErrorCode.INVALID_TRANSCRIPT
