"""Codecs between other people's messages and the nouns of this package. Pure: decoded data in, decoded data out.

``readers`` turns files into decoded data and calls this package; an application that holds messages calls it directly.
One sibling per format, none of which knows another. Import only: ``pi``, ``claude_code``, ``codex``, ``gemini_cli``, ``opencode``,
``hermes``, ``kimi_cli``, ``kimi_wire`` and ``qwen_code``. Both ways: the live formats ``openai_chat``, ``openai_responses`` and
``anthropic_messages``, then ``langchain``, ``atif``, and ``native`` (our own). Import and export never drop
anything silently: every import carries an ``ImportReport``, every export its notes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, ErrorCode, shown
from compactor.plain import SESSION_LIMITS, Limits

from . import (
    anthropic_messages,
    atif,
    claude_code,
    codex,
    gemini_cli,
    hermes,
    kimi_cli,
    kimi_wire,
    langchain,
    native,
    openai_chat,
    openai_responses,
    opencode,
    pi,
    qwen_code,
)
from ._anthropic_check import check_anthropic
from ._openai_check import check_openai_chat
from ._outline import line_of, outline
from ._responses_check import check_openai_responses
from ._shared import ImportReport, Note, Rendered, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compactor.context import ActiveContext

__all__ = [
    "FORMATS",
    "HEAD_BYTES",
    "Detected",
    "ImportReport",
    "Note",
    "Rendered",
    "Rows",
    "check_anthropic",
    "check_openai_chat",
    "check_openai_responses",
    "detect",
    "line_of",
    "parse_messages",
    "parse_reply",
    "render_messages",
    "render_request",
]

HEAD_BYTES: Final = 65_536
"""How much of a file is looked at to tell its format."""


@attrs.frozen
class Codec:
    """What this package can do with a format."""

    parse: Callable[..., ActiveContext]
    render: Callable[[ActiveContext], Rendered] | None = None
    reply: Callable[[Any, Callable[[str], str]], list[Any]] | None = None
    """Reads one thing that an agent's loop holds: what the provider's SDK returned, or a message to be sent next."""


FORMATS: Final[dict[str, Codec]] = {
    pi.NAME: Codec(pi.parse),
    claude_code.NAME: Codec(claude_code.parse),
    codex.NAME: Codec(codex.parse),
    gemini_cli.NAME: Codec(gemini_cli.parse),
    openai_chat.NAME: Codec(openai_chat.parse, openai_chat.render, openai_chat.reply),
    openai_responses.NAME: Codec(openai_responses.parse, openai_responses.render, openai_responses.reply),
    anthropic_messages.NAME: Codec(anthropic_messages.parse, anthropic_messages.render, anthropic_messages.reply),
    opencode.NAME: Codec(opencode.parse),
    hermes.NAME: Codec(hermes.parse),
    kimi_cli.NAME: Codec(kimi_cli.parse),
    kimi_wire.NAME: Codec(kimi_wire.parse),
    qwen_code.NAME: Codec(qwen_code.parse),
    langchain.NAME: Codec(langchain.parse, langchain.render),
    atif.NAME: Codec(atif.parse, atif.render),
    native.NAME: Codec(native.parse, native.render),
}


@attrs.frozen
class Detected:
    """The format of a file; *rows*: it is JSONL, one row on each line, else one JSON document."""

    format: str
    rows: bool


def parse_messages(format: str, data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:  # noqa: A002
    """Read decoded *data* of *format* into a live context whose ``report`` says what was read, kept and skipped.

    *data*: for formats of JSONL files (``"pi"``, ``"claude-code"``, ``"codex"``, ...) the list of rows (or ``Rows`` with their
    lines), for those of one document (``"hermes"``, ``"atif"``, ``"opencode"``) the document, for ``"gemini-cli"`` and
    ``"langchain"`` either; for ``"openai-chat"`` a list
    of messages or ``{"messages": [...]}``, for ``"anthropic"`` the same and ``"system"``, for ``"openai-responses"`` a list
    of items or ``{"input": [...], "instructions": ...}``; for ``"compactor"`` its document or a plain context. *name* stands
    in front of every place in an error. Raises FORMAT_UNKNOWN, FORMAT_INVALID or INVALID_TRANSCRIPT; LIMIT_EXCEEDED only when *limits* were given.
    """
    return _codec(format).parse(data, name=name, limits=limits)


def parse_reply(format: str, value: object, *, tool_name: Callable[[str], str] = lambda _call: "") -> list[Any]:  # noqa: A002
    """The messages in *value*: what the provider's SDK returned (a dict, or an object with ``model_dump``) or takes.

    They may lack ids. *tool_name* gives the tool of an open call, since providers' results do not repeat it.
    """
    reply = _codec(format).reply
    if reply is None:
        raise CompactionError(
            ErrorCode.FORMAT_UNKNOWN, f"{shown(format)} is no live format", where="format", fix="use a provider's message format"
        )
    return reply(value, tool_name)


def render_messages(format: str, context: ActiveContext) -> Rendered:  # noqa: A002
    """Write *context* as fresh plain data of *format*: a provider's, or ``"compactor"``. Deterministic."""
    render = _codec(format).render
    if render is None:
        writable = ", ".join([name for name, codec in FORMATS.items() if codec.render])
        raise CompactionError(
            ErrorCode.FORMAT_UNKNOWN, f"{shown(format)} can be read, not written", where="format", fix=f"use one of {writable}"
        )
    return render(context)


