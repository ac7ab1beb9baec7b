"""What a typed user writes; checked by ``mypy --strict`` in CI, never run. A change here is a change of the public types."""

from __future__ import annotations

from typing import assert_type

from compactor import (
    ActiveContext,
    AssistantMessage,
    Budget,
    Committed,
    CompactionRecord,
    Failed,
    Policy,
    SummaryRequest,
    ToolCall,
    ToolResult,
    Unchanged,
    UserMessage,
    build_active_context,
    compact_context,
    open_session,
    portal,
    read_transcript,
    select_compaction_boundary,
)


async def summarize(request: SummaryRequest) -> str:
    assert_type(request.max_text, int)
    return "text"


async def under_trio() -> None:
    context = build_active_context({"messages": []})
    assert_type(context, ActiveContext)
    assert_type(read_transcript("file"), ActiveContext)
    assert_type(select_compaction_boundary(context, {"target_units": 1}), int | None)
    once = await compact_context(context, Budget(100), summarizer=summarize)
    assert_type(once, Unchanged | Committed)
    async with open_session(policy=Policy(100_000), summarizer=summarize) as session:
        call = ToolCall("id", name="tool", arguments={"a": 1})
        kept = await session.append(UserMessage("x"), AssistantMessage([call]), ToolResult(call, "y"))
        assert_type(kept, tuple[UserMessage | AssistantMessage | ToolResult, ...])
        outcome = await session.compact("look at the errors", force=True)
        assert_type(outcome, Unchanged | Committed | Failed)
        if isinstance(outcome, Committed):
            assert_type(outcome.record, CompactionRecord)
        assert_type(session.snapshot, ActiveContext)
        turn = await session.turn(overhead_tokens=10)
        assert_type(turn.fits, bool)


async def under_asyncio() -> None:
    async with portal.open_session(policy=Budget(100)) as session:
        assert_type(await session.compact(), Unchanged | Committed | Failed)


def plain() -> None:
    with portal.open_session(policy=Budget(100)) as session:
        assert_type(session.compact(), Unchanged | Committed | Failed)
