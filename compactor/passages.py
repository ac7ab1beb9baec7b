"""How a message that was hidden is shown again: as an entry of a page, and the place in it where something stands. Pure.

An entry begins with a header that code writes and no model: place, speaker, id. No line of what was said can look like
one, nor like the lines that frame a page. What is cut into parts is cut before it is escaped, so every offset is one of
the text as it was said.
"""

from __future__ import annotations

import json
import re
import unicodedata
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from .errors import shown
from .events import Event, EventType, Replace
from .searching import Query, folded, searchable

SNIPPET_CHARS: Final = 240
SPOTS_MAX: Final = 5_000
"""Places of one term that are compared, to find where the terms of a query stand together."""
DATA_CHARS: Final = 1_000
"""Code points of an image or a file that are shown, as many as are searched: the rest is no text."""

MARK: Final = "---"
_BREAKS: Final = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_DASHES: Final = r"\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_LOOKALIKE: Final = re.compile(
    rf"(?:^|(?<=[{_BREAKS}]))"
    rf"(?=(?:[^\S{_BREAKS}]|\\)*(?:[{_DASHES}]{{2,}}|[\u2013-\u2015])[^\S{_BREAKS}]*(?:seq|more|end)\b)",
    re.IGNORECASE,
)


@attrs.frozen
class Entry:
    """A message on a page, or the part of it that is: *text* begins *start* code points into what was said.

    *role* is ``user``, ``assistant``, ``toolResult`` or ``summary``.
    """

    seq: int
    message_id: str = attrs.field(repr=shown)
    role: str
    start: int
    text: str = attrs.field(repr=lambda text: f"<{len(text)} characters>")


def header(event: Event) -> str:
    """The line above an entry: where it stands, who says it, its id, and how to read what it stands for."""
    data = event.data
    if event.type is EventType.SUMMARY_PLACED:
        who = "summary of what came before this session"
        if "run" in data:
            who = f"summary of compaction {_named(data['run'])}, which history_read shows"
    elif data["role"] == "toolResult":
        who = f"result of tool {shown(data['toolName'])}{', an error' if data.get('isError') else ''}"
    else:
        who = str(data["role"])
    if event.type is EventType.TOOL_RESULT_PRUNED and isinstance(event.op, Replace):
        who += f", shortened; history_read shows all of it as event:{event.op.start}"
    return f"{MARK} seq {event.seq}: {who} ({shown(data['id'])})"


def _named(run: object) -> str:
    """A record id as it is passed again, unless it needs to be quoted."""
    return run if type(run) is str and re.fullmatch(r"[\w.:-]{1,128}", run, re.ASCII) else shown(run)


def role_of(event: Event) -> str:
    """Who speaks."""
    return "summary" if event.type is EventType.SUMMARY_PLACED else str(event.data["role"])


def body(data: Mapping[str, Any]) -> str:
    """All that a message says, as one text; of tool arguments every word stands in it as it was written."""
    content = data["content"]
    return content if type(content) is str else "\n".join(_said(content))


