"""Surface → context, and context → events: what a session begins with, and what it was at any time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .context import ActiveContext, build_live_context, record_to_plain
from .events import APPEND, Draft, Event, EventType
from .messages import message_to_plain
from .plain import Limits
from .surface import Surface

RECORDS_KEPT: Final = 32
"""Records of compactions that a live context carries, the newest; the ledger keeps all of them."""

_GAP: Final = 64
"""Events that are read and not needed, rather than asking once more."""


def spans(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """The ranges, [start, stop) each, that cover *seqs*: few, and without much between."""
    found: list[tuple[int, int]] = []
    for seq in sorted(seqs):
        if found and seq - found[-1][1] < _GAP:
            found[-1] = (found[-1][0], seq + 1)
        else:
            found.append((seq, seq + 1))
    return found


def context_of(
    surface: Surface, events: Mapping[int, Event], records: list[dict[str, Any]], limits: Limits, *, pending: Iterable[Any] = ()
) -> ActiveContext:
    """The context that a surface shows. *events* holds those on the surface and the pins, by seq."""
    shown = [events[seq].data for seq in surface.order]
    summary = shown.pop(0) if surface.order and events[surface.order[0]].type is EventType.SUMMARY_PLACED else None
    return build_live_context(
        {
            "requirements": [{"id": pin, "content": events[seq].data["content"]} for pin, seq in surface.pins.items()],
            "summary": None if summary is None else {"id": summary["id"], "content": summary["content"]},
            "messages": [*shown, *pending],
            "compactions": records[-RECORDS_KEPT:],
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
