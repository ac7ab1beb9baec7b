"""What words tell: sentences, tokens, and the key under which a statement can be superseded.

Nothing here knows messages or digests. Everything is linear in its input: no pattern repeats a repetition, and where a
scan could start again at every character its reach is bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD: Final = re.compile(r"[\w']+")


def word_set(text: str) -> frozenset[str]:
    """A set written as one text."""
    return frozenset(text.split())


# Splitting at spaces is three times as fast as a pattern; this is the hottest line of the package.
PUNCTUATION: Final = str.maketrans(dict.fromkeys('!"#$%&()*+,-./:;<=>?@[\\]^`{|}~«»„“”…—–¿¡', " "))


def words_of(lower: str) -> frozenset[str]:
    """The words of a lower-case text, contractions in one piece."""
    return frozenset(lower.translate(PUNCTUATION).split())


def folded(text: str) -> str:
    """Lower case with one kind of apostrophe, for comparing."""
    return text.lower().replace("’", "'")


STOP: Final = word_set(
    "the a an of to in on for and or is are was were be it this that with as at by from has have i we you my our your now into onto up "
    "over than so if not no but then there its let's der die das und ist den dem des ein eine einen im am an auf von zu mit für als bei "
    "auch nur la le les l un une du de des et est sur vers dans à a été pour par avec ce se au aux que qui el los las lo y es en una por "
    "para con al del se su и в на с к по за из для от у о это же не"
)
# Han, kana, hangul, Thai: text without spaces between words, or with endings glued on.
DENSE_CHARS: Final = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
DENSE: Final = re.compile(f"[{DENSE_CHARS}]")
_PIECE: Final = re.compile(f"[{DENSE_CHARS}]+|[^{DENSE_CHARS}]+")


def tokens(text: str) -> frozenset[str]:
    """What two statements share when they speak of the same thing: stems of words, or pairs of characters in dense scripts."""
    found: set[str] = set()
    words = WORD.findall(folded(text))
    if not text.isascii() and DENSE.search(text):
        words = [piece for word in words for piece in _PIECE.findall(word)]
    for word in words:
        if word.isascii():
            if word not in STOP:
                if len(word) > 5 and word.endswith("ing"):
                    word = word[:-3]  # noqa: PLW2901 - the stem takes the word's place
                found.add(word[:7] if len(word) > 7 else word[:-1] if word[-1] == "s" and len(word) > 3 else word)
        elif not DENSE.search(word):
            if word not in STOP:
                # Endings carry the case in Russian and the gender in French; what is before them says what it is about.
                found.add(word[:5] if len(word) > 6 else word[:-1] if len(word) > 4 else word)
        elif len(word) == 1:
            found.add(word)
        else:
            found.update([word[i : i + 2] for i in range(len(word) - 1)])
    return frozenset(found)


# A sentence ends with a mark and a space, with a full-width mark, or with the line.
_BREAK: Final = re.compile(r"[.!?…]{1,8}[\"')\]»”]{0,4}\s|[。！？｡]{1,8}[」』）”]{0,4}|\n")
_ABBREVIATIONS: Final = (
    "e.g",
    "i.e",
    "etc",
    "vs",
    "z.B",
    "bzw",
    "Dr",
    "Mr",
    "Ms",
    "No",
    "Nr",
    "cf",
    "approx",
    "т.е",
    "ca",
    "p.ej",
)
_MONTHS: Final = ("Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez")
"""Where dates are written as "3. Mai", the dot ends nothing."""
_NUMBERING: Final = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])\Z")


QUESTION_MAX: Final = 48
ANSWER_WORDS: Final = 4
_VALUE_LIKE: Final = re.compile(r"[A-Za-z0-9_~/.-]*[0-9/]")
_IMPERATIVES: Final = word_set("see look check read open never always stop use run try go fix")
_ANSWER: Final = re.compile(r"[ \t]*([^\n!?。！？]{1,40}?)(?:[.!。！](?=\s|\Z)|[。！]|\n|\Z)")
"""A bare value after a short question, as in "The port? 8080.": only together they say something."""


def _is_answer(text: str, at: int, *, asked: bool) -> bool:
    """True for a bare value; behind what is no question the first word has to be one, and no number of a list."""
    answer = _ANSWER.match(text, at)
    words = answer[1].split() if answer else []
    if answer is None or not words or len(words) > ANSWER_WORDS or words[0].lower() in _IMPERATIVES:
        return False
    if not asked and (len(words[0]) < 3 or not (_VALUE_LIKE.match(words[0]) or len(words) == 2)):
        return False
    return any(char.isdecimal() or char in "/_@" for char in answer[1]) or all(word[0].isupper() for word in words)


def sentences(text: str) -> Iterator[str]:
    """Cut a text into sentences and lines, with whatever stands between them; joined again they are the text."""
    start = 0
    for match in _BREAK.finditer(text):
        end = match.start()
        if end - start <= QUESTION_MAX and text[end] != "\n" and _is_answer(text, match.end(), asked=text[end] in "?？"):
            continue
        if text[end] == "." and (text.endswith(_ABBREVIATIONS, start, end) or _NUMBERING.match(text, start, end)):
            continue
        if text[end] == "." and text[end - 1 : end].isdecimal() and text.startswith(_MONTHS, match.end()):
            continue
        yield text[start : match.end()]
        start = match.end()
    if start < len(text):
        yield text[start:]


LONG: Final = 240
_CLAUSE: Final = re.compile(r"[;；]\s?|[,，、:—–]\s?|\s[-–—]\s")


def clauses(text: str) -> Iterator[str]:
    """Sentences, and of very long ones their parts: what matters often stands in the middle of one."""
    for sentence in sentences(text):
        if len(sentence) <= LONG:
            yield sentence
            continue
        start = 0
        for match in _CLAUSE.finditer(sentence):
            if match.end() - start >= (LONG // 12 if match[0][0] in ";；" else LONG // 3):
                yield sentence[start : match.end()]
                start = match.end()
        yield sentence[start:]


# What stands between a subject and its value. Only tried at spaces, so that it stays cheap.
_SPACED: Final = re.compile(
    r"\s(?:is\snow|are\snow|is|are|equals|becomes|(?:has\s|was\s|is\s)?(?:been\s)?changed\s(?:from\s\S{1,40}\s)?to|"
    r"(?:was\s|has\s)?moved\sto|will\sbe|must\sbe|should\sbe|ist\sjetzt|ist|lautet|est\s(?:désormais|maintenant)|est|"
    r"ahora\ses|es\sahora|es|теперь|равен|равна|это|—|=|:=|->|→)\s"
)
_TIGHT: Final = re.compile(r"=|:\s|：|은\s|는\s|现在是|現在是|改为|改成|換成|换成|变为|更新为|设为|是|は")
_SET: Final = re.compile(
    r"(?:please\s|i\s|we\s|i've\s|let's\s)?(?:set|change|changed|update|updated|bump|bumped|switch|switched|move|moved|rename|renamed)\s"
    r"(.{1,60}?)\s(?:from\s\S{1,40}\s)?to\s(.{1,160})\Z"
)
_LEAD: Final = re.compile(
    r"(?:(?:correction|update|updated|note|fyi|actually|no|wait|sorry|by the way|btw|also|remember|remember that|ok|and|but|now|reminder|"
    r"the|a|an|our|my|your|its|current|new|der|die|das|le|la|les|el|los|las|korrektur|corrección|correzione|поправка|update|info|hinweis|nota|nachtrag|sorry|pardon|perdón|注意|更正|订正|補足|訂正|정정|참고|现在|現在)(?:\s*[:,，：]\s*|\s+))"
)
_VAGUE: Final = word_set(
    "it this that there he she they what which who where how why here everything nothing something i we you one all es das ce il "
    "elle lo это то 这 那 它 これ それ if when http https"
)
_STATES: Final = word_set(
    "broken failing down slow wrong ready done fine good great ok okay green red passing missing empty unclear finished true "
    "important useful needed possible nice bad better complete completed"
)
KEY_MAX: Final = 60
_IDENTIFIER: Final = re.compile(r"\d|[\w.-]/[\w.-]|\w[_@]\w|[A-Za-z]\.[A-Za-z]|[a-z][A-Z]|[`\"]|[A-Za-z]-[A-Za-z]")


def has_identifier(text: str) -> bool:
    """True when the text holds a number, path, version, id, URL or a quoted name."""
    return _IDENTIFIER.search(text) is not None


def stated(text: str) -> tuple[str, str] | None:
    """Read "X is 5", "X = 5", "X: 5", "X 是 5", "changed X to 5" as (key of X, value), or None.

    The key is lower case without articles and openings, so that a later statement about the same X meets it.
    """
    sentence = folded(text[:300]).rstrip(" .!。！")
    for _ in range(3):
        lead = _LEAD.match(sentence)
        if lead is None:
            break
        sentence = sentence[lead.end() :]
    made = _SET.match(sentence)
    found: re.Match[str] | None = None
    tight: re.Match[str] | None = None
    if made is not None:
        key, value = made.groups()
    else:
        found = _SPACED.search(sentence, 1, KEY_MAX + 24)
        tight = _TIGHT.search(sentence, 1, KEY_MAX + 8)
        if tight is not None and (found is None or tight.start() < found.start()):
            found = tight
        if found is None:
            return None
        key, value = sentence[: found.start()], sentence[found.end() :]
    lead = _LEAD.match(key)
    key = " ".join((key[lead.end() :] if lead else key).strip(" `\"'*_").split())
    value = value.strip(" `\"'*")
    if found is tight and tight is not None and tight[0] == ": " and _IDENTIFIER.search(value):
        # "Just heard: the port is 8080" is about the port, and not about what was heard.
        first, space, _rest = value.partition(" ")
        if space and not _IDENTIFIER.search(first):
            return None
    if not key or not value or len(key) > KEY_MAX or len(value) > 160 or key.count(" ") > 6:
        return None
    first = key.split(" ", 1)[0]
    if first in _VAGUE:
        return None
    return key, value


def is_fact(text: str, key_value: tuple[str, str] | None) -> bool:
    """True when the value is worth keeping: an identifier, or a short name that is not a mere state."""
    if key_value is None:
        return False
    value = key_value[1]
    if has_identifier(value):
        return True
    names = value.split()
    if not value.isascii() and DENSE.search(value):
        return len(value) <= 24
    return len(names) <= 3 and names[-1] not in _STATES and names[0] not in _STATES and not text.endswith("?")
