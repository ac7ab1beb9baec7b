"""Whatever a summarizer does: a named failure or a clean timeout, the context is the one before, and the next run commits.

Every kind goes through both doors, ``compact_context`` and a session.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import threading
import types
from collections.abc import Callable
from typing import Any

import attrs
import pytest
import trio
import trio.testing
from scenes import BUDGET, PATIENT, Swap, conversation, good, user

from compactor.compaction import compact_context
from compactor.errors import CompactionError, ErrorCode, FailureKind
from compactor.outcomes import Committed, Failed
from compactor.phases import Phase
from compactor.plain import BLANK
from compactor.session import open_session
from compactor.stores import MemoryLedger

REJECTED, SUMMARIZER, TIMEOUT = FailureKind.REJECTED, FailureKind.SUMMARIZER, FailureKind.TIMEOUT
FAILED, FOREIGN = ErrorCode.SUMMARIZER_FAILED, ErrorCode.ASYNC_VALUE_UNOBSERVABLE
INVALID, INSUFFICIENT = ErrorCode.SUMMARY_INVALID, ErrorCode.SUMMARY_INSUFFICIENT


@attrs.frozen
class Kind:
    """One way to be hostile, and what has to come of it."""

    name: str
    make: Callable[[], Callable[[Any], Any]]
    code: ErrorCode
    kind: FailureKind
    cause: type[BaseException] | None = None


KINDS: list[Kind] = []


def hostile(code: ErrorCode, kind: FailureKind, cause: type[BaseException] | None = None) -> Callable[[Any], Any]:
    """Register a maker of summarizers."""

    def register(make: Any) -> Any:
        KINDS.append(Kind(make.__name__, make, code, kind, cause))
        return make

    return register


def answers(name: str, value: Any, code: ErrorCode, kind: FailureKind = REJECTED) -> None:
    """Register a plain and an async summarizer that answer *value*."""

    async def later(_request: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return value

    KINDS.append(Kind(f"answers_{name}", lambda: lambda _request: value, code, kind))
    KINDS.append(Kind(f"answers_{name}_later", lambda: later, code, kind))


# ------------------------------------------------------------------------------------------------------- bad answers


class Text(str):
    """Text with opinions."""

    __slots__ = ()

    def __len__(self) -> int:
        raise AssertionError("a method of a str subclass was called")

    strip = __eq__ = __str__ = __hash__ = __iter__ = __len__  # type: ignore[assignment]


class Liar:
    """Says that it is a str."""

    __class__ = str  # type: ignore[assignment]


class Explosive:
    """Raises whatever one does with it."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was touched")


answers("none", None, INVALID)
answers("a_number", 17, INVALID)
answers("bytes", b"text", INVALID)
answers("a_list", ["text"], INVALID)
answers("a_str_subclass", Text("text"), INVALID)
answers("a_lying_class", Liar(), INVALID)
answers("an_explosive", Explosive(), INVALID)
answers("a_class", str, INVALID)
answers("an_exception", ValueError("returned"), INVALID)
answers("empty", "", INSUFFICIENT)
answers("all_blanks", BLANK, INSUFFICIENT)
answers("over_budget", "x" * 101, INSUFFICIENT)
KINDS.extend(
    Kind(f"answers_blank_{ord(blank):04x}", lambda blank=blank: lambda _request: blank * 3, INSUFFICIENT, REJECTED)
    for blank in BLANK
)


@hostile(INVALID, REJECTED)
def returns_an_async_generator() -> Any:
    async def generate(_request: Any) -> Any:
        yield "text"

    return generate


@hostile(INVALID, REJECTED)
def returns_a_generator() -> Any:
    def generate(_request: Any) -> Any:
        yield "text"

    return generate


@hostile(INVALID, REJECTED)
def returns_a_function() -> Any:
    return lambda _request: good


# --------------------------------------------------------------------------------------------------------- awaitables


@hostile(FAILED, SUMMARIZER)
def answers_with_awaitables_for_too_long() -> Any:
    async def deeper(levels: int) -> Any:
        return deeper(levels - 1) if levels else "text"

    return lambda _request: deeper(64)


