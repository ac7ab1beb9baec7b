"""``verify`` finds what is wrong at its place, and nothing where nothing is wrong. A checker that cannot fail proves nothing."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import attrs
import pytest
import trio
from scenes import BUDGET as TIGHT
from scenes import Swap, call, good, result, user

from compactor import open_ledger
from compactor.audit import verify
from compactor.errors import CompactionError, ErrorCode
from compactor.events import APPEND, GENESIS, Draft, Event, EventType, Rewind, canonical, seal
from compactor.evidence import Doubles, Names
from compactor.outcomes import Committed, Failed
from compactor.session import open_session
from compactor.stores import MemoryLedger, open_store
from compactor.stores._rows import Place, heads, put_events, put_head
from compactor.stores.memory import _Shelf
from compactor.surface import Log, Surface

NOTHING = hashlib.sha256(b"").hexdigest()
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


Telling = list[list[Any]]
"""The events of a session as [type, data, op, sources, epoch, time]."""


def told_anew(events: Sequence[Event], change: Callable[[Telling], object]) -> list[Event]:
    """The events with a change, sealed anew: the chain is whole, and only meaning is wrong."""
    drafts: Telling = [[event.type, event.data, event.op, event.sources, event.epoch, event.time] for event in events]
    change(drafts)
    sealed: list[Event] = []
    previous = GENESIS
    for seq, (kind, data, op, sources, epoch, time) in enumerate(drafts):
        event = seal(Draft(kind, data, op, sources), session_id="s", seq=seq, time=time, epoch=epoch, previous=previous)
        sealed.append(event)
        previous = event.digest
    return sealed


def planted(events: Sequence[Event], session_id: str = "s") -> MemoryLedger:
    """A ledger in memory that holds these events, whatever they say."""
    ledger = MemoryLedger()
    shelf = _Shelf(Surface(session_id), list(events))
    with contextlib.suppress(Exception):  # as far as they can be folded
        shelf.surface = Log(session_id, shelf.events).fold()
    ledger._shelves[session_id] = shelf
    return ledger


async def written(path: Path, events: Sequence[Event]) -> None:
    """A ledger file whose one session has these events, put there behind the back of its triggers."""
    ledger = await open_store(path)
    await ledger.release(await ledger.acquire("s", owner="test"))
    await ledger.aclose()
    connection = apsw.Connection(str(path))
    place = Place(connection, str(path))
    (head,) = heads(place)
    with connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _sql in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM events")
        put_events(place, head, events)
        assert put_head(place, head, attrs.evolve(head, next=len(events), digest=events[-1].digest))
        for _name, sql in triggers:
            connection.execute(sql)
    connection.close()


def _first(drafts: Sequence[Any], kind: EventType, at: int = 0) -> Any:
    return [draft for draft in drafts if draft[0] is kind][at]


def _last(drafts: Sequence[Any], kind: EventType) -> Any:
    return _first(list(reversed(drafts)), kind)


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


def _started_for_what_is_not_there(drafts: list[Any]) -> None:
    _last(drafts, EventType.COMPACTION_STARTED)[1]["hidden"] = [[0, 10**15]]


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


def _a_kept_message_is_in_two_channels(drafts: list[Any]) -> None:
    coverage = _committed_end(drafts)["coverage"]
    coverage["control"] = [[coverage["kept"][0][0]] * 2]


def _coverage_has_what_was_not_there(drafts: list[Any]) -> None:
    _committed_end(drafts)["coverage"]["kept"][0] = [10_000, 10_001]


def _coverage_is_endless(drafts: list[Any]) -> None:
    _committed_end(drafts)["coverage"]["kept"] = [[0, 10**15]]


def _coverage_has_the_right_events_in_the_wrong_channel(drafts: list[Any]) -> None:
    coverage = _committed_end(drafts)["coverage"]
    coverage["control"], coverage["kept"] = coverage["kept"], []


def _coverage_has_another_channel(drafts: list[Any]) -> None:
    _committed_end(drafts)["coverage"]["forgotten"] = []


def _lies_about_units_before(drafts: list[Any]) -> None:
    placed = _first(drafts, EventType.SUMMARY_PLACED)[1]
    placed["record"]["unitsBefore"] += 1
    _committed_end(drafts)["units_before"] += 1


def _a_record_names_other_messages(drafts: list[Any]) -> None:
    _first(drafts, EventType.SUMMARY_PLACED)[1]["record"]["compactedMessageIds"][0] = "else"


def _a_record_is_of_another_run(drafts: list[Any]) -> None:
    _first(drafts, EventType.SUMMARY_PLACED)[1]["record"]["id"] = "else"


def _a_summary_is_of_no_run_that_was_started(drafts: list[Any]) -> None:
    placed = _first(drafts, EventType.SUMMARY_PLACED)[1]
    placed["run"] = placed["record"]["id"] = "else"


def _a_summary_has_no_end(drafts: list[Any]) -> None:
    del drafts[[draft[0] for draft in drafts].index(EventType.SUMMARY_PLACED) + 1 :]


def _a_summary_hides_in_secret(drafts: list[Any]) -> None:
    del _last(drafts, EventType.SUMMARY_PLACED)[1]["run"]


def _a_committed_run_says_that_it_failed(drafts: list[Any]) -> None:
    _committed_end(drafts)["code"] = "CONTEXT_CANCELLED"


def _a_turn_counts_wrong(drafts: list[Any]) -> None:
    _first(drafts, EventType.TURN_SHOWN)[1]["units"] += 1


def _pending_input_counts_wrong(drafts: list[Any]) -> None:
    _first(drafts, EventType.TURN_SHOWN)[1]["pending"] = 0


def _a_fenced_owner_wrote(drafts: list[Any]) -> None:
    _first(drafts, EventType.MESSAGE_APPENDED, 7)[4] = 0


def _a_life_is_left_out(drafts: list[Any]) -> None:
    for draft in drafts:
        draft[4] += 1


def _the_beginning_is_cut_off(drafts: list[Any]) -> None:
    drafts[0][0], drafts[0][1] = EventType.REQUIREMENT_PINNED, {"id": "p", "content": "x"}


def _an_undo_names_another_run(drafts: list[Any]) -> None:
    _first(drafts, EventType.COMPACTION_UNDONE)[1]["records"] = ["else"]


def _a_rewind_says_another_place(drafts: list[Any]) -> None:
    _first(drafts, EventType.SURFACE_REWOUND)[1]["to"] = 1


def _a_rewind_goes_forward(drafts: list[Any]) -> None:
    _first(drafts, EventType.SURFACE_REWOUND)[2] = Rewind(10**6)


def _a_redaction_did_not_happen(drafts: list[Any]) -> None:
    drafts.append([EventType.DATA_REDACTED, {"seq": 3, "reason": "a key"}, None, (3,), drafts[-1][4], drafts[-1][5]])


def _a_result_is_of_another_call(drafts: list[Any]) -> None:
    next(draft[1] for draft in drafts if draft[1].get("role") == "toolResult")["toolCallId"] = "else"


def _a_call_has_two_results(drafts: list[Any]) -> None:
    at, draft = next((at, draft) for at, draft in enumerate(drafts) if draft[1].get("role") == "toolResult")
    drafts[at + 1][1] = {**draft[1], "id": "again"}


def _a_summary_hides_more_than_there_is(drafts: list[Any]) -> None:
    _first(drafts, EventType.SUMMARY_PLACED)[1]["hidden"] = [[0, 10**5]]


def _a_run_ends_twice(drafts: list[Any]) -> None:
    drafts.append([EventType.COMPACTION_ENDED, _committed_end(drafts), None, (), drafts[-1][4], drafts[-1][5]])


LIES = {
    _lies_about_coverage: ("coverage", EventType.COMPACTION_ENDED),
    _lies_about_pins: ("coverage", EventType.COMPACTION_ENDED),
    _lies_about_input: ("input", EventType.COMPACTION_ENDED),
    _lies_about_units: ("units", EventType.COMPACTION_ENDED),
    _record_does_not_add_up: ("units", EventType.SUMMARY_PLACED),
    _started_for_something_else: ("input", EventType.COMPACTION_STARTED),
    _started_for_what_is_not_there: ("input", EventType.COMPACTION_STARTED),
    _another_surface_was_shown: ("turn", EventType.TURN_SHOWN),
    _a_turn_is_missing: ("turn", EventType.TURN_SHOWN),
    _a_name_is_used_twice: ("names", EventType.MESSAGE_APPENDED),
    _a_message_is_none: ("data", EventType.MESSAGE_APPENDED),
    _a_failed_run_claims_to_have_committed: ("end", EventType.COMPACTION_ENDED),
    _a_summary_hides_more_than_it_names: ("fold", EventType.SUMMARY_PLACED),
    _a_kept_message_is_in_two_channels: ("coverage", EventType.COMPACTION_ENDED),
    _coverage_has_what_was_not_there: ("coverage", EventType.COMPACTION_ENDED),
    _coverage_is_endless: ("coverage", EventType.COMPACTION_ENDED),
    _coverage_has_the_right_events_in_the_wrong_channel: ("coverage", EventType.COMPACTION_ENDED),
    _coverage_has_another_channel: ("coverage", EventType.COMPACTION_ENDED),
    _lies_about_units_before: ("units", EventType.SUMMARY_PLACED),
    _a_record_names_other_messages: ("record", EventType.SUMMARY_PLACED),
    _a_record_is_of_another_run: ("record", EventType.SUMMARY_PLACED),
    _a_summary_is_of_no_run_that_was_started: ("lock", EventType.SUMMARY_PLACED),
    _a_summary_has_no_end: ("end", EventType.SUMMARY_PLACED),
    _a_summary_hides_in_secret: ("coverage", EventType.SUMMARY_PLACED),
    _a_committed_run_says_that_it_failed: ("end", EventType.COMPACTION_ENDED),
    _a_turn_counts_wrong: ("units", EventType.TURN_SHOWN),
    _pending_input_counts_wrong: ("units", EventType.TURN_SHOWN),
    _a_fenced_owner_wrote: ("life", EventType.MESSAGE_APPENDED),
    _a_life_is_left_out: ("life", EventType.SESSION_OPENED),
    _the_beginning_is_cut_off: ("life", EventType.REQUIREMENT_PINNED),
    _an_undo_names_another_run: ("edit", EventType.COMPACTION_UNDONE),
    _a_rewind_says_another_place: ("edit", EventType.SURFACE_REWOUND),
    _a_rewind_goes_forward: ("fold", EventType.SURFACE_REWOUND),
    _a_redaction_did_not_happen: ("redaction", EventType.DATA_REDACTED),
    _a_result_is_of_another_call: ("pairing", EventType.MESSAGE_APPENDED),
    _a_call_has_two_results: ("pairing", EventType.MESSAGE_APPENDED),
    _a_summary_hides_more_than_there_is: ("fold", EventType.SUMMARY_PLACED),
    _a_run_ends_twice: ("fold", EventType.COMPACTION_ENDED),
}


@functools.lru_cache
def story() -> tuple[Event, ...]:
    """One life, once lived."""

    async def live() -> tuple[Event, ...]:
        ledger = MemoryLedger()
        await lived(ledger, lives=1)
        return await ledger.read("s")

    return trio.run(live)


STORY = story()


async def test_sealed_anew_without_a_lie_there_is_nothing_to_find(tmp_path: Path) -> None:
    events = told_anew(STORY, lambda _drafts: None)
    assert tuple(events) == STORY
    assert (await verify(planted(events))).faults == ()
    path = tmp_path / "x.ledger"
    await written(path, events)
    async with open_ledger(path) as ledger:
        assert (await verify(ledger.store)).faults == ()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("lie", list(LIES), ids=lambda lie: lie.__name__.strip("_"))
async def test_a_lie_that_is_sealed_into_the_chain_is_found_at_its_place(
    kind: str, lie: Callable[[list[Any]], None], tmp_path: Path
) -> None:
    rule, type_ = LIES[lie]
    events = told_anew(STORY, lie)
    if kind == "memory":
        audit = await verify(planted(events))
    else:
        path = tmp_path / "x.ledger"
        await written(path, events)
        async with open_ledger(path) as ledger:
            audit = await verify(ledger.store)
    found = [fault for fault in audit.faults if fault.rule == rule]
    assert found, audit.faults
    assert events[found[0].seq].type is type_
    assert f"s, event {found[0].seq}: " in str(found[0])
    assert list(audit.faults) == sorted(audit.faults, key=lambda fault: (fault.seq, fault.rule))


# What nobody can check: words, times and settings that nothing else depends on.
FREE = {
    EventType.SESSION_OPENED: {"owner"},
    EventType.REQUIREMENT_PINNED: set(),
    EventType.REQUIREMENT_UNPINNED: set(),
    EventType.MESSAGE_APPENDED: set(),
    EventType.SUMMARY_PLACED: set(),
    EventType.TURN_SHOWN: {"overhead", "format", "model"},
    EventType.COMPACTION_STARTED: {"trigger", "target", "summary_max"},
    EventType.COMPACTION_ENDED: {"kind", "measure", "summarizer", "raw", "verdicts", "attempts", "seconds"},
    EventType.COMPACTION_UNDONE: set(),
    EventType.SURFACE_REWOUND: set(),
}


MEASURED = {
    seq
    for event in STORY
    if event.type in (EventType.TURN_SHOWN, EventType.COMPACTION_STARTED, EventType.SUMMARY_PLACED)
    for seq in Log("s", STORY).order_at(event.seq - 1)
}
"""What stood on a surface that an event tells of."""


def _mutants(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The data with one field left out, or of another type, or another value of the same type."""
    for key, value in data.items():
        yield key, {name: item for name, item in data.items() if name != key}
        for other in (None, 7, "else", [[3, 2]], {"type": "text"}):
            if other != value and type(other) is not type(value):
                yield key, {**data, key: other}
        if type(value) is int:
            yield key, {**data, key: value + 1}
        elif type(value) is str:
            yield key, {**data, key: value + "e"}
        elif type(value) is list and value:
            yield key, {**data, key: value[1:]}


