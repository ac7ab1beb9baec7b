"""The ledger: its rules in their order, its chain, its fold; and the memory store against the executable definition."""

from __future__ import annotations

import json

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from compactor.errors import CompactionError, ErrorCode
from compactor.events import (
    APPEND,
    GENESIS,
    Append,
    Draft,
    Event,
    EventType,
    Replace,
    Restore,
    Rewind,
    canonical,
    parse_op,
    ranges,
    seal,
    unranged,
    verify_chain,
)
from compactor.ledger import check_session_id
from compactor.messages import message_to_plain
from compactor.searching import folded, scan, searchable
from compactor.stores import MemoryLedger
from compactor.surface import Log, Surface, fold
from compactor.testing import check_ledger, transcripts


async def test_two_handles_on_a_memory_ledger_keep_to_the_protocol() -> None:
    ledger = MemoryLedger()

    async def another() -> MemoryLedger:
        return MemoryLedger(ledger)

    await check_ledger(another)


class _ForgetsNamesThatWereRewound(MemoryLedger):
    async def find(self, session_id, name):
        seq = await super().find(session_id, name)
        surface = await self.surface_at(session_id) if seq is not None else None
        return seq if surface is None or seq in surface.digests or not name.startswith("message:") else None


class _ReadsTheSurfaceOneTooEarly(MemoryLedger):
    async def surface_at(self, session_id, seq=None):
        return await super().surface_at(session_id, seq - 1 if seq else seq)


class _LendsItsOwnSurface(MemoryLedger):
    async def surface_at(self, session_id, seq=None):
        return self._shelf(session_id).surface if seq is None else await super().surface_at(session_id, seq)


class _TellsTheOutermostSummary(MemoryLedger):
    async def hiding(self, session_id, seq):
        found, above = None, await super().hiding(session_id, seq)
        while above is not None:
            found, above = above, await super().hiding(session_id, above)
        return found


class _SearchesWhatIsShown(MemoryLedger):
    async def search(self, session_id, query, limit):
        await super().search(session_id, query, limit)
        events = [event for event in self._shelf(session_id).events if event.type is EventType.MESSAGE_APPENDED]
        return tuple([events[at] for at in scan(query, [searchable(event.data) for event in events], limit)])


class _SearchesWholeWords(MemoryLedger):
    async def search(self, session_id, query, limit):
        found = await super().search(session_id, query, limit)
        return tuple([e for e in found if set(query.terms) & set(folded(searchable(e.data)).split())])


class _RedactsBeforeItChecks(MemoryLedger):
    async def redact(self, lease, seq, tombstone, draft):
        shelf = self._own(lease)
        if 0 <= seq < len(shelf.events):
            shelf.events[seq] = attrs.evolve(shelf.events[seq], body=tombstone, redacted=bytes(32))
        return await super().redact(lease, seq, tombstone, draft)


class _WritesInTwoSteps(MemoryLedger):
    async def append(self, lease, drafts):
        events = ()
        for draft in drafts:
            events += await super().append(lease, [draft])
        return events


class _RaisesCancelledForWhatItWrote(MemoryLedger):
    async def append(self, lease, drafts):
        events = await super().append(lease, drafts)
        await trio.lowlevel.checkpoint()
        return events


class _ForksWithoutNames(MemoryLedger):
    def _copy(self, shelf, origin):
        said = super()._copy(shelf, origin)
        shelf.names.clear()
        return said


class _KeepsTheChainOfTheParent(MemoryLedger):
    def _copy(self, shelf, origin):
        said = super()._copy(shelf, origin)
        shelf.events[0] = self._shelves[origin.session_id].events[0]
        return said


class _HasNoFencing(MemoryLedger):
    def _own(self, lease):
        return self._shelves[lease.session_id]


class _ListsSessionsByName(MemoryLedger):
    async def sessions(self):
        return tuple(sorted(await super().sessions(), key=lambda info: info.id))


