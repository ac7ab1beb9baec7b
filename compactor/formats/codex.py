"""Codex rollouts (import only): JSONL, ``{timestamp, type, payload}``; in older files the items stand bare.

The history is the fold of the response items. A compaction replaces it: by the history that it names, or in older files by
the user's messages, and its message is the summary. A rollback takes turns away. ``event_msg`` rows repeat for the screen what
the items say; of them only the use of tokens is read. What is not understood is kept opaque or set aside with its contents.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.messages import Summary
from compactor.plain import SESSION_LIMITS, Limits, is_blank, is_object, safe_int

from ._codex_items import Item, drafts_of
from ._sessions import Pins, Row, finished, not_in_context, objects, paired, source_of
from ._shared import Log, Names, text_or

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactor.context import ActiveContext

NAME: Final = "codex"
_WRAPPED: Final = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
_ITEMS: Final = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "web_search_call", "compaction", "context_compaction", "ghost_snapshot",
})  # fmt: skip
_BESIDE: Final = frozenset({"turn_context", "world_state", "event_msg", "inter_agent_communication_metadata"})
_NOT_SENT: Final = frozenset({"ghost_snapshot", "other"})
"""Items that are written down and never sent."""
_SEALED: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""Items that stand for what was compacted and that only their maker can read."""
_INSTRUCTIONS: Final = ("<user_instructions>", "# AGENTS.md instructions")
_PREFIXES: Final = (*_INSTRUCTIONS, "<environment_context>", "<turn_aborted>", "<skill>")
"""How messages begin that the program wrote in the user's name."""
_SUMMARY_PREFIX: Final = "Another language model started to solve this problem and produced a summary"


def is_row(value: object) -> bool:
    """True for a row that only Codex writes."""
    if not is_object(value):
        return False
    row: Any = value
    kind = row.get("type")
    if type(kind) is str and kind in _WRAPPED:
        return is_object(row.get("payload"))
    if row.get("record_type") == "state":
        return True
    # The first line of the oldest rollouts.
    return "type" not in row and type(row.get("id")) is str and type(row.get("timestamp")) is str and "instructions" in row


def is_row_outline(keys: Mapping[str, object]) -> bool:
    """The same for the keys of a row that is cut off."""
    return keys.get("type") in _WRAPPED and keys.get("payload") == "{"


def _is_foreign(row: Row) -> bool:
    """True for a row that belongs to another format."""
    kind = row.get("type")
    if type(kind) is str and kind in _WRAPPED:
        return False
    return kind == "session" or "uuid" in row or "messages" in row or is_object(row.get("message"))


