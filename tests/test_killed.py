"""The owner dies at every ledger write of its life: nothing acknowledged is missing, and there is never a false end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from harness import BUDGET, conversation

from compactor import Committed, CompactionError, UserMessage, open_session
from compactor.events import Draft, Event, EventType, verify_chain
from compactor.ledger import Lease
from compactor.stores import MemoryLedger
from compactor.surface import fold
from compactor.testing import scripted


class Killed(BaseException):
    """No handler of the library may catch it: the process is gone."""


class Mortal(MemoryLedger):
    """A handle whose process dies at its write number *at*, before or after it has landed."""

    def __init__(self, share: MemoryLedger, at: int, *, landed: bool) -> None:
        super().__init__(share)
        self.at, self.landed, self.writes = at, landed, 0

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        self.writes += 1
        if self.writes == self.at:
            if self.landed:
                await super().append(lease, drafts)
            self._closed = True
            raise Killed
        return await super().append(lease, drafts)


async def _life(ledger: MemoryLedger) -> list[str]:
    """Append, pin, compact twice; give what was acknowledged."""
    acknowledged: list[str] = []
    async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=scripted(), auto=False) as session:
        for message in conversation():
            await session.append(message)
            acknowledged.append(message.id)
        await session.pin("rule", id="r")
        acknowledged.append("r")
        for number in range(2):
            outcome = await session.compact()
            assert isinstance(outcome, Committed)
            acknowledged.append(outcome.record.id)
            await session.append(*[UserMessage("y" * 60, id=f"n{number}-{index}") for index in range(6)])
            acknowledged += [f"n{number}-{index}" for index in range(6)]
    return acknowledged


@pytest.mark.parametrize("landed", [False, True], ids=["before it landed", "after it landed"])
async def test_a_killed_owner_leaves_the_state_before_or_after_and_at_most_a_visible_trace(landed: bool) -> None:
    deaths = 0
    traces = 0
    for at in range(1, 200):
        ground = MemoryLedger()
        mortal = Mortal(ground, at, landed=landed)
        acknowledged: list[str] = []
        try:
            acknowledged = await _life(mortal)
        except (Killed, BaseExceptionGroup):
            deaths += 1
        except CompactionError as error:
            assert mortal.writes >= at, error
            deaths += 1
        if mortal.writes < at:
            assert acknowledged
            break
        events = await ground.read("s")
        verify_chain(events)
        surface = fold("s", events)
        for event in events:
            if event.type is EventType.SUMMARY_PLACED:
                following = events[event.seq + 1]
                assert following.type is EventType.COMPACTION_ENDED, "a summary without its end"
                assert following.data["code"] is None
        traces += surface.orphan() is not None
        async with open_session(ground, session_id="s", policy=BUDGET, summarizer=scripted(), auto=False) as again:
            assert again.lease.epoch == surface.epoch + 1
            assert len(again.snapshot.compactions) == sum(event.type is EventType.SUMMARY_PLACED for event in events)
            recorded = {event.data["id"] for event in events if event.type is EventType.MESSAGE_APPENDED}
            assert {message.id for message in again.context.messages} <= recorded
            await again.append(*[UserMessage("z" * 60, id=f"z{index}") for index in range(8)])
            assert isinstance(await again.compact(), Committed), "a trace of an earlier life blocks nothing"
    assert deaths == 17  # ten messages, a pin, two runs of two writes each, two appends
    assert traces, "no death fell between a start marker and its end"


async def test_what_was_acknowledged_before_the_death_is_there() -> None:
    for at in range(1, 12):
        ground = MemoryLedger()
        mortal = Mortal(ground, at, landed=False)
        acknowledged: list[str] = []
        try:
            async with open_session(mortal, session_id="s", policy=BUDGET, auto=False) as session:
                for message in conversation():
                    await session.append(message)
                    acknowledged.append(message.id)
        except (Killed, BaseExceptionGroup):
            pass
        await trio.lowlevel.checkpoint()
        events = await ground.read("s")
        assert [event.data["id"] for event in events if event.type is EventType.MESSAGE_APPENDED] == acknowledged
        assert len(acknowledged) == min(at - 1, 10)
