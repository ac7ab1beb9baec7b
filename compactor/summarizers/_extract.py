"""From messages to the board: who said what, what was done, how it ended.

The role of a message decides where its words may go: goals and constraints come from user messages alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from compactor.messages import AssistantMessage, Media, ToolCall, ToolResult, UserMessage, text_of

from ._cues import DECISIONS, DONE, FILLERS, LIFTS, NEXT, NOT, OPEN, REQUESTS, has_changed, is_plain, is_rule
from ._lines import Section, clean, shorten, written_id
from ._tools import Deed, ends, own_words, read_call, read_outcome
from ._values import values_of
from ._words import DENSE, clauses, folded, has_identifier, is_fact, sentences, stated, tokens, words_of
from ._wrappers import own_text

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from compactor.messages import Message

    from ._board import Board

USER_HEAD: Final = 6_000
USER_TAIL: Final = 2_000
"""How much of a user message is read: longer ones are pasted material."""
GOAL_MAX: Final = 4_000
RULE_MAX: Final = 400
STATEMENT_MAX: Final = 280
FACTS_PER_MESSAGE: Final = 4
RESULT_FACTS: Final = 6
GOALS_PER_MESSAGE: Final = 40
"""More sentences than that are pasted material and stay in one piece."""
FILLER_MAX: Final = 32
RESULT_FACTS_MAX: Final = 2_000
"""Results up to this size may state facts; larger ones are material that was looked at."""
NEXT_MAX: Final = 240
ANSWER_MAX: Final = 100
"""A question that waits is a goal already, in full; here its beginning will do."""
_CHECKBOX: Final = re.compile(r"\s*(?:[-*]\s?)?\[([ xX✓✔])\]\s?")
_TODO_KEYS: Final = ("content", "text", "task", "title", "step", "description")
_TODO_DONE: Final = frozenset(("completed", "complete", "done", "cancelled", "canceled", "finished", "closed"))


def extract(messages: Sequence[Message], board: Board, detailed: Container[int] | None = None) -> None:
    """Tell *board* what happened in *messages*, oldest first; of texts only those at the *detailed* places, when given."""
    calls: dict[str, tuple[Deed, str]] = {}
    for index, message in enumerate(messages):
        id_ = written_id(message.id or "")
        is_read = detailed is None or index in detailed
        if type(message) is UserMessage:
            if is_read:
                _user(text_of(message.content), id_, board)
            if type(message.content) is tuple:
                _attachments([block for block in message.content if type(block) is Media], id_, board)
        elif type(message) is AssistantMessage:
            if is_read:
                _assistant(text_of(message.content), id_, board)
            for call in message.content:
                if type(call) is ToolCall:
                    calls[call.id] = read_call(call.name, call.arguments), id_
                    _todos(call.arguments, id_, board)
        elif type(message) is ToolResult:
            known = calls.pop(message.tool_call_id) if message.tool_call_id in calls else None
            deed, asked = known or (read_call(message.tool_name, {}), id_)
            _result(message, deed, (asked, id_), board, is_read=is_read)
    for deed, asked in calls.values():
        board.open(f"{deed.source}: called, no result yet", (asked,), "tool")
    if messages:
        _next_step(messages, board)


# ----------------------------------------------------------------------------------------------------------- user


def _user(text: str, id_: str, board: Board) -> None:
    """Constraints, decisions, facts and open work leave the message for their sections; the rest is its goal, verbatim."""
    text = own_text(text)
    if len(text) > USER_HEAD + USER_TAIL:
        text = f"{text[:USER_HEAD]}\n…\n{text[-USER_TAIL:]}"
    text = _WRAPPED.sub(" ", text)
    quoted: list[str] = []
    inside = False
    count = 0
    for sentence in sentences(text):
        start = sentence.lstrip()
        fence = start.startswith("```")
        if fence or inside or start.startswith(">") or count >= GOALS_PER_MESSAGE:
            # Quoted and pasted material stays in one piece, and is nobody's statement.
            quoted.append(sentence)
            inside = inside != fence
            continue
        # In a very long sentence each part is judged; what is nothing else stays together as the goal.
        rest = "".join([part for part in clauses(sentence) if not _user_sentence(part, id_, board)])
        said = clean(rest)
        if said and not is_filler(said):
            count += 1
            board.say(Section.GOALS, shorten(said, GOAL_MAX), (id_,), change=_changes(said))
    rest = clean("".join(quoted))
    if rest:
        board.put(Section.GOALS, shorten(rest, GOAL_MAX), (id_,))


_WRAPPED: Final = re.compile(r"(?<![.!?:;。！？：`\s])\r?\n(?=[a-zà-ÿа-я])")
"""A line break inside a sentence."""


def is_filler(text: str) -> bool:
    """True for "ok", "thanks!", "go on": what asks for nothing and tells nothing."""
    if len(text) > FILLER_MAX:
        return False
    lower = folded(text).strip(" .!。！,?")
    return lower in FILLERS or words_of(lower) <= FILLERS


def _changes(text: str) -> bool:
    lower = folded(text)
    return has_changed(lower, words_of(lower))


def _attachments(media: list[Media], id_: str, board: Board) -> None:
    """Say that the user sent files: their bytes are gone from the context, and somebody may have to ask for them again."""
    if media:
        names = clean(", ".join([item.name[:80] for item in media[:8] if item.name]))
        noun = "attachment" if len(media) == 1 else "attachments"
        text = f"sent {len(media)} {noun}{f' ({names})' if names else ''}"
        board.put(Section.FACTS, shorten(text, STATEMENT_MAX), (id_,), "user")


def _user_sentence(sentence: str, id_: str, board: Board) -> bool:
    """Give one sentence to its section; False when it belongs to the goal."""
    box = _CHECKBOX.match(sentence)
    text = clean(sentence[box.end() :] if box else sentence)
    if not text:
        return False
    if box:
        return _box(box, text, id_, "user", board)
    lower = folded(text)
    words = words_of(lower)
    if is_plain(lower, words) or text.endswith(("?", "？")):
        return False
    change = has_changed(lower, words)
    if is_rule(lower, words) and not _is_value(text, change=change):
        board.say(Section.CONSTRAINTS, shorten(text, RULE_MAX), (id_,), change=change)
        return True
    if any(phrase in lower for phrase in LIFTS) and board.lift(tokens(text)):
        board.say(Section.CONSTRAINTS, shorten(text, RULE_MAX), (id_,))
        return True
    found = stated(text)
    if DONE.found(lower, words) and not NOT.found(lower, words) and board.finish(text):
        return True
    if OPEN.found(lower, words) and not (change and values_of(text)):
        board.open(shorten(text, STATEMENT_MAX), (id_,), "user", change=change)
        return True
    if DECISIONS.found(lower, words) and not (change and values_of(text)):
        board.say(Section.DECISIONS, shorten(text, STATEMENT_MAX), (id_,), "user", change=change)
        return True
    if found is not None and is_fact(text, found) and len(text) <= STATEMENT_MAX:
        if not REQUESTS.found(lower, words) and not _is_imperative(lower):
            board.say(Section.FACTS, text, (id_,), "user", change=change, key=f"={found[0]}")
            return True
        # A request to change a value makes the old one stale, and stays a goal.
        board.forget(Section.FACTS, f"={found[0]}")
    if change and len(text) <= STATEMENT_MAX and not REQUESTS.found(lower, words) and values_of(text):
        board.say(Section.FACTS, text, (id_,), "user", change=True)
        return True
    return False


def _is_value(text: str, *, change: bool) -> bool:
    """True for "the port is no longer 8123, it must be 9000": a value that changed, not a rule."""
    return change and sum([value.kind != "name" for value in values_of(text)]) > 1


_IMPERATIVES: Final = (
    "set ",
    "change ",
    "update ",
    "bump ",
    "switch ",
    "move ",
    "rename ",
    "let's ",
    "use ",
    "add ",
    "make ",
    "run ",
    "write ",
)


def _is_imperative(lower: str) -> bool:
    return lower.startswith(_IMPERATIVES)


def _box(box: re.Match[str], text: str, id_: str, role: str, board: Board) -> bool:
    """A line with a check box: open, or done."""
    if box[1] == " ":
        board.open(shorten(text, STATEMENT_MAX), (id_,), role)
    else:
        board.finish(text)
    return True


# ------------------------------------------------------------------------------------------------------ assistant


def _assistant(text: str, id_: str, board: Board) -> None:
    """Decisions, open and finished work, and facts that the assistant stated in words of its own."""
    if not text or text.isspace():
        return
    text = own_words(ends(text))
    facts = 0
    quoted = False
    for sentence in clauses(text):
        if sentence.lstrip().startswith("```"):
            quoted = not quoted
            continue
        if quoted:
            continue
        box = _CHECKBOX.match(sentence)
        said = clean(sentence[box.end() :] if box else sentence)
        if not said:
            continue
        if box:
            _box(box, said, id_, "assistant", board)
            continue
        lower = folded(said)
        words = words_of(lower)
        if is_plain(lower, words):
            if facts < FACTS_PER_MESSAGE and _fact(said, id_, "assistant", board, change=False):
                facts += 1
            continue
        if DONE.found(lower, words) and not NOT.found(lower, words):
            board.finish(said)
        if said.endswith(("?", "？")):
            continue
        said = shorten(said, STATEMENT_MAX)
        change = has_changed(lower, words)
        if DECISIONS.found(lower, words):
            board.say(Section.DECISIONS, said, (id_,), "assistant", change=change)
        elif OPEN.found(lower, words) and not (change and values_of(said)) and not said.endswith((":", "：", ":**")):
            board.open(said, (id_,), "assistant")
        elif facts < FACTS_PER_MESSAGE and not NEXT.found(lower, words) and _fact(said, id_, "assistant", board, change=change):
            facts += 1


def _fact(text: str, id_: str, role: str, board: Board, *, change: bool) -> bool:
    """Keep what tells a value, or names something; how much it is worth shows when the lines are ranked."""
    if text.endswith((":", "：", ":**", "?", "？")) or len(text) > STATEMENT_MAX:
        return False
    found = stated(text)
    if found is not None and (is_fact(text, found) if text.isascii() else has_identifier(found[1])):
        board.say(Section.FACTS, text, (id_,), role, change=change, key=f"={found[0]}")
        return True
    if not values_of(text) and not (role == "assistant" and _tells(text)):
        return False
    board.say(Section.FACTS, text, (id_,), role, change=change)
    return True


def _tells(text: str) -> bool:
    """True when a sentence is long enough to tell something."""
    return text.count(" ") >= 3 or (not text.isascii() and len(text) >= 8 and DENSE.search(text) is not None)


# ---------------------------------------------------------------------------------------------------------- tools


def _result(message: ToolResult, deed: Deed, ids: tuple[str, str], board: Board, *, is_read: bool) -> None:
    """Files, command and error of one answered call. A failed call changed no file."""
    text = text_of(message.content)
    outcome = read_outcome(text, is_error=message.is_error, command=deed.command)
    if deed.command:
        board.command(deed.command, outcome.text, ids)
    if outcome.failed:
        board.fail(deed.source, outcome.line or "failed without a word", ids)
    else:
        board.succeed(deed.source, ids[1])
        for path, state in deed.files:
            board.file(path, state, ids)
    if deed.command or any(state != "read" for _path, state in deed.files):
        board.actions.append((deed.source, ids[1]))
    if is_read and not outcome.failed and len(text) <= RESULT_FACTS_MAX:
        facts = 0
        for sentence in sentences(own_words(text)):
            said = clean(sentence)
            if not 8 <= len(said) <= STATEMENT_MAX or (_MACHINE.match(said) and not _ROW.match(said)):
                continue
            # Of what a file or a program says only whole sentences count: the rest is material.
            if (deed.files or deed.command) and said.count(" ") < 3 and said.isascii():
                continue
            lower = folded(said)
            if _fact(said, ids[1], "tool", board, change=has_changed(lower, words_of(lower))):
                facts += 1
                if facts == RESULT_FACTS:
                    break


_MACHINE: Final = re.compile(r"[{}\[\]|<]|\d{4}-\d\d-\d\d|[\w.-]{1,40} {0,20}(?:[|({]|= ?[\w.]{1,40}\()|.{0,60} \| ")
"""How lines begin that programs write for programs: JSON, tables, logs, code."""
_ROW: Final = re.compile(r"\|[^|]{2,60}\|[^|]{1,80}\|\Z")
"""A table of names and values: no machine's alone."""


