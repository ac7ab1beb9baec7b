"""What the digest keeps of generated sessions: floors well below what ``tests/bench/digest.py`` measures, on a frozen set."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from compactor.context import SummaryRequest
from compactor.summarizers import DigestSummarizer

sys.path.insert(0, str(Path(__file__).parent / "bench"))

import digest as bench
from digest_sessions import DEVELOPMENT_SEEDS, HELD_BACK_B_SEEDS, HELD_BACK_SEEDS, KINDS, LANGUAGES, make_session

ONE_EACH = DEVELOPMENT_SEEDS[: len(LANGUAGES)]
"""One session per language."""


@pytest.fixture(scope="module")
def plain() -> bench.Score:
    return bench.measure(DigestSummarizer(), ONE_EACH, pins=False)


@pytest.fixture(scope="module")
def pinned() -> bench.Score:
    return bench.measure(DigestSummarizer(), ONE_EACH, pins=True)


def test_without_a_pin_it_keeps_most_and_serves_hardly_anything_stale(plain: bench.Score) -> None:
    assert plain.recall() >= 0.90
    assert plain.stale.total() <= 1
    assert plain.updates == 24


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_item_is_neglected(kind: str, plain: bench.Score) -> None:
    assert plain.recall(kind) >= 0.80


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_language_is_neglected(language: str, plain: bench.Score) -> None:
    assert plain.recall("", language) >= 0.80


def test_with_pins_it_keeps_nearly_everything(pinned: bench.Score) -> None:
    assert pinned.recall() >= 0.95
    assert pinned.stale.total() == 0


def test_at_a_twelfth_of_the_size_most_is_still_there() -> None:
    tight = bench.measure(DigestSummarizer(), ONE_EACH, pins=False, tight=True)
    assert tight.recall() >= 0.80
    assert tight.stale.total() <= 1


def test_a_mutant_that_keeps_head_and_tail_is_found_out() -> None:
    mutant = bench.measure(bench.head_tail, DEVELOPMENT_SEEDS, pins=False)
    assert mutant.recall() < 0.40
    assert mutant.stale.total() > 10


def test_a_mutant_that_keeps_the_first_digest_serves_stale_values() -> None:
    def lazy(request: SummaryRequest) -> str:
        if request.previous_summary is not None and len(request.previous_summary.content) <= request.max_text:
            return request.previous_summary.content
        return DigestSummarizer()(request)

    mutant = bench.measure(lazy, ONE_EACH, pins=False)
    assert mutant.recall() < 0.70
    assert mutant.stale.total() > 4


@pytest.mark.parametrize(("seeds", "frozen"), [(HELD_BACK_SEEDS, "76fc7de27ae05786"), (HELD_BACK_B_SEEDS, "1e8d5da030e495cd")])
def test_the_held_back_sessions_are_the_ones_that_were_frozen(seeds: Sequence[int], frozen: str) -> None:
    plain = [attrs.asdict(make_session(seed)) for seed in seeds]
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == frozen


def test_development_and_held_back_pools_share_no_phrase() -> None:
    from digest_heldback import HELD_BACK
    from digest_phrases import DEVELOPMENT

    for language in LANGUAGES:
        shared = set(DEVELOPMENT[language].strip().split("\n")) & set(HELD_BACK[language].strip().split("\n"))
        assert not shared
