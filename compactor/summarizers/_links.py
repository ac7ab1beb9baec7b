"""Which lines share a value or words, and what later ones say about the values of earlier ones.

What is noted here takes nothing away: "(8080 → later: 9090)" stands at the earlier line from then on, for nobody can be
sure that the later one replaces it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ._atoms import asks_for, says_also
from ._entry import PINNED, RANK, Entry, Later, is_distinct
from ._lines import Section
from ._slots import rival
from ._values import NOUN_KINDS, Value, values_of
from ._words import folded, tokens

if TYPE_CHECKING:
    from collections.abc import Collection

RELATED_MAX: Final = 16
"""How many older lines are compared with a new statement per word; bounds the work."""
RARE_MAX: Final = 10
COMMON_MIN: Final = 64
"""A word of so many lines tells nothing apart."""
QUOTED_MAX: Final = 100
"""Up to this length a later statement is quoted as a whole where its value alone would say too little."""
NO_BRACKETS: Final = str.maketrans("()", "  ")


class Links:
    """Lines by their values and their words."""

    __slots__ = ("by_token", "by_value", "read_at")

    def __init__(self) -> None:
        self.by_value: dict[str, list[Entry]] = {}
        self.by_token: dict[str, list[Entry]] = {}
        self.read_at = 0
        """When the last line of the previous digest was said, as ``Entry.at``."""

    def add(self, entry: Entry) -> None:
        """Let later statements find a line."""
        for value in entry.values:
            self.by_value.setdefault(value.key, []).append(entry)
        if entry.section is not Section.COMMANDS:
            for token in entry.topic:
                self.by_token.setdefault(token, []).append(entry)

    def near(self, news: Entry) -> list[Entry]:
        """Older lines that share words with *news*, the closest first; a bounded number."""
        weights: Counter[Entry] = Counter()
        for token in news.topic:
            known = self.by_token.get(token, ())
            if len(known) > COMMON_MIN:
                continue
            # A word that hardly any line holds says as much as two others.
            for entry in known[-RELATED_MAX:]:
                weights[entry] += 2 if len(known) <= RARE_MAX else 1
        near = [entry for entry, weight in weights.items() if weight > 1 and not entry.gone]
        near.sort(key=lambda entry: (-weights[entry], entry.at))
        return near[: RELATED_MAX // 2]

    def link(self, news: Entry, replaced: Collection[Entry]) -> None:
        """Note at older lines that *news* may give a newer value; *replaced* are those that it has changed already."""
        lower = folded(news.text)
        if says_also(lower) or (lower.endswith(("?", "？")) and not (news.role in ("", "user") and asks_for(lower))):
            return
        heard: set[str] = set()
        for entry in self.near(news):
            found = rival(news, entry) if entry not in replaced and self._may_link(news, entry) else None
            # Of the user's words a tool is heard only where it plainly speaks of the same.
            if found is None or (news.role == "tool" and not found[2] and entry.section is Section.FACTS):
                continue
            old, new, _is_sure = found
            self.note(entry, old, new, news)
            if old.key in heard:
                continue
            heard.add(old.key)
            for echo in self.by_value.get(old.key, ())[-RELATED_MAX // 2 :]:
                if echo is entry or echo.gone or (echo.later is not None and echo.later.new == news.text[new.start : new.end]):
                    continue
                is_command = echo.section is Section.COMMANDS and len(old.key) > 2
                if is_distinct(old) or is_command or rival(news, echo):
                    self.note(echo, old, new, news)

    def _may_link(self, news: Entry, entry: Entry) -> bool:
        """True for two statements of which one at least is the user's; in one breath nobody corrects himself without a word."""
        is_users = news.role in ("", "user") or entry.role in ("", "user") or entry.at <= self.read_at
        return is_users and entry.ids != news.ids and (not entry.role or not entry.text.endswith(("?", "？")))

    def note(self, entry: Entry, old: Value, new: Value, news: Entry) -> None:
        """Write down at *entry* what was said later."""
        speaker = news.role or "user"
        if entry is news or entry.gone or (entry.section is Section.CONSTRAINTS and speaker != "user"):
            return
        if any(value.key == new.key for value in entry.values):
            return
        was = next((entry.text[value.start : value.end] for value in entry.values if value.key == old.key), "")
        if not was and folded(entry.text[old.start : old.end]) == old.key:
            was = entry.text[old.start : old.end]
        if was:
            behind = news.text[new.end :]
            is_part = (
                new.kind in NOUN_KINDS
                or new.kind != old.kind
                or (behind.count(" ") > 1 and tokens(behind).isdisjoint(entry.topic))
            )
            whole = news.text if is_part and len(news.text) <= QUOTED_MAX else news.text[new.start : new.end]
            is_pin = not news.ids
            by = PINNED if is_pin else speaker if RANK[speaker] < RANK[entry.role or "user"] else ""
            entry.later = Later(was.translate(NO_BRACKETS), whole.translate(NO_BRACKETS), by)
            entry.is_later = entry.is_later or is_pin
            news.is_later = news.is_later or speaker == "user"
            known = self.by_value.setdefault(new.key, [])
            if entry not in known[-RELATED_MAX:]:
                known.append(entry)

    def restore(self, entry: Entry, later: Later) -> None:
        """Note again what stood at a line when it was written."""
        entry.later = later
        if later.by == PINNED:
            return
        for value in values_of(later.new)[-1:]:
            self.by_value.setdefault(value.key, []).append(entry)
