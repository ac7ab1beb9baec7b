"""``verify`` finds what is wrong at its place, and nothing where nothing is wrong. A checker that cannot fail proves nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from scenes import BUDGET as TIGHT
from scenes import Swap, call, good, result, user

from compactor import open_ledger
from compactor.audit import verify
from compactor.errors import CompactionError
from compactor.events import GENESIS, Draft, Event, EventType, canonical, seal
from compactor.outcomes import Committed, Failed
from compactor.session import open_session
from compactor.stores import MemoryLedger

BUDGET = attrs.evolve(TIGHT, hard_units=10**9)


async def lived(ledger: Any, *, lives: int = 2) -> None:
    """A session with all kinds of events: turns, tools, pins, compactions that commit and fail, edits, a redaction."""
    swap = Swap(good)
    for life in range(lives):
        async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=swap, auto=False) as session:
            await session.pin(f"rule {life}", id=f"r{life}")
            await session.append(call("c", f"a{life}"), result("c", f"t{life}"))
            await session.append(*[user(100 * life + number) for number in range(10)])
            await session.turn(pending=[user(900 + life)])
            first = await session.compact()
            assert isinstance(first, Committed)
            await session.append(*[user(100 * life + number) for number in range(10, 18)])
            swap.now = lambda _request: 1 / 0
            assert isinstance(await session.compact(force=True), Failed)
            swap.now = good
            await session.compact(force=True)
            await session.turn()
            await session.undo(first.record.id)
            await session.append(*[user(100 * life + number) for number in range(18, 22)])
            await session.rewind(session.lease.surface.next_seq - 3)
            await session.compact(force=True)
            await session.unpin(f"r{life}")
            await session.turn()


async def test_a_clean_ledger_has_no_finding(tmp_path: Path) -> None:
    ledger = MemoryLedger()
    await lived(ledger)
    audit = await verify(ledger)
    assert (audit.faults, audit.traces, audit.sessions, audit.ok) == ((), (), 1, True)
    assert audit.events == len(await ledger.read("s"))
    path = tmp_path / "x.ledger"
    await lived(path)
    async with open_ledger(path) as view:
        assert await view.verify() == audit
        assert (await view.verify("s")).ok
        with pytest.raises(CompactionError, match="has no session"):
            await view.verify("nobody")


async def test_a_fork_and_a_fork_of_it_are_clean() -> None:
    ledger = MemoryLedger()
    await lived(ledger)
    async with open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
        await session.fork(None, "child")
        await session.fork(20, "early")
    async with open_session(ledger, session_id="child", policy=BUDGET, summarizer=good, auto=False) as session:
        await session.append(*[user(700 + number) for number in range(10)])
        await session.compact(force=True)
        await session.fork(None, "grandchild")
    audit = await verify(ledger)
    assert (audit.faults, audit.sessions) == ((), 4)


async def test_a_redaction_that_is_explained_is_no_fault() -> None:
    ledger = MemoryLedger()
    async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=good, auto=False) as session:
        await session.append(*[user(number) for number in range(10)])
        await session.redact(3, "a key")
        await session.compact()
        await session.turn()
    assert (await verify(ledger)).faults == ()


def _resealed(ledger: MemoryLedger, change: Callable[[list[Any]], None]) -> None:
    """Change the drafts of a session, and seal all anew: the chain is whole, and only meaning is wrong."""
    shelf = ledger._shelves["s"]
    drafts = [[event.type, event.data, event.op, event.sources, event.epoch, event.time] for event in shelf.events]
    change(drafts)
    events: list[Event] = []
    previous = GENESIS
    for seq, (kind, data, op, sources, epoch, time) in enumerate(drafts):
        event = seal(Draft(kind, data, op, sources), session_id="s", seq=seq, time=time, epoch=epoch, previous=previous)
        events.append(event)
        previous = event.digest
    shelf.events[:] = events
    shelf.surface.head = previous


def _first(drafts: Sequence[Any], kind: EventType, at: int = 0) -> Any:
    return [draft for draft in drafts if draft[0] is kind][at]


def _committed_end(drafts: Sequence[Any]) -> dict[str, Any]:
    return next(draft[1] for draft in drafts if draft[0] is EventType.COMPACTION_ENDED and draft[1]["code"] is None)


def _lies_about_coverage(drafts: list[Any]) -> None:
    _committed_end(drafts)["coverage"]["kept"] = []


def _lies_about_pins(drafts: list[Any]) -> None:
    _committed_end(drafts)["coverage"]["pinned"] = []


def _lies_about_input(drafts: list[Any]) -> None:
    _committed_end(drafts)["input"] = hashlib.sha256(b"else").hexdigest()


def _lies_about_units(drafts: list[Any]) -> None:
    end = _committed_end(drafts)
    end["units_after"] += 1


def _record_does_not_add_up(drafts: list[Any]) -> None:
    placed = _first(drafts, EventType.SUMMARY_PLACED)[1]
    placed["record"]["unitsAfter"] += 1
    _committed_end(drafts)["units_after"] += 1


def _started_for_something_else(drafts: list[Any]) -> None:
    _first(drafts, EventType.COMPACTION_STARTED)[1]["hidden"] = [[1, 2]]


def _another_surface_was_shown(drafts: list[Any]) -> None:
    _first(drafts, EventType.TURN_SHOWN)[1]["surface"] = "0" * 64


def _a_turn_is_missing(drafts: list[Any]) -> None:
    _first(drafts, EventType.TURN_SHOWN)[1]["turn"] = 7


def _a_name_is_used_twice(drafts: list[Any]) -> None:
    _first(drafts, EventType.MESSAGE_APPENDED, 5)[1]["id"] = _first(drafts, EventType.MESSAGE_APPENDED, 4)[1]["id"]


def _a_message_is_none(drafts: list[Any]) -> None:
    _first(drafts, EventType.MESSAGE_APPENDED, 4)[1]["role"] = "wizard"


def _a_failed_run_claims_to_have_committed(drafts: list[Any]) -> None:
    next(draft[1] for draft in drafts if draft[0] is EventType.COMPACTION_ENDED and draft[1]["code"])["code"] = None


def _a_summary_hides_more_than_it_names(drafts: list[Any]) -> None:
    placed = _first(drafts, EventType.SUMMARY_PLACED)
    placed[3] = placed[3][1:]


LIES = {
    _lies_about_coverage: ("coverage", EventType.COMPACTION_ENDED),
    _lies_about_pins: ("coverage", EventType.COMPACTION_ENDED),
    _lies_about_input: ("input", EventType.COMPACTION_ENDED),
    _lies_about_units: ("units", EventType.COMPACTION_ENDED),
    _record_does_not_add_up: ("units", EventType.SUMMARY_PLACED),
    _started_for_something_else: ("input", EventType.SUMMARY_PLACED),
    _another_surface_was_shown: ("turn", EventType.TURN_SHOWN),
    _a_turn_is_missing: ("turn", EventType.TURN_SHOWN),
    _a_name_is_used_twice: ("names", EventType.MESSAGE_APPENDED),
    _a_message_is_none: ("data", EventType.MESSAGE_APPENDED),
    _a_failed_run_claims_to_have_committed: ("end", EventType.COMPACTION_ENDED),
    _a_summary_hides_more_than_it_names: ("fold", EventType.SUMMARY_PLACED),
}


@pytest.mark.parametrize("lie", list(LIES), ids=lambda lie: lie.__name__.strip("_"))
async def test_a_lie_that_is_sealed_into_the_chain_is_found_at_its_place(lie: Callable[[list[Any]], None]) -> None:
    ledger = MemoryLedger()
    await lived(ledger, lives=1)
    _resealed(ledger, lambda _drafts: None)
    assert (await verify(ledger)).ok, "sealed anew without a lie there is nothing to find"
    _resealed(ledger, lie)
    rule, kind = LIES[lie]
    events = ledger._shelves["s"].events
    found = [fault for fault in (await verify(ledger)).faults if fault.rule == rule]
    assert found, (await verify(ledger)).faults
    assert events[found[0].seq].type is kind
    assert f"event {found[0].seq}" in str(found[0])


async def test_a_changed_byte_a_missing_event_and_a_silent_redaction_are_found() -> None:
    for at, change in (
        (5, lambda event: attrs.evolve(event, body=event.body.replace(b"x", b"y", 1))),
        (7, lambda event: attrs.evolve(event, time=event.time + 1)),
    ):
        ledger = MemoryLedger()
        await lived(ledger, lives=1)
        kept = ledger._shelves["s"].events
        kept[at] = change(kept[at])
        (fault,) = (await verify(ledger)).faults
        assert (fault.rule, fault.seq) == ("chain", at)
    ledger = MemoryLedger()
    await lived(ledger, lives=1)
    del ledger._shelves["s"].events[6]
    (fault,) = (await verify(ledger)).faults
    assert "event 6" in fault.message
    ledger = MemoryLedger()
    await lived(ledger, lives=1)
    kept = ledger._shelves["s"].events
    body = canonical({**kept[5].data, "content": "[redacted]"})
    kept[5] = attrs.evolve(kept[5], body=body, redacted=hashlib.sha256(kept[5].body).digest())
    faults = (await verify(ledger)).faults
    assert [(fault.seq, fault.rule) for fault in faults if fault.rule == "redaction"] == [(5, "redaction")]


async def test_a_ledger_that_gives_another_surface_than_its_events_is_found() -> None:
    ledger = MemoryLedger()
    await lived(ledger, lives=1)
    ledger._shelves["s"].surface.order.pop()
    assert [fault.rule for fault in (await verify(ledger)).faults] == ["stored"]


async def test_a_run_without_an_end_is_a_trace_and_one_bad_session_does_not_hide_another() -> None:
    ledger = MemoryLedger()
    await lived(ledger, lives=1)
    lease = await ledger.acquire("t", owner="one")
    await ledger.append(lease, [Draft(EventType.COMPACTION_STARTED, {"run": "c-lost", "hidden": [], "input": ""})])
    await ledger.release(lease)
    kept = ledger._shelves["s"].events
    kept[4] = attrs.evolve(kept[4], body=b"{}")
    audit = await verify(ledger)
    assert [fault.session_id for fault in audit.faults] == ["s"]
    assert [(trace.session_id, trace.seq, "c-lost" in trace.message) for trace in audit.traces] == [("t", 1, True)]
    assert not audit.ok
