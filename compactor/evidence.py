"""What the events of a session can be held to: single judgments, for ``audit``. Pure.

Each gives what is wrong as a sentence without any text of a message, or nothing.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from .errors import shown
from .events import Event, EventType, ranges, unranged
from .messages import Requirement, Summary
from .reading import read_one
from .surface import Surface
from .units import message_units, requirement_units, summary_units

CHANNELS: Final = ("summarized", "kept", "pinned", "control")
"""Every entry of the surface that a compaction met is in exactly one of these."""


@attrs.frozen
class Cost:
    """What one event on the surface, or a pin, costs; and its id."""

    id: str
    units: int
    message: bool = True
    """False for pins and summaries."""


def cost(event: Event, data: Mapping[str, Any]) -> Cost:
    """Read an event's element. Raises what reading raises for data that is none."""
    id_ = data["id"]
    if event.type is EventType.REQUIREMENT_PINNED:
        return Cost(id_, requirement_units(Requirement(data["content"], id=id_)), message=False)
    if event.type is EventType.SUMMARY_PLACED:
        return Cost(id_, summary_units(Summary(data["content"], id=id_)), message=False)
    return Cost(id_, message_units(read_one(data)[0]))


@attrs.define(eq=False)
class Names:
    """Which names were given: eight bytes each, and sorted out only at the end, for a ledger may have millions."""

    _parts: list[array[int]] = attrs.field(factory=lambda: [array("Q") for _ in range(256)])

    def add(self, name: str) -> None:
        """One more."""
        hashed = _hashed(name)
        self._parts[hashed & 255].append(hashed)

    def doubled(self) -> frozenset[int]:
        """The hashes that were added more than once; almost certainly of one name."""
        found: set[int] = set()
        for part in self._parts:
            if len(set(part)) != len(part):
                found |= {hashed for hashed, times in Counter(part).items() if times > 1}
        return frozenset(found)


def _hashed(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())


@attrs.define(eq=False)
class Doubles:
    """Tells doubled names apart when the events are read once more."""

    hashes: frozenset[int]
    _first: dict[str, int] = attrs.field(factory=dict)

    def judge(self, seq: int, names: Sequence[str]) -> Iterator[str]:
        """What is wrong with the names of event *seq*."""
        for name in names:
            if _hashed(name) not in self.hashes:
                continue
            first = self._first.setdefault(name, seq)
            kind, _, id_ = name.partition(":")
            if first != seq:
                yield f"has the name {kind} {shown(id_)}, which event {first} has"


# -------------------------------------------------------------------------------------------------------- compactions


def coverage_fault(told: Any, hidden: Sequence[int], order: Sequence[int], pins: Sequence[int]) -> str | None:
    """Whether what a run says of the surface that it met is true: *order* and *pins*, of which it hid *hidden*."""
    gone = set(hidden)
    kept = [seq for seq in order if seq not in gone]
    wanted = {"summarized": ranges(hidden), "kept": ranges(kept), "pinned": ranges(pins), "control": []}
    if told == wanted:
        return None
    if not isinstance(told, Mapping) or set(told) != set(CHANNELS):
        return f"its coverage does not consist of {', '.join(CHANNELS)}"
    size = sum([last - first + 1 for channel in CHANNELS for first, last in told[channel]])
    if size > len(order) + len(pins):
        return f"its coverage has {size:,} entries, the surface had {len(order) + len(pins):,}"
    times = Counter([seq for channel in CHANNELS for seq in unranged(told[channel])])
    entries = set(order) | set(pins)
    for seq in sorted(entries | set(times)):
        if seq not in entries:
            return f"its coverage has event {seq}, which was not on the surface"
        if times[seq] != 1:
            return f"its coverage has event {seq} in {times[seq] or 'none'} of {', '.join(CHANNELS)}; it must be in exactly one"
    wrong = next(channel for channel in CHANNELS if told[channel] != wanted[channel])
    return f"what its coverage calls {wrong} is not what was"


def record_faults(data: Mapping[str, Any], hidden: Sequence[int], costs: Mapping[int, Cost]) -> Iterator[str]:
    """Whether the record in a placed summary tells of this run, this summary and these messages."""
    record = data["record"]
    ids = [costs[seq].id for seq in hidden if costs[seq].message]
    if record["id"] != data["run"] or record["summaryId"] != data["id"]:
        yield "its record is of another run or summary"
    told = record["compactedMessageIds"]
    if told != ids or len(told) != record["boundary"]:
        yield "its record names other messages than it hid"


# ----------------------------------------------------------------------------------------------------------- pairing


@attrs.define(eq=False)
class Pairs:
    """The calls and results on the surface: no result without its call before it, no call with two results."""

    _calls: set[str] = attrs.field(factory=set)
    _answered: set[str] = attrs.field(factory=set)
    _told: set[tuple[int, str]] = attrs.field(factory=set)

    def add(self, surface: Surface, seq: int) -> str | None:
        """Judge the entry *seq*, which stands behind all that were added before."""
        self._calls.update(surface.calls.get(seq, ()))
        answer = surface.answers.get(seq)
        if answer is None:
            return None
        what = None
        if answer not in self._calls:
            what = f"leaves the result at event {seq} without its call"
        elif answer in self._answered:
            what = f"leaves the result at event {seq} to a call that has one already"
        self._answered.add(answer)
        if what is None or (seq, what) in self._told:
            return None
        self._told.add((seq, what))
        return what

    def renew(self, surface: Surface) -> Iterator[str]:
        """Judge a surface that was moved."""
        self._calls.clear()
        self._answered.clear()
        for seq in surface.order:
            what = self.add(surface, seq)
            if what is not None:
                yield what
