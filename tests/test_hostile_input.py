"""Hostile input meets a code and a place; no method of it is called, nothing of it is stored or told."""

from __future__ import annotations

import copy
import gc
import json
import math
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from compactor.boundary import group_tool_rounds
from compactor.context import (
    DEFAULT_LIMITS,
    ActiveContext,
    SummaryRequest,
    build_active_context,
    build_live_context,
    estimate_context_units,
    select_compaction_boundary,
    with_message,
)
from compactor.errors import CompactionError, ErrorCode, kind_name
from compactor.messages import AssistantMessage, Text, ToolCall, ToolResult, UserMessage
from compactor.plain import SESSION_LIMITS, JsonObject, Limits
from compactor.transcript import validate_transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CANARY = "canary-7f3a"
REFUSED = {
    ErrorCode.INVALID_INPUT,
    ErrorCode.INVALID_TRANSCRIPT,
    ErrorCode.LIMIT_EXCEEDED,
    ErrorCode.INVALID_BUDGET,
    ErrorCode.SUMMARY_INVALID,
}

VALID: dict[str, Any] = {
    "requirements": [{"id": "q", "content": "never delete"}],
    "summary": {"id": "s", "content": "so far"},
    "messages": [
        {"id": "u", "role": "user", "content": "hello"},
        {
            "id": "a",
            "role": "assistant",
            "content": [
                {"type": "text", "text": "well"},
                {"type": "toolCall", "id": "c", "name": "sh", "arguments": {"list": [1, {"deep": None}], "flat": "x", "n": 1.5}},
            ],
        },
        {"id": "r", "role": "toolResult", "toolCallId": "c", "toolName": "sh", "content": "ok", "isError": False},
    ],
    "compactions": [
        {"id": "k", "summaryId": "s", "boundary": 1, "compactedMessageIds": ["m"], "unitsBefore": 9, "unitsAfter": 3},
    ],
}
OPTIONS: dict[str, Any] = {"targetUnits": 60, "summaryMaxUnits": 10, "retainRecentMessages": 0}

called: list[str] = []
"""Every method of a hostile object that anybody called."""


def _spy(name: str, result: object = None) -> Any:
    def method(*_args: object, **_kwargs: object) -> object:
        called.append(name)
        return result

    return method


# fmt: off
HOOKS = (
    "__eq__", "__ne__", "__hash__", "__len__", "__iter__", "__next__", "__getitem__", "__contains__", "__bool__", "__str__",
    "__repr__", "__format__", "__index__", "__int__", "__float__", "__lt__", "__le__", "__gt__", "__ge__", "__getattr__",
    "__getattribute__", "__add__", "__radd__", "__neg__", "__abs__", "__reduce__", "__reduce_ex__", "__copy__",
    "__deepcopy__", "__buffer__", "__await__", "__call__", "__iadd__", "keys", "items", "values", "get", "strip",
    "is_integer", "encode", "join", "isidentifier",
)
# fmt: on
RESULTS = {"__hash__": 1, "__len__": 1, "__bool__": True, "__str__": CANARY, "__repr__": CANARY, "__eq__": True, "__index__": 1}


class HostileMeta(type):
    """A metaclass whose classes tell who compares, hashes, names, prints or asks them."""

    __eq__ = _spy("meta.__eq__", result=True)
    __hash__ = _spy("meta.__hash__", 1)
    __repr__ = _spy("meta.__repr__", CANARY)
    __bool__ = _spy("meta.__bool__", result=True)
    __instancecheck__ = _spy("meta.__instancecheck__", result=True)
    __subclasscheck__ = _spy("meta.__subclasscheck__", result=True)
    __name__ = property(_spy("meta.__name__", CANARY))
    __len__ = _spy("meta.__len__", 1)


def hostile(base: type, *arguments: Any, claims: type | None = None, meta: type = type) -> Any:
    """An instance of a subclass of *base* whose every hook records its call; *claims* is what its ``__class__`` says."""
    hooks = {name: _spy(name, RESULTS.get(name)) for name in HOOKS}
    if claims is not None:
        hooks["__class__"] = property(_spy("__class__", claims))
    return base.__new__(meta("Hostile", (base,), hooks), *arguments) if base is not list else meta("Hostile", (base,), hooks)()


def _generator() -> Iterator[object]:
    called.append("generator")
    yield VALID


