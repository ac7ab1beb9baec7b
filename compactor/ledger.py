"""The ledger: the truth, and the rules of the surface. Pure: events in, projections out.

An event is sealed into a hash chain: its digest covers the previous digest, its own place and times, and the digest
of its data. ``Surface`` is the fold of a session's events: what the model is sent now, in order, as seqs. Folding one
event more gives the same as folding all again.

Stores keep events and know no policy; the ``Ledger`` protocol at the end is what they offer.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import attrs

from .errors import CompactionError, ErrorCode, shown

GENESIS: Final = bytes(32)
"""The digest before the first event."""

_SESSION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


class EventType(enum.StrEnum):
    """What an event says."""

    SESSION_OPENED = "session/opened"
    RECORDS_ADOPTED = "records/adopted"
    REQUIREMENT_PINNED = "requirement/pinned"
    REQUIREMENT_UNPINNED = "requirement/unpinned"
    MESSAGE_APPENDED = "message/appended"
    SUMMARY_PLACED = "summary/placed"
    TURN_SHOWN = "turn/shown"
    COMPACTION_STARTED = "compaction/started"
    COMPACTION_ENDED = "compaction/ended"


SURFACE_TYPES: Final = frozenset({EventType.MESSAGE_APPENDED, EventType.SUMMARY_PLACED})


@attrs.frozen
class Append:
    """The event goes to the end of the surface."""

    def __str__(self) -> str:
        return "append"


@attrs.frozen
class Replace:
    """The event takes the place of the span between two positions, named by seq, both included."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"replace {self.start} {self.end}"


SurfaceOp: TypeAlias = Append | Replace
APPEND: Final = Append()


@attrs.frozen
class Draft:
    """An event that has no place yet. *data* is JSON; *sources* are the seqs that it was made from."""

    type: EventType
    data: dict[str, Any] = attrs.field(repr=False)
    op: SurfaceOp | None = None
    sources: tuple[int, ...] = ()