@hostile(FAILED, SUMMARIZER)
def answers_with_itself() -> Any:
    class Itself:
        def __await__(self) -> Any:
            return self
            yield

    return lambda _request: Itself()


@hostile(FAILED, SUMMARIZER, TypeError)
def answers_with_an_await_that_is_no_iterator() -> Any:
    class Broken:
        def __await__(self) -> Any:
            return 5

    return lambda _request: Broken()


@hostile(FAILED, SUMMARIZER, ZeroDivisionError)
def answers_with_an_await_that_raises() -> Any:
    class Broken:
        def __await__(self) -> Any:
            raise ZeroDivisionError

    return lambda _request: Broken()


@hostile(FAILED, SUMMARIZER, RuntimeError)
def answers_with_an_await_that_raises_stop_iteration() -> Any:
    class Broken:
        def __await__(self) -> Any:
            raise StopIteration("text")

    return lambda _request: Broken()


class Stubborn:
    """An awaitable that yields what Trio does not know, and whose close raises."""

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return "not Trio's"

    def send(self, _value: object) -> Any:
        return "not Trio's"

    def close(self) -> None:
        raise ZeroDivisionError


@hostile(FOREIGN, SUMMARIZER)
def answers_with_an_awaitable_whose_close_raises() -> Any:
    return lambda _request: Stubborn()


@hostile(FAILED, SUMMARIZER)
def answers_with_awaitables_for_too_long_the_last_of_which_cannot_be_closed() -> Any:
    class Chain(Stubborn):
        def send(self, _value: object) -> Any:
            raise StopIteration(self)

    return lambda _request: Chain()


@hostile(FOREIGN, SUMMARIZER)
def answers_with_an_asyncio_future() -> Any:
    def answer(_request: Any) -> Any:
        loop = asyncio.new_event_loop()
        try:
            return loop.create_future()
        finally:
            loop.close()

    return answer


@hostile(FOREIGN, SUMMARIZER)
def answers_with_a_python_future() -> Any:
    def answer(_request: Any) -> Any:
        loop = asyncio.new_event_loop()
        try:
            return asyncio.futures._PyFuture(loop=loop)
        finally:
            loop.close()

    return answer


@hostile(FOREIGN, SUMMARIZER)
def awaits_asyncio_sleep_zero() -> Any:
    async def answer(_request: Any) -> Any:
        await asyncio.sleep(0)
        return "text"

    return answer


@hostile(FOREIGN, SUMMARIZER)
def returns_asyncio_sleep_zero() -> Any:
    return lambda _request: asyncio.sleep(0, "text")


@hostile(FOREIGN, SUMMARIZER)
def awaits_an_asyncio_future() -> Any:
    async def answer(_request: Any) -> Any:
        loop = asyncio.new_event_loop()
        try:
            return await loop.create_future()
        finally:
            loop.close()

    return answer


@hostile(FAILED, SUMMARIZER, RuntimeError)
def awaits_asyncio_sleep_without_a_loop() -> Any:
    async def answer(_request: Any) -> Any:
        await asyncio.sleep(1)

    return answer


@hostile(FOREIGN, SUMMARIZER)
def answers_with_a_concurrent_future() -> Any:
    def answer(_request: Any) -> Any:
        future: concurrent.futures.Future[str] = concurrent.futures.Future()
        future.set_result("text")
        return future

    return answer


@hostile(FOREIGN, SUMMARIZER)
def yields_something_else_to_the_scheduler() -> Any:
    @types.coroutine
    def stray() -> Any:
        yield 42

    async def answer(_request: Any) -> Any:
        await stray()

    return answer


@hostile(FOREIGN, SUMMARIZER)
def closes_itself_badly_when_it_is_closed() -> Any:
    @types.coroutine
    def stray() -> Any:
        try:
            yield 42
        except GeneratorExit:
            raise ZeroDivisionError from None

    async def answer(_request: Any) -> Any:
        await stray()

    return answer


# ------------------------------------------------------------------------------------------------------------- raises


class Rude(BaseException):
    """Not an Exception."""


