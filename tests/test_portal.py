"""The portal: one session under asyncio and in plain code; cancelled raised if and only if not recorded; never a hang."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
import trio
from harness import BUDGET, check_runs, conversation, placed

import compactor
from compactor import (
    AssistantMessage,
    Budget,
    Committed,
    CompactionError,
    ErrorCode,
    Failed,
    MemoryLedger,
    Phase,
    SummaryRequest,
    ToolCall,
    UserMessage,
    portal,
)
from compactor.events import Draft, Event, EventType
from compactor.ledger import Lease
from compactor.portal import _thread
from compactor.session import Session
from compactor.summarizers import blocking
from compactor.testing import scripted

PATIENCE = 20
"""Seconds after which a test gives up on the other thread. No test waits for it when all is well."""


def read(ledger: MemoryLedger, name: str = "s") -> tuple[Event, ...]:
    return trio.run(ledger.read, name)


def recorded(ledger: MemoryLedger) -> list[str]:
    return [event.data["id"] for event in read(ledger) if event.type is EventType.MESSAGE_APPENDED]


def from_trio(loop: asyncio.AbstractEventLoop, action: Callable[[], object]) -> None:
    """In Trio's thread: have *action* done on the loop, and stand still until its consequences are there, too."""
    seen = threading.Event()

    def on_loop() -> None:
        action()
        loop.call_soon(loop.call_soon, seen.set)

    loop.call_soon_threadsafe(on_loop)
    assert seen.wait(PATIENCE)


class LateLedger(MemoryLedger):
    """Calls *late* in Trio's thread when an event of type *at* has become durable, before anybody is told."""

    late: Callable[[], object] | None = None
    at: EventType = EventType.MESSAGE_APPENDED

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        events = await super().append(lease, drafts)
        if self.late is not None and any(event.type is self.at for event in events):
            late, self.late = self.late, None
            late()
        return events


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in another thread
            await asyncio.sleep(0)


