"""The agent's loop, whole, in each provider's format: what an SDK returns is appended, what a turn renders can be sent."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from compactor.errors import CompactionError, ErrorCode, FailureKind
from compactor.events import EventType
from compactor.formats import check_anthropic, check_openai_chat, check_openai_responses
from compactor.messages import AssistantMessage, ToolCall, ToolResult, UserMessage
from compactor.outcomes import Committed, Failed, Unchanged
from compactor.phases import Phase
from compactor.plain import thaw
from compactor.policy import Budget
from compactor.session import open_session
from compactor.stores import MemoryLedger
from compactor.testing import hold, scripted

FORMATS = ["openai-chat", "openai-responses", "anthropic"]
CHECKS = {
    "openai-chat": lambda request: check_openai_chat(request["messages"]),
    "openai-responses": check_openai_responses,
    "anthropic": check_anthropic,
}
LISTS = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages"}


class Dumped:
    """What an SDK returns."""

    def __init__(self, fields):
        self.fields = fields

    def model_dump(self, *, mode="python"):
        assert mode == "json"
        return self.fields


class Chat:
    name = "openai-chat"

    @staticmethod
    def user(text):
        return {"role": "user", "content": text}

    @staticmethod
    def said(number, text, calls=(), tokens=9):
        made = [{"id": call, "type": "function", "function": {"name": "ls", "arguments": '{"n": 1}'}} for call in calls]
        message = {"role": "assistant", "content": text or None, "refusal": None, **({"tool_calls": made} if made else {})}
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
        usage = {"prompt_tokens": tokens, "completion_tokens": 1}
        return {"id": f"chatcmpl-{number}", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}

    @staticmethod
    def results(pairs):
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in pairs]


class Responses:
    name = "openai-responses"

    @staticmethod
    def user(text):
        return {"role": "user", "content": [{"type": "input_text", "text": text}]}

    @staticmethod
    def said(number, text, calls=(), tokens=9):
        output = [{"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAA"}]
        parts = [{"type": "output_text", "text": text, "annotations": []}]
        output += (
            [{"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": parts}]
            if text
            else []
        )
        output += [
            {
                "type": "function_call",
                "id": f"fc_{number}_{call}",
                "call_id": call,
                "name": "ls",
                "arguments": '{"n": 1}',
                "status": "completed",
            }
            for call in calls
        ]
        usage = {"input_tokens": tokens, "output_tokens": 1}
        return {
            "id": f"resp_{number}",
            "object": "response",
            "model": "m",
            "status": "completed",
            "output": output,
            "usage": usage,
        }

    @staticmethod
    def results(pairs):
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, text in pairs]


class Claude:
    name = "anthropic"

    @staticmethod
    def user(text):
        return {"role": "user", "content": text}

    @staticmethod
    def said(number, text, calls=(), tokens=9):
        content = [{"type": "thinking", "thinking": "hm", "signature": f"sig{number}"}]
        content += [{"type": "text", "text": text, "citations": None}] if text else []
        content += [{"type": "tool_use", "id": call, "name": "ls", "input": {"n": 1}} for call in calls]
        usage = {"input_tokens": tokens, "output_tokens": 1}
        stop = "tool_use" if calls else "end_turn"
        return {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop,
            "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    @staticmethod
    def results(pairs):
        return [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in pairs]}
        ]


CLIENTS = [Chat, Responses, Claude]
each = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)


def live(client, ledger=None, **options):
    budget = Budget(2_000, target_units=900, summary_max_units=200, retain_recent_messages=2, attempts=1, timeout=5)
    given = {"session_id": "s", "policy": budget, "summarizer": scripted("what happened so far"), "format": client.name}
    return open_session(ledger, **(given | options))


def request_of(client, turn):
    """What the turn renders, judged by the endpoint's rules."""
    request = turn.render()
    assert CHECKS[client.name](request) == ()
    return request


def shown(events):
    return [event for event in events if event.type is EventType.TURN_SHOWN]


def begins(before, now):
    """True when *now* continues *before*: equal messages, but for a last one that grew by whole blocks."""
    if len(now) < len(before):
        return False
    for old, new in zip(before, now, strict=False):
        if old is before[-1] and isinstance(old.get("content"), list) and isinstance(new.get("content"), list):
            if new["content"][: len(old["content"])] != old["content"] or {**new, "content": 0} != {**old, "content": 0}:
                return False
        elif old != new:
            return False
    return True


# ------------------------------------------------------------------------------------------------------ the loop