ONE_OF_EACH = sorted({seq for events in (STORY, STORY[::-1]) for seq in {event.type: event.seq for event in events}.values()})
"""The first and the last event of each type."""


@pytest.mark.parametrize("seq", ONE_OF_EACH, ids=lambda seq: f"{seq}-{STORY[seq].type.value.replace('/', '-')}")
async def test_no_field_can_be_changed_without_being_found_unless_nothing_depends_on_it(seq: int) -> None:
    """Also: whatever was sealed into an event, ``verify`` says so and never raises."""
    event = STORY[seq]
    for key, data in _mutants(event.data):

        def change(drafts: Telling, data: Any = data) -> None:
            drafts[seq][1] = data

        audit = await verify(planted(told_anew(STORY, change)))
        nothing = key == "coverage" and "coverage" not in data  # not recorded: then it cannot be wrong
        reason = key == "code" and str is type(data.get(key)) is type(event.data[key])
        unseen = event.op is APPEND and seq not in MEASURED
        if not (key in FREE[event.type] or nothing or reason or unseen):
            assert audit.faults, (event.type, key, data.get(key))
    for data in ([], None, "x", 7, {}):
        audit = await verify(planted(told_anew(STORY, lambda drafts, data=data: drafts[seq].__setitem__(1, data))))
        assert event.type is EventType.SESSION_OPENED or audit.faults, (event.type, data)
        assert all(fault.seq >= seq or fault.seq == -1 for fault in audit.faults)


