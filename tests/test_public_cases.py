"""Faults that other systems which compact transcripts were reported to have, each as the kind of fault it is.

The comments name the group and number of the report in this project's list of public cases. Everything is made here.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import trio
from scenes import BUDGET, FaultyLedger, Swap, Waiting, agree, call, conversation, good, replayed, result, shown_ids, user
from trio.testing import wait_all_tasks_blocked

from compactor.context import CompactionRecord
from compactor.errors import CompactionError, ErrorCode, FailureKind
from compactor.events import APPEND, Draft, Event, EventType, Replace, verify_chain
from compactor.formats import render_request
from compactor.history import context_at, originals
from compactor.messages import AssistantMessage, ToolCall, UserMessage, message_to_plain
from compactor.outcomes import Committed, Failed, Unchanged
from compactor.policy import Budget
from compactor.session import Session, open_session
from compactor.stores import MemoryLedger
from compactor.stores.sqlite import open_store
from compactor.surface import fold

WIDE = Budget(2_000, target_units=900, summary_max_units=300, retain_recent_messages=1, attempts=1, timeout=10)


def opened(ledger: Any = None, summarizer: Any = good, **options: Any) -> Any:
    return open_session(
        ledger, session_id="s", summarizer=summarizer, **({"policy": BUDGET, "auto": False, "context": None} | options)
    )


async def fill(session: Session, start: int, count: int = 8) -> None:
    await session.append(*[user(start + number) for number in range(count)])


async def forced(session: Session) -> Committed:
    outcome = await session.compact(force=True)
    assert isinstance(outcome, Committed), outcome
    return outcome


def of(events: Any, kind: EventType) -> list[Event]:
    return [event for event in events if event.type is kind]


def ids_appended(events: Any) -> list[str]:
    return [event.data["id"] for event in of(events, EventType.MESSAGE_APPENDED)]


# --------------------------------------------------------------------------------- group B: second and later compactions


async def test_one_message_that_is_too_large_to_keep_costs_no_summary_while_it_is_recent_and_one_when_it_is_not() -> None:
    """B 19."""
    swap = Swap(good)
    async with opened(summarizer=swap, policy=WIDE) as session:
        for number in range(5):
            await session.append(user(number, 30), AssistantMessage("ok", id=f"a{number}"))
        await session.append(user(5, 1_990))
        for _ in range(3):
            outcome = await session.compact()
            assert isinstance(outcome, Failed)
            assert outcome.kind is FailureKind.NO_PROGRESS
            assert "1,990" in str(outcome.error), "the numbers are named"
        assert swap.requests == [], "nothing is paid for what cannot help"
        await session.append(AssistantMessage("ok", id="a5"))
        first = await session.compact()
        assert isinstance(first, Committed)
        assert "u5" in first.record.compacted_message_ids
        for number in range(6, 13):
            await session.append(user(number, 20), AssistantMessage("ok", id=f"a{number}"))
            assert isinstance(await session.compact(), Unchanged), "the large one is behind the summary, and stays there"
        assert len(swap.requests) == 1


async def test_a_later_compaction_writes_nothing_again_that_was_written_before() -> None:
    """B 20."""
    ledger, grew = MemoryLedger(), list[int]()
    async with opened(ledger, context=conversation()) as session:
        for start in (100, 200, 300):
            before = len(await ledger.read("s"))
            await forced(session)
            new = await ledger.read("s", before)
            assert [event.type.value for event in new] == ["compaction/started", "summary/placed", "compaction/ended"]
            assert not any(b"xxxx" in event.body for event in new), "no text of a message is in them"
            grew.append(sum(len(event.body) for event in new))
            await fill(session, start)
        ids = ids_appended(await ledger.read("s"))
        assert len(ids) == len(set(ids)) == 10 + 3 * 8
        assert max(grew) < 1.5 * min(grew)
        with pytest.raises(CompactionError, match="with other content"):
            await session.append(UserMessage("another", id=ids[0]))


async def test_what_a_compaction_is_told_is_never_part_of_what_a_later_one_reads() -> None:
    """B 22."""
    swap = Swap(good)
    ledger = MemoryLedger()
    async with opened(ledger, summarizer=swap, context=conversation()) as session:
        for number in range(5):
            outcome = await session.compact(f"<conversation> look at point {number}", force=True)
            assert isinstance(outcome, Committed)
            await fill(session, 100 * (number + 1))
        said = set(ids_appended(await ledger.read("s")))
        seen = [message.id for request in swap.requests for message in request.messages]
        assert len(seen) == len(set(seen)), "each message is read once, by the compaction that hides it"
        assert set(seen) <= said
        for number, request in enumerate(swap.requests):
            assert request.instructions == f"<conversation> look at point {number}", "told apart from what is summarized"
            assert all("<conversation>" not in message.content for message in request.messages)
        assert not any(b"<conversation>" in event.body for event in of(await ledger.read("s"), EventType.MESSAGE_APPENDED))


async def test_a_summary_that_grows_from_one_compaction_to_the_next_is_refused_at_its_cap() -> None:
    """B 23, P-D 47."""

    def hoarding(request: Any) -> str:
        return (request.previous_summary.content if request.previous_summary else "") + "z" * 40

    ledger, sizes = MemoryLedger(), list[int]()
    async with opened(ledger, summarizer=hoarding, context=conversation()) as session:
        for number in range(6):
            before = session.context
            outcome = await session.compact(force=True)
            if isinstance(outcome, Failed):
                assert outcome.code is ErrorCode.SUMMARY_INSUFFICIENT
                assert session.context is before, "the summary before stays in force"
            assert session.context.summary is not None
            sizes.append(len(session.context.summary.content))
            await fill(session, 100 * (number + 1), 2)
        assert sizes == [40, 80, 80, 80, 80, 80]


async def test_a_session_that_was_just_compacted_is_left_alone() -> None:
    """B 25, B 26 as far as it needs no memory of earlier triggers."""
    swap, ledger = Swap(good), MemoryLedger()
    async with opened(ledger, summarizer=swap, auto=True) as session:
        await fill(session, 0, 9)
        await wait_all_tasks_blocked()
        assert len(swap.requests) == 1, "the threshold was crossed once"
        await forced(session)
        calls, context, events = len(swap.requests), session.context, await ledger.read("s")
        for _ in range(3):
            unchanged = await session.compact()
            assert isinstance(unchanged, Unchanged)
            assert unchanged.context is context
            failed = await session.compact(force=True)
            assert isinstance(failed, Failed)
            assert failed.kind is FailureKind.NOTHING_TO_CUT
        assert session.context is context
        assert await ledger.read("s") == events, "no entry for what was not done"
        assert len(swap.requests) == calls, "and an empty transcript is not summarized"


# -------------------------------------------------------------------------------- group G: persistence, resume and replay


async def test_a_file_whose_beginning_is_damaged_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    """G 94."""
    path = tmp_path / "ledger.db"
    ledger = await open_store(path)
    async with opened(ledger, context=conversation()):
        pass
    await ledger.aclose()
    whole = path.read_bytes()
    for damaged in (b"x" * 16 + whole[16:], whole[:50], b"garbage" + whole[7:]):
        path.write_bytes(damaged)
        with pytest.raises(CompactionError) as caught:
            await open_store(path)
        assert caught.value.code in (ErrorCode.LEDGER_CORRUPT, ErrorCode.FILE_UNREADABLE)
        assert "ledger.db" in str(caught.value)
        assert path.read_bytes() == damaged, "nothing is repaired in silence, nothing begun anew"
    path.write_bytes(whole)
    ledger = await open_store(path)
    async with opened(ledger) as session:
        assert len(session.context.messages) == 10
    await ledger.aclose()


async def view_in(path: Path) -> list[str] | None:
    """What a ledger file shows of the session; None when there is no ledger, or no session, in it yet."""
    try:
        ledger = await open_store(path)
    except CompactionError as damaged:
        assert damaged.code in (ErrorCode.LEDGER_CORRUPT, ErrorCode.FILE_UNREADABLE)
        return None
    try:
        if not await ledger.sessions():
            return None
        verify_chain(await ledger.read("s"))
        context, _event = await context_at(ledger, "s")
        return shown_ids(context)
    finally:
        await ledger.aclose()


async def test_a_log_that_was_cut_anywhere_gives_a_whole_state_that_was_there_once(tmp_path: Path) -> None:
    """G 95, P-G 77: cut within the bytes of a commit, replay gives the old or the new view."""
    path, log = tmp_path / "ledger.db", tmp_path / "ledger.db-wal"
    ledger, views = await open_store(path), list[list[str] | None]([None])
    async with opened(ledger) as session:
        views.append(shown_ids(session.context))
        await fill(session, 0, 10)
        views.append(shown_ids(session.context))
        await forced(session)
        views.append(shown_ids(session.context))
        await session.append(user(50), call("c", "a1"), result("c", "t1"))
        views.append(shown_ids(session.context))
        base, whole = path.read_bytes(), log.read_bytes()
    await ledger.aclose()
    seen = list[int]()
    for number, cut in enumerate([*range(0, len(whole), max(1, len(whole) // 60)), len(whole)]):
        copy = tmp_path / f"copy{number}.db"
        copy.write_bytes(base)
        copy.with_name(f"{copy.name}-wal").write_bytes(whole[:cut])
        seen.append(views.index(await view_in(copy)))
    assert seen == sorted(seen), "more of the log, never an older state"
    assert set(seen) >= {2, 3, 4}


async def test_an_interrupted_compaction_leaves_no_message_behind() -> None:
    """G 97, P-C 26."""
    ledger, swap = MemoryLedger(), Swap(good)
    async with opened(ledger, summarizer=swap, context=conversation()) as session:
        before, request = session.context, render_request("openai-chat", session.context)

        async def cut(_request: object) -> None:
            scope.cancel()
            await trio.sleep_forever()

        def lost(_request: object) -> None:
            raise ConnectionError

        swap.now = cut
        with trio.CancelScope() as scope:
            await session.compact(force=True)
        swap.now = lost
        assert isinstance(await session.compact(force=True), Failed)
        assert session.context is before
        assert render_request("openai-chat", session.context) == request
        assert len(ids_appended(await ledger.read("s"))) == 10
    async with opened(ledger) as again:
        assert again.context == before
        assert render_request("openai-chat", again.context) == request


@pytest.mark.parametrize("where", ["memory", "file"])
async def test_any_text_comes_back_from_every_store_as_it_was(where: str, tmp_path: Path) -> None:
    """G 98 (raw line feeds), G 104 (line separators of Unicode)."""
    odd = "one\ntwo\r\nthree\u2028four\u2029five\x85six\x1b\x00seven \ud800 \U0001f600"
    ledger: Any = MemoryLedger() if where == "memory" else await open_store(tmp_path / "ledger.db")
    asked = AssistantMessage([ToolCall("c", name="tool", arguments={"partial": odd, odd: "{\n"})], id="a")
    async with opened(ledger) as session:
        await session.append(UserMessage(odd, id="u"), asked, result("c", "t", odd))
        context = session.context
        assert all(event.body.isascii() and b"\n" not in event.body for event in await ledger.read("s"))
    if where == "file":
        await ledger.aclose()
        ledger = await open_store(tmp_path / "ledger.db")
    async with opened(ledger) as again:
        assert again.context == context
        assert again.context.messages[0].content == odd
        assert again.context.messages[1] == asked
    if where == "file":
        await ledger.aclose()


async def test_a_link_that_is_missing_is_an_error_and_never_an_older_view() -> None:
    """G 100."""

    class Losing(MemoryLedger):
        lost: int | None = None

        async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
            return tuple([event for event in await super().read(session_id, start, stop) if event.seq != self.lost])

    ledger = Losing()
    async with opened(ledger, context=conversation()) as session:
        await forced(session)
        order = session.lease.surface.order
    for seq in order:
        ledger.lost = seq
        with pytest.raises(CompactionError, match=f"event {seq}") as caught:
            async with opened(ledger):
                pass
        assert caught.value.code is ErrorCode.LEDGER_CORRUPT
        with pytest.raises(CompactionError, match="does not fit the chain"):
            verify_chain(await ledger.read("s"))


async def test_what_was_committed_is_there_for_others_before_anybody_is_told(tmp_path: Path) -> None:
    """G 101: whoever leaves right after a compaction finds it again."""
    path = tmp_path / "ledger.db"
    ledger, other = await open_store(path), await open_store(path)
    async with opened(ledger, context=conversation()) as session:
        outcome = await forced(session)
        there, _event = await context_at(other, "s")
        assert there == outcome.context, "from another handle, while this one is open"
        left = tmp_path / "left"
        left.mkdir()
        for name in ("ledger.db", "ledger.db-wal"):
            shutil.copy(tmp_path / name, left / name)
    found = await open_store(left / "ledger.db")
    async with opened(found) as again:
        assert again.context == outcome.context, "in the files as they lay there at that moment"
    for handle in (found, other, ledger):
        await handle.aclose()


async def test_the_transcript_for_people_shows_every_text_whatever_was_hidden_undone_or_rewound() -> None:
    """G 103."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        first = await forced(session)
        await fill(session, 100)
        await forced(session)
        texts = [message_to_plain(user(number)) for number in (*range(10), *range(100, 108))]
        for edit in (None, lambda: session.undo(first.record.id), lambda: session.rewind(0)):
            if edit is not None:
                await edit()
            assert [message_to_plain(message) for message in await originals(ledger, "s")] == texts


