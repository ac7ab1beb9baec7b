"""Updates without a word of change: what is given another value later is never served alone, and nothing else is touched."""

from __future__ import annotations

import pytest

from compactor.context import SummaryRequest
from compactor.messages import AssistantMessage, Message, Requirement, Summary, ToolCall, ToolResult, UserMessage
from compactor.summarizers import DigestSummarizer
from compactor.transcript import transcript_of

RESTATED = [
    ("Take 84 for the batch size and see how that goes.", "4 nodes are enough; the batch size should be 119.", "84", "119"),
    ("Preview port: 6035", "8080 is what the preview port should be.", "6035", "8080"),
    ("| preview port | 6035 |", "preview port -> 4036", "6035", "4036"),
    ("The preview port? 6035.", "Mail from legal: the preview port they signed says 4036.", "6035", "4036"),
    ("A firmware build of v1.38.1 should do.", "For the firmware build I would like to see v8.15.6.", "v1.38.1", "v8.15.6"),
    (
        "I was told that Mira Holm is the escalation contact.",
        "Jonas Petek, he is the escalation contact.",
        "Mira Holm",
        "Jonas Petek",
    ),
    ("Write it to /srv/a as the scratch directory.", "Let the scratch directory be /srv/b.", "/srv/a", "/srv/b"),
    ("We have 30 as timeout.", "Sorry, timeout 45.", "30", "45"),
    ("Initial login error: KeyError: 'tenant'", "TS2345 is the login error.", "KeyError", "TS2345"),
    ("Could you plan with a quota of 224?", "Could you use 665 as the quota?", "224", "665"),
    ("As far as I know the quota is 637.", "About the quota. 203.", "637", "203"),
    (
        "Als Replikathost nimm a5.db7.example.",
        "Bei Replikathost landen wir bei d3.mq5.example.",
        "a5.db7.example",
        "d3.mq5.example",
    ),
    (
        "Plane die Woche mit Dienstleiter Ruth Bell.",
        "Freigegeben wurde Jonas Petek als Dienstleiter.",
        "Ruth Bell",
        "Jonas Petek",
    ),
    ("On table sur 609 pour le quota.", "Ils ont validé 511 comme le quota.", "609", "511"),
    ("Me dijeron que el tope de adjuntos es 120 MB.", "Para el tope de adjuntos pon 291 MB.", "120", "291"),
    ("Мне сказали, что 6847 — это порт предпросмотра.", "Бухгалтерия хочет 4676, это порт предпросмотра.", "6847", "4676"),
    ("开始阶段停机工单给CHG-1508就够了。", "财务要停机工单为CHG-3425。", "CHG-1508", "CHG-3425"),
    ("据我所知超时是504。", "今早超时到了77。", "504", "77"),
    ("听说Jonas Petek是值班联系人。", "至于值班联系人，Ruth Bell。", "Jonas Petek", "Ruth Bell"),
    ("プレビュー用ポート？ 6546です。", "プレビュー用ポートには7388を入れて。", "6546", "7388"),
    ("| 当番の連絡先 | Ruth Bell |", "Mira Holmが当番の連絡先です。", "Ruth Bell", "Mira Holm"),
    (
        "보고서 화면을 복제 호스트 d1.edge3.example로 만들어 주세요.",
        "복제 호스트 건은 a9.lab.example로 갑시다.",
        "d1.edge3",
        "a9.lab",
    ),
    ("พอร์ตทดสอบคือ 8080 ครับ", "9090 คือพอร์ตทดสอบ", "8080", "9090"),
]
APART = [
    ("Take 5 as the EU retry limit.", "9 is the US retry limit."),
    ("I wrote down 105 for the retry limit during the call.", "I wrote down 7413 for the staging port during the call."),
    ("J'ai noté 539 comme le nombre d'essais.", "J'ai noté 6702 comme le port de test."),
    ("Fix the failing test in src/a.py.", "Fix the failing test in src/b.py."),
    ("Look at page 3 and its footer.", "Look at page 4 and its footer."),
    ("| folder | /srv/a | Tell me when you are done.", "backup = /srv/b Tell me when you are done."),
    ("Prepare everything with quota 679, more tomorrow.", "Prepare everything with printing budget 272, more tomorrow."),
    ("The attachment cap is 12 MB.", "The attachment cap check ran for 45 s."),
    ("测试端口用8123就行。", "生产端口用9000就行。"),
]


def digest(*messages: Message, previous: str | None = None, room: int = 3_000, pins: tuple[str, ...] = ()) -> str:
    before = None if previous is None else Summary(previous, id="s0")
    pinned = tuple([Requirement(text, id=f"p{index}") for index, text in enumerate(pins)])
    return DigestSummarizer()(SummaryRequest(pinned, before, transcript_of(messages), len(messages), room + 7, "s1"))


def user(text: str, by: str) -> UserMessage:
    return UserMessage(text, id=by)


def said(text: str, by: str) -> AssistantMessage:
    return AssistantMessage(text, id=by)


def told(text: str, by: str) -> tuple[AssistantMessage, ToolResult]:
    call = ToolCall(f"call-{by}", name="lookup", arguments={})
    return AssistantMessage([call], id=f"{by}a"), ToolResult(call, text, id=by)


def alone(text: str, old: str, new: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("- ") and old in line and new not in line]


