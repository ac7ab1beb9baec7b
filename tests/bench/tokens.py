"""Errors and speed of the token estimate: ``python tests/bench/tokens.py [FOLDER]``. Never part of the test suite.

FOLDER holds ``counts.json`` and ``texts/`` (see its README); without it the speed alone is measured. Errors are against
true o200k_base counts. Speed is also given as a ratio to bpe-openai where that is installed, because machines are noisy.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

from compactor.errors import CompactionError
from compactor.tokens import CalibratedEstimator, TokenCounter, estimate_tokens, openai_tokenizer

KIND_MAX, TEXT_MAX, UNDER_MAX = 0.08, 0.25, 0.02
LONG = 1_000_000
RUNS = ["a", "A", "aA", "0", "a0", " ", "\n", "-", "/", "' ", "_a", "中", "я ", "😀", "\ud800"]


def load(folder: Path) -> list[tuple[str, str, str, float]]:
    """Kind, name, text and true count. A text that was cut since it was counted keeps its share of the count."""
    found = []
    for row in json.loads((folder / "counts.json").read_text(encoding="utf-8")):
        text = (folder / "texts" / row["file"]).read_bytes().decode("utf-8")
        found.append((row["kind"], row["name"], text, row["o200k_base"] * len(text) / row["chars"]))
    return found


def errors(texts: list[tuple[str, str, str, float]]) -> None:
    """One line per kind, then the goals."""
    safe = CalibratedEstimator().count
    kinds: dict[str, list[tuple[float, int, float, str, int]]] = defaultdict(list)
    under = 0
    for kind, name, text, true in texts:
        guess = estimate_tokens(text)
        kinds[kind].append((guess / true - 1, guess, true, name, len(text)))
        under += safe(text) < 0.95 * true
    print(f"{'kind':<14} {'texts':>5} {'error':>7} {'worst text':>11} {'':<20} {'chars/4':>8}")
    worst_kind = worst_text = 0.0
    for kind, rows in sorted(kinds.items()):
        true = sum(row[2] for row in rows)
        error = sum(row[1] for row in rows) / true - 1
        text = max(rows, key=lambda row: abs(row[0]))
        plain = sum(row[4] for row in rows) / 4 / true - 1
        print(f"{kind:<14} {len(rows):>5} {error:>+7.1%} {text[0]:>+11.1%} {text[3]:<20.20} {plain:>+8.1%}")
        worst_kind, worst_text = max(worst_kind, abs(error)), max(worst_text, abs(text[0]))
    median = statistics.median(abs(row[0]) for rows in kinds.values() for row in rows)
    print(f"median of a text {median:.1%}")
    for what, figure, goal in (
        ("worst kind", worst_kind, KIND_MAX),
        ("worst text", worst_text, TEXT_MAX),
        ("texts under by more than 5 % with the safety factor", under / len(texts), UNDER_MAX),
    ):
        print(f"{what:<52} {figure:>6.1%} goal ≤ {goal:.0%}  {'ok' if figure <= goal else 'MISSED'}")


def nanoseconds(counter: TokenCounter, text: str, repeat: int = 7) -> float:
    """The best of several runs, per character."""
    shortest = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        counter.count(text)
        shortest = min(shortest, time.perf_counter() - began)
    return shortest / len(text) * 1e9


def speed(samples: dict[str, str]) -> None:
    """Nanoseconds per character, warm, and of one run of a megabyte."""
    ours = CalibratedEstimator()
    try:
        real = openai_tokenizer()
    except CompactionError:
        real = None
    for name, text in samples.items():
        own = nanoseconds(ours, text)
        ratio = "" if real is None else f"  {own / nanoseconds(real, text):5.2f} x bpe-openai"
        print(f"{name:<20} {own:>6.0f} ns a character{ratio}")
    for run in RUNS:
        text = run * (LONG // len(run))
        print(f"{run!a:<14} x 10^6 {nanoseconds(ours, text, 1):>6.0f} ns a character")


def main() -> None:
    """Print both tables."""
    samples = {"english": "The agent reads a file, and then it writes the tests again; nothing failed. " * 200}
    if len(sys.argv) > 1:
        texts = load(Path(sys.argv[1]))
        errors(texts)
        for kind, _name, text, _true in texts:
            samples.setdefault(kind, text)
    speed(samples)


if __name__ == "__main__":
    main()