class Hanging:
    """An asyncio summarizer that never answers and knows what became of it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = False

    async def __call__(self, request: SummaryRequest) -> str:
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.cancelled = True
            raise
        raise AssertionError


# ------------------------------------------------------------------------------------------------------ the faces


def test_asyncio_code_uses_the_whole_session() -> None:
    async def main() -> None:
        async with portal.open_session(policy=BUDGET, session_id="s", auto=False) as session:
            kept = await session.append(*conversation())
            assert [message.id for message in kept] == [f"m{index}" for index in range(10)]
            pin = await session.pin("never delete anything")
            await session.append(AssistantMessage([ToolCall("c1", name="run", arguments={})], id="a1"))
            assert session.open_calls == ("c1",)
            assert len(await session.close_calls("the tool died")) == 1
            assert session.plan().due
            before = session.snapshot
            outcome = await session.compact()
            assert isinstance(outcome, Committed)
            assert session.last_outcome is outcome
            assert session.snapshot is outcome.context is not before
            turn = await session.turn()
            assert turn.context is session.context
            await session.unpin(pin)
            assert (session.id, session.phase, session.open_calls) == ("s", Phase.IDLE, ())
            assert 0 < session.pressure < 1
            assert "AsyncioSession of <Session s IDLE" in repr(session)

    asyncio.run(main())


def test_plain_code_uses_the_whole_session() -> None:
    with portal.open_session(policy=BUDGET, session_id="s", auto=False) as session:
        session.append(*conversation())
        pin = session.pin("never delete anything")
        session.append(AssistantMessage([ToolCall("c1", name="run", arguments={})], id="a1"))
        assert len(session.close_calls("the tool died")) == 1
        outcome = session.compact()
        assert isinstance(outcome, Committed)
        assert session.snapshot is outcome.context
        assert session.turn().context is session.context
        session.unpin(pin)
        assert (session.id, session.phase, session.open_calls) == ("s", Phase.IDLE, ())
        assert "PlainSession of <Session s IDLE" in repr(session)


def test_an_argument_goes_through_and_an_error_comes_back_as_it_is() -> None:
    async def main() -> None:
        async with portal.open_session(session_id="s", policy=BUDGET, auto=False) as session:
            assert await session.pin("a rule", id="r1") == "r1"
            with pytest.raises(CompactionError, match="is not pinned") as caught:
                await session.unpin("r2")
            assert caught.value.code is ErrorCode.INVALID_INPUT
            outcome = await session.compact(force=True, when_running="refuse")
            assert isinstance(outcome, Failed)

    asyncio.run(main())
    with portal.open_session() as session, pytest.raises(CompactionError, match="is not pinned"):
        session.unpin("r2")


@pytest.mark.parametrize("face", [portal.AsyncioSession, portal.PlainSession])
def test_type_checkers_see_every_async_method_of_a_session(face: type) -> None:
    for name, method in vars(Session).items():
        if not name.startswith("_") and inspect.iscoroutinefunction(method):
            made_by = "_awaited" if face is portal.AsyncioSession else "_blocking"
            assert name in vars(face), f"add `{name} = {made_by}(Session.{name})` to {face.__name__}"
            assert inspect.signature(vars(face)[name]) == inspect.signature(method)
            assert vars(face)[name].__doc__ == method.__doc__
            assert inspect.iscoroutinefunction(vars(face)[name]) == (face is portal.AsyncioSession)


@pytest.mark.parametrize("face", [portal.AsyncioSession, portal.PlainSession])
def test_type_checkers_see_every_read_of_a_session(face: type) -> None:
    reads = {name for name, value in vars(Session).items() if isinstance(value, property)} | set(Session.__annotations__)
    declared = set(face.__mro__[1].__annotations__) - {"_host"}
    shown = {name for name in reads if not name.startswith("_")} - portal.HIDDEN
    assert shown <= declared, "annotate it in _Face"
    with portal.open_session() as session:
        for name in declared:
            assert hasattr(session, name)
        assert declared <= set(dir(session))


def test_it_is_opened_with_the_parameters_of_the_trio_session() -> None:
    assert inspect.signature(portal.open_session) == inspect.signature(compactor.open_session)
    assert "async with" in str(portal.open_session.__doc__)


def test_a_new_method_of_a_session_needs_no_change_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def echo(self: Session, *args: Any, **kwargs: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return self.id, args, kwargs

    monkeypatch.setattr(Session, "echo", echo, raising=False)
    monkeypatch.setattr(Session, "tally", lambda self: {"of": self.id}, raising=False)

    async def main() -> None:
        async with portal.open_session(session_id="s") as session:
            assert await session.echo(1, two=2) == ("s", (1,), {"two": 2})
            assert session.tally() == {"of": "s"}

    asyncio.run(main())
    with portal.open_session(session_id="s") as session:
        assert session.echo(1, two=2) == ("s", (1,), {"two": 2})
        assert session.tally() == {"of": "s"}


def test_what_belongs_to_trio_is_not_shown() -> None:
    with portal.open_session() as session:
        for name in (*portal.HIDDEN, "_actor", "nonsense"):
            with pytest.raises(AttributeError, match=name):
                getattr(session, name)
        assert portal.HIDDEN.isdisjoint(dir(session))
        with pytest.raises(AttributeError):
            session.snapshot = session.context


def test_each_opening_is_entered_once() -> None:
    opening = portal.open_session()
    with opening:
        pass
    with pytest.raises(CompactionError, match="entered before"), opening:
        pass

    async def main() -> None:
        with pytest.raises(CompactionError, match="entered before"):
            async with opening:
                pass

    asyncio.run(main())


def test_what_opening_refuses_leaves_bare() -> None:
    ledger = MemoryLedger()

    async def main() -> None:
        async with portal.open_session(ledger, session_id="s"):
            with pytest.raises(CompactionError) as caught:
                async with portal.open_session(ledger, session_id="s"):
                    pass
            assert caught.value.code is ErrorCode.BUSY
            with pytest.raises(CompactionError) as caught, portal.open_session(ledger, session_id="s"):
                pass
            assert caught.value.code is ErrorCode.BUSY

    asyncio.run(main())
    with portal.open_session(ledger, session_id="s"):
        pass


def test_the_exception_of_the_body_leaves_bare_and_the_session_is_closed() -> None:
    ledger = MemoryLedger()

    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            async with portal.open_session(ledger, session_id="s"):
                raise ZeroDivisionError

    asyncio.run(main())
    with pytest.raises(ZeroDivisionError), portal.open_session(ledger, session_id="s"):
        raise ZeroDivisionError
    with portal.open_session(ledger, session_id="s"):
        pass


def test_a_closed_session_says_so() -> None:
    async def main() -> None:
        async with portal.open_session() as session:
            await session.aclose()
            with pytest.raises(CompactionError, match="closed") as caught:
                await session.append(UserMessage("late"))
            assert caught.value.code is ErrorCode.SESSION_CLOSED
        for call in (session.append(UserMessage("late")), session.compact(), session.aclose(), session.turn()):
            with pytest.raises(CompactionError, match="closed") as caught:
                await call
            assert caught.value.code is ErrorCode.SESSION_CLOSED
        assert len(session.context.messages) == 0, "it can still be read"

    asyncio.run(main())
    with portal.open_session() as session:
        session.aclose()
        with pytest.raises(CompactionError, match="closed"):
            session.pin("late")
    with pytest.raises(CompactionError, match="closed") as caught:
        session.pin("late")
    assert caught.value.code is ErrorCode.SESSION_CLOSED


def test_the_trio_session_names_the_portal_under_asyncio_and_the_other_way_round() -> None:
    async def under_asyncio() -> None:
        with pytest.raises(CompactionError, match=r"compactor\.portal"):
            async with compactor.open_session():
                pass
        with pytest.raises(CompactionError, match=r"compactor\.portal"):
            await compactor.compact_context(compactor.build_active_context({"messages": []}), BUDGET)

    async def under_trio() -> None:
        with pytest.raises(CompactionError, match=r"compactor\.open_session"):
            async with portal.open_session():
                pass

    asyncio.run(under_asyncio())
    trio.run(under_trio)


def test_trio_asyncio_is_never_imported() -> None:
    script = "import sys, compactor.portal\nwith compactor.portal.open_session(): pass\nprint('trio_asyncio' in sys.modules)"
    assert run_script(script) == "False\n"


def run_script(script: str) -> str:
    """Run a script in a process of its own, which must end by itself, and well."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE * 3)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# ------------------------------------------------------------------------------------------- order, threads, loops


def test_the_appends_of_one_task_keep_their_order_and_those_of_many_all_land() -> None:
    async def main() -> None:
        async with portal.open_session(policy=Budget(10**6), auto=False) as session:

            async def one(number: int) -> None:
                for index in range(4):
                    await session.append(UserMessage("text", id=f"{number}-{index}"))

            await asyncio.gather(*[one(number) for number in range(64)])
            ids = [str(message.id) for message in session.context.messages]
            assert len(ids) == 256
            for number in range(64):
                assert [name for name in ids if name.startswith(f"{number}-")] == [f"{number}-{index}" for index in range(4)]

    asyncio.run(main())