@attrs.define
class _Fold:
    """The history as far as the rows go, and what left it."""

    log: Log
    history: list[Item] = attrs.field(factory=list)
    summary: Summary | None = None
    compacted: list[tuple[int, Row]] = attrs.field(factory=list)
    gone: dict[int, tuple[Row, int, str]] = attrs.field(factory=dict)
    """Rows that had items in the history, by identity: the row, its line, and what took them away."""
    hidden_calls: set[str] = attrs.field(factory=set)
    told: Row = attrs.field(factory=dict)

    def drop(self, items: list[Item], what: str) -> None:
        """Take items away."""
        for item in items:
            self.gone[id(item.row)] = (item.row, item.line, what)
            if item.call_id:
                self.hidden_calls.add(item.call_id)


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read the rows of a rollout: a list of rows, or ``Rows`` with their lines. A row of another format → FORMAT_INVALID."""
    source = source_of(data, name)
    log = Log(name)
    fold, base = _Fold(log), _Base()
    beside: Counter[str] = Counter()
    for line, row in objects(source, _is_foreign, log):
        _read(line, row, fold, base, beside)
    pins = Pins(log)
    history = fold.history
    _pin_base(base, history, pins, log)
    developers = [item for item in history if item.kind == "message" and item.item.get("role") in ("developer", "system")]
    pinned = _pin(developers, pins, log)
    spoken = [item for item in history if item not in developers] if developers else history
    names = Names()
    if fold.summary is not None:
        names.take(fold.summary.id or "")
    drafts = drafts_of(spoken, names, log)
    messages = paired(drafts, log, names, hidden_calls=fold.hidden_calls)
    _account(fold, {id(item.row) for item in spoken}, pinned, log)
    not_in_context(beside, log)
    total = len(source.rows) + (source.torn is not None)
    return finished(
        NAME, log, rows=total, messages=messages, requirements=pins.tell(), summary=fold.summary, torn=source.torn, limits=limits
    )


# -------------------------------------------------------------------------------------------------------- rows


@attrs.define
class _Base:
    """The system text that a rollout names: the first one counts, as the program itself takes it."""

    text: str = ""
    line: int | None = None
    row: Row | None = None
    weaker: str = ""
    """What a turn says where the session says nothing."""


def _read(line: int, row: Row, fold: _Fold, base: _Base, beside: Counter[str]) -> None:
    """Take one row."""
    kind, payload = text_or(row.get("type")), row.get("payload")
    stamp = {"entryTimestamp": row["timestamp"]} if type(row.get("timestamp")) is str else {}
    log = fold.log
    if kind in _WRAPPED and not is_object(payload):
        log.skip("row_not_understood", "the row has no payload; it was set aside", line, row=row)
    elif kind == "response_item" and is_object(payload):
        _append(Item(line, payload, row, told=stamp), fold, beside)
    elif kind == "session_meta" and is_object(payload):
        _head(payload, line, row, base, log)
    elif kind == "compacted" and is_object(payload):
        _compact(payload, line, row, stamp, fold)
    elif kind in _BESIDE:
        _beside(kind, payload if is_object(payload) else {}, line, fold, base, beside)
    elif (kind in _ITEMS or (not kind and "role" in row)) and payload is None:
        inner = {key: value for key, value in row.items() if key != "timestamp"}
        _append(Item(line, inner, row, told=stamp), fold, beside)
    elif row.get("record_type") == "state":
        beside["state"] += 1
    elif not kind and is_row(row):
        _head(row, line, row, base, log)
    else:
        log.skip("row_not_understood", "the row's type or shape is not known; it was set aside", line, row=row)


def _append(item: Item, fold: _Fold, beside: Counter[str]) -> None:
    if item.kind in _NOT_SENT:
        beside[item.kind] += 1
        return
    if item.is_made:
        item.told = fold.told | item.told
    fold.history.append(item)


def _head(payload: Row, line: int, row: Row, base: _Base, log: Log) -> None:
    """The session's header; a fork's file has those of its parents behind its own."""
    given = payload.get("base_instructions")
    text = text_or(given.get("text") if is_object(given) else given) or text_or(payload.get("instructions"))
    if text and base.line is None:
        base.text, base.line, base.row = text, line, row
    else:
        log.skip("row_not_in_context", "the session's header says nothing that is part of the context", line)


def _beside(kind: str, payload: Row, line: int, fold: _Fold, base: _Base, beside: Counter[str]) -> None:
    """Rows that hold no item: some say something about items, or take them away."""
    event = text_or(payload.get("type")) if kind == "event_msg" else ""
    beside[f"{kind}/{event}" if event else kind] += 1
    if kind == "turn_context":
        fold.told = {"model": payload["model"]} if text_or(payload.get("model")) else {}
        base.weaker = base.weaker or text_or(payload.get("base_instructions"))
    elif event == "token_count" and is_object(payload.get("info")):
        usage = payload["info"].get("last_token_usage")
        made = next((item for item in reversed(fold.history) if item.is_made), None)
        if is_object(usage) and made is not None:
            made.told = made.told | {"usage": usage}
    elif event == "thread_rolled_back":
        _roll_back(safe_int(payload.get("num_turns"), 1) or 0, line, fold)


def _is_turn(item: Item) -> bool:
    """True for what the user said, not the program in the user's name."""
    return item.kind == "message" and item.item.get("role") == "user" and not item.text.startswith((*_PREFIXES, _SUMMARY_PREFIX))


def _roll_back(turns: int, line: int, fold: _Fold) -> None:
    starts = [at for at, item in enumerate(fold.history) if _is_turn(item)]
    if not turns or not starts:
        return
    start = starts[-turns] if turns <= len(starts) else starts[0]
    fold.drop(fold.history[start:], "rolled_back")
    fold.log.add("rolled_back", f"the last {turns} turns were taken back and are not in the context", line)
    del fold.history[start:]


# -------------------------------------------------------------------------------------------------- compactions