def _said(content: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for block in content:
        match block["type"]:
            case "text" | "thinking":
                yield block["text"]
            case "toolCall":
                yield from _call(block["name"], block["arguments"])
            case "media":
                written = json.dumps(block, ensure_ascii=False)
                yield f"[media {written if len(written) <= DATA_CHARS else f'{written[:DATA_CHARS]}… {len(written):,} characters'}]"
            case kind:
                yield f"[{kind} {json.dumps(block, ensure_ascii=False)}]"


def _call(name: str, arguments: Any) -> Iterator[str]:
    written = json.dumps(arguments, ensure_ascii=False)
    if "\\" not in written:
        yield f"calls {name} {written}"
        return
    # JSON would write a newline, a quote or a backslash as something else, so a path or a line of code would not be found.
    yield f"calls {name}"
    yield from _leaves("", arguments)


def _leaves(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}" if path else key, item)
    elif type(value) is list and value:
        for index, item in enumerate(value):
            yield from _leaves(f"{path}[{index}]", item)
    else:
        yield f"{path}: {value if type(value) is str else json.dumps(value, ensure_ascii=False)}"


# ------------------------------------------------------------------------------------------------------------ frame


def escaped(text: str) -> str:
    """The text with a backslash before every line that looks like a header, or like the frame of a page."""
    return _LOOKALIKE.sub(r"\\", text)


# ----------------------------------------------------------------------------------------------------------- cutting


def cut(text: str, start: int, room: int) -> int:
    """Where a part that begins at *start* ends: after at most *room* code points, behind a line or a word if one ends there."""
    end = start + room
    if end >= len(text):
        return len(text)
    earliest = start + room * 3 // 4
    line = text.rfind("\n", earliest, end)
    if line >= 0:
        return line + 1
    for at in range(end, earliest, -1):
        if text[at - 1].isspace():
            return at
    while end > earliest + 1 and (_joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return end


def opening(text: str, at: int, lead: int) -> int:
    """Where a page begins that shows the place *at*: at most *lead* code points before it, at a line or a word."""
    start = max(0, at - lead)
    if start == 0:
        return 0
    line = text.find("\n", start, at)
    if line >= 0:
        return line + 1
    for begin in range(start, at):
        if text[begin].isspace():
            return begin + 1
    while start < at and (_joins(text[start]) or text[start - 1] == "\u200d"):
        start += 1
    return start


def _joins(char: str) -> bool:
    """A character that is shown together with the one before it."""
    return char == "\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff" or unicodedata.category(char) in ("Mn", "Mc", "Me")


# ------------------------------------------------------------------------------------------------------------ places


def place(text: str, query: Query, size: int = SNIPPET_CHARS) -> tuple[int, int] | None:
    """The place, [start, stop), of at most *size* code points in which most of the terms stand, the rare ones first.

    A single term that is longer than *size* is given whole. None: no term stands in the text.
    """
    chars, origin = _traced(text)
    weights = []
    spots: list[tuple[int, int, int]] = []
    for number, term in enumerate(query.terms):
        weights.append(1 / max(1, chars.count(term)))
        at = chars.find(term)
        for _ in range(SPOTS_MAX):
            if at < 0:
                break
            spots.append((origin[at], origin[at + len(term) - 1] + 1, number))
            at = chars.find(term, at + 1)
    spots.sort()
    best, found = 0.0, None
    counts = [0] * len(weights)
    weight, left = 0.0, 0
    for right, (_, stop, number) in enumerate(spots):
        counts[number] += 1
        if counts[number] == 1:
            weight += weights[number]
        while left < right and (stop - spots[left][0] > size or counts[spots[left][2]] > 1):
            dropped = spots[left][2]
            counts[dropped] -= 1
            if counts[dropped] == 0:
                weight -= weights[dropped]
            left += 1
        if weight > best * 1.000001:  # sums of the same weights differ in their last digits
            best, found = weight, (spots[left][0], max([spot[1] for spot in spots[left : right + 1]]))
    return found


def _traced(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and for each of its characters where it came from."""
    if text.isascii():
        return text.lower(), range(len(text))
    known: dict[str, str] = {}
    parts: list[str] = []
    origin = array("q")
    for index, char in enumerate(text):
        part = known.get(char)
        if part is None:
            part = known[char] = folded(char)
        parts.append(part)
        origin.extend([index] * len(part))
    return "".join(parts), origin


def snippet(text: str, query: Query, size: int = SNIPPET_CHARS) -> str:
    """That place with what stands around it, on one line: at most *size* code points, and a mark at each end that is none."""
    start, stop = place(text, query, size) or (0, 0)
    stop = min(stop, start + size)
    first = opening(text, start, (size - (stop - start)) // 3)
    last = min(len(text), first + size)
    if last < len(text):
        word = next((at for at in range(last, stop, -1) if text[at].isspace()), None)
        last = last if word is None else word
    line = " ".join(text[first:last].split())
    return f"{'…' if first else ''}{line}{'…' if last < len(text) else ''}"


def echoes(data: Mapping[str, Any], query: Query, tools: Sequence[str]) -> bool:
    """True for a message that matches only because it asked for, or gave, what was looked up before: by one of *tools*."""
    if data["role"] == "toolResult":
        return data["toolName"] in tools
    content = data["content"]
    if type(content) is str or not any(block["type"] == "toolCall" and block["name"] in tools for block in content):
        return False
    rest = [block for block in content if block["type"] != "toolCall" or block["name"] not in tools]
    text = folded(searchable({**data, "content": rest}))
    return not any(term in text for term in query.terms)
