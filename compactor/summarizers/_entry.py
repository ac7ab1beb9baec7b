"""One line on the board, and when a later one contradicts it.

Two lines are compared by their topics and the kinds of their values; what is decided here is decided without knowing
what else stands on the board.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from ._lines import ROLES, Section
from ._slots import rival
from ._values import NAME_KINDS, Value, topic_of
from ._words import DENSE, STOP, WORD, folded, tokens, word_set, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._atoms import Atoms

ARROW: Final = " → "
RANK: Final = {role: rank for rank, role in enumerate(ROLES)}
"""Who may unsay whom."""


@attrs.define(eq=False)
class Entry:
    """One line in the making. *at* orders all lines by when they were last said."""

    section: Section
    text: str
    ids: tuple[str, ...]
    role: str
    at: int
    about: frozenset[str] | None = None
    """The tokens of an open task, once they were needed."""
    key: tuple[str, str] = ("", "")
    values: tuple[Value, ...] = ()
    topic: frozenset[str] = frozenset()
    atoms: Atoms | None = None
    """The text in pieces that can be compared, once they were needed."""
    later: Later | None = None
    """What was said later about the same, when nobody can be sure that it replaces this."""
    is_later: bool = False
    """True when it is what was said later about another line."""
    gone: bool = False
    """True when a later statement took its place."""

    @property
    def line(self) -> str:
        """The text, with what was said later."""
        return f"{self.text}{self.later or ''}"


PINNED: Final = "pinned"


@attrs.frozen
class Later:
    """The value of a line that something else gives another value to: what was said later, or a pinned text that was said before.

    *by* is who said it, when not who said the line, or ``PINNED``.
    """

    old: str
    new: str
    by: str = ""

    def __str__(self) -> str:
        if self.by == PINNED:
            return f" ({self.old}, but {PINNED}: {self.new})"
        return f" ({self.old}{ARROW}later{' by ' if self.by else ''}{self.by}: {self.new})"


_LATER: Final = re.compile(r" \(([^()]{1,80}?)(?: → later(?: by (assistant|tool))?|, but (pinned)): ([^()]{1,160})\)\Z")


def read_later(text: str) -> tuple[str, Later | None]:
    """Tell a line and what was noted at it apart again."""
    if not text.endswith(")"):
        return text, None
    match = _LATER.search(text)
    return (text, None) if match is None else (text[: match.start()], Later(match[1], match[4], match[2] or match[3] or ""))


def is_distinct(value: Value) -> bool:
    """True when a value is hardly there by chance: a path, a version, a full name, a long number."""
    return len(value.key) >= 4 and value.kind not in ("name", "quoted")


def _names(line: Entry, other: Entry) -> set[str]:
    """The names in a line that the other one does not hold, in any spelling."""
    lower = folded(other.text)
    return {value.key for value in line.values if value.kind in NAME_KINDS and value.key not in lower}


def has_other(old: Value, values: Iterable[Value]) -> bool:
    return any(value.kind == old.kind and value.key != old.key for value in values)


def differing(before: tuple[Value, ...], after: tuple[Value, ...]) -> tuple[Value | None, Value | None]:
    """The one value of a kind that changed between two sayings of the same."""
    said, held = {value.key for value in after}, {value.key for value in before}
    old = [value for value in before if value.key not in said]
    new = [value for value in after if value.key not in held]
    return (old[0], new[0]) if len(old) == len(new) == 1 and old[0].kind == new[0].kind else (None, None)


def contradiction(news: Entry, entry: Entry, *, change: bool) -> tuple[Value, Value] | None:
    """The old and the new value when *news* gives another value of the same kind to what *entry* is about."""
    if RANK[news.role or "user"] < RANK[entry.role or "user"] and not change:
        return None
    if change and _says_also(news.text):
        return None
    is_dense = DENSE.search(news.text) is not None
    mine_only, theirs_only = _names(news, entry), _names(entry, news)
    # Different names may be the different values; for any other kind of value they are different things.
    apart = tokens(" ".join(mine_only | theirs_only))
    if change:
        by_value = _is_one_topic(news.topic, entry.topic, is_dense=is_dense)
        by_name = _is_one_topic(news.topic - apart, entry.topic - apart, is_dense=is_dense)
    else:
        by_value = by_name = _is_same_with_one_change(news, entry)
    # Where two names differ on both sides, it is not known which one is the thing and which one its value; nor beside a number.
    held = {value.key for value in entry.values}
    said = {value.key for value in news.values}
    is_measured = any(value.kind not in NAME_KINDS and value.key not in held for value in news.values)
    by_name = by_name and not is_measured and not (len(mine_only) > 1 and len(theirs_only) > 1)
    if not by_value and not by_name:
        return None
    for new in reversed(news.values):
        if new.key in held or not (by_name if new.kind in NAME_KINDS else by_value):
            continue
        old = [value for value in entry.values if value.kind == new.kind and value.key not in said]
        if len(old) > 1 and len(entry.topic) > 4:
            old = [min(old, key=lambda value: _distance(entry.text, value, news.topic))]
        if old:
            return old[0], new
    return None


def _is_one_topic(news: frozenset[str], entry: frozenset[str], *, is_dense: bool) -> bool:
    """True when news that say that something changed are about what *entry* is about."""
    common, mine, theirs = len(news & entry), len(news) or 1, len(entry) or 1
    # "The EU limit" and "the US limit" differ in one word each, and are two things.
    if not is_dense and max(mine, theirs) <= 4 and common < min(mine, theirs):
        return False
    return 5 * common >= 3 * mine or 3 * common >= 2 * theirs


def _says_also(text: str) -> bool:
    """True for "also" inside a sentence: it adds, and replaces nothing."""
    rest = folded(text).partition(" ")[2]
    return any(
        f" {word} " in f" {rest} "
        for word in ("also", "too", "as well", "auch", "ebenfalls", "aussi", "también", "также", "тоже")
    )


def is_set_anew(news: Entry, entry: Entry) -> bool:
    """True when short news about a thing give it a value, of whatever kind, and *entry* is the line that gave it another."""
    if not entry.key[0].startswith("=") or RANK[news.role or "user"] < RANK[entry.role or "user"]:
        return False
    about = tokens(entry.key[0])
    held = {value.key for value in entry.values}
    return about <= news.topic and len(news.topic) <= len(about) + 2 and any(value.key not in held for value in news.values)


def _is_same_with_one_change(news: Entry, entry: Entry) -> bool:
    """True for facts that say the same but for one value: without a word of change nothing less will do."""
    if entry.section in (Section.CONSTRAINTS, Section.OPEN):
        return False
    if news.section is not Section.FACTS or news.role != "user":
        return _is_same_noun(news, entry) if news.section is Section.GOALS else _is_repeated(news, entry)
    return _is_repeated(news, entry) or _is_stated_anew(news, entry) or _is_same_noun(news, entry)


def _is_repeated(news: Entry, entry: Entry) -> bool:
    """Two facts in the same words, but for one value."""
    common = len(news.topic & entry.topic)
    said, held = {value.key for value in news.values}, {value.key for value in entry.values}
    if news.section is not Section.FACTS or 4 * common < 3 * len(news.topic) or 4 * common < 3 * len(entry.topic):
        return False
    if len(said - held) != 1 or len(held - said) != 1:
        return False
    # What shares words may still be two things; of what tools print alike, one line of its kind will do.
    return "user" not in (news.role, entry.role) or rival(news, entry) is not None


def _is_same_noun(news: Entry, entry: Entry) -> bool:
    """True for "start with a quota of 374 MB" and "the quota, by the way: 130 MB": one noun beside two amounts, in other words.

    The same words around both would be two requests of a list ("look at page 3", "look at page 4"), and so would "also".
    """
    shared = news.topic & entry.topic
    # With a word of its own on either side they may be two things that are spoken about alike.
    is_one_thing = shared in (news.topic, entry.topic) and news.topic != entry.topic
    if not is_one_thing or len(shared) < (3 if DENSE.search(news.text) else 2) or 2 * len(shared) < len(news.topic):
        return False
    if not words_of(folded(news.text)).isdisjoint(_ALSO):
        return False
    new = [value for value in news.values if value.kind.startswith(_AMOUNTS)]
    if len(new) != 1:
        return False
    old = [value for value in entry.values if value.kind == new[0].kind]
    return len(old) == 1 and _is_beside(entry.text, old[0], shared) and _is_beside(news.text, new[0], shared)


_AMOUNTS: Final = ("number", "version")
_ALSO: Final = word_set(
    "also too another second other auch noch ebenfalls zweite aussi autre encore también otro otra ещё также другой тоже"
)


def _is_stated_anew(news: Entry, entry: Entry) -> bool:
    """True for "the retry limit is 105" after "build it with 238 as the retry limit": the noun right beside the value."""
    if len({value.key for value in news.values}) != 1 or not 0 < len(news.topic) <= 4 or not news.topic <= entry.topic:
        return False
    kind = news.values[0].kind
    same = [value for value in entry.values if value.kind == kind]
    return kind not in NAME_KINDS and len(same) == 1 and _is_beside(entry.text, same[0], news.topic)


def _is_beside(text: str, value: Value, topic: frozenset[str]) -> bool:
    """True when nothing that means something stands between a value and a word of a topic."""
    before = topic_of(text[max(0, value.start - NEAR) : value.start], ())
    after = topic_of(text[value.end : value.end + NEAR], ())
    return _last_is(text[: value.start], topic, before) or _first_is(text[value.end :], topic, after)


def _last_is(text: str, topic: frozenset[str], near: frozenset[str]) -> bool:
    words = [word for word in WORD.findall(folded(text[-NEAR:])) if tokens(word) & near]
    return bool(words) and not tokens(words[-1]).isdisjoint(topic)


def _first_is(text: str, topic: frozenset[str], near: frozenset[str]) -> bool:
    words = [word for word in WORD.findall(folded(text[:NEAR])) if tokens(word) & near]
    return bool(words) and not tokens(words[0]).isdisjoint(topic)


def replaces_known(text: str, old: Value, values: Iterable[Value]) -> bool:
    """True when a sentence sets exactly one other value against a known one, without listing both: "forget 8080, take 9090"."""
    if old.kind in NAME_KINDS or old.kind in ("path", "code", "day", "quoted"):
        return False
    same = [value for value in values if value.kind == old.kind]
    if len(same) != 2 or same[0].key == same[1].key:
        return False
    between = folded(text[same[0].end : same[1].start]).strip(" `\"'")
    return between not in LISTING


NEAR: Final = 48
LISTING: Final = frozenset(
    (
        "and",
        "or",
        ",",
        "-",
        "–",
        "und",
        "oder",
        "bis",
        "et",
        "ou",
        "y",
        "o",
        "и",
        "или",
        "和",
        "或",
        "、",
        "と",
        "や",
        "와",
        "과",
        "및",
        "/",
        "&",
    )
)
"""What stands between values that are listed side by side."""


def _distance(text: str, value: Value, topic: frozenset[str]) -> int:
    """How far a value stands from the words of a topic."""
    lower = folded(text)
    places = [at for word in topic if (at := lower.find(word)) >= 0]
    return min([abs(at - value.start) for at in places], default=len(text))


def replaced_words(text: str) -> frozenset[str]:
    """The words that a sentence names as replaced, behind "instead of" and its like."""
    lower = folded(text)
    for marker in _REPLACING:
        at = lower.find(marker)
        if at >= 0:
            words: list[str] = []
            for word in WORD.findall(lower[at + len(marker) : at + len(marker) + 40]):
                if word in STOP and words:
                    break
                words.append(word)
            return tokens(" ".join(words[:2]))
    return frozenset()


_REPLACING: Final = (
    "instead of ",
    "rather than ",
    "no longer ",
    " statt ",
    "nicht mehr ",
    "au lieu de ",
    "plutôt que ",
    "en lugar de ",
    "en vez de ",
    "вместо ",
    "больше не ",
)
