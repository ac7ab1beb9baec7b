"""``verify``: everything that can be checked about a ledger without its authors, and what is wrong where.

One pass over each session, in chunks: the chain, the rules of the surface, pairing, that every compaction covered its
surface and says so truthfully, what turns were shown, redactions. Nothing is repaired. What an earlier life left open
is a *trace*: told, and no fault.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final

import attrs

from .errors import CompactionError
from .events import GENESIS, Event, EventType, Restore, Rewind, names_of, ranges, verify_chain
from .history import fetch
from .ledger import Ledger, SessionInfo
from .messages import Requirement, Summary
from .reading import read_one
from .surface import Surface, hidden_by
from .units import message_units, requirement_units, summary_units

CHUNK: Final = 1_000
"""Events that are held at once."""


@attrs.frozen
class Finding:
    """One thing that is wrong, or was left open: in which session, at which event (-1: the whole), which rule, what."""

    session_id: str
    seq: int
    rule: str
    message: str

    def __str__(self) -> str:
        place = f"event {self.seq}" if self.seq >= 0 else "the session"
        return f"{self.session_id}, {place}: {self.message} [{self.rule}]"


@attrs.frozen
class Audit:
    """What ``verify`` found: how much was checked, *faults*, and *traces* of runs that never ended."""

    sessions: int
    events: int
    faults: tuple[Finding, ...]
    traces: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True without any fault."""
        return not self.faults


async def verify(ledger: Ledger, session_id: str | None = None) -> Audit:
    """Check one session, or all. INVALID_INPUT when the ledger has no such session."""
    if session_id is not None:
        await ledger.surface_at(session_id, 0)
    sessions = [info for info in await ledger.sessions() if session_id in (None, info.id)]
    faults: list[Finding] = []
    traces: list[Finding] = []
    for info in sessions:
        check = _Check(ledger, info)
        await check.run()
        faults += check.faults
        traces += check.traces
    return Audit(len(sessions), sum([info.events for info in sessions]), tuple(faults), tuple(traces))


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


@attrs.frozen
class _Placed:
    """What the end of a run has to say of its summary."""

    hidden: list[list[int]]
    input: str
    coverage: dict[str, Any]
    record: dict[str, Any]