BROKEN = [value for name, value in globals().items() if isinstance(value, type) and name.startswith("_")]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
async def test_a_store_that_breaks_the_protocol_is_caught(broken: type[MemoryLedger]) -> None:
    ledger = broken()

    async def another() -> MemoryLedger:
        return broken(ledger)

    with pytest.raises((AssertionError, CompactionError)):
        await check_ledger(another)


async def test_a_handle_that_was_closed_loses_its_sessions_to_the_next_owner() -> None:
    ledger = MemoryLedger()
    other = MemoryLedger(ledger)
    lease = await ledger.acquire("s", owner="one")
    await ledger.aclose()
    with pytest.raises(CompactionError, match="the ledger handle is closed"):
        await ledger.append(lease, [])
    assert (await other.acquire("s", owner="two")).epoch == 2


def _sealed(drafts: list[Draft], session_id: str = "s") -> list[Event]:
    events: list[Event] = []
    previous = GENESIS
    for seq, draft in enumerate(drafts):
        events.append(seal(draft, session_id=session_id, seq=seq, time=1.5, epoch=1, previous=previous))
        previous = events[-1].digest
    return events


def _user(index: int) -> Draft:
    return Draft(EventType.MESSAGE_APPENDED, {"id": f"m{index}", "role": "user", "content": "x"}, APPEND)


ROUND = [
    _user(0),
    Draft(
        EventType.MESSAGE_APPENDED,
        {"id": "m1", "role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "t", "arguments": {}}]},
        APPEND,
    ),
    Draft(
        EventType.MESSAGE_APPENDED,
        {"id": "m2", "role": "toolResult", "toolCallId": "c", "toolName": "t", "content": "", "isError": False},
        APPEND,
    ),
    _user(3),
]
SUMMARY = {"id": "s1", "content": "a summary"}


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (Draft(EventType.REQUIREMENT_PINNED, {"id": "r", "content": "c"}, APPEND), "no surface type"),
        (Draft(EventType.MESSAGE_APPENDED, {"id": "x"}), "must carry an operation"),
        (Draft(EventType.MESSAGE_APPENDED, {"id": "x"}, Replace(0, 0), (0,)), "may not carry the operation replace"),
        (Draft(EventType.SUMMARY_PLACED, SUMMARY, Replace(0, 9), (0,)), "not on the surface now"),
        (Draft(EventType.SUMMARY_PLACED, SUMMARY, Replace(3, 0), (0, 1, 2, 3)), "start stands after its end"),
        (Draft(EventType.SUMMARY_PLACED, SUMMARY, Replace(0, 0), (0, 0)), "not distinct earlier events"),
        (Draft(EventType.SUMMARY_PLACED, SUMMARY, Replace(0, 0), (0, 4)), "not distinct earlier events"),
        (Draft(EventType.SUMMARY_PLACED, SUMMARY, Replace(0, 2), (0, 2)), "does not name every event that it hides"),
        (Draft(EventType.SUMMARY_PLACED, SUMMARY, Replace(0, 1), (0, 1)), "does not list exactly what it hides"),
        (
            Draft(EventType.SUMMARY_PLACED, {**SUMMARY, "hidden": [[0, 1]]}, Replace(0, 1), (0, 1)),
            "a tool call without its result",
        ),
        (Draft(EventType.SUMMARY_PLACED, {**SUMMARY, "hidden": [[2, 3]]}, Replace(2, 3), (2, 3)), "a result without its call"),
    ],
)
def test_each_rule_of_the_surface_has_its_own_message_and_a_refusal_changes_nothing(draft: Draft, message: str) -> None:
    surface = fold("s", _sealed(ROUND))
    before = attrs.asdict(surface)
    event = seal(draft, session_id="s", seq=4, time=1.5, epoch=1, previous=surface.head)
    with pytest.raises(CompactionError, match=message) as caught:
        surface.check([event], Log("s", []))
    assert caught.value.code is ErrorCode.LEDGER_CORRUPT
    assert caught.value.where == "event 4"
    assert attrs.asdict(surface) == before


