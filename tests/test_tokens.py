"""Tokens: the estimate's bounds and traps, real tokenizers behind one interface, and what is believed of a report."""

from __future__ import annotations

import json
import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor import CompactionError
from compactor.messages import (
    AssistantMessage,
    Media,
    Opaque,
    Requirement,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from compactor.tokens import (
    CalibratedEstimator,
    Usage,
    UsageAnchor,
    estimate_tokens,
    from_tokenizer,
    message_tokens,
    openai_tokenizer,
    read_usage,
    token_estimator,
)

WINDOW = 200_000
CODE_POINTS = st.integers(0, sys.maxunicode).map(chr)
TRICKY = st.sampled_from(
    [*"aAzZ09 \t\r\n.'\"-_/+=(){}", "é", "ơ", "中", "あ", "и", "ћ", "ك", "한", "ก", "€", "😀", "\u200d", "\ufe0f", "\ud800"]
)
TEXTS = st.text(TRICKY, max_size=80) | st.text(CODE_POINTS, max_size=40)


def utf8(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


# ------------------------------------------------------------------------------------------------------ the estimate


@given(TEXTS)
def test_any_text_costs_between_one_token_and_its_bytes(text: str) -> None:
    for count in (estimate_tokens(text), CalibratedEstimator().count(text), CalibratedEstimator(4).count(text)):
        assert min(1, len(text)) <= count <= utf8(text)


@given(TEXTS, TEXTS)
def test_appending_lowers_an_estimate_by_one_piece_at_most(head: str, tail: str) -> None:
    assert estimate_tokens(head + tail) >= estimate_tokens(head) - 1


@given(TEXTS)
def test_the_same_text_always_costs_the_same(text: str) -> None:
    assert estimate_tokens(text) == estimate_tokens("".join(list(text)))


@pytest.mark.parametrize(
    "text",
    ["", "\ud800", "\udfff\ud800", "\x00\x01", "👩\u200d👩\u200d👧\u200d👦", "e\u0301", "\U0010ffff", "\ufeff", "\x80\xa1"],
)
def test_odd_texts_are_priced_and_never_refused(text: str) -> None:
    assert estimate_tokens(text) == 0 if text == "" else 1 <= estimate_tokens(text) <= utf8(text)


# Numbers of this version of the weights: they must not differ between platforms, and a change of them is a new version.
PINNED = {
    "Hello, world!": 4,
    "The quick brown fox jumps over the lazy dog.": 10,
    "def compact(self, *, target_units: int) -> None:\n        return self._run(target_units)\n": 22,
    '{"id":"call_1","arguments":{"path":"src/app.py","line":42}}': 21,
    "上下文压缩是一个运行时": 9,
    "Контекст был сжат, ничего не потеряно": 11,
    "ไม่มีอะไรสูญหาย": 6,
    "iVBORw0KGgoAAAANSUhEUgAAAZAAAAGQCAYAAACAvzbMAAAAOXRFWHRTb2Z0d2FyZQBNYXRwbG90": 43,
}


@pytest.mark.parametrize(("text", "tokens"), PINNED.items())
def test_the_weights_are_pinned(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("unit", ["a", "A", "aA", "0", "a0", " ", "\n", "\t \n", "-", "/", "'a", "_a", "中", "😀", "\ud800"])
def test_a_megabyte_of_one_run_takes_time_in_proportion(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        shortest = 60.0
        for _ in range(3):
            began = time.perf_counter()
            estimate_tokens(text)
            shortest = min(shortest, time.perf_counter() - began)
        return shortest

    # A quadratic pattern would take 64 times as long for eight times the text.
    assert seconds(1_000_000) < 32 * seconds(125_000) + 0.05


def test_words_of_every_kind_do_not_fill_the_memory_of_shapes() -> None:
    from compactor.tokens._estimate import _PRICES

    for number in range(50_000):
        estimate_tokens("-a" * (number % 7) + "é" * (number % 40) + "." * (number % 31) + "B" * (number % 37))
    estimate_tokens("x" * 10_000)
    assert len(_PRICES) <= _PRICES.SIZE_MAX
    assert max(map(len, _PRICES)) <= _PRICES.LENGTH_MAX


def test_a_full_memory_of_shapes_changes_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    from compactor.tokens import _estimate

    monkeypatch.setattr(_estimate._Prices, "SIZE_MAX", 0)
    monkeypatch.setattr(_estimate, "_PRICES", _estimate._Prices())
    assert {text: estimate_tokens(text) for text in PINNED} == PINNED


def test_the_safety_factor_is_applied_once_after_the_sum() -> None:
    text = "a word or two " * 1000
    plain = estimate_tokens(text)
    assert plain * 1.049 <= CalibratedEstimator().count(text) <= plain * 1.051
    assert CalibratedEstimator(1).count(text) - plain in (0, 1)  # rounded up, not to the nearest
    assert (CalibratedEstimator().name, CalibratedEstimator(1.2).name) == ("calibrated-1x1050", "calibrated-1x1200")
    assert CalibratedEstimator() == CalibratedEstimator(1.05)


@pytest.mark.parametrize("safety", [0.9, 5, True, "1", float("nan"), None])
def test_a_safety_that_is_none_is_refused(safety: object) -> None:
    with pytest.raises(CompactionError, match="safety is not a number from 1 to 4"):
        CalibratedEstimator(safety)  # type: ignore[arg-type]


def test_han_characters_cost_more_than_a_quarter_of_their_number() -> None:  # P-E 56
    assert estimate_tokens("上下文管理系统会在对话变长时自动压缩旧的消息，" * 50) >= 600


@pytest.mark.parametrize(
    ("text", "quarters"),
    [
        ("Việc xóa đối tượng này sẽ xóa các đối tượng liên quan. ", 1),
        ("การลบวัตถุที่เลือกจะลบวัตถุที่เกี่ยวข้อง", 1.2),
        ('{"a":[1,2,{"b":null}],"c":"d"},', 1.4),
        ("QmFzZTY0IGlzIG5vdCBwcm9zZSBhdCBhbGwhIQ", 2),
    ],
)
def test_what_four_characters_a_token_underprices_costs_more(text: str, quarters: float) -> None:
    assert estimate_tokens(text * 20) > quarters * len(text * 20) / 4


# ---------------------------------------------------------------------------------------------------- real tokenizers


def test_anything_with_count_or_encode_is_a_counter() -> None:
    counting = from_tokenizer(SimpleNamespace(count=len, encode=None), name="letters")
    encoding = from_tokenizer(SimpleNamespace(encode=lambda text: text.split()), name="words")
    ordinary = from_tokenizer(SimpleNamespace(encode_ordinary=list, encode=lambda _text: 1 / 0), name="ordinary")
    assert [c.count("one two") for c in (counting, encoding, ordinary)] == [7, 2, 7]
    assert counting.name == "letters"
    assert repr(counting) == "_Wrapped(name='letters', _gives_count=True)"


def test_a_very_long_text_is_counted_in_parts() -> None:
    sizes = []
    counter = from_tokenizer(SimpleNamespace(count=lambda text: sizes.append(len(text)) or len(text)), name="n")
    assert counter.count("x" * 1_200_000) == 1_200_000
    assert sizes == [500_000, 500_000, 200_000]


@pytest.mark.parametrize("thing", ["text", b"bytes", ["list"], ("tuple",), None, 7, SimpleNamespace(count=3)])
def test_what_is_no_tokenizer_is_refused(thing: object) -> None:
    with pytest.raises(CompactionError, match=r"has neither count\(text\) nor encode\(text\)"):
        from_tokenizer(thing, name="n")


def test_a_tokenizer_needs_a_name() -> None:
    with pytest.raises(CompactionError, match="name is not a text"):
        from_tokenizer(SimpleNamespace(count=len), name="")


@pytest.mark.parametrize(
    ("obj", "what"),
    [
        (SimpleNamespace(count=lambda _text: -1), "gave int instead"),
        (SimpleNamespace(count=lambda _text: True), "gave bool instead"),
        (SimpleNamespace(count=lambda _text: 1.5), "gave float instead"),
        (SimpleNamespace(encode=lambda _text: 5), "raised TypeError for a text of 6 characters"),
        (SimpleNamespace(encode=lambda _text: 1 / 0), "raised ZeroDivisionError"),
    ],
)
def test_a_tokenizer_that_misbehaves_is_named_and_the_text_is_not(obj: object, what: str) -> None:
    with pytest.raises(CompactionError, match=what) as caught:
        from_tokenizer(obj, name="bad one").count("secret")
    assert "bad one" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_without_the_extra_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    with pytest.raises(CompactionError, match=r"trio-compactor\[tokenizers\]"):
        openai_tokenizer()


def test_the_package_is_asked_by_the_names_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    class UnsupportedModelError(LookupError):
        pass

    def get_encoding(name: str) -> object:
        if name != "o200k_base":
            raise UnsupportedModelError(name)
        return SimpleNamespace(encode_ordinary=str.split)

    package = SimpleNamespace(get_encoding=get_encoding, list_encoding_names=lambda: ["cl100k_base", "o200k_base"])
    monkeypatch.setitem(sys.modules, "bpe_openai", package)
    counter = openai_tokenizer()
    assert (counter.name, counter.count("a b c")) == ("o200k_base", 3)
    with pytest.raises(CompactionError, match=r"unknown encoding 'nope' \(known: cl100k_base, o200k_base\)"):
        openai_tokenizer("nope")


def test_the_real_package_counts_any_text() -> None:
    pytest.importorskip("bpe_openai")
    counter = openai_tokenizer("o200k_base")
    assert counter.count("hello world") == 2
    assert counter.count("") == 0
    assert counter.count("<|endoftext|>") == 7
    assert counter.count("\ud800") >= 1
    assert counter.count("word " * 250_000) == pytest.approx(250_000, abs=3)
    for text in PINNED:
        assert estimate_tokens(text) == pytest.approx(counter.count(text), rel=0.35)
    assert openai_tokenizer("cl100k_base").count("上下文压缩") > 3


# ----------------------------------------------------------------------------------------------------------- messages

LETTERS = from_tokenizer(SimpleNamespace(count=len), name="letters")


def test_a_message_costs_its_frame_and_all_that_is_in_it() -> None:
    call = ToolCall("call_1", name="bash", arguments={"command": "ls", "é": [1, None]})
    arguments = '{"command":"ls","é":[1,null]}'
    assert message_tokens(UserMessage("hello"), LETTERS) == 4 + 5
    assert message_tokens(AssistantMessage([Text("hello"), call]), LETTERS) == 4 + 5 + 8 + 4 + len(arguments)
    assert message_tokens(ToolResult(call, "done"), LETTERS) == 4 + 8 + 4 + 4
    assert message_tokens(ToolResult(call, [Text("done"), Media("file_1", cost=401)]), LETTERS) == 4 + 8 + 4 + 4 + 101
    assert message_tokens(UserMessage([Media("data:image/png;base64," + "A" * 9000)]), LETTERS) == 4 + 1600
    assert message_tokens(AssistantMessage([Opaque("search", data={"q": "x"})]), LETTERS) == 4 + 6 + len(
        json.dumps({"q": "x"}, separators=(",", ":"))
    )


def test_reasoning_is_priced_once_shown_or_sealed() -> None:
    assert message_tokens(AssistantMessage([Thinking("x" * 300, signature="A" * 160)]), LETTERS) == 4 + 300
    assert message_tokens(AssistantMessage([Thinking("", signature="A" * 1600, redacted=True)]), LETTERS) == 4 + 300


def test_an_estimator_of_elements_prices_all_three_nouns() -> None:
    cost = token_estimator(LETTERS)
    assert [cost(UserMessage("one")), cost(Requirement("rule")), cost(Summary("short"))] == [7, 8, 9]


def test_a_large_argument_costs_what_it_is() -> None:  # P-E 55
    call = ToolCall("c", name="write", arguments={"content": "some words of a file " * 2500})
    assert message_tokens(AssistantMessage([call]), CalibratedEstimator()) > 10_000
    assert message_tokens(AssistantMessage([Thinking("some words of a thought " * 2500)]), CalibratedEstimator()) > 10_000


def test_an_unknown_item_is_priced_by_its_data() -> None:  # P-E 71
    item = Opaque("some_new_part", data={"data": "words " * 1000, "nested": [{"deep": "\ud800"}]})
    assert message_tokens(AssistantMessage([item]), CalibratedEstimator()) > 1000


# -------------------------------------------------------------------------------------------------------------- usage

SHAPES = {
    "chat": ({"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920, "prompt_tokens_details": {"cached_tokens": 800}}, Usage(900, 20)),
    "chat, bare": ({"prompt_tokens": 900, "completion_tokens": 20}, Usage(900, 20)),
    "chat, nulls": ({"prompt_tokens": 900, "completion_tokens": 20, "prompt_tokens_details": None}, Usage(900, 20)),
    "responses": ({"input_tokens": 900, "input_tokens_details": {"cached_tokens": 800}, "output_tokens": 20, "total_tokens": 920}, Usage(900, 20)),
    "anthropic": ({"input_tokens": 5, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 95, "output_tokens": 20}, Usage(900, 20)),
    "anthropic, nulls": ({"input_tokens": 900, "cache_read_input_tokens": None, "cache_creation_input_tokens": None, "output_tokens": 20}, Usage(900, 20)),
    "anthropic, detail": ({"input_tokens": 5, "cache_creation_input_tokens": 95, "cache_creation": {"ephemeral_5m_input_tokens": 95}}, Usage(100, 0)),
    "pi": ({"input": 5, "output": 20, "cacheRead": 800, "cacheWrite": 95, "totalTokens": 920, "cost": {"total": 0.1}}, Usage(900, 20)),
    "cache reported apart": ({"prompt_tokens": 99, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 305_000}}, Usage(305_099, 1)),
}  # fmt: skip


@pytest.mark.parametrize(("usage", "read"), SHAPES.values(), ids=SHAPES)
def test_every_shape_of_a_report_is_read_with_its_cache(usage: dict[str, object], read: Usage) -> None:
    assert read_usage(usage) == read


@pytest.mark.parametrize("bad", [-1, 1.5, float("nan"), float("inf"), "900", True, [900], {}])
@pytest.mark.parametrize("key", ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"])
def test_a_report_with_a_number_that_is_none_says_nothing(key: str, bad: object) -> None:
    assert read_usage({"input_tokens": 900, "output_tokens": 5, key: bad}) is None


@pytest.mark.parametrize(
    "usage",
    [None, 7, [], {}, {1: 2}, {"tokens": 3}, {"input_tokens": 0}, {"prompt_tokens": 0, "completion_tokens": 0}, {"input": None},
     {"prompt_tokens": 9, "prompt_tokens_details": 7}, {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": -1}}],
)  # fmt: skip
def test_a_report_of_nothing_is_none(usage: object) -> None:
    assert read_usage(usage) is None


def anchored(context: int, measured: int, *, window: int = WINDOW) -> UsageAnchor:
    return UsageAnchor().observe(Usage(context), measured=measured, seq=10, window=window)


def test_without_a_report_the_estimate_stands() -> None:
    assert UsageAnchor().estimate(1234) == 1234
    assert UsageAnchor().estimate(0) == 0


def test_a_full_cache_counts_as_full() -> None:  # I 115
    usage = read_usage({"input_tokens": 99, "cache_read_input_tokens": 180_000, "cache_creation_input_tokens": 2_000})
    assert UsageAnchor().observe(usage, measured=150_000, seq=1, window=WINDOW).estimate(150_000) == 182_099


def test_a_report_of_the_new_part_alone_is_not_believed() -> None:  # I 115, where nobody reports the cache
    assert anchored(99, 180_000) == UsageAnchor()


def test_a_report_counted_twice_is_a_full_window_and_teaches_nothing() -> None:  # I 116
    anchor = anchored(1_364_156, 700_000, window=1_000_000)
    assert (anchor.estimate(700_000), anchor.factor) == (1_000_000, 1.0)
    assert anchored(2_700_000, 700_000, window=1_000_000) == UsageAnchor()


def test_what_came_after_the_report_is_added() -> None:  # I 118, 119
    anchor = anchored(50_000, 50_000)
    assert anchor.estimate(50_000) == 50_000
    assert anchor.estimate(50_000 + 140_000) == 190_000
    rounds = [anchor.estimate(50_000 + 20_000 * number) for number in range(8)]
    assert rounds == sorted(rounds)
    assert rounds[-1] == 190_000


@pytest.mark.parametrize(("seq", "kept"), [(9, False), (20, False), (21, True)])
def test_a_report_from_before_the_last_compaction_is_stale(seq: int, kept: bool) -> None:  # I 122
    anchor = anchored(180_000, 150_000).after_compaction(20)
    assert anchor.estimate(10_000) < 12_000
    later = anchor.observe(Usage(180_000), measured=150_000, seq=seq, window=WINDOW)
    assert (later.estimate(150_000) == 180_000) is kept
    assert (later == anchor) is not kept


def test_an_older_report_does_not_replace_a_newer_one() -> None:
    anchor = anchored(50_000, 50_000)
    assert anchor.observe(Usage(40_000), measured=40_000, seq=9, window=WINDOW) is anchor


def test_a_smaller_replacement_lowers_the_estimate() -> None:  # I 125
    anchor = anchored(100_000, 100_000)
    assert anchor.estimate(100_000 - 60_000 + 2_000) == 42_000
    assert anchored(100_000, 100_000).estimate(0) == 0


def test_the_window_is_reached_no_earlier_and_no_later_than_reported() -> None:  # I 121, 124
    for measured in (80_000, 160_000, 300_000):
        assert anchored(160_000, measured).estimate(measured) == 160_000


@pytest.mark.parametrize("usage", [None, Usage(0), Usage(-5), Usage(float("nan")), Usage("9"), Usage(5 * WINDOW)])  # type: ignore[arg-type]
def test_an_impossible_report_changes_nothing(usage: Usage | None) -> None:
    anchor = anchored(50_000, 50_000)
    assert anchor.observe(usage, measured=60_000, seq=11, window=WINDOW) is anchor
    assert anchor.observe(Usage(60_000), measured=0, seq=11, window=WINDOW) is anchor


def test_the_factor_is_learned_slowly_and_within_bounds() -> None:
    anchor = UsageAnchor()
    for seq in range(20):
        anchor = anchor.observe(Usage(18_000), measured=10_000, seq=seq, window=WINDOW)
    assert anchor.factor == pytest.approx(1.8, abs=0.02)
    assert anchor.after_compaction(30).estimate(10_000) == pytest.approx(18_000, rel=0.02)
    once = anchor.observe(Usage(10_000), measured=10_000, seq=40, window=WINDOW)
    assert 1.5 < once.factor < 1.7
    for seq in range(50, 90):
        anchor = anchor.observe(Usage(100_000), measured=10_000, seq=seq, window=WINDOW)
    assert anchor.factor <= 3.0


def test_a_short_request_teaches_nothing_but_is_stood_on() -> None:
    anchor = anchored(9_000, 100)
    assert (anchor.factor, anchor.reports, anchor.estimate(150)) == (1.0, 0, 9_050)


@given(st.lists(st.tuples(st.integers(-5, 10**7), st.integers(-5, 10**6), st.integers(-1, 50), st.booleans()), max_size=20))
def test_no_series_of_reports_gives_nonsense(reports: list[tuple[int, int, int, bool]]) -> None:
    anchor = UsageAnchor()
    for context, measured, seq, compacted in reports:
        anchor = (
            anchor.after_compaction(seq)
            if compacted
            else anchor.observe(Usage(context), measured=measured, seq=seq, window=WINDOW)
        )
        assert 0.5 <= anchor.factor <= 3.0
        assert 0 <= anchor.reported <= WINDOW
        assert anchor.estimate(5_000) >= 0
        assert UsageAnchor.from_plain(json.loads(json.dumps(anchor.to_plain()))) == anchor


@pytest.mark.parametrize(
    "change", [{"factor": 9.0}, {"factor": "1"}, {"seq": 1.5}, {"reports": -2}, {"other": 1}, {"reported": True}]
)
def test_a_state_that_is_none_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(CompactionError, match="does not hold the state of a UsageAnchor"):
        UsageAnchor.from_plain({**UsageAnchor().to_plain(), **change})
    with pytest.raises(CompactionError, match="NoneType does not hold"):
        UsageAnchor.from_plain(None)
