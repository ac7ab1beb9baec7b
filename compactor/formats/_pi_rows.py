"""One Pi row → one message of ours. The shapes are those of Pi's session files, versions 1 to 3.

Whatever a message holds beyond its text and its blocks (usage, model, stop reason, times, tool details) goes into the
message's metadata under the keys that it came with.
"""

from __future__ import annotations

from typing import Any, Final

from compactor.messages import (
    AssistantMessage,
    Block,
    Content,
    Media,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from compactor.plain import is_blank, is_object

from ._shared import Log, metadata, raw_arguments, text_or, without

BRANCH_FRAME: Final = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}\n</summary>"
COMPACTION_FRAME: Final = (
    "The conversation before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>"
)


def message_of(row: dict[str, Any], id_: str, line: int, log: Log) -> Message | None:
    """The message of a row that belongs into the context; None for a row whose shape is not understood."""
    stamp = {"entryTimestamp": row["timestamp"]} if "timestamp" in row else {}
    match row.get("type"):
        case "message":
            inner = row.get("message")
            return _said(inner, stamp, id_, line, log) if is_object(inner) else None
        case "custom_message":
            return _custom(without(row, "type", "id", "parentId", "timestamp"), stamp, id_, "custom_message")
        case "branch_summary":
            return _framed(without(row, "type", "id", "parentId", "timestamp"), stamp, id_, "branchSummary", BRANCH_FRAME)
        case _:
            return None


def _said(inner: Any, stamp: dict[str, Any], id_: str, line: int, log: Log) -> Message | None:
    match inner.get("role"):
        case "user":
            return _user(inner, stamp, id_)
        case "assistant":
            return _assistant(inner, stamp, id_, line, log)
        case "toolResult":
            return _result(inner, stamp, id_)
        case "bashExecution":
            return _bash(inner, stamp, id_)
        case "custom" | "hookMessage":
            return _custom(without(inner, "role"), stamp, id_, inner["role"])
        case "branchSummary":
            return _framed(without(inner, "role"), stamp, id_, "branchSummary", BRANCH_FRAME)
        case "compactionSummary":
            return _framed(without(inner, "role"), stamp, id_, "compactionSummary", COMPACTION_FRAME)
        case _:
            return None


def _user(inner: dict[str, Any], stamp: dict[str, Any], id_: str) -> Message | None:
    extras: dict[str, Any] = {}
    content = _content(inner.get("content"), extras)
    return (
        None if content is None else UserMessage(content, id=id_, meta=metadata(without(inner, "role", "content"), stamp, extras))
    )


def _result(inner: dict[str, Any], stamp: dict[str, Any], id_: str) -> Message | None:
    call_id, name = text_or(inner.get("toolCallId")), text_or(inner.get("toolName"))
    extras: dict[str, Any] = {}
    content = _content(inner.get("content"), extras)
    if content is None or not call_id:
        return None
    meta = metadata(without(inner, "role", "content", "toolCallId", "toolName", "isError"), stamp, extras)
    return ToolResult(call_id, content, inner.get("isError") is True, tool_name=name, id=id_, meta=meta)


def _assistant(inner: dict[str, Any], stamp: dict[str, Any], id_: str, line: int, log: Log) -> Message | None:
    content = inner.get("content")
    extras: dict[str, Any] = {}
    blocks: list[Block]
    if type(content) is str:
        blocks = [Text(content)]
    elif type(content) is list or type(content) is tuple:
        blocks = [_assistant_block(block, index, extras, line, log) for index, block in enumerate(content)]
    elif content is None:
        blocks = []
    else:
        return None
    meta = metadata(without(inner, "role", "content"), stamp, _noted(extras))
    return AssistantMessage(tuple(blocks), id=id_, meta=meta)


