"""Tests of the tests: each planted mutant is caught by the generic harness, which the unmutated code passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import pytest
import trio
from harness import LedgerFactory, Seen, append_scenario, caller_scenario, edges_are_met, session_scenario

from compactor import machine as machine_module
from compactor import phases
from compactor.actor import Actor
from compactor.events import Draft, Event, EventType
from compactor.ledger import Lease
from compactor.machine import Run
from compactor.phases import Effect, Phase, Signal
from compactor.sessionwork import SessionWork
from compactor.stores import MemoryLedger
from compactor.testing import cancel_at_every_step


def judge(make_ledger: LedgerFactory = MemoryLedger) -> None:
    """The whole harness, once."""
    for make in (caller_scenario, session_scenario):
        seen = Seen()
        cancel_at_every_step(make(seen, make_ledger))
        assert seen.committed
        assert seen.cancelled
    cancel_at_every_step(append_scenario(Seen(), make_ledger))
    met = trio.run(edges_are_met, make_ledger)
    assert set(met) == {(row.phase.name, row.signal.name) for row in phases.TRANSITIONS if row.checked}


def test_the_code_as_it_is_passes_the_harness() -> None:
    judge()


# ------------------------------------------------------------------------------------------- mutants of the run

Patch = Callable[[pytest.MonkeyPatch], None]


def publish_before_commit(patch: pytest.MonkeyPatch) -> None:
    commit = SessionWork._commit

    async def mutant(self: SessionWork, run: Run) -> Signal:
        assert self.committed is not None
        self.session.publish(self.committed.context)
        self.built_from = self.committed.context
        await trio.lowlevel.checkpoint()
        return await commit(self, run)

    patch.setattr(SessionWork, "_commit", mutant)


def a_checkpoint_between_commit_and_publish(patch: pytest.MonkeyPatch) -> None:
    perform = SessionWork.perform

    async def mutant(self: SessionWork, effect: Effect, run: Run) -> Signal | None:
        if effect is Effect.PUBLISH:
            await trio.lowlevel.checkpoint()
        return await perform(self, effect, run)

    patch.setattr(SessionWork, "perform", mutant)


def no_publication_at_all(patch: pytest.MonkeyPatch) -> None:
    perform = SessionWork.perform

    async def mutant(self: SessionWork, effect: Effect, run: Run) -> Signal | None:
        if effect is Effect.PUBLISH:
            run.outcome = self.committed
            return None
        return await perform(self, effect, run)

    patch.setattr(SessionWork, "perform", mutant)


def no_end_marker(patch: pytest.MonkeyPatch) -> None:
    async def mutant(self: SessionWork, run: Run) -> None:
        del self, run

    patch.setattr(SessionWork, "_close_marker", mutant)


def an_unshielded_end_marker(patch: pytest.MonkeyPatch) -> None:
    async def mutant(self: SessionWork, run: Run) -> None:
        draft = Draft(EventType.COMPACTION_ENDED, {"run": run.id, "code": "CONTEXT_CANCELLED"})
        async with self.session.writing:
            await self.session.store.append(self.session.lease, [draft])

    patch.setattr(SessionWork, "_close_marker", mutant)


def a_swallowed_cancellation_of_the_caller(patch: pytest.MonkeyPatch) -> None:
    original = Actor._outcome_of

    async def mutant(self: Actor, request: object) -> object:
        try:
            return await original(self, request)
        except trio.Cancelled:
            return request.outcome

    patch.setattr(Actor, "_outcome_of", mutant)


def a_caller_that_does_not_wait_for_the_run_to_settle(patch: pytest.MonkeyPatch) -> None:
    async def mutant(self: Actor, request: object) -> object:
        token = request.join()
        try:
            await request.settled.wait()
        except trio.Cancelled:
            request.leave(token)
            request.scope.cancel()
            raise
        return request.outcome

    patch.setattr(Actor, "_outcome_of", mutant)


def a_committed_run_that_is_reported_as_cancelled(patch: pytest.MonkeyPatch) -> None:
    original = Actor._outcome_of

    async def mutant(self: Actor, request: object) -> object:
        outcome = await original(self, request)
        await trio.lowlevel.checkpoint()
        return outcome

    patch.setattr(Actor, "_outcome_of", mutant)


def a_start_marker_that_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    async def mutant(self: SessionWork, run: Run) -> Signal:
        await trio.lowlevel.checkpoint()
        return Signal.LOCKED

    patch.setattr(SessionWork, "_lock", mutant)


def a_machine_that_forgets_to_raise_what_stopped_it(patch: pytest.MonkeyPatch) -> None:
    edge = machine_module.Machine._edge

    async def mutant(self: object, run: Run, row: object) -> Signal:
        signal = await edge(self, run, row)
        return row.signal if signal is Signal.CANCELLED else signal

    patch.setattr(machine_module.Machine, "_edge", mutant)


RUN_MUTANTS: list[Patch] = [
    publish_before_commit,
    a_checkpoint_between_commit_and_publish,
    no_publication_at_all,
    no_end_marker,
    an_unshielded_end_marker,
    a_swallowed_cancellation_of_the_caller,
    a_caller_that_does_not_wait_for_the_run_to_settle,
    a_committed_run_that_is_reported_as_cancelled,
    a_start_marker_that_is_forgotten,
    a_machine_that_forgets_to_raise_what_stopped_it,
]


@pytest.mark.parametrize("mutant", RUN_MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_of_the_run_is_caught(mutant: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever way it shows
        judge()
    assert not isinstance(caught.value, KeyboardInterrupt | SystemExit)


@pytest.mark.parametrize("edge", [row for row in phases.TRANSITIONS if row.checked], ids=lambda row: row.signal.name)
def test_an_edge_that_is_not_checked_is_caught(edge: phases.Transition, monkeypatch: pytest.MonkeyPatch) -> None:
    blind = attrs.evolve(edge, checked=False)
    monkeypatch.setitem(phases._ROWS, (edge.phase, edge.signal), blind)
    with pytest.raises(AssertionError):
        judge()


# ---------------------------------------------------------------------------------------- mutants of the ledger


class TwoStepCommit(MemoryLedger):
    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        events: tuple[Event, ...] = ()
        for draft in drafts:
            events += await super().append(lease, [draft])
        return events


class AsyncDatabaseFace(MemoryLedger):
    """What an async database driver does: the statement commits, then the await is cancelled."""

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        events = await super().append(lease, drafts)
        await trio.lowlevel.checkpoint()
        return events


class AbandonedThread(MemoryLedger):
    """A write that goes on in a thread that nobody waits for any more."""

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        shelf = self._shelves[lease.session_id]
        written: list[tuple[Event, ...]] = []

        async def write() -> None:
            written.append(self._write(shelf, lease, drafts))

        trio.lowlevel.spawn_system_task(write)
        while not written:
            await trio.lowlevel.checkpoint()
        return written[0]


@pytest.mark.parametrize("ledger", [TwoStepCommit, AsyncDatabaseFace, AbandonedThread], ids=lambda kind: kind.__name__)
def test_a_ledger_that_breaks_its_promise_is_caught(ledger: type[MemoryLedger]) -> None:
    with pytest.raises((AssertionError, BaseExceptionGroup, trio.TrioInternalError)):
        judge(ledger)


def test_every_phase_that_can_be_cut_has_a_mutant_that_is_caught_there() -> None:
    assert {row.phase for row in phases.TRANSITIONS if row.checked} == {
        Phase.IDLE,
        Phase.SELECTING,
        Phase.SUMMARIZING,
        Phase.VALIDATING,
    }
