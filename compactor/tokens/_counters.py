"""Counters: the interface, real tokenizers behind it, and what a message costs beside its texts.

The constants are what providers add around a text. OpenAI states three tokens per message and one for its role for its
chat format; what frames a call is published by nobody, so the number is an assumption, on the large side. An anchor on
reported usage corrects both.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from ..errors import CompactionError, ErrorCode, kind_name, shown
from ..messages import Block, Media, Message, Opaque, Requirement, Summary, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..units import Estimator

MESSAGE_TOKENS: Final = 4
"""Around every message: three for its frame and one for its role."""
CALL_TOKENS: Final = 8
"""Around every tool call and every result: the frame, and the id that ties them."""
UNITS_PER_TOKEN: Final = 4
"""How ``Media.cost`` is turned into tokens: it is stated in units, four to a token (``messages.MEDIA_UNITS``)."""
PART_CHARACTERS_MAX: Final = 500_000
"""bpe-openai 0.1.4 refuses a text from 1,000,000 characters on; longer ones are counted in parts."""


class TokenCounter(Protocol):
    """What counts the tokens of a text."""

    @property
    def name(self) -> str:
        """Which tokenizer or estimator; kept beside every number that it gave."""

    def count(self, text: str, /) -> int:
        """Give a whole number ≥ 0, the same for the same text."""


@attrs.frozen
class _Wrapped:
    """A real tokenizer as a ``TokenCounter``."""

    name: str
    _call: Callable[[str], Any] = attrs.field(repr=False, eq=False)
    _gives_count: bool

    def count(self, text: str) -> int:
        """The tokens of *text*; of a very long one, the sum over its parts."""
        if len(text) <= PART_CHARACTERS_MAX:
            return self._ask(text)
        parts = range(0, len(text), PART_CHARACTERS_MAX)
        return sum([self._ask(text[start : start + PART_CHARACTERS_MAX]) for start in parts])

    def _ask(self, text: str) -> int:
        try:
            given = self._call(text)
            number = given if self._gives_count else len(given)
        except Exception as error:
            raise self._refuse(f"raised {kind_name(error)} for a text of {len(text):,} characters") from error
        if type(number) is not int or number < 0:
            raise self._refuse(f"gave {kind_name(number)} instead of a whole number ≥ 0")
        return number

    def _refuse(self, what: str) -> CompactionError:
        where = f"tokenizer {shown(self.name)}"
        return CompactionError(ErrorCode.INVALID_INPUT, f"it {what}", where=where, fix="pass a tokenizer that takes any str")


def from_tokenizer(obj: object, *, name: str) -> TokenCounter:
    """Use *obj* as a ``TokenCounter`` called *name*: its ``count(text)``, else the length of what its ``encode`` gives.

    ``encode_ordinary`` is preferred to ``encode``, because the latter refuses texts that hold a special token's name.
    """
    if type(name) is not str or not name:
        raise CompactionError(ErrorCode.INVALID_INPUT, "name is not a text", where="name", fix="name the tokenizer")
    # A str, bytes, list or tuple has a count or an encode that means something else.
    if not isinstance(obj, str | bytes | bytearray | list | tuple):
        for method in ("count", "encode_ordinary", "encode"):
            call = getattr(obj, method, None)
            if callable(call):
                return _Wrapped(name, call, method == "count")
    raise CompactionError(
        ErrorCode.INVALID_INPUT,
        f"{kind_name(obj)} has neither count(text) nor encode(text)",
        where=f"tokenizer {shown(name)}",
        fix="pass a tokenizer object, for instance tiktoken.get_encoding(...)",
    )


def openai_tokenizer(encoding: str = "o200k_base") -> TokenCounter:
    """A real tokenizer that works offline: *encoding* of the bpe-openai package (o200k_base, cl100k_base, ...)."""
    try:
        package = import_module("bpe_openai")
    except ImportError as error:
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            "the package bpe-openai is not installed",
            where="openai_tokenizer",
            fix='pip install "trio-compactor[tokenizers]", or use CalibratedEstimator',
        ) from error
    try:
        found = package.get_encoding(encoding)
    except LookupError as error:
        known = ", ".join(package.list_encoding_names())
        raise CompactionError(
            ErrorCode.INVALID_INPUT, f"unknown encoding {shown(encoding)}", where="openai_tokenizer", fix=f"known: {known}"
        ) from error
    return from_tokenizer(found, name=encoding)


# ------------------------------------------------------------------------------------------------------ messages


def _json(value: Any) -> str:
    """JSON as it is sent: compact, and characters as themselves."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _thinking_tokens(block: Thinking, counter: TokenCounter) -> int:
    # A signature is the reasoning itself, encrypted, in base64: 3 bytes in 4 characters, and about 4 bytes to a token.
    # A provider bills the reasoning once, not its shown text and its sealed text.
    return max(counter.count(block.text), -(-3 * len(block.signature) // 16))


def _block_tokens(block: Block, counter: TokenCounter) -> int:
    match block:
        case Text():
            return counter.count(block.text)
        case ToolCall():
            return CALL_TOKENS + counter.count(block.name) + counter.count(_json(block.arguments))
        case Thinking():
            return _thinking_tokens(block, counter)
        case Media():
            return -(-block.cost // UNITS_PER_TOKEN)
        case Opaque():
            return counter.count(block.kind) + counter.count(_json(block.data))


def message_tokens(message: Message, counter: TokenCounter) -> int:
    """The tokens of one message: its frame, its texts, tool names and arguments as JSON, media by their cost."""
    content = message.content
    tokens = MESSAGE_TOKENS
    if isinstance(message, ToolResult):
        tokens += CALL_TOKENS + counter.count(message.tool_name)
    if isinstance(content, str):
        return tokens + counter.count(content)
    return tokens + sum([_block_tokens(block, counter) for block in content])


def requirement_tokens(requirement: Requirement, counter: TokenCounter) -> int:
    """A pinned rule: its text and the frame of a message."""
    return MESSAGE_TOKENS + counter.count(requirement.content)


def summary_tokens(summary: Summary, counter: TokenCounter) -> int:
    """A summary: its text and the frame of a message."""
    return MESSAGE_TOKENS + counter.count(summary.content)


def token_estimator(counter: TokenCounter) -> Estimator:
    """*counter* as an ``Estimator``: what one message, requirement or summary costs, in tokens."""

    def tokens(element: Message | Requirement | Summary) -> int:
        if isinstance(element, Requirement):
            return requirement_tokens(element, counter)
        if isinstance(element, Summary):
            return summary_tokens(element, counter)
        return message_tokens(element, counter)

    return tokens
