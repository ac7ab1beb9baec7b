"""The board: what is known so far, keyed so that a later statement takes the place of the one it supersedes.

It starts from the lines of the previous digest and is then told what happened, in order. Keys are computed from the text
of a line alone, so a line read back meets new statements exactly as the one that was written did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from ._cues import OPEN, RULES
from ._lines import ROLES, Section, chosen
from ._values import NAME_KINDS, Value, old_value, successor, topic_of, values_of
from ._words import DENSE, KEY_MAX, WORD, folded, has_identifier, stated, tokens, word_set, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

ARROW: Final = " → "
FIXED: Final = " → fixed"
OPEN_MAX: Final = 64
"""How many open tasks are compared with what is reported done; older ones leave first. Bounds the work, and nobody keeps more."""
RELATED_MAX: Final = 24
"""How many older lines are compared with a new statement per word; bounds the work."""
_HISTORY: Final = frozenset((Section.COMMANDS, Section.FILES, Section.ERRORS, Section.NEXT))
"""What happened, happened; only commands with an old value are dropped, for somebody might run them again."""
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
    key: tuple[str, str] = ("", "")
    values: tuple[Value, ...] = ()
    topic: frozenset[str] = frozenset()
    gone: bool = False
    """True when a later statement took its place."""


class Board:
    """Lines by section and key, oldest first."""

    __slots__ = ("_by_token", "_by_value", "_clock", "_failed_at", "actions", "dropped", "entries")

    def __init__(self) -> None:
        self.entries: dict[Section, dict[tuple[str, str], Entry]] = {section: {} for section in Section}
        self.dropped: dict[Section, int] = {}
        self.actions: list[tuple[str, str]] = []
        """What changed something, with the id of its outcome: candidates for what fixed an error."""
        self._failed_at: dict[str, int] = {}
        self._by_value: dict[str, list[Entry]] = {}
        self._by_token: dict[str, list[Entry]] = {}
        self._clock = 0

    def put(self, section: Section, text: str, ids: Iterable[str], role: str = "", key: str = "") -> Entry | None:
        """Write a line. It replaces what stands under its key from the same or a lower authority; None when it stood there already."""
        if not text:
            return None
        key = key or key_of(section, text)
        bucket = self.entries[section]
        entry = bucket.get((key, role))
        if entry is not None and entry.text == text:
            entry.ids = chosen((*entry.ids, *ids))
            self._clock += 1
            entry.at = self._clock
            return None
        # A tool's output must never unsay what the user said; then both stand, each with its speaker.
        for other in ROLES[: _RANK[role] + 1] if role else ("",):
            replaced = bucket.pop((key, other), None)
            if replaced is not None:
                replaced.gone = True
        self._clock += 1
        made = Entry(section, text, chosen(ids), role, self._clock, key=(key, role))
        bucket[key, role] = made
        return made

    # ---------------------------------------------------------------------------------------------- what supersedes

    def say(
        self, section: Section, text: str, ids: Iterable[str], role: str = "", *, change: bool = False, key: str = ""
    ) -> None:
        """Write a line that states something, and let it supersede what it contradicts. *change*: it says itself that things changed."""
        entry = self.put(section, text, ids, role, key)
        if entry is None:
            return
        self.describe(entry)
        if entry.values:
            self._supersede(entry, change=change)
        elif change:
            self._supersede_words(entry)
        self.index(entry)

    def describe(self, entry: Entry) -> None:
        """Read the values of a line and what it is about."""
        entry.values = values_of(entry.text)
        entry.topic = topic_of(entry.text, entry.values)

    def index(self, entry: Entry) -> None:
        """Let later statements find a line."""
        for value in entry.values:
            self._by_value.setdefault(value.key, []).append(entry)
        if entry.section is not Section.COMMANDS:
            for token in entry.topic:
                self._by_token.setdefault(token, []).append(entry)

    def _supersede(self, news: Entry, *, change: bool) -> None:
        """Find the old value: named in the news, or under the same topic in an older line; then retire it."""
        values = [value for value in news.values if value.kind != "quoted"] or news.values
        old = old_value(news.text, tuple(values)) if change or len(values) > 1 else None
        # "Listen on 9090, not 8080" needs no other word of change when 8080 was said before.
        if old is not None and not change and not (old.key in self._by_value and _has_other(old, values)):
            old = None
        old = old or (self._known(values) if change else None)
        new = successor(old, tuple(values)) if old else None
        if old is not None and new is not None:
            self._retire(old, new, news)
            return
        if change and not news.topic:
            self._retire_latest(news)
            return
        for entry in self._related(news):
            if change and _is_set_anew(news, entry):
                self._drop(entry)
                continue
            pair = _contradiction(news, entry, change=change)
            if pair is not None:
                self._retire(*pair, news, only=entry)

    def _known(self, values: Iterable[Value]) -> Value | None:
        """The one value that older lines hold, when another one of its kind is news."""
        values = list(values)
        for value in values:
            if value.key in self._by_value and any(
                other.kind == value.kind and other.key not in self._by_value for other in values
            ):
                return value
        return None

    def _retire_latest(self, news: Entry) -> None:
        """For "make it 45 seconds": what was said last about a value of that kind is meant."""
        new = news.values[-1]
        for entry in [*self.entries[Section.FACTS].values(), *self.entries[Section.GOALS].values()][-2 * RELATED_MAX :][::-1]:
            old = [value for value in entry.values if value.kind == new.kind and value.key != new.key]
            if entry is not news and len(old) == 1 and _RANK[news.role or "user"] >= _RANK[entry.role or "user"]:
                self._retire(old[0], new, news, only=entry)
                return

    def _related(self, news: Entry) -> list[Entry]:
        """Older lines with enough of the same topic, the closest first; a bounded number of them is looked at."""
        counts: dict[int, int] = {}
        found: dict[int, Entry] = {}
        for token in news.topic:
            for entry in self._by_token.get(token, ())[-RELATED_MAX:]:
                if not entry.gone:
                    counts[id(entry)] = counts.get(id(entry), 0) + 1
                    found[id(entry)] = entry
        close = [entry for key, entry in found.items() if 2 * counts[key] >= min(len(news.topic), len(entry.topic))]
        return sorted(close, key=lambda entry: (-counts[id(entry)], entry.at))[:RELATED_MAX]

    def _retire(self, old: Value, new: Value, news: Entry, only: Entry | None = None) -> None:
        """Take an old value out of every line that serves it as current; lines about nothing else go."""
        speaker = _RANK[news.role or "user"]
        for entry in [*([only] if only else ()), *self._by_value.get(old.key, ())[-4 * RELATED_MAX :]]:
            if entry is news or entry.gone or (entry.section is Section.CONSTRAINTS and speaker < _RANK["user"]):
                continue
            shared = {value.key for value in entry.values} & {value.key for value in news.values} - {old.key}
            overlap = len(entry.topic & news.topic) + len(shared)
            if entry.section in _HISTORY:
                if entry.section is Section.COMMANDS and len(old.key) > 2:
                    self._drop(entry)
                continue
            if not overlap and entry is not only and not _is_distinct(old):
                continue
            about = len(entry.topic)
            if about - overlap <= 1 or 3 * overlap >= 2 * about or entry.section is Section.FACTS:
                self._drop(entry)
            else:
                self._rewrite(entry, old, new, news)

    def _rewrite(self, entry: Entry, old: Value, new: Value, news: Entry) -> None:
        """Put "(now NEW)" where the old value stood, so that nobody takes it for current and nothing is misquoted."""
        current = news.text[new.start : new.end].strip("`\"'“”「」")
        text = entry.text
        for value in reversed(entry.values):
            if value.key == old.key:
                text = f"{text[: value.start]}(now {current}){text[value.end :]}"
        if text != entry.text and len(text) <= len(entry.text) + 64:
            entry.text = text
            self.describe(entry)
            self.index(entry)

    def _supersede_words(self, news: Entry) -> None:
        """For values that are plain words, as in "use tabs instead of spaces": short lines about the old word go."""
        old = replaced_words(news.text)
        if not old:
            return
        for token in old:
            for entry in self._by_token.get(token, ())[-RELATED_MAX:]:
                rest = entry.topic - old
                is_open = not entry.gone and (entry.section is not Section.CONSTRAINTS or not news.role)
                if is_open and old <= entry.topic and len(rest) <= 4 and (not rest or rest & news.topic):
                    self._drop(entry)

    def _drop(self, entry: Entry) -> None:
        entry.gone = True
        bucket = self.entries[entry.section]
        if bucket.get(entry.key) is entry:
            del bucket[entry.key]

    def texts(self) -> list[str]:
        """What stands on the board."""
        return [entry.text for bucket in self.entries.values() for entry in bucket.values()]

    def forget(self, section: Section, key: str) -> None:
        """Remove what stands under a key, whoever said it."""
        for role in ("", *ROLES):
            self.entries[section].pop((key, role), None)

    # ------------------------------------------------------------------------------------------------ open work

    def open(self, text: str, ids: Iterable[str], role: str, *, change: bool = False) -> None:
        """Note an open task."""
        self.say(Section.OPEN, text, ids, role, change=change)
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
        entry = self.put(Section.COMMANDS, f"{command}{ARROW}{outcome}", ids, key=command)
        if entry is not None:
            entry.values = values_of(command)
            self.index(entry)

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


def _is_distinct(value: Value) -> bool:
    """True when a value is hardly there by chance: a path, a version, a full name, a long number."""
    return len(value.key) >= 4 and value.kind not in ("name", "quoted")


def _names(line: Entry, other: Entry) -> set[str]:
    """The names in a line that the other one does not hold, in any spelling."""
    lower = folded(other.text)
    return {value.key for value in line.values if value.kind in NAME_KINDS and value.key not in lower}


def _has_other(old: Value, values: Iterable[Value]) -> bool:
    return any(value.kind == old.kind and value.key != old.key for value in values)


def _contradiction(news: Entry, entry: Entry, *, change: bool) -> tuple[Value, Value] | None:
    """The old and the new value when *news* gives another value of the same kind to what *entry* is about."""
    if _RANK[news.role or "user"] < _RANK[entry.role or "user"] and not change:
        return None
    common, mine, theirs = len(news.topic & entry.topic), len(news.topic), len(entry.topic)
    mine_only = _names(news, entry)
    names = mine_only | _names(entry, news)
    if names:
        # Different names are different values, not different things that are spoken about.
        apart = tokens(" ".join(names))
        mine, theirs = len(news.topic - apart) or 1, len(entry.topic - apart) or 1
        common = len((news.topic & entry.topic) - apart)
    is_dense = DENSE.search(news.text) is not None
    if change:
        # "The EU limit" and "the US limit" differ in one word each, and are two things.
        two_things = not is_dense and max(mine, theirs) <= 4 and common < min(mine, theirs)
        if two_things or not (2 * common >= mine or 3 * common >= 2 * theirs):
            return None
    elif not _is_same_with_one_change(news, entry, common):
        return None
    held = {value.key for value in entry.values}
    said = {value.key for value in news.values}
    # Where two names differ on both sides, it is not known which one is the thing and which one its value.
    several = len(mine_only) > 1 and len(names - mine_only) > 1
    for new in reversed(news.values):
        if new.key in held or (several and new.kind in NAME_KINDS):
            continue
        old = [value for value in entry.values if value.kind == new.kind and value.key not in said]
        if len(old) > 1 and theirs > 4:
            old = [min(old, key=lambda value: _distance(entry.text, value, news.topic))]
        if old:
            return old[0], new
    return None


def _is_set_anew(news: Entry, entry: Entry) -> bool:
    """True when short news about a thing give it a value, of whatever kind, and *entry* is the line that gave it another."""
    if not entry.key[0].startswith("=") or _RANK[news.role or "user"] < _RANK[entry.role or "user"]:
        return False
    about = tokens(entry.key[0])
    held = {value.key for value in entry.values}
    return about <= news.topic and len(news.topic) <= len(about) + 2 and any(value.key not in held for value in news.values)


def _is_same_with_one_change(news: Entry, entry: Entry, common: int) -> bool:
    """True for two facts that say the same but for one value: without a word of change nothing less will do."""
    if news.section is not Section.FACTS or entry.section in (Section.CONSTRAINTS, Section.OPEN):
        return False
    if 4 * common < 3 * len(news.topic) or 4 * common < 3 * len(entry.topic):
        return False
    said, held = {value.key for value in news.values}, {value.key for value in entry.values}
    return len(said - held) == 1 and len(held - said) == 1


def _distance(text: str, value: Value, topic: frozenset[str]) -> int:
    """How far a value stands from the words of a topic."""
    lower = folded(text)
    places = [at for word in topic if (at := lower.find(word)) >= 0]
    return min([abs(at - value.start) for at in places], default=len(text))


_OLD_WORDS: Final = 3


def replaced_words(text: str) -> frozenset[str]:
    """The words that a sentence names as replaced, behind "instead of" and its like."""
    lower = folded(text)
    for marker in _REPLACING:
        at = lower.find(marker)
        if at >= 0:
            rest = WORD.findall(lower[at + len(marker) : at + len(marker) + 60])[:_OLD_WORDS]
            return tokens(" ".join(rest)[:40]) - tokens("for in the a please")
    return frozenset()


_REPLACING: Final = (
    "instead of ",
    "rather than ",
    "no longer ",
    " statt ",
    "nicht mehr ",
    "au lieu de ",
    "plutôt que ",
    "en lugar de ",
    "en vez de ",
    "вместо ",
    "больше не ",
)
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
