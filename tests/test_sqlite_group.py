"""Appends of many tasks to one file: they share commits, harm nobody, and are cancelled at every step without a lie."""

from __future__ import annotations

import functools
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from harness import Seen, append_scenario, caller_scenario
from sqlite_kit import made, placed, user

from compactor.errors import CompactionError, ErrorCode
from compactor.events import APPEND, Draft, EventType, verify_chain
from compactor.stores import open_store
from compactor.stores._ledger import SqliteLedger
from compactor.stores._queue import GroupFailedError
from compactor.testing import Cutter


class Gate:
    """Holds the first transaction in its thread until it is opened, and counts all of them."""

    def __init__(self, ledger: SqliteLedger) -> None:
        self.ledger, self.sizes, self.open = ledger, list[int](), threading.Event()
        self.gates = {1: self.open}
        """What each transaction, by its number, waits for."""
        self.writer = ledger._writer
        ledger._writer = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.writer, name)

    def transact(self, actions: Sequence[Any]) -> Any:
        self.sizes.append(len(actions))
        if len(self.sizes) in self.gates:
            assert self.gates[len(self.sizes)].wait(30)
        return self.writer.transact(actions)

    async def until_waiting(self, count: int) -> None:
        while len(self.ledger._queue._waiting) < count:
            await trio.lowlevel.checkpoint()


async def _leases(ledger: SqliteLedger, count: int) -> list[Any]:
    return [await ledger.acquire(f"s{number}", owner="us") for number in range(count)]


async def test_the_appends_of_64_tasks_take_two_commits(tmp_path: Path) -> None:
    ledger = await open_store(tmp_path / "a.ledger")
    leases = await _leases(ledger, 64)
    gate = Gate(ledger)
    async with trio.open_nursery() as nursery:
        for lease in leases:
            nursery.start_soon(ledger.append, lease, [user("m1"), user("m2")])
        await gate.until_waiting(63)
        gate.open.set()
    assert gate.sizes == [1, 63]
    for lease in leases:
        events = await ledger.read(lease.session_id)
        verify_chain(events)
        assert len(events) == 3
        assert lease.surface.head == events[-1].digest
    await ledger.aclose()


async def test_appends_to_one_session_follow_each_other(tmp_path: Path) -> None:
    ledger = await open_store(tmp_path / "a.ledger")
    (lease,) = await _leases(ledger, 1)
    async with trio.open_nursery() as nursery:
        for index in range(20):
            nursery.start_soon(ledger.append, lease, [user(f"m{index}")])
    events = await ledger.read("s0")
    verify_chain(events)
    assert sorted([event.data["id"] for event in events[1:]]) == sorted([f"m{index}" for index in range(20)])
    assert lease.surface.order == list(range(1, 21))
    await ledger.aclose()


async def test_what_is_refused_harms_nobody_else_in_its_commit(tmp_path: Path) -> None:
    ledger = await open_store(tmp_path / "a.ledger")
    leases = await _leases(ledger, 8)
    await ledger.append(leases[3], [user("m0")])
    other = await open_store(tmp_path / "a.ledger")
    await other.acquire("s4", owner="a takeover", takeover=True)
    bad: dict[int, list[Draft]] = {
        1: [user("m1"), Draft(EventType.MESSAGE_APPENDED, {"id": "x"})],
        2: [user("m1"), Draft(EventType.MESSAGE_APPENDED, {"id": "x", "role": "user", "content": object()}, APPEND)],
        3: [user("m0")],
        4: [user("from a paused owner")],
        5: placed("c", [7]),
    }
    gate = Gate(ledger)
    results: dict[int, object] = {}

    async def append(number: int) -> None:
        try:
            results[number] = len(await ledger.append(leases[number], bad.get(number, [user("m1")])))
        except CompactionError as error:
            results[number] = error.code
        except TypeError:
            results[number] = TypeError

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append, 0)
        await gate.until_waiting(0)
        while not gate.sizes:
            await trio.lowlevel.checkpoint()
        for number in range(1, 8):
            nursery.start_soon(append, number)
        await gate.until_waiting(7)
        gate.open.set()
    assert gate.sizes == [1, 7]
    corrupt, invalid = ErrorCode.LEDGER_CORRUPT, ErrorCode.INVALID_INPUT
    assert results == {0: 1, 1: corrupt, 2: TypeError, 3: invalid, 4: ErrorCode.FENCED, 5: corrupt, 6: 1, 7: 1}
    assert [len(await ledger.read(f"s{number}")) for number in range(8)] == [2, 1, 1, 2, 2, 1, 2, 2]
    for number in (1, 2, 3, 5):
        await ledger.append(leases[number], [user("goes on")])
    assert await ledger.verify_file() == ()
    await other.aclose()
    await ledger.aclose()


async def test_who_is_cancelled_while_waiting_withdraws_and_who_is_being_written_waits(tmp_path: Path) -> None:
    ledger = await open_store(tmp_path / "a.ledger")
    leases = await _leases(ledger, 4)
    gate = Gate(ledger)
    outcome: dict[int, bool] = {}
    scopes = [trio.CancelScope() for _ in leases]

    async def append(number: int) -> None:
        with scopes[number]:
            await ledger.append(leases[number], [user("m1")])
            outcome[number] = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append, 0)
        while not gate.sizes:
            await trio.lowlevel.checkpoint()
        for number in range(1, 4):
            nursery.start_soon(append, number)
        await gate.until_waiting(3)
        scopes[0].cancel()  # is being written
        scopes[1].cancel()  # would lead next
        scopes[3].cancel()
        await gate.until_waiting(1)
        while len(ledger._queue._waiting) > 1:
            await trio.lowlevel.checkpoint()
        gate.open.set()
    assert outcome == {0: True, 2: True}
    assert [scope.cancelled_caught for scope in scopes] == [False, True, False, True]
    assert [len(await ledger.read(f"s{number}")) for number in range(4)] == [2, 1, 2, 1]
    await ledger.aclose()


