"""Units: a deterministic measure in code points, the same on every platform.

Units are not model tokens: they never depend on a model, a vocabulary or a library version, so a test or a ledger can
rely on them. Each element is measured once, when it is read.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from .messages import AssistantMessage, Block, Media, Message, Opaque, Requirement, Summary, Text, Thinking, ToolCall, ToolResult

EXACT: Final = 2**53


class Estimator(Protocol):
    """What one message, requirement or summary costs, in a measure of its own."""

    def __call__(self, element: Message | Requirement | Summary) -> int:
        """Give a whole number ≥ 0; deterministic."""


def number_text(value: float) -> str:
    """Write a number as ECMAScript does: shortest round-trip digits, plain from 1e-6 up to 1e21, else ``d.ddde±x``."""
    if type(value) is int and -EXACT <= value <= EXACT:
        return str(value)
    number = float(value)
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    # The number is 0.DIGITS x 10**point.
    point = int(exponent or 0) + (len(whole) if whole != "0" else len(digits) - len(fraction))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = point - 1
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if power >= 0 else '-'}{abs(power)}"


def json_units(value: Any) -> int:
    """J of the rules: null 1, true 5, false 6, text 1 + length, number 1 + length of its text, containers 2 + items."""
    kind = type(value)
    if kind is str:
        return 1 + len(value)
    if value is None:
        return 1
    if value is True:
        return 5
    if value is False:
        return 6
    if kind is int or kind is float:
        return 1 + len(number_text(value))
    if kind is tuple or kind is list:
        return 2 + len(value) + sum([json_units(item) for item in value])
    return object_units(value)


def object_units(value: dict[str, Any]) -> int:
    """J of an object: 2 + Σ(1 + length of the key + J(value))."""
    total = 2
    for key, item in value.items():
        total += 1 + len(key) + (1 + len(item) if type(item) is str else json_units(item))
    return total


def block_units(block: Block) -> int:
    """The units of one block; the docstring of each block states its rule."""
    match block:
        case ToolCall():
            return 6 + len(block.id) + len(block.name) + object_units(block.arguments)
        case Thinking():
            return 2 + len(block.text) + len(block.signature)
        case Media():
            return 2 + block.cost
        case Opaque():
            return 2 + len(block.kind) + object_units(block.data)
        case Text():
            return 2 + len(block.text)


def content_units(content: str | tuple[Block, ...]) -> int:
    """The length of a text, or the sum of its blocks."""
    return len(content) if isinstance(content, str) else sum([block_units(block) for block in content])


def message_units(message: Message) -> int:
    """The units of one message that has an id."""
    kind = type(message)
    if kind is AssistantMessage:
        blocks: tuple[Block, ...] = message.content  # type: ignore[assignment]
        return 4 + len(message.id or "") + sum([2 + len(b.text) if type(b) is Text else block_units(b) for b in blocks])
    units = len(message.id or "") + content_units(message.content)
    if kind is ToolResult:
        return 7 + units + len(message.tool_call_id) + len(message.tool_name)  # type: ignore[union-attr]
    return 4 + units


def requirement_units(requirement: Requirement) -> int:
    """3 + id + content."""
    return 3 + len(requirement.id or "") + len(requirement.content)


def summary_units(summary: Summary) -> int:
    """5 + id + content."""
    return 5 + len(summary.id or "") + len(summary.content)


def code_points(element: Message | Requirement | Summary) -> int:
    """The default estimator: units."""
    if type(element) is Requirement:
        return requirement_units(element)
    if type(element) is Summary:
        return summary_units(element)
    return message_units(element)  # type: ignore[arg-type]
