"""The rules of a trajectory that ``atif``'s models state, and two that they do not check: the tag, and that calls are answered."""

from __future__ import annotations

from typing import Any, Final

from compactor.errors import shown
from compactor.plain import is_object

METRICS: Final = frozenset({
    "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "prompt_token_ids", "completion_token_ids", "logprobs", "extra",
})  # fmt: skip
_STEP: Final = frozenset({
    "step_id", "timestamp", "source", "model_name", "reasoning_effort", "message", "reasoning_content", "tool_calls",
    "observation", "metrics", "extra", "llm_call_count", "is_copied_context",
})  # fmt: skip
_AGENT: Final = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def check_atif(document: object) -> tuple[str, ...]:
    """List what breaks a rule in a trajectory; empty means valid. Works on any data and never raises."""
    given: Any = document
    if not is_object(given):
        return ("the trajectory is no object",)
    faults: list[str] = []
    version, agent, steps = given.get("schema_version"), given.get("agent"), given.get("steps")
    if type(version) is not str or not version.startswith("ATIF-v1."):
        faults.append("schema_version: needs a tag like ATIF-v1.7")
    if not is_object(agent) or type(agent.get("name")) is not str or type(agent.get("version")) is not str:
        faults.append("agent: needs a name and a version")
    if type(steps) is not list and type(steps) is not tuple:
        return (*faults, "steps: needs a list")
    for index, step in enumerate(steps):
        found = _step(step, index + 1) if is_object(step) else ["needs an object"]
        faults += [f"steps[{index}]: {fault}" for fault in found]
    return tuple(faults)


def _step(step: dict[str, Any], number: int) -> list[str]:
    faults = [f"the key {shown(key)} is not known" for key in step.keys() - _STEP]
    if step.get("step_id") != number:
        faults.append(f"step_id is not {number}")
    if step.get("source") not in ("system", "user", "agent"):
        faults.append("source: needs system, user or agent")
    if type(step.get("message")) not in (str, list, tuple):
        faults.append("message: needs text or parts")
    if step.get("source") != "agent":
        faults += [f"{key} is for agent steps alone" for key in _AGENT if step.get(key) is not None]
    calls, seen = step.get("tool_calls") or (), step.get("observation")
    ids = [call.get("tool_call_id") for call in calls if is_object(call)] if type(calls) in (list, tuple) else []
    results = seen.get("results") if is_object(seen) else ()
    answered = (
        [result.get("source_call_id") for result in results or () if is_object(result)] if type(results) in (list, tuple) else []
    )
    faults += [f"call {shown(id_)} has {answered.count(id_)} results" for id_ in ids if answered.count(id_) != 1]
    faults += [
        f"a result answers {shown(id_)}, which is no call of the step" for id_ in answered if id_ is not None and id_ not in ids
    ]
    return faults