async def test_a_session_that_begins_from_another_s_summary_has_its_view_and_not_its_whole_past() -> None:
    """G 106."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation(), format="openai-chat") as session:
        await forced(session)
        await session.append({"role": "user", "content": "and now?"})
        view, request = session.context, (await session.turn()).render()
        await session.fork(session.lease.surface.next_seq - 1, "child")
    async with open_session(
        ledger, session_id="child", policy=BUDGET, summarizer=good, auto=False, format="openai-chat"
    ) as child:
        assert child.context == view
        assert child.context.units == view.units < 300
        assert (await child.turn()).render() == request


async def test_a_run_that_a_crash_cut_off_blocks_nobody_after_a_restart() -> None:
    """G 107, P-G 79."""
    ledger, waiting = MemoryLedger(), Waiting()
    async with trio.open_nursery() as nursery, opened(ledger, summarizer=waiting, context=conversation()) as session:
        nursery.start_soon(lambda: session.compact(force=True))
        await waiting.called.wait()
        before = session.context
        other = MemoryLedger(ledger)
        # The process is gone: nobody writes the end of the run any more.
        await other.release(await other.acquire("s", owner="after the crash", takeover=True))
        async with opened(other) as again:
            assert again.context == before
            assert again.lease.surface.orphan() is None
            outcome = await forced(again)
            events = await other.read("s")
            started = [event.data["run"] for event in of(events, EventType.COMPACTION_STARTED)]
            ended = [event.data["run"] for event in of(events, EventType.COMPACTION_ENDED)]
            assert ended == [outcome.run_id]
            assert len(started) == 2, "the trace of the first stays visible"
        nursery.cancel_scope.cancel()


# ------------------------------------------------------------------------------- group H: rewind and undo across a boundary


async def test_going_back_to_any_message_gives_exactly_what_was_said_until_then() -> None:
    """H 109: also across compactions, and a summary is never taken for something that the user said."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        await forced(session)
        await fill(session, 100)
        await forced(session)
        events = await ledger.read("s")
        for event in of(events, EventType.MESSAGE_APPENDED):
            await session.rewind(event.seq)
            shown = session.context.messages
            assert shown[-1].id == event.data["id"], "the message itself is the last one"
            assert all(message.id != session.context.summary.id for message in shown if session.context.summary)
            hidden = [id_ for record in session.context.compactions for id_ in record.compacted_message_ids]
            assert [*hidden, *shown.ids] == ids_appended(events[: event.seq + 1]), "nothing is lost, nothing twice"


