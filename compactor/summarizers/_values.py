"""Values in a sentence (ports, paths, versions, names, amounts), what the sentence says them about, and which one is old.

A value has a kind, read from its shape alone, so that a new port meets an old port and never a version. The topic of a
sentence is what is left without values and cue words. Nothing here knows the board.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from ._cues import CHANGES, NEW_TO, OLD_BEFORE, OLD_FROM, OLD_NEXT
from ._words import DENSE, folded, tokens, word_set

OPENING: Final = " ¿¡\"'(«“„-|"
"""What may stand before the first word of a sentence."""
VALUES_MAX: Final = 12
"""How many values of one sentence are looked at."""
_CLASS_WORDS: Final = {
    "day": (
        "monday tuesday wednesday thursday friday saturday sunday today tomorrow montag dienstag mittwoch donnerstag "
        "freitag samstag sonntag heute morgen lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes "
        "miércoles jueves viernes sábado domingo понедельник вторник среда среду четверг пятница пятницу суббота "
        "субботу воскресенье"
    ),
    "colour": (
        "red green blue yellow black white grey gray orange purple pink brown teal rot grün blau gelb schwarz weiß grau "
        "rouge vert bleu jaune noir blanc gris rojo verde azul amarillo negro blanco красный зелёный синий жёлтый "
        "чёрный белый серый"
    ),
    "language": (
        "english german french spanish italian dutch portuguese chinese japanese korean russian englisch deutsch "
        "französisch spanisch anglais allemand français espagnol inglés alemán francés español английском немецком "
        "французском русском испанском"
    ),
    "count": (
        "two three four five six seven eight nine ten twelve zwei drei vier fünf sechs sieben acht neun zehn zwölf deux "
        "trois quatre cinq sept huit neuf dix dos tres cuatro cinco seis siete ocho nueve diez два три четыре пять "
        "шесть семь восемь девять десять"
    ),
}
_CLASSES: Final = {word: kind for kind, words in _CLASS_WORDS.items() for word in words.split()}
"""Closed classes of plain words, where another word of the class is another value."""
_DAYS: Final = frozenset("周星月火水木金土日월화수목금토일")
_RUN: Final = re.compile(
    r"(?:周|星期)[一二三四五六日天]|[月火水木金土日]曜|[월화수목금토일]요일|[A-Za-z0-9À-ɏЀ-ӿ_~/\\$€£#@](?:[A-Za-z0-9À-ɏЀ-ӿ_~/\\$€£@.+%'-]*[A-Za-z0-9À-ɏЀ-ӿ_/%€])?|[`\"“„«「『][^`\"”“»」』\n]{1,60}[`\"”»」』]"
)
_NUMBER: Final = re.compile(r"[#$€£]?\d[\d.,']*[%€]?\Z")
_VERSION: Final = re.compile(r"[vV]?\d+(?:\.\d+){1,4}(?:[-.]?[a-z]{1,5}\d*)?\Z")
_PORT: Final = re.compile(r"(\d{2,5})/[a-z]")
_TICKET: Final = re.compile(r"[A-Z]{2,10}-\d+\Z")
_UNIT: Final = re.compile(
    r"\s?([A-Za-zÀ-ɏЀ-ӿ]{1,9}|[%€£¥₽])(?![A-Za-zÀ-ɏЀ-ӿ])|\s?(分钟|小时|時間|시간|[元秒分天个円日원초분회번])"
)
_UNITS: Final = word_set(
    "ms s sec secs min mins h hr hrs d b kb mb gb tb kib mib gib kg g m km cm mm px pt em rem fps hz khz mhz ghz rpm rps qps eur usd gbp "
    "chf jpy rub cny krw k % € £ ¥ ₽ second seconds minute minutes hour hours day days week weeks month months year years euro euros "
    "dollar dollars percent prozent sekunden minuten stunden tage wochen secondes heures jours segundos minutos horas días мс с мин ч мб "
    "гб кб руб секунд минут часов дней рублей times retries rows items people nights pages words users"
)
NAME_KINDS: Final = frozenset(("name", "names"))
NOUN_KINDS: Final = NAME_KINDS | {"quoted", "code"}
"""Kinds of values that may as well be the noun: names, and `max_jobs`."""


@attrs.frozen
class Value:
    """One value: its kind, how it is compared, and where it stands."""

    kind: str
    key: str
    start: int
    end: int


def values_of(text: str) -> tuple[Value, ...]:
    """The values of a sentence, in order."""
    found: list[Value] = []
    dense = not text.isascii() and DENSE.search(text) is not None
    for match in _RUN.finditer(text):
        run = match[0]
        if found and match.start() < found[-1].end:
            continue
        # Most runs are plain words, and this is the hottest loop of the digest.
        if run.islower() and run.isalpha():
            kind = _CLASSES.get(run)
        else:
            kind = _CLASSES.get(run.lower()) or _kind(run, initial=not dense and not text[: match.start()].strip(OPENING))
        if kind is None:
            continue
        start, end = match.span()
        if kind == "path" and (port := _PORT.match(run)):
            # "localhost:8080/health" names a number, and what follows it.
            kind, end = "number", start + port.end(1)
        if kind == "number":
            unit = _UNIT.match(text, end)
            if unit is not None and (unit[2] or unit[1].lower() in _UNITS):
                kind, end = f"number {(unit[2] or unit[1].lower())[:2]}", unit.end()
        elif kind == "name" and found and found[-1].kind in NAME_KINDS and text[found[-1].end : start] == " ":
            start = found.pop().start
            kind = "names"
        found.append(Value(kind, text[start:end].lower(), start, end))
        if len(found) == VALUES_MAX:
            break
    return tuple(found)


def _kind(run: str, *, initial: bool) -> str | None:
    """What a run of characters is, by its shape; None for a plain word."""
    if run[0] in _DAYS:
        return "day"
    if run[0] in '`"“„«「『':
        return "quoted"
    if run.isalpha():
        if run[1:].lower() != run[1:] and not run.isupper():
            return "name"
        # A capital at the beginning of a sentence says nothing.
        return "name" if run[0].isupper() and len(run) > 1 and not initial else None
    if _NUMBER.match(run):
        return "version" if run.count(".") > 1 else "number"
    if _VERSION.match(run):
        return "version"
    if _TICKET.match(run):
        return "ticket"
    if "/" in run or "\\" in run:
        return "path" if len(run) > 2 else None
    if "@" in run:
        return "address"
    if "." in run and not run.endswith("."):
        return "host"
    if "_" in run or any(char.isdigit() for char in run):
        return "code"
    return "name" if run[0].isupper() and not initial and "'" not in run else None


_FRAME: Final = word_set(
    "let please set make use using value run start keep take let put new old current really just so ok will should would be been being "
    "was were had has have got get gets gone go goes going reads sits show shows here there wert nimm nehmen setze gilt steht valeur "
    "prends utilise mets reste valor usa usamos pon queda значение берём взять поставь используй said told gave right correct "
    "what when which then first version build me my i you we they their he she er sie wir ich du il elle on nous vous"
)
FRAME_WORDS: Final = (_FRAME | CHANGES.words) - word_set("version first build value")
_FRAME_STEMS: Final = tokens(" ".join(_FRAME)) | tokens(" ".join((*CHANGES.words, *CHANGES.phrases)))
_PARTICLES: Final = str.maketrans(dict.fromkeys("的了是为把将就请先用を はがにでもの은는이가를을로와과의예요입니다", " "))


def topic_of(text: str, values: tuple[Value, ...]) -> frozenset[str]:
    """What a sentence is about: its words without values of a clear shape, cue words and frames."""
    parts: list[str] = []
    at = 0
    for value in values:
        if value.kind not in NAME_KINDS:
            parts.append(text[at : value.start])
            at = value.end
    parts.append(text[at:])
    rest = folded(" ".join(parts))
    if not rest.isascii() and DENSE.search(rest):
        for cue in CHANGES.scripts:
            if cue in rest:
                rest = rest.replace(cue, " ")
        rest = rest.translate(_PARTICLES)
    return tokens(rest) - _FRAME_STEMS


def old_value(text: str, values: tuple[Value, ...]) -> Value | None:
    """The value that a sentence itself calls old: "instead of X", "from X to", "no longer X", "X ではなく"."""
    lower = folded(text)
    for value in values:
        before = lower[max(0, value.start - 24) : value.start].rstrip(" `\"'„“«「(:")
        after = lower[value.end : value.end + 12].lstrip(" `\"'”»」)")
        if before.endswith(OLD_FROM) and after.startswith(NEW_TO):
            return value
        for marker in OLD_NEXT:
            if before.endswith(marker) and (
                not marker.isalpha() or not before[: -len(marker)][-1:].isalpha() or not marker.isascii()
            ):
                return value
        if value.kind == "day":
            after = after.lstrip("日")
        if after.startswith(OLD_BEFORE):
            return value
    return None


def successor(old: Value, values: tuple[Value, ...]) -> Value | None:
    """Which value of the sentence takes the place of *old*: the last of its kind, or of any kind."""
    others = [value for value in values if value.key != old.key]
    same = [value for value in others if value.kind == old.kind]
    return (same or others or [None])[-1]  # type: ignore[list-item]
