"""The nouns are frozen, tell nothing in their reprs, and survive the way to plain data and back."""

from __future__ import annotations

import copy
import json
import pickle
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from compactor.errors import CompactionError, ErrorCode, FailureKind, shown
from compactor.messages import (
    AssistantMessage,
    Media,
    Message,
    Opaque,
    Requirement,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    TranscriptFault,
    UserMessage,
    message_to_plain,
    text_of,
)
from compactor.plain import EMPTY, SESSION_LIMITS, JsonObject, Limits, Tally, thaw
from compactor.reading import read_messages, read_one
from compactor.transcript import validate_transcript

if TYPE_CHECKING:
    from collections.abc import Callable

CALL = ToolCall("c1", name="sh", arguments={"command": ["ls", {"deep": 1.5}]})
RICH: list[Message] = [
    UserMessage("hi", id="u1"),
    UserMessage([Text("look"), Media("https://x/y.png", media_type="image/png", name="y", cost=7)], id="u2"),
    AssistantMessage("just text", id="a1", meta={"model": "m"}),  # type: ignore[arg-type]
    AssistantMessage(
        [
            Thinking("hm", signature="sig"),
            Thinking("", signature="x", redacted=True),
            Opaque("item", data={"a": 1}),
            CALL,
        ],
        id="a2",
    ),
    ToolResult(CALL, "done", id="r1"),
    ToolResult("c2", [Text("x")], True, tool_name="sh", id="r2", meta={"took": 3}),
]


@pytest.mark.parametrize("message", RICH, ids=lambda message: message.id)
def test_a_message_comes_back_from_plain_json_as_it_was(message: Message) -> None:
    text = json.dumps(message_to_plain(message))
    assert read_one(json.loads(text))[0] == message
    assert read_one(message)[0] == message


@pytest.mark.parametrize("message", RICH, ids=lambda message: message.id)
def test_a_message_survives_pickle_and_deep_copies(message: Message) -> None:
    assert pickle.loads(pickle.dumps(message)) == message
    assert copy.deepcopy(message) == message
    assert hash(copy.deepcopy(message)) == hash(message)


@pytest.mark.parametrize("noun", [*RICH, Requirement("x", id="q"), Summary("x", id="s"), CALL], ids=lambda noun: noun.id)
def test_a_noun_refuses_every_change(noun: Any) -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        noun.id = "other"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del noun.id
    with pytest.raises((AttributeError, TypeError)):
        noun.anything = 1


def test_a_json_object_refuses_every_change() -> None:
    frozen = CALL.arguments
    changes: list[Callable[[], object]] = [
        lambda: frozen.__setitem__("a", 1),
        lambda: frozen.__delitem__("command"),
        frozen.clear,
        lambda: frozen.pop("command"),
        frozen.popitem,
        lambda: frozen.setdefault("a", 1),
        lambda: frozen.update(a=1),
        lambda: frozen.__ior__({"a": 1}),
    ]
    for change in changes:
        with pytest.raises(TypeError, match=r"^a JsonObject is immutable"):
            change()
    assert frozen == {"command": ("ls", {"deep": 1.5})}
    assert isinstance(frozen["command"][1], JsonObject)


def test_a_json_object_copies_pickles_and_thaws() -> None:
    frozen = CALL.arguments
    assert copy.copy(frozen) is frozen
    assert frozen | {"a": 1} == {**frozen, "a": 1}
    assert copy.deepcopy(frozen) is frozen
    again = pickle.loads(pickle.dumps(frozen))
    assert (type(again), again, hash(again)) == (JsonObject, frozen, hash(frozen))
    assert thaw(frozen) == {"command": ["ls", {"deep": 1.5}]}
    assert type(thaw(frozen)) is dict


def test_empty_arguments_are_one_shared_object() -> None:
    assert read_one({"id": "a", "role": "assistant", "content": []})[0].meta is EMPTY
    call = {"type": "toolCall", "id": "c", "name": "n", "arguments": {}}
    for wrapped in (call, {**call, "arguments": JsonObject()}):
        message = read_one({"id": "a", "role": "assistant", "content": [wrapped]})[0]
        assert type(message) is AssistantMessage
        assert message.tool_calls[0].arguments is EMPTY


