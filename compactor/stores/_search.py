"""Search in what is hidden: the messages with all terms first, the latest of them first, then those with the rarest terms.

What the index leads to is looked at before it is given, and what it does not hold yet is scanned: so with an index and
without one the same messages have all terms.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from ..events import Event
from ..searching import Query, score
from ._indexing import PIECE, indexed, pieces_query, text_of, words_query
from ._rows import Head, Place, event_at
from ._schema import SEQ_MASK

LOOKS_MAX: Final = 20_000
"""Messages that one search looks at where the index is no help, the latest first: about half a second."""

_MESSAGES: Final = "SELECT id FROM events WHERE id >= ? AND id < ? AND type = 'message/appended' ORDER BY id DESC"


@attrs.define(eq=False)
class _Search:
    place: Place
    head: Head
    query: Query
    limit: int
    indexed: int
    """Messages before this seq are in the index."""
    found: dict[int, Event] = attrs.field(factory=dict)
    """What is given, best first."""
    some: list[tuple[int, int]] = attrs.field(factory=list)
    """The best messages of the rest that have some of the terms: how many, and where."""

    def run(self) -> list[Event]:
        terms = self.query.terms
        everything = len(terms)
        self.scan_rest()
        self.take(self.words(words_query(terms, "AND"), "rowid DESC"), everything)
        self.take(self.pieces(pieces_query(terms, "AND")) if _long(terms) else self.scan(), everything)
        if everything > 1:
            self.take(self.words(words_query(terms, "OR"), "rank"), 1)
            self.take([seq for _points, seq in sorted(self.some, reverse=True)], 1)
            self.take(self.pieces(pieces_query(terms, "OR")), 1)
            if not all(len(term) >= PIECE for term in terms):
                self.take(self.scan(), 1)
        return list(self.found.values())

    def take(self, candidates: Iterable[int], points: int) -> None:
        """Take the candidates that are hidden and have as many terms."""
        if len(self.found) >= self.limit:
            return  # before the first candidate is asked for, which is when SQLite does the work
        for seq in candidates:
            if seq not in self.found and self.points(seq) >= points:
                self.keep(seq)
                if len(self.found) >= self.limit:
                    return

    def keep(self, seq: int) -> None:
        self.found[seq] = event_at(self.place, self.head, seq)

    def points(self, seq: int) -> int:
        """How many terms a message has, if it is hidden."""
        row = self.place.connection.execute(
            "SELECT first FROM spans WHERE last >= ? ORDER BY last LIMIT 1", (self.head.id(seq),)
        ).get
        if row is None or row > self.head.id(seq):
            return 0
        body = self.place.connection.execute("SELECT body FROM events WHERE id = ?", (self.head.id(seq),)).get
        return score(self.query, text_of(body)) if body is not None else 0

    def words(self, match: str, order: str) -> Iterator[int]:
        """The messages of the index that have these words."""
        return self._matches("words", match, order)

    def pieces(self, match: str) -> Iterator[int]:
        """The latest messages of the index that have these pieces."""
        return self._matches("pieces", match, "rowid DESC")

    def _matches(self, table: str, match: str, order: str) -> Iterator[int]:
        if match:
            yield from self._seqs(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY {order}",  # noqa: S608
                (match, self.head.id(0), self.head.id(self.indexed)),
            )

    def scan(self) -> Iterator[int]:
        """The latest messages of the index, whatever they say."""
        first, behind = self.head.id(0), self.head.id(self.indexed)
        yield from self._seqs(f"{_MESSAGES} LIMIT {LOOKS_MAX}", (first, behind))

    def _seqs(self, sql: str, bindings: tuple[object, ...]) -> Iterator[int]:
        rows = self.place.connection.execute(sql, bindings)
        try:
            for (id_,) in rows:
                yield id_ & SEQ_MASK
        finally:
            rows.close()

    def scan_rest(self) -> None:
        """Look at every message that is not in the index yet, the latest first."""
        head = self.head
        for seq in self._seqs(_MESSAGES, (head.id(self.indexed), head.id(head.next))):
            points = self.points(seq)
            if points == len(self.query.terms):
                self.keep(seq)
                if len(self.found) >= self.limit:
                    return
            elif points:
                heapq.heappush(self.some, (points, seq))
                if len(self.some) > self.limit:
                    heapq.heappop(self.some)


def _long(terms: Iterable[str]) -> bool:
    return any(len(term) >= PIECE for term in terms)


def search(place: Place, head: Head, query: Query, limit: int) -> list[Event]:
    """At most *limit* hidden messages, best first."""
    return _Search(place, head, query, limit, indexed(place, head)).run() if limit > 0 else []
