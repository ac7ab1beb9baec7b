"""Undo, rewind, fork and redaction: edits of what the model is sent, each one append to the ledger. Nothing is deleted.

An edit is planned on copies, its context is built and validated, then it is written, then it is published, with no
checkpoint between the last two. From a request until it has settled a run holds its span, so edits get BUSY.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import attrs
import trio

from .context import ActiveContext
from .errors import CompactionError, ErrorCode, kind_name, shown
from .events import Draft, Event, EventType, Restore, Rewind, canonical
from .history import load
from .identity import RENAMED
from .ledger import Lease, Ledger, Origin
from .surface import Surface, hidden_by

REDACTED: Final = "[redacted]"
"""What stands in place of redacted text."""


@attrs.frozen
class Undone:
    """The compactions that were undone, newest first, and the *context* afterwards; of a dry run, the one that would be."""

    record_ids: tuple[str, ...]
    context: ActiveContext


@attrs.frozen
class Rewound:
    """The surface is again as of event *seq*, without its last *less* messages, which asked for results that came later."""

    seq: int
    less: int
    context: ActiveContext


class Editing(Protocol):
    """What an edit needs of the writer."""

    unwritable: str | None
    """Why nothing may be written any more."""

    @property
    def store(self) -> Ledger:
        """Where events go."""

    @property
    def lease(self) -> Lease:
        """The right to write them."""

    @property
    def context(self) -> ActiveContext:
        """What the model would be sent now."""

    @property
    def writing(self) -> trio.Lock:
        """Held from planning an edit to publishing it."""

    async def write(self, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        """One transaction."""

    def rebase(self, context: ActiveContext) -> None:
        """Publish *context*, which shows other events than the one before."""


def _invalid(where: str, what: str, fix: str) -> CompactionError:
    return CompactionError(ErrorCode.INVALID_INPUT, what, where=where, fix=fix)


async def planned_undo(ledger: Ledger, session_id: str, surface: Surface, record_id: str) -> tuple[Undone, Restore]:
    """What the undo of a compaction would come to on *surface*, and its operation. Writes nothing, needs no ownership."""
    summaries = await _over(ledger, session_id, surface, record_id)
    planned = surface.copy()
    for event in summaries:
        at = planned.order.index(event.seq)
        planned.order[at : at + 1] = hidden_by(event) or ()
    context = await load(ledger, session_id, planned)
    undone = Undone(tuple([event.data["run"] for event in summaries]), context)
    return undone, Restore(tuple([event.seq for event in summaries]))


async def _over(ledger: Ledger, session_id: str, surface: Surface, record_id: str) -> list[Event]:
    """The summary of a record, and those that hide one another down to it; newest first."""
    at = await ledger.find(session_id, f"summary:{record_id}") if type(record_id) is str else None
    if at is None:
        raise _invalid("record_id", f"{shown(record_id)} is no compaction of this session", "see context.compactions")
    found: list[Event] = []
    while True:
        (event,) = await ledger.read(session_id, at, at + 1)
        found.insert(0, event)
        if at in surface.order:
            return found
        above = await ledger.hiding(session_id, at)
        if above is None:
            raise _invalid(
                "record_id",
                f"compaction {shown(record_id)} is not in force",
                "it was undone, or rewound away: nothing to undo",
            )
        at = above


async def forked(ledger: Ledger, parent: str, surface: Surface, seq: int | None, session_id: str, *, owner: str) -> str:
    """Begin session *session_id* with what *parent* has up to *seq* (None: all). What it takes over can change no more."""
    whole = await _whole(ledger, parent, surface, surface.next_seq - 1 if seq is None else seq)
    lease = await ledger.acquire(session_id, owner=owner, origin=Origin(parent, whole))
    await ledger.release(lease)
    return session_id


async def _whole(ledger: Ledger, session_id: str, surface: Surface, seq: object) -> int:
    """The event, or the one after it that it makes no sense without: a summary's end marker, the summary of adopted records."""
    if type(seq) is not int or not 0 <= seq < surface.next_seq:
        raise _invalid("seq", f"this session has no event {shown(str(seq))}", "events are counted from 0")
    event, *after = await ledger.read(session_id, seq, seq + 2)
    if event.type is EventType.RECORDS_ADOPTED and any(each.type is EventType.SUMMARY_PLACED for each in after):
        return seq + 1
    if event.type is EventType.SUMMARY_PLACED and "run" in event.data:
        end = await ledger.find(session_id, f"end:{event.data['run']}")
        return seq if end is None else end
    return seq