async def test_results_that_were_cut_short_by_rule_are_no_boundary_for_going_back() -> None:
    """H 110."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation(4)) as session:
        await session.append(call("c", "a1"), result("c", "t1", "a long text"), user(50))
        at, whole = session.lease.surface.next_seq - 1, session.context
        result_seq = await ledger.find("s", "message:t1")
        short = {**message_to_plain(result("c", "t1", "cut"))}
        op = Replace(result_seq, result_seq)
        await ledger.append(session.lease, [Draft(EventType.TOOL_RESULT_PRUNED, short, op, (result_seq,))])
    async with opened(ledger) as session:
        assert session.context.messages[5].content == "cut"
        assert session.context.messages.ids == whole.messages.ids, "nothing before or after it is gone"
        await session.append(user(51))
        await session.rewind(at)
        assert session.context == whole, "what was cut comes back, and all before it"
        await forced(session)
        await session.rewind(at)
        assert session.context == whole


async def test_exactly_one_compaction_can_be_taken_back() -> None:
    """H 112."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        first = await forced(session)
        await fill(session, 100)
        before = session.context
        second = await forced(session)
        await session.append(user(500))
        undone = await session.undo(second.record.id)
        assert undone.record_ids == (second.record.id,)
        assert session.context.summary == before.summary
        assert session.context.messages.ids == (*before.messages.ids, "u500"), "what was said since stays"
        assert [record.id for record in session.context.compactions] == [first.record.id]
        assert isinstance(await session.compact(force=True), Committed)


