"""Claude Code rows → drafts. One block of an answer stands on each row: rows of one ``message.id`` are one message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, shown
from compactor.messages import AssistantMessage, Block, UserMessage
from compactor.plain import is_object

from ._anthropic_parts import ANTHROPIC, assistant_block, noted, plain_block, plain_content, result_of
from ._pairing import Draft
from ._reply import pruned
from ._shared import Log, Names, metadata, replaced, text_or, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.messages import Message

_STRUCTURE: Final = (
    "type", "uuid", "parentUuid", "logicalParentUuid", "message", "sessionId", "session_id", "isSidechain", "userType", "version",
    "cwd", "gitBranch", "slug", "entrypoint", "timestamp", "agentId",
)  # fmt: skip
_REPLY: Final = ("role", "content", "id", "type", "model", "stop_reason", "stop_sequence", "usage")
_STOPS: Final = {"tool_use": "toolUse"}


@attrs.frozen
class Row:
    """A row that is an object. *uuid* is empty when it has none."""

    line: int
    row: dict[str, Any] = attrs.field(repr=False)
    kind: str
    uuid: str
    message: Any = attrs.field(repr=False)
    """The row's message when it is an object with a content, else None."""
    blocks: tuple[Any, ...] = attrs.field(repr=False)
    """The blocks of its content; empty for text."""

    @classmethod
    def of(cls, line: int, row: dict[str, Any]) -> Row:
        """Look at a row once."""
        found: Any = row.get("message")
        content: Any = found.get("content") if is_object(found) else None
        message = found if type(content) in (str, list, tuple) else None
        blocks = tuple(content) if type(content) is list or type(content) is tuple else ()
        return cls(line, row, text_or(row.get("type")), text_or(row.get("uuid")), message, blocks)

    @property
    def spoken(self) -> bool:
        """True for a user's or an assistant's row."""
        return self.kind in ("user", "assistant") and self.message is not None

    @property
    def answer_id(self) -> str:
        """The ``message.id`` of an assistant's row."""
        return text_or((self.message or {}).get("id")) if self.kind == "assistant" else ""

    @property
    def results(self) -> list[dict[str, Any]]:
        """The tool_result blocks of a user's row."""
        return (
            [block for block in self.blocks if is_object(block) and block.get("type") == "tool_result"]
            if self.kind == "user"
            else []
        )

    @property
    def speaks(self) -> bool:
        """True when it ends an answer: the user says something, not only tools."""
        return self.kind == "user" and (not self.blocks or len(self.results) < len(self.blocks))


def grouped(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each message: an answer's rows stand together, wherever results came between them."""
    groups: list[list[Row]] = []
    answers: dict[str, list[Row]] = {}
    for row in rows:
        if row.speaks:
            answers = {}
        known = answers.get(row.answer_id) if row.answer_id else None
        if known is not None:
            known.append(row)
            continue
        groups.append([row])
        if row.answer_id:
            answers[row.answer_id] = groups[-1]
    return groups


class Reader:
    """Makes drafts of groups of rows; remembers the ids that it made for calls without one."""

    def __init__(self, names: Names, log: Log) -> None:
        self.names = names
        self._log = log
        self._made: dict[str, list[str]] = {}

    def read(self, group: Sequence[Row]) -> list[Draft]:
        """The drafts of one group: an answer, or the results and then the words of a user's row."""
        first = group[0]
        try:
            messages = [self._answer(group)] if first.kind == "assistant" else self._sent(first)
        except CompactionError as error:
            raise replaced(error, self._log.name, first.line) from error
        stop = text_or(messages[0].meta.get("stopReason"))
        row: object = first.row if len(group) == 1 else tuple([row.row for row in group])
        return [
            Draft(message, row, f"message {shown(message.id)}", first.line, _STOPS.get(stop, "" if stop == "end_turn" else stop))
            for message in messages
        ]

    def _id(self, wanted: str, line: int) -> str:
        id_ = self.names.take(wanted or f"claude-{line}")
        if wanted and id_ != wanted:
            self._log.add("id_made", f"id {shown(wanted)} is used again; this message is now {shown(id_)}", line)
        return id_

    def _answer(self, group: Sequence[Row]) -> AssistantMessage:
        first, last = group[0], group[-1]
        id_ = self._id(first.answer_id or first.uuid, first.line)
        blocks: list[Block] = []
        extras: dict[str, Any] = {}
        for row in group:
            content = row.message["content"]
            for block in [{"type": "text", "text": content}] if type(content) is str else content:
                made = self._call_id(block, row, id_, len(blocks))
                blocks.append(assistant_block(block, len(blocks), extras, made))
        inner = last.message
        told = {
            "provider": ANTHROPIC,
            "model": inner.get("model"),
            "stopReason": next((stop for row in reversed(group) if (stop := row.message.get("stop_reason"))), None),
            "usage": inner.get("usage"),
        }
        rest = pruned(without(inner, *_REPLY))
        return AssistantMessage(
            tuple(blocks), id=id_, meta=metadata(_beside(first), _beside(last), pruned(told), noted(extras, rest))
        )

    def _call_id(self, block: Any, row: Row, id_: str, index: int) -> str:
        """An id for a call that came without one."""
        if not is_object(block) or block.get("type") != "tool_use" or text_or(block.get("id")):
            return ""
        made = f"{id_}-call-{index + 1}"
        self._made.setdefault(row.uuid, []).append(made)
        self._log.add("id_made", f"a call of {shown(block.get('name'))} has no id; it is now {shown(made)}", row.line)
        return made

    def _sent(self, row: Row) -> list[Message]:
        found: list[Message] = []
        beside = _beside(row)
        said: list[Any] = []
        for block in row.blocks:
            if is_object(block) and block.get("type") == "tool_result":
                call = text_or(block.get("tool_use_id")) or self._answered(row)
                found.append(
                    result_of(block, "", self._id(row.uuid, row.line) if not found else self.names.take(row.uuid), call, beside)
                )
            else:
                said.append(block)
        if not row.blocks:
            content = plain_content(row.message["content"], {}) or ""
            return [UserMessage(content, id=self._id(row.uuid, row.line), meta=metadata(beside))]
        if said:
            extras: dict[str, Any] = {}
            blocks = tuple([plain_block(block, at, extras) for at, block in enumerate(said)])
            id_ = self.names.take(f"{row.uuid or f'claude-{row.line}'}-text") if found else self._id(row.uuid, row.line)
            found.append(UserMessage(blocks, id=id_, meta=metadata(beside, noted(extras))))
        return found

    def _answered(self, row: Row) -> str:
        """The call that a result without an id answers: the next one of the row that it names."""
        for key in ("sourceToolAssistantUUID", "parentUuid"):
            waiting = self._made.get(text_or(row.row.get(key)), [])
            if waiting:
                return waiting.pop(0)
        return text_or(row.row.get("sourceToolUseID"), "?")


def _beside(row: Row) -> dict[str, Any]:
    """What a row says beside its message, but for what only places it."""
    stamp = {"entryTimestamp": row.row["timestamp"]} if "timestamp" in row.row else {}
    return {**pruned(without(row.row, *_STRUCTURE)), **stamp}
