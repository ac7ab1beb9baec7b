"""The upper levels of a JSON text that need not be complete: what a prefix says about its format, and where an element stands.

This is no parser: it checks nothing, decodes only short strings and stops where the text stops.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN: Final = re.compile(r'[ \t\r\n]*+(?:("(?:[^"\\]|\\.)*+")|([{}\[\],:])|([^\s{}\[\],:"]++))', re.DOTALL)
_DEPTH: Final = 5
_SHORT: Final = 80
_NESTED: Final = 2_000
"""Deeper text is refused by every JSON parser that will read it; following it would only cost memory."""
_ENTRIES: Final = 2_000_000
"""More upper-level values than any session has; what is behind them says nothing new about the format."""


@attrs.frozen
class Entry:
    """A value at *path*: the decoded text of a short string, ``{`` or ``[`` for a container, else None."""

    path: tuple[str | int, ...]
    value: str | None
    offset: int
    container: bool


@attrs.define
class _Level:
    is_object: bool
    key: str | int | None


def outline(text: str) -> Iterator[Entry]:
    """Every value down to five levels, in order, as far as the text goes."""
    stack: list[_Level] = []
    position = entries = 0
    while entries < _ENTRIES and (match := _TOKEN.match(text, position)) is not None:
        position = match.end()
        string, mark, _scalar = match.groups()
        top = stack[-1] if stack else None
        if mark in ("}", "]"):
            if stack:
                stack.pop()
            if not stack:
                return
        elif mark == ",":
            if top is not None:
                top.key = None if top.is_object else int(top.key or 0) + 1
        elif mark == ":":
            continue
        elif string is not None and top is not None and top.is_object and top.key is None:
            top.key = _short(string) or ""
        else:
            if len(stack) <= _DEPTH:
                entries += 1
                path = tuple([level.key if level.key is not None else "" for level in stack])
                found = mark if mark is not None else None if string is None else _short(string)
                yield Entry(path, found, match.start(), mark is not None)
            if (mark is None and not stack) or len(stack) > _NESTED:
                return
            if mark is not None:
                stack.append(_Level(mark == "{", None if mark == "{" else 0))


def _short(token: str) -> str | None:
    """Decode a short string token; a long or broken one gives None."""
    if len(token) > _SHORT:
        return None
    if "\\" not in token:
        return token[1:-1]
    try:
        value: Any = json.loads(token, strict=False)
    except ValueError:
        return None
    return value if type(value) is str else None


def line_of(text: str, path: tuple[str | int, ...]) -> int:
    """The 1-based line on which the element at *path* starts; 1 when it is not found."""
    for entry in outline(text):
        if entry.path == path:
            start = entry.offset
            while text[start : start + 1].isspace():
                start += 1
            return text.count("\n", 0, start) + 1
    return 1