@attrs.frozen
class Event:
    """One sealed event. *body* is its data as canonical ASCII JSON."""

    session_id: str
    seq: int
    type: EventType
    time: float
    epoch: int
    body: bytes = attrs.field(repr=lambda body: f"<{len(body)} bytes>")
    op: SurfaceOp | None
    sources: tuple[int, ...]
    digest: bytes = attrs.field(repr=lambda digest: digest.hex()[:12])

    @property
    def data(self) -> dict[str, Any]:
        """The data, parsed anew at each call."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


_encode: Final = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(data: object) -> bytes:
    """JSON as canonical ASCII bytes: sorted keys, no spaces, no NaN; lone surrogates survive as escapes."""
    return _encode(data).encode("ascii")


def check_session_id(session_id: object) -> str:
    """Session ids are data that ends up in file names and queries; so they are few characters, and checked."""
    if type(session_id) is not str or _SESSION_ID.fullmatch(session_id) is None:
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            f"{shown(session_id)} is not a session id",
            where="session_id",
            fix="use 1 to 128 of A-Z a-z 0-9 . _ : - and begin with a letter or digit",
        )
    return session_id


def seal(draft: Draft, *, session_id: str, seq: int, time: float, epoch: int, previous: bytes) -> Event:
    """Give a draft its place in the chain."""
    body = canonical(draft.data)
    digest = _digest(previous, session_id, seq, draft.type, time, epoch, draft.op, draft.sources, body)
    return Event(session_id, seq, draft.type, time, epoch, body, draft.op, draft.sources, digest)


def _digest(
    previous: bytes,
    session_id: str,
    seq: int,
    kind: EventType,
    time: float,
    epoch: int,
    op: SurfaceOp | None,
    sources: tuple[int, ...],
    body: bytes,
) -> bytes:
    # No field can hold the separator, so no two events share a header.
    named = ",".join(map(str, sources)) if sources else ""
    header = f"{session_id}|{seq}|{kind.value}|{time!r}|{epoch}|{op or ''}|{named}|"
    return hashlib.sha256(previous + header.encode() + hashlib.sha256(body).digest()).digest()


def verify_chain(events: Iterable[Event], previous: bytes = GENESIS) -> bytes:
    """Check every digest; the first event that does not fit is named. Gives the last digest."""
    for position, event in enumerate(events):
        expected = _digest(
            previous, event.session_id, event.seq, event.type, event.time, event.epoch, event.op, event.sources, event.body
        )
        if event.seq != position or event.digest != expected:
            raise _corrupt(position, "does not fit the chain: it, or an event before it, was changed or is missing")
        previous = event.digest
    return previous


def _corrupt(seq: int, what: str) -> CompactionError:
    return CompactionError(ErrorCode.LEDGER_CORRUPT, what, where=f"event {seq}", fix="the event was refused, nothing changed")


@attrs.define
class RunMarkers:
    """The markers of one run: where it started, in which life, and where it ended, if it did."""

    started: int
    epoch: int
    ended: int | None = None


@attrs.define(eq=False)
class Surface:
    """The fold of one session's events. Only ``apply`` changes it, and only after ``check`` passed."""

    session_id: str
    order: list[int] = attrs.field(factory=list)
    """The seqs that the model is sent, in order."""
    pins: dict[str, int] = attrs.field(factory=dict)
    """Requirement id → seq, in the order of pinning."""
    digests: list[bytes] = attrs.field(factory=list)
    """The digest of every event, by seq."""
    runs: dict[str, RunMarkers] = attrs.field(factory=dict)
    epoch: int = 0
    generation: int = 0
    """Counts what moves a span: replacements and unpins, never appends."""
    turns: int = 0
    """How often the model was shown the surface."""
    _calls: dict[int, tuple[str, ...]] = attrs.field(factory=dict)
    _answers: dict[int, str] = attrs.field(factory=dict)

    @property
    def next_seq(self) -> int:
        """The seq that the next event must have."""
        return len(self.digests)

    @property
    def head(self) -> bytes:
        """The digest of the last event."""
        return self.digests[-1] if self.digests else GENESIS

    def check(self, events: Sequence[Event]) -> None:
        """Refuse a batch that breaks a rule; the rules in their order, each with its own message."""
        ended: set[str] = set()
        for offset, event in enumerate(events):
            self._check_event(event, self.next_seq + offset)
            if event.type is EventType.COMPACTION_ENDED:
                run_id = event.data["run"]
                markers = self.runs.get(run_id)
                if markers is None or markers.ended is not None or run_id in ended:
                    raise _corrupt(event.seq, "ends a run that is not open: a run has one start and one end")
                ended.add(run_id)

    def _check_event(self, event: Event, seq: int) -> None:
        if event.seq != seq:
            raise _corrupt(event.seq, f"is not the next one, which is {seq}")
        if event.session_id != self.session_id:
            raise _corrupt(seq, "belongs to another session")
        if event.type not in SURFACE_TYPES:
            if event.op is not None:
                raise _corrupt(seq, f"{event.type.value} is no surface type and may not carry an operation")
            return
        match event.op:
            case None:
                raise _corrupt(seq, f"{event.type.value} is a surface type and must carry an operation")
            case Append():
                return
            case Replace():
                self._check_replace(event, event.op)

    def _check_replace(self, event: Event, op: Replace) -> None:
        seq = event.seq
        if event.type is not EventType.SUMMARY_PLACED:
            raise _corrupt(seq, f"{event.type.value} may not replace a span")
        if op.start not in self.order or op.end not in self.order:
            raise _corrupt(seq, f"replaces {op.start}..{op.end}, which is not on the surface now")
        first, last = self.order.index(op.start), self.order.index(op.end)
        if first > last:
            raise _corrupt(seq, f"replaces {op.start}..{op.end}, whose start stands after its end")
        sources = set(event.sources)
        if len(sources) != len(event.sources) or not all(0 <= source < seq for source in sources):
            raise _corrupt(seq, "names sources that are not distinct earlier events")
        hidden = self.order[first : last + 1]
        if not sources.issuperset(hidden):
            raise _corrupt(seq, "does not name every event that it hides")
        gone = set(hidden)
        calls = {call for seq_ in gone for call in self._calls.get(seq_, ())}
        answers = {self._answers[seq_] for seq_ in gone if seq_ in self._answers}
        if calls != answers:
            raise _corrupt(seq, "would leave a tool call without its result, or a result without its call")

    def apply(self, event: Event) -> None:
        """Fold one checked event in."""
        seq = event.seq
        self.digests.append(event.digest)
        match event.type:
            case EventType.MESSAGE_APPENDED:
                self.order.append(seq)
                self._note_links(event)
            case EventType.SUMMARY_PLACED:
                op = event.op
                if isinstance(op, Replace):
                    first, last = self.order.index(op.start), self.order.index(op.end)
                    self.order[first : last + 1] = [seq]
                    self.generation += 1
                else:
                    self.order.append(seq)
            case EventType.REQUIREMENT_PINNED:
                self.pins[event.data["id"]] = seq
            case EventType.REQUIREMENT_UNPINNED:
                self.pins.pop(event.data["id"], None)
                self.generation += 1
            case EventType.COMPACTION_STARTED:
                self.runs[event.data["run"]] = RunMarkers(seq, event.epoch)
            case EventType.COMPACTION_ENDED:
                self.runs[event.data["run"]].ended = seq
            case EventType.SESSION_OPENED:
                self.epoch = event.epoch
            case EventType.TURN_SHOWN:
                self.turns += 1
            case EventType.RECORDS_ADOPTED:
                pass

    def _note_links(self, event: Event) -> None:
        """Remember which tool calls an event makes or answers. The body is parsed only when it can hold any."""
        if b'"toolCall"' not in event.body and b'"toolCallId"' not in event.body:
            return
        data = event.data
        if data["role"] == "assistant":
            calls = tuple([block["id"] for block in data["content"] if block["type"] == "toolCall"])
            if calls:
                self._calls[event.seq] = calls
        elif data["role"] == "toolResult":
            self._answers[event.seq] = data["toolCallId"]

    def orphan(self, epoch: int) -> str | None:
        """The run of life *epoch* that has a start and no end: it blocks new runs of that life."""
        return next((run for run, markers in self.runs.items() if markers.epoch == epoch and markers.ended is None), None)

    def span_digest(self, seqs: Iterable[int]) -> str:
        """What a span is identified by: a digest over its events' digests, not over the texts again."""
        return hashlib.sha256(b"".join([self.digests[seq] for seq in seqs])).hexdigest()


