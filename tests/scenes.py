"""What the tests of sessions share: a small conversation, a budget that it breaks, summarizers, and a ledger that fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import trio

from compactor.context import ActiveContext, build_active_context
from compactor.errors import CompactionError, ErrorCode
from compactor.events import Draft, Event, EventType, Replace
from compactor.messages import AssistantMessage, ToolCall, ToolResult, UserMessage
from compactor.plain import SESSION_LIMITS
from compactor.policy import Budget
from compactor.replay import context_of
from compactor.stores import MemoryLedger
from compactor.surface import fold, hidden_by

# Ten messages of 100 units against a maximum of 800: the summary and the target leave room for two of them.
BUDGET = Budget(800, target_units=300, summary_max_units=100, retain_recent_messages=1, attempts=1, timeout=10)
PATIENT = attrs.evolve(BUDGET, timeout=math.inf)


def user(number: int, units: int = 100) -> UserMessage:
    """A message of exactly *units*."""
    name = f"u{number}"
    return UserMessage("x" * (units - 4 - len(name)), id=name)


def conversation(count: int = 10) -> ActiveContext:
    """*count* messages of 100 units."""
    return build_active_context({"messages": [user(number) for number in range(count)]})


def call(name: str, message_id: str) -> AssistantMessage:
    """An assistant message with one tool call."""
    return AssistantMessage([ToolCall(name, name="tool")], id=message_id)


def result(name: str, message_id: str, text: str = "done") -> ToolResult:
    """The result of that call."""
    return ToolResult(name, text, tool_name="tool", id=message_id)


def good(_request: Any) -> str:
    """A summarizer without any surprise."""
    return "a good summary"


@attrs.define(eq=False)
class Waiting:
    """A summarizer that answers when it is told to; cancellation ends it at once."""

    answer: Any = "a good summary"
    requests: list[Any] = attrs.field(factory=list)
    called: trio.Event = attrs.field(factory=trio.Event)
    told: trio.Event = attrs.field(factory=trio.Event)

    async def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        self.called.set()
        await self.told.wait()
        return self.answer


@attrs.define(eq=False)
class Swap:
    """Calls whatever stands in it now: the hostile one first, a good one after it."""

    now: Callable[[Any], Any]
    requests: list[Any] = attrs.field(factory=list)

    def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        return self.now(request)


class BrokenLease:
    """A lease whose surface can be made unreadable."""

    def __init__(self, lease: Any) -> None:
        self.lease = lease
        self.broken = False

    session_id = property(lambda self: self.lease.session_id)
    epoch = property(lambda self: self.lease.epoch)

    @property
    def surface(self) -> Any:
        if self.broken:
            raise RuntimeError("the surface is unreadable")
        return self.lease.surface


def kind_of(drafts: Sequence[Draft]) -> str:
    """What a write is for: ``start``, ``commit``, ``close`` or ``content``."""
    types = [draft.type for draft in drafts]
    if EventType.COMPACTION_STARTED in types:
        return "start"
    if any(draft.type is EventType.SUMMARY_PLACED and isinstance(draft.op, Replace) for draft in drafts):
        return "commit"
    return "close" if EventType.COMPACTION_ENDED in types else "content"


@attrs.define(eq=False)
class FaultyLedger:
    """A memory ledger whose writes fail as planned, each plan once.

    *plans*: (kind of write, how). ``before``: raises, nothing was written. ``after``: raises, though it was.
    ``refused``: this library's own error. ``slow``: waits, uncancellable like a thread, for ``release``; then writes.
    ``slow-after``: writes, then waits like that, then raises. Reads raise while ``unreadable`` is set, and wait for
    ``release`` where ``slow_reads`` is set.
    """

    inner: MemoryLedger = attrs.field(factory=MemoryLedger)
    plans: list[tuple[str, str]] = attrs.field(factory=list)
    fired: list[tuple[str, str]] = attrs.field(factory=list)
    unreadable: bool = False
    slow_reads: bool = False
    reached: trio.Event = attrs.field(factory=trio.Event)
    release_it: trio.Event = attrs.field(factory=trio.Event)
    lease: Any = None

    async def _stand_still(self) -> None:
        self.reached.set()
        with trio.CancelScope(shield=True):
            await self.release_it.wait()

    async def acquire(self, session_id: str, *, owner: str, takeover: bool = False) -> Any:
        self.lease = BrokenLease(await self.inner.acquire(session_id, owner=owner, takeover=takeover))
        return self.lease

    async def append(self, lease: Any, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        kind = kind_of(drafts)
        plan = next((plan for plan in self.plans if plan[0] == kind), None)
        if plan is None:
            return await self.inner.append(lease.lease, drafts)
        self.plans.remove(plan)
        self.fired.append(plan)
        match plan[1]:
            case "before":
                await trio.lowlevel.checkpoint()
                raise OSError(5, "Input/output error: TOP-SECRET")
            case "after":
                await self.inner.append(lease.lease, drafts)
                raise OSError(5, "Input/output error: TOP-SECRET")
            case "refused":
                await trio.lowlevel.checkpoint()
                raise CompactionError(ErrorCode.PERSISTENCE_FAILED, "the disk is full", where="ledger", fix="make room")
            case "slow":
                await trio.lowlevel.checkpoint()
                await self._stand_still()
                with trio.CancelScope(shield=True):
                    return await self.inner.append(lease.lease, drafts)
            case _:
                await self.inner.append(lease.lease, drafts)
                await self._stand_still()
                raise OSError(5, "Input/output error: TOP-SECRET")

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
        events = await self.inner.read(session_id, start, stop)
        if self.slow_reads:
            await self._stand_still()
        if self.unreadable:
            raise OSError(5, "Input/output error: TOP-SECRET")
        return events

    async def find(self, session_id: str, name: str) -> int | None:
        found = await self.inner.find(session_id, name)
        if self.slow_reads:
            await self._stand_still()
        if self.unreadable:
            raise OSError(5, "Input/output error: TOP-SECRET")
        return found

    async def surface_at(self, session_id: str, seq: int | None = None) -> Any:
        return await self.inner.surface_at(session_id, seq)

    async def hiding(self, session_id: str, seq: int) -> int | None:
        return await self.inner.hiding(session_id, seq)

    async def index(self, session_id: str) -> None:
        await self.inner.index(session_id)

    async def sessions(self) -> tuple[Any, ...]:
        return await self.inner.sessions()

    async def release(self, lease: Any) -> None:
        await self.inner.release(lease.lease)


def surface_ids(session: Any, events: Sequence[Event]) -> list[str]:
    """The ids of what the ledger says the model is sent, in order."""
    return [events[seq].data["id"] for seq in session.lease.surface.order]


def replayed(session_id: str, events: Sequence[Event]) -> ActiveContext:
    """The context that all events of a session add up to, by the slow way: fold everything, keep everything."""
    surface = fold(session_id, events)
    records = [record for event in events if event.type is EventType.RECORDS_ADOPTED for record in event.data["records"]]
    chain, at = [], surface.order[0] if surface.order else None
    while at is not None and (hidden := hidden_by(events[at])) is not None:
        chain.insert(0, events[at].data["record"])
        at = hidden[0]
    return context_of(surface, dict(enumerate(events)), [*records, *chain], SESSION_LIMITS)


def shown_ids(context: ActiveContext) -> list[str]:
    """The ids of what a context holds, in the same order."""
    summary = [] if context.summary is None else [context.summary.id]
    return [*summary, *[message.id for message in context.messages]]


async def agree(session: Any, ledger: Any) -> None:
    """The published context and the ledger's surface hold the same."""
    assert shown_ids(session.context) == surface_ids(session, await ledger.read(session.id))
