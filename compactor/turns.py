"""A turn: exactly what to send to the model; and what a provider's SDK returned, read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from .context import ActiveContext
from .errors import CompactionError, ErrorCode, shown
from .messages import is_message, message_to_plain
from .outcomes import Outcome


@attrs.frozen
class Turn:
    """What the model is shown: turn *number* (1, 2, … in a session), the *context* with pending input, its *units*.

    *fits* is False when it is over the hard limit although a compaction was tried; *outcome* is what that came to.
    """

    number: int
    context: ActiveContext
    units: int
    fits: bool = True
    format: str | None = None
    outcome: Outcome | None = None

    def render(self, format: str | None = None) -> Any:  # noqa: A002 - the public face says so
        """Exactly what to send, in the session's format or *format*: the arguments of a request, as a fresh dict.

        ``client.messages.create(model=..., max_tokens=..., **turn.render())``; likewise ``messages`` for OpenAI chat,
        ``instructions`` and ``input`` for Responses. Between two compactions the beginning is byte-identical from turn to
        turn, so a provider's cache stays warm; an Anthropic message that grows by a merge keeps its first blocks.
        """
        wanted = format or self.format
        if wanted is None:
            raise CompactionError(
                ErrorCode.INVALID_INPUT, "no format to render", where="turn", fix="open the session with format=..., or name one"
            )
        from .formats import render_request  # noqa: PLC0415 - codecs load when a format is used

        return render_request(wanted, self.context)


def check_live_format(name: str) -> None:
    """Refuse a format that cannot be sent to a provider."""
    from .formats import FORMATS  # noqa: PLC0415

    codec = FORMATS.get(name)
    if codec is None or codec.reply is None:
        usable = ", ".join([key for key, value in FORMATS.items() if value.reply is not None])
        raise CompactionError(
            ErrorCode.FORMAT_UNKNOWN, f"{shown(name)} is no live format", where="format", fix=f"use one of {usable}"
        )


def read_live(
    name: str | None, value: Any, *, tool_name: Callable[[str], str], usage: Mapping[str, Any] | None = None
) -> list[Any]:
    """The messages in what an agent's loop appends.

    Nouns are always taken; the rest is our plain data without a *name*, else what the provider of that format takes and
    returns. *tool_name* tells the tool of an open call, since providers' results do not repeat it.
    """
    if name is None or is_message(value):
        parts = [value]
    else:
        from .formats import parse_reply  # noqa: PLC0415

        parts = parse_reply(name, value, tool_name=tool_name)
    return parts if usage is None else [_with_usage(part, usage) for part in parts]


def _with_usage(part: Any, usage: Mapping[str, Any]) -> Any:
    plain = message_to_plain(part) if is_message(part) else part
    if type(plain) is not dict or plain.get("role") != "assistant":
        return part
    meta = plain.get("meta")
    return {**plain, "meta": {**(meta if isinstance(meta, dict) else {}), "usage": dict(usage)}}
