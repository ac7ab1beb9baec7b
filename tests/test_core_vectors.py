"""Every case of the rules that calls a pure function: units, groups, boundaries, limits, and the faults of a transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from vectors import OWN, expand, load, op, params

from compactor.boundary import group_tool_rounds
from compactor.context import estimate_context_units, select_compaction_boundary
from compactor.errors import CompactionError
from compactor.messages import is_message
from compactor.reading import read_one
from compactor.transcript import validate_transcript

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = {"toolRound": "tool_round", "message": "message"}
SNAKE = {"targetUnits": "target_units", "summaryMaxUnits": "summary_max_units", "retainRecentMessages": "retain_recent_messages"}


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the stable code it raises."""
    try:
        return call()
    except CompactionError as error:
        return {"error": error.code.value}


@pytest.mark.parametrize("case", params("units"))
def test_units_are_those_of_the_rules(case: dict[str, Any]) -> None:
    data = expand(case["input"])
    assert outcome(lambda: {"units": estimate_context_units(data)}) == case["expected"]


@pytest.mark.parametrize("case", params("groups"))
def test_groups_and_faults_are_those_of_the_rules(case: dict[str, Any]) -> None:
    data, expected = expand(case["input"]), dict(case["expected"])
    faults = expected.pop("validation", [])
    groups = outcome(lambda: group_tool_rounds(data))
    if "error" in expected:
        assert groups == expected
    elif "groups" in expected:
        assert [[group.kind, group.start, group.end] for group in groups] == [
            [NAMES[kind], start, end] for kind, start, end in expected["groups"]
        ]
    else:
        rounds = sum(group.kind == "tool_round" for group in groups)
        assert {"nGroups": len(groups), "nToolRounds": rounds} == expected
    if faults or "error" not in expected:
        assert [[fault.rule, fault.index] for fault in validate_transcript(data)] == faults


@pytest.mark.parametrize("case", params("boundary"))
def test_the_boundary_is_that_of_the_rules(case: dict[str, Any]) -> None:
    data, options = expand(case["input"]), expand(case["options"])
    assert outcome(lambda: {"boundary": select_compaction_boundary(data, options)}) == case["expected"]
    if isinstance(options, dict):
        renamed: dict[str, Any] = {SNAKE.get(key, str(key)): value for key, value in options.items()}
        assert outcome(lambda: {"boundary": select_compaction_boundary(data, renamed)}) == case["expected"]


@pytest.mark.parametrize("case", [case for case in params("units") if "units" in case.values[0].get("expected", ())])
def test_nouns_in_plain_data_cost_what_their_plain_form_costs(case: dict[str, Any]) -> None:
    data = expand(case["input"])
    # Every second message is handed over as a noun.
    mixed = [read_one(message)[0] if at % 2 else message for at, message in enumerate(data.get("messages", []))]
    assert all(is_message(message) for message in mixed[1::2])
    assert {"units": estimate_context_units({**data, "messages": mixed})} == case["expected"]


def test_the_own_cases_name_themselves_once() -> None:
    ids = [case["id"] for case in load(OWN)]
    assert len(ids) == len(set(ids))
    assert {op(case) for case in load(OWN)} == {"units", "groups", "boundary"}
