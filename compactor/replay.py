"""Events → context, and context → events: what a session begins with. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .context import ActiveContext, build_live_context, record_to_plain
from .ledger import APPEND, Draft, Event, EventType, fold
from .messages import message_to_plain
from .plain import Limits


def replayed(session_id: str, events: Sequence[Event], limits: Limits) -> ActiveContext:
    """The context that the events of one session add up to."""
    surface = fold(session_id, events)
    shown = [events[seq].data for seq in surface.order]
    summary = shown.pop(0) if surface.order and events[surface.order[0]].type is EventType.SUMMARY_PLACED else None
    records: list[dict[str, Any]] = []
    for event in events:
        if event.type is EventType.RECORDS_ADOPTED:
            records += event.data["records"]
        elif event.type is EventType.SUMMARY_PLACED and "record" in event.data:
            records.append(event.data["record"])
    return build_live_context(
        {
            "requirements": [{"id": pin, "content": events[seq].data["content"]} for pin, seq in surface.pins.items()],
            "summary": None if summary is None else {"id": summary["id"], "content": summary["content"]},
            "messages": shown,
            "compactions": records,
        },
        limits=limits,
    )


def adopting(context: ActiveContext) -> list[Draft]:
    """The events with which a new session takes a whole context over."""
    drafts = [
        Draft(EventType.REQUIREMENT_PINNED, {"id": requirement.id, "content": requirement.content})
        for requirement in context.requirements
    ]
    if context.compactions:
        drafts.append(Draft(EventType.RECORDS_ADOPTED, {"records": [record_to_plain(record) for record in context.compactions]}))
    if context.summary is not None:
        drafts.append(Draft(EventType.SUMMARY_PLACED, {"id": context.summary.id, "content": context.summary.content}, APPEND))
    drafts += [Draft(EventType.MESSAGE_APPENDED, message_to_plain(message), APPEND) for message in context.messages]
    return drafts
