"""The board: what is known so far, keyed so that a later statement takes the place of the one it supersedes.

It starts from the lines of the previous digest and is then told what happened, in order. Keys are computed from the text
of a line alone, so a line read back meets new statements exactly as the one that was written did.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from ._entry import (
    ARROW,
    PINNED,
    RANK,
    Entry,
    contradiction,
    differing,
    has_other,
    is_distinct,
    is_set_anew,
    replaced_words,
    replaces_known,
)
from ._keys import FIXED, RULE_TOKENS, key_of, normal, subject
from ._lines import ROLES, Section, chosen
from ._links import RELATED_MAX, Links
from ._slots import is_bound_apart, rival
from ._values import NOUN_KINDS, Value, old_value, successor, topic_of, values_of
from ._words import folded, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

OPEN_MAX: Final = 64
"""How many open tasks are compared with what is reported done; older ones leave first. Bounds the work, and nobody keeps more."""
_HISTORY: Final = frozenset((Section.COMMANDS, Section.FILES, Section.ERRORS, Section.NEXT))
"""What happened, happened; only commands with an old value are dropped, for somebody might run them again."""
_STATES: Final = ("read", "modified", "deleted")


class Board:
    """Lines by section and key, oldest first."""

    __slots__ = ("_clock", "_failed_at", "_replaced", "actions", "dropped", "entries", "links")

    def __init__(self) -> None:
        self.entries: dict[Section, dict[tuple[str, str], Entry]] = {section: {} for section in Section}
        self.dropped: dict[Section, int] = {}
        self.actions: list[tuple[str, str]] = []
        """What changed something, with the id of its outcome: candidates for what fixed an error."""
        self._failed_at: dict[str, int] = {}
        self._replaced: list[Entry] = []
        self.links = Links()
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
        for other in ROLES[: RANK[role] + 1] if role else ("",):
            replaced = bucket.pop((key, other), None)
            if replaced is not None:
                replaced.gone = True
                self._replaced.append(replaced)
        self._clock += 1
        made = Entry(section, text, chosen(ids), role, self._clock, key=(key, role))
        bucket[key, role] = made
        return made

    # ---------------------------------------------------------------------------------------------- what supersedes

    def say(
        self, section: Section, text: str, ids: Iterable[str], role: str = "", *, change: bool = False, key: str = ""
    ) -> None:
        """Write a line that states something, and let it supersede what it contradicts. *change*: it says itself that things changed."""
        self._replaced.clear()
        entry = self.put(section, text, ids, role, key)
        if entry is None:
            return
        self.describe(entry)
        for line in self._replaced:
            # What stood under the same key is gone already; its value may stand elsewhere.
            old, new = differing(line.values, entry.values)
            if old is not None and new is not None:
                self._retire(old, new, entry)
        if entry.values:
            self._supersede(entry, change=change)
            self.links.link(entry, self._replaced)
        elif change:
            self._supersede_words(entry)
        self.index(entry)

    def describe(self, entry: Entry) -> None:
        """Read the values of a line and what it is about."""
        entry.values = values_of(entry.text)
        entry.topic = topic_of(entry.text, entry.values)

    def index(self, entry: Entry) -> None:
        """Let later statements find a line."""
        self.links.add(entry)

    def _supersede(self, news: Entry, *, change: bool) -> None:
        """Find the old value: named in the news, or under the same topic in an older line; then retire it."""
        values = [value for value in news.values if value.kind != "quoted"] or news.values
        old = old_value(news.text, tuple(values)) if change or len(values) > 1 else None
        # "Listen on 9090, not 8080" needs no other word of change when 8080 was said before.
        if old is not None and not change and not (old.key in self.links.by_value and has_other(old, values)):
            old = None
        is_named = old is not None
        if old is None and (change or (len(values) > 1 and not news.role) or news.role == "user"):
            old = self._known(news, values)
            old = old if old is None or change or replaces_known(news.text, old, values) else None
        new = successor(old, tuple(values)) if old else None
        if old is not None and new is not None:
            self._retire(old, new, news, is_named=is_named)
            return
        if change and not news.topic:
            self._retire_latest(news)
            return
        for entry in self._related(news):
            if change and is_set_anew(news, entry) and RANK[news.role or "user"] >= RANK[entry.role or "user"]:
                self._drop(entry)
                continue
            pair = contradiction(news, entry, change=change)
            if pair is not None and (change or not is_bound_apart(news, *pair, entry)):
                self._retire(*pair, news, only=entry)

    def _known(self, news: Entry, values: Iterable[Value]) -> Value | None:
        """The one value that older lines hold, when another one of its kind is news."""
        values = list(values)
        for value in values:
            # A plain capital may be any German noun.
            is_plain_name = value.kind == "name" and news.text[value.start + 1 : value.end].islower()
            is_news = any(other.kind == value.kind and other.key not in self.links.by_value for other in values)
            if is_news and not is_plain_name and value.key in self.links.by_value:
                return value
        return None

    def _retire_latest(self, news: Entry) -> None:
        """For "make it 45 seconds": what was said last about a value of that kind is meant."""
        new = news.values[-1]
        for entry in [*self.entries[Section.FACTS].values(), *self.entries[Section.GOALS].values()][-2 * RELATED_MAX :][::-1]:
            old = [value for value in entry.values if value.kind == new.kind and value.key != new.key]
            if entry is not news and len(old) == 1 and RANK[news.role or "user"] >= RANK[entry.role or "user"]:
                self._retire(old[0], new, news, only=entry)
                return

    def _related(self, news: Entry) -> list[Entry]:
        """Older lines with enough of the same topic, the closest first; a bounded number of them is looked at."""
        lists = [self.links.by_token[token][-RELATED_MAX:] for token in news.topic if token in self.links.by_token]
        counts = Counter(chain.from_iterable(lists))
        mine = len(news.topic)
        close = [entry for entry, count in counts.items() if 2 * count >= mine or 2 * count >= len(entry.topic) if not entry.gone]
        if len(close) > 1:
            close.sort(key=lambda entry: (-counts[entry], entry.at))
        return close[: RELATED_MAX // 2]

    def _retire(self, old: Value, new: Value, news: Entry, only: Entry | None = None, *, is_named: bool = True) -> None:
        """Take an old value out of every line that serves it as current; lines about nothing else go."""
        speaker = RANK[news.role or "user"]
        for entry in [*([only] if only else ()), *self.links.by_value.get(old.key, ())[-4 * RELATED_MAX :]]:
            if (
                entry is news
                or entry.gone
                or (not news.ids and entry.at > news.at)
                or (entry.section is Section.CONSTRAINTS and speaker < RANK["user"])
            ):
                continue
            shared = {value.key for value in entry.values} & {value.key for value in news.values} - {old.key}
            overlap = len(entry.topic & news.topic) + len(shared)
            if entry.section in _HISTORY:
                if is_named and entry.section is Section.COMMANDS and len(old.key) > 2:
                    self._drop(entry)
                continue
            if not overlap and entry is not only and not (is_named and is_distinct(old)):
                continue
            about = len(entry.topic)
            has_say = speaker >= RANK[entry.role or "user"]
            if has_say and (about - overlap <= 1 or 3 * overlap >= 2 * about or entry.section is Section.FACTS):
                self._drop(entry)
            else:
                self._rewrite(entry, old, new, news)

    def hold(self, pins: Iterable[str]) -> None:
        """Hold the lines against pinned texts: what was said before one gives way, what was said after it stays and says so."""
        marked = [entry for entry in self.lines() if entry.later is not None and entry.later.by == PINNED]
        for entry in marked:
            entry.later = None
        for text in pins:
            self._pin(text, marked)

    def _pin(self, text: str, marked: list[Entry]) -> None:
        pin = Entry(Section.CONSTRAINTS, text, (), "user", 0)
        self.describe(pin)
        wanted = normal(text)
        said = {value.key for value in pin.values}
        # A pin that nobody has said since the last digest and that its lines contradict was changed since: the digest
        # would have said so. What was said since then is newer.
        pin.at = max([entry.at for entry in self.lines() if normal(entry.text) == wanted], default=self.links.read_at)
        for entry in self.links.near(pin) if pin.values else ():
            if normal(entry.text) == wanted:
                continue
            found = rival(pin, entry)
            pair = found[:2] if found else None
            if pair is None and said.isdisjoint([value.key for value in entry.values if value.kind not in NOUN_KINDS]):
                pair = contradiction(pin, entry, change=True)
            if pair is None:
                continue
            if entry.at > pin.at or (entry in marked and pin.at == self.links.read_at):
                if entry.later is None:
                    self.links.note(entry, pair[0], pair[1], pin)
            else:
                self._retire(pair[0], pair[1], pin, only=entry)

    def all_read(self) -> None:
        """The previous digest stands on the board; what comes now is newer."""
        self.links.read_at = self._clock

    def _rewrite(self, entry: Entry, old: Value, new: Value, news: Entry) -> None:
        """Put "(now NEW)" where the old value stood, so that nobody takes it for current and nothing is misquoted."""
        current = news.text[new.start : new.end].strip("`\"'“”「」")
        # Whoever corrects a line of somebody else is named.
        by = f"{news.role}: " if news.role and RANK[news.role] < RANK[entry.role or "user"] else ""
        text = entry.text
        stood = {old.key}
        if entry.later is not None and old.key in (folded(entry.later.new), folded(entry.later.old)):
            stood.add(folded(entry.later.old))
            entry.later = None
        places = [value for value in entry.values if value.key in stood] or [old]
        for value in reversed(places):
            if value.key == folded(text[value.start : value.end]):
                start, end = value.start, value.end
                if text.startswith(")", end) and text.endswith("now ", 0, start):
                    # What was replaced before is replaced as a whole.
                    start, end = text.rfind("(", 0, start), end + 1
                text = f"{text[:start]}({by}now {current}){text[end:]}"
        if text != entry.text and len(text) <= len(entry.text) + 64:
            entry.text = text
            entry.atoms = None
            self._replaced.append(entry)
            self.describe(entry)
            self.index(entry)

    def _supersede_words(self, news: Entry) -> None:
        """For values that are plain words, as in "use tabs instead of spaces": short lines about the old word go."""
        old = replaced_words(news.text)
        if not old:
            return
        for token in old:
            for entry in self.links.by_token.get(token, ())[-RELATED_MAX:]:
                rest = entry.topic - old
                is_open = not entry.gone and (entry.section is not Section.CONSTRAINTS or not news.role)
                if is_open and old <= entry.topic and len(rest) <= 2 + 2 * bool(rest & news.topic):
                    self._drop(entry)

    def lift(self, about: frozenset[str]) -> bool:
        """Remove the rules about this topic, which the user took back."""
        gone = [
            entry
            for entry in self.entries[Section.CONSTRAINTS].values()
            if (rule := tokens(entry.text) - RULE_TOKENS) and 5 * len(rule & about) >= 3 * len(rule)
        ]
        for entry in gone:
            self._drop(entry)
        return bool(gone)

    def _drop(self, entry: Entry) -> None:
        entry.gone = True
        bucket = self.entries[entry.section]
        if bucket.get(entry.key) is entry:
            del bucket[entry.key]

    def lines(self) -> list[Entry]:
        """What stands on the board, section by section."""
        return [entry for bucket in self.entries.values() for entry in bucket.values()]

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
                entry.about = wanted = subject(entry.text)
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