def test_an_event_out_of_order_or_of_another_session_is_refused() -> None:
    surface = fold("s", _sealed(ROUND))
    late = seal(_user(9), session_id="s", seq=7, time=1.5, epoch=1, previous=surface.head)
    with pytest.raises(CompactionError, match="is not the next one, which is 4"):
        surface.check([late], Log("s", []))
    foreign = seal(_user(9), session_id="t", seq=4, time=1.5, epoch=1, previous=surface.head)
    with pytest.raises(CompactionError, match="belongs to another session"):
        surface.check([foreign], Log("s", []))


def test_after_a_replacement_positions_are_named_by_seq_and_need_not_ascend() -> None:
    events = _sealed(
        [
            *ROUND,
            Draft(EventType.SUMMARY_PLACED, {**SUMMARY, "hidden": [[0, 2]]}, Replace(0, 2), (0, 1, 2)),
            Draft(EventType.SUMMARY_PLACED, {"id": "s2", "content": "all", "hidden": [[4, 4], [3, 3]]}, Replace(4, 3), (4, 3)),
        ]
    )
    assert fold("s", events[:5]).order == [4, 3]
    assert fold("s", events).order == [5]


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 9},
        {"type": EventType.SUMMARY_PLACED},
        {"time": 1.25},
        {"epoch": 2},
        {"body": b'{"content":"y","id":"m1","role":"user"}'},
        {"op": Replace(0, 0)},
        {"sources": (0,)},
        {"session_id": "t"},
        {"digest": bytes(32)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_field_breaks_the_chain_at_its_place(change: dict[str, object]) -> None:
    events = _sealed([_user(index) for index in range(4)])
    verify_chain(events)
    events[1] = attrs.evolve(events[1], **change)
    with pytest.raises(CompactionError, match=r"event 1: does not fit the chain"):
        verify_chain(events)


def test_a_missing_event_breaks_the_chain() -> None:
    events = _sealed([_user(index) for index in range(4)])
    with pytest.raises(CompactionError, match="event 1: does not fit"):
        verify_chain([events[0], *events[2:]])


@given(transcripts(max_size=16))
def test_folding_one_more_equals_folding_all_again(messages: list[object]) -> None:
    events = _sealed([Draft(EventType.MESSAGE_APPENDED, message_to_plain(message), APPEND) for message in messages])
    surface = Surface("s")
    for count, event in enumerate(events, 1):
        past = Log("s", events[: count - 1])
        surface.check([event], past)
        surface.apply(event, past)
        assert attrs.asdict(surface) == attrs.asdict(fold("s", events[:count]))


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.integers())
def test_canonical_bytes_are_ascii_and_lossless(text: str, number: float, whole: int) -> None:
    data = {"z": text, "a": [number, whole, None, True], text: {}}
    body = canonical(data)
    assert body.isascii()
    assert seal(Draft(EventType.SESSION_OPENED, data), session_id="s", seq=0, time=0.0, epoch=1, previous=GENESIS).data == data
    assert list(json.loads(body)) == list(data), "the order of keys is part of what was said"


@pytest.mark.parametrize("bad", ["", ".hidden", "a/b", "../x", "a b", "é", "x" * 129, "a\n", 5, None])
def test_a_session_id_is_few_characters(bad: object) -> None:
    with pytest.raises(CompactionError, match="is not a session id"):
        check_session_id(bad)


def test_operations_have_one_written_form() -> None:
    assert (str(Append()), str(Replace(2, 5))) == ("append", "replace 2 5")
    for op in (Append(), Replace(2, 5), Restore((9, 4)), Rewind(7, 1)):
        assert parse_op(str(op)) == op
    assert parse_op("") is None
    for wrong in ("replace 1", "append 3", "restore", "rewind 1", "hide 2", "replace a b", " "):
        with pytest.raises(ValueError, match=r"no operation|invalid literal"):
            parse_op(wrong)


@given(st.lists(st.integers(0, 40)))
def test_ranges_are_lossless(seqs: list[int]) -> None:
    assert list(unranged(ranges(seqs))) == seqs