def test_two_threads_share_the_one_thread_of_trio() -> None:
    seen: list[str] = []

    def plain(name: str) -> None:
        with portal.open_session(session_id=name) as session:
            for index in range(20):
                session.append(UserMessage("text", id=f"m{index}"))
            seen.append(f"{name} {len(session.context.messages)}")

    async def main(name: str) -> None:
        async with portal.open_session(session_id=name) as session:
            for index in range(20):
                await session.append(UserMessage("text", id=f"m{index}"))
            seen.append(f"{name} {len(session.context.messages)}")

    threads = [threading.Thread(target=plain, args=(f"p{number}",)) for number in range(3)]
    threads += [threading.Thread(target=lambda name=f"a{number}": asyncio.run(main(name))) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(seen) == ["a0 20", "a1 20", "a2 20", "p0 20", "p1 20", "p2 20"]
    assert [thread.name for thread in threading.enumerate() if "portal" in thread.name] == ["compactor portal (Trio)"]


def test_event_loops_come_and_go() -> None:
    ledger = MemoryLedger()

    async def main() -> int:
        async with portal.open_session(ledger, session_id="s") as session:
            await session.append(UserMessage("text"))
            return len(session.context.messages)

    assert [asyncio.run(main()) for _ in range(3)] == [1, 2, 3]


def test_a_session_is_used_from_another_loop_and_read_from_anywhere() -> None:
    async def main() -> None:
        async with portal.open_session() as session:

            def other() -> None:
                asyncio.run(session.append(UserMessage("from the other loop", id="m1")))
                assert session.context.messages[0].id == "m1"

            await asyncio.to_thread(other)
            assert len(session.context.messages) == 1

    asyncio.run(main())


def test_context_variables_go_with_a_call_and_not_beyond() -> None:
    variable = contextvars.ContextVar("variable", default="nothing")
    seen: list[str] = []

    class Logger:
        def info(self, _event: str, **_fields: object) -> None:
            seen.append(variable.get())

    def reader(_request: SummaryRequest) -> str:
        seen.append(variable.get())
        return "short"

    async def main() -> None:
        variable.set("of the opener")
        async with portal.open_session(policy=BUDGET, summarizer=reader, auto=False, logger=Logger()) as session:
            variable.set("of the caller")
            await session.append(*conversation())
            await session.compact()

    asyncio.run(main())
    assert set(seen) == {"of the opener"}

    async def asks(self: Session) -> str:
        return variable.get()

    with portal.open_session() as session, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "asks", asks, raising=False)
        variable.set("of this call")
        assert session.asks() == "of this call"
        variable.set("nothing")


# --------------------------------------------------------------------------------------------------- cancellation


async def check_the_next_run(session: portal.AsyncioSession) -> None:
    await session.append(*[UserMessage("y" * 60, id=f"n{index}") for index in range(6)])
    assert isinstance(await session.compact(), Committed)
    assert session.phase is Phase.IDLE


async def compact_cut(ledger: MemoryLedger, cut: Callable[[asyncio.Task[Any]], Awaitable[object]], summarizer: Any) -> bool:
    """One compaction that is cut; True when it committed."""
    async with portal.open_session(ledger, session_id="s", policy=BUDGET, summarizer=summarizer, auto=False) as session:
        await session.append(*conversation())
        base, context = session.snapshot, session.context
        task = asyncio.create_task(session.compact())
        await cut(task)
        try:
            outcome = await task
        except asyncio.CancelledError:
            assert task.cancelled()
            assert session.snapshot is base
            assert session.context is context
            assert session.last_outcome is None or session.last_outcome.kind == "cancelled"
            committed = False
        else:
            assert isinstance(outcome, Committed)
            assert session.snapshot is session.context is outcome.context
            committed = True
        assert session.phase is Phase.IDLE, "it waited for the end"
        await check_the_next_run(session)
        return committed


def cutting_after(rounds: int, reached: list[bool]) -> Callable[[asyncio.Task[Any]], Awaitable[object]]:
    async def cut(task: asyncio.Task[Any]) -> None:
        for _ in range(rounds):
            await asyncio.sleep(0)
        reached.append(task.cancel())

    return cut


async def answering(_request: SummaryRequest) -> str:
    for _ in range(3):
        await asyncio.sleep(0)
    return "a summary"


@pytest.mark.parametrize("make", [scripted, lambda: answering], ids=["under Trio", "under asyncio"])
def test_a_compaction_cut_one_round_of_the_loop_later_each_time(make: Callable[[], Any]) -> None:
    committed, reached = [False], [True]
    rounds = 0
    while reached[-1]:
        ledger = MemoryLedger()
        committed.append(asyncio.run(compact_cut(ledger, cutting_after(rounds, reached), make())))
        check_runs(read(ledger))
        assert placed(read(ledger)) == committed[-1] + 1
        rounds += 1
    assert committed[-1], "nothing cut the last one"


class StepCutter(trio.abc.Instrument):
    """Cancels an asyncio task at the *at*-th step of any task of Trio, and lets it get there before the step is made."""

    def __init__(self, at: int, loop: asyncio.AbstractEventLoop) -> None:
        self.at, self.loop = at, loop
        self.task: asyncio.Task[Any] | None = None
        self.steps = 0

    def before_task_step(self, task: object) -> None:
        if self.task is not None:
            self.steps += 1
            if self.steps == self.at:
                from_trio(self.loop, self.task.cancel)

    async def __call__(self, task: asyncio.Task[Any]) -> None:
        self.task = task
        await asyncio.wait([task])
        self.task = None


def each_step(scenario: Callable[[MemoryLedger, StepCutter], Awaitable[bool]]) -> list[bool]:
    """Run a scenario cut at the first step of Trio, the second, and so on, until it gets through."""
    results: list[bool] = []

    async def once(at: int, ledger: MemoryLedger) -> bool:
        cutter = StepCutter(at, asyncio.get_running_loop())
        trio_thread = _thread.runtime()
        trio_thread.post(lambda: trio.lowlevel.add_instrument(cutter))
        try:
            results.append(await scenario(ledger, cutter))
        finally:
            trio_thread.post(lambda: trio.lowlevel.remove_instrument(cutter))
        return cutter.steps >= at

    for at in range(1, 500):
        ledger = MemoryLedger()
        if not asyncio.run(once(at, ledger)):
            return results
        check_runs(read(ledger))
    raise AssertionError("it never got through")


@pytest.mark.parametrize("make", [scripted, lambda: answering], ids=["under Trio", "under asyncio"])
def test_a_compaction_cut_at_every_step_of_trio(make: Callable[[], Any]) -> None:
    results = each_step(lambda ledger, cutter: compact_cut(ledger, cutter, make()))
    assert not results[0]
    assert results[-1]
    assert results[:-1].count(True) > 0, "cut after the commit, it returns what was committed"
    assert results == sorted(results), "once it may commit, it does"


