"""Two statements that give different values to one thing, in whatever words: "batch size: 84", "for the batch size I want 119".

Without a word of change nobody can be sure that the later one replaces the earlier one, so nothing is taken away here: the
earlier one is told apart by what it shares with the later one, a run of words beside a value, and is never served alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from ._lines import Section
from ._values import FRAME_WORDS, NAME_KINDS, NOUN_KINDS, Value, old_value
from ._words import DENSE, DENSE_CHARS, STOP, folded, tokens, word_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._entry import Entry

VALUE: Final = "\x01"
BREAK: Final = "\x02"
BIND: Final = "\x03"
GAP: Final = "\x04"
OF: Final = "\x05"
DET: Final = "\x06"
"""What stands for a value, a mark, a mark between a noun and its value, and words that say little: any, such that tie a
second noun to the first, and such that stand before nouns."""
NEAR: Final = 32
FAR: Final = 64
"""How many characters may stand between a noun and its value: one that tells little, and one that tells much."""
RUNS_MAX: Final = 3
COMPOUND: Final = 10
"""Longer words are compounds, mostly, and say as much as two."""

_AMOUNT: Final = ("number", "count")
_ATOM: Final = re.compile(rf"[{DENSE_CHARS}]|[^\W_{DENSE_CHARS}]+|[^\w\s]|_")
_MARKS: Final = frozenset(',;.()[]{}!，；。、！（）「」『』"“”„«»')
_BINDING: Final = frozenset(":|=→><?：？＝—–")
_OF: Final = word_set("of de du des del d der dem von vom для от 's")
_DET: Final = word_set(
    "the a an for as our my your their to with at in on die das den ein eine einen für als bei zu zum zur im am mit le la les l un une pour "
    "comme à au aux mon notre votre el los las lo una para como al mi nuestro tu su по на в к с у за как это эта этот вот"
)
_LITTLE: Final = (
    STOP
    | FRAME_WORDS
    | word_set(
        "j ai c qu n s t lautet lauten reads heißt soll sollte sein sei wird bleibt sera será serait serán queda voilà reste ese sería été "
        "war будет that if when since because about all everybody us me just dass wenn ob seit bitte mal noch schon alles was que si quand "
        "depuis tout tous on me ya todo todos cuando desde esta ce matin что если чтобы когда там тут уже все всё "
        "must should ought needs doit doivent être debe deben ser muss müssen darf должен должна должно быть "
        "initial final revised updated actual correct right real latest previous former original preliminary provisional temporary proposed "
        "agreed confirmed definitive only neue neuer neues aktuelle aktueller endgültige endgültiger richtige richtiger tatsächliche "
        "vorläufige nouveau nouvelle définitif définitive provisoire actuel actuelle nuevo nueva definitivo definitiva inicial новый новая "
        "новое итоговый итоговая начальный начальная текущий текущая верный только nur seul solo"
    )
)
_NUMBERED: Final = tokens(
    "page item step chapter line row part section phase round day week task test point question option slide attempt issue seite punkt "
    "schritt kapitel zeile teil runde étape ligne chapitre partie página paso línea parte страница шаг строка часть"
)
"""What is numbered: "page 3" and "page 4" are two pages."""
# Where words are not separated, these end one: particles, and what often stands before a noun.
_ENDS: Final = frozenset(
    "必应该会能可须当新旧原终始初前后最正确实际로라고면새종음히기知早晚做作到来以至据的了是为把将就请先用给要按和与跟及对从在说让于设定填取选这那个我你他她们在其やはをがのにでもとへ、은는이가을를로와과의에도만요니다서고"
)
_COPULAS: Final = frozenset("是为はが는은가이")
_KANA: Final = frozenset(map(chr, range(0x3041, 0x3097)))
"""Before a noun in other characters, they end the word before it."""
_REQUESTS: Final = word_set(
    "could can would will please kannst könntest könnten würdest können bitte peux pourrais pouvez pourriez puedes podrías puede podría "
    "можешь можете мог могли"
)
_REQUEST_SCRIPTS: Final = ("能", "可以", "可否", "もらえ", "くれ", "いただけ", "できます", "ませんか", "을까", "수 있", "래요", "줄래", "주시")
_ALSO: Final = word_set(
    "also too another second other additional extra auch noch ebenfalls zweite weitere aussi autre encore également también "
    "otro otra además ещё также другой тоже"
)
_ALSO_SCRIPTS: Final = ("也是", "另外", "另一", "还有", "もう一", "別の", "他の", "또 다른", "추가로")


Atoms = tuple[tuple[str, ...], tuple[tuple[int, int], ...]]
"""A text as what can be shared (stems, single characters of dense scripts, marks for everything else), and where it stands."""


def atoms_of(text: str, values: Iterable[Value]) -> Atoms:
    """Cut a text into atoms."""
    found: list[str] = []
    places: list[tuple[int, int]] = []
    lower = folded(text)
    at = 0
    for value in values:
        if value.kind not in NOUN_KINDS:
            _add(lower, at, value.start, found, places)
            found.append(VALUE)
            places.append((value.start, value.end))
            at = value.end
    _add(lower, at, len(lower), found, places)
    if found and found[-1] == BIND:
        # What ends a text binds nothing to what follows.
        found[-1] = BREAK
    return tuple(found), tuple(places)


def _add(lower: str, start: int, end: int, found: list[str], places: list[tuple[int, int]]) -> None:
    for match in _ATOM.finditer(lower, start, end):
        word = match[0]
        if word in _MARKS:
            atom = BREAK
        elif word in _BINDING:
            atom = BIND
        elif len(word) == 1 and DENSE.match(word):
            atom = word
        elif word in _OF:
            atom = OF
        elif word in _DET:
            atom = DET
        elif word in _LITTLE or not word[0].isalnum():
            atom = GAP
        else:
            stems = tokens(word)
            atom = f" {next(iter(stems))};" if len(stems) == 1 else GAP
        if GAP <= atom <= DET and found and GAP <= found[-1] <= DET:
            found.pop()
            places.pop()
        found.append(atom)
        places.append(match.span())


def _size(atoms: Iterable[str], places: Iterable[tuple[int, int]]) -> float:
    """How much a run says: words count one, long ones (compounds, mostly) two, single characters of dense scripts half."""
    return sum(
        [
            0.5 if len(atom) == 1 else 2.0 if end - start > COMPOUND else 1.0
            for atom, (start, end) in zip(atoms, places, strict=True)
            if atom > DET
        ]
    )


def _runs(mine: tuple[str, ...], theirs: str) -> list[tuple[int, int]]:
    """The longest runs of atoms that stand in the other text as well, as places."""
    found: list[tuple[int, int]] = []
    start = end = 0
    while start < len(mine):
        if mine[start] <= DET:
            start += 1
            continue
        end = max(end, start)
        while end < len(mine) and mine[end] not in (VALUE, BREAK, BIND) and "".join(mine[start : end + 1]) in theirs:
            end += 1
        if end == start:
            start += 1
            continue
        last = end
        while mine[last - 1] <= DET:
            last -= 1
        found.append((start, last))
        start = end
    return found


def _place(run: tuple[str, ...], atoms: tuple[str, ...]) -> int:
    return next(at for at in range(len(atoms)) if atoms[at : at + len(run)] == run)


def _modifier(atoms: tuple[str, ...], at: int) -> str:
    """The word glued to a place from the left, if any."""
    before = atoms[at - 1] if at else BREAK
    return "" if before <= DET or before in _ENDS else before


def _complement(atoms: tuple[str, ...], at: int, *, glued: bool) -> str:
    """The second noun behind a place: "port *of the API*"; with *glued* also one that follows directly."""
    rest = atoms[at : at + 3]
    if rest and rest[0] == OF:
        return next((atom for atom in rest[1:] if atom > DET), "")
    return rest[0] if glued and rest and rest[0] > DET and rest[0] not in _ENDS else ""


def says_also(lower: str) -> bool:
    """True for what adds, and replaces nothing."""
    return not _ALSO.isdisjoint(lower.split()) or any(script in lower for script in _ALSO_SCRIPTS)


def asks_for(lower: str) -> bool:
    """True for a question that is a request: "could you use 8080?"."""
    return not _REQUESTS.isdisjoint(lower.replace("¿", " ").split()) or any(script in lower for script in _REQUEST_SCRIPTS)


def _is_alike(new: Value, old: Value) -> bool:
    """True for two values that can stand for one another: "30" and "45 s", but not "12 MB" and "45 s"."""
    if new.kind == old.kind or (new.kind in NAME_KINDS and old.kind in NAME_KINDS):
        return True
    return "number" in (new.kind, old.kind) and new.kind.startswith(_AMOUNT) and old.kind.startswith(_AMOUNT)


def rival(news: Entry, entry: Entry) -> tuple[Value, Value, bool] | None:
    """The old and the new value when two lines give different values to one noun, and whether the noun tells much."""
    (mine, my_places), (theirs, their_places) = _atoms(news), _atoms(entry)
    if mine == theirs and not _sets(mine) and news.section is Section.GOALS:
        return None
    joined = "".join(theirs)
    sized = [(_size(mine[start:end], my_places[start:end]), start, end) for start, end in _runs(mine, joined)]
    for size, start, end in sorted(sized, key=lambda run: -run[0])[:RUNS_MAX]:
        is_short = size < 2
        if size < 1:
            break
        there = _place(mine[start:end], theirs)
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
        if before <= DET or before in _ENDS or (before in _KANA and self.atoms[self.start] not in _KANA):
            return ""
        return before

    def complement(self) -> str:
        """The second noun behind it: "port *of the API*"; behind one that tells little also one that follows directly."""
        rest = self.atoms[self.end : self.end + 3]
        if rest and rest[0] == OF:
            return next((atom for atom in rest[1:] if atom > DET), "")
        glued = self.is_short or (rest and len(rest[0]) == 1 and len(self.atoms[self.end - 1]) == 1)
        return rest[0] if glued and rest and rest[0] > DET and rest[0] not in _ENDS else ""

    def is_whole(self) -> bool:
        """True when its part of the sentence holds just this noun, and what follows says of it: "build failure: X"."""
        at = self.start - 1
        while at >= 0 and self.atoms[at] not in (BREAK, BIND, VALUE):
            if self.atoms[at] > DET and self.atoms[at] not in _ENDS:
                return False
            at -= 1
        behind = self.atoms[self.end] if self.end < len(self.atoms) else BREAK
        return behind in (BIND, GAP) or behind in _COPULAS

    def counts(self, value: Value) -> bool:
        """True for "page 3", which numbers pages."""
        is_next = self.end < len(self.atoms) and self.places[self.end][0] == value.start
        return is_next and self.atoms[self.end - 1].strip(" ;") in _NUMBERED

    def is_led(self, value: Value) -> bool:
        """True when what stands before it says that it is a noun, or, where words are not separated, what stands behind it."""
        behind = self.atoms[self.end] if self.end < len(self.atoms) else BREAK
        if len(self.atoms[self.end - 1]) == 1:
            is_before = self.end < len(self.atoms) and self.places[self.end][0] == value.start
            return is_before or behind in (VALUE, BIND) or behind in _ENDS
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
            if self.atoms[at] > DET and self.atoms[at] not in _ENDS and self._is_past(at, value, step):
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
            is_near and at < self.start and (self.atoms[self.start - 1] in (DET, OF) or self.atoms[self.start - 1] in _ENDS)
        )

    def between(self, value: Value) -> list[str]:
        """The words that say something between it and a value."""
        first, last = self.places[self.start][0], self.places[self.end - 1][1]
        return [
            atom
            for atom, (start, end) in zip(self.atoms, self.places, strict=True)
            if atom > DET and atom not in _ENDS and (last <= start < value.start or value.end < end <= first)
        ]

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
    if here.is_short or not (here.is_whole() or there.is_whole()):
        return None
    # Errors come in all shapes: "login error: ECONNRESET", "login error: TS2345". Here the noun has to be all that has the value.
    old = [value for value in there.beside(entry) if value.key not in said]
    if not new or not old or held & said or not _is_one_slot(here, new[0], there, old[0]):
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
    return not (mine - theirs and theirs - mine) or (here.is_led(value) and there.is_led(other))


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
