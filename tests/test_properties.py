"""Properties of random transcripts: each rule against its slowest form, and what must never be noticed from outside."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import TEXTS, VALUES, Plain, assistant, call, naive_boundary, naive_groups, naive_units, result, transcripts, user

from compactor import reading
from compactor.boundary import group_tool_rounds
from compactor.context import (
    ActiveContext,
    BudgetOptions,
    build_active_context,
    build_live_context,
    choose_boundary,
    compacted,
    select_compaction_boundary,
    with_message,
)
from compactor.errors import CompactionError
from compactor.everyday import Unusual
from compactor.messages import Summary, message_to_plain
from compactor.plain import SESSION_LIMITS, Limits, Tally, thaw
from compactor.transcript import Transcript, validate_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

checked = settings(deadline=None, max_examples=100)


def live(messages: list[Plain]) -> ActiveContext:
    return build_live_context({"messages": messages}, limits=SESSION_LIMITS)


# -------------------------------------------------------------------------------------------- against the slow rules


@checked
@given(transcripts())
def test_groups_tile_the_transcript_and_are_those_of_the_slow_rule(messages: list[Plain]) -> None:
    groups = group_tool_rounds(messages)
    assert [(group.kind, group.start, group.end) for group in groups] == naive_groups(messages)
    assert [message.id for group in groups for message in group.messages] == [message["id"] for message in messages]
    for group in groups:
        # No round is split: every call of a group has its result in it, and the other way round.
        plain = [message_to_plain(message) for message in group.messages]
        assert validate_transcript(plain) == ()


@checked
@given(transcripts(live=True))
def test_an_open_call_holds_its_round_open_to_the_end(messages: list[Plain]) -> None:
    groups = group_tool_rounds(messages, live=True)
    assert [(group.kind, group.start, group.end) for group in groups] == naive_groups(messages)
    assert group_tool_rounds(live(messages).messages, live=True) == groups


@checked
@given(
    st.booleans().flatmap(lambda is_live: transcripts(live=is_live)),
    st.integers(0, 40),
    st.integers(0, 300),
    st.integers(0, 6),
    st.lists(TEXTS.map(lambda text: f"x{text}"), max_size=2),
)
def test_the_boundary_is_the_first_that_the_slow_rule_finds(
    messages: list[Plain], summary_max: int, more: int, retain: int, requirements: list[str]
) -> None:
    summary_max, target = summary_max + 1, summary_max + 1 + more
    data = {"messages": messages, "requirements": [{"id": f"q{at}", "content": text} for at, text in enumerate(requirements)]}
    context = build_live_context(data, limits=SESSION_LIMITS)
    expected = naive_boundary(data, target, summary_max, retain)
    assert choose_boundary(context, BudgetOptions(target, summary_max, retain)) == expected
    if not context.open_calls:
        options = {"target_units": target, "summaryMaxUnits": summary_max, "retain_recent_messages": retain}
        assert select_compaction_boundary(data, options) == expected


@checked
@given(transcripts(live=True))
def test_no_cut_lies_at_or_behind_the_first_open_call(messages: list[Plain]) -> None:
    transcript = live(messages).messages
    answered = {message["toolCallId"] for message in messages if message["role"] == "toolResult"}
    calls = [
        (block["id"], at)
        for at, message in enumerate(messages)
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "toolCall"
    ]
    waiting = [(id_, at) for id_, at in calls if id_ not in answered]
    assert transcript.open_calls == tuple(id_ for id_, _at in waiting)
    closed = waiting[0][1] if waiting else len(messages)
    assert transcript.closed_length == closed
    assert all(0 < cut <= closed for cut in transcript.cuts())
    for last in range(len(messages) + 1):
        cuts = [cut for cut in transcript.cuts() if cut <= last]
        assert transcript.last_cut(last) == (cuts[-1] if cuts else None)
        # A room of nothing is reached by nothing; one for everything by the first cut.
        assert transcript.cut_for(-1, last) is None
        assert transcript.cut_for(transcript.units, last) == (cuts[0] if cuts else None)


@checked
@given(transcripts(live=True))
def test_units_are_those_of_the_slow_rule_at_every_position(messages: list[Plain]) -> None:
    transcript = live(messages).messages
    totals = [*itertools.accumulate(map(naive_units, messages), initial=0)]
    assert [transcript.units_before(at) for at in range(len(messages) + 1)] == totals
    assert transcript.units == totals[-1]
    for cut in transcript.cuts():
        assert transcript.before(cut).units == totals[cut]
        assert transcript.after(cut).units == totals[-1] - totals[cut]


# ------------------------------------------------------------------------------------------ the two readers agree

JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 7, 1.5, "", " ", "x", "\ufeff", "user", "text", "toolCall", "c0.0", [], {}, [[]], {"id": 1}]
)
TIGHT = st.builds(
    Limits,
    json_depth=st.integers(0, 4) | st.just(32),
    string=st.integers(0, 12) | st.just(99),
    strings_total=st.integers(0, 150) | st.just(9_999),
    items_total=st.integers(0, 30) | st.just(999),
)


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in [*children]:
        yield value, key
        yield from _spots(child)


@st.composite
def damaged(draw: st.DrawFn) -> list[Any]:
    """A transcript with up to three values replaced, dropped or moved."""
    messages: list[Any] = copy.deepcopy(draw(transcripts(live=True)))
    for _ in range(draw(st.integers(0, 3))):
        spots = [*_spots(messages)]
        if not spots:
            break
        target, key = draw(st.sampled_from(spots))
        match draw(st.integers(0, 2)):
            case 0:
                target[key] = draw(JUNK)
            case 1:
                del target[key]
            case _:
                other, at = draw(st.sampled_from(spots))
                if at in other if isinstance(other, dict) else at < len(other):
                    target[key] = copy.deepcopy(other[at])
    return messages


def _read(messages: list[Any], limits: Limits, *, rich: bool, collect: bool) -> Any:
    """Everything that a reading leaves behind, or its error."""
    tally = Tally(limits)
    faults: list[Any] | None = [] if collect else None
    try:
        done = reading.read_messages(messages, tally, rich=rich, live=True, collect=faults)
    except CompactionError as error:
        return error.code, str(error)
    totals = () if collect else (done.units, done.items, done.chars)
    return done.messages, done.calls, done.results, faults, tally.items, tally.chars, totals


def _unusual(*_args: object, **_kwargs: object) -> Any:
    raise Unusual


@settings(deadline=None, max_examples=300)
@given(damaged(), st.just(Limits()) | TIGHT, st.booleans(), st.booleans())
def test_the_quick_reader_gives_what_the_thorough_one_gives(
    messages: list[Any], limits: Limits, rich: bool, collect: bool
) -> None:
    quick = _read(messages, limits, rich=rich, collect=collect)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "everyday", _unusual)
        thorough = _read(messages, limits, rich=rich, collect=collect)
    assert quick == thorough


@checked
@given(transcripts(live=True))
def test_nouns_are_read_as_their_plain_form_is(messages: list[Plain]) -> None:
    plain = _read(messages, SESSION_LIMITS, rich=True, collect=False)
    assert _read(plain[0], SESSION_LIMITS, rich=False, collect=False) == plain
    mixed = [noun if at % 2 else message for at, (noun, message) in enumerate(zip(plain[0], messages, strict=True))]
    assert _read(mixed, SESSION_LIMITS, rich=False, collect=False) == plain
    assert [thaw(message_to_plain(noun)) for noun in plain[0]] == messages


@checked
@given(damaged())
def test_a_transcript_without_faults_is_accepted_and_any_other_refused(messages: list[Any]) -> None:
    faults = validate_transcript(messages, live=True)
    try:
        # Plain data is held to the strict subset by both; only a session and our own files take richer content.
        build_live_context({"messages": messages}, limits=SESSION_LIMITS, rich=False)
    except CompactionError as error:
        assert any(f"[{fault.rule}]" in str(error) for fault in faults)
    else:
        assert faults == ()


# ----------------------------------------------------------------------------------------------- nothing is shared


def _scramble(value: Any) -> None:
    """Change everything in plain data that can be changed."""
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            _scramble(child)
    value.clear()


@checked
@given(transcripts(), VALUES)
def test_what_was_built_does_not_see_what_happens_to_its_input(messages: list[Plain], extra: Any) -> None:
    data: Plain = {"messages": [*messages, assistant("z", call("zz", {"extra": extra})), result("zr", "zz")]}
    data |= {"requirements": [{"id": "q", "content": "x"}], "summary": {"id": "s", "content": "y"}}
    untouched = copy.deepcopy(data)
    context = build_active_context(data)
    assert data == untouched
    _scramble(data)
    assert context == build_active_context(untouched)
    assert context.units == build_active_context(untouched).units


@checked
@given(transcripts(live=True))
def test_a_transcript_survives_pickle_and_copies(messages: list[Plain]) -> None:
    context = live(messages)
    assert copy.deepcopy(context) == context
    assert copy.copy(context.messages) is copy.deepcopy(context.messages) is context.messages
    again = pickle.loads(pickle.dumps(context))
    assert again == context
    assert facts(again.messages) == facts(context.messages)


def facts(transcript: Transcript) -> tuple[Any, ...]:
    """Everything that a transcript tells."""
    return (
        transcript[:],
        transcript.units,
        transcript.counted,
        transcript.cuts(),
        transcript.open_calls,
        transcript.closed_length,
        transcript.ids,
        [transcript.units_before(at) for at in range(len(transcript) + 1)],
        [
            (transcript.cut_for(room, last), transcript.last_cut(last))
            for room in (0, 20, 60)
            for last in range(len(transcript) + 1)
        ],
    )


def _appendable(kind: int, step: int, known: list[Plain]) -> Plain:
    """A message to append; some are refused, because no call waits for the result or the call id is taken."""
    calls = [block["id"] for message in known if message["role"] == "assistant" for block in message["content"] if "id" in block]
    if kind == 0:
        return user(f"u{step}", "x" * (step % 5))
    if kind == 1:
        return assistant(
            f"a{step}", {"type": "text", "text": "t"}, call(f"c{step % 4}"), *([call(f"d{step}")] if step % 2 else [])
        )
    return result(f"r{step}", calls[step % len(calls)] if calls else "nobody")


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=40), transcripts(live=True, max_size=5))
def test_contexts_grown_from_one_base_never_see_each_other(steps: list[tuple[int, int]], base: list[Plain]) -> None:
    known = [(live(base), base)]
    for step, (which, kind) in enumerate(steps):
        context, messages = known[which % len(known)]
        if kind == 3 and (cut := context.messages.last_cut(len(messages))):
            # A prefix goes, as a compaction drops it; the rest keeps growing.
            rest, _record = compacted(
                context, boundary=cut, summary=Summary("s", id="s"), record_id=f"k{step}", target_units=None
            )
            known.append((attrs_free(rest), messages[cut:]))
            continue
        message = _appendable(kind % 3, step, messages)
        refused = bool(validate_transcript([*messages, message], live=True))
        try:
            grown, _noun = with_message(context, message)
        except CompactionError:
            assert refused
        else:
            assert not refused
            known.append((grown, [*messages, message]))
    for context, messages in known:
        fresh = live(messages)
        assert facts(context.messages) == facts(fresh.messages)
        assert context.messages == fresh.messages
        assert context.units == fresh.units


def attrs_free(context: ActiveContext) -> ActiveContext:
    """The same messages in a context without summary and records, sharing their buffer."""
    made: ActiveContext = ActiveContext.make((), None, context.messages, (), context.messages.units, context.limits, (0, 0, 0))
    return made


@checked
@given(transcripts(live=True, max_size=10))
def test_a_context_grown_message_by_message_is_the_one_built_at_once(messages: list[Plain]) -> None:
    grown = live([])
    states = [grown]
    for message in messages:
        grown, noun = with_message(grown, message)
        assert noun == grown.messages[-1]
        states.append(grown)
    for size, state in enumerate(states):
        fresh = live(messages[:size])
        assert (state, state.units, facts(state.messages)) == (fresh, fresh.units, facts(fresh.messages))