@each
@pytest.mark.parametrize("wrap", [Dumped, dict], ids=["object", "dict"])
async def test_a_loop_runs_through_compactions_and_every_request_is_valid(client, wrap):
    ledger = MemoryLedger()
    compactions = 0
    async with live(client, ledger) as session:
        await session.pin("never delete files", id="rule")
        before, number = None, 0
        for task in range(12):
            await session.append(client.user(f"task {task}: " + "x" * 60))
            for step in range(3):
                count = len(session.context.compactions)
                turn = await session.turn()
                number += 1
                request = request_of(client, turn)
                sent = request[LISTS[client.name]]
                assert (turn.number, turn.fits, turn.units) == (number, True, turn.context.units)
                assert "never delete files" in str(request)
                if before is not None and count == compactions:
                    assert begins(before, sent)
                compactions, before = count, sent
                calls = ("call_1", "call_2") if step < 2 else ()
                (said,) = await session.append(wrap(client.said(number, "" if calls else f"done {task}", calls, tokens=number)))
                assert said.meta["usage"]["output_tokens" if client is not Chat else "completion_tokens"] == 1
                assert said.meta["model"] == "m"
                assert len(session.open_calls) == len(calls)
                if calls:
                    kept = await session.append(*client.results([("call_2", "B" * 40), ("call_1", "A" * 40)]))
                    assert [result.tool_name for result in kept] == ["ls", "ls"]
                    assert session.open_calls == ()
                await wait_all_tasks_blocked()
        assert compactions >= 2
        assert type(session.last_outcome) is Committed
        ids = [
            call.id for message in session.context.messages if type(message) is AssistantMessage for call in message.tool_calls
        ]
        assert len(set(ids)) == len(ids)
        final = session.context
        events = await ledger.read("s")
    assert [event.data["turn"] for event in shown(events)] == list(range(1, number + 1))
    assert {event.data["format"] for event in shown(events)} == {client.name}
    async with live(client, ledger) as session:
        assert session.context == final
        turn = await session.turn()
        assert turn.number == number + 1
        request_of(client, turn)


@each
async def test_a_call_id_that_comes_again_is_told_apart_and_its_result_follows(client):
    async with live(client) as session:
        for number in (1, 2):
            await session.append(client.user("go"), client.said(number, "", ["call_1"]))
            await session.append(*client.results([("call_1", f"answer {number}")]))
        first, second = [message for message in session.context.messages if type(message) is ToolResult]
        assert (first.tool_call_id, first.content) == ("call_1", "answer 1")
        assert (second.tool_call_id, second.content) == ("call_1_2", "answer 2")
        request_of(client, await session.turn())
        await session.compact(force=True)
        sent = request_of(client, await session.turn())[LISTS[client.name]]
        assert "call_1" in str(sent)


@each
async def test_one_append_may_hold_calls_and_their_results(client):
    async with live(client) as session:
        await session.append(client.user("go"), Dumped(client.said(1, "", ["a"])), *client.results([("a", "one")]))
        await session.append(client.said(2, "", ["a"]), *client.results([("a", "two")]), client.said(3, "done"))
        await session.append([client.said(4, "", ["b"]), *client.results([("b", "three")])])
        assert session.open_calls == ()
        assert len(session.context.messages) == 8
        request_of(client, await session.turn())


@each
async def test_a_reply_that_is_appended_again_changes_nothing(client):
    async with live(client) as session:
        await session.append(client.user("go"), client.said(1, "", ["a"]))
        await session.append(*client.results([("a", "one")]))
        await session.append(client.said(2, "", ["a"]))
        before = session.context
        for number in (1, 2):
            await session.append(Dumped(client.said(number, "", ["a"])))
        assert session.context is before
        with pytest.raises(CompactionError, match="other content") as caught:
            await session.append(client.said(1, "something else"))
        assert caught.value.code is ErrorCode.INVALID_INPUT


@each
async def test_a_result_that_nobody_waits_for_is_refused(client):
    async with live(client) as session:
        await session.append(client.user("go"))
        with pytest.raises(CompactionError) as caught:
            await session.append(*client.results([("gone", "x")]))
        assert caught.value.code is ErrorCode.INVALID_TRANSCRIPT
        assert len(session.context.messages) == 1