@pytest.mark.parametrize("at", [0, 1, 5, len(STORY) // 2, len(STORY) - 1])
async def test_what_stands_before_a_broken_event_is_judged_and_the_break_has_its_place(at: int) -> None:
    def lie(drafts: Telling) -> None:
        _first(drafts, EventType.MESSAGE_APPENDED, 0)[4] = 0

    events = told_anew(STORY, lie)
    lied = next(event.seq for event in events if event.epoch == 0)
    broken = events.copy()
    broken[at] = attrs.evolve(events[at], time=events[at].time + 1)
    audit = await verify(planted(broken))
    assert [fault.seq for fault in audit.faults if fault.rule == "chain"] == [at]
    assert [fault.seq for fault in audit.faults if fault.rule == "life"] == ([lied] if lied < at else [])
    assert audit.events == at
    gone = [event for event in events if event.seq != at]
    assert [fault.seq for fault in (await verify(planted(gone))).faults if fault.rule == "chain"] in (
        [at],
        [] if at == len(gone) else [at],
    )


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


async def test_a_start_without_an_end_is_a_trace_and_says_of_which_life() -> None:
    ledger = MemoryLedger()
    await lived(ledger, lives=1)
    lease = await ledger.acquire("s", owner="one")
    await ledger.append(lease, [Draft(EventType.COMPACTION_STARTED, {"run": "c-lost", "hidden": [], "input": ""})])
    audit = await verify(ledger)
    assert audit.ok
    assert "it may be running" in audit.traces[0].message
    await ledger.release(lease)
    await ledger.release(await ledger.acquire("s", owner="two"))
    audit = await verify(ledger)
    assert audit.ok
    assert "which is over" in audit.traces[0].message
    assert audit.traces[0].rule == "trace"


async def test_a_fork_before_a_redaction_was_explained_is_clean_and_lies_about_a_parent_are_found() -> None:
    ledger = MemoryLedger()
    async with open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
        await session.append(*[user(number) for number in range(10)])
        last = session.lease.surface.next_seq - 1
        await session.redact(3, "a key")
        await session.fork(last, "child")
    async with open_session(ledger, session_id="child", policy=BUDGET, auto=False) as session:
        await session.fork(last + 1, "grandchild")
    assert [event.redacted is not None for event in await ledger.read("grandchild", 3, 4)] == [True]
    audit = await verify(ledger)
    assert (audit.faults, audit.sessions) == ((), 3)
    # Without the parent nobody says why, and where the fork begins cannot be checked.
    parent = ledger._shelves.pop("s")
    audit = await verify(ledger, "child")
    assert [(fault.seq, fault.rule) for fault in audit.faults] == [(3, "redaction")]
    assert ["is not in this ledger" in trace.message for trace in audit.traces] == [True]
    # Another session under its name is another parent.
    async with open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
        await session.append(*[user(number) for number in range(20)])
    audit = await verify(ledger, "child")
    assert (last + 1, "fork") in [(fault.seq, fault.rule) for fault in audit.faults]
    ledger._shelves["s"] = parent
    assert (await verify(ledger)).ok


class Moving(MemoryLedger):
    """A ledger whose session goes on while it is checked."""

    session: Any = None
    reads = 0

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
        events = await super().read(session_id, start, stop)
        self.reads += len(events)
        if self.session is not None and start == 0 and stop is not None:
            session, self.session = self.session, None
            await session.append(user(5_000))
            await session.redact(3, "a key, just now")
            events = await super().read(session_id, start, stop)
        return events


async def test_a_session_that_goes_on_meanwhile_is_judged_as_it_was() -> None:
    ledger = Moving()
    async with open_session(ledger, session_id="s", policy=BUDGET, auto=False) as session:
        await session.append(*[user(number) for number in range(10)])
        before = session.lease.surface.next_seq
        ledger.session = session
        audit = await verify(ledger)
        assert ledger.session is None
        assert (audit.faults, audit.events) == ((), before)
        assert (await verify(ledger)).faults == ()


async def test_many_rewinds_cost_a_few_passes() -> None:
    ledger = Moving()
    async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=good, auto=False) as session:
        for number in range(60):
            await session.append(*[user(10 * number + at) for at in range(6)])
            if number % 10 == 9:
                await session.compact(force=True)
            await session.rewind(session.lease.surface.next_seq - 3 - number % 7)
        events = session.lease.surface.next_seq
        ledger.reads = 0
        assert (await verify(ledger)).faults == ()
        assert ledger.reads < 16 * events


async def test_a_run_without_an_end_is_a_trace_and_one_bad_session_does_not_hide_another() -> None:
    ledger = MemoryLedger()
    await lived(ledger, lives=1)
    lease = await ledger.acquire("t", owner="one")
    await ledger.append(lease, [Draft(EventType.COMPACTION_STARTED, {"run": "c-lost", "hidden": [], "input": NOTHING})])
    await ledger.release(lease)
    kept = ledger._shelves["s"].events
    kept[4] = attrs.evolve(kept[4], body=b"{}")
    audit = await verify(ledger)
    assert [fault.session_id for fault in audit.faults] == ["s"]
    assert [(trace.session_id, trace.seq, "c-lost" in trace.message) for trace in audit.traces] == [("t", 1, True)]
    assert not audit.ok


class Unlisted(MemoryLedger):
    """A ledger that cannot say what it holds."""

    code = ErrorCode.LEDGER_CORRUPT

    async def sessions(self) -> Any:
        raise CompactionError(self.code, "the head record was changed", where="x.ledger")


async def test_a_ledger_that_cannot_be_listed_is_a_finding() -> None:
    audit = await verify(Unlisted())
    assert [str(fault) for fault in audit.faults] == ["the ledger: the head record was changed (x.ledger) [chain]"]
    closed = Unlisted()
    closed.code = ErrorCode.SESSION_CLOSED
    with pytest.raises(CompactionError, match="head record"):
        await verify(closed)


async def test_a_damaged_file_is_told_and_the_next_session_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    await lived(path, lives=1)
    async with open_session(path, session_id="t", policy=BUDGET, auto=False) as session:
        await session.append(user(1))
    connection = apsw.Connection(str(path))
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _sql in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(
        "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'xx', 'xy') AS BLOB) WHERE id = (SELECT min(id) + 6 FROM events)"
    )
    for _name, sql in triggers:
        connection.execute(sql)
    connection.close()
    async with open_ledger(path) as ledger:
        audit = await verify(ledger.store)
    assert [(fault.session_id, fault.seq, fault.rule) for fault in audit.faults] == [("s", 6, "chain")]
    assert audit.sessions == 2


def test_what_is_given_twice_is_told_apart() -> None:
    names = Names()
    for number in range(5_000):
        names.add(f"message:{number}")
    assert names.doubled() == frozenset()
    names.add("message:77")
    doubles = Doubles(names.doubled())
    assert list(doubles.judge(3, ["message:77", "message:78"])) == []
    assert list(doubles.judge(9, ["message:77"])) == ["has the name message '77', which event 3 has"]
