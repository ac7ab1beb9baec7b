"""A text as atoms, to see what two texts share: stems, single characters of dense scripts, and marks for everything else.

With the tables of small words that tell nouns from what stands around them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ._values import FRAME_WORDS, NOUN_KINDS, Value
from ._words import DENSE, DENSE_CHARS, STOP, folded, tokens, word_set

if TYPE_CHECKING:
    from collections.abc import Iterable

VALUE: Final = "\x01"
BREAK: Final = "\x02"
BIND: Final = "\x03"
GAP: Final = "\x04"
OF: Final = "\x05"
DET: Final = "\x06"
"""What stands for a value, a mark, a mark between a noun and its value, and words that say little: any, such that tie a
second noun to the first, and such that stand before nouns."""
COMPOUND: Final = 10
"""Longer words are compounds, mostly, and say as much as two."""

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
        "war будет that if when since because about all everybody me just dass wenn ob seit bitte mal noch schon alles was que si quand "
        "depuis tout tous on me ya todo todos cuando desde esta ce matin что если чтобы когда там тут уже все всё "
        "must should ought needs doit doivent être debe deben ser muss müssen darf должен должна должно быть "
        "initial final revised updated actual correct right real latest previous former original preliminary provisional temporary proposed "
        "agreed confirmed definitive only neue neuer neues aktuelle aktueller endgültige endgültiger richtige richtiger tatsächliche "
        "vorläufige nouveau nouvelle définitif définitive provisoire actuel actuelle nuevo nueva definitivo definitiva inicial новый новая "
        "новое итоговый итоговая начальный начальная текущий текущая верный только nur seul solo"
    )
)
NUMBERED: Final = tokens(
    "page item step chapter line row part section phase round day week task test point question option slide attempt issue seite punkt "
    "schritt kapitel zeile teil runde étape ligne chapitre partie página paso línea parte страница шаг строка часть"
)
"""What is numbered: "page 3" and "page 4" are two pages."""
# Where words are not separated, these end one: particles, and what often stands before a noun.
ENDS: Final = frozenset(
    "건件必应该会能可须当新旧原终始初前后最正确实际로라고면새종음히기知早晚做作到来以至据的了是为把将就请先用给要按和与跟及对从在说让于设定填取选这那个我你他她们在其やはをがのにでもとへ、은는이가을를로와과의에도만요니다서고"
)
COPULAS: Final = frozenset("是为はが는은가이")
KANA: Final = frozenset(map(chr, range(0x3041, 0x3097)))
"""Before a noun in other characters, they end the word before it."""
_REQUESTS: Final = word_set(
    "could can would will please kannst könntest könnten würdest können bitte peux pourrais pouvez pourriez puedes podrías puede podría "
    "можешь можете мог могли"
)
_REQUEST_SCRIPTS: Final = (
    "能",
    "可以",
    "可否",
    "もらえ",
    "くれ",
    "いただけ",
    "できます",
    "ませんか",
    "을까",
    "수 있",
    "래요",
    "줄래",
    "주시",
)
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


def size_of(atoms: Iterable[str], places: Iterable[tuple[int, int]]) -> float:
    """How much a run says: words count one, long ones (compounds, mostly) two, single characters of dense scripts half."""
    return sum(
        [
            0.5 if len(atom) == 1 else 2.0 if end - start > COMPOUND else 1.0
            for atom, (start, end) in zip(atoms, places, strict=True)
            if atom > DET
        ]
    )


def runs_of(mine: tuple[str, ...], theirs: str) -> list[tuple[int, int]]:
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


def place_of(run: tuple[str, ...], atoms: tuple[str, ...]) -> int:
    return next(at for at in range(len(atoms)) if atoms[at : at + len(run)] == run)


def says_also(lower: str) -> bool:
    """True for what adds, and replaces nothing."""
    return not _ALSO.isdisjoint(lower.split()) or any(script in lower for script in _ALSO_SCRIPTS)


def asks_for(lower: str) -> bool:
    """True for a question that is a request: "could you use 8080?"."""
    return not _REQUESTS.isdisjoint(lower.replace("¿", " ").split()) or any(script in lower for script in _REQUEST_SCRIPTS)