@each
async def test_usage_that_is_given_apart_wins_and_nouns_are_always_taken(client):
    async with live(client) as session:
        await session.append(UserMessage("go"))
        (said,) = await session.append(client.said(1, "yes"), usage={"total_tokens": 5})
        assert thaw(said.meta["usage"]) == {"total_tokens": 5}
        await session.append(AssistantMessage([ToolCall("c", name="ls")]), ToolResult("c", "ok", tool_name="ls"))
        request_of(client, await session.turn())


async def test_an_anthropic_message_with_results_and_words_becomes_several():
    async with live(Claude) as session:
        await session.append(Claude.user("go"), Claude.said(1, "", ["a", "b"]))
        (message,) = Claude.results([("a", "A"), ("b", "B")])
        message["content"].append({"type": "text", "text": "and be quick"})
        one, two, words = await session.append(message)
        assert [one.tool_call_id, two.tool_call_id, words.content[0].text] == ["a", "b", "and be quick"]
        sent = request_of(Claude, await session.turn())["messages"]
        assert [block["type"] for block in sent[-1]["content"]] == ["tool_result", "tool_result", "text"]


# ---------------------------------------------------------------------------------------------------------- turns


@each
async def test_pending_input_is_sent_and_not_kept(client):
    ledger = MemoryLedger()
    async with live(client, ledger) as session:
        await session.append(client.user("one"))
        turn = await session.turn(pending=[client.user("two")], overhead_tokens=50, model="m")
        assert "two" in str(request_of(client, turn))
        assert len(turn.context.messages) == 2
        assert len(session.context.messages) == 1
        assert turn.units == turn.context.units > session.context.units
        (event,) = shown(await ledger.read("s"))
        assert event.data["units"] + event.data["pending"] == turn.units
        assert (event.data["overhead"], event.data["model"]) == (50, "m")


@each
async def test_an_open_call_is_sent_with_a_stand_in(client):
    async with live(client) as session:
        await session.append(client.user("go"), client.said(1, "", ["a", "b"]))
        await session.append(*client.results([("a", "A")]))
        assert session.open_calls == ("b",)
        assert "No result was recorded" in str(request_of(client, await session.turn()))
        await session.close_calls("the user stopped it")
        assert "the user stopped it" in str(request_of(client, await session.turn()))


@each
async def test_above_the_hard_limit_a_turn_waits_for_the_run(client):
    async with live(client, auto=False) as session:
        for number in range(30):
            await session.append(client.user("x" * 80), client.said(number, "y" * 80))
        assert session.context.units > 2_500
        async with hold(session, Phase.VALIDATING) as held, trio.open_nursery() as nursery:
            turns = []

            async def ask():
                turns.append(await session.turn())

            nursery.start_soon(ask)
            await held.reached()
            await wait_all_tasks_blocked()
            assert turns == []
            held.release()
        (turn,) = turns
        assert type(turn.outcome) is Committed
        assert turn.fits
        assert turn.units <= 900
        request_of(client, turn)


async def test_a_turn_that_cannot_be_made_to_fit_says_so():
    async with live(Chat, auto=False) as session:
        await session.append(Chat.user("x" * 4_000))
        turn = await session.turn()
        assert not turn.fits
        assert type(turn.outcome) is Failed
        request_of(Chat, turn)


async def test_below_the_hard_limit_a_turn_does_not_wait():
    async with live(Chat) as session, hold(session, Phase.VALIDATING) as held:
        for number in range(12):
            await session.append(Chat.user("x" * 80), Chat.said(number, "y" * 80))
        await held.reached()
        assert 2_000 < session.context.units <= 2_500
        turn = await session.turn()
        assert (turn.fits, turn.outcome, turn.context) == (True, None, session.context)


@each
async def test_a_turn_that_was_cancelled_is_not_recorded(client):
    ledger = MemoryLedger()
    async with live(client, ledger) as session:
        await session.append(client.user("go"))
        with trio.CancelScope() as scope:
            scope.cancel()
            await session.turn()
        assert scope.cancelled_caught
        assert shown(await ledger.read("s")) == []
        assert (await session.turn()).number == 1


async def test_cancelled_at_any_step_means_not_recorded():
    class Cutter(trio.abc.Instrument):
        def __init__(self, scope, at):
            self.scope, self.left = scope, at

        def before_task_step(self, task):
            self.left -= 1
            if self.left == 0:
                self.scope.cancel()

    recorded = set()
    for at in range(1, 12):
        ledger = MemoryLedger()
        async with live(Chat, ledger) as session:
            await session.append(Chat.user("go"))
            turn = None
            with trio.CancelScope() as scope:
                cutter = Cutter(scope, at)
                trio.lowlevel.add_instrument(cutter)
                try:
                    turn = await session.turn()
                finally:
                    trio.lowlevel.remove_instrument(cutter)
            assert len(shown(await ledger.read("s"))) == (turn is not None)
            recorded.add(turn is not None)
    assert True in recorded