async def appends_cut(ledger: MemoryLedger, cut: Callable[[asyncio.Task[Any]], Awaitable[object]]) -> bool:
    done: list[str] = []

    async def work() -> None:
        for index in range(3):
            await session.append(UserMessage("text", id=f"m{index}"))
            done.append(f"m{index}")
            await session.pin("rule", id=f"r{index}")
            done.append(f"r{index}")

    async with portal.open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
        task = asyncio.create_task(work())
        await cut(task)
        await asyncio.wait([task])
        assert task.cancelled() == (len(done) < 6)
        kept = [message.id for message in session.context.messages]
        pins = [requirement.id for requirement in session.context.requirements]
        assert kept == [name for name in done if name[0] == "m"]
        assert pins == [name for name in done if name[0] == "r"]
        await session.append(UserMessage("goes on"))
    return len(done) == 6


def test_appends_and_pins_are_cancelled_if_and_only_if_not_recorded() -> None:
    reached, whole = [True], [False]
    rounds = 0
    while reached[-1]:
        whole.append(asyncio.run(appends_cut(MemoryLedger(), cutting_after(rounds, reached))))
        rounds += 1
    assert whole[-1]
    results = each_step(appends_cut)
    assert results[-1]
    assert not results[0]


async def opening_cut(ledger: MemoryLedger, cut: Callable[[asyncio.Task[Any]], Awaitable[object]]) -> bool:
    """Cut while a session is opened, used and left; afterwards it can be opened by others, at once."""
    got_through = False

    async def work() -> None:
        nonlocal got_through
        async with portal.open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
            await session.append(UserMessage("text"))
            got_through = True

    task = asyncio.create_task(work())
    await cut(task)
    await asyncio.wait([task])
    assert task.cancelled() or got_through
    async with portal.open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
        assert len(session.context.messages) == got_through
    return got_through


def test_a_session_that_is_cut_at_any_step_is_closed() -> None:
    reached, whole = [True], [False]
    rounds = 0
    while reached[-1]:
        whole.append(asyncio.run(opening_cut(MemoryLedger(), cutting_after(rounds, reached))))
        rounds += 1
    assert whole[-1]
    results = each_step(opening_cut)
    assert results[-1]
    assert not results[0]


def late(scenario: Callable[[portal.AsyncioSession, LateLedger], Awaitable[object]]) -> None:
    """Run a scenario with a ledger that can act between a write and its acknowledgement."""

    async def main() -> None:
        ledger = LateLedger()
        async with portal.open_session(ledger, session_id="s", policy=BUDGET, auto=False, summarizer=scripted()) as session:
            await session.append(*conversation())
            await scenario(session, ledger)
            assert ledger.late is None, "it came to pass"
            await session.append(UserMessage("goes on"))
            current = asyncio.current_task()
            assert current is not None
            assert current.cancelling() == 0

    asyncio.run(main())


def test_a_cancellation_that_comes_too_late_gives_the_value_and_is_met_at_the_next_await() -> None:
    async def scenario(session: portal.AsyncioSession, ledger: LateLedger) -> None:
        steps: list[Any] = []

        async def work() -> None:
            steps.append((await session.append(UserMessage("text", id="m")))[0].id)
            steps.append(asyncio.current_task().cancelling())
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError as error:
                steps.append(error.args)
                raise

        task = asyncio.create_task(work())
        ledger.late = lambda: from_trio(task.get_loop(), lambda: task.cancel("enough"))
        await asyncio.wait([task])
        assert task.cancelled()
        assert steps == ["m", 1, ("enough",)]
        assert session.context.messages[-1].id == "m"

    late(scenario)


def test_a_compaction_that_was_committing_is_returned_and_the_cancellation_is_met_later() -> None:
    async def scenario(session: portal.AsyncioSession, ledger: LateLedger) -> None:
        outcomes: list[object] = []

        async def work() -> None:
            outcomes.append(await session.compact())
            await session.append(UserMessage("never", id="never"))

        task = asyncio.create_task(work())
        ledger.at = EventType.COMPACTION_ENDED
        ledger.late = lambda: from_trio(task.get_loop(), task.cancel)
        await asyncio.wait([task])
        assert task.cancelled()
        assert isinstance(outcomes[0], Committed)
        assert session.snapshot is outcomes[0].context is session.context

    late(scenario)


def test_a_task_that_ends_with_what_it_recorded_is_not_cancelled() -> None:
    async def scenario(session: portal.AsyncioSession, ledger: LateLedger) -> None:
        task = asyncio.create_task(session.append(UserMessage("text", id="m")))
        ledger.late = lambda: from_trio(task.get_loop(), task.cancel)
        (message,) = await task
        assert message.id == "m"

    late(scenario)


def test_a_timeout_that_passed_after_the_commit_is_a_timeout_at_the_next_await() -> None:
    async def scenario(session: portal.AsyncioSession, ledger: LateLedger) -> None:
        loop, kept = asyncio.get_running_loop(), ()
        with pytest.raises(TimeoutError):  # noqa: PT012
            async with asyncio.timeout(None) as limit:
                ledger.late = lambda: from_trio(loop, lambda: limit.reschedule(loop.time()))
                kept = await session.append(UserMessage("text", id="m"))
                await asyncio.sleep(PATIENCE)
        assert len(kept) == 1

    late(scenario)


def test_a_timeout_that_is_left_takes_its_cancellation_along() -> None:
    async def scenario(session: portal.AsyncioSession, ledger: LateLedger) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as limit:
            ledger.late = lambda: from_trio(loop, lambda: limit.reschedule(loop.time()))
            kept = await session.append(UserMessage("text", id="m"))
        assert limit.expired()
        assert len(kept) == 1
        for _ in range(3):
            await asyncio.sleep(0)

    late(scenario)


def test_two_timeouts_that_passed_at_once_are_both_told() -> None:
    async def scenario(session: portal.AsyncioSession, ledger: LateLedger) -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(TimeoutError):  # noqa: PT012
            async with asyncio.timeout(None) as outer:
                async with asyncio.timeout(None) as inner:

                    def both() -> None:
                        outer.reschedule(loop.time())
                        inner.reschedule(loop.time())

                    ledger.late = lambda: from_trio(loop, both)
                    await session.append(UserMessage("text", id="m"))
                # Left without an await: the inner one took back its own request, not the outer one's.
                await asyncio.sleep(PATIENCE)

    late(scenario)


