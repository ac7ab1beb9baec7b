"""What a session came to, counted from its ledger: the same as by hand, on every store, also while it goes on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from scenes import BUDGET as TIGHT
from scenes import Swap, call, good, result, user

from compactor.errors import CompactionError
from compactor.events import Draft, EventType
from compactor.outcomes import Committed, Failed
from compactor.session import open_session
from compactor.statistics import CHUNK, statistics
from compactor.stores import MemoryLedger, open_store

BUDGET = attrs.evolve(TIGHT, hard_units=10**9)


@contextlib.asynccontextmanager
async def ledger_of(kind: str, tmp_path: Path) -> AsyncIterator[Any]:
    now = iter(range(1_000, 10**6))
    if kind == "memory":
        yield MemoryLedger(clock=lambda: float(next(now)))
        return
    ledger = await open_store(tmp_path / "x.ledger", clock=lambda: float(next(now)))
    try:
        yield ledger
    finally:
        await ledger.aclose()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_everything_that_happened_is_counted(kind: str, tmp_path: Path) -> None:
    swap = Swap(good)
    async with ledger_of(kind, tmp_path) as ledger:
        async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=swap, auto=False) as session:
            fresh = await statistics(ledger, "s")
            assert (fresh.events, fresh.lives, fresh.messages, fresh.ratio, fresh.runs) == (1, 1, 0, None, {})
            await session.pin("a rule", id="r")
            await session.pin("gone", id="g")
            await session.unpin("g")
            await session.append(call("c", "a"), result("c", "t"), *[user(number) for number in range(10)])
            await session.turn()
            first = await session.compact()
            assert isinstance(first, Committed)
            await session.append(*[user(number) for number in range(10, 18)])
            swap.now = lambda _request: 1 / 0
            failed = await session.compact(force=True)
            assert isinstance(failed, Failed)
            swap.now = good
            second = await session.compact(force=True)
            assert isinstance(second, Committed)
            await session.turn()
            counts = await statistics(ledger, "s")
            hidden = first.record.boundary + second.record.boundary
            assert (counts.hidden, counts.shown) == (hidden, 20 - hidden + 1), "those below the earlier summary, too"
            assert (counts.messages, counts.pins, counts.turns) == (20, 1, 2)
            assert counts.runs == {"committed": 2, failed.error.code.value: 1}
            assert counts.attempts == 3
            before = first.record.units_before + second.record.units_before
            after = first.record.units_after + second.record.units_after
            assert counts.units_hidden == before - after
            assert counts.ratio == pytest.approx(after / before, abs=1e-6)
            assert counts.seconds >= 0
            await session.redact(5, "a key")
            await session.undo(first.record.id)
            counts = await statistics(ledger, "s")
            assert (counts.undone, counts.hidden, counts.shown, counts.redactions) == (2, 0, 20, 1)
            await session.rewind(6)
            counts = await statistics(ledger, "s")
            assert (counts.rewound, counts.hidden, counts.messages) == (1, 0, 20)
            assert counts.shown < 20, "what was rewound away is neither shown nor hidden"
            assert counts == await session.statistics()
        lease = await ledger.acquire("s", owner="dies")
        await ledger.append(lease, [Draft(EventType.COMPACTION_STARTED, {"run": "c-lost", "hidden": [], "input": ""})])
        await ledger.release(lease)
        counts = await statistics(ledger, "s")
        assert (counts.lives, counts.traces) == (2, 1)
        assert counts.events == len(await ledger.read("s"))
        assert (counts.began, counts.changed) == (1_000.0, (await ledger.read("s"))[-1].time)


async def test_an_adopted_summary_hides_nothing_of_this_ledger() -> None:
    async with open_session(policy=BUDGET, summarizer=good, auto=False) as old:
        await old.append(*[user(number) for number in range(10)])
        await old.compact()
        context = old.context
    async with open_session(context=context, policy=BUDGET, auto=False) as session:
        counts = await session.statistics()
        assert (counts.hidden, counts.shown, counts.messages) == (0, len(context.messages) + 1, len(context.messages))
        assert counts.runs == {}


class Reading(MemoryLedger):
    """Notes how much is read at once; and a session may go on while it is counted."""

    most = 0
    session: Any = None

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> Any:
        events = await super().read(session_id, start, stop)
        self.most = max(self.most, len(events))
        if self.session is not None:
            session, self.session = self.session, None
            await session.append(user(9_000))
        return events


async def test_a_long_session_is_counted_in_chunks_and_as_it_was() -> None:
    ledger = Reading()
    async with open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
        for start in range(0, 2 * CHUNK + 10, 10):
            await session.append(*[user(start + number) for number in range(10)])
        ledger.most, ledger.session = 0, session
        counts = await statistics(ledger, "s")
        assert (counts.messages, counts.shown, counts.events) == (2 * CHUNK + 10, 2 * CHUNK + 10, 2 * CHUNK + 11)
        assert ledger.most <= CHUNK
        assert (await statistics(ledger, "s")).messages == counts.messages + 1


async def test_they_can_be_written_as_json_and_an_unknown_session_is_refused() -> None:
    ledger = MemoryLedger()
    async with open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
        await session.append(user(1))
        plain = (await session.statistics()).to_plain()
    assert json.loads(json.dumps(plain)) == plain
    assert list(plain) == [field.name for field in attrs.fields(type(await statistics(ledger, "s")))]
    with pytest.raises(CompactionError, match="has no session"):
        await statistics(ledger, "nobody")
