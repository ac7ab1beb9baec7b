"""The rules that pair tool calls with their results.

A *link* is (call id, tool name, message index); the name is None where it could not be read. The rules are judged on
links alone, after every message was read, so that a late limit beats an early orphan.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from .errors import CompactionError, ErrorCode, shown
from .messages import TranscriptFault

Rule: TypeAlias = str
Link: TypeAlias = tuple[str, str | None, int]

FIXES: Final[dict[Rule, str]] = {
    "INVALID_TRANSCRIPT": "pass a list of messages",
    "INVALID_MESSAGE": "give the message the shape of its role",
    "EMPTY_TOOL_NAME": "name the tool with a string that is not blank",
    "INVALID_TOOL_ARGUMENTS": "pass a JSON object of finite numbers",
    "DUPLICATE_TOOL_CALL_ID": "give each tool call an id of its own",
    "DUPLICATE_TOOL_RESULT": "keep one result for each tool call",
    "ORPHAN_TOOL_RESULT": "drop the result, or put its call before it",
    "TOOL_RESULT_BEFORE_CALL": "put the result after its call",
    "TOOL_NAME_MISMATCH": "give the result the tool name of its call",
    "MISSING_TOOL_RESULT": "append the result, or close the call",
}
"""Every rule that a transcript can break, and what to do about it."""


def well_paired(calls: list[Link], results: list[Link], *, live: bool) -> bool:
    """True when no pairing rule is broken: one quick look, for the transcripts that are in order."""
    asked = {id_: (name, index) for id_, name, index in calls}
    answers = {id_ for id_, _name, _index in results}
    if len(asked) != len(calls) or len(answers) != len(results) or (len(asked) != len(answers) and not live):
        return False
    for id_, name, index in results:
        call = asked.get(id_)
        if call is None or call[0] != name or call[1] >= index:
            return False
    return True


def duplicate_faults(calls: list[Link], results: list[Link]) -> list[TranscriptFault]:
    """Duplicate call ids and duplicate results, in message order."""
    found: list[TranscriptFault] = []
    for rule, links in (("DUPLICATE_TOOL_CALL_ID", calls), ("DUPLICATE_TOOL_RESULT", results)):
        seen: set[str] = set()
        for id_, _name, index in links:
            if id_ in seen:
                found.append(_fault(rule, index, f"call id {shown(id_)} again"))
            seen.add(id_)
    found.sort(key=lambda fault: fault.index)
    return found


def pairing_faults(calls: list[Link], results: list[Link], *, live: bool) -> list[TranscriptFault]:
    """What is wrong between calls and results; *live* allows calls that wait for their result.

    Order: one fault at most for each result id, in first-seen order; then the calls without a result.
    """
    asked: dict[str, tuple[str | None, int]] = {}
    for id_, name, index in calls:
        asked.setdefault(id_, (name, index))
    found: list[TranscriptFault] = []
    judged: set[str] = set()
    answered: set[str] = set()
    for id_, name, index in results:
        call = asked.get(id_)
        if call is not None and index > call[1]:
            answered.add(id_)
        if id_ in judged:
            continue
        judged.add(id_)
        if call is None:
            rule = "ORPHAN_TOOL_RESULT"
        elif index <= call[1]:
            rule = "TOOL_RESULT_BEFORE_CALL"
        elif name is not None and call[0] is not None and name != call[0]:
            rule = "TOOL_NAME_MISMATCH"
        else:
            continue
        found.append(_fault(rule, index, f"result for call {shown(id_)}"))
    if not live:
        found += [
            _fault("MISSING_TOOL_RESULT", index, f"call {shown(id_)} has no result")
            for id_, (_name, index) in asked.items()
            if id_ not in answered
        ]
    return found


def _fault(rule: Rule, index: int, what: str) -> TranscriptFault:
    return TranscriptFault(rule, index, f"messages[{index}]: {what}; {FIXES[rule]}")


def transcript_error(rule: Rule, what: str, where: str) -> CompactionError:
    """A broken rule as an error."""
    return CompactionError(ErrorCode.INVALID_TRANSCRIPT, f"{what} [{rule}]", where=where, fix=FIXES[rule])
