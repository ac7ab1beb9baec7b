"""``verify``: everything that can be checked about a ledger without its authors, and what is wrong where.

One pass over each session, in chunks: the chain, the rules of the surface, names, lives, pairing, that every compaction
covered its surface and says so truthfully, what turns were shown, redactions, forks. Nothing is repaired. What an earlier
life left open is a *trace*: told, and no fault. What is held at once is a chunk, a surface and eight bytes for each name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from .errors import CompactionError, ErrorCode, shown
from .events import Event, EventType, Replace, Restore, Rewind, names_of, verify_chain
from .evidence import Doubles
from .history import fetch
from .judging import UNREADABLE, Judge
from .ledger import Ledger, SessionInfo, no_session
from .surface import Surface, hidden_by

CHUNK: Final = 256
"""Events that are held at once."""

_RULES: Final = {
    ErrorCode.LEDGER_CORRUPT: "chain",
    ErrorCode.FILE_UNREADABLE: "unreadable",
    ErrorCode.PERSISTENCE_FAILED: "unreadable",
}
"""The errors of a store that are findings; others are of the caller."""
_NAMED: Final = re.compile(r"event ([0-9]{1,15})$")


@attrs.frozen
class Finding:
    """One thing that is wrong, or was left open: in which session, at which event (-1: the whole), which rule, what."""

    session_id: str
    seq: int
    rule: str
    message: str

    def __str__(self) -> str:
        place = f"event {self.seq}" if self.seq >= 0 else "the session" if self.session_id else "the ledger"
        return f"{f'{self.session_id}, ' if self.session_id else ''}{place}: {self.message} [{self.rule}]"


@attrs.frozen
class Audit:
    """What ``verify`` found: how much was checked, *faults*, and *traces* of runs that never ended.

    Both are sorted by session, in the order of their beginning, and by event.
    """

    sessions: int
    events: int
    faults: tuple[Finding, ...]
    traces: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True without any fault."""
        return not self.faults


async def verify(ledger: Ledger, session_id: str | None = None) -> Audit:
    """Check one session, or all, as far as they have come now; they may be written to meanwhile.

    What cannot be read is a fault, and the next session is checked. INVALID_INPUT when the ledger has no such session.
    """
    try:
        sessions = await ledger.sessions()
    except CompactionError as error:
        if error.code not in _RULES:
            raise
        return Audit(0, 0, (Finding("", -1, _RULES[error.code], _told(error)),), ())
    chosen = [info for info in sessions if session_id in (None, info.id)]
    if session_id is not None and not chosen:
        raise no_session(session_id)
    faults: list[Finding] = []
    traces: list[Finding] = []
    events = 0
    for info in chosen:
        check = _Check(ledger, info)
        await check.run()
        events += check.surface.next_seq
        faults += sorted(check.faults, key=_place)
        traces += sorted(check.traces, key=_place)
    return Audit(len(chosen), events, tuple(faults), tuple(traces))


def _place(finding: Finding) -> tuple[int, str]:
    return finding.seq, finding.rule


def _told(error: CompactionError) -> str:
    return f"{error.message} ({error.where})" if error.where else error.message


class _StoppedError(Exception):
    """The fold cannot go on: nothing behind can be judged."""


@attrs.define(eq=False)
class _Seen:
    """The past, as far as it was looked up."""

    events: dict[int, Event] = attrs.field(factory=dict)
    orders: dict[int, tuple[int, ...]] = attrs.field(factory=dict)

    def event(self, seq: int) -> Event:
        """One event."""
        return self.events[seq]

    def order_at(self, seq: int) -> Sequence[int]:
        """One order."""
        return self.orders[seq]


