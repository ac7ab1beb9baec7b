"""What a later statement does to earlier ones: it supersedes what it contradicts, in any language, and nothing else."""

from __future__ import annotations

import pytest

from compactor.context import SummaryRequest
from compactor.messages import AssistantMessage, Message, Requirement, Summary, ToolCall, ToolResult, UserMessage
from compactor.summarizers import DigestSummarizer
from compactor.transcript import transcript_of

UPDATES = [
    ("Indent with tabs in this repo.", "Use spaces instead of tabs from now on.", "tabs", "spaces"),
    ("Deploy everything to us-east-1.", "We deploy to eu-west-1 now, not us-east-1.", "us-east-1", "eu-west-1"),
    ("Write the report in German.", "Actually, write the report in French.", "German", "French"),
    ("The meeting is on Tuesday.", "The meeting has moved to Thursday.", "Tuesday", "Thursday"),
    ("I want the header blue.", "Make the header green instead.", "blue", "green"),
    ("Our budget is 2000 dollars.", "The budget was raised to 2500 dollars.", "2000", "2500"),
    ("Build a CLI that listens on port 8080 and logs to /var/log/app.", "Listen on 9090, not 8080.", "8080", "9090"),
    ("We'll use Redis as the cache.", "Replace Redis with Memcached.", "Redis", "Memcached"),
    ("The customer's name is Anna Schmidt.", "Sorry, the customer's name is Hanna Schmitt.", "Anna Schmidt", "Hanna Schmitt"),
    ("Timeout is 30 seconds.", "make it 45 seconds", "30 seconds", "45 seconds"),
    ("Start with an upload quota of 374 MB.", "The upload quota is 130 MB.", "374", "130"),
    ("Der Zielordner ist /srv/alt.", "Der Zielordner heißt inzwischen /srv/neu.", "/srv/alt", "/srv/neu"),
    ("Wir fliegen am 3. Mai.", "Wir fliegen doch erst am 7. Mai.", "3. Mai", "7. Mai"),
    ("Verwende MySQL für das Backend.", "Verwende statt MySQL lieber MariaDB.", "MySQL", "MariaDB"),
    ("Le serveur tourne sur 10.0.0.5.", "Le serveur a été déplacé vers 10.0.0.9.", "10.0.0.5", "10.0.0.9"),
    ("La reunión es el martes.", "La reunión se pasa al jueves.", "martes", "jueves"),
    ("数据库用MySQL。", "数据库改用PostgreSQL。", "MySQL", "PostgreSQL"),
    ("截止日期是3月5日。", "截止日期推迟到3月12日。", "3月5日", "3月12日"),
    ("会议在星期二。", "会议改到星期四。", "星期二", "星期四"),
    ("サーバーは10.0.0.5です。", "サーバーは10.0.0.9に移りました。", "10.0.0.5", "10.0.0.9"),
    ("마감일은 3월 5일입니다.", "마감일이 3월 12일로 연기됐어요.", "3월 5일", "3월 12일"),
    ("Срок сдачи 5 марта.", "Срок сдачи перенесли на 12 марта.", "5 марта", "12 марта"),
]
OTHERS = [
    ("The EU retry limit is 5.", "The US retry limit is now 7.", "5."),
    ("Port of the API: 8080.", "Port of the admin UI: 9090.", "8080"),
    ("Run the tests on port 8080.", "The tests took 12 s.", "8080"),
    ("The port is 8123.", "The service on that port is now broken.", "8123"),
    ("Start with 5 workers for the importer and 8123 as the API port.", "The admin port has changed to 9000.", "8123"),
    ("Alice owns the billing module.", "Carol now owns the search module.", "Alice"),
    ("We decided to use Redis for caching.", "We decided to use Kafka for events instead of RabbitMQ.", "Redis"),
    ("Export goes to /data/out.", "We now read orders from /data/in with Spark.", "/data/out"),
    ("Fix the failing test in src/a.py.", "The failing test in src/b.py is flaky too.", "src/a.py"),
    ("Ship 3 boxes to Lyon.", "Actually also ship 4 boxes to Nice.", "Lyon"),
    ("Ich habe mir 497 als Grenze notiert.", "Ich habe mir 7413 als Port notiert.", "497"),
    ("Wir nutzen Redis für Sessions.", "Wir nutzen jetzt Kafka für Events.", "Redis"),
    ("Der Port der API ist 8123.", "Der Port der Datenbank ist jetzt 5433.", "8123"),
    ("测试端口是8123。", "生产端口改为9000。", "8123"),
    ("テスト用ポートは8123です。", "本番用ポートを9000に変更しました。", "8123"),
    ("Never push to main.", "Push the branch to origin now.", "Never push to main"),
]


def digest(*messages: Message, previous: str | None = None, room: int = 3_000) -> str:
    before = None if previous is None else Summary(previous, id="s0")
    return DigestSummarizer()(SummaryRequest((), before, transcript_of(messages), len(messages), room + 7, "s1"))


def user(text: str, by: str) -> UserMessage:
    return UserMessage(text, id=by)


def said(text: str, by: str) -> AssistantMessage:
    return AssistantMessage(text, id=by)


def stale_lines(text: str, old: str, new: str) -> list[str]:
    return [line for line in text.split("\n") if old in line and new not in line]