def raises(name: str, error: Callable[[], BaseException], cause: type[BaseException] | None = None) -> None:
    """Register a plain and an async summarizer that raise."""

    def plain(_request: Any) -> Any:
        raise error()

    async def at_once(_request: Any) -> Any:
        raise error()

    async def later(_request: Any) -> Any:
        await trio.lowlevel.checkpoint()
        raise error()

    cause = cause or type(error())
    # A coroutine cannot raise StopIteration: Python makes a RuntimeError of it.
    wrapped = RuntimeError if cause is StopIteration else cause
    KINDS.append(Kind(f"raises_{name}", lambda: plain, FAILED, SUMMARIZER, cause))
    if name.startswith("our_own"):
        return
    KINDS.append(Kind(f"raises_{name}_async", lambda: at_once, FAILED, SUMMARIZER, wrapped))
    KINDS.append(Kind(f"raises_{name}_later", lambda: later, FAILED, SUMMARIZER, wrapped))


raises("an_exception", lambda: ValueError("boom"))
raises("a_base_exception", lambda: Rude("boom"))
raises("generator_exit", GeneratorExit)
raises("stop_iteration", lambda: StopIteration("text"))
raises("stop_async_iteration", lambda: StopAsyncIteration("text"))
raises("too_slow", lambda: trio.TooSlowError("not ours"))
raises("recursion_error", lambda: RecursionError("deep"))
raises("an_exception_group", lambda: ExceptionGroup("several", [ValueError("boom"), TypeError("bang")]))
raises("a_base_exception_group", lambda: BaseExceptionGroup("several", [Rude("boom"), ValueError("bang")]))
for code in ErrorCode:
    raises(f"our_own_{code.name.lower()}", lambda code=code: CompactionError(code, "spoofed", where="summarizer"))


@hostile(FAILED, SUMMARIZER, CompactionError)
def raises_our_own_finding_about_awaitables_later() -> Any:
    async def answer(_request: Any) -> Any:
        await trio.lowlevel.checkpoint()
        raise CompactionError(FOREIGN, "spoofed", where="summarizer")

    return answer


async def a_stale_cancelled() -> BaseException:
    """A Cancelled that some other scope has raised and caught long ago."""
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as cancelled:
            kept = cancelled
            raise
    return kept


@hostile(FAILED, SUMMARIZER, trio.Cancelled)
def raises_a_stale_cancelled() -> Any:
    async def answer(_request: Any) -> Any:
        raise await a_stale_cancelled()

    return answer


@hostile(FAILED, SUMMARIZER, BaseExceptionGroup)
def raises_a_group_with_a_stale_cancelled() -> Any:
    async def answer(_request: Any) -> Any:
        raise BaseExceptionGroup("several", [await a_stale_cancelled()])

    return answer


@hostile(FAILED, SUMMARIZER, ZeroDivisionError)
def raises_while_it_has_a_hostile_name() -> Any:
    class Name(str):
        __slots__ = ()

        def __format__(self, _spec: str) -> str:
            raise AssertionError("a name was formatted")

        __str__ = __repr__ = __len__ = __format__  # type: ignore[assignment]

    def answer(_request: Any) -> Any:
        raise ZeroDivisionError

    answer.__name__ = answer.__qualname__ = Name("hostile\nname")
    return answer


@hostile(FAILED, SUMMARIZER)
def raises_an_exception_with_a_hostile_class() -> Any:
    class Nasty(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise AssertionError("str of a foreign exception was taken")

        __repr__ = __str__

    def answer(_request: Any) -> Any:
        raise Nasty

    return answer


@hostile(FAILED, SUMMARIZER, TypeError)
def takes_no_argument() -> Any:
    return lambda: "text"


# -------------------------------------------------------------------------------------------- scopes, nurseries, tasks


@hostile(FAILED, TIMEOUT)
def hangs() -> Any:
    return lambda _request: trio.sleep_forever()  # noqa: ASYNC105 - awaited by who called it


@hostile(FAILED, TIMEOUT)
def swallows_cancellation_once_and_answers() -> Any:
    async def answer(_request: Any) -> Any:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            return "too late"

    return answer


@hostile(FAILED, TIMEOUT)
def raises_when_it_is_cancelled() -> Any:
    async def answer(_request: Any) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("instead of Cancelled")

    return answer


@hostile(FAILED, TIMEOUT)
def cleans_up_within_the_grace() -> Any:
    async def answer(_request: Any) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)

    return answer


