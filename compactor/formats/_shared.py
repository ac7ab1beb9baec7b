"""What every codec shares: the report of an import, the notes it is made of, and the errors that name a place.

Nothing here knows a format. A note and an error never carry the contents of a message; the raw row of what was set
aside is kept beside the note's text, frozen, so that nothing of a file is lost silently.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, ErrorCode, kind_name
from compactor.plain import EMPTY, JsonObject, frozen_object, is_blank, is_object, thaw

if TYPE_CHECKING:
    from collections.abc import Mapping

RAW: Final = "$raw"
"""The one key of an arguments object that holds text (or a value) that is not a JSON object, as it came."""


@attrs.frozen
class Note:
    """One thing that an import or an export did, or could not do.

    *what* is a stable slug for programs, *text* one sentence for people, *line* 1-based or None. *rows* is how many rows
    of the file this note accounts for as skipped. *row* is the raw row (or part of one) that was set aside.
    """

    what: str
    text: str
    line: int | None = None
    rows: int = 0
    row: JsonObject | None = attrs.field(default=None, repr=lambda row: "None" if row is None else f"<{len(row)} keys>")


@attrs.frozen
class ImportReport:
    """What was read, kept and skipped: ``kept + skipped + torn == rows``.

    *rows* counts the entries that the file has: lines of a JSONL file that are not blank, or the elements of a
    document. A row is *kept* when something of it is in the context.
    """

    format: str
    rows: int
    kept: int
    skipped: int
    torn: int = 0
    notes: tuple[Note, ...] = ()

    def count(self, what: str) -> int:
        """How many notes have this slug."""
        return sum([note.what == what for note in self.notes])


@attrs.frozen
class Rendered:
    """What an export gives: *data* is fresh plain data (a list or a dict), *notes* say what the format could not hold."""

    format: str
    data: Any = attrs.field(repr=lambda data: f"<{len(data)} items>")
    notes: tuple[Note, ...] = ()

    def to_json(self, *, indent: int | None = None) -> str:
        """The data as JSON text that can always be encoded: lone surrogates are escaped."""
        text = json.dumps(self.data, ensure_ascii=False, indent=indent, allow_nan=False)
        try:
            text.encode()
        except UnicodeEncodeError:
            return json.dumps(self.data, indent=indent, allow_nan=False)
        return text


@attrs.frozen
class Rows:
    """The decoded rows of a JSONL file, each with its 1-based line; *torn* is the note of a torn last line."""

    rows: tuple[tuple[int, Any], ...] = attrs.field(repr=lambda rows: f"<{len(rows)} rows>")
    torn: Note | None = None


@attrs.define
class Log:
    """Gathers the notes of one import or export."""

    name: str = ""
    notes: list[Note] = attrs.field(factory=list)
    kept: int = 0
    skipped: int = 0

    def add(self, what: str, text: str, line: int | None = None) -> None:
        """Note something that skipped no row."""
        self.notes.append(Note(what, text, line))

    def skip(self, what: str, text: str, line: int | None = None, *, row: object = None, rows: int = 1) -> None:
        """Note *rows* rows that are not in the context; *row* is the raw row when it is set aside."""
        frozen = None if row is None else freeze(row, self.name, line)
        self.notes.append(Note(what, text, line, rows, frozen))
        self.skipped += rows

    def aside(self, what: str, text: str, line: int | None, part: object) -> None:
        """Note a part of a kept row that has no place in the context."""
        self.notes.append(Note(what, text, line, 0, freeze(part, self.name, line)))

    def report(self, format_: str, rows: int, torn: Note | None = None) -> ImportReport:
        """Close the book."""
        notes = (*self.notes, torn) if torn is not None else tuple(self.notes)
        return ImportReport(format_, rows, self.kept, self.skipped, int(torn is not None), notes)


class Names:
    """Gives ids out once: a taken one becomes ``<id>_2``, ``<id>_3``, ..."""

    __slots__ = ("_next", "_taken")

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Give *wanted*, or the first free variant of it."""
        name = wanted
        while name in self._taken:
            number = self._next.get(wanted, 2)
            self._next[wanted] = number + 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


def place(name: str, line: int | None) -> str:
    """``name.jsonl:17``; without a file name ``line 17``."""
    if line is None:
        return name
    return f"{name}:{line}" if name else f"line {line}"


def invalid(name: str, line: int | None, what: str, fix: str, code: ErrorCode = ErrorCode.FORMAT_INVALID) -> CompactionError:
    """The file breaks a rule of its format, at a place."""
    return CompactionError(code, what, where=place(name, line), fix=fix)


def freeze(value: object, name: str, line: int | None) -> JsonObject:
    """Freeze a raw row; a row that is no object is kept as ``{"$raw": value}``. Not JSON, or too deep → FORMAT_INVALID."""
    try:
        return frozen_object(value if is_object(value) else {RAW: value})
    except CompactionError as error:
        raise replaced(error, name, line) from error


def replaced(error: CompactionError, name: str, line: int | None) -> CompactionError:
    """An error of the nouns, said again as an error of the file."""
    inner = f"{error.where}: " if error.where and error.where != "value" else ""
    return invalid(name, line, f"{inner}{error.message}", error.fix or "repair the row, or take it out")


def text_or(value: object, other: str = "") -> str:
    """*value* when it is an exact string that is not blank, else *other*."""
    return value if type(value) is str and not is_blank(value) else other


def raw_arguments(value: object) -> dict[str, Any]:
    """Arguments that are not a JSON object, kept as they came."""
    return {RAW: value}


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The other entries of an object."""
    return {key: item for key, item in value.items() if key not in keys}


def kind_of(value: object) -> str:
    """What a value is, for an error text: never its contents."""
    return kind_name(value)


def metadata(*parts: Mapping[str, Any]) -> JsonObject:
    """Freeze a message's metadata; later parts win. Not JSON, or too deep → a ``CompactionError``."""
    return frozen_object({key: value for part in parts for key, value in part.items()})


def extras_of(meta: JsonObject, key: str) -> dict[str, Any]:
    """A fresh copy of one object inside a message's metadata; empty when it is not there."""
    found = meta.get(key, EMPTY)
    return thaw(found) if isinstance(found, dict) else {}
