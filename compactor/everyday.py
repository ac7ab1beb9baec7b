"""The quick reader: accepts everyday messages in one short walk, or gives up on them without a verdict.

Everyday data is what nearly all messages are: exact dicts and strings, text blocks, tool calls with flat arguments,
and nouns of texts. Everything else is ``Unusual`` (or a ``KeyError``, where a field is missing), and ``reading`` judges
it from the start. So nothing here says what is wrong, or in which order; and nothing here calls a method of a foreign
object: types are compared by identity first, and keys are looked at before any lookup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from .messages import (
    Block,
    Message,
    ToolResult,
    UserMessage,
    made_assistant,
    made_call,
    made_result,
    made_text,
    made_user,
)
from .plain import BLANK, EMPTY, SAFE_INT_MAX, JsonObject, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .pairing import Link

Accepted: TypeAlias = tuple[Message, int, int, int]
"""A noun, its code points, its items beyond the message itself, and its units. The sums are for the caller to judge."""


class Unusual(Exception):  # noqa: N818 - a signal between the two readers, never seen by users
    """Not everyday data."""


def everyday(value: object, index: int, limits: Limits, calls: list[Link], results: list[Link], *, rich: bool) -> Accepted:
    """Accept one message; its calls and its result are noted as links, even where it is given up later."""
    if type(value) is not dict:
        return _noun(value, index, results)
    for key in value:
        if type(key) is not str:
            raise Unusual
    role, id_, content = value["role"], value["id"], value["content"]
    if type(role) is not str or type(id_) is not str or not id_.strip(BLANK) or (rich and "meta" in value):
        raise Unusual
    if type(content) is str:
        size = len(id_) + len(content)
        if role == "user":
            return made_user(content, id_, EMPTY), size, 0, 4 + size
        if role == "toolResult":
            call, name, is_error = value["toolCallId"], value["toolName"], value["isError"]
            if type(call) is str and type(name) is str and type(is_error) is bool and call.strip(BLANK) and name.strip(BLANK):
                size += len(call) + len(name)
                results.append((call, name, index))
                return made_result(call, name, content, is_error, id_, EMPTY), size, 0, 7 + size
    elif role == "assistant" and (type(content) is list or type(content) is tuple):
        return _assistant(content, id_, index, limits, calls)
    raise Unusual


def _assistant(content: Sequence[object], id_: str, index: int, limits: Limits, calls: list[Link]) -> Accepted:
    """Accept text blocks, and tool calls with flat arguments."""
    size, count, blocks = len(id_), len(content), []
    if count > limits.items_total:
        raise Unusual
    cost = 4 + size
    block: Block
    for value in content:
        if type(value) is not dict:
            raise Unusual
        for key in value:
            if type(key) is not str:
                raise Unusual
        kind = value["type"]
        if type(kind) is not str:
            raise Unusual
        if kind == "text":
            text = value["text"]
            if type(text) is not str:
                raise Unusual
            size += len(text)
            cost += 2 + len(text)
            block = made_text(text)
        elif kind == "toolCall":
            call, name, arguments = value["id"], value["name"], value["arguments"]
            if type(call) is not str or type(name) is not str or type(arguments) is not dict:
                raise Unusual
            count += len(arguments)
            if not call.strip(BLANK) or not name.strip(BLANK) or count > limits.items_total or limits.json_depth < 1:
                raise Unusual
            chars, units = _flat(arguments)
            size += len(call) + len(name) + chars
            cost += 6 + len(call) + len(name) + units
            calls.append((call, name, index))
            block = made_call(call, name, JsonObject(arguments) if arguments else EMPTY)
        else:
            raise Unusual
        blocks.append(block)
    return made_assistant(tuple(blocks), id_, EMPTY), size, count, cost


def _flat(arguments: dict[Any, Any]) -> tuple[int, int]:
    """Accept arguments that hold texts, whole numbers, booleans and null only: their code points and their JSON units."""
    # Two for the braces; each entry costs one for itself and one for a value without text. An int adds its digits,
    # true and false (5 and 6 together with that one) the rest.
    chars, units = 0, 2 + 2 * len(arguments)
    for key, item in arguments.items():
        if type(key) is not str:
            raise Unusual
        chars += len(key)
        kind = type(item)
        if kind is str:
            chars += len(item)
        elif kind is int and -SAFE_INT_MAX <= item <= SAFE_INT_MAX:
            units += len(str(item))
        elif kind is bool:
            units += 4 if item else 5
        elif item is not None:
            raise Unusual
    return chars, units + chars


def _noun(value: object, index: int, results: list[Link]) -> Accepted:
    """Accept a user message or a tool result of text as it is: it is frozen, and so is everything in it."""
    kind = type(value)
    if kind is not UserMessage and kind is not ToolResult:
        raise Unusual
    noun: UserMessage | ToolResult = value  # type: ignore[assignment]
    id_, content = noun.id, noun.content
    if type(id_) is not str or type(content) is not str or noun.meta is not EMPTY or not id_.strip(BLANK):
        raise Unusual
    size = len(id_) + len(content)
    if type(noun) is UserMessage:
        return noun, size, 0, 4 + size
    call, name = noun.tool_call_id, noun.tool_name  # type: ignore[union-attr]
    if type(call) is not str or type(name) is not str or type(noun.is_error) is not bool:  # type: ignore[union-attr]
        raise Unusual
    if not call.strip(BLANK) or not name.strip(BLANK):
        raise Unusual
    size += len(call) + len(name)
    results.append((call, name, index))
    return noun, size, 0, 7 + size