async def test_who_follows_and_is_cancelled_while_it_is_being_written_learns_that_it_was(tmp_path: Path) -> None:
    ledger = await open_store(tmp_path / "a.ledger")
    leases = await _leases(ledger, 4)
    gate = Gate(ledger)
    gate.gates[2] = threading.Event()
    outcome: list[int] = []
    scopes = [trio.CancelScope() for _ in leases]

    async def append(number: int) -> None:
        with scopes[number]:
            await ledger.append(leases[number], [user("m1")])
            outcome.append(number)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append, 0)
        while not gate.sizes:
            await trio.lowlevel.checkpoint()
        for number in range(1, 4):
            nursery.start_soon(append, number)
        await gate.until_waiting(3)
        gate.open.set()
        while len(gate.sizes) < 2:
            await trio.lowlevel.checkpoint()
        for scope in scopes[1:]:
            scope.cancel()
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        gate.gates[2].set()
    assert sorted(outcome) == [0, 1, 2, 3]
    assert gate.sizes == [1, 3]
    assert [len(await ledger.read(f"s{number}")) for number in range(4)] == [2, 2, 2, 2]
    await ledger.aclose()


async def test_a_crash_of_the_leader_is_told_to_all_of_its_group_and_the_next_ones_go_on(tmp_path: Path) -> None:
    ledger = await open_store(tmp_path / "a.ledger")
    leases = await _leases(ledger, 3)
    gate = Gate(ledger)
    commit, calls = ledger._queue.commit, 0

    async def crashing(batch: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ZeroDivisionError
        await commit(batch)

    ledger._queue.commit = crashing
    outcome: dict[int, object] = {}

    async def append(number: int) -> None:
        try:
            outcome[number] = len(await ledger.append(leases[number], [user("m1")]))
        except (GroupFailedError, ZeroDivisionError) as error:
            outcome[number] = type(error)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append, 0)
        while not gate.sizes:
            await trio.lowlevel.checkpoint()
        for number in (1, 2):
            nursery.start_soon(append, number)
        await gate.until_waiting(2)
        gate.open.set()
    assert sorted(map(str, outcome.values())) == sorted(map(str, [1, ZeroDivisionError, GroupFailedError]))
    assert len(await ledger.append(leases[1], [user("m2")])) == 1
    await ledger.aclose()


async def test_closing_waits_for_what_is_being_written_and_refuses_the_rest(tmp_path: Path) -> None:
    ledger = await open_store(tmp_path / "a.ledger")
    leases = await _leases(ledger, 3)
    gate = Gate(ledger)
    outcome: list[object] = []

    async def append(lease: Any) -> None:
        try:
            outcome.append(len(await ledger.append(lease, [user("m1")])))
        except CompactionError as error:
            outcome.append(error.code)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append, leases[0])
        while not gate.sizes:
            await trio.lowlevel.checkpoint()
        nursery.start_soon(append, leases[1])
        await gate.until_waiting(1)
        nursery.start_soon(ledger.aclose)
        while not ledger._closed:
            await trio.lowlevel.checkpoint()
        gate.open.set()
    assert outcome == [1, ErrorCode.SESSION_CLOSED]
    again = await open_store(tmp_path / "a.ledger")
    assert [len(await again.read(f"s{number}")) for number in range(3)] == [2, 1, 1]
    await again.aclose()


# ----------------------------------------------------------------------------------------------------- at every step


def cut_everywhere(
    tmp_path: Path, scenario: Callable[[Callable[[], SqliteLedger]], Callable[[Cutter], Awaitable[None]]], step: int
) -> int:
    """Like ``cancel_at_every_step``, on the real clock: a virtual one jumps while threads work."""
    ledgers: list[SqliteLedger] = []

    def ledger() -> SqliteLedger:
        ledgers.append(made(tmp_path / f"{len(ledgers)}.ledger"))
        return ledgers[-1]

    for cuts, at in enumerate(range(1, 5_000, step)):
        cutter = Cutter(at)
        trio.run(scenario(ledger), cutter, instruments=[cutter])
        ledgers[-1]._close()
        assert cutter.broken is None, cutter.broken
        if not cutter.fired:
            return cuts
    raise AssertionError


def test_appends_and_pins_in_a_file_are_recorded_if_and_only_if_they_returned(tmp_path: Path) -> None:
    seen = Seen()
    assert cut_everywhere(tmp_path, functools.partial(append_scenario, seen), 1) > 20
    assert seen.cancelled > 10


def test_a_run_in_a_file_that_is_cut_anywhere_is_whole_or_absent(tmp_path: Path) -> None:
    seen = Seen()
    assert cut_everywhere(tmp_path, functools.partial(caller_scenario, seen), 1) > 15
    assert seen.cancelled > 5


async def test_a_busy_file_is_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import apsw

    from compactor.stores import _schema

    monkeypatch.setattr(_schema, "BUSY_SECONDS", 0.02)
    path = tmp_path / "a.ledger"
    ledger = await open_store(path)
    lease = await ledger.acquire("s", owner="us")
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CompactionError, match="another process has held its write lock") as caught:
        await ledger.append(lease, [user("m1")])
    assert caught.value.code is ErrorCode.PERSISTENCE_FAILED
    assert len(await ledger.read("s")) == 1, "readers never wait for a writer"
    other.execute("ROLLBACK")
    await ledger.append(lease, [user("m1")])
    other.close()
    await ledger.aclose()