@hostile(FAILED, FailureKind.UNRESPONSIVE)
def cleans_up_for_longer_than_the_grace() -> Any:
    async def answer(_request: Any) -> Any:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1_000)

    return answer


@hostile(FAILED, SUMMARIZER, trio.Cancelled)
def leaks_a_cancelled_scope() -> Any:
    async def answer(_request: Any) -> Any:
        scope = trio.CancelScope()
        scope.__enter__()
        scope.cancel()
        await trio.lowlevel.checkpoint()

    return answer


@hostile(FAILED, SUMMARIZER, ValueError)
def leaks_a_shielded_scope_and_raises() -> Any:
    def answer(_request: Any) -> Any:
        trio.CancelScope(shield=True).__enter__()
        raise ValueError("leaky")

    return answer


@hostile(FAILED, SUMMARIZER, trio.Cancelled)
def cancels_its_parent_nursery() -> Any:
    async def answer(_request: Any) -> Any:
        trio.lowlevel.current_task().parent_nursery.cancel_scope.cancel()
        await trio.lowlevel.checkpoint()
        return "text"

    return answer


@hostile(FAILED, SUMMARIZER, ExceptionGroup)
def starts_a_task_beside_itself_that_raises() -> Any:
    async def bad() -> None:
        raise ValueError("beside")

    async def answer(_request: Any) -> Any:
        trio.lowlevel.current_task().parent_nursery.start_soon(bad)
        await trio.sleep_forever()

    return answer


@hostile(FAILED, SUMMARIZER, RuntimeError)
def ends_a_nursery_that_is_not_its_own() -> Any:
    async def answer(_request: Any) -> Any:
        manager = trio.open_nursery()
        await manager.__aenter__()
        raise RuntimeError("and left it open")

    return answer


# --------------------------------------------------------------------------------------------------------- both doors


