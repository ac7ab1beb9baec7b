"""``Judge``: what an event of a session says, held against the surface that it met and the one that it left. Pure.

It follows a fold that others make, one event after the other, and notes what is wrong where. What it holds is the size of
a surface, and eight bytes for each name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from .errors import CompactionError, kind_name, shown
from .events import Event, EventType, Rewind, names_of, ranges, unranged
from .evidence import Cost, Names, Pairs, cost, coverage_fault, record_faults
from .reading import read_one
from .surface import Surface, hidden_by
from .units import message_units

UNREADABLE: Final = (
    CompactionError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    AssertionError,
)
"""What data raises that is not what its type says: sealed by somebody who is not this program."""


@attrs.frozen
class _Placed:
    """What the end of a run has to say of its summary."""

    seq: int
    hidden: tuple[int, ...]
    order: tuple[int, ...]
    pins: tuple[int, ...]
    input: str
    record: Mapping[str, Any]


@attrs.define(eq=False)
class Judge:
    """Follows *surface*; *faults* are (event, rule, what is wrong)."""

    surface: Surface
    faults: list[tuple[int, str, str]] = attrs.field(factory=list)
    costs: dict[int, Cost] = attrs.field(factory=dict)
    """Of each event on the surface, and each pin."""
    total: int = 0
    """The units of all of them."""
    names: Names = attrs.field(factory=Names)
    pairs: Pairs = attrs.field(factory=Pairs)
    started: dict[str, Event] = attrs.field(factory=dict)
    """The runs that have no end yet."""
    placed: dict[str, _Placed] = attrs.field(factory=dict)
    """Their summaries."""
    tombstones: set[int] = attrs.field(factory=set)
    redacted: set[int] = attrs.field(factory=set)
    """The events that are said to have been redacted."""

    def fault(self, seq: int, rule: str, what: str) -> None:
        """Something is wrong."""
        self.faults.append((seq, rule, what))

    def unread(self, event: Event, error: Exception) -> None:
        """The data of an event is not what its type says."""
        self.fault(event.seq, "data", f"does not read as {event.type.value}: {kind_name(error)}")

    def _guarded(self, event: Event, judge: Callable[..., None], *args: Any) -> None:
        try:
            judge(event, *args)
        except UNREADABLE as error:
            self.unread(event, error)

    def before(self, event: Event, data: dict[str, Any], runs: list[str]) -> None:
        """Judge an event that the surface is about to fold in; *runs* are those whose summaries it takes away again."""
        self._guarded(event, self._meets, data, runs)

    def after(self, event: Event, data: dict[str, Any]) -> None:
        """Judge an event that the surface has folded in."""
        before = self.total
        self._guarded(event, self._moved)
        self._guarded(event, self._left, data, before)

    def price(self, event: Event, data: Mapping[str, Any]) -> None:
        """Note what an event costs that comes to the surface."""
        self.costs[event.seq] = Cost("", 0)
        try:
            self.costs[event.seq] = cost(event, data)
        except UNREADABLE as error:
            self.unread(event, error)

    # --------------------------------------------------------------------------------------------- what was met

    def _meets(self, event: Event, data: dict[str, Any], runs: list[str]) -> None:
        if event.redacted is not None:
            self.tombstones.add(event.seq)
        self._lives(event)
        match event.type:
            case EventType.MESSAGE_APPENDED | EventType.TOOL_RESULT_PRUNED | EventType.REQUIREMENT_PINNED:
                self.price(event, data)
            case EventType.COMPACTION_STARTED:
                self._starts(event, data)
            case EventType.SUMMARY_PLACED:
                self.price(event, data)
                self._covers(event, data)
            case EventType.COMPACTION_ENDED:
                self._closes(event, data)
            case EventType.TURN_SHOWN:
                self._shown(event, data)
            case EventType.COMPACTION_UNDONE if data["records"] != runs:
                self.fault(event.seq, "edit", "names other compactions than it brought back")
            case EventType.SURFACE_REWOUND if isinstance(event.op, Rewind) and data["to"] != event.op.seq:
                self.fault(event.seq, "edit", "names another event than it went back to")
            case EventType.DATA_REDACTED:
                self.redacted.add(data["seq"])
                if data["seq"] not in self.tombstones:
                    self.fault(event.seq, "redaction", f"says that event {_number(data['seq'])} was redacted, and it was not")
            case _:
                pass
        for name in names_of(event, data):
            self.names.add(name)

    def _lives(self, event: Event) -> None:
        """An event is of the life that was opened last: what a fenced owner wrote is not there."""
        epoch = self.surface.epoch
        if event.type is EventType.SESSION_OPENED:
            if event.epoch != epoch + 1:
                self.fault(event.seq, "life", f"opens life {event.epoch} after life {epoch}")
        elif event.seq == 0:
            self.fault(event.seq, "life", "stands before any session/opened")
        elif event.epoch != epoch:
            self.fault(event.seq, "life", f"is of life {event.epoch}, written in life {epoch}")

    def _starts(self, event: Event, data: dict[str, Any]) -> None:
        """A start marker says which span of the surface its run is about."""
        self.started[data["run"]] = event
        if not data["hidden"] and data["input"] == "":  # what was not recorded cannot be wrong
            return
        size = sum([last - first + 1 for first, last in data["hidden"]])
        hidden = unranged(data["hidden"]) if size <= len(self.surface.order) else ()
        if len(hidden) != size or not all(seq in self.surface.digests for seq in hidden):
            self.fault(event.seq, "input", "is about events that are not on the surface")
        elif self.surface.span_digest(hidden) != data["input"]:
            self.fault(event.seq, "input", "is about another span than it says")

    def _covers(self, event: Event, data: dict[str, Any]) -> None:
        """A summary hides what its run was started for, and its record tells of that."""
        hidden = hidden_by(event)
        if hidden is None:
            return
        run = data.get("run")
        if run is None:
            self.fault(event.seq, "coverage", "hides a span outside of any run")
            return
        surface = self.surface
        told = surface.span_digest(hidden)
        start = self.started.get(run)
        if start is None:
            self.fault(event.seq, "lock", f"was placed by run {shown(run)}, which was not started")
        elif (start.data["hidden"], start.data["input"]) != (ranges(hidden), told):
            self.fault(event.seq, "input", "hides something else than its run was started for")
        order, pins = tuple(surface.order), tuple(surface.pins.values())
        self.placed[run] = _Placed(event.seq, hidden, order, pins, told, data["record"])
        for what in record_faults(data, hidden, self.costs):
            self.fault(event.seq, "record", what)

    def _closes(self, event: Event, data: dict[str, Any]) -> None:
        run, code = data["run"], data["code"]
        if code is not None and type(code) is not str:
            self.fault(event.seq, "end", f"says how its run ended with a code of type {kind_name(code)}")
        placed = self.placed.pop(run, None)
        self.started.pop(run, None)
        if placed is None or code is not None:
            if placed is not None:
                self.fault(event.seq, "end", "says that its run failed, and its summary was placed")
            elif code is None:
                self.fault(event.seq, "end", "says that its run committed, and nothing was placed")
            return
        for rule, key, wanted in (
            ("coverage", "hidden", ranges(placed.hidden)),
            ("input", "input", placed.input),
            ("units", "units_before", placed.record["unitsBefore"]),
            ("units", "units_after", placed.record["unitsAfter"]),
        ):
            if data.get(key) != wanted:
                self.fault(event.seq, rule, f"its {key} is not what the surface and the record say")
        if "coverage" in data:  # what was not recorded cannot be wrong
            what = coverage_fault(data["coverage"], placed.hidden, placed.order, placed.pins)
            if what is not None:
                self.fault(event.seq, "coverage", what)

    def _shown(self, event: Event, data: dict[str, Any]) -> None:
        if data["surface"] != self.surface.digest:
            self.fault(event.seq, "turn", "names another surface than the one that stood then")
        if data["turn"] != self.surface.turns + 1:
            self.fault(event.seq, "turn", f"is turn {_number(data['turn'])}, and {self.surface.turns} turns stand before it")
        if not self._hushed():
            self._adds_up(event, "units", data["units"], self.total)
        if event.redacted is None:
            pending = [message_units(read_one(message)[0]) for message in data.get("shown", ())]
            self._adds_up(event, "units of pending input", data["pending"], sum(pending), "it has")

    # --------------------------------------------------------------------------------------------- what was left

    def _moved(self, event: Event) -> None:
        """Follow what an event did to the surface: its units, and its pairs."""
        surface = self.surface
        if event.type is EventType.MESSAGE_APPENDED:
            self.total += self.costs[event.seq].units
            what = self.pairs.add(surface, event.seq)
            if what is not None:
                self.fault(event.seq, "pairing", what)
        elif event.op is not None or event.type in (EventType.REQUIREMENT_PINNED, EventType.REQUIREMENT_UNPINNED):
            shown_now = (*surface.order, *surface.pins.values())
            self.costs = {seq: self.costs[seq] for seq in shown_now}
            self.total = sum([each.units for each in self.costs.values()])
            for what in self.pairs.renew(surface):
                self.fault(event.seq, "pairing", what)

    def _left(self, event: Event, data: dict[str, Any], before: int) -> None:
        """A compaction says truly what the surface had before and after it; *before* is what it had."""
        if event.type is not EventType.SUMMARY_PLACED or "run" not in data or event.redacted is not None:
            return
        if not self._hushed():
            self._adds_up(event, "units after it", data["record"]["unitsAfter"], self.total)
            if self.tombstones.isdisjoint(hidden_by(event) or ()):
                self._adds_up(event, "units before it", data["record"]["unitsBefore"], before)

    def _hushed(self) -> bool:
        """True when a redaction took away what would be measured."""
        return bool(self.tombstones) and not self.tombstones.isdisjoint(self.surface.digests)

    def _adds_up(self, event: Event, what: str, told: Any, counted: int, where: str = "the surface has") -> None:
        if told != counted:
            self.fault(event.seq, "units", f"says {_number(told)} {what}, {where} {counted:,}")


def _number(value: object) -> str:
    return f"{value:,}" if type(value) is int else f"<{kind_name(value)}>"
