"""Two statements that give different values to one thing, in whatever words: "batch size: 84", "for the batch size I want 119".

Without a word of change nobody can be sure that the later one replaces the earlier one, so nothing is taken away here: the
earlier one is told apart by what it shares with the later one, a run of words beside a value, and is never served alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from ._atoms import (
    BIND,
    BREAK,
    COPULAS,
    DET,
    ENDS,
    GAP,
    KANA,
    NUMBERED,
    OF,
    VALUE,
    Atoms,
    atoms_of,
    place_of,
    runs_of,
    size_of,
)
from ._lines import Section
from ._values import NAME_KINDS, Value, old_value

if TYPE_CHECKING:
    from ._entry import Entry

NEAR: Final = 32
FAR: Final = 64
"""How many characters may stand between a noun and its value: one that tells little, and one that tells much."""
SHAPELESS_MAX: Final = 100
"""Up to this length two statements are compared when their values are of no kind in common."""
RUNS_MAX: Final = 3
_AMOUNT: Final = ("number", "count")


def _is_alike(new: Value, old: Value) -> bool:
    """True for two values that can stand for one another: "30" and "45 s", but not "12 MB" and "45 s"."""
    if new.kind == old.kind or (new.kind in NAME_KINDS and old.kind in NAME_KINDS):
        return True
    return "number" in (new.kind, old.kind) and new.kind.startswith(_AMOUNT) and old.kind.startswith(_AMOUNT)


def rival(news: Entry, entry: Entry) -> tuple[Value, Value, bool] | None:
    """The old and the new value when two lines give different values to one noun, and whether the noun tells much."""
    if max(len(news.text), len(entry.text)) > SHAPELESS_MAX and not any(
        _is_alike(value, other) for value in news.values for other in entry.values
    ):
        return None
    (mine, my_places), (theirs, their_places) = _atoms(news), _atoms(entry)
    if mine == theirs and not _sets(mine) and news.section is Section.GOALS:
        return None
    joined = "".join(theirs)
    sized = [(size_of(mine[start:end], my_places[start:end]), start, end) for start, end in runs_of(mine, joined)]
    for size, start, end in sorted(sized, key=lambda run: -run[0])[:RUNS_MAX]:
        is_short = size < 2
        if size < 1:
            break
        there = place_of(mine[start:end], theirs)
        here = _Noun(mine, my_places, start, end, is_short=is_short)
        other = _Noun(theirs, their_places, there, there + end - start, is_short=is_short)
        if not here.differs(other):
            pair = _pair(here, news, other, entry)
            if pair is not None:
                return (*pair, not is_short)
    return None


@attrs.frozen
class _Noun:
    """A run of atoms in its text."""

    atoms: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    start: int
    end: int
    is_short: bool

    def differs(self, other: _Noun) -> bool:
        """True when a word before or behind it says that it is another one: the *EU* limit, the port *of the API*."""
        return _differ(self.modifier(), other.modifier()) or _differ(self.complement(), other.complement())

    def modifier(self) -> str:
        """The word glued to it from the left, if any."""
        before = self.atoms[self.start - 1] if self.start else BREAK
        if before <= DET or before in ENDS or (before in KANA and self.atoms[self.start] not in KANA):
            return ""
        return before

    def complement(self) -> str:
        """The second noun behind it: "port *of the API*"; behind one that tells little also one that follows directly."""
        rest = self.atoms[self.end : self.end + 3]
        if rest and rest[0] == OF:
            return next((atom for atom in rest[1:] if atom > DET), "")
        glued = self.is_short or (rest and len(rest[0]) == 1 and len(self.atoms[self.end - 1]) == 1)
        return rest[0] if glued and rest and rest[0] > DET and rest[0] not in ENDS else ""

    def is_followed(self, value: Value) -> bool:
        """True when another word than the value follows directly: "the cap *check*"."""
        behind = self.atoms[self.end] if self.end < len(self.atoms) else BREAK
        return behind > DET and behind not in ENDS and self.places[self.end][0] != value.start

    def is_whole(self) -> bool:
        """True when its part of the sentence holds just this noun, and what follows says of it: "build failure: X"."""
        at = self.start - 1
        while at >= 0 and self.atoms[at] not in (BREAK, BIND, VALUE):
            if self.atoms[at] > DET and self.atoms[at] not in ENDS:
                return False
            at -= 1
        behind = self.atoms[self.end] if self.end < len(self.atoms) else BREAK
        return behind in (BIND, GAP) or behind in COPULAS

    def counts(self, value: Value) -> bool:
        """True for "page 3", which numbers pages."""
        is_next = self.end < len(self.atoms) and self.places[self.end][0] == value.start
        return is_next and self.atoms[self.end - 1].strip(" ;") in NUMBERED

    def is_led(self, value: Value) -> bool:
        """True when what stands before it says that it is a noun, or, where words are not separated, what stands behind it."""
        behind = self.atoms[self.end] if self.end < len(self.atoms) else BREAK
        if len(self.atoms[self.end - 1]) == 1:
            is_before = self.end < len(self.atoms) and self.places[self.end][0] == value.start
            return is_before or behind in (VALUE, BIND) or behind in ENDS
        if behind == BIND:
            return True
        if not self.start:
            return behind in (BIND, GAP, BREAK) and not self.is_short
        return self.atoms[self.start - 1] in (DET, OF, BREAK, BIND)

    def beside(self, line: Entry) -> list[Value]:
        """The values near it and no part of it, the nearest first."""
        first, last = self.places[self.start][0], self.places[self.end - 1][1]
        found: list[tuple[int, int, Value]] = []
        for whole in line.values:
            value = whole
            if value.kind in NAME_KINDS and value.start <= first and last < value.end:
                # "Lead Ruth Bell" in a language that writes nouns large: the name is what comes after the noun.
                value = Value("names", value.key[last + 1 - value.start :], last + 1, value.end)
            gap = value.start - last if value.start >= last else first - value.end
            if value.kind in NAME_KINDS and value.end + 1 == first and self.modifier():
                # "The EU limit": a name in front of a noun says which one it is.
                continue
            # A plain capital may be any German noun, so it has to stand right there.
            is_plain = value.kind == "name" and line.text[value.start + 1 : value.end].islower()
            if 0 <= gap <= (NEAR if self.is_short else FAR) and not (is_plain and (self.is_short or self.is_apart(value))):
                found.append((gap, value.start, value))
        found.sort(key=lambda item: item[:2])
        return [value for _gap, _start, value in found]

    def beyond(self, value: Value) -> frozenset[str]:
        """What stands on the other side of a value, up to the next mark: there the noun may be instead."""
        step = 1 if value.start >= self.places[self.start][0] else -1
        at = self.end if step > 0 else self.start - 1
        found: set[str] = set()
        while 0 <= at < len(self.atoms) and (self.atoms[at] not in (BREAK, BIND) or not self._is_past(at, value, step)):
            if self.atoms[at] > DET and self.atoms[at] not in ENDS and self._is_past(at, value, step):
                found.add(self.atoms[at])
            at += step
        return frozenset(found)

    def is_off(self, value: Value) -> bool:
        """True when a mark binds a value to another noun: "folder: /x Tell me when you are done" says nothing of being done."""
        last = sum([end <= value.start for _start, end in self.places]) - 1
        if last < 1 or self.atoms[last] != BIND or self.atoms[last - 1] <= DET:
            return False
        if self.start < last:
            return not {VALUE, BREAK, BIND}.isdisjoint(self.atoms[self.end : last])
        at = next((at for at in range(last + 1, len(self.atoms)) if self.places[at][0] >= value.end), self.start)
        is_near = not {BREAK, BIND}.intersection(self.atoms[at : self.start])
        return not (
            is_near and at < self.start and (self.atoms[self.start - 1] in (DET, OF) or self.atoms[self.start - 1] in ENDS)
        )

    def between(self, value: Value) -> list[str]:
        """The words that say something between it and a value; behind "login error:" all words are the value's."""
        if self.atoms[self.end : self.end + 1] == (BIND,) and value.start > self.places[self.end][0] and self.is_whole():
            return []
        first, last = self.places[self.start][0], self.places[self.end - 1][1]
        return [
            atom
            for atom, (start, end) in zip(self.atoms, self.places, strict=True)
            if atom > DET and atom not in ENDS and (last <= start < value.start or value.end < end <= first)
        ]

    def is_cut(self, value: Value) -> bool:
        """True when a mark stands between it and a value."""
        first, last = self.places[self.start][0], self.places[self.end - 1][1]
        return any(
            atom == BREAK and (last <= start < value.start or value.end < end <= first)
            for atom, (start, end) in zip(self.atoms, self.places, strict=True)
        )

    def is_apart(self, value: Value, most: float = 0) -> bool:
        """True when more than this stands between it and a value."""
        return sum([0.5 if len(atom) == 1 else 1.0 for atom in self.between(value)]) > most

    def _is_past(self, at: int, value: Value, step: int) -> bool:
        return self.places[at][0] >= value.end if step > 0 else self.places[at][1] <= value.start