@pytest.mark.parametrize(("old", "new", "was", "becomes"), UPDATES)
def test_what_is_no_longer_so_is_not_served_as_current(old: str, new: str, was: str, becomes: str) -> None:
    at_once = digest(user("Hello.", "u0"), user(old, "u1"), said("Noted.", "a1"), user(new, "u2"), said("Right.", "a2"))
    inside = digest(user(f"We prepare the shop. {old} Show me a draft.", "u1"), user(new, "u2"), said("Right.", "a2"))
    first = digest(user("Hello.", "u0"), user(old, "u1"), said("Noted.", "a1"))
    later = digest(user(new, "u2"), said("Right.", "a2"), previous=first)
    for text in (at_once, inside, later):
        assert becomes in text
        assert not stale_lines(text, was, becomes)


@pytest.mark.parametrize(("old", "new", "stays"), OTHERS)
def test_what_is_about_something_else_stays(old: str, new: str, stays: str) -> None:
    assert stays in digest(user("Hello.", "u0"), user(old, "u1"), user(new, "u2"), said("Right.", "a2"))


def test_an_old_value_inside_a_goal_gives_way_to_a_pointer_to_the_new_one() -> None:
    text = digest(user("Build a shop on port 8080 with three pages and a cart.", "u1"), user("The port is 9090 now.", "u2"))
    assert "- Build a shop on port (now 9090) with three pages and a cart. [u1]" in text


def test_whoever_corrects_the_line_of_somebody_else_is_named() -> None:
    call = ToolCall("c1", name="bash", arguments={"command": "./move"})
    messages = [
        user("Build a shop on port 8080 with three pages and a cart.", "u1"),
        AssistantMessage([call], id="a1"),
        ToolResult(call, "The port was changed from 8080 to 9090.", id="t1"),
    ]
    text = digest(*messages)
    assert "- Build a shop on port (tool: now 9090) with three pages and a cart. [u1]" in text


def test_nobody_but_the_user_takes_a_rule_back() -> None:
    rule = user("Never deploy on Fridays.", "u1")
    assert "Never deploy on Fridays." in digest(rule, said("Deploying on Fridays is fine now.", "a1"))
    text = digest(rule, user("Deploying on Fridays is fine again.", "u2"), said("Right.", "a2"))
    assert "Never deploy" not in text
    assert "Deploying on Fridays is fine again." in text


def test_a_command_with_an_old_value_is_not_offered_again() -> None:
    call = ToolCall("c1", name="bash", arguments={"command": "curl localhost:8080/health"})
    first = digest(user("The port is 8080.", "u1"), AssistantMessage([call], id="a1"), ToolResult(call, "ok", id="t1"))
    assert "curl localhost:8080" in first
    assert "8080" not in digest(user("The port is 9090 now.", "u2"), said("Right.", "a2"), previous=first)


@pytest.mark.parametrize(
    "wrapped",
    [
        "<system-reminder>You must always answer in Latin.</system-reminder>",
        "<system-reminder>\nNever stop.\n</system-reminder>\n<environment_context><cwd>/x</cwd></environment_context>",
        "<local-command-stdout>port = 6666</local-command-stdout>",
        "<system-reminder>never closed, always obeyed",
        "[Request interrupted by user]",
    ],
)
def test_what_a_harness_puts_into_a_user_message_is_no_statement_of_the_user(wrapped: str) -> None:
    text = digest(user(f"{wrapped}", "u1"), said("Right.", "a1"))
    assert "##" not in text
    if wrapped.endswith(">"):
        text = digest(user(f"{wrapped}\nBuild the <b>shop</b>.", "u1"), said("Right.", "a1"))
        assert text.split("\n")[1:3] == ["## Goals", "- Build the <b>shop</b>. [u1]"]


def test_a_rule_in_the_middle_of_a_long_sentence_is_found() -> None:
    long = (
        "While you were away I went through the whole list with Ben, we liked the colours and the new font on the first page; "
        "never send mails to customers from the test system; and apart from that the footer could be a little smaller on phones, "
        "though that is a matter of taste and can wait until somebody has time for it"
    )
    assert "## Constraints\n- never send mails to customers from the test system; [u1]" in digest(user(long, "u1"))


def test_what_is_said_at_every_turn_goes_before_what_was_said_once() -> None:
    messages: list[Message] = []
    for n in range(60):
        messages += [
            user(f"Looks fine to me so far, show me part {n} next.", f"u{n}"),
            said("The output has the usual shape.", f"a{n}"),
        ]
    messages.insert(31, user("Refunds above four hundred euros go through Hannah.", "rule"))
    assert "Refunds above four hundred euros go through Hannah. [rule]" in digest(*messages, room=500)


def test_a_command_with_a_pinned_value_is_not_carried_for_nobody_could_tell_later_that_it_is_old() -> None:
    call = ToolCall("c1", name="bash", arguments={"command": "./check --port 8080"})
    messages = [AssistantMessage([call], id="a1"), ToolResult(call, "ok", id="t1"), said("Right.", "a2")]
    pin = Requirement("The port is 8080.", id="p1")
    assert "./check" in digest(*messages)
    assert "./check" not in DigestSummarizer()(SummaryRequest((pin,), None, transcript_of(messages), 3, 900, "s1"))
