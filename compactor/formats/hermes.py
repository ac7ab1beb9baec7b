"""Hermes sessions (import only): one JSON document with OpenAI-style messages and the session's system prompt.

The prompt and system messages become pinned requirements. A message that begins as Hermes's compressor begins its summaries is
the context's summary: it stands for the middle of the conversation, behind the messages at its start that are always kept.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from compactor.errors import CompactionError, shown
from compactor.messages import Summary
from compactor.plain import SESSION_LIMITS, Limits, is_object

from ._chat_rows import chat_message, words_of
from ._pairing import Draft
from ._sessions import Pins, Row, finished, identified, named, not_in_context, paired, reraised
from ._shared import Log, Names, invalid, kind_of, text_or

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactor.context import ActiveContext

NAME: Final = "hermes"
_SIGNS: Final = ("platform", "session_start", "last_updated", "system_prompt", "message_count")
_COMPACTED: Final = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]")
_BESIDE: Final = frozenset({"session_meta"})


def is_document(keys: Mapping[str, object], fields: Mapping[str, set[str | None]]) -> bool:
    """True for a session's document. *keys* are its own."""
    del fields
    return "session_id" in keys and any(key in keys for key in _SIGNS)


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read a session's document. A message of an unknown role or shape is set aside with its contents."""
    log = Log(name)
    document: Any = data if is_object(data) else {"messages": data}
    items = document.get("messages")
    if type(items) is not list and type(items) is not tuple:
        raise invalid(name, None, f"needs a list of messages, got {kind_of(items)}", "pass the session's document")
    pins, names, beside = Pins(log), Names(), Counter[str]()
    pins.add(text_or(document.get("system_prompt")))
    rows = [dict(item) if is_object(item) else None for item in items]
    told = {"model": document["model"]} if text_or(document.get("model")) else {}
    last = max([at for at, row in enumerate(rows) if row is not None and _is_summary(row)], default=-1)
    summary = None
    drafts: list[Draft] = []
    for index, row in enumerate(rows):
        label = f"messages[{index}]"
        if row is None:
            text = f"{label} is no object but {kind_of(items[index])}; it was set aside"
            log.skip("row_not_object", text, row=items[index])
        elif index == last:
            summary = Summary(words_of(row), id=names.take(text_or(row.get("id"), f"hermes-{index + 1}")))
            log.kept += 1
            if drafts:
                log.add(
                    "summary_moved", f"{label}: the summary stood behind {len(drafts)} kept messages; a context has it in front"
                )
        elif _is_summary(row):
            log.skip("summary_superseded", f"{label}: a later compaction's summary took this one's place", row=row)
        else:
            drafts += _draft(row, index, label, told, names, pins, beside, log)
    messages = paired(drafts, log, names)
    not_in_context(beside, log)
    return finished(NAME, log, rows=len(rows), messages=messages, requirements=pins.tell(), summary=summary, limits=limits)


def _is_summary(row: Row) -> bool:
    return row.get("role") in ("user", "assistant") and not row.get("tool_calls") and words_of(row).startswith(_COMPACTED)


def _draft(row: Row, index: int, label: str, told: Row, names: Names, pins: Pins, beside: Counter[str], log: Log) -> list[Draft]:
    role = text_or(row.get("role"))
    if role in _BESIDE:
        beside[role] += 1
        return []
    if role in ("system", "developer"):
        if pins.add(words_of(row)):
            log.kept += 1
        else:
            log.skip("requirement_doubled", f"{label}: the system text is pinned already, or says nothing", row=row)
        return []
    wanted, made = text_or(row.get("id")), f"hermes-{index + 1}"
    try:
        message = chat_message(row, wanted or made, label, None, log, told if role == "assistant" else None)
        if message is None:
            log.skip("row_not_understood", f"{label}: the message's role or shape is not known; it was set aside", row=row)
            return []
    except CompactionError as error:
        raise reraised(error, log, None, label) from error
    id_ = named(names, wanted, made, log)
    stop = text_or(message.meta.get("stopReason"))
    return [Draft(identified(message, id_), row, f"message {shown(id_)}", None, stop if role == "assistant" else "")]