def test_wait_for_gives_what_was_recorded() -> None:
    async def scenario(session: portal.AsyncioSession, ledger: LateLedger) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        inner = asyncio.create_task(session.append(UserMessage("text", id="m")))
        ledger.late = lambda: from_trio(loop, inner.cancel)
        (message,) = await asyncio.wait_for(inner, PATIENCE)
        assert message.id == "m"
        assert task is not None
        assert task.cancelling() == 0

    late(scenario)


def test_a_task_group_that_fails_cancels_its_calls_and_keeps_what_was_recorded() -> None:
    async def scenario(session: portal.AsyncioSession, ledger: LateLedger) -> None:
        loop, fail = asyncio.get_running_loop(), asyncio.Event()

        async def failing() -> None:
            await fail.wait()
            raise ZeroDivisionError

        kept = ()
        with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012
            async with asyncio.TaskGroup() as group:
                group.create_task(failing())
                await asyncio.sleep(0)
                ledger.late = lambda: from_trio(loop, lambda: (fail.set(), loop.call_soon(lambda: None)))
                kept = await session.append(UserMessage("text", id="m"))
        assert [type(error) for error in caught.value.exceptions] == [ZeroDivisionError]
        assert len(kept) == 1

    late(scenario)


def test_an_error_is_not_replaced_by_a_cancellation_that_comes_with_it() -> None:
    async def failing(self: Session) -> None:
        late_call()
        raise ZeroDivisionError

    late_call: Callable[[], object] = lambda: None  # noqa: E731 - set below

    async def main() -> None:
        nonlocal late_call
        async with portal.open_session() as session:
            seen: list[str] = []

            async def work() -> None:
                try:
                    await session.failing()
                except ZeroDivisionError:
                    seen.append("error")
                await asyncio.sleep(0)

            task = asyncio.create_task(work())
            loop = asyncio.get_running_loop()
            late_call = lambda: from_trio(loop, task.cancel)  # noqa: E731
            await asyncio.wait([task])
            assert task.cancelled()
            assert seen == ["error"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "failing", failing, raising=False)
        asyncio.run(main())


def test_a_task_that_was_cancelled_before_it_called_is_cancelled() -> None:
    async def main() -> None:
        async with portal.open_session() as session:

            async def work() -> None:
                asyncio.current_task().cancel()
                await session.compact()

            task = asyncio.create_task(work())
            await asyncio.wait([task])
            assert task.cancelled() or not task.exception()
            # close_calls works inside a cancelled scope, so here too; and the cancellation is not lost.
            closed: list[object] = []

            async def closing() -> None:
                asyncio.current_task().cancel()
                closed.append(await session.close_calls("cancelled"))
                await asyncio.sleep(0)

            task = asyncio.create_task(closing())
            await asyncio.wait([task])
            assert task.cancelled()
            assert closed == [()]

    asyncio.run(main())


def test_a_second_cancellation_does_not_end_the_wait() -> None:
    release = threading.Event()

    async def stubborn(request: SummaryRequest) -> str:
        begun.set()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(release.wait, PATIENCE)
        return "too late"

    begun = threading.Event()

    async def main() -> None:
        summarizer = portal.trio_summarizer(stubborn)
        async with portal.open_session(policy=BUDGET, summarizer=summarizer, auto=False, grace=PATIENCE) as session:
            await session.append(*conversation())
            task = asyncio.create_task(session.compact())
            await until(begun.is_set)
            for _ in range(5):
                task.cancel()
                for _ in range(10):
                    await asyncio.sleep(0)
                assert not task.done()
            assert session.phase is Phase.SUMMARIZING
            release.set()
            await asyncio.wait([task])
            assert task.cancelled()
            assert session.phase is Phase.IDLE
            assert session.snapshot.summary is None

    asyncio.run(main())


def test_a_timeout_ends_a_compaction_and_nothing_changed() -> None:
    async def main() -> None:
        hanging = Hanging()
        async with portal.open_session(policy=BUDGET, summarizer=hanging, auto=False) as session:
            await session.append(*conversation())
            base = session.snapshot
            with pytest.raises(TimeoutError):  # noqa: PT012
                async with asyncio.timeout(None) as limit:
                    asyncio.get_running_loop().create_task(reschedule(limit, hanging.begun))
                    await session.compact()
            assert hanging.cancelled, "the summarizer was cancelled and awaited"
            assert session.snapshot is base
            assert session.phase is Phase.IDLE

    async def reschedule(limit: asyncio.Timeout, event: asyncio.Event) -> None:
        await event.wait()
        limit.reschedule(asyncio.get_running_loop().time())

    asyncio.run(main())


def test_leaving_when_cancelled_closes_the_session_and_waits() -> None:
    async def main() -> None:
        ledger, hanging = MemoryLedger(), Hanging()
        sessions: list[portal.AsyncioSession] = []

        async def work() -> None:
            async with portal.open_session(ledger, session_id="s", policy=BUDGET, summarizer=hanging) as session:
                sessions.append(session)
                await session.append(*conversation())
                await asyncio.get_running_loop().create_future()

        task = asyncio.create_task(work())
        await hanging.begun.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert hanging.cancelled
        outcome = sessions[0].last_outcome
        assert isinstance(outcome, Failed)
        assert outcome.kind == "cancelled"
        async with portal.open_session(ledger, session_id="s") as again:
            assert len(again.context.messages) == 10

    asyncio.run(main())