def render_request(format: str, context: ActiveContext) -> Any:  # noqa: A002
    """The arguments of a request to a provider, as a fresh dict: ``{"messages": [...]}`` and what stands beside them."""
    data = render_messages(format, context).data
    return {"messages": data} if type(data) is list else data


def _codec(name: object) -> Codec:
    found = FORMATS.get(name) if type(name) is str else None
    if found is None:
        raise CompactionError(
            ErrorCode.FORMAT_UNKNOWN, f"{shown(name)} is not a format", where="format", fix=f"use one of {', '.join(FORMATS)}"
        )
    return found


# ---------------------------------------------------------------------------------------------------- detection


def detect(text: str, *, whole: bool) -> Detected | None:
    """Tell the format of a file from the beginning of its text, never from its name; None: nothing was recognised.

    *whole*: the text is all of the file. A row of a session file anywhere among the lines tells it; else the text is one
    JSON document: ours when it uses our roles, blocks or keys, Anthropic's or Responses' when it uses their blocks, keys or
    items, OpenAI chat when it uses its roles.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and lines[0].lstrip().startswith("{"):
        found = next((name for value in _decoded(lines) if (name := _row_format(value))), None)
        if found is not None:
            return Detected(found, rows=True)
    return _document(text, one_line=len(lines) == 1 or not whole)


_ROW_CODECS: Final = (pi, claude_code, codex, gemini_cli, kimi_cli, kimi_wire, qwen_code, langchain)
"""Formats of one row on each line; no row belongs to two of them."""

_DOCUMENT_CODECS: Final = (gemini_cli, langchain, opencode, hermes, atif)
"""Formats of programs whose sessions are one document."""


def _row_format(value: object) -> str | None:
    """The format of a row, if it is one of a session file."""
    return next((codec.NAME for codec in _ROW_CODECS if codec.is_row(value)), None)


def _decoded(lines: list[str]) -> Iterator[Any]:
    for line in lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


_LISTS: Final = frozenset({"messages", "input", "history", "steps"})
"""Keys under which a document has its messages."""
_OUR_KEYS: Final = frozenset({"requirements", "summary", "compactions"})
_RESPONSES_ITEMS: Final = frozenset({"function_call", "function_call_output", "reasoning", "custom_tool_call"})
_RESPONSES_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_ANTHROPIC_BLOCKS: Final = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document"})
_OPENAI_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def _document(text: str, *, one_line: bool) -> Detected | None:
    """Judge a document, or the first row of a file that is cut inside it."""
    top = ""
    keys: dict[str, str | None] = {}
    roles: set[str | None] = set()
    types: set[str | None] = set()
    items: set[str | None] = set()
    fields: dict[str, set[str | None]] = {}
    for entry in outline(text):
        path = entry.path
        if not path:
            top = entry.value or ""
            continue
        if len(path) == 1 and top == "{":
            keys[str(path[0])] = entry.value
        inner = path[1:] if path[0] in _LISTS and top == "{" else path if top == "[" else ()
        if len(inner) == 2:
            fields.setdefault(str(inner[1]), set()).add(entry.value)
        if len(inner) == 2 and inner[1] == "role":
            roles.add(entry.value)
        elif len(inner) == 2 and inner[1] == "type":
            items.add(entry.value)
        elif len(inner) == 4 and inner[1] == "content" and inner[3] == "type":
            types.add(entry.value)
    row = next((codec.NAME for codec in _ROW_CODECS if codec.is_row_outline(keys)), None) if one_line and top == "{" else None
    if row is not None:
        return Detected(row, rows=True)
    document = next((codec.NAME for codec in _DOCUMENT_CODECS if codec.is_document(keys, fields)), None)
    if document is not None:
        return Detected(document, rows=False)
    has_messages = top == "[" or keys.get("messages") == "["
    ours = keys.get("format") == native.NAME or (not _OUR_KEYS.isdisjoint(keys) and "type" not in keys)
    if ours or (has_messages and ("toolResult" in roles or "toolCall" in types)):
        return Detected(native.NAME, rows=False)
    if keys.get("input") == "[" or (
        top == "[" and not (_RESPONSES_ITEMS.isdisjoint(items) and _RESPONSES_PARTS.isdisjoint(types))
    ):
        return Detected(openai_responses.NAME, rows=False)
    if has_messages and ("system" in keys or not _ANTHROPIC_BLOCKS.isdisjoint(types)):
        return Detected(anthropic_messages.NAME, rows=False)
    if has_messages and not _OPENAI_ROLES.isdisjoint(roles):
        return Detected(openai_chat.NAME, rows=False)
    return None
