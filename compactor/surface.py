"""The surface: what the model is sent now, as the fold of a session's events, and the rules that every event must keep.

``Surface`` holds nothing of what is hidden, so its size is that of the surface, however long the ledger is. What an
undo or a rewind brings back is looked up in the ``Past``. Folding one event more gives the same as folding all again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, assert_never

import attrs

from .errors import CompactionError, ErrorCode
from .events import (
    GENESIS,
    OPERATIONS,
    Append,
    Event,
    EventType,
    Replace,
    Restore,
    Rewind,
    SurfaceOp,
    data_digest,
    ranges,
    unranged,
)

_REFUSED: Final = "the event was refused, nothing changed"


class Past(Protocol):
    """What came before: asked by undo, rewind and pruning only."""

    def event(self, seq: int) -> Event:
        """The event *seq*."""

    def order_at(self, seq: int) -> Sequence[int]:
        """The order of the surface when *seq* had been folded in."""


def corrupt(seq: int, what: str) -> CompactionError:
    """LEDGER_CORRUPT for an event that breaks a rule."""
    return CompactionError(ErrorCode.LEDGER_CORRUPT, what, where=f"event {seq}", fix=_REFUSED)


@attrs.frozen
class _Durable:
    """The past without the batch that is being checked: an edit may look back at nothing that could still be refused."""

    past: Past
    stop: int

    def event(self, seq: int) -> Event:
        if seq >= self.stop:
            raise corrupt(seq, "is what an event of its own transaction looks back at")
        return self.past.event(seq)

    def order_at(self, seq: int) -> Sequence[int]:
        if seq >= self.stop:
            raise corrupt(seq, "is what an event of its own transaction looks back at")
        return self.past.order_at(seq)


@attrs.frozen
class RunMarker:
    """The start marker of a run without an end: its seq, the life that wrote it, and the wall time."""

    started: int
    epoch: int
    time: float


@attrs.define(eq=False)
class Surface:
    """The fold of one session's events. Only ``apply`` changes it, and only after ``check`` passed."""

    session_id: str
    order: list[int] = attrs.field(factory=list)
    """The seqs that the model is sent, in order."""
    pins: dict[str, int] = attrs.field(factory=dict)
    """Requirement id → seq, in the order of pinning."""
    runs: dict[str, RunMarker] = attrs.field(factory=dict)
    """The runs of this life that have a start and no end. Those of earlier lives are traces, and block nothing."""
    next_seq: int = 0
    """The seq that the next event must have."""
    head: bytes = GENESIS
    """The digest of the last event."""
    epoch: int = 0
    generation: int = 0
    """Counts what moves a span: replacements, restorations, rewinds and unpins, never appends."""
    turns: int = 0
    """How often the model was shown the surface."""
    digests: dict[int, bytes] = attrs.field(factory=dict)
    """The digests of what the events on the surface say, and the pins."""
    calls: dict[int, tuple[str, ...]] = attrs.field(factory=dict)
    answers: dict[int, str] = attrs.field(factory=dict)

    # ---------------------------------------------------------------------------------------------- the rules

    def check(self, events: Sequence[Event], past: Past) -> None:
        """Refuse a batch that breaks a rule; the rules in their order, each with its own message."""
        # Where the rule of one event depends on what another one moved, look at it on a copy.
        moving = sum([event.op is not None and type(event.op) is not Append for event in events])
        surface = self if moving < 2 else self.copy()
        running = set(self.runs)
        past = _Durable(past, self.next_seq)
        for seq, event in enumerate(events, self.next_seq):
            surface._check_event(event, seq, past)  # noqa: SLF001 - itself, or its copy
            if event.type is EventType.COMPACTION_STARTED:
                running.add(event.data["run"])
            elif event.type is EventType.COMPACTION_ENDED:
                run = event.data["run"]
                if run not in running:
                    raise corrupt(seq, "ends a run that is not open: a run has one start and one end")
                running.remove(run)
            if surface is not self:
                surface.apply(event, past)

    def _check_event(self, event: Event, seq: int, past: Past) -> None:
        if event.seq != seq:
            raise corrupt(event.seq, f"is not the next one, which is {seq}")
        if event.session_id != self.session_id:
            raise corrupt(seq, "belongs to another session")
        allowed = OPERATIONS.get(event.type)
        if allowed is None:
            if event.op is not None:
                raise corrupt(seq, f"{event.type.value} is no surface type and may not carry an operation")
            return
        if event.op is None:
            raise corrupt(seq, f"{event.type.value} is a surface type and must carry an operation")
        if type(event.op) not in allowed:
            raise corrupt(seq, f"{event.type.value} may not carry the operation {type(event.op).__name__.lower()}")
        match event.op:
            case Replace():
                self._check_replace(event, event.op, past)
            case Restore():
                self._check_restore(seq, event.op, past)
            case Rewind():
                self._check_rewind(seq, event.op, past)
            case Append():
                pass

    def _check_replace(self, event: Event, op: Replace, past: Past) -> None:
        seq = event.seq
        if op.start not in self.order or op.end not in self.order:
            raise corrupt(seq, f"replaces {op.start}..{op.end}, which is not on the surface now")
        first, last = self.order.index(op.start), self.order.index(op.end)
        if first > last:
            raise corrupt(seq, f"replaces {op.start}..{op.end}, whose start stands after its end")
        sources = set(event.sources)
        if len(sources) != len(event.sources) or not all(0 <= source < seq for source in sources):
            raise corrupt(seq, "names sources that are not distinct earlier events")
        hidden = self.order[first : last + 1]
        if not sources.issuperset(hidden):
            raise corrupt(seq, "does not name every event that it hides")
        if event.type is EventType.TOOL_RESULT_PRUNED:
            _check_pruned(event, hidden, past)
            return
        if unranged(event.data.get("hidden", ())) != tuple(hidden):
            raise corrupt(seq, "does not list exactly what it hides, in its order")
        calls = {call for seq_ in hidden for call in self.calls.get(seq_, ())}
        answers = {self.answers[seq_] for seq_ in hidden if seq_ in self.answers}
        if calls != answers:
            raise corrupt(seq, "would leave a tool call without its result, or a result without its call")

    def _check_restore(self, seq: int, op: Restore, past: Past) -> None:
        order = self.order
        for summary in op.summaries:
            if summary not in order:
                raise corrupt(seq, f"restores what summary {summary} hid, which is not on the surface then")
            if hidden_by(past.event(summary)) is None:
                raise corrupt(seq, f"restores what event {summary} hid, which hid nothing of this ledger")
            order = _restored(order, summary, past)

    def _check_rewind(self, seq: int, op: Rewind, past: Past) -> None:
        if not 0 <= op.seq < seq:
            raise corrupt(seq, f"rewinds to {op.seq}, which is not an earlier event")
        if not 0 <= op.less <= len(past.order_at(op.seq)):
            raise corrupt(seq, "drops more entries than the surface had")

    # ---------------------------------------------------------------------------------------------- the fold

    def apply(self, event: Event, past: Past) -> None:
        """Fold one checked event in."""
        self.move(event, past)
        if isinstance(event.op, Restore | Rewind):
            self.link(past)

    def move(self, event: Event, past: Past) -> None:
        """``apply`` without looking up what came back; ``link`` makes up for it once, after many events."""
        seq = self.next_seq
        self.next_seq, self.head = seq + 1, event.digest
        if event.op is not None:
            self._operate(event, event.op, past)
            return
        match event.type:
            case EventType.REQUIREMENT_PINNED:
                id_ = event.data["id"]
                self.digests.pop(self.pins.get(id_, -1), None)
                self.pins[id_] = seq
                self.digests[seq] = data_digest(event)
            case EventType.REQUIREMENT_UNPINNED:
                self.digests.pop(self.pins.pop(event.data["id"], -1), None)
                self.generation += 1
            case EventType.COMPACTION_STARTED:
                self.runs[event.data["run"]] = RunMarker(seq, event.epoch, event.time)
            case EventType.COMPACTION_ENDED:
                self.runs.pop(event.data["run"], None)
            case EventType.SESSION_OPENED:
                self.epoch = event.epoch
                self.runs.clear()
            case EventType.TURN_SHOWN:
                self.turns += 1
            case _:
                pass

    def _operate(self, event: Event, op: SurfaceOp, past: Past) -> None:
        seq = event.seq
        match op:
            case Append():
                self.order.append(seq)
                self._note(event)
                return
            case Replace():
                first, last = self.order.index(op.start), self.order.index(op.end)
                gone = self.order[first : last + 1]
                self.order[first : last + 1] = [seq]
                self._note(event)
            case Restore():
                gone = []
                for summary in op.summaries:
                    self.order = _restored(self.order, summary, past)
                    gone.append(summary)
            case Rewind():
                before = past.order_at(op.seq)
                order = list(before[: len(before) - op.less])
                gone = list(set(self.order).difference(order))
                self.order = order
            case _:
                assert_never(op)
        self.generation += 1
        for hidden in gone:
            self.digests.pop(hidden, None)
            self.calls.pop(hidden, None)
            self.answers.pop(hidden, None)

    def _note(self, event: Event) -> None:
        """Remember the digest, and which tool calls an event makes or answers. A body is parsed only when it can hold any."""
        self.digests[event.seq] = data_digest(event)
        if b'"toolCall"' not in event.body and b'"toolCallId"' not in event.body:
            return
        data = event.data
        if data.get("role") == "assistant":
            calls = tuple([block["id"] for block in data["content"] if block["type"] == "toolCall"])
            if calls:
                self.calls[event.seq] = calls
        elif data.get("role") == "toolResult":
            self.answers[event.seq] = data["toolCallId"]

    def link(self, past: Past) -> None:
        """Look up what is on the surface, or pinned, and not known yet."""
        for seq in (*self.order, *self.pins.values()):
            if seq not in self.digests:
                self._note(past.event(seq))

    def copy(self) -> Surface:
        """An independent copy."""
        return attrs.evolve(
            self,
            order=self.order.copy(),
            pins=self.pins.copy(),
            runs=self.runs.copy(),
            digests=self.digests.copy(),
            calls=self.calls.copy(),
            answers=self.answers.copy(),
        )

    # ------------------------------------------------------------------------------------------------ questions

    def orphan(self) -> str | None:
        """The run of this life that has a start and no end: it blocks new runs."""
        return next(iter(self.runs), None)

    def span_digest(self, seqs: Iterable[int]) -> str:
        """What a span is identified by: a digest over the digests of what its events say; a fork keeps it."""
        return hashlib.sha256(b"".join([self.digests[seq] for seq in seqs])).hexdigest()

    @property
    def digest(self) -> str:
        """What the model is sent, identified: pins and surface."""
        return self.span_digest((*self.pins.values(), *self.order))

    # ----------------------------------------------------------------------------------------------- checkpoints

    def dump(self) -> dict[str, Any]:
        """The state as JSON, without what ``link`` finds again."""
        runs = [[run, marker.started, marker.epoch, marker.time] for run, marker in self.runs.items()]
        return {
            "order": ranges(self.order),
            "pins": list(self.pins.items()),
            "runs": runs,
            "next": self.next_seq,
            "head": self.head.hex(),
            "epoch": self.epoch,
            "generation": self.generation,
            "turns": self.turns,
        }

    @classmethod
    def load(cls, session_id: str, state: dict[str, Any]) -> Surface:
        """The state that ``dump`` wrote; ``link`` completes it."""
        return cls(
            session_id,
            list(unranged(state["order"])),
            dict(state["pins"]),
            {run: RunMarker(*marker) for run, *marker in state["runs"]},
            state["next"],
            bytes.fromhex(state["head"]),
            state["epoch"],
            state["generation"],
            state["turns"],
        )


