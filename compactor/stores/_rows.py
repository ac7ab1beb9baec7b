"""Rows and what they mean: the head record of a session, and events, checked against the chain as they are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

import apsw
import attrs

from ..errors import CompactionError, ErrorCode
from ..events import GENESIS, Event, EventType, names_of, parse_op, ranges, unranged, verify_chain
from ._faults import corrupt, told
from ._schema import SEQ_BITS, SEQ_MASK

CHUNK: Final = 1_000
"""Events that are held at once while a session is walked through."""

_HEAD: Final = "SELECT id, name, epoch, next, digest, began, changed, folded, sum FROM sessions"
_HEAD_TYPES: Final = [int, str, int, int, bytes, float, float, int, bytes]
_EVENT_TYPES: Final = [str, float, int, bytes, bytes]
_TYPES: Final = {kind.value: kind for kind in EventType}
_ROW: Final = "SELECT id, type, time, epoch, body, op, sources, digest, redacted FROM events"


def _checksum(head: Head) -> bytes:
    fields = f"{head.key}|{head.name}|{head.epoch}|{head.next}|{head.began!r}|{head.changed!r}|{head.folded}|"
    return hashlib.sha256(fields.encode() + head.digest).digest()[:8]


@attrs.frozen
class Head:
    """The head record of a session: what its last event must be, who owns it, and how far its projections have come."""

    key: int
    """The session's number; with a seq behind it, an event's id."""
    name: str
    epoch: int
    next: int
    digest: bytes
    began: float
    changed: float
    folded: int
    """How many events the last checkpoint of the fold has folded in."""
    sum: bytes = attrs.field(init=False, repr=False, eq=False, default=attrs.Factory(_checksum, takes_self=True))
    """What the row must carry: a head that is wrong would hide what the chain cannot miss. No two states have the same."""

    def id(self, seq: int) -> int:
        """The id of an event."""
        return self.key << SEQ_BITS | seq


@attrs.frozen
class Place:
    """A connection, and the file that it is on."""

    connection: apsw.Connection = attrs.field(repr=False)
    path: str
    stands: tuple[int, int, int] | None = None
    """What the file was recognised by when it was opened as one that nobody writes."""


def _head(row: Sequence[Any], path: str) -> Head:
    if list(map(type, row)) == _HEAD_TYPES:
        head = Head(*row[:-1])
        if head.sum == row[-1]:
            return head
    raise corrupt(path, f"the head record of session number {row[0]} was changed")


def head_of(place: Place, name: str) -> Head | None:
    """The head record of a session, by its name."""
    with told(place.path, "read"):
        row = place.connection.execute(f"{_HEAD} WHERE name = ?", (name,)).fetchone()
        if row is None:
            # The index may be what is damaged.
            row = place.connection.execute(f"{_HEAD} NOT INDEXED WHERE name = ?", (name,)).fetchone()
            if row is not None:
                raise corrupt(place.path, f"its index does not know session number {row[0]}")
            return None
    head = _head(row, place.path)
    if head.name != name:
        raise corrupt(place.path, f"the head record of session number {head.key} was changed")
    return head


def head_at(place: Place, key: int) -> Head:
    """The head record of a session, by its number."""
    row = place.connection.execute(f"{_HEAD} WHERE id = ?", (key,)).fetchone()
    if row is None:
        raise corrupt(place.path, f"has lost session number {key}")
    return _head(row, place.path)


def heads(place: Place) -> list[Head]:
    """All sessions, in the order of their beginning."""
    with told(place.path, "read"):
        rows = place.connection.execute(f"{_HEAD} NOT INDEXED ORDER BY id").fetchall()
    return [_head(row, place.path) for row in rows]


def put_head(place: Place, before: Head, after: Head) -> bool:
    """Write a head record in the place of *before*; False when that is not what stands there."""
    place.connection.execute(
        "UPDATE sessions SET epoch = ?, next = ?, digest = ?, changed = ?, folded = ?, sum = ? WHERE id = ? AND sum = ?",
        (after.epoch, after.next, after.digest, after.changed, after.folded, after.sum, before.key, before.sum),
    )
    return place.connection.changes() == 1


def new_head(place: Place, name: str, now: float) -> Head:
    """A head record for a session that begins."""
    key = place.connection.execute("SELECT ifnull(max(id), 0) + 1 FROM sessions").get
    head = Head(key, name, 0, 0, GENESIS, now, now, 0)
    place.connection.execute(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key, name, head.epoch, head.next, head.digest, head.began, head.changed, head.folded, head.sum),
    )
    return head


# ---------------------------------------------------------------------------------------------------------- events


def put_events(place: Place, head: Head, events: Iterable[Event]) -> None:
    """Write events."""
    base = head.key << SEQ_BITS
    place.connection.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                base | event.seq,
                str(event.type),
                event.time,
                event.epoch,
                event.body,
                None if event.op is None else str(event.op),
                _written(event.sources) if event.sources else None,
                event.digest,
                None if event.redacted is None else event.redacted + _sum(event.body),
            )
            for event in events
        ],
    )


def put_names(place: Place, head: Head, names: Iterable[tuple[str, int]]) -> None:
    """Write names; ConstraintError when one is taken."""
    key = head.key
    place.connection.executemany("INSERT INTO names VALUES (?, ?, ?)", [(key, hashed(name), seq) for name, seq in names])


def named(place: Place, head: Head, name: str) -> int | None:
    """What the index of names has for a name."""
    found: int | None = place.connection.execute(
        "SELECT seq FROM names WHERE session = ? AND hash = ?", (head.key, hashed(name))
    ).get
    return found


def find(place: Place, head: Head, name: str) -> int | None:
    """The seq that a name stands for."""
    found = named(place, head, name)
    if found is not None and name not in names_of(event_at(place, head, found)):
        raise corrupt(place.path, "does not have the name that the index gives it", event=found)
    return found


def hashed(name: str) -> bytes:
    """Names are long and random, and are only ever looked up whole: eighty bits of each are kept."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=10).digest()


