"""Group commit: what many tasks append at once becomes durable together, and each of them is told the truth about its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import BUDGET, FaultyLedger, Swap, agree, call, conversation, good, result, user
from trio.testing import wait_all_tasks_blocked

from compactor.errors import CompactionError, ErrorCode
from compactor.events import Draft, Event, EventType
from compactor.ledger import Lease, NamesTakenError
from compactor.messages import AssistantMessage, ToolCall, UserMessage
from compactor.outcomes import Committed, Failed
from compactor.policy import Budget
from compactor.session import Session, open_session
from compactor.stores import MemoryLedger
from compactor.testing import Cutter, cancel_at_every_step


@attrs.define(eq=False)
class Counting(MemoryLedger):
    """Counts its transactions, and takes some checkpoints for each before it begins."""

    checkpoints: int = 0
    sizes: list[int] = attrs.field(factory=list)

    def __init__(self, checkpoints: int = 0) -> None:
        super().__init__()
        self.checkpoints, self.sizes = checkpoints, []

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        for _ in range(self.checkpoints):
            await trio.lowlevel.checkpoint()
        events = await super().append(lease, drafts)
        self.sizes.append(len(drafts))
        return events


@attrs.define(eq=False)
class Told:
    """What each caller was told: the kept messages, its error, or ``"cancelled"``; and in which order they came."""

    by: dict[str, Any] = attrs.field(factory=dict)
    came: list[str] = attrs.field(factory=list)

    async def append(self, session: Session, name: str, *messages: Any, scope: trio.CancelScope | None = None) -> None:
        self.by.pop(name, None)
        with scope or trio.CancelScope():
            self.came.append(name)
            try:
                self.by[name] = await session.append(*messages)
            except CompactionError as error:
                self.by[name] = error
            except trio.Cancelled:
                self.by[name] = "cancelled"
                raise

    def kept(self) -> list[str]:
        """Those whose messages were kept, in the order in which they came."""
        return [name for name in dict.fromkeys(self.came) if type(self.by.get(name)) is tuple]

    def code(self, name: str) -> ErrorCode:
        assert isinstance(self.by[name], CompactionError), self.by[name]
        return self.by[name].code


def opened(ledger: Any = None, **options: Any) -> Any:
    return open_session(ledger, session_id="s", **({"policy": BUDGET, "summarizer": good, "auto": False} | options))


def said(name: str, text: str = "x") -> UserMessage:
    return UserMessage(text, id=name)


async def recorded(ledger: Any) -> list[str]:
    """The ids that the ledger has, in their order."""
    return [event.data["id"] for event in await ledger.read("s") if event.type is EventType.MESSAGE_APPENDED]


async def code_of(wanted: Any) -> ErrorCode:
    with pytest.raises(CompactionError) as caught:
        await wanted
    return caught.value.code


async def batch_of(session: Session, told: Told, **callers: Sequence[Any]) -> None:
    """Let all of these wait behind a lock, so that they are one batch, in this order."""
    await session._writer.writing.acquire()
    async with trio.open_nursery() as nursery:
        for name, messages in callers.items():
            nursery.start_soon(told.append, session, name, *messages)
            await wait_all_tasks_blocked()
        session._writer.writing.release()


# ------------------------------------------------------------------------------------------------------ together


async def test_what_many_tasks_append_at_once_is_few_transactions_in_the_order_in_which_they_came() -> None:
    ledger, told = Counting(checkpoints=1), Told()
    async with opened(ledger) as session:
        ledger.sizes.clear()
        async with trio.open_nursery() as nursery:
            for number in range(64):
                nursery.start_soon(told.append, session, f"m{number}", said(f"m{number}"), said(f"n{number}"))
        order = await recorded(ledger)
        assert order[::2] == told.kept(), "first come, first written"
        assert order[1::2] == [name.replace("m", "n") for name in told.kept()], "what one caller appends stays together"
        assert next(iter(told.by)) == order[0], "acknowledged transaction by transaction"
        assert len(told.kept()) == 64
        assert ledger.sizes == [2, 126], "one leads alone, the others follow together"
        assert [message.id for message in session.context.messages] == order
        await agree(session, ledger)


async def test_whoever_is_told_first_was_written_first() -> None:
    ledger, told = Counting(checkpoints=1), Told()
    async with opened(ledger) as session:
        ledger.sizes.clear()

        async def many(task: int) -> None:
            for number in range(8):
                await told.append(session, f"{task}.{number}", said(f"{task}.{number}"))

        async with trio.open_nursery() as nursery:
            for task in range(8):
                nursery.start_soon(many, task)
        order, acknowledged = await recorded(ledger), [*told.by]
        assert len(order) == 64
        start = 0
        for size in ledger.sizes:
            assert set(order[start : start + size]) == set(acknowledged[start : start + size])
            start += size
        assert len(ledger.sizes) < 64
        assert [name for name in order if name.startswith("3.")] == [f"3.{number}" for number in range(8)]


async def test_each_caller_gets_its_own_error_and_nobody_else_does() -> None:
    ledger, told = Counting(checkpoints=1), Told()
    wrong = {
        "no message": (7,),
        "an orphan": (said("goes with it"), result("nobody", "t1")),
        "a taken id": (said("m0", "other content"),),
        "a blank id": (said(" "),),
        "half": (said("goes, too"), {"id": "x", "role": "nobody"}),
    }
    async with opened(ledger) as session:
        await session.append(said("m0"))
        async with trio.open_nursery() as nursery:
            for number, (name, messages) in enumerate(wrong.items()):
                nursery.start_soon(told.append, session, name, *messages)
                nursery.start_soon(told.append, session, f"good{number}", said(f"good{number}"))
        codes = {name: told.code(name) for name in wrong}
        assert set(codes.values()) == {ErrorCode.INVALID_INPUT, ErrorCode.INVALID_TRANSCRIPT}
        assert codes["an orphan"] is ErrorCode.INVALID_TRANSCRIPT
        assert len({id(told.by[name]) for name in wrong}) == len(wrong)
        assert sorted(told.kept()) == sorted(f"good{number}" for number in range(len(wrong)))
        assert await recorded(ledger) == ["m0", *told.kept()]
        await agree(session, ledger)
        await session.append(said("goes with it"), said("goes, too"))


async def test_rounds_of_many_tasks_find_one_another_in_one_batch() -> None:
    ledger, told = Counting(), Told()
    async with opened(ledger) as session:
        ledger.sizes.clear()
        rounds = (call("c", "a1"), result("c", "t1"), call("c", "a2"), result("c", "t2"))
        await batch_of(session, told, **{step.id: [step] for step in rounds})
        assert ledger.sizes == [4]
        assert told.kept() == ["a1", "t1", "a2", "t2"]
        assert session.open_calls == ()
        calls = [block.id for message in session.context.messages for block in getattr(message, "tool_calls", ())]
        assert calls == ["c", "c_2"], "within one batch, too, a call id that comes again is made distinct"
        await agree(session, ledger)


# ----------------------------------------------------------------------------------------------------- cancelled


@pytest.mark.parametrize("via", ["cancel", "deadline"])
@pytest.mark.parametrize("victim", [0, 1, 3])
@pytest.mark.parametrize("checkpoints", [0, 2])
def test_a_caller_that_is_cancelled_at_any_step_is_told_whether_it_was_recorded(via: Any, victim: int, checkpoints: int) -> None:
    ended = {"kept": 0, "cancelled": 0}

    async def scenario(cutter: Cutter) -> None:
        ledger, told = Counting(checkpoints), Told()
        async with opened(ledger) as session:
            base = session.snapshot
            cutter.arm()
            async with trio.open_nursery() as nursery:
                for number in range(4):
                    scope = cutter.scope if number == victim else None
                    nursery.start_soon(lambda n=number, s=scope: told.append(session, f"m{n}", said(f"m{n}"), scope=s))
                await wait_all_tasks_blocked()
            cutter.disarm()
            there = await recorded(ledger)
            assert there == told.kept(), "recorded, and told so, in one order"
            assert len(told.by) == 4 or not there
            assert {name for name, what in told.by.items() if what == "cancelled"} <= {f"m{victim}"}
            assert len(there) >= 3, "nobody else is harmed"
            ended["kept" if len(there) == 4 else "cancelled"] += 1
            assert [message.id for message in session.context.messages] == there
            assert session.snapshot is base
            await agree(session, ledger)
            await session.append(said(f"m{victim}"), said("next"))
            assert (await recorded(ledger))[-1] == "next"

    cuts = cancel_at_every_step(scenario, via=via)
    assert ended["cancelled"] > 0, "cut before it was written"
    assert ended["kept"] > 0, "cut after it was written"
    assert sum(ended.values()) == len(cuts) + 1


def test_when_all_are_cancelled_at_once_each_is_told_the_truth() -> None:
    ended: set[int] = set()

    async def scenario(cutter: Cutter) -> None:
        ledger, told = Counting(checkpoints=1), Told()
        async with opened(ledger) as session:
            cutter.arm()
            with cutter.scope:
                async with trio.open_nursery() as nursery:
                    for number in range(5):
                        nursery.start_soon(told.append, session, f"m{number}", said(f"m{number}"))
                    await wait_all_tasks_blocked()
            cutter.disarm()
            assert await recorded(ledger) == told.kept()
            ended.add(len(told.kept()))
            await agree(session, ledger)
            await session.append(said("next"))

    cancel_at_every_step(scenario)
    assert {0, 5} <= ended


PLANS = st.lists(
    st.tuples(st.integers(0, 6), st.none() | st.integers(0, 9), st.sampled_from(["new", "bad", "same", "other"])),
    min_size=2,
    max_size=7,
)
"""For each caller: the step at which it begins, the steps after which it is cancelled, and what it appends."""


@settings(deadline=None, max_examples=150)
@given(PLANS, st.integers(0, 3))
async def test_whoever_comes_and_goes_what_was_recorded_is_what_was_told(plans: Any, checkpoints: int) -> None:
    ledger, told = Counting(checkpoints), Told()
    async with opened(ledger) as session:

        async def caller(number: int, begin: int, cancel: int | None, what: str) -> None:
            for _ in range(begin):
                await trio.lowlevel.checkpoint()
            message = {
                "new": said(f"m{number}"),
                "bad": result("nobody", f"m{number}"),
                "same": said("shared"),
                "other": said("shared", f"{number}"),
            }[what]
            scope = trio.CancelScope()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lambda: told.append(session, f"{what}{number}", message, scope=scope))
                for _ in range(cancel or 0):
                    await trio.lowlevel.checkpoint()
                if cancel is not None:
                    scope.cancel()

        async with trio.open_nursery() as nursery:
            for number, (begin, cancel, what) in enumerate(plans):
                nursery.start_soon(caller, number, begin, cancel, what)
        there = await recorded(ledger)
        wanted = [told.by[name][0].id for name in told.kept()]
        assert there == list(dict.fromkeys(wanted)), "each once, in the order in which their callers came"
        for number, (_begin, cancel, what) in enumerate(plans):
            answer = told.by.get(f"{what}{number}", "cancelled")
            assert cancel is not None or answer != "cancelled", "nobody is cancelled in place of another"
            if what == "bad" and answer != "cancelled":
                assert answer.code is ErrorCode.INVALID_TRANSCRIPT
        await agree(session, ledger)
        assert not session._writer._appends._queue, "nobody is left behind"


async def test_a_leader_that_is_cancelled_before_the_write_leaves_the_lead_to_the_next() -> None:
    ledger, told, scope = FaultyLedger(plans=[]), Told(), trio.CancelScope()
    async with opened(ledger) as session:
        await session._writer.writing.acquire()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: told.append(session, "leader", said("leader"), scope=scope))
            await wait_all_tasks_blocked()
            for name in ("one", "two", "three"):
                nursery.start_soon(told.append, session, name, said(name))
                await wait_all_tasks_blocked()
            scope.cancel()
            await wait_all_tasks_blocked()
            assert told.by == {"leader": "cancelled"}, "it need not wait"
            session._writer.writing.release()
        assert told.kept() == ["one", "two", "three"] == await recorded(ledger)


async def test_when_one_leader_after_the_other_is_cancelled_those_who_were_passed_on_are_not_forgotten() -> None:
    class Gated(MemoryLedger):
        gate = trio.Event()

        async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
            await self.gate.wait()
            return await super().append(lease, drafts)

    ledger, told, scopes = Gated(), Told(), [trio.CancelScope() for _ in range(2)]
    async with opened(ledger) as session:
        async with trio.open_nursery() as nursery:
            await session._writer.writing.acquire()
            nursery.start_soon(lambda: told.append(session, "first", said("first"), scope=scopes[0]))
            await wait_all_tasks_blocked()
            nursery.start_soon(told.append, session, "stays", said("stays"))
            await wait_all_tasks_blocked()
            session._writer.writing.release()
            await wait_all_tasks_blocked()
            nursery.start_soon(lambda: told.append(session, "second", said("second"), scope=scopes[1]))
            await wait_all_tasks_blocked()
            for scope in scopes:
                scope.cancel()
                await wait_all_tasks_blocked()
            assert told.by == {"first": "cancelled", "second": "cancelled"}
            ledger.gate.set()
        assert told.by["stays"] == (said("stays"),)
        assert await recorded(ledger) == ["stays"]
        await session.append(said("next"))


async def test_a_follower_whose_entry_is_being_written_waits_for_it_and_one_that_waits_withdraws() -> None:
    ledger, told = FaultyLedger(plans=[("content", "slow")]), Told()
    written, waiting = trio.CancelScope(), trio.CancelScope()
    async with opened(ledger) as session:
        await session._writer.writing.acquire()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(told.append, session, "leader", said("leader"))
            await wait_all_tasks_blocked()
            nursery.start_soon(lambda: told.append(session, "follower", said("follower"), scope=written))
            await wait_all_tasks_blocked()
            session._writer.writing.release()
            await ledger.reached.wait()
            nursery.start_soon(told.append, session, "later", said("later"))
            await wait_all_tasks_blocked()
            nursery.start_soon(lambda: told.append(session, "patient", said("patient"), scope=waiting))
            await wait_all_tasks_blocked()
            written.cancel()
            waiting.cancel()
            await wait_all_tasks_blocked()
            assert told.by == {"patient": "cancelled"}, "what is being written cannot be withdrawn"
            ledger.release_it.set()
        assert told.kept() == ["leader", "follower", "later"] == await recorded(ledger)
        assert not written.cancelled_caught


# ------------------------------------------------------------------------------------------------ a store that fails


@pytest.mark.parametrize(
    ("how", "code"), [("before", ErrorCode.PERSISTENCE_FAILED), ("refused", ErrorCode.PERSISTENCE_FAILED), ("after", None)]
)
async def test_a_write_that_failed_is_told_to_each_of_its_callers_and_one_whose_answer_was_lost_to_none(
    how: str, code: ErrorCode | None
) -> None:
    ledger, told = FaultyLedger(plans=[("content", how)]), Told()
    async with opened(ledger) as session:
        context = session.context
        await batch_of(session, told, a=[said("a")], b=[said("b")], bad=[result("nobody", "t")], c=[said("c")])
        assert ledger.fired == [("content", how)]
        assert told.code("bad") is ErrorCode.INVALID_TRANSCRIPT, "its own error, whatever the store does"
        if code is None:
            assert told.kept() == ["a", "b", "c"] == await recorded(ledger)
        else:
            assert {told.code(name) for name in "abc"} == {code}
            assert len({id(told.by[name]) for name in "abc"}) == 3, "an error of its own for each: they are raised in three tasks"
            assert "SECRET" not in str(told.by["a"])
            assert session.context is context
            assert await recorded(ledger) == []
            await batch_of(session, told, a=[said("a")], b=[said("b")], c=[said("c")])
            assert told.kept() == ["a", "b", "c"], "and all of it can be tried again"
        await agree(session, ledger)


async def test_when_nobody_can_know_everybody_is_told_so_and_the_session_refuses_to_go_on() -> None:
    ledger, told = FaultyLedger(plans=[("content", "after")]), Told()
    async with opened(ledger) as session:
        ledger.unreadable = True
        await batch_of(session, told, a=[said("a")], b=[said("b")])
        assert {told.code(name) for name in "ab"} == {ErrorCode.COMMIT_UNKNOWN}
        ledger.unreadable = False
        assert await code_of(session.append(said("c"))) is ErrorCode.COMMIT_UNKNOWN
    async with opened(ledger) as again:
        assert [message.id for message in again.context.messages] == ["a", "b"]
        assert [message.id for message in await again.append(said("a"), said("b"))] == ["a", "b"]
        assert await recorded(ledger) == ["a", "b"], "the retry after a lost answer adds nothing"


async def test_a_retry_within_a_batch_is_acknowledged_only_when_the_batch_is_written() -> None:
    ledger, told = FaultyLedger(plans=[("content", "before")]), Told()
    async with opened(ledger) as session:
        await batch_of(session, told, first=[said("m")], again=[said("m")], other=[said("m", "other")])
        assert told.code("first") is told.code("again") is ErrorCode.PERSISTENCE_FAILED
        assert told.code("other") is ErrorCode.PERSISTENCE_FAILED, "it was compared with what was not written after all"
        assert await recorded(ledger) == []
        await batch_of(session, told, first=[said("m")], again=[said("m")], other=[said("m", "other")])
        assert told.by["first"] == told.by["again"]
        assert told.code("other") is ErrorCode.INVALID_INPUT
        assert await recorded(ledger) == ["m"]


async def test_a_retry_that_cannot_be_compared_fails_alone() -> None:
    ledger, told = FaultyLedger(), Told()
    async with opened(ledger) as session:
        await session.append(said("old"))
        ledger.unreadable = True
        await batch_of(session, told, a=[said("a")], retry=[said("old")], b=[said("b")])
        assert told.code("retry") is ErrorCode.PERSISTENCE_FAILED
        assert told.kept() == ["a", "b"] == (await recorded(ledger.inner))[1:]
        ledger.unreadable = False
        assert await session.append(said("old")) == (session.context.messages[0],)


async def test_a_bug_in_one_caller_s_data_is_its_own_too() -> None:
    class Hostile(dict):
        def get(self, *_args: object) -> None:
            raise ZeroDivisionError

    ledger, told = FaultyLedger(), Told()
    async with opened(ledger) as session:
        await batch_of(session, told, a=[said("a")], hostile=[Hostile(id="x", role="user", content="y")], b=[said("b")])
        assert told.kept() == ["a", "b"] == await recorded(ledger)
        assert told.code("hostile") is ErrorCode.INVALID_INPUT


# ------------------------------------------------------------------------------------------------------- ids again


async def hidden_behind(session: Session, *messages: Any) -> None:
    """Append and compact, so that they are hidden."""
    await session.append(*messages)
    await session.append(*[user(1_000 + session.lease.surface.next_seq + number) for number in range(8)])
    assert isinstance(await session.compact(force=True), Committed)
    assert not set(session.context.messages.ids) & {message.id for message in messages}


async def test_a_retry_is_known_in_a_later_life_whether_it_is_shown_or_hidden() -> None:
    ledger = MemoryLedger()
    early = (said("u"), call("c", "a1"), result("c", "t1"))
    async with opened(ledger) as session:
        await hidden_behind(session, *early)
        await session.append(said("shown"))
    before = await recorded(ledger)
    async with opened(ledger) as session:
        context = session.context
        for message in (*early, said("shown")):
            (kept,) = await session.append(message)
            assert kept == message
        assert await session.append(*early) == early, "also all at once"
        assert session.context is context
        assert await recorded(ledger) == before
        for message in (said("u", "other"), call("d", "a1"), result("c", "t1", "other"), said("shown", "other")):
            assert await code_of(session.append(message)) is ErrorCode.INVALID_INPUT
        assert await code_of(session.append(result("c", "t9"))) is ErrorCode.INVALID_TRANSCRIPT, "no retry: an orphan"
        assert await recorded(ledger) == before


async def test_a_retry_goes_with_what_is_new_in_the_same_append() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await hidden_behind(session, said("u"))
    async with opened(ledger) as session:
        kept = await session.append(said("u"), said("new"), said("u"))
        assert [message.id for message in kept] == ["u", "new", "u"]
        assert (await recorded(ledger))[-1] == "new"
        assert (await recorded(ledger)).count("u") == 1


async def test_names_that_the_ledger_refused_are_learned_once() -> None:
    class Refusing(MemoryLedger):
        refusals = 0

        async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
            try:
                return await super().append(lease, drafts)
            except NamesTakenError:
                self.refusals += 1
                raise

    ledger, told = Refusing(), Told()
    async with opened(ledger) as session:
        await hidden_behind(session, said("u"), call("c", "a1"), result("c", "t1"))
    async with opened(ledger) as session:
        await batch_of(
            session,
            told,
            retry=[said("u")],
            reuse=[call("c", "a2")],
            other=[said("a1", "other")],
            new=[said("new")],
        )
        assert ledger.refusals == 1, "one refusal tells all that is taken"
        assert told.kept() == ["retry", "reuse", "new"]
        assert told.code("other") is ErrorCode.INVALID_INPUT
        await session.append(said("u"), call("c", "a3"))
        assert ledger.refusals == 1
        await agree(session, ledger)


async def test_call_ids_that_come_again_are_made_distinct_in_every_life_and_their_results_follow() -> None:
    ledger, calls = MemoryLedger(), list[str]()
    for life in range(3):
        async with opened(ledger) as session:
            for turn in range(2):
                (asked,) = await session.append(call("c", f"a{life}.{turn}"))
                calls += [each.id for each in asked.tool_calls]
                (answered,) = await session.append(result("c", f"t{life}.{turn}"))
                assert answered.tool_call_id == calls[-1]
            assert session.open_calls == ()
            await hidden_behind(session, said(f"u{life}"))
            (asked,) = await session.append(call("c", f"b{life}"))
            calls += [each.id for each in asked.tool_calls]
        async with opened(ledger) as session:
            assert session.open_calls == (calls[-1],)
            (answered,) = await session.append(result("c", f"s{life}"))
            assert answered.tool_call_id == calls[-1], "also when the life ended between the two"
            assert (await session.append(call("c", f"a{life}.0"))) == (await session.append(asked_again(ledger, f"a{life}.0")),)[
                0
            ]
            await agree(session, ledger)
    assert calls[0] == "c"
    assert len(set(calls)) == len(calls) == 9


def asked_again(ledger: MemoryLedger, name: str) -> AssistantMessage:
    """The message as the ledger keeps it, with its distinct call id: a caller may retry with that, too."""
    (event,) = [event for event in ledger._shelves["s"].events if event.data.get("id") == name]
    (block,) = event.data["content"]
    meta = event.data.get("meta", {})
    return AssistantMessage([ToolCall(block["id"], name="tool")], id=name, meta=meta)


async def test_an_id_that_was_rewound_away_is_taken_in_this_life_and_the_next() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await session.append(said("stays"))
        at = session.lease.surface.next_seq - 1
        await session.append(said("gone"), call("c", "a1"), result("c", "t1"))
        await session.rewind(at)
        for message in (said("gone"), said("gone", "other"), call("c", "a1"), result("c", "t1")):
            with pytest.raises(CompactionError, match="before a rewind"):
                await session.append(message)
        assert await session.append(said("stays")) == (session.context.messages[0],)
    async with opened(ledger) as session:
        context = session.context
        for message in (said("gone"), said("gone", "other"), call("c", "a1"), result("c", "t1")):
            with pytest.raises(CompactionError, match="before a rewind"):
                await session.append(message)
        assert session.context is context
        assert await session.append(said("stays")) == (session.context.messages[0],)


async def test_an_id_that_was_rewound_away_and_came_back_is_a_retry_again() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await session.append(said("stays"))
        at = session.lease.surface.next_seq - 1
        await session.append(said("gone"))
        await session.rewind(at)
        await session.rewind(at + 1)
        assert await session.append(said("gone")) == (session.context.messages[1],)
        assert await recorded(ledger) == ["stays", "gone"]


async def test_two_callers_with_one_id_are_one_message_or_an_error() -> None:
    ledger, told = FaultyLedger(), Told()
    async with opened(ledger) as session:
        await batch_of(
            session, told, a=[said("m")], b=[said("m")], c=[said("m", "other")], d=[said("n"), said("n")], e=[said("n")]
        )
        assert told.kept() == ["a", "b", "d", "e"]
        assert told.code("c") is ErrorCode.INVALID_INPUT
        assert await recorded(ledger) == ["m", "n"]
        assert await code_of(session.append(said("p"), said("p", "other"))) is ErrorCode.INVALID_INPUT
        assert await recorded(ledger) == ["m", "n"], "all or none"
        await agree(session, ledger)


# --------------------------------------------------------------------------------------------------------- pending


async def test_pending_messages_get_distinct_call_ids_and_leave_no_trace() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await session.append(call("c", "a1"), result("c", "t1"))
        pending = [call("c", "a2"), result("c", "t2"), call("c", "a3")]
        known = session._writer._ids.replies, dict(session._writer._ids._seqs), set(session._writer._ids._calls)
        turn = await session.turn(pending=pending)
        shown = [each.id for message in turn.context.messages for each in getattr(message, "tool_calls", ())]
        assert shown == ["c", "c_2", "c_3"]
        assert turn.context.open_calls == ("c_3",)
        assert (session._writer._ids.replies, session._writer._ids._seqs, session._writer._ids._calls) == known
        kept = await session.append(*pending)
        assert kept == turn.context.messages[2:], "appended as they were shown"
        await agree(session, ledger)


async def test_pending_messages_may_not_take_the_id_of_what_is_hidden() -> None:
    ledger = MemoryLedger()
    async with opened(ledger) as session:
        await hidden_behind(session, said("u"))
        before = len(await ledger.read("s"))
        with pytest.raises(CompactionError, match="was appended before"):
            await session.turn(pending=[said("u", "other")])
        assert len(await ledger.read("s")) == before
        with pytest.raises(CompactionError, match="was appended before"):
            await session.turn(pending=[said("v"), said("v")])
        assert [message.id for message in await session.append(said("u"), said("v"))] == ["u", "v"], "and it is still known"


async def test_a_turn_beside_an_append_in_flight_does_not_forget_its_ids() -> None:
    ledger, told = FaultyLedger(plans=[("content", "slow")]), Told()
    async with opened(ledger) as session:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(told.append, session, "m", said("m"), call("c", "a1"))
            await ledger.reached.wait()
            # It looks at the pending messages before it would wait for the write that is in flight.
            with pytest.raises(CompactionError, match="'m' was appended before"):
                await session.turn(pending=[said("m")])
            ledger.release_it.set()
        assert told.kept() == ["m"]
        assert await session.append(said("m")) == (session.context.messages[0],), "the retry is known"
        (again,) = await session.append(call("c", "a3"))
        assert [each.id for each in again.tool_calls] == ["c_2"]
        await agree(session, ledger)


# --------------------------------------------------------------------------------------------- what was refused


async def test_what_was_refused_is_in_no_summary() -> None:
    """The messages of a context share a buffer with what was begun and refused; nothing may look behind its end."""
    requests = Swap(good)
    keep = Budget(800, target_units=300, summary_max_units=100, retain_recent_messages=4, attempts=1, timeout=10)
    async with opened(None, policy=keep, summarizer=requests) as session:
        await session.append(user(1), user(2))
        for number in range(3):
            with pytest.raises(CompactionError, match="does not wait for a result"):
                await session.append(user(10 + number), user(20 + number), result("nobody", f"t{number}"))
        outcome = await session.compact(force=True)
        assert isinstance(outcome, Failed)
        assert outcome.kind == "nothing_to_cut"
        assert requests.requests == [], "nothing that was refused is sent to a summarizer"
        assert session.context.messages.ids == ("u1", "u2")


async def test_a_conversation_that_was_taken_over_counts_as_appended() -> None:
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation(3)) as session:
        assert await session.append(user(1)) == (session.context.messages[1],)
        assert await code_of(session.append(user(1, 50))) is ErrorCode.INVALID_INPUT
        assert await recorded(ledger) == ["u0", "u1", "u2"]