def fold(session_id: str, events: Iterable[Event]) -> Surface:
    """Check and fold all events of a session."""
    surface = Surface(session_id)
    for event in events:
        surface.check([event])
        surface.apply(event)
    return surface


class Lease(Protocol):
    """The right to write one session, from ``acquire`` until ``release``, or until a newer owner takes over."""

    @property
    def session_id(self) -> str:
        """The session."""

    @property
    def epoch(self) -> int:
        """The number of this life; every write carries it."""

    @property
    def surface(self) -> Surface:
        """The fold of everything that is durable; read it, never change it."""


class Ledger(Protocol):
    """What a store offers. ``compactor.testing.check_ledger`` is its executable definition.

    Cancellation: every method meets a checkpoint before it does anything and none after; Cancelled raised means
    nothing was recorded. A ``CompactionError`` from ``append`` means the same. Any other exception from ``append``
    means that nobody knows yet: the caller reads again.
    """

    async def acquire(self, session_id: str, *, owner: str, takeover: bool = False) -> Lease:
        """Begin a new life of the session: epoch + 1, and a ``session/opened`` event. BUSY names a living owner."""

    async def append(self, lease: Lease, drafts: Sequence[Draft]) -> tuple[Event, ...]:
        """Write all or nothing, durably, in one transaction. FENCED when a newer owner exists."""

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
        """The events from seq *start* up to *stop*, exclusive; no ownership needed."""

    async def sessions(self) -> tuple[str, ...]:
        """The ids of all sessions."""

    async def release(self, lease: Lease) -> None:
        """Give the session up; works inside a cancelled scope."""