@attrs.define(eq=False, repr=False)
class Edits:
    """The edits of one session. *in_hand* tells whether a run holds its span."""

    host: Editing
    in_hand: Callable[[], bool]

    def _check_free(self) -> None:
        if self.in_hand():
            raise CompactionError(
                ErrorCode.BUSY, "a compaction is in hand", where=self.host.lease.session_id, fix="wait for it, or cancel it"
            )

    # -------------------------------------------------------------------------------------------------- undo

    async def undo(self, record_id: str, *, dry_run: bool) -> Undone:
        """Bring back what a compaction hid and, first, what every later one hid that hid its summary."""
        host = self.host
        async with host.writing:
            self._check_free()
            undone, op = await planned_undo(host.store, host.lease.session_id, host.lease.surface, record_id)
            if not dry_run:
                await host.write([Draft(EventType.COMPACTION_UNDONE, {"records": undone.record_ids}, op, op.summaries)])
                host.rebase(undone.context)
        return undone

    # ------------------------------------------------------------------------------------------------ rewind

    async def rewind(self, seq: int) -> Rewound:
        """Make the surface what it was at an event; pins stay as they are."""
        host = self.host
        async with host.writing:
            self._check_free()
            seq = await _whole(host.store, host.lease.session_id, host.lease.surface, seq)
            now = host.lease.surface
            surface = await host.store.surface_at(host.lease.session_id, seq)
            surface.pins = dict(now.pins)
            context = await load(host.store, host.lease.session_id, surface)
            # A call whose result came later would wait for ever: the surface ends before it.
            dead = [call for call in context.open_calls if call not in host.context.open_calls]
            less = 0
            if dead:
                less = len(context.messages) - _asks(context, dead)
                surface.order = surface.order[: len(surface.order) - less]
                context = await load(host.store, host.lease.session_id, surface)
            await host.write([Draft(EventType.SURFACE_REWOUND, {"to": seq}, Rewind(seq, less))])
            host.rebase(context)
        return Rewound(seq, less, context)

    async def fork(self, seq: int | None, session_id: str, *, owner: str) -> str:
        """Begin a session of its own with this one's prefix; it remembers its parent."""
        lease = self.host.lease
        return await forked(self.host.store, lease.session_id, lease.surface, seq, session_id, owner=owner)

    # --------------------------------------------------------------------------------------------- redaction

    async def redact(self, seq: int, reason: str) -> None:
        """Replace what an event says, for good; its place, its kind and its links stay."""
        host, session_id = self.host, self.host.lease.session_id
        async with host.writing:
            self._check_free()
            if type(seq) is not int or not 0 <= seq < host.lease.surface.next_seq:
                raise _invalid("seq", f"this session has no event {shown(str(seq))}", "events are counted from 0")
            (event,) = await host.store.read(session_id, seq, seq + 1)
            tombstone = tombstone_of(event)
            if tombstone is None:
                raise _invalid("seq", f"{event.type.value} holds no text of a conversation", "redact the event that holds it")
            surface = host.lease.surface
            context = None
            if seq in surface.digests:
                replaced = attrs.evolve(event, body=canonical(tombstone))
                context = await load(host.store, session_id, surface, replaced={seq: replaced})
            draft = Draft(EventType.DATA_REDACTED, {"seq": seq, "reason": reason}, sources=(seq,))
            try:
                await host.store.redact(host.lease, seq, canonical(tombstone), draft)
            except CompactionError:
                raise
            except Exception as lost:
                host.unwritable = f"nobody can tell whether event {seq} was redacted: the ledger raised {kind_name(lost)}"
                raise CompactionError(
                    ErrorCode.COMMIT_UNKNOWN, host.unwritable, where=session_id, fix="close the session and open it again"
                ) from lost
            if context is not None:
                host.rebase(context)


def _asks(context: ActiveContext, calls: list[str]) -> int:
    """The index of the first message that makes one of these calls."""
    for index, message in enumerate(context.messages):
        if any(call.id in calls for call in getattr(message, "tool_calls", ())):
            return index
    return len(context.messages)


def tombstone_of(event: Event) -> dict[str, Any] | None:
    """The data of an event with everything taken out that somebody said; None for kinds that hold no such thing."""
    data = event.data
    match event.type:
        case EventType.MESSAGE_APPENDED | EventType.TOOL_RESULT_PRUNED:
            return _buried(data)
        case EventType.SUMMARY_PLACED | EventType.REQUIREMENT_PINNED:
            return {**data, "content": REDACTED}
        case EventType.TURN_SHOWN if "shown" in data:
            return {**data, "shown": [_buried(message) for message in data["shown"]]}
        case EventType.COMPACTION_ENDED if data.get("raw") is not None:
            return {**data, "raw": REDACTED}
        case _:
            return None


def _buried(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message without its texts; ids, roles, names and links stay, so that the transcript stays whole."""
    kept = {key: message[key] for key in ("id", "role", "toolCallId", "toolName", "isError") if key in message}
    renamed = message.get("meta", {}).get(RENAMED)
    if renamed is not None:
        kept["meta"] = {RENAMED: renamed}
    content = message["content"]
    if type(content) is str:
        return {**kept, "content": REDACTED}
    calls = [{**block, "arguments": {}} for block in content if block["type"] == "toolCall"]
    return {**kept, "content": [{"type": "text", "text": REDACTED}, *calls]}
