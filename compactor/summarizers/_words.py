"""What words tell: cues in several languages, sentences, tokens, and the key under which a statement can be superseded.

Nothing here knows messages or digests. Everything is linear in its input: no pattern repeats a repetition, and where a
scan could start again at every character its reach is bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD: Final = re.compile(r"[\w']+")


def word_set(text: str) -> frozenset[str]:
    """A set written as one text."""
    return frozenset(text.split())


# Splitting at spaces is three times as fast as a pattern; this is the hottest line of the package.
_PUNCTUATION: Final = str.maketrans(dict.fromkeys('!"#$%&()*+,-./:;<=>?@[\\]^`{|}~«»„“”…—–¿¡', " "))


def words_of(lower: str) -> frozenset[str]:
    """The words of a lower-case text, contractions in one piece."""
    return frozenset(lower.translate(_PUNCTUATION).split())


def folded(text: str) -> str:
    """Lower case with one kind of apostrophe, for comparing."""
    return text.lower().replace("’", "'")


@attrs.frozen
class Cues:
    """Words, phrases and (for scripts without spaces) substrings that mark one kind of statement."""

    words: frozenset[str]
    phrases: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()

    def found(self, lower: str, words: frozenset[str]) -> bool:
        """True when one of the cues stands in *lower*, whose words are *words*."""
        if not words.isdisjoint(self.words):
            return True
        for phrase in self.phrases:
            if phrase in lower:
                return True
        return not lower.isascii() and any(script in lower for script in self.scripts)


def _cues(words: str, phrases: str = "", scripts: str = "") -> Cues:
    """Phrases are separated by ``|``: they hold spaces."""
    return Cues(frozenset(words.split()), tuple(filter(None, phrases.split("|"))), tuple(filter(None, scripts.split("|"))))


RULES: Final = _cues(
    "never always must mustn't prefer preferred preference prefers shouldn't avoid forbidden mandatory prohibited "
    "nie niemals immer stets muss müssen darf dürfen bevorzuge bevorzugt verboten ausschließlich keinesfalls grundsätzlich "
    "jamais toujours doit doivent désormais préfère préférer interdit évite évitez dois devez "
    "nunca siempre jamás debe deben debes prefiero prefiere prohibido evita evite sempre "
    "никогда всегда должен должна должно должны нельзя предпочитаю предпочитай отныне впредь запрещено обязательно",
    "do not |from now on|make sure|be sure to|at all times|under no circumstances|should not |may not |no longer |i like |i'd rather"
    "|only use |use only |without asking|rather than |ab jetzt|ab sofort|auf keinen fall|bitte nicht|bitte kein|ich mag |nur noch "
    "|à partir de maintenant|il faut |ne pas |n'utilise |a partir de ahora|de ahora en adelante|no uses |no toques |no debes "
    "|с этого момента|не трогай|не используй|не надо ",
    "绝不|绝对|从不|不要|不得|必须|始终|总是|一律|永远|禁止|务必|切勿|不允许|不可以|不能|从现在起|今后|以后都|偏好|更喜欢|优先|請勿|请勿|必須|不許|永遠|總是|只能"
    "|決して|絶対|必ず|常に|いつも|いけない|いけません|ないで|今後|これからは|べき|なければ|好み|優先|てはならない|してください。必ず"
    "|절대|항상|반드시|금지|하지 마|하지마|말아|말 것|앞으로|지금부터|선호|해야 합니다|해야 한다|안 됩니다|안 돼|마세요"
    "|ห้าม|ต้อง|เสมอ|दائما|دائم|أبدا|لا تستخدم|يجب|हमेशा|कभी नहीं|कभी भी",
)
# "Don't push" is a rule, "I don't know" is none.
_NO_RULE: Final = re.compile(r"\b(?:i|we|they|you|these|those|tests|why|if) don'?t (?!want|like|ever)")


def is_rule(lower: str, words: frozenset[str]) -> bool:
    """True for a standing constraint or preference."""
    if RULES.found(lower, words):
        return True
    return ("don't" in words or "dont" in words) and _NO_RULE.search(lower) is None


DECISIONS: Final = _cues(
    "decided decision chose chosen choosing settled agreed entschieden entscheidung beschlossen décidé décision choisi decidido "
    "decisión decidimos elegido решили решил решено решение выбрали",
    "going with|go with |let's use |we'll use |we will use |i'll use |i will use |opted for|instead of |wir nehmen|nous allons utiliser"
    "|vamos a usar|usaremos|будем использовать",
    "决定|決定|采用|採用|选择了|选用|することにし|に決め|결정|선택했|사용하기로",
)
OPEN: Final = _cues(
    "todo fixme remaining pending unfinished outstanding offen ausstehend pendiente pendientes осталось",
    "still need|still to |still have to|needs to be |left to do|not yet |remind me|to be done"
    "|noch nicht |noch zu |muss noch|müssen noch|reste à |il reste|pas encore|falta |faltan |todavía |aún no|ещё не|еще не|нужно |надо ",
    "待办|待辦|还需要|还没|尚未|未完成|剩下|やること|残って|残り|まだ|する必要|必要があり|해야 할|남은|아직",
)
DONE: Final = _cues(
    "done finished completed complete resolved merged shipped closed implemented erledigt fertig abgeschlossen behoben "
    "terminé terminée fini achevé résolu hecho hecha terminado completado completada resuelto готово сделано закончил "
    "закончили завершено выполнено исправлено",
    "",
    "完成了|已完成|完成。|完成しま|搞定|做完|已经完成|完了|終わりました|終わった|済み|완료|끝났|끝냈|마쳤",
)
NOT: Final = _cues(
    "not isn't aren't wasn't never until unless when once if nicht kein noch pas jamais aún todavía не ещё если wenn si to",
    "",
    "没|未|不|还|まだ|ない|ません|안 |못",
)
NEXT: Final = _cues(
    "next nächster nächste als prochaine ensuite siguiente далее дальше",
    "i'll |i will |let me |now i|going to |als nächstes|je vais |voy a |сейчас я",
    "接下来|下一步|接著|次に|次は|これから|다음",
)
CORRECTIONS: Final = _cues(
    "actually instead correction wrong sorry wait stop revert undo nein falsch stattdessen doch halt incorrect plutôt "
    "correción corrección incorrecto неправильно нет вместо",
    "no, |not what|i meant|changed my mind|scratch that|never mind|non, |en realidad|au lieu|en lugar",
    "不对|不是|其实|改成|改为|违|違|やっぱり|ではなく|じゃなくて|아니|대신",
)
REASONS: Final = _cues("because since weil damit parce porque поэтому", "so that|due to|потому", "因为|因為|所以|ため|から|때문")
REQUESTS: Final = _cues(
    "please fix can could would help why how what bitte puedes pouvez пожалуйста",
    "",
    "请|帮|ください|주세요|해줘",
)
FILLERS: Final = word_set(
    "ok okay yes no thanks thank you go on continue proceed great good nice cool sure perfect done next please it hi hello hey "
    "ja nein danke weiter gut oui merci continuez sí si gracias sigue да нет спасибо дальше хорошо "
    "好 好的 继续 繼續 谢谢 謝謝 是 はい ありがとう 続けて 네 예 계속 감사합니다"
)

_STOP: Final = word_set(
    "the a an of to in on for and or is are was were be it this that with as at by from has have i we you my our your now "
    "der die das und ist le la les et est el los y es и в на"
)
# Han, kana, hangul, Thai: text without spaces between words, or with endings glued on.
_DENSE: Final = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")


def tokens(text: str) -> frozenset[str]:
    """What two statements share when they speak of the same thing: words, or pairs of characters in dense scripts."""
    found: set[str] = set()
    for word in WORD.findall(folded(text)):
        if word.isascii() or not _DENSE.search(word):
            if word not in _STOP:
                found.add(word)
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
_NUMBERING: Final = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])\Z")


def sentences(text: str) -> Iterator[str]:
    """Cut a text into sentences and lines, with whatever stands between them; joined again they are the text."""
    start = 0
    for match in _BREAK.finditer(text):
        end = match.start()
        if text[end] == "." and (text.endswith(_ABBREVIATIONS, start, end) or _NUMBERING.match(text, start, end)):
            continue
        yield text[start : match.end()]
        start = match.end()
    if start < len(text):
        yield text[start:]


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
    r"the|a|an|our|my|your|its|current|new|der|die|das|le|la|les|el|los|las|注意|更正|现在|現在)(?:\s*[:,，：]\s*|\s+))"
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
    if not value.isascii() and _DENSE.search(value):
        return len(value) <= 24
    return len(names) <= 3 and names[-1] not in _STATES and names[0] not in _STATES and not text.endswith("?")


_VALUE_WORDS: Final = word_set(
    "is are equals becomes will changed moved ist lautet est es set change update updated bump bumped switch switched move rename renamed"
)
_TRIGGERS: Final = _VALUE_WORDS.union(
    ("don't", "dont"),
    *[
        cues.words | {phrase.translate(_PUNCTUATION).split()[0] for phrase in cues.phrases}
        for cues in (RULES, DECISIONS, OPEN, DONE, NEXT)
    ],
)


def is_plain(lower: str, words: frozenset[str]) -> bool:
    """True when nothing of this module finds anything in the text; most sentences are plain, and this is cheap."""
    return (
        words.isdisjoint(_TRIGGERS)
        and lower.isascii()
        and "=" not in lower
        and ": " not in lower
        and "[" not in lower
        and "->" not in lower
    )