async def test_going_back_behind_a_compaction_gives_the_very_context_of_then() -> None:
    """H 113: by the point in time, and by the name of the compaction."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        await session.pin("a rule", id="r")
        before, at = session.context, session.lease.surface.next_seq - 1
        outcome = await forced(session)
        assert (await session.undo(outcome.record.id)).context == before
        again = await forced(session)
        assert again.record.id != outcome.record.id
        assert (await session.rewind(at)).context == before
        assert session.context == before == replayed("s", await ledger.read("s"))


# ----------------------------------------------------------------------------------- group P-C: history that is lost or changed


async def test_a_span_of_nothing_but_tool_rounds_is_summarized_like_any_other() -> None:
    """P-C 25."""
    swap = Swap(good)
    async with opened(summarizer=swap) as session:
        for number in range(8):
            await session.append(call(f"c{number}", f"a{number}"), result(f"c{number}", f"t{number}", "y" * 80))
        outcome = await forced(session)
        (request,) = swap.requests
        assert {message_to_plain(message)["role"] for message in request.messages} == {"assistant", "toolResult"}
        assert session.context.summary.content == "a good summary"
        assert outcome.record.compacted_message_ids == request.messages.ids


@pytest.mark.parametrize(("how", "commits"), [("before", False), ("refused", False), ("after", True)])
async def test_a_commit_that_fails_half_way_leaves_the_old_view_or_the_new_one(how: str, commits: bool) -> None:
    """P-C 28, P-C 31: never neither; and the same after a restart."""
    ledger = FaultyLedger(plans=[("commit", how)])
    async with opened(ledger, context=conversation()) as session:
        before = session.context
        outcome = await session.compact(force=True)
        assert ledger.fired == [("commit", how)]
        assert isinstance(outcome, Committed if commits else Failed)
        assert (session.context is before) is not commits
        after = session.context
        await agree(session, ledger)
    async with opened(ledger) as again:
        assert again.context == after


async def test_what_is_said_while_the_model_summarizes_stays_and_what_would_clear_it_waits() -> None:
    """P-C 29."""
    ledger, waiting = MemoryLedger(), Waiting()
    async with opened(ledger, summarizer=waiting, context=conversation()) as session:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: session.compact(force=True))
            await waiting.called.wait()
            await session.append(user(500), user(501))
            with pytest.raises(CompactionError) as caught:
                await session.rewind(0)
            assert caught.value.code is ErrorCode.BUSY, "refused, rather than undone by the commit"
            waiting.told.set()
        assert session.context.summary is not None
        assert session.context.messages.ids[-2:] == ("u500", "u501")
        await session.rewind(0)
        assert session.context.messages.ids == ()
        await agree(session, ledger)


async def test_messages_without_ids_get_ones_that_nobody_has_after_compactions_and_restarts() -> None:
    """P-C 32."""
    ledger = MemoryLedger()
    for _life in range(3):
        async with opened(ledger) as session:
            await session.append(*[{"role": "user", "content": "x" * 90} for _ in range(10)])
            await forced(session)
            await session.append({"role": "user", "content": "x"})
    ids = ids_appended(await ledger.read("s"))
    assert len(ids) == len(set(ids)) == 33


async def test_a_second_compaction_that_is_interrupted_leaves_the_first_as_it_is() -> None:
    """P-C 34."""
    swap, ledger = Swap(good), MemoryLedger()
    async with opened(ledger, summarizer=swap, context=conversation()) as session:
        await forced(session)
        await fill(session, 100)
        before, snapshot = session.context, session.snapshot

        async def cut(_request: object) -> None:
            scope.cancel()
            await trio.sleep_forever()

        swap.now = cut
        with trio.CancelScope() as scope:
            await session.compact(force=True)
        assert scope.cancelled_caught
        assert session.context is before
        assert session.snapshot is snapshot
        assert isinstance(session.last_outcome, Failed), "what the last run came to is not what the one before came to"
        assert session.last_outcome.kind is FailureKind.CANCELLED
    async with opened(ledger) as again:
        assert again.context == before


async def test_what_a_summary_says_it_stands_for_can_be_read_back_to_the_last_message() -> None:
    """P-C 35."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        await forced(session)
        await fill(session, 100)
        await forced(session)
        for record in session.context.compactions:
            for id_ in record.compacted_message_ids:
                seq = await ledger.find("s", f"message:{id_}")
                (event,) = await ledger.read("s", seq, seq + 1)
                assert event.data == message_to_plain(user(int(id_[1:])))
                assert await ledger.hiding("s", seq) == await ledger.find("s", f"summary:{record.id}")


