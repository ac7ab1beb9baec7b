"""Every case of the rules that compacts: one call, sequences of calls, limits. An own set runs without the shared file."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
import trio.testing
from vectors import ROOT, SHARED, expand, load, op

from compactor.compaction import compact_context
from compactor.context import ActiveContext, build_active_context
from compactor.errors import CompactionError

MESSAGES = {"$recipe": "list", "n": 6, "item": {"id": "u{i}", "role": "user", "content": "0123456789"}}
OPTIONS = {
    "maxUnits": 60,
    "targetUnits": 50,
    "summaryMaxUnits": 20,
    "retainRecentMessages": 1,
    "summaryId": "s",
    "recordId": "c",
}
# Six messages of 4 + 2 + 10 = 16 units, 96 together. With 20 for the summary one message fits below 50: the cut is 5.
RECORD = {
    "id": "c",
    "summaryId": "s",
    "boundary": 5,
    "compactedMessageIds": ["u0", "u1", "u2", "u3", "u4"],
    "unitsBefore": 96,
    "unitsAfter": 24,
}
REQUEST = {
    "boundary": 5,
    "maxSummaryUnits": 20,
    "previousSummary": None,
    "requirementIds": [],
    "messageIds": ["u0", "u1", "u2", "u3", "u4"],
}


def _own(name: str, expected: Any, summarizer: Any = None, **options: Any) -> dict[str, Any]:
    return {
        "id": f"own-{name}",
        "kind": "compact",
        "input": {"messages": MESSAGES},
        "options": {**OPTIONS, **options},
        "summarizer": summarizer or {"type": "return", "value": "S"},
        "expected": expected,
    }


COMPACTED = {
    "status": "compacted",
    "units": 5 + 1 + 1 + 16,
    "calls": 1,
    "request": REQUEST,
    "record": {**RECORD, "unitsAfter": 23},
    "summary": {"id": "s", "content": "S"},
    "messageIds": ["u5"],
    "compactionIds": ["c"],
}
OWN_CASES = [
    _own("a-summary-replaces-the-prefix", COMPACTED),
    _own("an-async-summary-does-too", COMPACTED, {"type": "return", "value": "S", "async": True}),
    _own(
        "the-maximum-itself-is-unchanged",
        {"status": "unchanged", "units": 96, "calls": 0, "request": None, "record": None, "compactionIds": []},
        maxUnits=96,
    ),
    _own(
        "a-summary-of-exactly-the-budget",
        COMPACTED | {"units": 36, "summary": {"id": "s", "content": "S" * 14}, "record": {**RECORD, "unitsAfter": 36}},
        {"type": "return", "value": "S" * 14},
    ),
    _own("one-more-is-too-much", {"error": "CONTEXT_SUMMARY_INSUFFICIENT", "calls": 1}, {"type": "return", "value": "S" * 15}),
    _own("blank", {"error": "CONTEXT_SUMMARY_INSUFFICIENT", "calls": 1}, {"type": "return", "value": " \u3000\ufeff"}),
    _own("no-text", {"error": "CONTEXT_SUMMARY_INVALID", "calls": 1}, {"type": "return", "value": 1}),
    _own("raises", {"error": "CONTEXT_SUMMARIZER_FAILED", "calls": 1}, {"type": "raise"}),
    _own("missing", {"error": "CONTEXT_INVALID_INPUT", "calls": 0}, {"type": "missing"}),
    _own("not-callable", {"error": "CONTEXT_INVALID_INPUT", "calls": 0}, {"type": "value", "value": "S"}),
    _own("no-boundary", {"error": "CONTEXT_BOUNDARY_UNAVAILABLE", "calls": 0}, retainRecentMessages=6),
    _own("target-over-maximum", {"error": "CONTEXT_INVALID_BUDGET", "calls": 0}, targetUnits=61),
    _own("blank-record-id", {"error": "CONTEXT_INVALID_INPUT", "calls": 0}, recordId=" "),
    _own("cancelled-before", {"error": "CONTEXT_CANCELLED", "calls": 0}, signal={"$signal": "cancelled"}),
    _own(
        "cancelled-during-beats-a-bad-value",
        {"error": "CONTEXT_CANCELLED", "calls": 1},
        {"type": "return", "value": 1, "async": True, "cancel": "during"},
        signal={"$signal": "fresh"},
    ),
    _own(
        "cancelled-late",
        {"error": "CONTEXT_CANCELLED", "calls": 1},
        {"type": "return", "value": "S", "async": True, "cancel": "late"},
        signal={"$signal": "fresh"},
    ),
    _own(
        "a-plain-callable-that-cancels-and-raises-has-failed",
        {"error": "CONTEXT_SUMMARIZER_FAILED", "calls": 1},
        {"type": "raise", "cancel": "during"},
        signal={"$signal": "fresh"},
    ),
    _own("pending", {"error": "CONTEXT_CANCELLED", "calls": 1}, {"type": "pending"}, signal={"$signal": "fresh"}),
    _own("no-signal", {"error": "CONTEXT_INVALID_INPUT", "calls": 0}, signal=1),
    {
        "id": "own-a-sequence",
        "kind": "compact",
        "input": {"messages": MESSAGES},
        "steps": [
            {"append": [], "options": OPTIONS, "summarizer": {"type": "raise"}},
            {"append": [], "options": OPTIONS, "summarizer": {"type": "return", "value": "S"}},
            {
                "append": [{"id": f"v{i}", "role": "user", "content": "0123456789"} for i in range(3)],
                "options": {**OPTIONS, "summaryId": "s2", "recordId": "c2"},
                "summarizer": {"type": "return", "value": "T"},
            },
        ],
        "expected": [
            {"error": "CONTEXT_SUMMARIZER_FAILED"},
            COMPACTED,
            {
                "status": "compacted",
                "calls": 1,
                "request": {
                    "boundary": 3,
                    "maxSummaryUnits": 20,
                    "previousSummary": {"id": "s", "content": "S"},
                    "requirementIds": [],
                    "messageIds": ["u5", "v0", "v1"],
                },
                "summary": {"id": "s2", "content": "T"},
                "messageIds": ["v2"],
                "compactionIds": ["c", "c2"],
            },
        ],
    },
]


def cases() -> list[Any]:
    found = [pytest.param(case, id=case["id"]) for case in OWN_CASES]
    if not SHARED.exists():
        reason = f"NOT RUN: the shared vectors are not at ../{SHARED.relative_to(ROOT.parent)}"
        return [*found, pytest.param({}, id="shared-vectors", marks=pytest.mark.skip(reason=reason))]
    return found + [pytest.param(case, id=case["id"]) for case in load(SHARED) if op(case) == "compact"]


@attrs.define
class Call:
    """One call of ``compact_context`` as a case describes it, and what was asked of the summarizer."""

    summarizer: dict[str, Any]
    scope: trio.CancelScope | None = None
    requests: list[Any] = attrs.field(factory=list)

    def options(self, given: Any) -> Any:
        """The case's options, its signal made a scope."""
        if not isinstance(given, dict) or not isinstance(given.get("signal"), dict):
            return given
        signal = given["signal"]
        if "$signal" not in signal:
            return given
        self.scope = trio.CancelScope()
        if signal["$signal"] == "cancelled":
            self.scope.cancel()
        return {**given, "signal": self.scope}

    def answer(self) -> Any:
        if self.summarizer["type"] == "raise":
            raise RuntimeError("the case says so")
        return expand(self.summarizer.get("value"))

    def plain(self, request: Any) -> Any:
        self.requests.append(request)
        if self.summarizer.get("cancel"):
            self.scope.cancel()
        return self.answer()

    async def later(self, request: Any) -> Any:
        self.requests.append(request)
        if self.summarizer.get("cancel") == "during":
            self.scope.cancel()
        if self.summarizer.get("cancel") == "late":
            await trio.lowlevel.checkpoint()
            self.scope.cancel()
        return self.answer()

    async def pending(self, request: Any) -> Any:
        self.requests.append(request)
        await trio.sleep_forever()

    def keywords(self) -> dict[str, Any]:
        match self.summarizer["type"]:
            case "missing":
                return {}
            case "value":
                return {"summarizer": self.summarizer["value"]}
            case "pending":
                return {"summarizer": self.pending}
            case _:
                return {"summarizer": self.later if self.summarizer.get("async") else self.plain}

    async def run(self, context: Any, given: Any) -> Any:
        """What the call returns; an error is returned, too."""
        options = self.options(given)
        async with trio.open_nursery() as nursery:
            if self.summarizer["type"] == "pending" and self.scope is not None:
                nursery.start_soon(self._cancel_when_pending)
            try:
                return await compact_context(context, options, **self.keywords())
            except CompactionError as error:
                return error
            finally:
                nursery.cancel_scope.cancel()

    async def _cancel_when_pending(self) -> None:
        await trio.testing.wait_all_tasks_blocked()
        assert self.requests
        self.scope.cancel()