@attrs.define(eq=False)
class _Check:
    ledger: Ledger
    info: SessionInfo
    faults: list[Finding] = attrs.field(factory=list)
    traces: list[Finding] = attrs.field(factory=list)
    surface: Surface = attrs.field(init=False)
    judge: Judge = attrs.field(init=False)
    past: _Seen = attrs.field(factory=_Seen)
    wanted: set[int] | None = None
    """The events whose orders rewinds ask for; None while no rewind was met."""
    parents: list[tuple[str, int]] = attrs.field(factory=list)
    """The sessions that this one was forked from, and the last event that it took over of each; the nearest last."""

    def __attrs_post_init__(self) -> None:
        self.surface = Surface(self.info.id)
        self.judge = Judge(self.surface)

    async def run(self) -> None:
        """Check the session; the first event that breaks chain or fold ends it, for nothing behind it can be judged."""
        try:
            await self._walk()
        except _StoppedError:
            pass
        except CompactionError as error:
            if error.code not in _RULES:
                raise
            # The error names the event; without one it concerns what would come next.
            named = _NAMED.search(error.where)
            self.judge.fault(int(named[1]) if named else self.surface.next_seq, _RULES[error.code], _told(error))
        else:
            self._left_open()
            await self._redactions()
            await self._same_as_stored()
        await self._names()
        self.faults += [Finding(self.info.id, *fault) for fault in self.judge.faults]

    async def _walk(self) -> None:
        step = CHUNK
        while self.surface.next_seq < self.info.events:
            start = self.surface.next_seq
            try:
                events = await self._read(start, min(start + step, self.info.events))
            except CompactionError:
                if step == 1:
                    raise
                step //= 2  # what stands before it is judged first
                continue
            for event in events:
                await self._event(event)

    async def _read(self, start: int, stop: int) -> Sequence[Event]:
        """Events that fit the chain of those before."""
        events = await self.ledger.read(self.info.id, start, stop)
        verify_chain(events, self.surface.head, start=start)
        if len(events) != stop - start:
            raise CompactionError(ErrorCode.LEDGER_CORRUPT, f"is missing: the ledger tells of {self.info.events:,} events")
        return events

    # ------------------------------------------------------------------------------------------------- each event

    async def _event(self, event: Event) -> None:
        surface, judge = self.surface, self.judge
        try:
            data = event.data
            runs = await self._meet(event)
        except CompactionError:  # the store's, of what is looked back at
            raise
        except UNREADABLE as error:
            judge.unread(event, error)
            raise _StoppedError from error
        try:
            _check_size(event, data, len(surface.order))
            surface.check([event], self.past)
        except CompactionError as error:
            judge.fault(event.seq, "fold", error.message)
            raise _StoppedError from error
        except UNREADABLE as error:
            judge.unread(event, error)
            raise _StoppedError from error
        judge.before(event, data, runs)
        try:
            surface.apply(event, self.past)
        except UNREADABLE as error:
            judge.unread(event, error)
            raise _StoppedError from error
        self.past.events.clear()
        if self.wanted is not None and event.seq in self.wanted:
            self.past.orders[event.seq] = tuple(surface.order)
        judge.after(event, data)
        if event.type is EventType.SESSION_OPENED:
            await self._forked(event, data)

    async def _meet(self, event: Event) -> list[str]:
        """Look up what the rules of an event ask of the past; gives the runs that it takes back."""
        match event.op:
            case Restore():
                summaries = await self._fetch(event.op.summaries)
                await self._return([seq for summary in summaries for seq in hidden_by(summary) or ()])
                return [summary.data.get("run", "") for summary in summaries]
            case Rewind() if 0 <= event.op.seq < event.seq:
                if event.op.seq not in self.past.orders:
                    await self._remember(event.op.seq)
                await self._return(self.past.orders[event.op.seq])
            case _ if event.type is EventType.TOOL_RESULT_PRUNED:
                await self._fetch(event.sources)
            case _:
                pass
        return []

    async def _fetch(self, seqs: Iterable[int]) -> list[Event]:
        wanted = [seq for seq in seqs if 0 <= seq < self.surface.next_seq]
        found = await fetch(self.ledger, self.info.id, wanted)
        self.past.events |= found
        return [found[seq] for seq in wanted]

    async def _return(self, seqs: Iterable[int]) -> None:
        """Events that come back to the surface: what they say, and what they cost."""
        for event in await self._fetch([seq for seq in seqs if seq not in self.surface.digests]):
            self.judge.price(event, event.data)

    async def _remember(self, seq: int) -> None:
        """Fold all once more, and keep the orders that rewinds ask for: what a checkpoint says is not believed here."""
        if self.wanted is None:
            self.wanted = set()
            for start in range(0, self.info.events, CHUNK):
                events = await self._readable(start)
                self.wanted |= {event.op.seq for event in events if isinstance(event.op, Rewind)}
        self.wanted.add(seq)
        surface = Surface(self.info.id)
        for start in range(0, self.surface.next_seq, CHUNK):
            stop = min(start + CHUNK, self.surface.next_seq)
            for event in await self.ledger.read(self.info.id, start, stop):
                if isinstance(event.op, Restore):
                    self.past.events |= await fetch(self.ledger, self.info.id, event.op.summaries)
                surface.move(event, self.past)
                if event.seq in self.wanted:
                    self.past.orders[event.seq] = tuple(surface.order)

    async def _readable(self, start: int) -> Sequence[Event]:
        """A chunk, or nothing when it cannot be read: the walk will come there, and tell."""
        try:
            return await self.ledger.read(self.info.id, start, min(start + CHUNK, self.info.events))
        except CompactionError:
            return ()

    async def _forked(self, event: Event, data: Any) -> None:
        """A fork says truly where it begins."""
        try:
            parent = data.get("parent")
            if parent is None:
                return
            name, seq, digest = parent["session"], parent["seq"], bytes.fromhex(parent["digest"])
            if type(name) is not str or seq != event.seq - 1:
                self.judge.fault(event.seq, "fork", "was forked at another event than it says")
                return
            self.parents.append((name, seq))
            found = await self.ledger.read(name, seq, seq + 1)
        except CompactionError as error:
            self._trace(event.seq, f"its parent cannot be read: {error.message}")
        except UNREADABLE as error:
            self.judge.unread(event, error)
        else:
            if not found:
                self._trace(event.seq, f"its parent {shown(name)} is not in this ledger")
            elif found[0].digest != digest:
                self.judge.fault(event.seq, "fork", f"event {seq} of its parent {shown(name)} is another one than it says")

    # -------------------------------------------------------------------------------------------------- the whole

    def _trace(self, seq: int, what: str) -> None:
        self.traces.append(Finding(self.info.id, seq, "trace", what))

    def _left_open(self) -> None:
        judge = self.judge
        for run, placed in judge.placed.items():
            judge.fault(placed.seq, "end", f"run {shown(run)} placed its summary and has no end")
        for run, start in judge.started.items():
            last = "the last one: it may be running" if start.epoch == self.surface.epoch else "which is over"
            self._trace(start.seq, f"run {shown(run)} has a start and no end, in life {start.epoch}, {last}")

    async def _redactions(self) -> None:
        """Every tombstone has an event that says why: here, written meanwhile, or in the session that this was forked from."""
        judge = self.judge
        silent = judge.tombstones - judge.redacted
        for name, last in [(self.info.id, self.info.events - 1), *reversed(self.parents)]:
            start = last + 1
            while silent:
                try:
                    events = await self.ledger.read(name, start, start + CHUNK)
                except CompactionError:  # told where that session is checked
                    break
                told = {event.data.get("seq") for event in events if event.type is EventType.DATA_REDACTED}
                silent -= {seq for seq in silent if seq <= last and seq in told}
                start += CHUNK
                if len(events) < CHUNK:
                    break
        for seq in silent:
            judge.fault(seq, "redaction", "was redacted, and no event says why")

    async def _same_as_stored(self) -> None:
        own = self.surface
        try:
            stored = await self.ledger.surface_at(self.info.id)
            if stored.next_seq != own.next_seq:  # written to meanwhile
                stored = await self.ledger.surface_at(self.info.id, own.next_seq - 1)
        except CompactionError as error:
            if error.code not in _RULES:
                raise
            self.judge.fault(-1, "stored", _told(error))
            return
        parts = [(each.dump(), each.digests, each.calls, each.answers) for each in (stored, own)]
        if parts[0] != parts[1]:
            self.judge.fault(-1, "stored", "the surface that the ledger gives is not the fold of its events")

    async def _names(self) -> None:
        """Read again where a name was given twice, to tell which; that is never, but for a ledger that was tampered with."""
        hashes = self.judge.names.doubled()
        if not hashes:
            return
        doubles = Doubles(hashes)
        for start in range(0, self.surface.next_seq, CHUNK):
            for event in await self._readable(start):
                try:
                    names = names_of(event)
                except UNREADABLE:
                    continue
                for what in doubles.judge(event.seq, names):
                    self.judge.fault(event.seq, "names", what)


def _check_size(event: Event, data: Any, entries: int) -> None:
    """What a summary says that it hides is no longer than the surface: or it could not be written out to be compared."""
    if isinstance(event.op, Replace) and event.type is EventType.SUMMARY_PLACED:
        size = sum([last - first + 1 for first, last in data["hidden"]])
        if size > entries:
            raise CompactionError(ErrorCode.LEDGER_CORRUPT, "hides more than there is on the surface", where=f"event {event.seq}")
