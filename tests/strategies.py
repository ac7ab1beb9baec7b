"""Random transcripts as plain data, and the rules in their slowest form, written down from the rules' own words."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compactor.units import number_text

Plain = dict[str, Any]

TEXTS = st.text(max_size=12)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=5
)
ARGUMENTS = st.dictionaries(TEXTS, SCALARS, max_size=3) | st.dictionaries(TEXTS, VALUES, max_size=3)


def user(id_: str, content: str) -> Plain:
    return {"id": id_, "role": "user", "content": content}


def assistant(id_: str, *blocks: Plain) -> Plain:
    return {"id": id_, "role": "assistant", "content": [*blocks]}


def call(id_: str, arguments: Plain | None = None) -> Plain:
    return {"type": "toolCall", "id": id_, "name": f"tool-{id_}", "arguments": arguments or {}}


def result(id_: str, call_id: str, content: str = "") -> Plain:
    return {
        "id": id_,
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": f"tool-{call_id}",
        "content": content,
        "isError": False,
    }


@st.composite
def transcripts(draw: st.DrawFn, *, live: bool = False, max_size: int = 14) -> list[Plain]:
    """A valid transcript: rounds that touch, interleave and nest; with *live* some calls still wait at the end."""
    messages: list[Plain] = []
    waiting: list[str] = []
    for step in range(draw(st.integers(0, max_size))):
        match draw(st.integers(0, 4)):
            case 0:
                messages.append(user(f"u{step}", draw(TEXTS)))
            case 1:
                messages.append(
                    assistant(f"a{step}", *[{"type": "text", "text": text} for text in draw(st.lists(TEXTS, max_size=2))])
                )
            case 2 | 3 if waiting:
                messages.append(result(f"r{step}", waiting.pop(draw(st.integers(0, len(waiting) - 1))), draw(TEXTS)))
            case _:
                ids = [f"c{step}.{number}" for number in range(draw(st.integers(1, 3)))]
                waiting += ids
                messages.append(assistant(f"a{step}", {"type": "text", "text": ""}, *[call(id_, draw(ARGUMENTS)) for id_ in ids]))
    if not live:
        messages += [result(f"end{number}", id_) for number, id_ in enumerate(draw(st.permutations(waiting)))]
    return messages


def naive_json_units(value: Any) -> int:
    """J, as §7 has it."""
    if value is None:
        return 1
    if value is True:
        return 5
    if value is False:
        return 6
    if isinstance(value, str):
        return 1 + len(value)
    if isinstance(value, list):
        return 2 + sum(1 + naive_json_units(item) for item in value)
    if isinstance(value, dict):
        return 2 + sum(1 + len(key) + naive_json_units(item) for key, item in value.items())
    return 1 + len(number_text(value))


def naive_units(message: Plain) -> int:
    """The units of a plain message, as §7 has it."""
    if message["role"] == "user":
        return 4 + len(message["id"]) + len(message["content"])
    if message["role"] == "toolResult":
        return 7 + sum(len(message[key]) for key in ("id", "toolCallId", "toolName", "content"))
    return (
        4
        + len(message["id"])
        + sum(
            2 + len(block["text"])
            if block["type"] == "text"
            else 6 + len(block["id"]) + len(block["name"]) + naive_json_units(block["arguments"])
            for block in message["content"]
        )
    )


def naive_groups(messages: list[Plain]) -> list[tuple[str, int, int]]:
    """Grouping, as §8 has it: O(n²). A call that waits holds its round open to the end."""
    ends: dict[int, int] = {}
    for at, message in enumerate(messages):
        calls = (
            [block["id"] for block in message["content"] if block["type"] == "toolCall"] if message["role"] == "assistant" else []
        )
        for id_ in calls:
            answers = [i for i, other in enumerate(messages) if other["role"] == "toolResult" and other["toolCallId"] == id_]
            ends[at] = max(ends.get(at, 0), answers[0] + 1 if answers else len(messages))
    groups: list[tuple[str, int, int]] = []
    start = 0
    while start < len(messages):
        if start not in ends:
            groups.append(("message", start, start + 1))
            start += 1
            continue
        end, at = ends[start], start
        while at < end:
            end = max(end, ends.get(at, 0))
            at += 1
        groups.append(("tool_round", start, end))
        start = end
    return groups


def naive_boundary(context: Plain, target: int, summary_max: int, retain: int) -> int | None:
    """Selection, as §9 has it: O(n²). A round that a waiting call holds open is no candidate."""
    messages = context["messages"]
    last = len(messages) - retain
    if last <= 0:
        return None
    fixed = sum(3 + len(item["id"]) + len(item["content"]) for item in context.get("requirements", [])) + summary_max
    answered = {message["toolCallId"] for message in messages if message["role"] == "toolResult"}
    for _kind, start, end in naive_groups(messages):
        blocks = [block for message in messages[start:end] if message["role"] == "assistant" for block in message["content"]]
        is_open = any(block["type"] == "toolCall" and block["id"] not in answered for block in blocks)
        if end > last or is_open:
            return None
        if fixed + sum(map(naive_units, messages[end:])) <= target:
            return end
    return None