def seen(result: Any, call: Call, expected: dict[str, Any]) -> dict[str, Any]:
    """The result, in the words of the case, as far as the case has any."""
    if isinstance(result, CompactionError):
        full: dict[str, Any] = {"error": result.code.value, "calls": len(call.requests)}
        return {key: full.get(key) for key in expected} | {"error": full["error"]}
    context, record = result.context, result.record
    full = {
        "status": "unchanged" if record is None else "compacted",
        "units": context.units,
        "calls": len(call.requests),
        "request": None,
        "record": None,
        "summary": None if context.summary is None else {"id": context.summary.id, "content": context.summary.content},
        "messageIds": [message.id for message in context.messages],
        "compactionIds": [entry.id for entry in context.compactions],
        "nMessages": len(context.messages),
        "nCompactions": len(context.compactions),
    }
    if record is not None:
        full["record"] = {
            "id": record.id,
            "summaryId": record.summary_id,
            "boundary": record.boundary,
            "compactedMessageIds": list(record.compacted_message_ids),
            "unitsBefore": record.units_before,
            "unitsAfter": record.units_after,
            "nIds": len(record.compacted_message_ids),
        }
        if isinstance(expected.get("record"), dict):
            full["record"] = {key: full["record"][key] for key in expected["record"]}
    for request in call.requests:
        previous = request.previous_summary
        full["request"] = {
            "boundary": request.boundary,
            "maxSummaryUnits": request.max_summary_units,
            "previousSummary": None if previous is None else {"id": previous.id, "content": previous.content},
            "requirementIds": [requirement.id for requirement in request.requirements],
            "messageIds": list(request.messages.ids),
        }
    return {key: full[key] for key in expected}


