"""What the importers of session files share: rows that are objects, system texts, and the count of what was kept.

One row can give several messages and several rows one message. A row is kept when at least one of its messages is in
the context; the pairing of calls and results, which counts messages, is counted again here by rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.context import build_live_context, with_report
from compactor.errors import CompactionError, ErrorCode, shown
from compactor.messages import AssistantMessage, Requirement, ToolResult, UserMessage
from compactor.plain import SESSION_LIMITS, is_blank, is_object

from ._pairing import repair
from ._shared import Log, Names, Rows, invalid, kind_of, replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from compactor.context import ActiveContext
    from compactor.messages import Message, Summary
    from compactor.plain import Limits

    from ._pairing import Draft

Row = dict[str, Any]
_SYSTEM: Final = "system-{}"


def source_of(data: object, name: str) -> Rows:
    """The rows that a caller or a reader passes."""
    if type(data) is Rows:
        return data
    if type(data) is list or type(data) is tuple:
        return Rows(tuple(enumerate(data, start=1)))
    raise invalid(name, None, f"needs a list of rows, got {kind_of(data)}", "pass the decoded rows of the session file")


def objects(source: Rows, is_foreign: Callable[[Row], bool], log: Log) -> list[tuple[int, Row]]:
    """The rows that are objects, each a copy that is equal to no other by identity; a row of another format ends the import."""
    found: list[tuple[int, Row]] = []
    for line, row in source.rows:
        if not is_object(row):
            log.skip("row_not_object", f"the row is no JSON object but {kind_of(row)}; it was set aside", line, row=row)
        elif is_foreign(row):
            raise invalid(
                log.name, line, "the row belongs to another format than the rest", "keep one session of one format in a file"
            )
        else:
            found.append((line, dict(row)))
    return found


def not_in_context(kinds: dict[str, int], log: Log) -> None:
    """Count rows that are known to hold no message, one note for each kind."""
    for kind, count in kinds.items():
        log.skip("row_not_in_context", f"{count} {shown(kind)} rows are not part of the context", rows=count)


@attrs.define
class Pins:
    """System and developer texts, each once, in their order."""

    log: Log
    found: list[Requirement] = attrs.field(factory=list)

    def add(self, text: str) -> bool:
        """Pin a text; False when it is pinned already, or says nothing."""
        if is_blank(text) or any(item.content == text for item in self.found):
            return False
        self.found.append(Requirement(text, id=_SYSTEM.format(len(self.found) + 1)))
        return True

    def tell(self) -> tuple[Requirement, ...]:
        """Note what was pinned."""
        if self.found:
            self.log.add("system_pinned", f"{len(self.found)} system texts were pinned as requirements, in their order")
        return tuple(self.found)


def reraised(error: CompactionError, log: Log, line: int | None, label: str = "") -> CompactionError:
    """An error of the nouns at the place in the file."""
    if label:
        error = CompactionError(error.code, error.message, where=label, fix=error.fix)
    return replaced(error, log.name, line)


def identified(message: Message, id_: str) -> Message:
    """The message under another id."""
    match message:
        case UserMessage():
            return UserMessage(message.content, id=id_, meta=message.meta)
        case AssistantMessage():
            return AssistantMessage(message.content, id=id_, meta=message.meta)
        case ToolResult():
            call, tool = message.tool_call_id, message.tool_name
            return ToolResult(call, message.content, message.is_error, tool_name=tool, id=id_, meta=message.meta)


def named(names: Names, wanted: str, other: str, log: Log, line: int | None = None) -> str:
    """The id that a file gives, where it is still free; *other* where it gives none."""
    id_ = names.take(wanted or other)
    if wanted and id_ != wanted:
        log.add("id_made", f"id {shown(wanted)} is used again; this message is now {shown(id_)}", line)
    return id_


def paired(drafts: Sequence[Draft], log: Log, names: Names, *, hidden_calls: Collection[str] = ()) -> list[Message]:
    """The messages of *drafts* as a valid transcript; drafts of one row have that row, by identity."""
    scratch = Log(log.name)
    messages = repair(drafts, scratch, names, hidden_calls=hidden_calls)
    ids = {message.id for message in messages}
    alive = {id(draft.row) for draft in drafts if draft.message.id in ids}
    lost = iter([draft for draft in drafts if draft.message.id not in ids])
    counted: set[int] = set()
    for note in scratch.notes:
        if note.rows:
            row = id(next(lost).row)
            is_whole = row not in alive and row not in counted
            counted.add(row)
            log.skipped += is_whole
            log.notes.append(attrs.evolve(note, rows=int(is_whole)))
        else:
            log.notes.append(note)
    log.kept += len(alive)
    return messages


def finished(
    format_: str,
    log: Log,
    *,
    rows: int,
    messages: Sequence[Message],
    requirements: Sequence[Requirement] = (),
    summary: Summary | None = None,
    torn: Any = None,
    limits: Limits = SESSION_LIMITS,
) -> ActiveContext:
    """Build the context and close the book. What the nouns cannot hold of a file is the file's fault."""
    channels = {"requirements": tuple(requirements), "summary": summary, "messages": list(messages)}
    try:
        context = build_live_context(channels, limits=limits)
    except CompactionError as error:
        if error.code is ErrorCode.LIMIT_EXCEEDED and limits == SESSION_LIMITS:
            raise replaced(error, log.name, None) from error
        raise
    return with_report(context, log.report(format_, rows, torn))