def _content(value: object, extras: dict[str, Any]) -> Content | None:
    """A text, or blocks; one bare text block is its text. None for anything else."""
    if value is None:
        return ""
    if type(value) is str:
        return value
    if type(value) is not list and type(value) is not tuple:
        return None
    found: dict[str, Any] = {}
    blocks = tuple([_plain_block(block, index, found) for index, block in enumerate(value)])
    extras |= _noted(found)
    if len(blocks) == 1 and not found and type(blocks[0]) is Text:
        return blocks[0].text
    return blocks


def _noted(extras: dict[str, Any]) -> dict[str, Any]:
    """What blocks hold beyond our nouns, by the block's index."""
    return {"blockExtras": extras} if extras else {}


def _rest(block: dict[str, Any], index: int, extras: dict[str, Any], *known: str) -> None:
    rest = without(block, "type", *known)
    if rest:
        extras[str(index)] = rest


def _plain_block(block: Any, index: int, extras: dict[str, Any]) -> Text | Media | Opaque:
    if not is_object(block):
        return Opaque("pi:block", data=raw_arguments(block))
    kind = block.get("type")
    if kind == "text" and type(block.get("text")) is str:
        _rest(block, index, extras, "text")
        return Text(block["text"])
    if kind == "image" and type(block.get("data")) is str and text_or(block.get("mimeType")):
        _rest(block, index, extras, "data", "mimeType")
        return Media(f"data:{block['mimeType']};base64,{block['data']}", media_type=block["mimeType"])
    return Opaque(f"pi:{text_or(kind, 'block')}", data=block)


def _assistant_block(block: Any, index: int, extras: dict[str, Any], line: int, log: Log) -> Block:
    if not is_object(block):
        return Opaque("pi:block", data=raw_arguments(block))
    kind = block.get("type")
    if kind == "thinking" and type(block.get("thinking")) is str:
        signature = block.get("thinkingSignature", "")
        if type(signature) is str:
            redacted = block.get("redacted") is True
            _rest(block, index, extras, "thinking", "thinkingSignature", *(["redacted"] if redacted else []))
            return Thinking(block["thinking"], signature=signature, redacted=redacted)
    if kind == "toolCall" and text_or(block.get("id")) and text_or(block.get("name")):
        arguments = block.get("arguments")
        if not is_object(arguments):
            log.add("arguments_kept_raw", "the arguments of a call are no JSON object; they were kept as they came", line)
            arguments = raw_arguments(arguments)
        _rest(block, index, extras, "id", "name", "arguments")
        return ToolCall(block["id"], name=block["name"], arguments=arguments)
    return _plain_block(block, index, extras)


def _bash(inner: dict[str, Any], stamp: dict[str, Any], id_: str) -> Message | None:
    """A command that the user ran: shown as command, output and outcome, as Pi shows it to its model."""
    command, output = inner.get("command"), inner.get("output", "")
    if type(command) is not str or type(output) is not str:
        return None
    text = f"Ran `{command}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = inner.get("exitCode")
    if inner.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif type(code) is int:
        text += f"\n\nCommand exited with code {code}"
    if inner.get("truncated") is True:
        text += "\n\n[output truncated]"
    return UserMessage(text, id=id_, meta=metadata(without(inner, "role", "output"), stamp, {"kind": "bashExecution"}))


def _custom(fields: dict[str, Any], stamp: dict[str, Any], id_: str, kind: str) -> Message | None:
    extras: dict[str, Any] = {}
    content = _content(fields.get("content"), extras)
    if content is None:
        return None
    return UserMessage(content, id=id_, meta=metadata(without(fields, "content"), stamp, extras, {"kind": kind}))


def _framed(fields: dict[str, Any], stamp: dict[str, Any], id_: str, kind: str, frame: str) -> Message | None:
    summary = fields.get("summary")
    if type(summary) is not str or is_blank(summary):
        return None
    return UserMessage(frame.format(summary), id=id_, meta=metadata(without(fields, "summary"), stamp, {"kind": kind}))