def test_a_result_takes_the_name_of_the_call_that_it_answers() -> None:
    result = ToolResult(CALL, "x")
    assert (result.tool_call_id, result.tool_name, result.is_error) == ("c1", "sh", False)


def test_a_noun_is_told_without_its_content() -> None:
    assert repr(UserMessage("secret", id="u")) == "UserMessage(content=<6 characters>, id='u', meta=<0 keys>)"
    assert repr(AssistantMessage("secret")) == "AssistantMessage(content=<1 blocks>, id=None, meta=<0 keys>)"
    assert repr(UserMessage(b"secret", id="u")) == "UserMessage(content=<…>, id='u', meta=<0 keys>)"
    assert repr(CALL) == "ToolCall(id='c1', name='sh', arguments=<1 keys>)"


def test_text_of_keeps_text_blocks_only() -> None:
    assert text_of("as it is") == "as it is"
    assert text_of((Text("a"), Thinking("no"), CALL, Text("b"))) == "a\nb"


def test_metadata_that_is_not_json_is_refused_where_it_is_given() -> None:
    refused: list[Any] = [[], "x", {1: 2}, {"a": {1}}, {"a": float("nan")}]
    for meta in refused:
        with pytest.raises(CompactionError, match="needs a plain JSON object") as caught:
            UserMessage("x", meta=meta)
        assert caught.value.code is ErrorCode.INVALID_INPUT


@pytest.mark.parametrize(
    "block", [{"type": "thinking", "text": "x"}, {"type": "media", "source": "x"}, {"type": "opaque", "kind": "x"}]
)
def test_richer_blocks_are_refused_in_plain_data_unless_asked_for(block: dict[str, Any]) -> None:
    message = {"id": "a", "role": "assistant", "content": [block]}
    with pytest.raises(CompactionError, match=r"messages\[0\]\.content\[0\]\.type: is .* not one of text, toolCall"):
        read_messages([message], Tally(Limits()))
    assert len(read_messages([message], Tally(Limits()), rich=True).messages) == 1


def test_metadata_in_plain_data_is_an_unknown_field_unless_asked_for() -> None:
    message = {"id": "u", "role": "user", "content": "x", "meta": {"a": 1}}
    assert read_messages([message], Tally(Limits())).messages[0].meta is EMPTY
    assert read_messages([message], Tally(Limits()), rich=True).messages[0].meta == {"a": 1}


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"id": "u", "role": "user", "content": [{"type": "toolCall", "id": "c", "name": "n", "arguments": {}}]}, "content"),
        ({"id": "u", "role": "user", "content": [{"type": "thinking", "text": "c"}]}, "content"),
        ({"id": "u", "role": "user", "content": "x", "meta": []}, "meta"),
        ({"id": "u", "role": "assistant", "content": [{"type": "media", "source": "c", "cost": -1}]}, r"content\[0\].cost"),
        (ToolResult("c", "x", tool_name=" ", id="r"), "toolName"),
        (ToolResult(" ", "x", tool_name="n", id="r"), "toolCallId"),
        ({"id": "u", "role": "assistant", "content": [{"type": "media", "source": 1}]}, r"content\[0\].source"),
        (
            {"id": "u", "role": "assistant", "content": [{"type": "opaque", "kind": "k", "data": {"a": {1}}}]},
            r"content\[0\].data",
        ),
    ],
)
def test_a_fault_in_rich_data_has_a_place(message: Any, place: str) -> None:
    with pytest.raises(CompactionError, match=rf"^messages\[0\]\.{place}: ") as caught:
        read_one(message)
    assert caught.value.code is ErrorCode.INVALID_TRANSCRIPT


# ------------------------------------------------------------------------------------------------------- faults


