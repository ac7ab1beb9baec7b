"""What a line is about, as a key: lines with one key contradict or repeat each other.

Computed from the text of a line alone, so a line read back meets new statements exactly as the one that was written did.
"""

from __future__ import annotations

from typing import Final

from ._cues import OPEN, RULES
from ._entry import ARROW
from ._lines import Section
from ._words import KEY_MAX, WORD, folded, has_identifier, stated, tokens, word_set, words_of

FIXED: Final = " → fixed"
_TASK_WORDS: Final = tokens("todo still need needs have done remaining task remind me please must should open next will let ll")


def subject(text: str) -> frozenset[str]:
    """What an open task is about, without the words that say that it is open."""
    if not text.isascii():
        for cue in OPEN.scripts:
            text = text.replace(cue, " ")
    return tokens(text) - _TASK_WORDS


def key_of(section: Section, text: str) -> str:
    """Under which key a line stands. Two lines with one key contradict or repeat each other."""
    match section:
        case Section.FILES:
            return text.partition(": ")[2]
        case Section.COMMANDS:
            return text.partition(ARROW)[0]
        case Section.ERRORS:
            return text if FIXED in text else text.partition(ARROW)[0]
        case Section.FACTS:
            found = stated(text)
            return f"={found[0]}" if found else normal(text)
        case Section.CONSTRAINTS:
            return _rule_key(text)
        case Section.NEXT:
            return "next"
        case _:
            return normal(text)


def normal(text: str) -> str:
    """A text for comparing: words only, lower case, bounded."""
    return " ".join(WORD.findall(folded(text[:600]))) or text[:600]


RULE_TOKENS: Final = tokens(" ".join(RULES.words)) | tokens("do not please don't dont")
_RULE_WORDS: Final = RULES.words | word_set("do not use using only please you on from now you'd i i'll make sure be to the a an")


def _rule_key(text: str) -> str:
    """What a rule is about, so that "never use tabs" meets "always use tabs" and "from now on, tabs".

    Only short rules meet that way: in a long one the words that are left out may be what matters.
    """
    found = stated(text)
    if found and len(found[0]) <= KEY_MAX // 2 and has_identifier(found[1]) and words_of(found[0]).isdisjoint(RULES.words):
        return f"={found[0]}"
    about = [word for word in WORD.findall(folded(text[:600])) if word not in _RULE_WORDS]
    return " ".join(sorted(set(about))) if 0 < len(about) <= 6 else normal(text)