def _pair(here: _Noun, news: Entry, there: _Noun, entry: Entry) -> tuple[Value, Value] | None:
    """The values beside the noun on both sides, of one kind."""
    said, held = {value.key for value in news.values}, {value.key for value in entry.values}
    new = [value for value in here.beside(news) if value.key not in held]
    for other in there.beside(entry):
        value = next((value for value in new if _is_alike(value, other)), None)
        if value is None:
            continue
        if other.key in said:
            named = old_value(news.text, news.values)
            if named is not None:
                return (other, value) if named.key == other.key else None
            # Who names both replaces the first one; but among many values they may be anything.
            alike = [one for one in news.values if _is_alike(one, other)]
            return (other, value) if value.kind == other.kind and len(alike) == 2 and alike[1] is value else None
        if any(_is_alike(one, other) and one.key in held for one in here.beside(news)):
            return None
        return (other, value) if _is_one_slot(here, value, there, other) else None
    if here.is_short:
        return None
    # Errors come in all shapes: "login error: ECONNRESET", "login error: TS2345". Here the noun has to be all that has the value.
    old = [value for value in there.beside(entry) if value.key not in said]
    if not new or not old or held & said or new[0].kind[:6] == old[0].kind[:6] == "number":
        return None
    if not (here.is_whole() or there.is_whole()):
        return None
    if here.is_followed(new[0]) or there.is_followed(old[0]) or not _is_one_slot(here, new[0], there, old[0]):
        return None
    return old[0], new[0]


