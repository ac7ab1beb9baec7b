"""Group commit: the appends of many tasks become durable together, and each caller wakes when its own are.

One task leads: it takes everything that waits, plans it in order on the context as it is, writes it in one transaction,
and wakes the others. A caller that is cancelled while its entry waits withdraws it; while it is being written, it waits.
So Cancelled raised means: not recorded.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import attrs
import trio

from .context import ActiveContext, with_message
from .errors import CompactionError, ErrorCode, kind_name, shown
from .events import APPEND, Draft, Event, EventType, Replace
from .identity import Ids, has_id
from .ledger import Lease, Ledger, NamesTakenError
from .messages import Message, message_to_plain
from .reading import read_one
from .turns import read_live


class Writing(Protocol):
    """What the queue needs of the writer."""

    context: ActiveContext

    @property
    def store(self) -> Ledger:
        """Where events go."""

    @property
    def lease(self) -> Lease:
        """The right to write them."""

    @property
    def writing(self) -> trio.Lock:
        """Held from checking a write to applying it."""

    async def write(self, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        """One transaction."""


@attrs.define(eq=False, repr=False)
class _Entry:
    """What one caller appends."""

    messages: tuple[Any, ...]
    usage: Mapping[str, Any] | None
    kept: tuple[Message, ...] = ()
    error: Exception | None = None
    taken: bool = False
    """It is being written, or it was."""
    done: bool = False
    woken: trio.Event | None = None
    """It is done, or it is its turn to lead; made when somebody waits for that."""

    def wake(self) -> None:
        """Let the caller go on."""
        if self.woken is not None:
            self.woken.set()


class _Unread(Exception):  # noqa: N818 - not an error: a retried append must be compared with what is in the ledger
    def __init__(self, seq: int) -> None:
        self.seq = seq


class _Unasked(Exception):  # noqa: N818 - not an error: what cannot be appended may have been, in an earlier life
    def __init__(self, name: str) -> None:
        self.name = name


@attrs.define(eq=False, repr=False)
class _Plan:
    """A batch, planned on the context as it is."""

    context: ActiveContext
    start: int
    known: Mapping[int, dict[str, Any]]
    asked: AbstractSet[str]
    """Names that the ledger was asked for."""
    drafts: list[Draft] = attrs.field(factory=list)
    planned: list[_Entry] = attrs.field(factory=list)
    """The entries that have drafts, or whose answer follows from the drafts of others: they fail when the write fails."""
    leaned: bool = False
    """The entry in hand was compared with a draft."""


@attrs.define(eq=False, repr=False)
class Appends:
    """The queue of a session's appends."""

    host: Writing
    ids: Ids
    format: str | None
    _queue: list[_Entry] = attrs.field(factory=list)

    async def append(self, messages: tuple[Any, ...], usage: Mapping[str, Any] | None) -> tuple[Message, ...]:
        """Append messages, all or none."""
        entry = _Entry(messages, usage)
        if self._queue:
            entry.woken = trio.Event()
        self._queue.append(entry)
        try:
            if entry.woken is not None:
                await entry.woken.wait()
            while not entry.done:
                if not entry.taken:
                    await self._lead(entry)
                else:  # told to lead, but somebody else was quicker; who may be cancelled, too
                    entry.woken = trio.Event()
                    await entry.woken.wait()
        except trio.Cancelled:
            while entry.taken and not entry.done:
                entry.woken = trio.Event()
                with trio.CancelScope(shield=True):
                    await entry.woken.wait()
            if not entry.done:
                self._withdraw(entry)
                raise
        if entry.error is not None:
            raise entry.error
        return entry.kept

    def _withdraw(self, entry: _Entry) -> None:
        first = self._queue[0] is entry
        self._queue.remove(entry)
        if first and self._queue:
            self._queue[0].wake()

    async def _lead(self, entry: _Entry) -> None:
        """Write everything that waits, the own entry among it, unless somebody else was quicker."""
        writing = self.host.writing
        # A free lock is taken without a scheduler round: the store's own checkpoint follows before anything changes.
        try:
            writing.acquire_nowait()
        except trio.WouldBlock:
            await writing.acquire()
        batch: list[_Entry] = []
        try:
            if not entry.taken:
                batch, self._queue = self._queue, []
                for each in batch:
                    each.taken = True
                await self._round(batch)
        except trio.Cancelled:
            # Before anything was written. The others were not cancelled: one of them goes on.
            for each in batch:
                each.taken = False
            rest = [each for each in batch if each is not entry]
            self._queue[:0] = [entry, *rest]
            raise
        except BaseException as bug:
            for each in batch:
                each.error = CompactionError(ErrorCode.INTERNAL, f"an append of the same batch raised {kind_name(bug)}")
                each.done = True
                each.wake()
            raise
        finally:
            writing.release()
        for each in batch:
            each.done = True
            each.wake()

    async def _round(self, batch: Sequence[_Entry]) -> None:
        """Plan and write, until nothing new is learned about what the ledger holds already."""
        host, known, asked = self.host, dict[int, dict[str, Any]](), set[str]()
        waiting = [*batch]
        while True:
            plan = _Plan(host.context, host.lease.surface.next_seq, known, asked)
            try:
                for entry in waiting:
                    self._plan(entry, plan)
                if not plan.drafts:
                    await trio.lowlevel.checkpoint()
                    return
                await host.write(plan.drafts)
            except (_Unread, _Unasked) as unsure:
                self._forget(plan)
                try:
                    await self._look_up(unsure, known, asked)
                except Exception as lost:  # noqa: BLE001 - this caller's alone
                    entry.error = self._unreadable(lost)
                    waiting.remove(entry)
            except NamesTakenError as names:
                self._forget(plan)
                self.ids.learn(names.taken)
            except CompactionError as error:
                self._forget(plan)
                for entry in plan.planned:
                    entry.error = copy.copy(error)
                    entry.error.__cause__ = error.__cause__
                return
            except BaseException:
                self._forget(plan)
                raise
            else:
                host.context = plan.context
                return

    async def _look_up(self, unsure: _Unread | _Unasked, known: dict[int, dict[str, Any]], asked: set[str]) -> None:
        """Ask the ledger what it knows of a message."""
        if isinstance(unsure, _Unread):
            known[unsure.seq] = await self._visible(unsure.seq)
            return
        asked.add(unsure.name)
        seq = await self.host.store.find(self.host.lease.session_id, unsure.name)
        if seq is not None:
            self.ids.learn({unsure.name: seq})

    def _unreadable(self, lost: Exception) -> CompactionError:
        if isinstance(lost, CompactionError):
            return lost
        error = CompactionError(
            ErrorCode.PERSISTENCE_FAILED,
            f"the ledger raised {kind_name(lost)} when it was read, and nothing was written",
            where=self.host.lease.session_id,
            fix="try again",
        )
        error.__cause__ = lost
        return error

    async def _visible(self, seq: int) -> dict[str, Any]:
        """The message of an earlier append that somebody repeats; it must still count."""
        session_id = self.host.lease.session_id
        (event,) = await self.host.store.read(session_id, seq, seq + 1)
        while isinstance(event.op, Replace):  # a pruned result; what was appended counts
            (event,) = await self.host.store.read(session_id, event.op.start, event.op.start + 1)
        data = event.data
        if seq not in self.host.lease.surface.digests and await self.host.store.hiding(session_id, seq) is None:
            # A result that was pruned, and its result that was hidden, count by their id.
            context = self.host.context
            hidden = [record.compacted_message_ids for record in context.compactions]
            data["rewound"] = all(data["id"] not in ids for ids in (context.messages.ids, *hidden))
        return data

    def _forget(self, plan: _Plan, keep: int = 0) -> None:
        for draft in reversed(plan.drafts[keep:]):
            self.ids.forget(draft.data)
        del plan.drafts[keep:]

    def _plan(self, entry: _Entry, plan: _Plan) -> None:
        """Add what *entry* appends to the plan; what is wrong with it is its own error and nobody else's."""
        before, context, kept = len(plan.drafts), plan.context, list[Message]()
        entry.error, entry.kept, plan.leaned = None, (), False
        try:
            for given in entry.messages:
                for value in self._read(given, context, entry.usage):
                    context, message = self._planned(value, context, plan)
                    kept.append(message)
        except (_Unread, _Unasked):
            raise
        except Exception as error:  # noqa: BLE001 - raised to the caller of this entry
            self._forget(plan, before)
            entry.error = error
        else:
            plan.context, entry.kept = context, tuple(kept)
        if len(plan.drafts) > before or plan.leaned:
            plan.planned.append(entry)

    def _planned(self, value: Any, context: ActiveContext, plan: _Plan) -> tuple[ActiveContext, Message]:
        plain = self.ids.filled(value)
        again = self._known(plain, plan)
        if again is not None:
            return context, again
        seq = plan.start + len(plan.drafts)
        try:
            context, message = with_message(context, self.ids.distinct(plain, context.open_calls, seq))
        except CompactionError:
            # Perhaps a retry of something that an earlier life appended; an id that was made just now cannot be one.
            name = f"message:{plain['id']}"
            if self.ids.complete or name in plan.asked or not has_id(value):
                raise
            raise _Unasked(name) from None
        draft = Draft(EventType.MESSAGE_APPENDED, message_to_plain(message), APPEND)
        # Noted at once, so that the rest of the batch sees it.
        self.ids.note(draft.type, seq, draft.data)
        plan.drafts.append(draft)
        return context, message

    def _known(self, plain: dict[str, Any], plan: _Plan) -> Message | None:
        """The message that a retried append would append again, or None when its id is new."""
        seq = self.ids.seq_of(plain)
        if seq is None:
            return None
        plan.leaned = plan.leaned or seq >= plan.start
        data = plan.drafts[seq - plan.start].data if seq >= plan.start else plan.known.get(seq)
        if data is None:
            raise _Unread(seq)
        if data.get("rewound"):
            raise CompactionError(
                ErrorCode.INVALID_INPUT,
                f"message id {shown(data['id'])} was appended before a rewind took it off the surface",
                where="append",
                fix="give what is said anew an id of its own",
            )
        message, _tally = read_one(data)
        again, _tally = read_one(plain)
        if self.ids.original(message_to_plain(message)) != self.ids.original(message_to_plain(again)):
            raise CompactionError(
                ErrorCode.INVALID_INPUT,
                f"message id {shown(message.id)} was appended before, with other content",
                where="append",
                fix="give each message an id of its own",
            )
        return message

    def with_pending(self, pending: Sequence[Any]) -> tuple[ActiveContext, list[dict[str, Any]]]:
        """The context with messages that are not appended yet, and those messages as plain data."""
        context, shown_now = self.host.context, list[dict[str, Any]]()
        try:
            for given in pending:
                for value in self._read(given, context):
                    seq = self.host.lease.surface.next_seq + len(shown_now)
                    plain = self.ids.filled(value)
                    if self.ids.seq_of(plain) is not None:
                        raise CompactionError(
                            ErrorCode.INVALID_INPUT,
                            f"message id {shown(plain['id'])} was appended before",
                            where="pending",
                            fix="pending messages are those that will be appended after the turn",
                        )
                    context, message = with_message(context, self.ids.distinct(plain, context.open_calls, seq))
                    shown_now.append(message_to_plain(message))
                    self.ids.note(EventType.MESSAGE_APPENDED, seq, shown_now[-1])
        finally:
            for data in reversed(shown_now):
                self.ids.forget(data)
        return context, shown_now

    def _read(self, given: Any, context: ActiveContext, usage: Mapping[str, Any] | None = None) -> list[Any]:
        return read_live(self.format, given, tool_name=lambda call: self.ids.tool_name(context, call), usage=usage)