def _todos(arguments: Mapping[str, Any], id_: str, board: Board) -> None:
    """A list of tasks with a status each, as to-do tools take it."""
    for key in ("todos", "tasks", "plan", "items"):
        items = arguments.get(key)
        if not isinstance(items, list | tuple):
            continue
        for item in items[:64]:
            if not isinstance(item, Mapping) or type(item.get("status")) is not str:
                continue
            text = next((item[name] for name in _TODO_KEYS if type(item.get(name)) is str), "")
            text = shorten(clean(text[: 4 * STATEMENT_MAX]), STATEMENT_MAX)
            if item["status"].lower() in _TODO_DONE:
                board.finish(text)
            else:
                board.open(text, (id_,), "assistant")


# ------------------------------------------------------------------------------------------------------ next step


def _next_step(messages: Sequence[Message], board: Board) -> None:
    """What comes next: an unanswered user message, or what the assistant last said it would do."""
    board.entries[Section.NEXT].clear()
    for message in reversed(messages[-12:]):
        id_ = written_id(message.id or "")
        if type(message) is UserMessage:
            text = clean(ends(own_text(text_of(message.content))))
            if text and not is_filler(text):
                board.put(Section.NEXT, shorten(f"answer: {text}", ANSWER_MAX), (id_,), "user")
                return
        elif type(message) is AssistantMessage:
            said = [part for part in map(clean, sentences(own_words(ends(text_of(message.content))))) if part]
            for part in reversed(said):
                lower = folded(part)
                if NEXT.found(lower, words_of(lower)):
                    board.put(Section.NEXT, shorten(part, NEXT_MAX), (id_,), "assistant")
                    return
            if said and not message.tool_calls:
                return
