"""What the tests of every importer ask: a valid context, a true report, room made by a compaction, no exception but ours."""

import json
from pathlib import Path

import trio
from hypothesis import strategies as st

from compactor.compaction import compact_context
from compactor.errors import CompactionError
from compactor.formats import check_anthropic, check_openai_chat, check_openai_responses, parse_messages, render_messages
from compactor.messages import AssistantMessage, Text, ToolResult
from compactor.outcomes import Committed
from compactor.policy import Budget
from compactor.readers import read_bytes_transcript
from compactor.transcript import validate_transcript

CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpus"
CHECKS = {"openai-chat": check_openai_chat, "openai-responses": check_openai_responses, "anthropic": check_anthropic}


def checked(context, name):
    """The context, when it and its report are true to each other."""
    report = context.report
    assert report.format == name
    assert report.kept + report.skipped + report.torn == report.rows
    assert min(report.kept, report.skipped) >= 0
    assert sum(note.rows for note in report.notes) == report.skipped
    assert validate_transcript(list(context.messages), live=True) == ()
    for provider, check in CHECKS.items():
        assert check(render_messages(provider, context).data) == ()
    return context


def parsed(name, data):
    """Read decoded data; a round trip through our own format gives an equal context."""
    context = checked(parse_messages(name, data, name="f"), name)
    again = read_bytes_transcript(render_messages("compactor", context).to_json().encode(), "again")
    assert again == context
    return context


def compacts(context):
    """The digest makes room in the context."""
    if len(context.messages) < 4 or context.open_calls:
        return None

    async def main():
        room = max(60, context.units // 4)
        budget = Budget(context.units - 1, target_units=context.units - 1, summary_max_units=room, retain_recent_messages=1)
        return await compact_context(context, budget)

    outcome = trio.run(main)
    assert type(outcome) is Committed
    assert outcome.context.units < context.units
    return outcome


def whats(context):
    return [note.what for note in context.report.notes if note.what != "row_not_in_context"]


def calls(context):
    return [call for message in context.messages if type(message) is AssistantMessage for call in message.tool_calls]


def results(context):
    return [message for message in context.messages if type(message) is ToolResult]


def words(message):
    content = message.content
    return content if isinstance(content, str) else "".join([block.text for block in content if type(block) is Text])


def texts(context):
    return [words(message) for message in context.messages]


def lines(*rows):
    return "\n".join(map(json.dumps, rows)).encode() + b"\n"


ODD = st.sampled_from(
    [None, 0, True, "", " ", "x", [], [None], ["x"], {}, {"type": "text"}, {"a": {"b": [1]}}, [[[[[[]]]]]], 1e9, "\u2028"]
)
DEEP = json.loads("[" * 190 + "]" * 190)


def spots(value, path=()):
    """Every place in plain data."""
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found += spots(item, (*path, key))
    return found


def changed(value, path, new):
    """A copy of *value* with something else at *path*; None as *path* changes nothing."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


def without(value, path):
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = without(copy[path[0]], path[1:])
    return copy


@st.composite
def mutated(draw, rows):
    """The rows of a list, cut, doubled, put in another order, with odd values in odd places."""
    rows = list(rows)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(rows) - 1)))
        match draw(st.sampled_from(["cut", "double", "swap", "odd", "odd", "odd", "drop", "drop", "deep", "row"])):
            case "cut":
                rows = rows[: at + 1]
            case "double" if rows:
                rows.insert(draw(st.integers(0, len(rows))), rows[at])
            case "swap" if rows:
                rows.insert(draw(st.integers(0, len(rows) - 1)), rows.pop(at))
            case "row":
                rows.insert(at, draw(ODD))
            case kind if rows and (places := spots(rows[at])):
                path = draw(st.sampled_from(places))
                rows[at] = (
                    without(rows[at], path) if kind == "drop" else changed(rows[at], path, DEEP if kind == "deep" else draw(ODD))
                )
            case _:
                pass
    return rows


def survives(name, data):
    """Any data gives a valid context and a true report, or an error that names the file."""
    try:
        context = parse_messages(name, data, name="f")
    except CompactionError as error:
        assert error.code.name == "FORMAT_INVALID", error
        assert error.where.startswith("f"), error
        return None
    return checked(context, name)
