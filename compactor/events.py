"""The event: one entry of the ledger, its canonical bytes, and the hash chain that it is sealed into. Pure.

A digest covers the previous digest, the event's place and times, and the *digest of its data*: so the data of one
event can be redacted, leaving a tombstone, and the chain still verifies.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from typing import Any, Final, TypeAlias

import attrs

from .errors import CompactionError, ErrorCode

GENESIS: Final = bytes(32)
"""The digest before the first event."""


class EventType(enum.StrEnum):
    """What an event says."""

    SESSION_OPENED = "session/opened"
    RECORDS_ADOPTED = "records/adopted"
    REQUIREMENT_PINNED = "requirement/pinned"
    REQUIREMENT_UNPINNED = "requirement/unpinned"
    MESSAGE_APPENDED = "message/appended"
    TOOL_RESULT_PRUNED = "tool_result/pruned"
    SUMMARY_PLACED = "summary/placed"
    TURN_SHOWN = "turn/shown"
    COMPACTION_STARTED = "compaction/started"
    COMPACTION_ENDED = "compaction/ended"
    COMPACTION_UNDONE = "compaction/undone"
    SURFACE_REWOUND = "surface/rewound"
    DATA_REDACTED = "data/redacted"


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


@attrs.frozen
class Restore:
    """The spans that these summaries hid come back, newest summary first; each is on the surface when its turn comes."""

    summaries: tuple[int, ...]

    def __str__(self) -> str:
        return " ".join(["restore", *map(str, self.summaries)])


@attrs.frozen
class Rewind:
    """The surface becomes what it was when *seq* had been folded in, without its last *less* entries."""

    seq: int
    less: int = 0

    def __str__(self) -> str:
        return f"rewind {self.seq} {self.less}"


SurfaceOp: TypeAlias = Append | Replace | Restore | Rewind
APPEND: Final = Append()

OPERATIONS: Final[dict[EventType, tuple[type[SurfaceOp], ...]]] = {
    EventType.MESSAGE_APPENDED: (Append,),
    EventType.TOOL_RESULT_PRUNED: (Replace,),
    EventType.SUMMARY_PLACED: (Replace, Append),
    EventType.COMPACTION_UNDONE: (Restore,),
    EventType.SURFACE_REWOUND: (Rewind,),
}
"""The surface types, and the operations that each may carry. An adopted summary is appended: it hides nothing of ours."""


def parse_op(text: str) -> SurfaceOp | None:
    """Read an operation in its written form; the empty text is none. Raises ValueError."""
    name, *words = text.split(" ") if text else ("",)
    numbers = [int(word) for word in words]
    match name, numbers:
        case "", []:
            return None
        case "append", []:
            return APPEND
        case "replace", [start, end]:
            return Replace(start, end)
        case "restore", [_, *_]:
            return Restore(tuple(numbers))
        case "rewind", [seq, less]:
            return Rewind(seq, less)
        case _:
            msg = "no operation"
            raise ValueError(msg)


@attrs.frozen
class Draft:
    """An event that has no place yet. *data* is JSON; *sources* are the seqs that it was made from."""

    type: EventType
    data: dict[str, Any] = attrs.field(repr=False)
    op: SurfaceOp | None = None
    sources: tuple[int, ...] = ()


@attrs.frozen
class Event:
    """One sealed event. *body* is its data as canonical ASCII JSON, or the tombstone that stands for it."""

    session_id: str
    seq: int
    type: EventType
    time: float
    epoch: int
    body: bytes = attrs.field(repr=lambda body: f"<{len(body)} bytes>")
    op: SurfaceOp | None
    sources: tuple[int, ...]
    digest: bytes = attrs.field(repr=lambda digest: digest.hex()[:12])
    redacted: bytes | None = attrs.field(default=None, repr=lambda digest: "None" if digest is None else digest.hex()[:12])
    """The digest of the data that the tombstone replaced; None for data that stands as it was written."""

    @property
    def data(self) -> dict[str, Any]:
        """The data, parsed anew at each call."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


_encoder: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _encoding() -> Callable[[object], str]:
    """The encoder's ``encode``, without what it makes anew at each call; a third of the time for a short message."""
    if c_make_encoder is None:  # no CPython
        return _encoder.encode
    # No marks of what is being encoded: they would outlive a failure. A cycle is then a RecursionError.
    parts = c_make_encoder(None, _encoder.default, encode_basestring_ascii, None, ":", ",", False, False, False)
    return lambda data: "".join(parts(data, 0))


_encode: Final = _encoding()


def canonical(data: object) -> bytes:
    """JSON as canonical ASCII bytes: no spaces, no NaN; lone surrogates survive as escapes.

    Keys stay in their order, for it is part of what was said: the arguments of a tool call are sent again as the model
    wrote them, byte for byte, also after the session was opened anew.
    """
    return _encode(data).encode("ascii")


