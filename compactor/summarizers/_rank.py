"""What a line is worth: who said it, what kind of statement it is, and how rare its words are in this conversation.

Rarity is what tells a planted rule from the hundredth "the run looks fine": words that come back in many messages carry
little, in any language. Counting is cheap, so it also decides which texts of a very long span are read closely.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from compactor.messages import AssistantMessage, UserMessage, text_of

from ._cues import ANY_CUE, CORRECTIONS, REASONS
from ._keys import FIXED
from ._lines import Section
from ._words import DENSE, DENSE_CHARS, STOP, folded, has_identifier, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from compactor.messages import Message

    from ._entry import Entry

LOOK: Final = 600
"""How much of the head and the tail of a text is counted."""
CLOSE_MIN: Final = 400
"""Up to so many sentences are read closely whatever the budget; of a longer span it is the most telling messages."""
CLOSE_CHARS: Final = 32
"""One more sentence is read closely per so many code points of the budget."""
RARITY_WEIGHT: Final = 40.0

BASE: Final = {
    Section.CONSTRAINTS: 92,
    Section.NEXT: 90,
    Section.OPEN: 74,
    Section.DECISIONS: 70,
    Section.FACTS: 44,
    Section.EARLIER: 62,
    Section.GOALS: 56,
    Section.FILES: 24,
    Section.COMMANDS: 22,
    Section.ERRORS: 62,
}
FIRST_GOAL: Final = 50
LAST_GOAL: Final = 44
"""What the session is about, and what was asked last, are worth more than any rule; goals in between are worth less."""

NEWER: Final = 24
OLDER: Final = 60
"""What a line gains when it gives another value to something, and what the line before it loses."""


def terms(text: str) -> AbstractSet[str]:
    """The words of a text without numbers; pairs of characters where words are not separated."""
    if len(text) > 2 * LOOK:
        text = f"{text[:LOOK]} {text[-LOOK:]}"
    lower = folded(text)
    if lower.isascii() or not DENSE.search(lower):
        return words_of(lower)
    found = set(_PAIRS.findall(lower))
    found.update(_WORDS.findall(lower))
    return found


# For the longest conversations these two are half of all the work; translating and splitting took twice as long.
_PAIRS: Final = re.compile(f"(?=([{DENSE_CHARS}]{{2}}))")
_WORDS: Final = re.compile("[a-zа-яё0-9_'-]{2,}")


_REWRITTEN: Final = re.compile(r"\((?:assistant: |tool: )?now ")


class Rarity:
    """In how many messages of the span each word stands."""

    def __init__(self, messages: Sequence[Message], carried: Iterable[str], close_max: int) -> None:
        texts = [text_of(message.content) for message in messages]
        told = [terms(text) for text in texts]
        self.counts = Counter(chain(chain.from_iterable(told), chain.from_iterable(map(terms, carried))))
        self.close: frozenset[int] | None = None
        sizes = [1 + max(text.count(". ") + text.count("\n") + text.count("。"), len(text) // 80) for text in texts]
        if sum(sizes) > close_max:
            self.close = self._closest(messages, told, sizes, close_max)

    def _closest(
        self, messages: Sequence[Message], told: list[AbstractSet[str]], sizes: list[int], close_max: int
    ) -> frozenset[int]:
        """The places of the most telling texts: rare words, cue words, the user's before others', later before earlier."""
        rare = {word for word, count in self.counts.items() if count < 3}
        ranks: list[tuple[float, int]] = []
        for index, (message, words) in enumerate(zip(messages, told, strict=True)):
            value = len(words & rare) / (len(words) + 4) + (0 if words.isdisjoint(ANY_CUE) else 0.5)
            value += 1 if type(message) is UserMessage else 0.5 if type(message) is AssistantMessage else 0
            ranks.append((value, index))
        ranks.sort(reverse=True)
        found = {0, len(messages) - 1}
        for _value, index in ranks:
            close_max -= sizes[index]
            if close_max < 0:
                break
            found.add(index)
        return frozenset(found)

    def of(self, text: str) -> float:
        """From 0 (everybody says that all the time) to 1 (never heard before)."""
        total, seen = 0.0, 0
        for word in terms(text):
            if word not in STOP and not word.isdecimal() and len(word) > 1:
                total += 1 / (self.counts.get(word) or 1)
                seen += 1
        return total / seen if seen else 0.0


def value_of(entry: Entry, rare: float) -> float:
    """What a line is worth apart from its age and the caller's focus."""
    section, text = entry.section, entry.text
    value = float(BASE[section])
    if section not in (Section.FILES, Section.COMMANDS, Section.ERRORS, Section.NEXT):
        value += RARITY_WEIGHT * (rare - 0.5) - max(0, len(text) - 80) / 16
    match section:
        case Section.GOALS:
            lower = folded(text[:80])
            value += 12 if CORRECTIONS.found(lower, words_of(lower)) else 0
            value -= 24 if text.endswith(("?", "？")) else 0
            value += 4 if has_identifier(text) else 0
            # Who says the same at every turn is being polite; and what was rewritten stands as news elsewhere.
            value -= 8 * (len(entry.ids) - 1) + (12 if "now " in text and _REWRITTEN.search(text) else 0)
        case Section.FACTS:
            value += {"user": 30, "assistant": 4}.get(entry.role, 0) + (2 if has_identifier(text) else 0)
        case Section.DECISIONS:
            lower = folded(text)
            value += (8 if entry.role == "user" else 0) + (4 if REASONS.found(lower, words_of(lower)) else 0)
        case Section.OPEN:
            value += 6 if entry.role == "user" else 0
        case Section.FILES:
            value += 24 if not text.startswith("read:") else 0
        case Section.COMMANDS:
            value += 14 if " → failed" in text else 0
        case Section.ERRORS:
            value -= 22 if FIXED in text else 0
        case _:
            pass
    return value
