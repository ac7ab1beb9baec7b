"""Kimi CLI contexts (import only): JSONL of messages as the model is sent them, between checkpoints and token counts.

The file is the context: a compaction begins a new one, whose first message says so and is the summary. ``_system_prompt``
is pinned, ``_usage`` is kept with the answer before it, ``_checkpoint`` marks a place and says nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from compactor.errors import CompactionError, shown
from compactor.messages import Summary
from compactor.plain import SESSION_LIMITS, Limits, is_blank, is_object

from ._chat_rows import chat_message, words_of
from ._pairing import Draft
from ._sessions import Pins, Row, finished, identified, named, not_in_context, objects, paired, reraised, source_of
from ._shared import Log, Names, text_or

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactor.context import ActiveContext

NAME: Final = "kimi-cli"
_MARKS: Final = frozenset({"_checkpoint", "_usage", "_system_prompt"})
_COMPACTED: Final = "Previous context has been compacted"


def is_row(value: object) -> bool:
    """True for a row that only Kimi CLI writes."""
    return is_object(value) and text_or(value.get("role")) in _MARKS


def is_row_outline(keys: Mapping[str, object]) -> bool:
    """The same for the keys of a row that is cut off."""
    return keys.get("role") in _MARKS


def _is_foreign(row: Row) -> bool:
    return "role" not in row and ("uuid" in row or "payload" in row or row.get("type") == "session")


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read the rows of a context: a list of rows, or ``Rows`` with their lines. A row of another format → FORMAT_INVALID."""
    source = source_of(data, name)
    log = Log(name)
    pins, names, beside = Pins(log), Names(), Counter[str]()
    rows = objects(source, _is_foreign, log)
    usage = _usage(rows)
    summary: Summary | None = None
    prompt: tuple[int, Row] | None = None
    drafts: list[Draft] = []
    for line, row in rows:
        role = text_or(row.get("role"))
        if role == "_system_prompt" and not is_blank(words_of(row)):
            if prompt is not None:
                log.skip("row_superseded", "a later system prompt took this one's place", prompt[0])
            prompt = (line, row)
        elif role.startswith("_"):
            beside[role] += 1
        elif role == "user" and summary is None and not drafts and _is_summary(row):
            summary = Summary(words_of(row), id=names.take(f"kimi-{line}"))
            log.kept += 1
        else:
            drafts += _draft(row, role, line, usage.get(line), names, pins, log)
    if prompt is not None and pins.add(words_of(prompt[1])):
        log.kept += 1
    elif prompt is not None:
        log.skip("requirement_doubled", "the system text is pinned already", prompt[0])
    messages = paired(drafts, log, names)
    not_in_context(beside, log)
    total = len(source.rows) + (source.torn is not None)
    return finished(
        NAME, log, rows=total, messages=messages, requirements=pins.tell(), summary=summary, torn=source.torn, limits=limits
    )


def _usage(rows: list[tuple[int, Row]]) -> dict[int, Any]:
    """The token count behind each answer, by the answer's line."""
    found: dict[int, Any] = {}
    answer: int | None = None
    for line, row in rows:
        if row.get("role") == "assistant":
            answer = line
        elif row.get("role") == "_usage" and answer is not None and "token_count" in row:
            found.setdefault(answer, {"token_count": row["token_count"]})
        elif row.get("role") in ("user", "tool"):
            answer = None
    return found


def _is_summary(row: Row) -> bool:
    return words_of(row).lstrip().removeprefix("<system>").startswith(_COMPACTED)


def _draft(row: Row, role: str, line: int, usage: Any, names: Names, pins: Pins, log: Log) -> list[Draft]:
    if role == "system":
        if pins.add(words_of(row)):
            log.kept += 1
        else:
            log.skip("requirement_doubled", "the system text is pinned already, or says nothing", line, row=row)
        return []
    wanted, made = text_or(row.get("id")), f"kimi-{line}"
    try:
        message = chat_message(row, wanted or made, f"line {line}", line, log, {"usage": usage} if usage is not None else None)
        if message is None:
            log.skip("row_not_understood", "the row's role or shape is not known; it was set aside", line, row=row)
            return []
    except CompactionError as error:
        raise reraised(error, log, line) from error
    id_ = named(names, wanted, made, log, line)
    return [Draft(identified(message, id_), row, f"message {shown(id_)}", line)]