@attrs.define(eq=False)
class _Check:
    ledger: Ledger
    info: SessionInfo
    faults: list[Finding] = attrs.field(factory=list)
    traces: list[Finding] = attrs.field(factory=list)
    surface: Surface = attrs.field(init=False)
    past: _Seen = attrs.field(factory=_Seen)
    units: dict[int, int] = attrs.field(factory=dict)
    """What each event on the surface costs, and each pin."""
    names: set[int] = attrs.field(factory=set)
    """Hashes of the names that were given, eight bytes each."""
    started: dict[str, Event] = attrs.field(factory=dict)
    placed: dict[str, _Placed] = attrs.field(factory=dict)
    tombstones: set[int] = attrs.field(factory=set)
    redacted: set[int] = attrs.field(factory=set)

    def __attrs_post_init__(self) -> None:
        self.surface = Surface(self.info.id)

    def _fault(self, seq: int, rule: str, message: str) -> None:
        self.faults.append(Finding(self.info.id, seq, rule, message))

    async def run(self) -> None:
        """Check the session; the first event that breaks chain or fold ends it, for nothing behind it can be judged."""
        previous = GENESIS
        try:
            for start in range(0, self.info.events, CHUNK):
                events = await self.ledger.read(self.info.id, start, min(start + CHUNK, self.info.events))
                previous = verify_chain(events, previous, start=start)
                for event in events:
                    await self._meet(event)
                    await self._event(event)
            if self.surface.next_seq != self.info.events:
                self._fault(self.surface.next_seq, "chain", f"is missing: the ledger tells of {self.info.events} events")
            await self._same_as_stored()
        except CompactionError as error:
            # The error names the event; without one it concerns what would come next.
            named = re.search(r"event (\d+)$", error.where)
            self._fault(int(named[1]) if named else self.surface.next_seq, "chain", f"{error.message} ({error.where})")
            return
        self._ended()

    # ------------------------------------------------------------------------------------------------- the past

    async def _meet(self, event: Event) -> None:
        """Look up what the rules of an event ask of the past."""
        match event.op:
            case Restore():
                summaries = await fetch(self.ledger, self.info.id, event.op.summaries)
                self.past.events |= summaries
                hidden = [seq for summary in event.op.summaries for seq in hidden_by(summaries[summary]) or ()]
                await self._meet_surface(hidden)
            case Rewind():
                await self._meet_surface(await self._order_at(event.op.seq))
            case _ if event.type is EventType.TOOL_RESULT_PRUNED:
                self.past.events |= await fetch(self.ledger, self.info.id, event.sources)
            case _:
                pass

    async def _meet_surface(self, seqs: Sequence[int]) -> None:
        """Events that come back to the surface: what they say, and what they cost."""
        events = await fetch(self.ledger, self.info.id, seqs)
        self.past.events |= events
        for seq in seqs:
            self.units[seq] = _units(events[seq])

    async def _order_at(self, seq: int) -> Sequence[int]:
        """The order at an earlier event, folded from the beginning: what a checkpoint says is not believed here."""
        if seq not in self.past.orders:
            surface = Surface(self.info.id)
            for start in range(0, seq + 1, CHUNK):
                for event in await self.ledger.read(self.info.id, start, min(start + CHUNK, seq + 1)):
                    if isinstance(event.op, Restore):
                        self.past.events |= await fetch(self.ledger, self.info.id, event.op.summaries)
                    elif isinstance(event.op, Rewind):
                        await self._order_at(event.op.seq)
                    surface.move(event, self.past)
            self.past.orders[seq] = tuple(surface.order)
        return self.past.orders[seq]

    # ----------------------------------------------------------------------------------------------- each event

    async def _event(self, event: Event) -> None:
        surface = self.surface
        before = (tuple(surface.order), tuple(surface.pins.values())) if event.type is EventType.SUMMARY_PLACED else ((), ())
        inputs = surface.digests.copy() if event.type is EventType.SUMMARY_PLACED else {}
        try:
            surface.check([event], self.past)
        except CompactionError as error:
            self._fault(event.seq, "fold", error.message)
            raise
        self._named(event)
        if event.redacted is not None:
            self.tombstones.add(event.seq)
        data = event.data if event.type in _JUDGED else {}
        match event.type:
            case EventType.MESSAGE_APPENDED | EventType.TOOL_RESULT_PRUNED | EventType.REQUIREMENT_PINNED:
                self._cost(event)
            case EventType.COMPACTION_STARTED:
                self.started[data["run"]] = event
            case EventType.SUMMARY_PLACED:
                self._cost(event)
                self._covers(event, data, before, inputs)
            case EventType.COMPACTION_ENDED:
                self._closes(event, data)
            case EventType.TURN_SHOWN:
                self._shown(event, data)
            case EventType.DATA_REDACTED:
                self.redacted.add(data["seq"])
            case _:
                pass
        surface.apply(event, self.past)
        self.past.events.clear()
        if event.op is not None and event.type is not EventType.MESSAGE_APPENDED:
            self._paired(event.seq)
            self.units = {seq: self.units[seq] for seq in (*surface.order, *surface.pins.values()) if seq in self.units}
        if event.type is EventType.SUMMARY_PLACED and "record" in data and not self.tombstones:
            self._adds_up(event, data)

    def _named(self, event: Event) -> None:
        for name in names_of(event):
            hashed = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())
            if hashed in self.names:
                self._fault(event.seq, "names", f"has a name that an earlier event has: {name.partition(':')[0]}")
            self.names.add(hashed)

    def _cost(self, event: Event) -> None:
        try:
            self.units[event.seq] = _units(event)
        except (CompactionError, KeyError, TypeError) as error:
            self._fault(event.seq, "data", f"does not read as {event.type.value}: {type(error).__name__}")

    def _covers(
        self, event: Event, data: dict[str, Any], before: tuple[Sequence[int], Sequence[int]], digests: dict[int, bytes]
    ) -> None:
        """Every entry of the old surface is in exactly one of summarized, kept, pinned, control."""
        hidden = hidden_by(event)
        if hidden is None:
            return
        order, pins = before
        if "run" not in data:
            self._fault(event.seq, "coverage", "hides a span outside of any run")
            return
        told = hashlib.sha256(b"".join([digests[seq] for seq in hidden])).hexdigest()
        start = self.started.pop(data["run"], None)
        if start is None:
            self._fault(event.seq, "lock", f"was placed by run {data['run']}, which never started")
        elif (start.data["hidden"], start.data["input"]) != (ranges(hidden), told):
            self._fault(event.seq, "input", "hides something else than its run was started for")
        kept = [seq for seq in order if seq not in set(hidden)]
        coverage = {"summarized": ranges(hidden), "kept": ranges(kept), "pinned": ranges(list(pins)), "control": []}
        self.placed[data["run"]] = _Placed(ranges(hidden), told, coverage, data["record"])

    def _closes(self, event: Event, data: dict[str, Any]) -> None:
        placed = self.placed.pop(data["run"], None)
        if (placed is None) != (data["code"] is not None):
            what = (
                "says that its run failed, and its summary was placed"
                if placed
                else "says that its run committed, and nothing was placed"
            )
            self._fault(event.seq, "end", what)
        self.started.pop(data["run"], None)
        if placed is None or data["code"] is not None:
            return
        for rule, key, wanted in (
            ("coverage", "hidden", placed.hidden),
            ("input", "input", placed.input),
            ("coverage", "coverage", placed.coverage),
            ("units", "units_before", placed.record["unitsBefore"]),
            ("units", "units_after", placed.record["unitsAfter"]),
        ):
            if data.get(key) != wanted:
                self._fault(event.seq, rule, f"its {key} is not what the surface and the record say")

    def _adds_up(self, event: Event, data: dict[str, Any]) -> None:
        surface = self.surface
        total = sum([self.units.get(seq, 0) for seq in (*surface.order, *surface.pins.values())])
        if total != data["record"]["unitsAfter"]:
            self._fault(event.seq, "units", f"says {data['record']['unitsAfter']:,} units, the surface has {total:,}")

    def _shown(self, event: Event, data: dict[str, Any]) -> None:
        if data["surface"] != self.surface.digest:
            self._fault(event.seq, "turn", "names another surface than the one that stood then")
        if data["turn"] != self.surface.turns + 1:
            self._fault(event.seq, "turn", f"is turn {data['turn']}, and {self.surface.turns} turns stand before it")

    def _paired(self, seq: int) -> None:
        """No result without its call before it."""
        open_calls: set[str] = set()
        for at in self.surface.order:
            open_calls |= set(self.surface.calls.get(at, ()))
            answer = self.surface.answers.get(at)
            if answer is not None and answer not in open_calls:
                self._fault(seq, "pairing", f"leaves the result at event {at} without its call")

    # ------------------------------------------------------------------------------------------------- the whole

    def _ended(self) -> None:
        for run in self.placed:
            self._fault(-1, "end", f"run {run} placed its summary and has no end")
        for run, start in self.started.items():
            self.traces.append(Finding(self.info.id, start.seq, "trace", f"run {run} has a start and no end"))
        self._paired(-1)
        for seq in sorted(self.tombstones - self.redacted):
            self._fault(seq, "redaction", "was redacted, and no event says why")

    async def _same_as_stored(self) -> None:
        stored = await self.ledger.surface_at(self.info.id)
        if stored.dump() != self.surface.dump():
            self._fault(-1, "stored", "the surface that the ledger gives is not the fold of its events")


_JUDGED: Final = frozenset(
    {
        EventType.COMPACTION_STARTED,
        EventType.COMPACTION_ENDED,
        EventType.SUMMARY_PLACED,
        EventType.TURN_SHOWN,
        EventType.DATA_REDACTED,
    }
)


def _units(event: Event) -> int:
    """What one event on the surface, or a pin, costs."""
    data = event.data
    if event.type is EventType.REQUIREMENT_PINNED:
        return requirement_units(Requirement(data["content"], id=data["id"]))
    if event.type is EventType.SUMMARY_PLACED:
        return summary_units(Summary(data["content"], id=data["id"]))
    return message_units(read_one(data)[0])