def _is_one_slot(here: _Noun, value: Value, there: _Noun, other: Value) -> bool:
    """True when nothing says that the two values belong to other nouns than the one that is shared."""
    if here.is_off(value) or there.is_off(other) or here.counts(value) or there.counts(other):
        return False
    if here.is_short and (here.is_apart(value, 1.5) or there.is_apart(other)):
        return False
    if _are_apart(here.between(value), there.between(other)):
        return False
    # "I wrote down 5 for the limit" and "I wrote down 8 for the port" share words, and are about what they do not share.
    mine, theirs = here.beyond(value), there.beyond(other)
    if not (mine - theirs and theirs - mine):
        return True
    return here.is_led(value) and there.is_led(other) and not (here.is_cut(value) and there.is_cut(other))


def _are_apart(mine: list[str], theirs: list[str]) -> bool:
    """True when each has something of its own: there the nouns are."""
    return not set(mine) <= set(theirs) and not set(theirs) <= set(mine)


def _sets(atoms: tuple[str, ...]) -> bool:
    """True for "batch size: 5" and "use 5 as the batch size"; "fix the test in a.py" is one request of many."""
    at = atoms.index(VALUE) if VALUE in atoms else 0
    return not atoms or atoms[0] <= DET or BIND in atoms[max(0, at - 1) : at]


def _differ(one: str, other: str) -> bool:
    return bool(one and other) and one != other


def _atoms(entry: Entry) -> Atoms:
    if entry.atoms is None:
        entry.atoms = atoms_of(entry.text, entry.values)
    return entry.atoms


def is_bound_apart(news: Entry, old: Value, new: Value, entry: Entry) -> bool:
    """True when marks bind the two values to nouns that have nothing in common: "folder: /x", "backup = /y"."""
    one, other = _bound(news, new), _bound(entry, old)
    return bool(one and other) and not any(atom in other for atom in one)


def _bound(line: Entry, value: Value) -> tuple[str, ...]:
    atoms, places = _atoms(line)
    last = sum([end <= value.start for _start, end in places]) - 1
    if last < 1 or atoms[last] != BIND:
        return ()
    start = max([at + 1 for at in range(last) if atoms[at] in (BREAK, BIND, VALUE)], default=0)
    return tuple([atom for atom in atoms[start:last] if atom > DET])
