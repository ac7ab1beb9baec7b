"""Budget and Policy: the formulas, worked by hand, and every refusal."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest

from compactor.context import BudgetOptions, build_active_context
from compactor.errors import CompactionError, ErrorCode
from compactor.policy import DEFAULT_WINDOW, FRAME_UNITS, HEADROOM_MAX, Budget, Policy
from compactor.session import plan_compaction

EMPTY = build_active_context({})


def refused(code: ErrorCode, match: str) -> Any:
    return pytest.raises(CompactionError, match=rf"{match}.*\[{code.value}\]$")


def test_what_is_left_out_of_a_budget_is_halved_and_quartered() -> None:
    budget = Budget(1_000)
    assert (budget.target_units, budget.summary_max_units, budget.retain_recent_messages) == (500, 125, 4)
    assert (budget.attempts, budget.timeout) == (2, 300.0)
    assert Budget(1_000, target_units=80).summary_max_units == 20
    assert budget.threshold(EMPTY) == 1_000
    assert budget.options(EMPTY) == BudgetOptions(500, 125, 4)


def test_the_smallest_budget_is_one_unit_each() -> None:
    assert Budget(1).options(EMPTY) == BudgetOptions(1, 1, 4)


def test_a_budget_is_an_immutable_value() -> None:
    assert Budget(8) == Budget(8, target_units=4, summary_max_units=1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Budget(8).max_units = 9


@pytest.mark.parametrize("field", ["max_units", "target_units", "summary_max_units", "retain_recent_messages"])
@pytest.mark.parametrize("value", [-1, 1.5, True, "8", None, math.nan, math.inf, 2**53], ids=repr)
def test_a_number_that_is_no_safe_int_in_its_range_is_refused_by_name(field: str, value: Any) -> None:
    numbers = {"max_units": 100, "target_units": 50, "summary_max_units": 10, "retain_recent_messages": 1} | {field: value}
    with refused(ErrorCode.INVALID_BUDGET, field):
        Budget(**numbers)


@pytest.mark.parametrize("field", ["max_units", "target_units", "summary_max_units"])
def test_zero_units_are_refused(field: str) -> None:
    with refused(ErrorCode.INVALID_BUDGET, field):
        Budget(**{"max_units": 100, field: 0})


def test_no_message_has_to_be_retained() -> None:
    assert Budget(10, retain_recent_messages=0).options(EMPTY).retain_recent_messages == 0


@pytest.mark.parametrize(
    "numbers", [{"target_units": 101}, {"target_units": 50, "summary_max_units": 51}, {"summary_max_units": 200}], ids=str
)
def test_numbers_that_do_not_ascend_are_named(numbers: dict[str, int]) -> None:
    with refused(ErrorCode.INVALID_BUDGET, r"budget: summary [\d,]+, target [\d,]+, maximum 100 \(they must ascend\)"):
        Budget(100, **numbers)


@pytest.mark.parametrize("make", [Budget, Policy])
@pytest.mark.parametrize("attempts", [0, -1, 11, 1.0, True, "2", None], ids=repr)
def test_attempts_are_one_to_ten(make: Any, attempts: Any) -> None:
    with refused(ErrorCode.INVALID_BUDGET, "attempts is not 1 to 10"):
        make(10_000, attempts=attempts)


@pytest.mark.parametrize("make", [Budget, Policy])
@pytest.mark.parametrize("timeout", [0, -1, math.nan, True, "2", None], ids=repr)
def test_a_timeout_is_a_positive_number(make: Any, timeout: Any) -> None:
    with refused(ErrorCode.INVALID_BUDGET, "timeout is not a positive number of seconds"):
        make(10_000, timeout=timeout)


@pytest.mark.parametrize("make", [Budget, Policy])
def test_a_timeout_may_be_infinite_or_whole(make: Any) -> None:
    assert make(10_000, timeout=math.inf).timeout == math.inf
    assert make(10_000, timeout=1, attempts=10).timeout == 1


# window, reserve, headroom → threshold, tail, summary room
WORKED = [
    (327_680, 0, 65_536, 262_144, 52_428, 26_214),  # both sides of the minimum meet: 0.8 w == w - 65,536
    (327_679, 0, 65_535, 262_143, 52_428, 26_214),  # one less: floor(262,143.2) < 262,144
    (327_685, 0, 65_536, 262_148, 52_429, 26_214),  # five more: 0.8 w == 262,148 < 262,149
    (200_000, 0, 40_000, 160_000, 32_000, 16_000),  # what nobody says
    (200_000, 20_000, 40_000, 140_000, 28_800, 14_400),  # the reserve counts on one side only
    (128_000, 16_000, 25_600, 86_400, 17_920, 8_960),
    (1_000_000, 0, 65_536, 800_000, 160_000, 80_000),
    (10, 0, 2, 8, 1, 1),
]


@pytest.mark.parametrize(("window", "reserve", "headroom", "threshold", "tail", "room"), WORKED)
def test_the_classic_rule(window: int, reserve: int, headroom: int, threshold: int, tail: int, room: int) -> None:
    policy = Policy(window, reserve)
    assert (policy.headroom, policy.trigger, policy.tail, policy.summary_room) == (headroom, threshold, tail, room)
    assert policy.threshold(EMPTY) == threshold
    text = room - min(FRAME_UNITS, room // 4)
    assert policy.options(EMPTY) == BudgetOptions(tail + room, text, 1)


def test_requirements_are_added_to_the_target() -> None:
    pinned = build_active_context({"requirements": [{"id": "r", "content": "AB"}]})
    assert pinned.requirement_units == 6
    assert Policy(10_000).options(pinned).target_units == Policy(10_000).options(EMPTY).target_units + 6


def test_the_defaults_are_named() -> None:
    assert (DEFAULT_WINDOW, HEADROOM_MAX) == (200_000, 65_536)
    assert Policy().context_window == DEFAULT_WINDOW
    assert Policy(headroom_tokens=0).trigger == 160_000
    assert Policy(headroom_tokens=50_000).trigger == 150_000


@pytest.mark.parametrize("field", ["threshold_ratio", "retain_ratio", "summary_ratio"])
@pytest.mark.parametrize("value", [0, -0.1, 1.01, math.nan, math.inf, True, "0.5", None], ids=repr)
def test_a_ratio_is_a_share(field: str, value: Any) -> None:
    with refused(ErrorCode.INVALID_BUDGET, rf"{field} is not in \(0, 1\]"):
        Policy(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("context_window", 0),
        ("context_window", "x"),
        ("output_reserve", -1),
        ("output_reserve", None),
        ("retain_recent_messages", -1),
        ("headroom_tokens", -1),
        ("headroom_tokens", 0.5),
    ],
)
def test_a_policys_numbers_are_checked_by_name(field: str, value: Any) -> None:
    with refused(ErrorCode.INVALID_BUDGET, field):
        Policy(**{field: value})


def test_a_window_that_is_eaten_up_is_refused_with_the_numbers() -> None:
    with refused(ErrorCode.INVALID_BUDGET, r"window 1,000 - reserve 900 - headroom 200 leaves nothing"):
        Policy(1_000, 900)


def test_a_tail_that_reaches_the_threshold_would_trigger_again_at_once() -> None:
    with refused(ErrorCode.INVALID_BUDGET, r"tail 700 \+ summary 100 reach the threshold 800"):
        Policy(1_000, retain_ratio=0.7, summary_ratio=0.1)
    assert Policy(1_000, retain_ratio=0.7, summary_ratio=0.099).trigger == 800


def test_a_plan_says_what_would_happen() -> None:
    context = build_active_context({"messages": [{"id": f"u{i}", "role": "user", "content": "x" * 94} for i in range(9)]})
    plan = plan_compaction(context, Budget(800, target_units=300, summary_max_units=100, retain_recent_messages=1))
    assert (plan.boundary, plan.units, plan.threshold, plan.due) == (7, 900, 800, True)
    assert plan.hidden_message_ids == ("u0", "u1", "u2", "u3", "u4", "u5", "u6")
    idle = plan_compaction(context, Budget(900, target_units=100, summary_max_units=100, retain_recent_messages=1))
    assert (idle.boundary, idle.hidden_message_ids, idle.due) == (None, (), False)
    assert "u0" not in repr(plan)