def _compact(payload: Row, line: int, row: Row, stamp: Row, fold: _Fold) -> None:
    """Replace the history as the program itself would when it takes the session up again."""
    text, given = payload.get("message"), payload.get("replacement_history")
    text = text if type(text) is str and not is_blank(text) else ""
    fold.compacted.append((line, row))
    if type(given) is list or type(given) is tuple:
        items = [Item(line, item, row, index, dict(stamp)) for index, item in enumerate(given, start=1) if is_object(item)]
        if len(items) < len(given):
            fold.log.aside(
                "row_not_understood", f"{len(given) - len(items)} items of the compaction are no objects", line, payload
            )
        kept = [item for item in items if item.kind not in _NOT_SENT]
    elif text:
        kept = [item for item in fold.history if item.kind == "message" and item.item.get("role") != "assistant"]
    else:
        fold.log.add("compaction_not_understood", "the compaction has neither a history nor a summary; it hides nothing", line)
        return
    stays = {id(item) for item in kept}
    fold.drop([item for item in fold.history if id(item) not in stays], "hidden_by_compaction")
    fold.summary, fold.history = _summarized(text, kept, line, payload, fold.log), kept


def _summarized(text: str, kept: list[Item], line: int, payload: Row, log: Log) -> Summary | None:
    """Take the summary out of the messages that it stands among; it becomes the context's summary."""
    id_ = text_or(payload.get("window_id"), f"codex-{line}-summary")
    for at in range(len(kept) - 1, -1, -1):
        item = kept[at]
        if item.kind != "message" or item.item.get("role") != "user":
            continue
        words = item.text
        if not is_blank(words) and ((text and words.endswith(text)) or words.startswith(_SUMMARY_PREFIX)):
            del kept[at]
            if at:
                log.add("summary_moved", f"the summary stood behind {at} kept messages; a context has it in front", line)
            return Summary(words, id=id_)
    if text and any(item.kind in _SEALED for item in kept):
        what = "the compaction's message is for the screen; the sealed item beside it is what is sent"
        log.aside("summary_not_sent", what, line, {"message": text})
        return None
    return Summary(text, id=id_) if text else None


def _account(fold: _Fold, spoken: set[int], pinned: set[int], log: Log) -> None:
    """Say what became of the rows, by identity, that are neither *spoken* nor *pinned*."""
    here = spoken | pinned
    lost: dict[str, list[int]] = {}
    compactions = {id(row) for _line, row in fold.compacted}
    for at, (row, line, what) in fold.gone.items():
        if at not in here and id(row) not in compactions:
            lost.setdefault(what, []).append(line)
    for line, row in fold.compacted[:-1]:
        if id(row) not in here:
            log.skip("summary_superseded", "a later compaction took this one's place", line)
    if fold.compacted:
        line, row = fold.compacted[-1]
        # A row whose messages are in the context was counted with them.
        if id(row) not in spoken and (fold.summary is not None or id(row) in pinned):
            log.kept += 1
        elif id(row) not in spoken:
            log.skip("row_not_in_context", "nothing of the compaction is in the context", line)
    words = {
        "hidden_by_compaction": "{} rows (lines {} to {}) are hidden by the latest compaction; what it put in their place is kept",
        "rolled_back": "{} rows (lines {} to {}) were taken back",
    }
    for what, lines in lost.items():
        log.skip(what, words[what].format(len(lines), min(lines), max(lines)), rows=len(lines))


# ------------------------------------------------------------------------------------------------------ pinning


def _pin_base(base: _Base, history: list[Item], pins: Pins, log: Log) -> None:
    """Pin the session's system text, unless the conversation has it in the user's name."""
    if base.row is None:
        pins.add(base.weaker)
        return
    repeated = any(item.text.startswith(_INSTRUCTIONS) and base.text in item.text for item in history if item.kind == "message")
    if not repeated and pins.add(base.text):
        log.kept += 1
    else:
        log.skip("row_not_in_context", "the session's instructions stand in the conversation itself", base.line)


def _pin(developers: list[Item], pins: Pins, log: Log) -> set[int]:
    """Pin what developer and system messages say. The rows, by identity, whose text is pinned, those of compactions too."""
    pinned: set[int] = set()
    for item in developers:
        if pins.add(item.text):
            pinned.add(id(item.row))
            log.kept += item.index is None
        elif item.index is None:
            pinned.add(id(item.row))
            log.skip("requirement_doubled", "the system text is pinned already, or says nothing", item.line, row=item.row)
    return pinned
