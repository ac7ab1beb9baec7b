"""Untrusted plain data in, immutable copies out, within limits.

Plain data is what a JSON parser gives: exact ``dict``, ``list``, ``tuple``, ``str``, ``int``, ``float``, ``bool``
and ``None``. A subclass, a generator or any other object is refused by its type alone, so that none of its
methods is ever called. This module knows nothing of messages.
"""

from __future__ import annotations

import math
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Never, Self, TypeGuard

import attrs

from .errors import CompactionError, ErrorCode, kind_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SAFE_INT_MAX: Final = 2**53 - 1
"""The largest integer that a double, and so every JSON parser, holds exactly."""

# What ECMAScript's String.prototype.trim strips. str.strip() differs: it strips U+001C-1F and U+0085 and keeps U+FEFF.
BLANK: Final = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"

MISSING: Final = object()
"""What a lookup gives for a key that is not there; None is a value."""


@attrs.frozen
class Limits:
    """How much one context may hold. Every bound is inclusive and is checked before the work that it bounds."""

    messages: int = 4_096
    requirements: int = 128
    records: int = 256
    ids_per_record: int = 4_096
    json_depth: int = 32
    string: int = 65_536
    """Code points of one string."""
    strings_total: int = 1_000_000
    """Code points of all strings of one build together."""
    items_total: int = 16_384
    """Elements of all collections of one build together."""
    units: int = 1_000_000


SESSION_LIMITS: Final = Limits(
    messages=2_000_000,
    requirements=4_096,
    records=65_536,
    ids_per_record=2_000_000,
    json_depth=200,
    string=1 << 30,
    strings_total=1 << 40,
    items_total=1 << 32,
    units=1 << 42,
)
"""The wide profile of sessions, importers and the command line: no real file is refused for its size alone.

The depth stays bounded because nested data is walked recursively.
"""


class JsonObject(dict[str, Any]):
    """An immutable JSON object: a dict that refuses every change. Arrays inside are tuples.

    It is a real ``dict`` so that ``json.dumps`` and provider SDKs take it as it is.
    """

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> Never:
        msg = "a JsonObject is immutable; build a new dict from it"
        raise TypeError(msg)

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonObject, (dict(self),)


EMPTY: Final = JsonObject()