def seal(draft: Draft, *, session_id: str, seq: int, time: float, epoch: int, previous: bytes) -> Event:
    """Give a draft its place in the chain."""
    (event,) = seal_all([draft], session_id=session_id, seq=seq, time=time, epoch=epoch, previous=previous)
    return event


def seal_all(drafts: Iterable[Draft], *, session_id: str, seq: int, time: float, epoch: int, previous: bytes) -> list[Event]:
    """Give drafts their places in the chain, one behind the other. What ``_digest`` does, without saying the same again."""
    sha256, encode = hashlib.sha256, _encode
    whose, when = f"{session_id}|", f"|{time!r}|{epoch}|"
    events: list[Event] = []
    for place, draft in enumerate(drafts, seq):
        kind, op, sources = draft.type, draft.op, draft.sources
        body = encode(draft.data).encode("ascii")
        named = ",".join(map(str, sources)) if sources else ""
        header = f"{whose}{place}|{kind}{when}{op or ''}|{named}|"
        previous = sha256(previous + header.encode() + sha256(body).digest()).digest()
        events.append(Event(session_id, place, kind, time, epoch, body, op, sources, previous))
    return events


def data_digest(event: Event) -> bytes:
    """The digest of what an event says, or said before it was redacted; the same in every session that it is copied to."""
    return event.redacted or hashlib.sha256(event.body).digest()


def reseal(event: Event, *, session_id: str, previous: bytes) -> Event:
    """The same event in the chain of another session: how a fork takes its prefix over."""
    of_data = data_digest(event)
    digest = _digest(previous, session_id, event.seq, event.type, event.time, event.epoch, event.op, event.sources, of_data)
    return attrs.evolve(event, session_id=session_id, digest=digest)


def _digest(
    previous: bytes,
    session_id: str,
    seq: int,
    kind: EventType,
    time: float,
    epoch: int,
    op: SurfaceOp | None,
    sources: tuple[int, ...],
    of_data: bytes,
) -> bytes:
    # No field can hold the separator, so no two events share a header.
    named = ",".join(map(str, sources)) if sources else ""
    header = f"{session_id}|{seq}|{kind}|{time!r}|{epoch}|{op or ''}|{named}|"
    return hashlib.sha256(previous + header.encode() + of_data).digest()


def verify_chain(events: Iterable[Event], previous: bytes = GENESIS, *, start: int = 0) -> bytes:
    """Check every digest of events that begin at *start*; the first that does not fit is named. Gives the last digest."""
    for position, event in enumerate(events, start):
        of_data = data_digest(event)
        expected = _digest(
            previous, event.session_id, event.seq, event.type, event.time, event.epoch, event.op, event.sources, of_data
        )
        if event.seq != position or event.digest != expected:
            raise CompactionError(
                ErrorCode.LEDGER_CORRUPT,
                "does not fit the chain: it, or an event before it, was changed or is missing",
                where=f"event {position}",
                fix="restore the ledger from a backup; verify tells what else is wrong",
            )
        previous = event.digest
    return previous


def names_of(draft: Draft | Event, data: dict[str, Any] | None = None) -> tuple[str, ...]:
    """The names under which an event can be found; in one session nobody else may have them.

    ``message:ID``, ``call:ID`` for each tool call, ``summary:RUN``, ``start:RUN``, ``end:RUN``, ``turn:NUMBER`` and
    ``records``. That they are unique makes a retried append visible, and a second end of a run impossible.
    """
    kind = draft.type
    if kind not in _NAMED:
        return ("records",) if kind is EventType.RECORDS_ADOPTED else ()
    data = draft.data if data is None else data
    match kind:
        case EventType.MESSAGE_APPENDED:
            if data.get("role") != "assistant" or type(data["content"]) is str:
                return (f"message:{data['id']}",)
            calls = [f"call:{block['id']}" for block in data["content"] if block["type"] == "toolCall"]
            return (f"message:{data['id']}", *calls)
        case EventType.SUMMARY_PLACED:
            return (f"summary:{data['run']}",) if "run" in data else ()
        case EventType.TURN_SHOWN:
            return (f"turn:{data['turn']}",)
        case EventType.COMPACTION_STARTED:
            return (f"start:{data['run']}",)
        case _:
            return (f"end:{data['run']}",)


_NAMED: Final = frozenset(
    {
        EventType.MESSAGE_APPENDED,
        EventType.SUMMARY_PLACED,
        EventType.TURN_SHOWN,
        EventType.COMPACTION_STARTED,
        EventType.COMPACTION_ENDED,
    }
)


def ranges(seqs: Sequence[int]) -> list[list[int]]:
    """Seqs as runs of neighbours, [first, last] each, in their order: how records write long lists of them."""
    found: list[list[int]] = []
    for seq in seqs:
        if found and found[-1][1] + 1 == seq:
            found[-1][1] = seq
        else:
            found.append([seq, seq])
    return found


def unranged(pairs: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The seqs that ``ranges`` wrote."""
    return tuple([seq for first, last in pairs for seq in range(first, last + 1)])