def with_appended(context: Any, appended: list[Any]) -> Any:
    """The context with messages appended; left as plain data where that is not valid."""
    if isinstance(context, ActiveContext):
        plain: dict[str, Any] = {
            "requirements": context.requirements,
            "summary": context.summary,
            "messages": list(context.messages),
            "compactions": context.compactions,
        }
    else:
        plain = dict(context)
    plain["messages"] = [*plain.get("messages", []), *appended]
    try:
        return build_active_context(plain)
    except CompactionError:
        return plain


@pytest.mark.parametrize("case", cases())
async def test_compaction_is_that_of_the_rules(case: dict[str, Any]) -> None:
    context = expand(case["input"])
    if "steps" not in case:
        call = Call(case["summarizer"])
        result = await call.run(context, expand(case.get("options")))
        assert seen(result, call, case["expected"]) == case["expected"]
        return
    assert len(case["steps"]) == len(case["expected"])
    for step, expected in zip(case["steps"], case["expected"], strict=True):
        context = with_appended(context, expand(step["append"]))
        call = Call(step["summarizer"])
        result = await call.run(context, expand(step["options"]))
        assert seen(result, call, expected) == expected
        if not isinstance(result, CompactionError):
            context = result.context


async def test_unchanged_is_the_very_same_object() -> None:
    context = build_active_context({"messages": expand(MESSAGES)})
    call = Call({"type": "raise"})
    result = await call.run(context, {**OPTIONS, "maxUnits": 96})
    assert result.context is context
    assert not call.requests


async def test_the_unchanged_path_does_not_look_at_the_scope() -> None:
    call = Call({"type": "raise"})
    result = await call.run({"messages": []}, {**OPTIONS, "signal": {"$signal": "cancelled"}})
    assert result.record is None


async def test_a_used_scope_is_refused_with_advice() -> None:
    with trio.CancelScope() as used:
        await trio.lowlevel.checkpoint()
    with pytest.raises(CompactionError, match=r"options\.signal: was entered before.*pass a new CancelScope"):
        await compact_context({"messages": []}, {**OPTIONS, "summarizer": lambda _request: "S", "signal": used})


async def test_cancellation_of_a_scope_outside_reaches_its_owner() -> None:
    context = build_active_context({"messages": expand(MESSAGES)})
    with trio.CancelScope() as outside:

        def cancels(_request: object) -> str:
            outside.cancel()
            return "S"

        await compact_context(context, OPTIONS, summarizer=cancels)
        raise AssertionError("not reached")
    assert outside.cancelled_caught


async def test_options_may_use_either_spelling() -> None:
    snake = {
        "max_units": 60,
        "target_units": 50,
        "summary_max_units": 20,
        "retain_recent_messages": 1,
        "summary_id": "s",
        "record_id": "c",
        "summarizer": lambda _request: "S",
    }
    first = await compact_context({"messages": expand(MESSAGES)}, snake)
    second = await compact_context({"messages": expand(MESSAGES)}, OPTIONS, summarizer=lambda _request: "S")
    assert first == second
