"""What hides what, now: for each range of hidden events the summary in force that hides it, directly.

Ranges do not overlap, so the one that holds an event is found by one look. ``spans`` is kept with every write that moves
the surface; only a rewind makes it anew, from the summaries that can be reached from the surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..events import Event, EventType, Replace, Restore, Rewind, ranges
from ..surface import hidden_by
from ._faults import corrupt
from ._folding import Rows
from ._rows import Head, Place, event_at
from ._schema import SEQ_MASK


def keep(past: Rows, events: Sequence[Event], order: Sequence[int]) -> None:
    """Follow what *events* moved; *order* is the surface after them."""
    place, head = past.place, past.head
    if any(isinstance(event.op, Rewind) for event in events):
        renew(past, order)
        return
    for event in events:
        if event.type is EventType.SUMMARY_PLACED and isinstance(event.op, Replace):
            _put(place, head, event.seq, hidden_by(event) or ())
        elif isinstance(event.op, Restore):
            for summary in event.op.summaries:
                lasts = [last for _first, last in ranges(hidden_by(past.event(summary)) or ())]
                place.connection.executemany("DELETE FROM spans WHERE last = ?", [(head.id(last),) for last in lasts])


def renew(past: Rows, order: Sequence[int]) -> None:
    """Find out anew what a surface hides."""
    place, head = past.place, past.head
    place.connection.execute("DELETE FROM spans WHERE last >= ? AND last <= ?", (head.id(0), head.id(SEQ_MASK)))
    for summary, hidden in in_force(past, order):
        _put(place, head, summary, hidden)


def _put(place: Place, head: Head, summary: int, hidden: Sequence[int]) -> None:
    place.connection.executemany(
        "INSERT INTO spans VALUES (?, ?, ?)", [(head.id(last), head.id(first), summary) for first, last in ranges(hidden)]
    )


def in_force(past: Rows, order: Iterable[int]) -> list[tuple[int, tuple[int, ...]]]:
    """The summaries that can be reached from the surface, and what each of them hides."""
    found: list[tuple[int, tuple[int, ...]]] = []
    waiting = _summaries(past, order)
    while waiting:
        summary = waiting.pop()
        hidden = hidden_by(past.event(summary))
        if hidden is not None:
            found.append((summary, hidden))
            waiting += _summaries(past, hidden)
    return found


def _summaries(past: Rows, seqs: Iterable[int]) -> list[int]:
    """Those of *seqs* that are summaries, by their index."""
    head = past.head
    found: list[int] = []
    for first, last in ranges(sorted(seqs)):
        rows = past.place.connection.execute(
            "SELECT id FROM events INDEXED BY placed WHERE type = 'summary/placed' AND id >= ? AND id <= ?",
            (head.id(first), head.id(last)),
        )
        found += [id_ & SEQ_MASK for (id_,) in rows]
    return found


def hiding(place: Place, head: Head, seq: int) -> int | None:
    """The summary that hides an event now."""
    row = place.connection.execute(
        "SELECT first, summary FROM spans WHERE last >= ? AND last <= ? ORDER BY last LIMIT 1", (head.id(seq), head.id(SEQ_MASK))
    ).fetchone()
    if row is None or row[0] > head.id(seq):
        return None
    summary: int = row[1]
    if seq not in (hidden_by(event_at(place, head, summary)) or ()):
        raise corrupt(place.path, "does not hide what the index of spans says", event=summary)
    return summary


def last_hidden(place: Place, head: Head) -> int | None:
    """The highest seq that is hidden now."""
    found: int | None = place.connection.execute(
        "SELECT max(last) FROM spans WHERE last >= ? AND last <= ?", (head.id(0), head.id(SEQ_MASK))
    ).get
    return None if found is None else found & SEQ_MASK


def stored(place: Place, head: Head) -> list[tuple[int, int]]:
    """All that is hidden, and the summary that hides it, as the table has it."""
    rows: list[Any] = place.connection.execute(
        "SELECT first, last, summary FROM spans WHERE last >= ? AND last <= ?", (head.id(0), head.id(SEQ_MASK))
    ).fetchall()
    return [(id_ & SEQ_MASK, summary) for first, last, summary in rows for id_ in range(first, last + 1)]