HOSTILE: dict[str, Callable[[], Any]] = {
    "a str subclass": lambda: hostile(str, CANARY),
    "an int subclass": lambda: hostile(int, 1),
    "a float subclass": lambda: hostile(float, 1.0),
    "a list subclass": lambda: hostile(list),
    "a tuple subclass": lambda: hostile(tuple, (1,)),
    "a dict subclass": lambda: hostile(dict),
    "an object that claims to be a dict": lambda: hostile(object, claims=dict),
    "an object that claims to be a str": lambda: hostile(object, claims=str),
    "an object that claims to be a message": lambda: hostile(object, claims=UserMessage),
    "an object with a hostile metaclass": lambda: hostile(object, meta=HostileMeta),
    "a str subclass with a hostile metaclass": lambda: hostile(str, CANARY, meta=HostileMeta),
    "a class with a hostile metaclass": lambda: HostileMeta("Hostile", (), {}),
    "a subclass of a noun": lambda: type("Hostile", (UserMessage,), {"__slots__": ()})("x", id="u"),
    "a generator": _generator,
    "bytes": lambda: b"x",
    "a set": lambda: {1},
    "a complex number": lambda: 1j,
    "an ellipsis": lambda: ...,
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value in plain data, the root first."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def planted(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of *data* with *value* at *path*."""
    if not path:
        return value
    fresh = copy.deepcopy(data)
    target = fresh
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return fresh


def refused(call: Callable[[], Any]) -> CompactionError:
    """The error that *call* raises; nothing hostile was called, and nothing of it is told."""
    called.clear()
    try:
        call()
    except CompactionError as error:
        heard = called.copy()
        caught = error
    else:
        pytest.fail("hostile input was accepted")
    assert heard == []
    assert caught.code in REFUSED
    assert caught.where
    assert caught.__cause__ is None
    assert CANARY not in f"{caught} {caught!r} {caught.args} {caught.fix}"
    return caught


DOORS: dict[str, Callable[[Any], Any]] = {
    "build": build_active_context,
    "build live": lambda data: build_live_context(data, limits=SESSION_LIMITS),
    "units": estimate_context_units,
    "boundary": lambda data: select_compaction_boundary(data, OPTIONS),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_value_is_refused_at_every_place_of_a_context(kind: str) -> None:
    for path in places(VALID):
        for door in DOORS.values():
            data = planted(VALID, path, HOSTILE[kind]())
            refused(lambda door=door, data=data: door(data))  # type: ignore[misc]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_message_leaves_a_live_context_as_it_was(kind: str) -> None:
    context = build_live_context({"messages": VALID["messages"][:2]}, limits=SESSION_LIMITS)
    stored = [*context.messages._buffer.messages]
    for message in VALID["messages"]:
        for path in places(message):
            data = planted(message, path, HOSTILE[kind]())
            refused(lambda data=data: with_message(context, data))  # type: ignore[misc]
    assert context.messages._buffer.messages == stored
    assert with_message(context, VALID["messages"][2])[0].units > context.units


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_options_are_refused(kind: str) -> None:
    for path in places(OPTIONS):
        options = planted(OPTIONS, path, HOSTILE[kind]())
        refused(lambda options=options: select_compaction_boundary(VALID, options))  # type: ignore[misc]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_transcript_is_refused_or_listed(kind: str) -> None:
    for path in places(VALID["messages"]):
        data = planted(VALID["messages"], path, HOSTILE[kind]())
        refused(lambda data=data: group_tool_rounds(data))  # type: ignore[misc]
        called.clear()
        faults = validate_transcript(data)
        assert called == []
        assert faults
        assert CANARY not in repr(faults)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_noun_with_a_hostile_field_is_refused_as_its_plain_form_is(kind: str) -> None:
    build = HOSTILE[kind]
    for noun in (
        lambda: UserMessage(build(), id="u"),
        lambda: UserMessage("x", id=build()),
        lambda: UserMessage((Text("x"), build()), id="u"),
        lambda: AssistantMessage(build(), id="a"),
        lambda: AssistantMessage((Text(build()),), id="a"),
        lambda: AssistantMessage((ToolCall(build(), name="n"),), id="a"),
        lambda: AssistantMessage((ToolCall("c", name=build()),), id="a"),
        lambda: ToolResult(build(), "x", tool_name="n", id="r"),
        lambda: ToolResult("c", "x", tool_name=build(), id="r"),
        lambda: ToolResult("c", build(), tool_name="n", id="r"),
        lambda: ToolResult("c", "x", build(), tool_name="n", id="r"),
    ):
        message = noun()
        context = build_live_context({}, limits=SESSION_LIMITS)
        refused(lambda message=message, context=context: with_message(context, message))  # type: ignore[misc]
        refused(lambda message=message: build_active_context({"messages": [message]}))  # type: ignore[misc]
    value = build()
    refused(lambda: UserMessage("x", meta=value))
    refused(lambda: ToolCall("c", name="n", arguments=value))


def _objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for place in places(value, path):
        target = value
        for key in place:
            target = target[key]
        if isinstance(target, dict):
            yield place


class HostileKey:
    """Hashes like the text it imitates, and tells who compares it."""

    def __init__(self, imitates: str) -> None:
        self.imitates = imitates

    def __hash__(self) -> int:
        called.append("key.__hash__")
        return hash(self.imitates)

    def __eq__(self, other: object) -> bool:
        called.append("key.__eq__")
        return True

    def __repr__(self) -> str:
        return CANARY


class HostileText(str):
    """A key that is a str, and not an exact one."""

    __slots__ = ()

    def __hash__(self) -> int:
        called.append("text.__hash__")
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        called.append("text.__eq__")
        return str.__eq__(self, other)


@pytest.mark.parametrize("key_type", [HostileKey, HostileText])
@pytest.mark.parametrize("name", ["id", "role", "content", "type", "text", "messages", "flat", "unknown"])
def test_a_hostile_key_is_refused_before_any_lookup(key_type: type, name: str) -> None:
    for path in _objects(VALID):
        data = copy.deepcopy(VALID)
        target: Any = data
        for key in path:
            target = target[key]
        # First in the dict, so that every lookup of the imitated name would meet it.
        items = {**target}
        target.clear()
        target[key_type(name)] = "x"
        for key, value in items.items():
            if key != name:
                target[key] = value
        refused(lambda data=data: build_active_context(data))  # type: ignore[misc]


def test_a_hostile_key_in_the_options_is_refused() -> None:
    options: dict[Any, Any] = {HostileKey("targetUnits"): 1, "summaryMaxUnits": 1, "retainRecentMessages": 0}
    assert refused(lambda: select_compaction_boundary(VALID, options)).code is ErrorCode.INVALID_INPUT


def test_a_json_object_made_by_hand_is_looked_through_like_any_other() -> None:
    keyed: dict[Any, Any] = {HostileKey("x"): 1}
    for made in (JsonObject(keyed), JsonObject(x=hostile(str, CANARY)), JsonObject(x=[hostile(int, 1)])):
        for message in (
            AssistantMessage((ToolCall("c", name="n", arguments=made),), id="a"),
            {"id": "a", "role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "n", "arguments": made}]},
            UserMessage("x", id="u", meta=made),
        ):
            refused(lambda message=message: build_active_context({"messages": [message]}))  # type: ignore[misc]
        refused(lambda made=made: build_active_context({"messages": [made]}))  # type: ignore[misc]


def test_a_json_object_made_by_hand_is_copied_when_it_is_read() -> None:
    inside = ["before"]
    call = ToolCall("c", name="n", arguments=JsonObject(x=inside))
    context = build_live_context({"messages": [AssistantMessage((call,), id="a")]}, limits=SESSION_LIMITS)
    inside.append("after")
    assert context.messages[0].content[0].arguments == {"x": ("before",)}  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------- shapes without hooks


def _arguments(value: Any) -> dict[str, Any]:
    return planted(VALID, ("messages", 1, "content", 1, "arguments"), {"x": value})  # type: ignore[no-any-return]


def _cycle(kind: str) -> Any:
    loop: Any = [] if kind == "list" else {}
    if kind == "list":
        loop.append(loop)
    else:
        loop["again"] = loop
    return loop


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_a_cycle_is_too_deep(kind: str) -> None:
    error = refused(lambda: build_active_context(_arguments(_cycle(kind))))
    assert (error.code, error.where) == (ErrorCode.LIMIT_EXCEEDED, "messages[1].content[1].arguments")


@pytest.mark.parametrize("path", [*places(VALID)], ids=lambda path: ".".join(map(str, path)) or "root")
def test_a_cycle_anywhere_is_refused(path: tuple[Any, ...]) -> None:
    for kind in ("list", "dict") if path else ("list",):
        refused(lambda kind=kind: build_active_context(planted(VALID, path, _cycle(kind))))  # type: ignore[misc]


@pytest.mark.parametrize(
    "limits", [DEFAULT_LIMITS, SESSION_LIMITS, Limits(json_depth=1_000_000)], ids=["default", "session", "absurd"]
)
def test_a_depth_of_5000_is_too_deep(limits: Limits) -> None:
    value: Any = "leaf"
    for _ in range(5_000):
        value = [value]
    error = refused(lambda: build_active_context(_arguments(value), limits=limits))
    assert error.code is ErrorCode.LIMIT_EXCEEDED
    refused(lambda: validate_transcript(_arguments(value)["messages"], limits=limits))


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 10**5_000, -(10**5_000), 10**309],
    ids=["nan", "inf", "-inf", "5000 digits", "-5000 digits", "1e309"],
)
def test_a_number_that_json_cannot_hold_is_refused(value: float) -> None:
    assert refused(lambda: build_active_context(_arguments(value))).code is ErrorCode.INVALID_TRANSCRIPT
    assert refused(lambda: build_active_context(_arguments([{"y": value}]))).code is ErrorCode.INVALID_TRANSCRIPT
    for key in ("boundary", "unitsBefore", "unitsAfter"):
        data = planted(VALID, ("compactions", 0, key), value)
        assert refused(lambda data=data: build_active_context(data)).code is ErrorCode.INVALID_INPUT  # type: ignore[misc]
    for key in OPTIONS:
        options = {**OPTIONS, key: value}
        assert refused(lambda options=options: select_compaction_boundary(VALID, options)).code is ErrorCode.INVALID_BUDGET  # type: ignore[misc]


def test_a_lone_surrogate_is_text_like_any_other() -> None:
    data = json.loads(json.dumps(VALID).replace("hello", "\\ud800"))
    context = build_active_context(data)
    assert context.units == build_active_context(VALID).units - 4
    assert context.messages[0].content == "\ud800"


def test_a_lone_surrogate_in_an_id_can_be_told() -> None:
    data = {"requirements": [{"id": "\udc00", "content": "x"}] * 2}
    error = refused(lambda: build_active_context(data))
    assert (
        str(error).encode()
        == rb"requirements[1].id: '\udc00' is taken (give each requirement an id of its own) [CONTEXT_INVALID_INPUT]"
    )


def test_a_type_that_is_named_with_a_str_subclass_stays_unnamed() -> None:
    class Hostile:
        pass

    Hostile.__name__ = hostile(str, CANARY)
    called.clear()
    assert kind_name(Hostile()) == "?"
    assert called == []


def test_a_type_with_a_strange_name_is_shown_escaped() -> None:
    assert kind_name(type("a\nb", (), {})()) == r"'a\nb'"
    assert kind_name(type("x" * 100, (), {})()) == "'" + "x" * 64 + "'..."


# ------------------------------------------------------------------------------------------------------ telling

LONG = "i" * 64 + CANARY


def _telling() -> dict[str, Any]:
    """A valid context with the canary in every text and, behind 64 harmless characters, in every id."""
    return {
        "requirements": [{"id": LONG, "content": CANARY}],
        "summary": {"id": LONG, "content": CANARY},
        "messages": [
            {"id": LONG, "role": "user", "content": CANARY},
            {
                "id": LONG,
                "role": "assistant",
                "content": [
                    {"type": "text", "text": CANARY},
                    {"type": "toolCall", "id": LONG, "name": LONG, "arguments": {CANARY: CANARY}},
                ],
            },
            {"id": LONG, "role": "toolResult", "toolCallId": LONG, "toolName": LONG, "content": CANARY, "isError": False},
        ],
        "compactions": [
            {"id": LONG, "summaryId": LONG, "boundary": 1, "compactedMessageIds": [LONG], "unitsBefore": 9, "unitsAfter": 3},
        ],
    }


def test_no_repr_tells_a_content_or_a_long_id() -> None:
    context = build_active_context(_telling())
    request = SummaryRequest(
        context.requirements,
        context.summary,
        context.messages,
        3,
        100,
        LONG,
        instructions=CANARY,
        rejection=CANARY,
    )
    groups = group_tool_rounds(context.messages)
    for value in (context, request, groups, context.messages, [*context.messages], context.messages[1].content, context.summary):
        assert CANARY not in repr(value)
        assert CANARY not in str(value)
    rich = UserMessage((Text(CANARY),), id=LONG, meta={CANARY: CANARY})  # type: ignore[arg-type]
    assert CANARY not in repr(rich)


@pytest.mark.parametrize(
    "path", [*places(_telling())], ids=lambda path: ".".join(map(str, path)).replace(CANARY, "key") or "root"
)
def test_no_error_tells_a_content_or_a_long_id(path: tuple[Any, ...]) -> None:
    for value in (None, 7, [CANARY], {CANARY: CANARY}, " ", {"id": LONG}, [], {}, "x" * 70_000 + CANARY):
        data = planted(_telling(), path, value)
        for call in (
            build_active_context,
            lambda data: validate_transcript(data.get("messages", ())) if type(data) is dict else None,
        ):
            try:
                told = repr(call(data))
            except CompactionError as error:
                told = f"{error} {error!r} {error.args} {error.__cause__!r}"
            assert CANARY not in told


def test_nothing_of_what_was_refused_is_kept() -> None:
    class Mark(dict[str, Any]):
        """A dict that can be watched."""

    def refuse(context: ActiveContext) -> weakref.ref[Mark]:
        mark = Mark()
        message = planted(VALID["messages"][0], ("id",), mark)
        refused(lambda: with_message(context, message))
        refused(lambda: build_active_context({"messages": [VALID["messages"][0], message]}))
        return weakref.ref(mark)

    context = build_live_context({}, limits=SESSION_LIMITS)
    watched = refuse(context)
    gc.collect()
    assert watched() is None
