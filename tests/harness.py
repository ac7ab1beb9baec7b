"""The generic cancellation harness: scenarios that cut a run at every step, and what must hold after each cut.

The same scenarios run against planted mutants (``test_mutants.py``): a harness that lets a mutant pass proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from compactor import Budget, Committed, Failed, Phase, Signal, UserMessage, open_session
from compactor.events import Event, EventType
from compactor.ledger import Ledger
from compactor.session import Session
from compactor.stores import MemoryLedger
from compactor.testing import Cutter, Scripted, scripted

BUDGET = Budget(400, target_units=300, summary_max_units=60, retain_recent_messages=1, timeout=60)
LedgerFactory = Callable[[], Ledger]


def conversation() -> list[UserMessage]:
    return [UserMessage("x" * 50, id=f"m{index}") for index in range(10)]


def runs(events: tuple[Event, ...]) -> dict[str, list[Event]]:
    """Every run's marker and summary events, in order."""
    found: dict[str, list[Event]] = {}
    for event in events:
        if event.type in (EventType.COMPACTION_STARTED, EventType.SUMMARY_PLACED, EventType.COMPACTION_ENDED):
            found.setdefault(event.data["run"], []).append(event)
    return found


def check_runs(events: tuple[Event, ...]) -> None:
    """Whole or absent: a run has a start, at most one summary, exactly one end, and the end says whether it committed."""
    for run_id, markers in runs(events).items():
        kinds = [event.type for event in markers]
        code = markers[-1].data.get("code", "missing")
        if EventType.SUMMARY_PLACED in kinds:
            assert kinds == [EventType.COMPACTION_STARTED, EventType.SUMMARY_PLACED, EventType.COMPACTION_ENDED], (run_id, kinds)
            assert code is None, (run_id, code)
            assert markers[1].seq + 1 == markers[2].seq, "placed and ended in one transaction"
        else:
            assert kinds == [EventType.COMPACTION_STARTED, EventType.COMPACTION_ENDED], (run_id, kinds)
            assert code is not None, run_id


def placed(events: tuple[Event, ...]) -> int:
    return sum(event.type is EventType.SUMMARY_PLACED for event in events)


class Seen:
    """What happened in all the runs of one scenario."""

    def __init__(self) -> None:
        self.committed = 0
        self.cancelled = 0
        self.phases: set[object] = set()


async def _next_run_works(session: Session, ledger: Ledger) -> None:
    await session.append(*[UserMessage("y" * 60, id=f"n{index}") for index in range(6)])
    before = placed(await ledger.read("s"))
    outcome = await session.compact()
    assert isinstance(outcome, Committed), outcome
    assert placed(await ledger.read("s")) == before + 1
    assert session.phase is Phase.IDLE


def caller_scenario(seen: Seen, make_ledger: LedgerFactory = MemoryLedger, summarizer: Callable[[], Scripted] = scripted):
    """Cancel the scope around ``session.compact()``: caller's cancellation, or its deadline."""

    async def scenario(cutter: Cutter) -> None:
        ledger = make_ledger()
        async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=summarizer(), auto=False) as session:
            await session.append(*conversation())
            base, context, moved = session.snapshot, session.context, session.lease.surface.generation
            cutter.label = lambda: session.phase

            def untouched_until_placed() -> None:
                durable = session.lease.surface.generation != moved
                assert session.snapshot is base or durable, "published before it was durable"

            cutter.invariant = untouched_until_placed
            cutter.arm()
            outcome = None
            with cutter.scope:
                outcome = await session.compact()
                cutter.disarm()
            cutter.disarm()
            events = await ledger.read("s")
            check_runs(events)
            seen.phases.add(cutter.cut_in)
            if placed(events):
                seen.committed += 1
                assert isinstance(outcome, Committed), "recorded, yet the caller was told otherwise"
                assert session.snapshot is outcome.context
                assert session.context is session.snapshot
                assert session.snapshot.summary is not None
            else:
                seen.cancelled += 1
                assert outcome is None, outcome
                assert cutter.scope.cancelled_caught, "Cancelled must reach its owner"
                assert session.snapshot is base
                assert session.context is context
                # Withdrawn before it began, a request leaves no outcome of its own.
                assert session.last_outcome is None or session.last_outcome.kind == "cancelled"
            assert session.phase is Phase.IDLE
            await _next_run_works(session, ledger)

    return scenario