def test_a_cancellation_while_leaving_waits_and_is_raised_or_yields_to_the_error_of_the_body() -> None:
    async def main(error: Exception | None) -> None:
        begun, release = asyncio.Event(), asyncio.Event()

        async def slow_to_end(_request: SummaryRequest) -> str:
            begun.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ending.set()
                await release.wait()
            raise AssertionError

        ending = asyncio.Event()

        async def work() -> None:
            async with portal.open_session(policy=BUDGET, summarizer=slow_to_end, grace=PATIENCE) as session:
                await session.append(*conversation())
                await begun.wait()
                if error is not None:
                    raise error

        task = asyncio.create_task(work())
        await ending.wait()
        for _ in range(3):
            task.cancel()
            for _ in range(10):
                await asyncio.sleep(0)
            assert not task.done()
        release.set()
        await asyncio.wait([task])
        if error is None:
            assert task.cancelled()
        else:
            assert task.exception() is error

    asyncio.run(main(None))
    asyncio.run(main(ZeroDivisionError()))


def test_calls_of_other_tasks_end_when_the_session_is_left() -> None:
    async def wait_for_ever(self: Session) -> None:
        await trio.sleep_forever()

    async def main() -> None:
        hanging = Hanging()
        async with portal.open_session(policy=BUDGET, summarizer=hanging, auto=False) as session:
            await session.append(*conversation())
            compacting = asyncio.create_task(session.compact())
            waiting = asyncio.create_task(session.wait_for_ever())
            cancelled = asyncio.create_task(session.wait_for_ever())
            await hanging.begun.wait()
        outcome = await compacting
        assert isinstance(outcome, Failed)
        assert outcome.kind == "cancelled"
        with pytest.raises(CompactionError, match="not recorded") as caught:
            await waiting
        assert caught.value.code is ErrorCode.SESSION_CLOSED
        cancelled.cancel()
        await asyncio.wait([cancelled])
        assert cancelled.done()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "wait_for_ever", wait_for_ever, raising=False)
        asyncio.run(main())


# ------------------------------------------------------------------------------------- functions of the caller


def compacted_under_asyncio(summarizer: Any, **options: Any) -> Any:
    """The outcome of one compaction with this summarizer."""

    async def main() -> Any:
        async with portal.open_session(policy=BUDGET, summarizer=summarizer, auto=False, **options) as session:
            await session.append(*conversation())
            return await session.compact()

    return asyncio.run(main())


async def on_the_loop() -> str:
    asyncio.get_running_loop()
    await asyncio.sleep(0)
    return f"asyncio in {threading.current_thread().name}"


async def in_trio() -> str:
    await trio.lowlevel.checkpoint()
    return f"trio in {threading.current_thread().name}"


async def asyncio_function(_request: SummaryRequest) -> str:
    return await on_the_loop()


async def trio_function(_request: SummaryRequest) -> str:
    return await in_trio()


def plain_function(_request: SummaryRequest) -> str:
    name = threading.current_thread().name
    return f"trio {trio.lowlevel.in_trio_task()} in {name[:11]}"


def needs_the_loop(request: SummaryRequest) -> Awaitable[str]:
    return asyncio.ensure_future(asyncio_function(request))


class AsyncioObject:
    async def __call__(self, request: SummaryRequest) -> str:
        return await asyncio_function(request)

    async def method(self, request: SummaryRequest) -> str:
        return await asyncio_function(request)


MAIN = "asyncio in MainThread"
PORTAL = "in compactor portal (Trio)"


@pytest.mark.parametrize(
    ("summarizer", "where"),
    [
        (asyncio_function, MAIN),
        (AsyncioObject(), MAIN),
        (AsyncioObject().method, MAIN),
        (functools.partial(asyncio_function), MAIN),
        (lambda request: asyncio_function(request), MAIN),  # noqa: PLW0108 - not a coroutine function, but gives an awaitable
        (portal.asyncio_summarizer(needs_the_loop), MAIN),
        (portal.trio_summarizer(lambda request: portal.asyncio_summarizer(asyncio_function)(request)), MAIN),  # noqa: PLW0108
        (plain_function, f"trio True {PORTAL[:14]}"),
        (portal.trio_summarizer(trio_function), f"trio {PORTAL}"),
    ],
)
def test_under_asyncio_each_function_runs_where_it_belongs(summarizer: Any, where: str) -> None:
    outcome = compacted_under_asyncio(summarizer)
    assert isinstance(outcome, Committed), outcome
    assert outcome.context.summary.content == where


def test_what_this_library_made_runs_under_trio_wherever_it_is_given() -> None:
    made = scripted("mine")
    assert compacted_under_asyncio(made).context.summary.content == "mine"
    outcome = compacted_under_asyncio(blocking(plain_function))
    assert outcome.context.summary.content.startswith("trio False in plain_funct")


@pytest.mark.parametrize(
    ("summarizer", "where"),
    [(plain_function, "trio False in plain_funct"), (trio_function, f"trio {PORTAL}"), (scripted("mine"), "mine")],
)
def test_in_plain_code_each_function_runs_where_it_belongs(summarizer: Any, where: str) -> None:
    with portal.open_session(policy=BUDGET, summarizer=summarizer, auto=False) as session:
        session.append(*conversation())
        outcome = session.compact()
        assert isinstance(outcome, Committed), outcome
        assert outcome.context.summary.content.startswith(where)


def test_an_asyncio_summarizer_without_a_loop_fails_by_name() -> None:
    with portal.open_session(policy=BUDGET, summarizer=portal.asyncio_summarizer(asyncio_function), auto=False) as session:
        session.append(*conversation())
        outcome = session.compact()
    assert isinstance(outcome, Failed)
    assert "opened under asyncio" in str(outcome.error.__cause__)


def test_what_an_asyncio_summarizer_raises_ends_its_run_alone() -> None:
    async def raising(_request: SummaryRequest) -> str:
        raise ZeroDivisionError

    async def cancelling(_request: SummaryRequest) -> str:
        raise asyncio.CancelledError

    for summarizer, cause in ((raising, ZeroDivisionError), (cancelling, asyncio.CancelledError)):
        outcome = compacted_under_asyncio(summarizer)
        assert isinstance(outcome, Failed)
        assert outcome.code is ErrorCode.SUMMARIZER_FAILED
        assert isinstance(outcome.error.__cause__, cause)