# ------------------------------------------------------------------------------------------------------- overflow


@each
async def test_an_overflow_compacts_once_and_fails_for_good_in_the_same_turn(client):
    async with live(client, policy=Budget(50_000, retain_recent_messages=2), auto=False) as session:
        for number in range(20):
            await session.append(client.user("x" * 80), client.said(number, "y" * 80))
        await session.append(client.user("go"))
        await session.turn()
        refused = session.context.units
        first = await session.compact(trigger="overflow")
        assert type(first) is Committed
        assert session.context.units <= refused // 2
        assert request_of(client, await session.turn())
        second = await session.compact(trigger="overflow")
        assert type(second) is Failed
        assert (second.code, second.kind) == (ErrorCode.NO_PROGRESS, FailureKind.NO_PROGRESS)
        await session.append(client.said(99, "it went through"))
        assert type(await session.compact(trigger="overflow")) in (Committed, Failed)
        assert session.last_outcome is not second


# --------------------------------------------------------------------------------------------------- after a commit


async def filled(session, client, count=8):
    for number in range(count):
        await session.append(client.user("x" * 80), client.said(number, "y" * 80))


@each
async def test_what_is_attached_again_is_in_the_next_turn(client):
    seen = []

    async def attach(committed):
        seen.append(committed)
        await trio.lowlevel.checkpoint()
        return [client.user("the plan: 1. look 2. leap")]

    async with live(client, after_commit=attach, auto=False) as session:
        await filled(session, client)
        outcome = await session.compact(force=True)
        turn = await session.turn()
        assert seen == [outcome]
        assert "the plan: 1. look" in str(request_of(client, turn))
        assert turn.context.messages[-1].id == session.context.messages[-1].id
        assert session.last_outcome.notes == ()


async def test_a_turn_waits_for_what_is_attached():
    asked, gate = trio.Event(), trio.Event()

    async def attach(_committed):
        asked.set()
        await gate.wait()
        return [Chat.user("the plan")]

    async with live(Chat, after_commit=attach, auto=False) as session, trio.open_nursery() as nursery:
        await filled(session, Chat)
        assert type(await session.compact(force=True)) is Committed
        await asked.wait()
        turns = []

        async def ask():
            turns.append(await session.turn())

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        assert turns == []
        gate.set()
        await wait_all_tasks_blocked()
        assert "the plan" in str(turns[0].render())


@pytest.mark.parametrize(
    ("attach", "note"),
    [
        ("raise", "after_commit raised ZeroDivisionError"),
        ("sleep", "after_commit did not end within 5 s"),
        ("nonsense", "what after_commit returned was not appended: CompactionError"),
    ],
)
async def test_what_goes_wrong_after_a_commit_is_noted(attach, note, autojump_clock):
    async def after(_committed):
        if attach == "raise":
            raise ZeroDivisionError
        if attach == "sleep":
            await trio.sleep(60)
        return [{"role": "tool", "tool_call_id": "gone", "content": "x"}]

    async with live(Chat, after_commit=after, auto=False) as session:
        await filled(session, Chat)
        outcome = await session.compact(force=True)
        turn = await session.turn()
        assert type(outcome) is Committed
        assert session.last_outcome.notes == (note,)
        assert session.last_outcome.context is outcome.context
        assert turn.context.messages == session.context.messages
        assert type(await session.compact()) is Unchanged


# ------------------------------------------------------------------------------------------------------- refusals


async def test_only_a_provider_format_can_be_live():
    for name in ("pi", "claude-code", "compactor", "word"):
        with pytest.raises(CompactionError, match="no live format"):
            async with open_session(format=name):
                raise AssertionError
    async with open_session() as session:
        turn = await session.turn()
        with pytest.raises(CompactionError, match="no format to render"):
            turn.render()
        assert [turn.render(name) for name in FORMATS] == [{"messages": []}, {"input": []}, {"messages": []}]


@each
async def test_system_text_is_pinned_not_appended(client):
    async with live(client) as session:
        with pytest.raises(CompactionError, match=r"session\.pin") as caught:
            await session.append({"role": "system", "content": "be kind"})
        assert "session.pin" in caught.value.fix
