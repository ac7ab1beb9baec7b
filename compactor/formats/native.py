"""Our own format: ``{"format": "compactor", "version": 1, "requirements", "summary", "messages", "compactions"}``.

It holds everything a context holds, blocks and metadata included, so that reading what was written gives an equal
context. A plain context object (the same four channels without ``format``) and a bare list of messages are read too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compactor.context import build_live_context, record_to_plain, with_report
from compactor.errors import CompactionError, ErrorCode, shown
from compactor.messages import message_to_plain
from compactor.plain import MISSING, SESSION_LIMITS, Limits, is_object, thaw

from ._shared import Log, Rendered, invalid, kind_of, without

if TYPE_CHECKING:
    from compactor.context import ActiveContext

NAME: Final = "compactor"
VERSION: Final = 1
_CHANNELS: Final = ("requirements", "summary", "messages", "compactions")


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read our document, a plain context, or a list of messages. An unknown version → FORMAT_INVALID.

    The transcript's own faults keep INVALID_TRANSCRIPT; every other fault is FORMAT_INVALID.
    """
    document: Any = {"messages": data} if type(data) is list or type(data) is tuple else data
    if not is_object(document):
        raise invalid(name, None, f"needs a JSON object or a list of messages, got {kind_of(data)}", "export the context again")
    _check_version(document, name)
    log = Log(name)
    for key in without(document, "format", "version", *_CHANNELS):
        log.aside("key_ignored", f"the key {shown(key)} means nothing to this format", None, {key: document[key]})
    channels: dict[str, Any] = {key: document[key] for key in _CHANNELS if key in document}
    try:
        context = build_live_context(channels, limits=limits)
    except CompactionError as error:
        raise _told(error, name, limits) from error
    waiting = context.open_calls
    if waiting:
        ids = ", ".join([shown(call) for call in waiting[:8]]) + (", ..." if len(waiting) > 8 else "")
        log.add("calls_left_open", f"{len(waiting)} call(s) wait for a result and stay open: {ids}")
    summaries = 0 if context.summary is None else 1
    log.kept = rows = len(context.requirements) + summaries + len(context.messages) + len(context.compactions)
    return with_report(context, log.report(NAME, rows))


def _check_version(document: dict[str, Any], name: str) -> None:
    named = document.get("format", NAME)
    if type(named) is not str or named != NAME:
        raise invalid(
            name, None, f"the format is {shown(named)}, not {NAME!r}", "export the context again", ErrorCode.FORMAT_UNKNOWN
        )
    version = document.get("version", MISSING if "format" in document else VERSION)
    if version is MISSING:
        raise invalid(name, None, "the version is missing", f"add the version that wrote the file; this one writes {VERSION}")
    if type(version) is not int or version != VERSION:
        found = str(version) if type(version) is int and abs(version) < 10**9 else f"of type {kind_of(version)}"
        raise invalid(
            name, None, f"version {found} is unknown; {VERSION} is known", "read the file with the release that wrote it"
        )


def _told(error: CompactionError, name: str, limits: Limits) -> CompactionError:
    """The error of a noun as an error of the file. A limit that the caller chose stays a limit."""
    code = error.code
    if code is not ErrorCode.INVALID_TRANSCRIPT and (code is not ErrorCode.LIMIT_EXCEEDED or limits == SESSION_LIMITS):
        code = ErrorCode.FORMAT_INVALID
    where = ": ".join([part for part in (name, error.where) if part])
    return CompactionError(code, error.message, where=where, fix=error.fix or "repair the element, or take it out")


def render(context: ActiveContext) -> Rendered:
    """Write a context as our document, losslessly."""
    summary = context.summary
    data: dict[str, Any] = {
        "format": NAME,
        "version": VERSION,
        "requirements": [{"id": item.id, "content": item.content} for item in context.requirements],
        "summary": None if summary is None else {"id": summary.id, "content": summary.content},
        "messages": [thaw(message_to_plain(message)) for message in context.messages],
        "compactions": [thaw(record_to_plain(record)) for record in context.compactions],
    }
    return Rendered(NAME, data)