def test_all_faults_are_listed_with_what_to_do() -> None:
    faults = validate_transcript(
        [
            {
                "id": "a",
                "role": "assistant",
                "content": [{"type": "text"}, {"type": "toolCall", "id": "c", "name": " ", "arguments": 1}],
            },
            {"id": "r", "role": "toolResult", "toolCallId": "c", "toolName": "x", "content": 7, "isError": "no"},
            {"id": " ", "role": "user", "content": ""},
        ]
    )
    assert [(fault.rule, fault.index) for fault in faults] == [
        ("INVALID_MESSAGE", 0),
        ("EMPTY_TOOL_NAME", 0),
        ("INVALID_TOOL_ARGUMENTS", 0),
        ("INVALID_MESSAGE", 1),
        ("INVALID_MESSAGE", 1),
        ("INVALID_MESSAGE", 2),
    ]
    assert (
        faults[1].fix
        == "messages[0].content[1].name: needs a tool name that is not blank; name the tool with a string that is not blank"
    )
    rule, index, fix = faults[0]
    assert (rule, index) == ("INVALID_MESSAGE", 0)
    assert fix.startswith("messages[0].content[0].text: needs a string, got object")


def test_live_mode_lets_calls_wait_and_nothing_else() -> None:
    waiting = {"id": "a", "role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "n", "arguments": {}}]}
    orphan = {"id": "r", "role": "toolResult", "toolCallId": "d", "toolName": "n", "content": "", "isError": False}
    assert validate_transcript([waiting], live=True) == ()
    assert [fault.rule for fault in validate_transcript([waiting])] == ["MISSING_TOOL_RESULT"]
    assert [fault.rule for fault in validate_transcript([waiting, orphan], live=True)] == ["ORPHAN_TOOL_RESULT"]


def test_what_is_no_array_is_one_fault_of_the_whole() -> None:
    fault = validate_transcript(None)  # type: ignore[arg-type]
    assert fault == (
        TranscriptFault("INVALID_TRANSCRIPT", -1, "messages: needs an array, got NoneType; pass a list of messages"),
    )


def test_faults_of_richer_blocks_are_all_listed() -> None:
    blocks = [Media("x", cost=-1), Media(b"x"), Opaque(b"x"), Thinking(7)]  # type: ignore[arg-type]
    faults = validate_transcript([AssistantMessage(tuple(blocks), id="a")])
    assert [fault.fix.partition(":")[0].rpartition(".")[2] for fault in faults] == ["cost", "source", "kind", "text"]


def test_a_limit_ends_the_list_of_faults() -> None:
    with pytest.raises(CompactionError, match="3 messages, the limit is 2") as caught:
        validate_transcript([None, None, None], limits=Limits(messages=2))
    assert caught.value.code is ErrorCode.LIMIT_EXCEEDED


# ------------------------------------------------------------------------------------------------------- errors


def test_an_error_survives_pickle_with_its_fields_and_notes() -> None:
    error = CompactionError(ErrorCode.CANCELLED, "stopped", where="here", fix="go on", kind=FailureKind.CANCELLED)
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.message, again.where, again.fix, again.kind) == (
        ErrorCode.CANCELLED,
        "stopped",
        "here",
        "go on",
        FailureKind.CANCELLED,
    )
    assert again.__notes__ == ["a note"]
    assert str(again) == str(error) == "here: stopped (go on) [CONTEXT_CANCELLED]"
    assert repr(copy.deepcopy(error)) == repr(error)


def test_codes_are_stable_and_unlike() -> None:
    assert all(code.value == f"CONTEXT_{code.name}" for code in ErrorCode)


def test_an_id_is_shown_escaped_and_bounded() -> None:
    assert shown("a\nb\x1b[31m\u202e") == r"'a\nb\x1b[31m\u202e'"
    assert shown("x" * 65) == "'" + "x" * 64 + "'..."
    assert shown(12) == "<int>"


def test_the_session_profile_is_wider_than_the_default_everywhere() -> None:
    pairs = zip(attrs.astuple(SESSION_LIMITS), attrs.astuple(Limits()), strict=True)
    assert all(wide > default for wide, default in pairs)