def session_scenario(seen: Seen, make_ledger: LedgerFactory = MemoryLedger, summarizer: Callable[[], Scripted] = scripted):
    """Cancel the scope around the whole session, while a run is in hand; then open it again."""

    async def scenario(cutter: Cutter) -> None:
        ledger = make_ledger()
        outcome, session, base = None, None, None
        with cutter.scope:
            async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=summarizer(), auto=False) as session:
                await session.append(*conversation())
                base = session.snapshot
                cutter.label = lambda: session.phase
                cutter.arm()
                outcome = await session.compact()
                cutter.disarm()
        cutter.disarm()
        events = await ledger.read("s")
        check_runs(events)
        seen.phases.add(cutter.cut_in)
        if placed(events):
            seen.committed += 1
            assert isinstance(outcome, Committed)
            assert session.snapshot is outcome.context
        else:
            seen.cancelled += 1
            assert session.snapshot is base
            assert cutter.scope.cancelled_caught
        async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=scripted(), auto=False) as again:
            assert (again.snapshot.summary is not None) == bool(placed(events))
            assert len(again.snapshot.compactions) == placed(events)
            await _next_run_works(again, ledger)

    return scenario


def append_scenario(seen: Seen, make_ledger: LedgerFactory = MemoryLedger):
    """Cancelled raised if and only if not recorded, for appends and pins."""

    async def scenario(cutter: Cutter) -> None:
        ledger = make_ledger()
        async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=scripted(), auto=False) as session:
            done: list[str] = []
            cutter.arm()
            with cutter.scope:
                for index in range(3):
                    await session.append(UserMessage("text", id=f"m{index}"))
                    done.append(f"m{index}")
                    await session.pin("rule", id=f"r{index}")
                    done.append(f"r{index}")
            cutter.disarm()
            events = await ledger.read("s")
            recorded = [event.data["id"] for event in events if "id" in event.data]
            assert recorded == done
            assert [message.id for message in session.context.messages] == [name for name in done if name[0] == "m"]
            assert [requirement.id for requirement in session.context.requirements] == [name for name in done if name[0] == "r"]
            seen.committed += len(done) == 6
            seen.cancelled += len(done) < 6

    return scenario


class Trace:
    """A logger that keeps the fields of every event."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def info(self, _event: str, **fields: object) -> None:
        self.rows.append((str(fields["from_phase"]), str(fields["signal"])))


async def edges_are_met(make_ledger: LedgerFactory = MemoryLedger) -> list[tuple[str, str]]:
    """Cancel the run exactly at each checked row, from the gate; give the rows that were met as edges, in order.

    After each cut the very next transition is the CANCELLED row of that phase: the row that was checked was not taken.
    """
    met: list[tuple[str, str]] = []
    for stop_at in range(100):
        edge = await _cut_at_edge(make_ledger(), stop_at)
        if edge is None:
            return met
        met.append(edge)
    msg = "the run never got through"
    raise AssertionError(msg)


async def _cut_at_edge(ledger: Ledger, stop_at: int) -> tuple[str, str] | None:
    """Cancel one run at its edge number *stop_at*; None when it has no such edge."""
    trace, passed, rows_before = Trace(), 0, -1
    met: tuple[str, str] | None = None
    answers = scripted("z" * 500, "short enough", checkpoints=0)
    async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=answers, auto=False, logger=trace) as session:
        await session.append(*conversation())
        base = session.snapshot

        async def gate(phase: Phase, signal: Signal) -> None:
            nonlocal passed, rows_before, met
            if passed == stop_at:
                met, rows_before = (phase.name, signal.name), len(trace.rows)
                session._actor.current.scope.cancel()
            passed += 1

        session.machine.gate = gate
        await session.compact()
        if met is None:
            assert isinstance(session.last_outcome, Committed)
            return None
        assert trace.rows[rows_before] == (met[0], "CANCELLED"), trace.rows[rows_before:]
        assert session.snapshot is base
        assert isinstance(session.last_outcome, Failed)
        check_runs(await ledger.read("s"))
    return met