def test_the_time_limit_of_a_run_cancels_its_asyncio_task_and_waits_for_it() -> None:
    async def main() -> None:
        hanging = Hanging()
        budget = Budget(400, target_units=300, summary_max_units=60, retain_recent_messages=1, timeout=0.01)
        async with portal.open_session(policy=budget, summarizer=hanging, auto=False) as session:
            await session.append(*conversation())
            outcome = await session.compact()
        assert isinstance(outcome, Failed)
        assert outcome.kind == "timeout"
        assert hanging.cancelled

    asyncio.run(main())


@pytest.mark.parametrize("make", [lambda: asyncio_function, lambda: lambda request: asyncio_function(request)])  # noqa: PLW0108
def test_a_summarizer_that_is_cancelled_before_its_first_step_ends(make: Callable[[], Any]) -> None:
    """The loop is busy while the run begins and is cancelled: the task is made and cancelled in the same round."""

    async def main() -> None:
        async with portal.open_session(policy=BUDGET, summarizer=make(), auto=False, grace=PATIENCE) as session:
            await session.append(*conversation())
            cancelled = threading.Event()

            async def elsewhere() -> bool:
                task = asyncio.create_task(session.compact())
                await until(lambda: session.phase is Phase.SUMMARIZING)
                await session.pin("the errand is on its way")
                task.cancel()
                for _ in range(3):
                    await session.pin("the cancellation, too")
                cancelled.set()
                await asyncio.wait([task])
                return task.cancelled()

            results: list[bool] = []
            thread = threading.Thread(target=lambda: results.append(asyncio.run(elsewhere())))
            thread.start()
            assert cancelled.wait(PATIENCE), "on the loop, on purpose"
            await asyncio.to_thread(thread.join, PATIENCE)
            assert results == [True]
            assert session.phase is Phase.IDLE

    asyncio.run(main())


def test_a_summarizer_may_append_to_its_session_but_not_wait_for_it() -> None:
    codes: list[ErrorCode] = []

    async def calling_back(_request: SummaryRequest) -> str:
        await session.append(UserMessage("from the summarizer", id="x"))
        for call in (session.compact(), session.aclose()):
            try:
                await call
            except CompactionError as error:
                codes.append(error.code)
        return "a summary"

    session: Any = None

    async def main() -> None:
        nonlocal session
        async with portal.open_session(policy=BUDGET, summarizer=calling_back, auto=False) as session:
            await session.append(*conversation())
            assert isinstance(await session.compact(), Committed)
            assert session.context.messages[-1].id == "x"

    asyncio.run(main())
    assert codes == [ErrorCode.REENTRANT] * 2

    def blocking_back(_request: SummaryRequest) -> str:
        plain.append(UserMessage("from the summarizer", id="x"))
        try:
            plain.compact()
        except CompactionError as error:
            codes.append(error.code)
        return "a summary"

    with portal.open_session(policy=BUDGET, summarizer=blocking_back, auto=False) as plain:
        plain.append(*conversation())
        assert isinstance(plain.compact(), Committed)
        assert plain.context.messages[-1].id == "x"
    assert codes == [ErrorCode.REENTRANT] * 3


def test_the_plain_face_refuses_to_block_the_thread_of_trio() -> None:
    def in_the_way(_request: SummaryRequest) -> str:
        with pytest.raises(CompactionError, match="block for ever") as caught:
            plain.append(UserMessage("x"))
        return caught.value.code.value

    with portal.open_session() as plain:
        outcome = compacted_under_asyncio(in_the_way)
    assert outcome.context.summary.content == ErrorCode.REENTRANT.value


def test_a_summarizer_that_interrupts_ends_the_session_with_it() -> None:
    def interrupting(_request: SummaryRequest) -> str:
        raise KeyboardInterrupt

    async def main() -> None:
        async with portal.open_session(policy=BUDGET, summarizer=interrupting, auto=False) as session:
            await session.append(*conversation())
            await session.compact()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())

    async def exiting(_request: SummaryRequest) -> str:
        raise SystemExit(3)

    async def other() -> None:
        async with portal.open_session(policy=BUDGET, summarizer=exiting, auto=False) as session:
            await session.append(*conversation())
            await session.compact()

    with pytest.raises(SystemExit):
        asyncio.run(other())


# ---------------------------------------------------------------------------------------------------------- Ctrl-C


def press_ctrl_c() -> None:
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_ctrl_c_in_plain_code_cancels_waits_and_leaves_as_itself() -> None:
    begun, pressed = threading.Event(), 0

    async def hanging(_request: SummaryRequest) -> str:
        nonlocal pressed
        for _ in range(3):
            pressed += 1
            press_ctrl_c()
        try:
            await trio.sleep_forever()
        finally:
            begun.set()

    ledger = MemoryLedger()
    with portal.open_session(ledger, session_id="s", policy=BUDGET, summarizer=hanging, auto=False) as session:
        session.append(*conversation())
        base = session.snapshot
        with pytest.raises(KeyboardInterrupt):
            session.compact()
        assert begun.is_set()
        assert pressed == 3
        assert session.phase is Phase.IDLE
        assert session.snapshot is base
        session.append(UserMessage("goes on", id="next"))
    check_runs(read(ledger))
    assert recorded(ledger)[-1] == "next"


def test_ctrl_c_while_a_session_is_opened_or_left_leaves_it_closed() -> None:
    class Pressing(MemoryLedger):
        acquiring = releasing = False

        async def acquire(self, session_id: str, *, owner: str, takeover: bool = False) -> Any:
            if self.acquiring:
                press_ctrl_c()
                await trio.sleep_forever()
            return await super().acquire(session_id, owner=owner, takeover=takeover)

        async def release(self, lease: Lease) -> None:
            if self.releasing:
                press_ctrl_c()
                await trio.lowlevel.cancel_shielded_checkpoint()
            await super().release(lease)

    ledger = Pressing()
    ledger.acquiring = True
    with pytest.raises(KeyboardInterrupt), portal.open_session(ledger, session_id="s"):
        raise AssertionError
    ledger.acquiring, ledger.releasing = False, True
    with pytest.raises(KeyboardInterrupt), portal.open_session(ledger, session_id="s"):
        pass
    ledger.releasing = False
    with portal.open_session(ledger, session_id="s"):
        pass