@pytest.mark.parametrize("where", ["memory", "file"])
async def test_a_record_comes_back_from_every_store_as_what_it_was(where: str, tmp_path: Path) -> None:
    """P-C 37."""
    ledger: Any = MemoryLedger() if where == "memory" else await open_store(tmp_path / "ledger.db")
    async with opened(ledger, context=conversation()) as session:
        await session.pin("a rule", id="r")
        await forced(session)
        await session.append(call("c", "a1"), result("c", "t1"))
        context = session.context
    if where == "file":
        await ledger.aclose()
        ledger = await open_store(tmp_path / "ledger.db")
    async with opened(ledger) as again:
        assert again.context == context
        assert [type(record) for record in again.context.compactions] == [CompactionRecord]
        for kept, before in zip(again.context.messages, context.messages, strict=True):
            assert type(kept) is type(before)
        await fill(again, 100)
        assert isinstance(await again.compact(force=True), Committed)
        assert len(again.context.compactions) == 2
    if where == "file":
        await ledger.aclose()


async def test_two_agents_cannot_write_one_session_and_two_sessions_share_nothing() -> None:
    """P-C 38, P-G 80: who holds it is told, and that is not 'nothing to do'."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation()) as session:
        with pytest.raises(CompactionError, match=f"process {os.getpid()}") as caught:
            async with opened(MemoryLedger(ledger)):
                pass
        assert caught.value.code is ErrorCode.BUSY
        async with open_session(
            MemoryLedger(ledger), session_id="t", policy=BUDGET, summarizer=lambda _request: "of the other", auto=False
        ) as other:
            await other.append(*[user(number) for number in range(10)])
            ours, theirs = await forced(session), await forced(other)
            assert ours.context.summary.content == "a good summary"
            assert theirs.context.summary.content == "of the other"
    for name in "st":
        events = await ledger.read(name)
        assert {event.session_id for event in events} == {name}
        assert len(of(events, EventType.SUMMARY_PLACED)) == 1
        assert fold(name, events).order[1:] == [event.seq for event in of(events, EventType.MESSAGE_APPENDED)[-2:]]


async def test_rules_stand_first_and_verbatim_whatever_is_done_to_the_messages() -> None:
    """P-C 40, P-C 41."""
    ledger = MemoryLedger()
    async with opened(ledger, context=conversation(), format="openai-chat") as session:
        await session.pin("never delete the database", id="r")
        first = render_request("openai-chat", session.context)["messages"][0]
        assert "never delete the database" in str(first)
        outcome = await forced(session)
        for edit in (None, lambda: session.undo(outcome.record.id), lambda: session.rewind(0)):
            if edit is not None:
                await edit()
            assert (await session.turn()).render()["messages"][0] == first
    async with opened(ledger) as again:
        assert render_request("openai-chat", again.context)["messages"][0] == first


# --------------------------------------------------------------------------------- group P-G: concurrency and crashes


async def test_two_who_ask_at_once_get_one_compaction() -> None:
    """P-G 73."""
    ledger, waiting, outcomes = MemoryLedger(), Waiting(), list[Any]()
    async with opened(ledger, summarizer=waiting, context=conversation()) as session:

        async def ask() -> None:
            outcomes.append(await session.compact())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(ask)
            await waiting.called.wait()
            await wait_all_tasks_blocked()
            refused = await session.compact(when_running="refuse")
            assert isinstance(refused, Failed)
            assert refused.kind is FailureKind.BUSY, "a third, who would not wait, is told so"
            waiting.told.set()
        assert outcomes[0] is outcomes[1]
        assert isinstance(outcomes[0], Committed)
        assert len(waiting.requests) == 1
        assert len(of(await ledger.read("s"), EventType.SUMMARY_PLACED)) == 1


async def test_an_automatic_and_a_manual_trigger_of_one_moment_place_one_summary() -> None:
    """P-G 74."""
    ledger, swap = MemoryLedger(), Swap(good)
    async with opened(ledger, summarizer=swap, auto=True) as session:
        await fill(session, 0, 7)
        await session.append(user(7, 150))
        assert isinstance(await session.compact(), Committed | Unchanged)
        await wait_all_tasks_blocked()
        assert len(of(await ledger.read("s"), EventType.SUMMARY_PLACED)) == len(swap.requests) == 1


async def test_a_summary_of_what_is_no_longer_there_is_not_written_over_it() -> None:
    """P-G 76: another owner took the session over while the model summarized."""
    ledger, waiting, outcomes = MemoryLedger(), Waiting(), list[Any]()
    async with opened(ledger, summarizer=waiting, context=conversation()) as session:

        async def ask() -> None:
            outcomes.append(await session.compact(force=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await waiting.called.wait()
            other = MemoryLedger(ledger)
            lease = await other.acquire("s", owner="another", takeover=True)
            theirs = Draft(EventType.MESSAGE_APPENDED, message_to_plain(user(500)), op=APPEND)
            await other.append(lease, [theirs])
            waiting.told.set()
        (outcome,) = outcomes
        assert isinstance(outcome, Failed)
        assert outcome.code is ErrorCode.FENCED
        await other.release(lease)
    events = await ledger.read("s")
    assert of(events, EventType.SUMMARY_PLACED) == []
    async with opened(ledger) as again:
        assert again.context.messages.ids == (*[f"u{number}" for number in range(10)], "u500")
