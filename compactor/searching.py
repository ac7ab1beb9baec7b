"""What can be searched in a message, and what a query asks for. Pure; the stores' indexes and a plain scan agree on it.

A term matches where it stands in the text, as a word or inside of one, without regard to case, accents and width. So
identifiers and paths are found by any part of them, and languages without spaces by any of their words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from .errors import CompactionError, ErrorCode, kind_name

TERMS_MAX: Final = 32
"""Terms that a query may have; a question of a model has fewer."""
QUERY_MAX: Final = 1_000
"""Code points of a query."""

_TERM: Final = re.compile(r'"([^"]+)"|(\S+)')


@attrs.frozen
class Query:
    """Folded *terms*, each of which is looked for as a whole; a term in double quotes may hold spaces."""

    terms: tuple[str, ...]


def folded(text: str) -> str:
    """The text without case, accents and width: what is compared."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text)
    return "".join([char for char in plain if not unicodedata.combining(char)]).casefold()


def read_query(text: object) -> Query:
    """Read a query: words, and phrases in double quotes. INVALID_INPUT when there is nothing in it to look for."""
    if type(text) is not str:
        what = f"needs text, got {kind_name(text)}"
    elif len(text) > QUERY_MAX:
        what = f"has {len(text):,} characters, {QUERY_MAX:,} are allowed"
    else:
        terms = [folded(phrase or word).strip() for phrase, word in _TERM.findall(text)]
        kept = tuple(dict.fromkeys([term for term in terms if term]))[:TERMS_MAX]
        if kept:
            return Query(kept)
        what = "is blank"
    raise CompactionError(ErrorCode.INVALID_INPUT, what, where="query", fix='pass words, or "a phrase"')


def searchable(message: Mapping[str, Any]) -> str:
    """All that is said in a message, as plain data of an event: texts, tool names and arguments, one a line."""
    parts: list[str] = []
    if message.get("toolName"):
        parts.append(message["toolName"])
    content: Any = message.get("content", "")
    blocks: Sequence[Any] = [content] if type(content) is str else content
    for block in blocks:
        if type(block) is str:
            parts.append(block)
            continue
        match block.get("type"):
            case "toolCall":
                parts.append(block["name"])
                _strings(block["arguments"], parts)
            case "text" | "thinking":
                parts.append(block["text"])
            case _:
                parts.append(json.dumps(block, ensure_ascii=False)[:QUERY_MAX])
    return "\n".join([part for part in parts if part])


def _strings(value: Any, parts: list[str]) -> None:
    """The keys and values of tool arguments."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            parts.append(key)
            _strings(item, parts)
    elif type(value) is list or type(value) is tuple:
        for item in value:
            _strings(item, parts)
    elif value is not None:
        parts.append(value if type(value) is str else json.dumps(value))


def score(query: Query, text: str) -> int:
    """How many terms a folded text holds."""
    return sum([term in text for term in query.terms])


def scan(query: Query, texts: Sequence[str], limit: int) -> list[int]:
    """The positions of the texts that hold most terms, then the latest; without any index."""
    found = [(score(query, folded(text)), at) for at, text in enumerate(texts)]
    return [at for points, at in sorted(found, reverse=True) if points][:limit]
