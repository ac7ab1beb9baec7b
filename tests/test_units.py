"""Units: the rules' own examples, the text of numbers as ECMAScript writes it, and the cost of the richer content."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
    UserMessage,
)
from compactor.units import code_points, json_units, number_text

# What a JavaScript engine's String(x) gives.
ECMASCRIPT = {
    0.0: "0",
    1.0: "1",
    -1.0: "-1",
    100.0: "100",
    0.1: "0.1",
    -1.5: "-1.5",
    123456.789: "123456.789",
    1e-6: "0.000001",
    1.5e-6: "0.0000015",
    1e-7: "1e-7",
    1.25e-7: "1.25e-7",
    1e20: "100000000000000000000",
    123456789012345680000.0: "123456789012345680000",
    1e21: "1e+21",
    1.2345e21: "1.2345e+21",
    1e100: "1e+100",
    5e-324: "5e-324",
    2.2250738585072014e-308: "2.2250738585072014e-308",
    sys.float_info.max: "1.7976931348623157e+308",
    -sys.float_info.max: "-1.7976931348623157e+308",
    0.30000000000000004: "0.30000000000000004",
    4.35: "4.35",
    9007199254740993.0: "9007199254740992",
    1 / 3: "0.3333333333333333",
}


@pytest.mark.parametrize(("value", "text"), [*ECMASCRIPT.items(), (-0.0, "0")], ids=repr)
def test_a_number_is_written_as_ecmascript_writes_it(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-7, "-7"),
        (2**53, "9007199254740992"),
        (2**53 + 1, "9007199254740992"),
        (-(2**53) - 3, "-9007199254740996"),
        (10**21 - 1, "1e+21"),
        (10**20 + 1, "100000000000000000000"),
        (10**300, "1e+300"),
    ],
)
def test_an_int_is_written_as_the_double_that_holds_it(value: int, text: str) -> None:
    assert number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(-1e21)
def test_the_text_of_a_number_reads_back_as_the_number(value: float) -> None:
    text = number_text(value)
    assert float(text) == value
    # Shortest: repr's digits, which are the shortest that round-trip, and no others.
    digits = repr(abs(value)).partition("e")[0].replace(".", "").strip("0")
    assert text.lstrip("-").partition("e")[0].replace(".", "").strip("0") == digits
    # Plain from 1e-6 up to 1e21, an exponent with a sign and without padding outside.
    assert ("e" in text) == (value != 0 and not 1e-6 <= abs(value) < 1e21)
    assert "e0" not in text
    assert "." not in text or not text.partition("e")[0].endswith("0")


@given(st.integers(-(2**1000), 2**1000))
def test_an_int_costs_what_its_double_costs(value: int) -> None:
    assert json_units(value) == json_units(float(value)) == 1 + len(number_text(value))


@pytest.mark.parametrize(
    ("element", "units"),
    [
        (Requirement("AB", id="r"), 6),
        (Summary("ab", id="s"), 8),
        (UserMessage("a", id="u"), 6),
        (UserMessage("😀", id="u"), 6),
        (UserMessage((Text("abc"), Media("data:long", cost=10)), id="u"), 4 + 1 + 5 + 12),
        (AssistantMessage("abc", id="a"), 4 + 1 + 5),
        (AssistantMessage((Thinking("abc", signature="de"),), id="a"), 4 + 1 + 7),
        (AssistantMessage((Opaque("kind", data={"a": 1}),), id="a"), 4 + 1 + 2 + 4 + (2 + 1 + 1 + 2)),
        (AssistantMessage((ToolCall("c", name="n", arguments={}),), id="a"), 4 + 1 + 6 + 1 + 1 + 2),
        (ToolResult("c", "xyz", tool_name="n", id="r"), 7 + 1 + 1 + 1 + 3),
        (ToolResult("c", (Text("xyz"),), tool_name="n", id="r"), 7 + 1 + 1 + 1 + 5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_element_costs_what_its_docstring_says(element: Message | Requirement | Summary, units: int) -> None:
    assert code_points(element) == units