def thaw(value: Any) -> Any:
    """Give a frozen JSON value back as fresh dicts and lists."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [thaw(item) for item in value]
    return value


class Faulty(Exception):  # noqa: N818 - a signal between reader and caller, never seen by users
    """A value that is not what it has to be; the caller gives it a code."""


def is_blank(text: str) -> bool:
    """True for text that is empty after stripping exactly the characters of ``BLANK``."""
    return not text.strip(BLANK)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """True for an exact dict or ``JsonObject`` whose keys are exact strings.

    The keys are looked at before any lookup: a lookup compares, and comparing calls methods of a hostile key.
    """
    if type(value) is not dict and type(value) is not JsonObject:
        return False
    for key in value:  # noqa: SIM110 - twice as fast as all() with a generator
        if type(key) is not str:
            return False
    return True


def safe_int(value: object, minimum: int) -> int | None:
    """Give *value* as an int when it is a whole number from *minimum* to 2**53 - 1, else None. 100.0 counts, True does not."""
    if type(value) is float:
        if not value.is_integer():
            return None
        value = int(value)
    if type(value) is int and minimum <= value <= SAFE_INT_MAX:
        return value
    return None


class Tally:
    """The two running counters of one build, and the limits they run against. The hottest code of the package."""

    __slots__ = ("chars", "chars_max", "items", "items_max", "limits", "string_max")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.items = 0
        self.chars = 0
        self.items_max = limits.items_total
        self.chars_max = limits.strings_total
        self.string_max = limits.string

    def take(self, count: int, where: str) -> None:
        """Count *count* elements of a collection, before any of them is looked at."""
        self.items += count
        if self.items > self.items_max:
            raise limit_error(where, "collection items together", self.items, self.items_max)

    def count(self, text: str, where: str) -> str:
        """Count one exact string; too long → LIMIT_EXCEEDED."""
        size = len(text)
        if size > self.string_max:
            raise limit_error(where, "code points in one string", size, self.string_max)
        self.chars = total = self.chars + size
        if total > self.chars_max:
            raise limit_error(where, "code points together", total, self.chars_max)
        return text

    def filled(self, value: object, where: str) -> str:
        """Count one string that must not be blank. Not a string, or blank → ``Faulty``."""
        if type(value) is not str or not self.count(value, where).strip(BLANK):
            raise Faulty
        return value

    def json(self, value: object, where: str) -> Any:
        """Copy JSON data into immutable form, counting as it goes.

        Which of several faults wins depends on the order of keys, and the rules were pinned by an ECMAScript
        implementation, where keys that look like array indices come first. Valid data never needs that order, so it is
        walked as it is, and only a walk that failed is repeated in the other order for the right fault.
        """
        before = self.items, self.chars
        try:
            return self._frozen(value, where, 0, dict.items)
        except (Faulty, CompactionError):
            self.items, self.chars = before
            return self._frozen(value, where, 0, _index_keys_first)
        except RecursionError:  # The caller's own limit on the depth is beyond the interpreter's.
            fix = f"the limit is {self.limits.json_depth:,}, which this interpreter cannot walk"
            raise CompactionError(ErrorCode.LIMIT_EXCEEDED, "is nested too deeply", where=where, fix=fix) from None

    def _frozen(self, value: object, where: str, depth: int, entries: Callable[[Any], Iterable[tuple[Any, Any]]]) -> Any:
        depth_max = self.limits.json_depth
        if depth > depth_max:
            raise limit_error(where, "levels of nesting", depth, depth_max)
        kind = type(value)
        if kind is str:
            return self.count(value, where)  # type: ignore[arg-type]
        if value is None or kind is bool:
            return value
        if kind is int:
            if -SAFE_INT_MAX <= value <= SAFE_INT_MAX:  # type: ignore[operator]
                return value
            try:
                float(value)  # type: ignore[arg-type]
            except OverflowError:
                raise Faulty from None
            return value
        if kind is float:
            if not math.isfinite(value):  # type: ignore[arg-type]
                raise Faulty
            return value
        if kind is list or kind is tuple:
            self.take(len(value), where)  # type: ignore[arg-type]
            return tuple([self._frozen(item, where, depth + 1, entries) for item in value])  # type: ignore[attr-defined]
        if is_object(value):
            self.take(len(value), where)
            count, below = self.count, depth + 1
            copy: dict[str, Any] = {}
            for key, item in entries(value):
                count(key, where)
                kind = type(item)
                if kind is str and below <= depth_max:
                    copy[key] = count(item, where)
                elif (kind is bool or kind is NoneType) and below <= depth_max:
                    copy[key] = item
                else:
                    copy[key] = self._frozen(item, where, below, entries)
            return JsonObject(copy) if copy else EMPTY
        raise Faulty


def _index_keys_first(value: dict[str, object]) -> list[tuple[str, object]]:
    """The entries of an object in ECMAScript's order: canonical array indices ascending, then the others as they came."""

    def rank(entry: tuple[str, object]) -> tuple[int, int]:
        key = entry[0]
        is_index = key.isascii() and key.isdigit() and len(key) <= 10 and str(int(key)) == key and int(key) < 2**32 - 1
        return (0, int(key)) if is_index else (1, 0)

    return sorted(value.items(), key=rank)


def limit_error(where: str, what: str, found: int, limit: int) -> CompactionError:
    """Say which limit was passed, by how much, and how to raise it."""
    return CompactionError(
        ErrorCode.LIMIT_EXCEEDED,
        f"{found:,} {what}, the limit is {limit:,}",
        where=where,
        fix="pass a wider Limits, or less data",
    )


def frozen_object(value: object, where: str = "value") -> JsonObject:
    """Freeze a JSON object that a caller hands to a constructor, or raise INVALID_INPUT."""
    if type(value) is JsonObject:
        return value
    try:
        if is_object(value):
            frozen: JsonObject = Tally(SESSION_LIMITS).json(value, where)
            return frozen
    except Faulty:
        pass
    raise CompactionError(
        ErrorCode.INVALID_INPUT,
        f"needs a plain JSON object, got {kind_name(value)}",
        where=where,
        fix="pass a dict of str keys with None, bool, finite numbers, str, lists and dicts",
    )
