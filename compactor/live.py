"""``Session``: an agent's conversation that compacts itself while the agent goes on.

Owns the public face of a session over its writer (one lock: check, write, apply, in seq order), its edits, and its
actor (a child task that takes one request at a time through the machine). Holds no rule of its own.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import trio
from trio.lowlevel import enable_ki_protection

from .actor import OVERFLOW, Actor, WhenRunning
from .context import ActiveContext, SummaryRequest
from .errors import CompactionError, ErrorCode
from .ledger import Lease, Ledger, check_session_id
from .machine import Machine, require_trio
from .messages import Message, ToolCall, ToolResult
from .outcomes import Missed, Outcome, TransitionRecord
from .phases import Phase
from .planning import Plan, plan_compaction
from .policy import Sizing
from .requests import Request, Stream
from .tracing import Logger, log_to
from .turns import Turn
from .writer import Writer

if TYPE_CHECKING:
    # Edits, recall and counts load when they are used: most processes that open a session never do.
    from .edits import Edits, Rewound, Undone
    from .recall import Hit, Page
    from .statistics import Statistics


def owner() -> str:
    """What a ledger tells others of whoever opened a session here."""
    return f"process {os.getpid()}"


class Session:
    """A live conversation. Made by ``open_session`` only. Attribute reads are plain, whole, and need no lock."""

    def __init__(
        self,
        writer: Writer,
        nursery: trio.Nursery,
        *,
        summarizer: Callable[[SummaryRequest], Any],
        auto: bool,
        grace: float,
        logger: Logger | None,
        new_id: Callable[[], str],
    ) -> None:
        self._writer = writer
        self._log = log_to(logger)
        self._new_id = new_id
        self._streams: list[Stream] = []
        self._closing = False
        self._overflowed: int | None = None
        self._actor = Actor(writer, nursery, self._observe, summarizer=summarizer, auto=auto, grace=grace, new_id=new_id)

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.phase.name} {self.context.units} units>"

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def id(self) -> str:
        """The session's id in its ledger."""
        return self._writer.id

    @property
    def snapshot(self) -> ActiveContext:
        """The last published state: as opened, then as of each commit."""
        return self._writer.snapshot

    @property
    def context(self) -> ActiveContext:
        """The snapshot and everything appended since: what the model would be sent now."""
        return self._writer.context

    @property
    def store(self) -> Ledger:
        """The ledger that the session writes."""
        return self._writer.store

    @property
    def lease(self) -> Lease:
        """The right to write it, and the surface as the ledger has it."""
        return self._writer.lease

    @property
    def sizing(self) -> Sizing:
        """The budget or policy."""
        return self._writer.sizing

    @property
    def phase(self) -> Phase:
        """Where the run in hand stands; IDLE without one."""
        return self._actor.machine.phase

    @property
    def last_outcome(self) -> Outcome | None:
        """What the last run ended with; None before the first."""
        return self._actor.last_outcome

    @property
    def machine(self) -> Machine:
        """The machine, for the test kit: it can be made to stand still."""
        return self._actor.machine

    @property
    def crash(self) -> BaseException | None:
        """What ended the actor, if something did; raised when the session is left."""
        return self._actor.crash or self._actor.late_exit

    @property
    def pressure(self) -> float:
        """How full the context is: 1.0 at the threshold."""
        return self.context.units / self._actor.threshold(self.context)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of tool calls that wait for their result."""
        return self.context.open_calls

    def plan(self) -> Plan:
        """What a compaction would do now. Changes nothing."""
        return plan_compaction(self.context, self.sizing)

    @contextlib.contextmanager
    def transitions(self, size: int = 256) -> Iterator[trio.MemoryReceiveChannel[TransitionRecord | Missed]]:
        """Follow the machine: a channel of transition records. A reader that is *size* behind gets one ``Missed(n)``."""
        stream, receive = Stream.open(size)
        self._streams.append(stream)
        try:
            yield receive
        finally:
            self._streams.remove(stream)
            stream.close()
            receive.close()

    def _observe(self, record: TransitionRecord) -> None:
        self._log(record)
        for stream in self._streams:
            stream.send(record)

    # ------------------------------------------------------------------------------------------------ writing

    def _check_usable(self) -> None:
        require_trio("a session")
        if self._closing:
            raise CompactionError(ErrorCode.SESSION_CLOSED, "the session is closed", where=self.id, fix="open it again")
        if self._writer.unwritable is not None:
            raise CompactionError(
                ErrorCode.COMMIT_UNKNOWN, self._writer.unwritable, where=self.id, fix="close the session and open it again"
            )

    @enable_ki_protection
    async def append(self, *messages: Any, usage: Mapping[str, Any] | None = None) -> tuple[Message, ...]:
        """Append messages, all or none, and give them as they are kept: with ids, and immutable.

        A message is a noun, plain data of this project, or with ``format=`` what the provider's SDK takes and returns.
        *usage* is what the provider reported; it is kept with the reply. Cancelled raised means: not recorded. The same id
        with the same content again is a retry and does nothing; with other content it is INVALID_INPUT. A result without
        a waiting call is INVALID_TRANSCRIPT. A call id that was used before is made distinct, and its result follows.
        """
        self._check_usable()
        kept = await self._writer.append(*messages, usage=usage)
        self._actor.consider()
        return kept

    @enable_ki_protection
    async def turn(self, *, pending: Sequence[Any] = (), overhead_tokens: int = 0, model: str | None = None) -> Turn:
        """What to send to the model now; the meeting point of the agent's loop and background compaction.

        Records that the model was shown the surface as of here. *pending* messages are sent, too, and are appended by the
        caller later; *overhead_tokens* is what the system prompt and the tools cost beside. Waits for a compaction only when
        all of it is over the hard limit; ``fits`` is False when even that did not help. Cancelled: not recorded.
        """
        self._check_usable()
        self._actor.check_reentrant("turn")
        if isinstance(self._actor.current, Request) and self._actor.current.settled.is_set():
            await self._actor.idle.wait()  # what follows a commit belongs to the next turn
        outcome: Outcome | None = None
        if self._writer.units_with(pending) + overhead_tokens > self._limit():
            force = self.context.units <= self._actor.threshold(self.context)
            outcome = await self._actor.ask(None, force=force, trigger="turn", when_running="join")
            self._check_usable()
        return await self._writer.show(pending, overhead=overhead_tokens, limit=self._limit(), model=model, outcome=outcome)

    def _limit(self) -> int:
        limit, ceiling = self.sizing.limit(self.context), self._actor.ceiling
        return limit if ceiling is None else min(limit, ceiling)

    @enable_ki_protection
    async def pin(self, text: str, *, id: str | None = None) -> str:  # noqa: A002 - the public face says so
        """Pin a requirement: a rule or fact that no compaction touches. Gives its id. Cancelled: not recorded."""
        self._check_usable()
        name = f"r-{self._new_id()}" if id is None else id
        await self._writer.pin(text, name)
        self._actor.consider()
        return name

    @enable_ki_protection
    async def unpin(self, id: str) -> None:  # noqa: A002 - the public face says so
        """Take a requirement away. BUSY while a run is in hand: it was selected with the pins of its beginning."""
        self._check_usable()
        await self._writer.unpin(id, in_hand=lambda: self._actor.current is not None)

    @enable_ki_protection
    async def close_calls(self, reason: str, *ids: str) -> tuple[ToolResult, ...]:
        """Answer open tool calls (all, or these) with results that are marked as synthetic.

        One call that never returns would otherwise keep everything behind it from being compacted. Works inside a
        cancelled scope.
        """
        self._check_usable()
        closed = await self._writer.close_calls(reason, ids)
        self._actor.consider()
        return closed

    @enable_ki_protection
    async def begin(self, context: ActiveContext) -> None:
        """Take a whole context over; only a session without any content may."""
        await self._writer.begin(context)
        self._actor.consider()

    # ------------------------------------------------------------------------------------------------ editing

    @functools.cached_property
    def _edits(self) -> Edits:
        from .edits import Edits  # noqa: PLC0415

        return Edits(self._writer, lambda: self._actor.current is not None)

    @enable_ki_protection
    async def undo(self, record_id: str, *, dry_run: bool = False) -> Undone:
        """Bring back what compaction *record_id* hid; what was appended since stays.

        Later compactions that hid its summary are undone first, newest first, in the same transaction; the answer lists
        them all. With *dry_run* nothing is written. BUSY while a run is in hand; Cancelled: not recorded.
        """
        self._check_usable()
        return await self._edits.undo(record_id, dry_run=dry_run)

    @enable_ki_protection
    async def rewind(self, seq: int) -> Rewound:
        """Make the surface what it was when event *seq* had been recorded, across compactions. Pins stay as they are.

        What came later stays in the ledger. Where the surface would end in calls whose results came later, it ends
        before them. BUSY while a run is in hand; Cancelled: not recorded.
        """
        self._check_usable()
        return await self._edits.rewind(seq)

    @enable_ki_protection
    async def fork(self, seq: int | None = None, session_id: str | None = None) -> str:
        """Begin another session with a copy of everything up to event *seq* (default: all), and give its id.

        It remembers its parent, and its own undo, rewind and recall reach back behind the fork. This session goes on.
        """
        self._check_usable()
        name = check_session_id(f"s-{self._new_id()}" if session_id is None else session_id)
        return await self._edits.fork(seq, name, owner=owner())

    @enable_ki_protection
    async def redact(self, seq: int, reason: str) -> None:
        """Replace what event *seq* says by a tombstone, for good: the only change that a ledger permits.

        For a key that leaked. Ids, roles and links stay, the chain still verifies, and *reason* is recorded. Copies in a
        summary, in a turn's pending input or in a fork are events of their own. BUSY while a run is in hand; Cancelled:
        not recorded.
        """
        self._check_usable()
        await self._edits.redact(seq, reason)

    # ------------------------------------------------------------------------------------------------- recall

    async def history_search(self, query: str, *, limit: int = 10) -> tuple[Hit, ...]:
        """Hidden messages in which the words of *query* stand, best first."""
        self._check_usable()
        from .recall import history_search  # noqa: PLC0415

        return await history_search(self.store, self.id, query, limit=limit)

    async def history_read(self, record_id: str, cursor: str | None = None) -> Page:
        """What a compaction hid, as a transcript, page by page; the cursor of a hit opens the page at its message."""
        self._check_usable()
        from .recall import history_read  # noqa: PLC0415

        return await history_read(self.store, self.id, record_id, cursor)

    def recall_tools(self, format: str | None = None) -> list[dict[str, Any]]:  # noqa: A002 - the public face says so
        """The two as tools for the model's request, in the session's format or *format*."""
        from .recall import recall_tools  # noqa: PLC0415

        return recall_tools(format or self._writer.format or "openai-chat")

    async def recall(self, call: ToolCall) -> ToolResult:
        """Answer the model's call of one of them; append the result like any other, so the ledger stays complete."""
        self._check_usable()
        from .recall import recall  # noqa: PLC0415

        return await recall(self.store, self.id, call)

    async def statistics(self) -> Statistics:
        """Counts of everything that happened in this session."""
        self._check_usable()
        from .statistics import statistics  # noqa: PLC0415

        return await statistics(self.store, self.id)

    # --------------------------------------------------------------------------------------------- compacting

    @enable_ki_protection
    async def compact(
        self,
        instructions: str | None = None,
        *,
        force: bool = False,
        trigger: Literal["manual", "overflow"] = "manual",
        when_running: WhenRunning = "join",
    ) -> Outcome:
        """Compact when over the threshold, and wait for the outcome. Never raises for what goes wrong in the run.

        *force* runs below the threshold, too; so does ``trigger="overflow"``, for a provider that refused the request
        as too long. While a run with equal options is in hand or waiting, a call joins it; else it queues, or with
        ``"refuse"`` fails as busy; ``"queue"`` never joins. Cancelling the last one who waits cancels the run; if that
        came too late, ``Committed`` is returned and the cancellation meets the caller at its next checkpoint.
        """
        self._check_usable()
        self._actor.check_reentrant("compact")
        if trigger == OVERFLOW:
            replies = self._writer.replies
            if self._overflowed == replies:
                return self._actor.refused_twice()
            self._overflowed = replies
        return await self._actor.ask(instructions, force=force, trigger=trigger, when_running=when_running)

    async def aclose(self) -> None:
        """End the run in hand as cancelled, unless it is committing, and stop. Works inside a cancelled scope."""
        self._actor.check_reentrant("aclose")
        self._closing = True
        await self._actor.close()