def hidden_by(summary: Event) -> tuple[int, ...] | None:
    """What a placed summary hid, in its order; None for one that hid nothing of its ledger (it was adopted)."""
    if summary.type is not EventType.SUMMARY_PLACED or not isinstance(summary.op, Replace):
        return None
    return unranged(summary.data["hidden"])


def _restored(order: Sequence[int], summary: int, past: Past) -> list[int]:
    at = order.index(summary)
    return [*order[:at], *(hidden_by(past.event(summary)) or ()), *order[at + 1 :]]


def _check_pruned(event: Event, hidden: Sequence[int], past: Past) -> None:
    seq = event.seq
    if len(hidden) != 1:
        raise corrupt(seq, f"prunes {len(hidden)} events at once; a pruned result takes the place of exactly one")
    before, after = past.event(hidden[0]).data, event.data
    if before.get("role") != "toolResult":
        raise corrupt(seq, f"prunes event {hidden[0]}, which is no tool result")
    if {**before, "content": None} != {**after, "content": None}:
        raise corrupt(seq, "changes more of a tool result than its content")


@attrs.define(eq=False)
class Log:
    """The past as a list of events, with the orders that were asked for kept."""

    session_id: str
    events: Sequence[Event]
    _orders: dict[int, tuple[int, ...]] = attrs.field(factory=dict)

    def event(self, seq: int) -> Event:
        """The event *seq*."""
        return self.events[seq]

    def order_at(self, seq: int) -> Sequence[int]:
        """The order of the surface when *seq* had been folded in."""
        if seq not in self._orders:
            self.fold(seq + 1)
        return self._orders[seq]

    def fold(self, stop: int | None = None, *, checked: bool = False) -> Surface:
        """Fold the first *stop* events, all of them without it; check each first when *checked*."""
        events = self.events[:stop]
        wanted = {event.op.seq for event in events if isinstance(event.op, Rewind)}
        surface = Surface(self.session_id)
        for event in events:
            if checked:
                surface.check([event], self)
                surface.apply(event, self)
            else:
                surface.move(event, self)
            if event.seq in wanted:
                self._orders[event.seq] = tuple(surface.order)
        if events:
            self._orders[events[-1].seq] = tuple(surface.order)
        surface.link(self)
        return surface


def fold(session_id: str, events: Sequence[Event]) -> Surface:
    """Check and fold all events of a session, which begin at 0."""
    return Log(session_id, events).fold(checked=True)
