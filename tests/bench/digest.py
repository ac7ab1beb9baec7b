"""What a digest keeps, per kind and language: ``python tests/bench/digest.py [dev|more|held|heldb|all]``. Never part of the test suite.

Each session is compacted after each of its three rounds, to 20 % of everything that was said so far (*tight*: of what
the context then has, which is about 8 % in the end), half of it for the summary. Pins come on top. An item counts as kept when all its key words stand in what a model would then be sent. An update is served
stale when its old value is there without the new one, or in a line of the summary that does not hold the new one while
no message after the summary says the new one: what is said later corrects what stands before.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import attrs
import trio

sys.path.insert(0, str(Path(__file__).parent))

from digest_sessions import (
    DEVELOPMENT_SEEDS,
    HELD_BACK_B_SEEDS,
    HELD_BACK_SEEDS,
    KINDS,
    LANGUAGES,
    MORE_SEEDS,
    Session,
    make_session,
)

from compactor import ActiveContext, Committed, SummaryRequest, build_active_context, compact_context
from compactor.messages import AssistantMessage, Text, text_of
from compactor.summarizers import DigestSummarizer
from compactor.units import message_units

SHARE: Final = 0.2
SUMMARY_SHARE: Final = 0.5
PINNED: Final = frozenset(("rule", "fact", "old", "update"))
"""What the caller with pins pins: safety rules, and values, which are pinned anew when they change."""
Summarize = Callable[[SummaryRequest], str]


@attrs.define
class Score:
    """Planted and kept items by kind and language, and what was served stale."""

    planted: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    kept: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    stale: Counter[str] = attrs.field(factory=Counter)
    missed: list[tuple[int, str, str, str]] = attrs.field(factory=list)

    def recall(self, kind: str = "", language: str = "") -> float:
        """The share kept, of all or of one kind or language."""
        total = kept = 0
        for key, count in self.planted.items():
            if kind in ("", key[0]) and language in ("", key[1]):
                total += count
                kept += self.kept[key]
        return kept / total if total else 1.0

    @property
    def updates(self) -> int:
        """How many updates there were."""
        return sum([count for key, count in self.planted.items() if key[0] == "update"])


def head_tail(request: SummaryRequest) -> str:
    """The baseline: the beginning and the end of what is to be summarized."""
    parts = [request.previous_summary.content] if request.previous_summary else []
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            parts.append(" ".join([block.text for block in message.content if isinstance(block, Text)]))
        else:
            parts.append(text_of(message.content))
    text, room = "\n".join(filter(None, parts)), request.max_text
    if len(text) <= room:
        return text
    half = (room - 3) // 2
    return f"{text[:half]}\n…\n{text[-half:]}"


async def compacted(session: Session, summarize: Summarize, *, pins: bool, tight: bool = False) -> ActiveContext:
    """The context after three rounds, each of them compacted."""
    pinned: dict[str, str] = {}
    context: ActiveContext | None = None
    said = 0
    for number, messages in enumerate(session.rounds):
        if pins:
            pinned |= {name: text for name, text in session.pins[number].items() if name.split(":")[0] in PINNED}
        whole = build_active_context(
            {
                "requirements": [{"id": f"p{index}", "content": text} for index, text in enumerate(pinned.values())],
                "summary": context and context.summary,
                "messages": [*(context.messages if context else ()), *messages],
            }
        )
        said += sum([message_units(message) for message in whole.messages[len(context.messages) if context else 0 :]])
        if tight:
            said = whole.units - whole.requirement_units
        target = whole.requirement_units + int(SHARE * said)
        options = {
            "max_units": target,
            "target_units": target,
            "summary_max_units": int(SHARE * said * SUMMARY_SHARE),
            "retain_recent_messages": 1,
            "summary_id": f"s{number}",
            "record_id": f"c{number}",
        }
        outcome = await compact_context(whole, options, summarizer=summarize)
        assert isinstance(outcome, Committed)
        context = outcome.context
    assert context is not None
    return context


def served(context: ActiveContext) -> tuple[str, str, str]:
    """The summary, the messages after it, and everything that the model is sent, folded for comparing."""
    summary = context.summary.content if context.summary else ""
    said: list[str] = []
    for message in context.messages:
        content: Any = message.content
        said.append(text_of(content))
    whole = [*[requirement.content for requirement in context.requirements], summary, *said]
    return summary.casefold(), "\n".join(said).casefold(), "\n".join(whole).casefold()


def _stands(key: str, text: str) -> bool:
    """True when *key* stands in *text*, and not as a part of a longer number or name (as 133 in "[m133]")."""
    at = text.find(key)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(key) : at + len(key) + 1]
        if not (_glued(before) and _glued(key[0])) and not (after.isdigit() and key[-1].isdigit()):
            return True
        at = text.find(key, at + 1)
    return False


def _glued(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def judge(session: Session, context: ActiveContext, score: Score) -> None:
    """Add one session to a score."""
    summary, after, whole = served(context)
    for item in session.items:
        slot = item.kind, session.language
        score.planted[slot] += 1
        keys = [key.casefold() for key in item.keys]
        if all(_stands(key, whole) for key in keys):
            score.kept[slot] += 1
        else:
            score.missed.append((session.seed, session.language, item.kind, item.text))
        if item.stale:
            old = item.stale.casefold()
            lines = [line for line in summary.split("\n") if _stands(old, line) and not _stands(keys[0], line)]
            if (lines and not _stands(keys[0], after)) or (_stands(old, whole) and not _stands(keys[0], whole)):
                score.stale[session.language] += 1
                score.missed.append((session.seed, session.language, "STALE", f"{item.text} | {lines[:1]}"))


def measure(summarize: Summarize, seeds: Iterable[int], *, pins: bool, tight: bool = False) -> Score:
    """The score of one way to summarize."""
    score = Score()

    async def run() -> None:
        for seed in seeds:
            session = make_session(seed)
            judge(session, await compacted(session, summarize, pins=pins, tight=tight), score)

    trio.run(run)
    return score


SYSTEMS: Final = (
    ("head-tail", head_tail, False, False),
    ("head-tail, pins", head_tail, True, False),
    ("head-tail, tight", head_tail, False, True),
    ("digest", DigestSummarizer(), False, False),
    ("digest, pins", DigestSummarizer(), True, False),
    ("digest, tight", DigestSummarizer(), False, True),
)


def table(title: str, seeds: Iterable[int]) -> None:
    """Print one split."""
    print(f"\n{title}\n{'':<18}{'all':>6}{'stale':>9}  " + "".join([f"{name[:6]:>7}" for name in (*KINDS, *LANGUAGES)]))
    for name, summarize, pins, tight in SYSTEMS:
        score = measure(summarize, seeds, pins=pins, tight=tight)
        parts = [f"{score.recall(kind):7.0%}" for kind in KINDS] + [f"{score.recall('', tongue):7.0%}" for tongue in LANGUAGES]
        print(f"{name:<18}{score.recall():6.1%}{score.stale.total():>5}/{score.updates:<4} {''.join(parts)}")


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "all"
    if which in ("dev", "all"):
        table("development seeds", DEVELOPMENT_SEEDS)
    if which in ("more", "all"):
        table("more development seeds: updates without a word of change", MORE_SEEDS)
    if which in ("held", "all"):
        table("held-back seeds", HELD_BACK_SEEDS)
    if which in ("heldb", "all"):
        table("second held-back seeds, phrases by other hands", HELD_BACK_B_SEEDS)
