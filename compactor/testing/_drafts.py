"""Drafts that the checks of a store write, and what a refusal is."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

import attrs

from ..errors import CompactionError, ErrorCode
from ..events import APPEND, Draft, Event, EventType, Replace, Restore, Rewind, ranges
from ..ledger import Ledger
from ..surface import Surface


def user(name: str, text: str = "x") -> Draft:
    """A user message."""
    return Draft(EventType.MESSAGE_APPENDED, {"id": name, "role": "user", "content": text}, APPEND)


def asking(name: str, *calls: str, **arguments: str) -> Draft:
    """An assistant message with tool calls."""
    blocks = [{"type": "toolCall", "id": call, "name": "tool", "arguments": arguments} for call in calls]
    return Draft(EventType.MESSAGE_APPENDED, {"id": name, "role": "assistant", "content": blocks}, APPEND)


def answer(name: str, call: str, text: str = "x") -> dict[str, Any]:
    """The data of a tool result."""
    return {"id": name, "role": "toolResult", "toolCallId": call, "toolName": "tool", "content": text, "isError": False}


def answering(name: str, call: str, text: str = "x") -> Draft:
    """A tool result."""
    return Draft(EventType.MESSAGE_APPENDED, answer(name, call, text), APPEND)


def started(run: str) -> Draft:
    """The start marker of a run."""
    return Draft(EventType.COMPACTION_STARTED, {"run": run})


def ended(run: str, code: str | None = None) -> Draft:
    """The end marker of a run."""
    return Draft(EventType.COMPACTION_ENDED, {"run": run, "code": code})


def placed(run: str, hidden: Sequence[int]) -> Draft:
    """A summary that hides *hidden*, the seqs of a span in its order."""
    data = {"id": f"s-{run}", "content": "a summary", "run": run, "hidden": ranges(hidden)}
    return Draft(EventType.SUMMARY_PLACED, data, Replace(hidden[0], hidden[-1]), tuple(hidden))


def pruned(seq: int, data: dict[str, Any]) -> Draft:
    """A shorter result in place of event *seq*."""
    return Draft(EventType.TOOL_RESULT_PRUNED, data, Replace(seq, seq), (seq,))


def undone(*summaries: int) -> Draft:
    """What these summaries hid comes back."""
    return Draft(EventType.COMPACTION_UNDONE, {"records": []}, Restore(summaries), summaries)


def rewound(seq: int, less: int = 0) -> Draft:
    """The surface is again what it was at *seq*."""
    return Draft(EventType.SURFACE_REWOUND, {"to": seq}, Rewind(seq, less))


def pinned(name: str, text: str = "a rule") -> Draft:
    """A requirement."""
    return Draft(EventType.REQUIREMENT_PINNED, {"id": name, "content": text})


def seqs_of(events: Sequence[Event]) -> list[int]:
    """Where events stand."""
    return [event.seq for event in events]


def state(surface: Surface) -> tuple[dict[str, Any], list[str]]:
    """All of a surface, in a form that can be compared; the order of the pins counts."""
    return attrs.asdict(surface), list(surface.pins)


async def refused(code: ErrorCode, wanted: Awaitable[Any]) -> CompactionError:
    """Assert that *wanted* is refused with *code*."""
    try:
        await wanted
    except CompactionError as error:
        assert error.code is code, f"refused with {error.code}, not {code}"
        return error
    msg = f"was not refused with {code}"
    raise AssertionError(msg)


async def unchanged(ledger: Ledger, session_id: str, wanted: Awaitable[Any], code: ErrorCode) -> CompactionError:
    """Assert that *wanted* is refused, and that the session is what it was."""
    before = await ledger.read(session_id), state(await ledger.surface_at(session_id))
    error = await refused(code, wanted)
    assert (await ledger.read(session_id), state(await ledger.surface_at(session_id))) == before, "a refusal changes nothing"
    return error
