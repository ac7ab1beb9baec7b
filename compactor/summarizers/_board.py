"""The board: what is known so far, keyed so that a later statement takes the place of the one it supersedes.

It starts from the lines of the previous digest and is then told what happened, in order. Keys are computed from the text
of a line alone, so a line read back meets new statements exactly as the one that was written did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from ._lines import ROLES, Section, chosen
from ._words import KEY_MAX, OPEN, RULES, WORD, folded, has_identifier, stated, tokens, word_set, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

ARROW: Final = " → "
FIXED: Final = " → fixed"
OPEN_MAX: Final = 64
"""How many open tasks are compared with what is reported done; older ones leave first. Bounds the work, and nobody keeps more."""
_STATES: Final = ("read", "modified", "deleted")
_RANK: Final = {role: rank for rank, role in enumerate(ROLES)}


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


class Board:
    """Lines by section and key, oldest first."""

    __slots__ = ("_clock", "_failed_at", "actions", "dropped", "entries")

    def __init__(self) -> None:
        self.entries: dict[Section, dict[tuple[str, str], Entry]] = {section: {} for section in Section}
        self.dropped: dict[Section, int] = {}
        self.actions: list[tuple[str, str]] = []
        """What changed something, with the id of its outcome: candidates for what fixed an error."""
        self._failed_at: dict[str, int] = {}
        self._clock = 0

    def put(self, section: Section, text: str, ids: Iterable[str], role: str = "", key: str = "") -> None:
        """Say something. It replaces what stands under its key from the same or a lower authority."""
        if not text:
            return
        key = key or key_of(section, text)
        bucket = self.entries[section]
        entry = bucket.get((key, role))
        if entry is not None and entry.text == text:
            entry.ids = chosen((*entry.ids, *ids))
            self._clock += 1
            entry.at = self._clock
            return
        # A tool's output must never unsay what the user said; then both stand, each with its speaker.
        for other in ROLES[: _RANK[role] + 1] if role else ("",):
            bucket.pop((key, other), None)
        self._clock += 1
        bucket[key, role] = Entry(section, text, chosen(ids), role, self._clock)

    def forget(self, section: Section, key: str) -> None:
        """Remove what stands under a key, whoever said it."""
        for role in ("", *ROLES):
            self.entries[section].pop((key, role), None)

    # ------------------------------------------------------------------------------------------------ open work

    def open(self, text: str, ids: Iterable[str], role: str) -> None:
        """Note an open task."""
        self.put(Section.OPEN, text, ids, role)
        bucket = self.entries[Section.OPEN]
        if len(bucket) > OPEN_MAX:
            del bucket[next(iter(bucket))]
            self.dropped[Section.OPEN] = self.dropped.get(Section.OPEN, 0) + 1

    def finish(self, text: str) -> bool:
        """Remove the open tasks that *text* reports done: those whose words it mostly repeats."""
        said = tokens(text)
        bucket = self.entries[Section.OPEN]
        gone = []
        for key, entry in bucket.items():
            wanted = entry.about
            if wanted is None:
                entry.about = wanted = _subject(entry.text)
            if wanted and 5 * len(wanted & said) >= 3 * len(wanted):
                gone.append(key)
        for key in gone:
            del bucket[key]
        return bool(gone)

    # ---------------------------------------------------------------------------------- files, commands, errors

    def file(self, path: str, state: str, ids: Iterable[str]) -> None:
        """Note that a file was read, modified or deleted; what happened before is kept."""
        bucket = self.entries[Section.FILES]
        entry = bucket.pop((path, ""), None)
        states = set(entry.text.partition(": ")[0].split(", ")) if entry else set()
        states.add(state)
        if state != "deleted":
            states.discard("deleted")
        text = f"{', '.join([name for name in _STATES if name in states])}: {path}"
        self._clock += 1
        bucket[path, ""] = Entry(Section.FILES, text, chosen((*(entry.ids if entry else ()), *ids)), "", self._clock)

    def command(self, command: str, outcome: str, ids: Iterable[str]) -> None:
        """Note a command with its outcome, which replaces an older one of the same command."""
        self.put(Section.COMMANDS, f"{command}{ARROW}{outcome}", ids, key=command)

    def fail(self, source: str, error: str, ids: Iterable[str]) -> None:
        """Note an error of *source*; an older one of it that nothing fixed is superseded."""
        self._failed_at.setdefault(source, len(self.actions))
        self.put(Section.ERRORS, f"{source}{ARROW}{error}", ids, key=source)

    def succeed(self, source: str, id_: str) -> None:
        """Note that *source* works: its error, if there is one, is fixed, by what was done in between."""
        entry = self.entries[Section.ERRORS].pop((source, ""), None)
        if entry is None:
            return
        since = self.actions[self._failed_at.pop(source, 0) :]
        done = [action for action in since if action[0] != source][-2:]
        by = f" by {', '.join([name for name, _id in done])}" if done else ""
        text = f"{entry.text}{FIXED}{by}"
        self.put(Section.ERRORS, text, (*entry.ids, *[action_id for _name, action_id in done], id_), key=text)


_TASK_WORDS: Final = tokens("todo still need needs have done remaining task remind me please must should open next will let ll")


def _subject(text: str) -> frozenset[str]:
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