def _sum(tombstone: bytes) -> bytes:
    """The chain does not cover a tombstone, so this does."""
    return hashlib.sha256(tombstone).digest()[:8]


def redacted_by(event: Event, tombstone: bytes) -> tuple[bytes, bytes]:
    """The two columns that a redaction changes."""
    return tombstone, (event.redacted or hashlib.sha256(event.body).digest()) + _sum(tombstone)


def _written(sources: Sequence[int]) -> str:
    return ",".join([str(first) if first == last else f"{first}-{last}" for first, last in ranges(sources)])


def _sources(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    return unranged([(*map(int, part.split("-")),) * (2 - part.count("-")) for part in text.split(",")])


def _event(row: Sequence[Any], head: Head, path: str) -> Event:
    id_, kind, time, epoch, body, op, sources, digest, redacted = row
    seq = id_ & SEQ_MASK
    known = _TYPES.get(kind) or cast(EventType, _Unknown(kind))
    try:
        # What a damaged row gives may have any type.
        whole = [type(kind), type(time), type(epoch), type(body), type(digest)] == _EVENT_TYPES
        if whole and redacted is not None:
            json.loads(body)
            whole, redacted = redacted[32:] == _sum(body), redacted[:32]
        if not whole:
            raise _changed(path, seq)
        what = parse_op(op or "")
        return Event(head.name, seq, known, time, epoch, body, what, _sources(sources), digest, redacted)
    except (ValueError, TypeError, AttributeError) as error:
        raise _changed(path, seq) from error


def _changed(path: str, seq: int) -> CompactionError:
    return corrupt(path, "was changed: one of its fields cannot be read", event=seq)


@attrs.frozen
class _Unknown:
    """A type of event that this version does not know."""

    value: str

    def __str__(self) -> str:
        return self.value


def _checked(events: Sequence[Event], previous: bytes, start: int, path: str) -> bytes:
    """Check events against the chain; then whether this version knows their types."""
    try:
        last = verify_chain(events, previous, start=start)
    except CompactionError as error:
        raise CompactionError(error.code, error.message, where=f"{path}: {error.where}", fix=error.fix) from None
    for event in events:
        if type(event.type) is not EventType:
            raise CompactionError(
                ErrorCode.FILE_UNREADABLE,
                "is of a type that this version does not know: a newer one wrote it",
                where=f"{path}: event {event.seq}",
                fix="install the newer version of this program",
            )
    return last


def digest_before(place: Place, head: Head, seq: int) -> bytes:
    """The digest of the event before *seq*."""
    if seq == 0:
        return GENESIS
    digest: bytes | None = place.connection.execute("SELECT digest FROM events WHERE id = ?", (head.id(seq - 1),)).get
    if type(digest) is not bytes:
        raise corrupt(place.path, "is missing", event=seq - 1)
    return digest


def walk(place: Place, head: Head, start: int, stop: int, *, previous: bytes | None = None) -> Iterator[list[Event]]:
    """The events from *start* up to *stop*, chunk by chunk, each of them checked; *previous* is the digest before them."""
    path = place.path
    if start >= stop:
        return
    with told(path, "read"):
        digest = digest_before(place, head, start) if previous is None else previous
        while start < stop:
            end = min(stop, start + CHUNK)
            rows = place.connection.execute(
                f"{_ROW} WHERE id >= ? AND id < ? ORDER BY id", (head.id(start), head.id(end))
            ).fetchall()
            events = [_event(row, head, path) for row in rows]
            digest = _checked(events, digest, start, path)
            if len(events) < end - start:
                raise corrupt(path, "is missing", event=start + len(events))
            if end == head.next and digest != head.digest:
                raise corrupt(path, "is not the one that the head record of its session names", event=end - 1)
            yield events
            start = end


def read(place: Place, head: Head, start: int, stop: int) -> list[Event]:
    """The events from *start* up to *stop*."""
    return [event for events in walk(place, head, start, stop) for event in events]


def event_at(place: Place, head: Head, seq: int) -> Event:
    """One event."""
    if not 0 <= seq < head.next:
        raise corrupt(place.path, "is looked back at, and was never written", event=seq)
    (event,) = read(place, head, seq, seq + 1)
    return event