@pytest.mark.parametrize(("old", "new", "was", "becomes"), RESTATED)
def test_a_value_that_was_stated_anew_is_never_served_alone(old: str, new: str, was: str, becomes: str) -> None:
    opening, end = user("Build the shop.", "u0"), said("Right.", "a2")
    at_once = digest(opening, user(old, "u1"), said("Noted.", "a1"), user(new, "u2"), end)
    first = digest(opening, user(old, "u1"), said("Noted.", "a1"))
    assert was in first
    for text in (at_once, digest(user(new, "u2"), end, previous=first)):
        assert becomes in text
        assert not alone(text, was, becomes)


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_only_sounds_alike_is_not_brought_together(one: str, other: str) -> None:
    text = digest(user("Build the shop.", "u0"), user(one, "u1"), said("Noted.", "a1"), user(other, "u2"), said("Right.", "a2"))
    assert "later" not in text
    assert "now" not in text
    assert one in text


def test_the_earlier_line_says_what_came_later_and_says_it_again_after_the_next_compaction() -> None:
    first = digest(
        user("Build the shop.", "u0"),
        user("Wire up page one with 8080 as the preview port and a cart.", "u1"),
        user("Finance wants 9090 for the preview port.", "u2"),
        said("Ok.", "a"),
    )
    assert "- Wire up page one with 8080 as the preview port and a cart. (8080 → later: 9090) [u1]" in first
    assert first.split("\n")[1:] == digest(previous=first).split("\n")[1:]
    third = digest(user("Correction: the preview port is 7070, not 9090.", "u3"), said("Ok.", "b"), previous=first)
    assert "- Wire up page one with (now 7070) as the preview port and a cart. [u1]" in third
    assert not alone(third, "9090", "7070")


def test_where_room_is_short_the_earlier_one_goes_first() -> None:
    filler = [user(f"Look at shelf {n} of the store and at its labels.", f"f{n}") for n in range(80)]
    old, new = user("Take 84 for the batch size of imports.", "u1"), user("For the batch size of imports I want 119.", "u2")
    for room in range(300, 2_400, 100):
        text = digest(user("Build it.", "u0"), old, *filler[:40], new, *filler[40:], said("Ok.", "a"), room=room)
        assert not alone(text, "84", "119")
    assert "119" in text


def test_who_gives_another_value_to_what_the_user_said_is_named() -> None:
    opening = user("Wire up the page with 8080 as its preview port.", "u1")
    assert "(8080 → later by assistant: 9090) [u1]" in digest(opening, said("The preview port is 9090.", "a1"))
    assert "(8080 → later by tool: 9090) [u1]" in digest(opening, *told("The preview port is 9090.", "t1"))


def test_also_brings_nothing_together() -> None:
    text = digest(
        user("Take 8080 for the preview port.", "u1"), user("Take 9090 for another preview port.", "u2"), said("Ok.", "a")
    )
    assert "later" not in text


def test_two_sayings_that_begin_alike_do_not_take_each_others_place() -> None:
    text = digest(
        user("Build it.", "u0"),
        user("Found it in the wiki: the upload quota is 40 MB.", "u1"),
        user("Found it in the wiki: the admin port is 8081.", "u2"),
        user("Correction: the case number is INC-1001.", "u3"),
        user("Correction: the mirror host is m1.example.net.", "u4"),
        said("Ok.", "a"),
    )
    assert all(value in text for value in ("40 MB", "8081", "INC-1001", "m1.example.net"))


def test_a_bare_answer_stays_with_its_question() -> None:
    text = digest(user("The report folder? /srv/out/q3. Go on.", "u1"), said("Ok.", "a"))
    assert "The report folder? /srv/out/q3." in text
    assert "- Never push." in digest(user("ok? Never push.", "u1"), said("Ok.", "a"))


# ------------------------------------------------------------------------------------------------------------- pins

PIN = "The staging port is 8123."


def test_what_was_said_after_a_pin_and_contradicts_it_stays_and_says_so_for_ever() -> None:
    text = digest(user(PIN, "u1"), user("I want 9000 for the staging port.", "u2"), said("Ok.", "a1"), pins=(PIN,))
    for turn in range(3):
        assert "- I want 9000 for the staging port. (9000, but pinned: 8123) [u2]" in text
        text = digest(said("Going on.", f"b{turn}"), previous=text, pins=(PIN,))
    unpinned = digest(said("Going on.", "c"), previous=text, pins=("The staging port is 9000.",))
    assert "pinned:" not in unpinned


def test_what_was_said_before_a_pin_and_contradicts_it_gives_way() -> None:
    first = digest(user("Build the shop.", "u0"), user("Start the page with 8123 as the staging port.", "u1"), said("Ok.", "a1"))
    assert "8123" in first
    changed = digest(said("Going on.", "a2"), previous=first, pins=("9000 is the staging port.",))
    assert not alone(changed, "8123", "9000")
    in_one = digest(
        user("Start the page with 8123 as the staging port.", "u1"),
        user("9000 is the staging port.", "u2"),
        pins=("9000 is the staging port.",),
    )
    assert not alone(in_one, "8123", "9000")


def test_a_pin_about_something_else_changes_nothing() -> None:
    text = digest(user("Build it.", "u0"), user("I want 9000 for the admin port.", "u2"), said("Ok.", "a1"), pins=(PIN,))
    assert "- I want 9000 for the admin port. [u2]" in text


@pytest.mark.parametrize("other", ["Staging port: 8123", "8123 is the staging port."])
def test_what_only_says_a_pin_again_in_other_words_is_left_out(other: str) -> None:
    assert "8123" not in digest(user("Build it.", "u0"), said(other, "a1"), user("Go on.", "u2"), said("Ok.", "a2"), pins=(PIN,))
    assert "8123" in digest(user("Build it.", "u0"), said(other, "a1"), user("Go on.", "u2"), said("Ok.", "a2"))