@pytest.fixture(scope="module", autouse=True)
def _collections_are_cheap() -> Any:
    """What other modules have made cannot be garbage of these tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def check_error(error: CompactionError, kind: Kind) -> None:
    assert error.code is kind.code, error
    assert error.kind is kind.kind, error
    if kind.cause is not None:
        assert isinstance(error.__cause__, kind.cause), error.__cause__
    assert "\n" not in str(error)


def tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_one_call_ends_with_a_named_failure(kind: Kind, autojump_clock: trio.testing.MockClock) -> None:
    before, context = tasks(), conversation()
    picture = (context.units, context.summary, context.messages.ids, context.compactions)
    with pytest.raises(CompactionError, match=r"\[CONTEXT_") as caught:
        await compact_context(context, BUDGET, summarizer=kind.make(), grace=5)
    check_error(caught.value, kind)
    del caught
    assert (context.units, context.summary, context.messages.ids, context.compactions) == picture
    assert tasks() == before
    gc.collect()
    again = await compact_context(context, BUDGET, summarizer=good)
    assert isinstance(again, Committed)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_run_ends_with_a_named_failure(kind: Kind, autojump_clock: trio.testing.MockClock) -> None:
    before, swap, base = tasks(), Swap(kind.make()), conversation()
    async with open_session(context=base, policy=BUDGET, summarizer=swap, auto=False, grace=5) as session:
        snapshot, context = session.snapshot, session.context
        outcome = await session.compact()
        assert type(outcome) is Failed
        check_error(outcome.error, kind)
        assert outcome.kind is kind.kind
        assert session.snapshot is snapshot
        assert session.context is context
        assert outcome.context is context
        assert session.last_outcome is outcome
        await trio.testing.wait_all_tasks_blocked()
        assert session.phase is Phase.IDLE
        del outcome
        gc.collect()
        swap.now = good
        assert isinstance(await session.compact(), Committed)
        assert session.snapshot is session.context
        assert session.context.summary is not None
    assert tasks() == before


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "our_own" not in kind.name], ids=lambda kind: kind.name)
async def test_a_second_attempt_meets_the_same_hostility(kind: Kind, autojump_clock: trio.testing.MockClock) -> None:
    swap = Swap(kind.make())
    policy = attrs.evolve(BUDGET, attempts=2)
    async with open_session(context=conversation(), policy=policy, summarizer=swap, auto=False) as session:
        outcome = await session.compact()
        assert type(outcome) is Failed
        check_error(outcome.error, kind)
        # Only a rejected answer is tried again: what raised once would most likely raise again.
        assert len(swap.requests) == (2 if kind.kind is REJECTED else 1)


def test_there_are_at_least_as_many_kinds_as_were_promised() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert len(KINDS) >= 36


# ------------------------------------------------------------------------------------------------ limits of the answer


@pytest.mark.parametrize("size", [65_537, 5_000_000])
async def test_a_huge_answer_is_refused_by_the_limit_of_one_string(size: int) -> None:
    with pytest.raises(CompactionError, match=r"summary: [\d,]+ code points in one string, the limit is 65,536") as caught:
        await compact_context(conversation(), BUDGET, summarizer=lambda _request: " " * size)
    assert (caught.value.code, caught.value.kind) == (ErrorCode.LIMIT_EXCEEDED, REJECTED)


async def test_a_huge_answer_is_refused_by_the_budget_in_a_session() -> None:
    async with open_session(context=conversation(), policy=BUDGET, summarizer=lambda _request: "x" * 5_000_000) as session:
        outcome = await session.compact()
        assert (outcome.code, outcome.kind) == (INSUFFICIENT, REJECTED)


async def test_exactly_sixty_four_awaitables_are_followed() -> None:
    async def deeper(levels: int) -> Any:
        return deeper(levels - 1) if levels else "text"

    assert isinstance(await compact_context(conversation(), BUDGET, summarizer=lambda _request: deeper(63)), Committed)


async def test_a_coroutine_that_is_returned_by_a_coroutine_is_awaited() -> None:
    async def inner() -> str:
        await trio.lowlevel.checkpoint()
        return "text"

    async def outer(_request: Any) -> Any:
        return inner()

    assert isinstance(await compact_context(conversation(), BUDGET, summarizer=outer), Committed)


async def test_a_generator_based_coroutine_is_awaited() -> None:
    @types.coroutine
    def old(_request: Any) -> Any:
        yield from trio.lowlevel.checkpoint().__await__()  # noqa: ASYNC105 - awaited in the old way
        return "text"

    assert isinstance(await compact_context(conversation(), BUDGET, summarizer=old), Committed)


# -------------------------------------------------------------------------------------------------- exits keep meaning

EXITS: dict[str, Callable[[], BaseException]] = {
    "ctrl_c": KeyboardInterrupt,
    "exit": lambda: SystemExit(3),
    "ctrl_c_in_a_group": lambda: BaseExceptionGroup("several", [ValueError("boom"), KeyboardInterrupt()]),
    "exit_deep_in_groups": lambda: BaseExceptionGroup("outer", [BaseExceptionGroup("inner", [SystemExit(3)])]),
}


def exiting(name: str, how: str) -> Callable[[Any], Any]:
    def plain(_request: Any) -> Any:
        raise EXITS[name]()  # noqa: RSE102 - it is called

    async def later(_request: Any) -> Any:
        await trio.lowlevel.checkpoint()
        raise EXITS[name]()  # noqa: RSE102 - it is called

    async def beside(_request: Any) -> Any:
        async def leave() -> None:
            raise EXITS[name]()  # noqa: RSE102 - it is called

        trio.lowlevel.current_task().parent_nursery.start_soon(leave)
        await trio.sleep_forever()

    return {"plain": plain, "later": later, "beside": beside}[how]


@pytest.mark.parametrize("how", ["plain", "later", "beside"])
@pytest.mark.parametrize("name", EXITS)
async def test_an_exit_leaves_one_call(name: str, how: str) -> None:
    before, context = tasks(), conversation()
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        await compact_context(context, BUDGET, summarizer=exiting(name, how))
    assert tasks() == before
    assert isinstance(await compact_context(context, BUDGET, summarizer=good), Committed)


@pytest.mark.parametrize("how", ["plain", "later", "beside"])
@pytest.mark.parametrize("name", EXITS)
async def test_an_exit_closes_the_run_as_cancelled_and_leaves_through_the_session(name: str, how: str) -> None:
    before, ledger, outcomes = tasks(), MemoryLedger(), []
    with pytest.raises((KeyboardInterrupt, SystemExit)):  # noqa: PT012 - it leaves through the whole block
        async with open_session(
            ledger, session_id="s", context=conversation(), policy=BUDGET, summarizer=exiting(name, how), auto=False
        ) as session:
            snapshot = session.snapshot
            outcomes.append(await session.compact())
            with trio.fail_after(5):
                await trio.sleep_forever()
    assert session.snapshot is snapshot
    assert [(outcome.code, outcome.kind) for outcome in outcomes] == [(ErrorCode.CANCELLED, FailureKind.CANCELLED)]
    assert tasks() == before
    ends = [event.data["code"] for event in await ledger.read("s") if event.type == "compaction/ended"]
    assert ends == ["CONTEXT_CANCELLED"]
    async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=good, auto=False) as session:
        assert isinstance(await session.compact(), Committed)


# ----------------------------------------------------------------------------------------- unresponsive: grace and after


class Deaf:
    """Does not respond to cancellation until it is released; then does what it is told."""

    def __init__(self, then: Callable[[], Any] = lambda: "late") -> None:
        self.release, self.called, self.then = trio.Event(), trio.Event(), then

    async def __call__(self, _request: Any) -> Any:
        self.called.set()
        with trio.CancelScope(shield=True):
            await self.release.wait()
        return self.then()


async def test_after_the_grace_the_run_settles_and_the_next_one_waits_for_the_stray(
    autojump_clock: trio.testing.MockClock,
) -> None:
    deaf = Deaf()
    swap = Swap(deaf)
    async with (
        open_session(context=conversation(), policy=BUDGET, summarizer=swap, auto=False, grace=5) as session,
        trio.open_nursery() as nursery,
    ):
        snapshot, began = session.snapshot, trio.current_time()
        outcome = await session.compact()
        assert trio.current_time() - began == 15  # ten seconds to answer, five to end
        assert (outcome.code, outcome.kind) == (FAILED, FailureKind.UNRESPONSIVE)
        assert outcome.notes == ("the summarizer does not respond to cancellation; it still runs and its answer will be ignored",)
        assert session.snapshot is snapshot
        swap.now = good
        second: list[Any] = []

        async def ask() -> None:
            second.append(await session.compact())

        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        assert len(swap.requests) == 1  # the second summarizer was not called
        assert not second
        deaf.release.set()
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(second[0], Committed)
        assert session.context.summary.content == "a good summary"


async def test_who_waits_for_a_stray_can_be_cancelled_and_nothing_has_begun(autojump_clock: trio.testing.MockClock) -> None:
    deaf = Deaf()
    swap = Swap(deaf)
    async with open_session(context=conversation(), policy=BUDGET, summarizer=swap, auto=False, grace=5) as session:
        await session.compact()
        with trio.move_on_after(3) as limit:
            await session.compact()
        assert limit.cancelled_caught
        assert session.phase is Phase.IDLE
        assert session.last_outcome.kind is FailureKind.CANCELLED
        swap.now = good
        deaf.release.set()
        assert isinstance(await session.compact(), Committed)


async def test_leaving_the_session_waits_for_the_stray(autojump_clock: trio.testing.MockClock) -> None:
    deaf, left, before = Deaf(), [], tasks()

    async def live() -> None:
        async with open_session(context=conversation(), policy=BUDGET, summarizer=deaf, auto=False, grace=5) as session:
            await session.compact()
        left.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(live)
        await trio.sleep(100)
        assert not left
        deaf.release.set()
        await trio.testing.wait_all_tasks_blocked()
        assert left == [trio.current_time()]
    assert tasks() == before


async def test_a_cancelled_run_stays_cancelled_when_its_summarizer_does_not_respond(
    autojump_clock: trio.testing.MockClock,
) -> None:
    deaf = Deaf()
    async with open_session(context=conversation(), policy=BUDGET, summarizer=deaf, auto=False, grace=5) as session:
        began = trio.current_time()
        with trio.move_on_after(1) as limit:
            await session.compact()
        assert limit.cancelled_caught
        assert trio.current_time() - began == 6  # one second, and the grace
        assert session.last_outcome.kind is FailureKind.CANCELLED
        assert "does not respond" in session.last_outcome.notes[0]
        deaf.release.set()


def leave_with_ctrl_c() -> Any:
    raise KeyboardInterrupt


async def test_a_ctrl_c_that_hits_a_stray_leaves_one_call(autojump_clock: trio.testing.MockClock) -> None:
    deaf = Deaf(leave_with_ctrl_c)

    async def later() -> None:
        await trio.sleep(100)
        deaf.release.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(later)
        with pytest.raises(KeyboardInterrupt):
            await compact_context(conversation(), BUDGET, summarizer=deaf, grace=5)


@pytest.mark.parametrize("when", ["before the next run", "while leaving"])
async def test_a_ctrl_c_that_hits_a_stray_leaves_through_the_session(when: str, autojump_clock: trio.testing.MockClock) -> None:
    deaf, outcomes = Deaf(leave_with_ctrl_c), []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it leaves through the whole block
        async with open_session(context=conversation(), policy=BUDGET, summarizer=deaf, auto=False, grace=5) as session:
            outcomes.append(await session.compact())
            deaf.release.set()
            if when == "before the next run":
                outcomes.append(await session.compact())
                with trio.fail_after(5):
                    await trio.sleep_forever()
    assert [outcome.kind for outcome in outcomes] == [FailureKind.UNRESPONSIVE, FailureKind.CANCELLED][: len(outcomes)]


async def test_the_cancellation_is_the_runs_own_whatever_the_summarizer_makes_of_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def wraps(_request: Any) -> Any:
        try:
            await trio.sleep_forever()
        except trio.Cancelled as cancelled:
            raise BaseExceptionGroup("wrapped", [cancelled]) from None

    scope = trio.CancelScope()
    options = {
        "max_units": 800,
        "target_units": 300,
        "summary_max_units": 100,
        "retain_recent_messages": 1,
        "summary_id": "s",
        "record_id": "c",
        "signal": scope,
    }
    async with trio.open_nursery() as nursery:

        async def cancel() -> None:
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()

        nursery.start_soon(cancel)
        with pytest.raises(CompactionError, match="was cancelled before it committed") as caught:
            await compact_context(conversation(), options, summarizer=wraps)
        assert caught.value.code is ErrorCode.CANCELLED


# ------------------------------------------------------------------------------------------------- tasks, reentrance


async def test_tasks_that_it_starts_beside_itself_end_with_it() -> None:
    state: list[str] = []

    async def beside() -> None:
        state.append("began")
        try:
            await trio.sleep_forever()
        finally:
            state.append("ended")

    async def answer(_request: Any) -> Any:
        trio.lowlevel.current_task().parent_nursery.start_soon(beside)
        await trio.testing.wait_all_tasks_blocked()
        return "text"

    before = tasks()
    assert isinstance(await compact_context(conversation(), BUDGET, summarizer=answer), Committed)
    assert state == ["began", "ended"]
    async with open_session(context=conversation(), policy=BUDGET, summarizer=answer, auto=False) as session:
        assert isinstance(await session.compact(), Committed)
        assert state == ["began", "ended"] * 2
    assert tasks() == before


@pytest.mark.parametrize("shield", [False, True])
async def test_a_leaked_scope_stays_in_its_task(shield: bool) -> None:
    def answer(_request: Any) -> str:
        trio.CancelScope(shield=shield).__enter__()
        return "text"

    assert isinstance(await compact_context(conversation(), BUDGET, summarizer=answer), Committed)
    async with open_session(context=conversation(), policy=BUDGET, summarizer=answer, auto=False) as session:
        assert isinstance(await session.compact(), Committed)
        with trio.move_on_after(0) as scope:
            await trio.sleep_forever()
        assert scope.cancelled_caught


@pytest.mark.parametrize("what", ["compact", "aclose"])
@pytest.mark.parametrize("where", ["itself", "a task of its own", "a worker thread"])
async def test_a_summarizer_cannot_wait_for_itself(what: str, where: str) -> None:
    sessions: list[Any] = []

    async def again() -> None:
        await getattr(sessions[0], what)()

    async def answer(_request: Any) -> Any:
        match where:
            case "itself":
                await again()
            case "a task of its own":
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(again)
            case _:
                await trio.to_thread.run_sync(trio.from_thread.run, again)
        return "text"

    swap = Swap(answer)
    async with open_session(context=conversation(), policy=PATIENT, summarizer=swap, auto=False) as session:
        sessions.append(session)
        outcome = await session.compact()
        assert (outcome.code, outcome.kind) == (FAILED, SUMMARIZER)
        cause = outcome.error.__cause__
        if isinstance(cause, ExceptionGroup):
            (cause,) = cause.exceptions
        assert isinstance(cause, CompactionError)
        assert cause.code is ErrorCode.REENTRANT
        swap.now = good
        assert isinstance(await session.compact(), Committed)


async def test_a_summarizer_may_append_to_its_session() -> None:
    sessions: list[Any] = []

    async def answer(_request: Any) -> Any:
        await sessions[0].append(user(99))
        await sessions[0].pin("a rule", id="r")
        return "text"

    async with open_session(context=conversation(), policy=BUDGET, summarizer=answer, auto=False) as session:
        sessions.append(session)
        outcome = await session.compact()
        assert isinstance(outcome, Committed), outcome
        assert session.context.messages[-1].id == "u99"
        assert [requirement.id for requirement in session.context.requirements] == ["r"]


async def test_a_summarizer_may_use_another_session() -> None:
    async def answer(_request: Any) -> Any:
        async with open_session(context=conversation(), policy=BUDGET, summarizer=good, auto=False) as other:
            assert isinstance(await other.compact(), Committed)
        return "text"

    async with open_session(context=conversation(), policy=PATIENT, summarizer=answer, auto=False) as session:
        assert isinstance(await session.compact(), Committed)


async def test_an_error_of_another_compaction_inside_it_is_no_finding_about_it() -> None:
    async def answer(_request: Any) -> Any:
        await compact_context(conversation(), BUDGET, summarizer=lambda _request: asyncio.sleep(0))

    with pytest.raises(CompactionError, match="the summarizer raised CompactionError") as caught:
        await compact_context(conversation(), BUDGET, summarizer=answer)
    assert caught.value.code is FAILED
    assert caught.value.__cause__.code is FOREIGN


async def test_it_can_change_nothing_of_what_it_is_given() -> None:
    tried = []

    def answer(request: Any) -> str:
        for attempt in (
            lambda: setattr(request, "boundary", 0),
            lambda: setattr(request.messages, "x", 0),
            lambda: setattr(request.messages[0], "content", "changed"),
            lambda: request.messages.append("x"),
            lambda: request.messages.__setitem__(0, "x"),
            lambda: request.messages[0].meta.update(x=1),
            lambda: request.requirements.append("x"),
            lambda: setattr(request.requirements[0], "content", "changed"),
        ):
            with pytest.raises((AttributeError, TypeError)):
                attempt()
            tried.append(attempt)
        return "text"

    context = conversation()
    async with open_session(context=context, policy=BUDGET, summarizer=answer, auto=False) as session:
        await session.pin("a rule", id="r")
        assert isinstance(await session.compact(), Committed)
        assert len(tried) == 8
        assert session.context.requirements[0].content == "a rule"
    assert context.units == 1_000


async def test_a_summarizer_that_cancels_the_callers_scope_cancels_the_run() -> None:
    scope = trio.CancelScope()

    async def answer(_request: Any) -> str:
        scope.cancel()
        return "text"

    async with open_session(context=conversation(), policy=BUDGET, summarizer=answer, auto=False) as session:
        snapshot = session.snapshot
        with scope:
            await session.compact()
        assert scope.cancelled_caught
        assert session.snapshot is snapshot
        assert session.last_outcome.kind is FailureKind.CANCELLED


async def test_a_blocking_thread_that_outlives_its_time_is_ignored() -> None:
    """Real time, no mock clock: a worker thread."""
    stop = threading.Event()

    async def answer(_request: Any) -> Any:
        return await trio.to_thread.run_sync(stop.wait, 10, abandon_on_cancel=True)

    with pytest.raises(CompactionError, match=r"did not answer within 0\.05 s") as caught:
        await compact_context(conversation(), attrs.evolve(BUDGET, timeout=0.05), summarizer=answer)
    stop.set()
    assert caught.value.kind is TIMEOUT
