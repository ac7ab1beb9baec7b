"""The search index: which words, and which pieces of words, the messages have. Two FTS5 tables that keep no text.

``words`` is for questions: whole words, by relevance. Scripts that set no spaces are split into single characters, and
a query's term is a phrase of what it is split into. ``pieces`` has every three neighbouring characters, so that any part of
an identifier or a path leads to the few messages that may hold it; those are then looked at. Both see folded text, so
they agree with a plain scan on what is equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from ..events import Event, EventType
from ..searching import folded, searchable
from ._rows import Head, Place, head_of, walk
from ._spans import last_hidden

CHUNK: Final = 1_000
"""Messages that are indexed in one transaction: a tenth of a second, in which nobody else writes."""

PIECE: Final = 3
"""Characters of a piece."""
PIECES_MAX: Final = 16
"""Pieces of one term that are looked up; what they lead to is looked at anyway."""

# Neither has a form in UTF-8 that SQLite reads to its end.
_UNTOLD: Final = re.compile("[\x00\ud800-\udfff]")
# Thai, Lao, Tibetan, Myanmar, Khmer, Tai Le to Buginese, Tai Tham, kana, Han; also what Hangul is folded into is found by pieces.
_SPACELESS: Final = re.compile(
    "([\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uaa60-\uaadf\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff])"
)


def text_of(body: bytes) -> str:
    """The folded text of a message."""
    return folded(searchable(json.loads(body)))


def as_pieces(text: str) -> str:
    """A folded text as ``pieces`` is given it."""
    return text if text.isascii() and "\0" not in text else _UNTOLD.sub("\ufffd", text)


def as_words(text: str) -> str:
    """A folded text as ``words`` is given it."""
    return as_pieces(text) if text.isascii() else _SPACELESS.sub(r" \1 ", as_pieces(text))


def words_query(terms: Sequence[str], operator: str) -> str:
    """What finds these terms as words; nothing for terms without a letter or digit."""
    return f" {operator} ".join([_quoted(as_words(term)) for term in terms if any(map(str.isalnum, term))])


def pieces_query(terms: Sequence[str], operator: str) -> str:
    """What leads to the messages that may hold these terms; nothing for terms that are too short."""
    return f" {operator} ".join([f"({_pieces(as_pieces(term))})" for term in terms if len(term) >= PIECE])


def _pieces(term: str) -> str:
    pieces = list(dict.fromkeys([term[at : at + PIECE] for at in range(len(term) - PIECE + 1)]))
    step = -(-len(pieces) // PIECES_MAX)
    return " AND ".join(map(_quoted, pieces[::step]))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def put(place: Place, head: Head, events: Sequence[Event]) -> None:
    """Add messages."""
    rows = [(head.id(event.seq), text_of(event.body)) for event in events if event.type is EventType.MESSAGE_APPENDED]
    place.connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", [(id_, as_words(text)) for id_, text in rows])
    place.connection.executemany("INSERT INTO pieces (rowid, text) VALUES (?, ?)", [(id_, as_pieces(text)) for id_, text in rows])


def replace(place: Place, head: Head, event: Event, tombstone: bytes) -> None:
    """Index a tombstone in the place of what the event said."""
    if event.type is not EventType.MESSAGE_APPENDED or event.seq >= indexed(place, head):
        return
    text, id_ = text_of(event.body), head.id(event.seq)
    place.connection.execute("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (id_, as_words(text)))
    place.connection.execute("INSERT INTO pieces (pieces, rowid, text) VALUES ('delete', ?, ?)", (id_, as_pieces(text)))
    put(place, head, [attrs.evolve(event, body=tombstone)])


def indexed(place: Place, head: Head) -> int:
    """Messages before this seq are in the index."""
    return place.connection.execute("SELECT indexed FROM marks WHERE session = ?", (head.key,)).get or 0


def advance(session_id: str, place: Place) -> tuple[Callable[[Place], bool] | None, bool]:
    """Index the next messages, in the order of their seqs, as far as anything is hidden; True when there are more."""
    head = head_of(place, session_id)
    last = None if head is None else last_hidden(place, head)
    if head is None or last is None:
        return None, False
    start = indexed(place, head)
    if last < start:
        return None, False
    stop = min(last + 1, start + CHUNK)
    for events in walk(place, head, start, stop):
        put(place, head, events)
    place.connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", (head.key, stop))
    return lambda place: indexed(place, head) >= stop, stop <= last
