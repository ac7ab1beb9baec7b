"""Makes a valid transcript of messages as they were found: every result behind its call, once, under an id of its own.

Sessions end mid-work and logs repeat themselves. What cannot be paired is set aside with its raw row; a call that
nobody answered is closed by a result that is marked as synthetic; a call of the last assistant message that may still
be running stays open. Every one of these steps leaves a note: nothing is invented silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from compactor.errors import shown
from compactor.messages import AssistantMessage, Message, ToolCall, ToolResult

from ._shared import Log, Names, metadata

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

NO_RESULT: Final = "No result was recorded for this tool call."
"""The content of a synthetic result. It says what is known and nothing else."""

_MAY_WAIT: Final = frozenset({"", "toolUse", "tool_calls"})


@attrs.frozen
class Draft:
    """A message as it was found: pairing not yet judged. *label* names it in notes, *row* is what it was made of."""

    message: Message
    row: object = attrs.field(repr=False)
    label: str
    line: int | None = None
    stop: str = ""
    """Why the model stopped, as far as the format says."""


@attrs.define
class _Call:
    call: ToolCall
    answered_at: int = -1


def repair(drafts: Sequence[Draft], log: Log, names: Names, *, hidden_calls: Collection[str] = ()) -> list[Message]:
    """The messages of *drafts* as a valid live transcript; their ids are distinct already, *names* knows them.

    *hidden_calls* are ids of calls that stood before the visible part. Counts one kept or skipped row per draft.
    """
    call_names = Names()
    calls_ahead = {call.id for draft in drafts if type(draft.message) is AssistantMessage for call in draft.message.tool_calls}
    waiting: dict[str, list[_Call]] = {}
    rounds: list[tuple[int, Draft, list[_Call]]] = []
    kept: list[Message] = []
    for draft in drafts:
        message = draft.message
        if type(message) is AssistantMessage and message.tool_calls:
            message, found = _named(draft, message, call_names, log)
            # A later message that uses the id again takes its results; the older calls of that id are given up.
            waiting |= found
            rounds.append((len(kept), draft, [call for calls in found.values() for call in calls]))
        elif type(message) is ToolResult:
            calls = waiting.get(message.tool_call_id)
            if not calls:
                known = "again" if calls is not None else "hidden" if message.tool_call_id in hidden_calls else ""
                _set_aside(draft, message, known or ("early" if message.tool_call_id in calls_ahead else "orphan"), log)
                continue
            call = calls.pop(0)
            call.answered_at = len(kept)
            message = _answer(draft, message, call.call, log)
        kept.append(message)
        log.kept += 1
    return _closed(kept, rounds, log, names)


def _named(
    draft: Draft, message: AssistantMessage, call_names: Names, log: Log
) -> tuple[AssistantMessage, dict[str, list[_Call]]]:
    """Give each call an id of its own; the message's metadata keeps the ids that were changed."""
    found: dict[str, list[_Call]] = {}
    renamed: dict[str, str] = {}
    blocks = list(message.content)
    for position, block in enumerate(blocks):
        if type(block) is ToolCall:
            call = block
            name = call_names.take(block.id)
            if name != block.id:
                call = ToolCall(name, name=block.name, arguments=block.arguments)
                blocks[position], renamed[name] = call, block.id
                text = f"{draft.label}: call id {shown(block.id)} is used again; this call is now {shown(name)}"
                log.add("call_id_renamed", text, draft.line)
            found.setdefault(block.id, []).append(_Call(call))
    if renamed:
        meta = metadata(message.meta, {"renamedCalls": renamed})
        message = AssistantMessage(tuple(blocks), id=message.id, meta=meta)
    return message, found


_ASIDE: Final = {
    "again": ("duplicate_set_aside", "the call has its result already"),
    "early": ("early_result_set_aside", "the result stands before its call"),
    "hidden": ("orphan_set_aside", "the call was hidden by the compaction"),
    "orphan": ("orphan_set_aside", "no such call stands in this conversation"),
}


def _set_aside(draft: Draft, message: ToolResult, why: str, log: Log) -> None:
    what, reason = _ASIDE[why]
    text = f"{draft.label}: the result for call {shown(message.tool_call_id)} was set aside: {reason}"
    log.skip(what, text, draft.line, row=draft.row)


def _answer(draft: Draft, message: ToolResult, call: ToolCall, log: Log) -> ToolResult:
    """The result under the id and the tool name of its call."""
    meta = message.meta
    if message.tool_name not in ("", call.name):
        text = f"{draft.label}: the result names another tool than its call {shown(call.id)}; the call's name counts"
        log.add("tool_name_corrected", text, draft.line)
    if message.tool_name != call.name or message.tool_call_id != call.id:
        if message.tool_name not in ("", call.name):
            meta = metadata(meta, {"originalToolName": message.tool_name})
        return ToolResult(call, message.content, message.is_error, id=message.id, meta=meta)
    return message


def _closed(kept: list[Message], rounds: list[tuple[int, Draft, list[_Call]]], log: Log, names: Names) -> list[Message]:
    """Close the calls that nobody answered, directly behind what their round has; the last round may wait."""
    last_word = next((at for at in range(len(kept) - 1, -1, -1) if type(kept[at]) is not ToolResult), -1)
    closings: dict[int, list[Message]] = {}
    for start, draft, calls in rounds:
        dead = [call.call for call in calls if call.answered_at < 0]
        if not dead:
            continue
        if start == last_word and draft.stop in _MAY_WAIT:
            ids = ", ".join([shown(call.id) for call in dead[:8]]) + (", ..." if len(dead) > 8 else "")
            text = f"{draft.label}: {len(dead)} call(s) wait for a result at the end of the file and stay open: {ids}"
            log.add("calls_left_open", text, draft.line)
            continue
        reason = draft.stop if draft.stop and draft.stop not in _MAY_WAIT else "no_result"
        end = max([start, *[call.answered_at for call in calls]])
        for call in dead:
            closing = synthetic(call, reason, names)
            closings.setdefault(end, []).append(closing)
            text = f"{draft.label}: call {shown(call.id)} has no result ({reason}); it was closed by a result marked as synthetic"
            log.add("call_closed", text, draft.line)
    if not closings:
        return kept
    return [message for at, found in enumerate(kept) for message in (found, *closings.get(at, ()))]


def synthetic(call: ToolCall, reason: str, names: Names) -> ToolResult:
    """The result that closes a call which nobody answered."""
    meta = {"synthetic": True, "reason": reason}
    return ToolResult(call, NO_RESULT, is_error=True, id=names.take(f"{call.id}-closed"), meta=meta)