def test_ctrl_c_that_comes_too_late_for_the_opening_closes_again() -> None:
    class Pressing(LateLedger):
        at = EventType.REQUIREMENT_PINNED

        async def find(self, session_id: str, name: str) -> int | None:
            found = await super().find(session_id, name)
            with trio.CancelScope(shield=True):
                if not pressed:
                    pressed.append(True)
                    press_ctrl_c()
                    await trio.lowlevel.checkpoint()
            return found

    pressed: list[bool] = []
    ledger = Pressing()
    with pytest.raises(KeyboardInterrupt), portal.open_session(ledger, session_id="s"):
        raise AssertionError
    with portal.open_session(ledger, session_id="s"):
        pass


# ------------------------------------------------------------------------------- ends: loops, threads, processes


def test_a_loop_that_is_closed_under_a_session_leaves_it_closed() -> None:
    class Telling(MemoryLedger):
        async def release(self, lease: Lease) -> None:
            await super().release(lease)
            released.set()

    released = threading.Event()
    ledger = Telling()

    async def waits_for_ever(self: Session) -> None:
        begun.set()
        await trio.sleep_forever()

    begun = threading.Event()

    async def work() -> None:
        async with portal.open_session(ledger, session_id="s") as session:
            await session.waits_for_ever()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "waits_for_ever", waits_for_ever, raising=False)
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda _loop, _context: None)
        coroutine = work()
        step = loop.create_task(coroutine)
        loop.run_until_complete(until(begun.is_set))
        assert not step.done()
        loop.close()
        coroutine.close()
    assert released.wait(PATIENCE)
    del step
    gc.collect()


def test_a_summarizer_of_a_closed_loop_fails_and_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compactor.portal._functions.LOOK_SECONDS", 0.01)

    async def never(_request: SummaryRequest) -> str:
        begun.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    begun = threading.Event()
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    opening = portal.open_session(policy=BUDGET, summarizer=never, auto=False)
    session = loop.run_until_complete(opening.__aenter__())

    async def elsewhere(close: bool) -> Any:
        task = asyncio.create_task(session.compact())
        if close:
            await asyncio.to_thread(ready.wait, PATIENCE)
            loop.close()
        return await task

    async def turning() -> None:
        ready.clear()
        while not begun.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0)

    ready = threading.Event()
    loop.run_until_complete(session.append(*conversation()))
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(asyncio.run(elsewhere(True))))
    thread.start()
    loop.run_until_complete(turning())
    ready.set()
    thread.join(PATIENCE)
    outcomes.append(asyncio.run(elsewhere(False)))
    for outcome in outcomes:
        assert isinstance(outcome, Failed)
        assert "is closed" in str(outcome.error.__cause__)
    assert len(outcomes) == 2
    asyncio.run(opening.__aexit__(None, None, None))
    gc.collect()


def test_a_crash_of_trios_thread_is_told_and_the_next_session_gets_another() -> None:
    def crash() -> None:
        raise ZeroDivisionError

    async def main() -> None:
        first = _thread.runtime()
        with pytest.raises(CompactionError) as caught:  # noqa: PT012
            async with portal.open_session() as session:
                await session.append(UserMessage("text"))
                first.post(crash)
                await first_gone(first)
                await session.append(UserMessage("text"))
        assert caught.value.code is ErrorCode.SESSION_CLOSED
        assert "has ended" in str(caught.value)
        assert isinstance(caught.value.__cause__, trio.TrioInternalError)
        async with portal.open_session() as session:
            await session.append(UserMessage("text"))
        assert _thread.runtime() is not first

    async def first_gone(first: _thread.Runtime) -> None:
        await until(lambda: not first.alive)

    asyncio.run(main())


def test_what_is_open_when_the_interpreter_exits_is_closed() -> None:
    script = """
        import asyncio, threading
        from compactor import MemoryLedger, UserMessage, portal

        class Telling(MemoryLedger):
            async def release(self, lease):
                await super().release(lease)
                print("released", flush=True)

        def forgotten():
            session = portal.open_session(Telling(), session_id="s").__enter__()
            session.append(UserMessage("hello"))
            opened.set()

        opened = threading.Event()
        thread = threading.Thread(target=forgotten, daemon=True)
        thread.start()
        opened.wait()
    """
    assert run_script(script) == "released\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_gets_a_thread_of_its_own_and_leaves_the_parents_sessions_alone() -> None:
    script = """
        import os
        from compactor import CompactionError, UserMessage, portal

        with portal.open_session(session_id="parent") as session:
            session.append(UserMessage("hello"))
            child = os.fork()
            if child == 0:
                try:
                    session.append(UserMessage("from the child"))
                except CompactionError as error:
                    print("child:", error.code.name, error.message, flush=True)
                with portal.open_session(session_id="child") as own:
                    own.append(UserMessage("hello"))
                    print("child:", len(own.context.messages), flush=True)
            else:
                assert os.waitpid(child, 0)[1] == 0
                session.append(UserMessage("goes on"))
                print("parent:", len(session.context.messages), flush=True)
    """
    assert run_script(script).splitlines() == [
        "child: SESSION_CLOSED the session belongs to the process that opened it",
        "child: 1",
        "parent: 2",
    ]


def test_a_call_that_is_posted_to_a_thread_that_ends_meanwhile_is_answered() -> None:
    """Its thread may end between a look at it and the posting, or be lost without a word."""
    own = _thread.Runtime()
    own.close()
    assert not own.alive

    async def nothing() -> None:
        """Never run."""

    gone, own.gone = own.gone, None
    with pytest.raises(CompactionError, match="was lost"), pytest.MonkeyPatch.context() as patch:  # noqa: PT012
        patch.setattr(_thread, "LOOK_SECONDS", 0.01)
        own.wait_plain(lambda: own.nursery, nothing)
    own.gone = gone
    with pytest.raises(CompactionError, match="has ended"):
        own.wait_plain(lambda: own.nursery, nothing)
    with pytest.raises(CompactionError, match="has ended"):
        asyncio.run(own.wait_asyncio(lambda: own.nursery, nothing))
