"""``DigestSummarizer``: a summary without a model. Deterministic, offline, and always within its budget.

It reads the previous digest back into lines, tells the board what happened since, and writes as many lines as fit, the
most valuable first. Nothing is ever nested: a digest of a digest is a digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from ._board import Board
from ._entry import PINNED, Entry, read_later
from ._extract import extract
from ._keys import key_of, normal
from ._lines import ELLIPSIS, SIGNED, Section, clean, left_out, read_digest, read_title, shorten, title, write_line, written_id
from ._rank import CLOSE_CHARS, CLOSE_MIN, FIRST_GOAL, LAST_GOAL, NEWER, OLDER, Rarity, value_of
from ._values import topic_of, values_of
from ._words import sentences, tokens

if TYPE_CHECKING:
    from compactor.context import SummaryRequest
    from compactor.messages import Summary

EARLIER_LINE_MAX: Final = 400
EARLIER_READ_MAX: Final = 65_536
"""How much of a foreign summary is read at all."""
RETRY_SHARE: Final = 0.75
"""Each refused attempt leaves a quarter more room: whoever measures in tokens may count more than code points."""
PIN_MAX: Final = 2_000
SHORT_MIN: Final = 40
"""A line that would be cut to less than this is left out instead."""
ROOMY: Final = 400
"""From this budget on the title and the last line come in their long form."""

_STATEMENTS: Final = frozenset(
    {Section.GOALS, Section.CONSTRAINTS, Section.DECISIONS, Section.FACTS, Section.OPEN, Section.COMMANDS}
)
"""What a later statement can supersede."""
_SHORTENED: Final = frozenset({Section.GOALS, Section.DECISIONS, Section.ERRORS, Section.EARLIER, Section.NEXT})
"""Where the beginning of a line is worth something. Half a rule, value, path or command would mislead."""


def _share(_self: object, attribute: attrs.Attribute[float], value: Any) -> None:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        msg = f"{attribute.name} needs a number from 0 to 1"
        raise ValueError(msg)


@attrs.frozen(kw_only=True)
class DigestSummarizer:
    """The default summarizer: code that picks what matters and cites where it stands.

    *earlier_share*: how much of the text a previous summary that was not written by a digest may take.
    *goal_share*: the same for one single user message. Both from 0 to 1, else ``ValueError``.

    A call never raises and gives at most ``request.max_text`` code points, at least one of them not blank. Goals and
    constraints are words of user messages only. After a refusal (``request.rejection``) it aims lower.
    """

    earlier_share: float = attrs.field(default=0.25, validator=_share)
    goal_share: float = attrs.field(default=0.3, validator=_share)

    def __call__(self, request: SummaryRequest) -> str:
        """Write the digest: title, sections, and last what was left out."""
        budget = request.max_text
        if request.rejection is not None:
            budget = int(budget * RETRY_SHARE ** min(max(request.attempt - 1, 1), 16))
        board = Board()
        count = len(request.messages) + _read_previous(request.previous_summary, board)
        rarity = Rarity(request.messages, [entry.text for entry in board.lines()], CLOSE_MIN + budget // CLOSE_CHARS)
        board.all_read()
        extract(request.messages, board, rarity.close)
        board.hold([clean(requirement.content)[:PIN_MAX] for requirement in request.requirements])
        pins = [_Pin.of(clean(requirement.content)) for requirement in request.requirements]
        entries = [entry for entry in board.lines() if not any(pin.says(entry) for pin in pins)]
        return _Page(entries, board.dropped, count, max(budget, 1), self, tokens(request.instructions or ""), rarity).text()


def _read_previous(summary: Summary | None, board: Board) -> int:
    """Put the lines of the previous summary on the board; the number of messages it stood for, 0 when it is foreign."""
    if summary is None:
        return 0
    count = read_title(summary.content)
    foreign = [summary.content[:EARLIER_READ_MAX]]
    if count is not None:
        lines, board.dropped, foreign = read_digest(summary.content)
        for line in lines:
            # Neighbours of one message are written on one line, and are statements of their own again here.
            whole, later = read_later(line.text)
            if later is not None and later.old not in whole:
                whole, later = line.text, None
            parts = [part.strip() for part in sentences(whole)] if line.section is Section.GOALS else [whole]
            if "```" in whole or len(set(parts)) < len(parts):
                parts = [whole]
            for text in filter(None, parts):
                entry = board.put(line.section, text, line.ids, line.role, key_of(line.section, text))
                if entry is not None and line.section in _STATEMENTS:
                    board.describe(entry)
                    board.index(entry)
                if entry is not None and later is not None and text == parts[-1]:
                    board.links.restore(entry, later)
    id_ = written_id(summary.id or "")
    for text in foreign:
        for sentence in sentences(text):
            board.put(Section.EARLIER, shorten(clean(sentence), EARLIER_LINE_MAX), (id_,))
    return count or 0


def _ends(text: str) -> bool:
    """True when another sentence can follow on the same line and be told apart again."""
    return text.endswith((".", "!", "?", "。", "！", "？", "…"))


@attrs.frozen
class _Pin:
    """A pinned text, to leave out the lines that say nothing else.

    When the pin changes, a line in other words would be left that nobody could tell to be old.
    """

    text: str
    values: frozenset[str]
    topic: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Pin:
        values = values_of(text)
        return cls(f" {normal(text)} ", frozenset([value.key for value in values]), topic_of(text, values))

    def says(self, entry: Entry) -> bool:
        """True for a line that repeats the pin, in whole or in part, and for a command with a value of it."""
        keys = [value.key for value in entry.values]
        if entry.section is Section.COMMANDS:
            return any(len(key) > 2 and key in self.values for key in keys)
        if f" {normal(entry.text)} " == self.text or (keys and f" {normal(entry.text)} " in self.text):
            return True
        return (
            bool(keys) and entry.section is not Section.CONSTRAINTS and self.values.issuperset(keys) and entry.topic <= self.topic
        )


class _Page:
    """Choosing and placing lines within a budget; used once."""

    def __init__(
        self,
        entries: list[Entry],
        dropped: dict[Section, int],
        count: int,
        budget: int,
        options: DigestSummarizer,
        focus: frozenset[str],
        rarity: Rarity,
    ) -> None:
        self.entries = entries
        self.dropped = dropped
        self.budget = budget
        self.options = options
        self.focus = focus
        self.rarity = rarity
        self.long = budget >= ROOMY
        self.title = title(count, long=self.long)
        self.count = count

    def text(self) -> str:
        """The whole text; whatever happens, it fits and is not blank."""
        whole = self._written([(entry, entry.line) for entry in self.entries], self.dropped)
        if len(whole) <= self.budget and not self._earlier_is_large():
            return whole
        room = self.budget - len(self.title)
        worst = dict(self.dropped)
        for entry in self.entries:
            worst[entry.section] = worst.get(entry.section, 0) + 1
        room -= 1 + len(left_out(worst, long=self.long))
        chosen = self._chosen(room)
        if not chosen:
            return self._tiny(worst)
        kept = {id(entry) for entry, _text in chosen}
        lost = dict(self.dropped)
        for entry in self.entries:
            if id(entry) not in kept:
                lost[entry.section] = lost.get(entry.section, 0) + 1
        chosen.sort(key=lambda pair: self.order[id(pair[0])])
        return self._written(chosen, lost)

    def _earlier_is_large(self) -> bool:
        earlier = sum([len(entry.text) for entry in self.entries if entry.section is Section.EARLIER])
        return earlier > self.options.earlier_share * self.budget

    def _written(self, pairs: list[tuple[Entry, str]], lost: dict[Section, int]) -> str:
        """Lines under their headers; *pairs* are in the order of sections."""
        lines = [self.title]
        section: Section | None = None
        said = ""
        for index, (entry, text) in enumerate(pairs):
            if entry.section is not section:
                section = entry.section
                lines.append(section.header)
                said = ""
            said = f"{said} {text}" if said else text
            after = pairs[index + 1][0] if index + 1 < len(pairs) else None
            if section is Section.GOALS and after and after.section is section and after.ids == entry.ids and _ends(text):
                continue
            lines.append(write_line(said, entry.ids, entry.role if section in SIGNED else ""))
            said = ""
        if any(lost.values()):
            lines.append(left_out(lost, long=self.long))
        return "\n".join(lines)

    def _tiny(self, lost: dict[Section, int]) -> str:
        """For budgets that no line fits into: the most telling single line that does."""
        total = left_out(lost, long=False)
        candidates = (f"{self.title}\n{total}", self.title, f"{self.count} messages, digest", f"{self.count} messages", ELLIPSIS)
        return next(candidate for candidate in candidates if len(candidate) <= self.budget)

    def _chosen(self, room: int) -> list[tuple[Entry, str]]:
        """Take lines from the most valuable down while there is room; long ones are cut where that makes sense."""
        self.order = {id(entry): index for index, entry in enumerate(self.entries)}
        shares = {Section.EARLIER: int(self.options.earlier_share * self.budget)}
        goal_max = max(int(self.options.goal_share * self.budget), SHORT_MIN)
        opened: set[Section] = set()
        chosen: list[tuple[Entry, str]] = []
        for entry in self._ranked():
            # Where lines compete, one citation each has to do: the latest leads to the others.
            entry.ids = entry.ids[-1:]
            section, text = entry.section, entry.text
            fixed = len(write_line("", entry.ids, entry.role if section in SIGNED else "")) + 1
            later = str(entry.later or "")
            fixed += len(later)
            if section not in opened:
                fixed += len(section.header) + 1
            space = min(room, shares.get(section, room)) - fixed
            limit = min(space, goal_max) if section is Section.GOALS else space
            if len(text) > limit:
                if section not in _SHORTENED or limit < SHORT_MIN:
                    continue
                text = shorten(text, limit)
            chosen.append((entry, text + later))
            opened.add(section)
            room -= fixed + len(text)
            if section in shares:
                shares[section] -= fixed + len(text)
            if room < SHORT_MIN // 2:
                break
        return chosen

    def _ranked(self) -> list[Entry]:
        """Most valuable first; equal ones by age, the latest first."""
        goals = [entry for entry in self.entries if entry.section is Section.GOALS]
        first = min(goals, key=lambda entry: self.order[id(entry)], default=None)
        first_ids = first.ids[:1] if first else ()
        last = max(goals, key=lambda entry: entry.at, default=None)
        ages = {id(entry): index for index, entry in enumerate(sorted(self.entries, key=lambda entry: entry.at))}
        scale = 10 / max(len(ages), 1)
        ranks: list[tuple[float, int, Entry]] = []
        for entry in self.entries:
            age = ages[id(entry)]
            rare = self.rarity.of(entry.text)
            value = value_of(entry, rare) + age * scale
            if entry.is_later:
                value += NEWER * rare
            if (
                entry.later is not None
                and entry.later.by != PINNED
                and entry.ids[:1] != first_ids
                and entry.section is not Section.CONSTRAINTS
            ):
                # Served alone it would mislead, and together they are long: it goes first.
                value -= OLDER
            elif entry.section is Section.GOALS:
                bonus = FIRST_GOAL if entry.ids[:1] == first_ids else LAST_GOAL if entry is last else 0
                value += bonus * min(1.0, 2 * rare)
            if self.focus and not self.focus.isdisjoint(tokens(entry.text)):
                value += 1_000
            ranks.append((-value, -age, entry))
        ranks.sort(key=lambda rank: rank[:2])
        return [entry for _value_, _age, entry in ranks]
