"""Claude Code sessions (import only): JSONL, a tree of ``uuid`` and ``parentUuid``.

The conversation is the way from the last user's or assistant's row back to the root, or to the latest compaction: its
summary row, the messages that it preserved, then what came after. An answer's rows are put together again by
``message.id``; rows of an answer and results that stand beside the way, because tools ran in parallel, are taken in.
Rows of sub-agents are set aside, unless the file holds nothing else. What is not understood is set aside with its contents.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.context import build_live_context, with_report
from compactor.errors import shown
from compactor.messages import Summary
from compactor.plain import SESSION_LIMITS, Limits, is_blank, is_object

from ._claude_rows import Reader, Row, grouped
from ._pairing import repair
from ._shared import Log, Names, Rows, invalid, kind_of, text_or

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from compactor.context import ActiveContext

NAME: Final = "claude-code"
_SPOKEN: Final = ("user", "assistant")
_BESIDE: Final = frozenset({
    "system", "progress", "attachment", "file-history-snapshot", "queue-operation", "summary", "last-prompt", "mode",
    "permission-mode", "agent-name", "agent-setting", "agent-color", "custom-title", "ai-title", "tag", "pr-link", "frame-link",
    "started", "result", "relocated", "worktree-state", "bridge-session",
})  # fmt: skip
"""Row types that are known to hold no message."""
_OTHERS: Final = frozenset({"session", "message", "response_item", "event_msg", "session_meta", "turn_context"})
"""Row types of other agents' session files."""


def is_row(value: object) -> bool:
    """True for a row that only Claude Code writes: a message of the provider's API in a tree."""
    if not is_object(value):
        return False
    row: Any = value
    inner = row.get("message")
    if row.get("type") not in _SPOKEN or not is_object(inner) or "content" not in inner or "parts" in inner:
        return False
    return type(row.get("uuid")) is str and ("parentUuid" in row or "isSidechain" in row or "sessionId" in row)


def is_row_outline(keys: Mapping[str, object]) -> bool:
    """The same for the keys of a row that is cut off."""
    return keys.get("type") in _SPOKEN and "uuid" in keys and not {"parentUuid", "isSidechain", "sessionId"}.isdisjoint(keys)


@attrs.frozen
class _Way:
    """What leads to the last row: the conversation after the latest compaction, and that compaction's rows."""

    rows: tuple[Row, ...]
    summary: Row | None = None
    boundary: Row | None = None


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read the rows of a session: a list of rows, or ``Rows`` with their lines. A row of another format → FORMAT_INVALID."""
    source = _source(data, name)
    log = Log(name)
    rows = _rows(source, log)
    body = _own_side(rows, log)
    way = _way(body, log)
    reader = Reader(Names(), log)
    if way.summary is not None:
        reader.names.take(_summary_id(way.summary))
    drafts = [draft for group in grouped(way.rows) for draft in _counted(reader, group, log)]
    hidden_calls = _hidden_calls(body, way)
    messages = repair(drafts, log, reader.names, hidden_calls=hidden_calls)
    summary = None if way.summary is None else Summary(_summary_text(way.summary), id=_summary_id(way.summary))
    context = build_live_context({"summary": summary, "messages": messages}, limits=limits)
    return with_report(context, log.report(NAME, len(source.rows) + (source.torn is not None), source.torn))


def _counted(reader: Reader, group: Sequence[Row], log: Log) -> list[Any]:
    """The drafts of a group. The pairing counts one row for each; a group has its own number of rows."""
    drafts = reader.read(group)
    log.kept += len(group) - len(drafts)
    return drafts


def _source(data: object, name: str) -> Rows:
    if type(data) is Rows:
        return data
    if type(data) is list or type(data) is tuple:
        return Rows(tuple(enumerate(data, start=1)))
    raise invalid(name, None, f"needs a list of rows, got {kind_of(data)}", "pass the decoded rows of the session file")


def _rows(source: Rows, log: Log) -> list[Row]:
    """The rows that are objects of a known type; a row of another format ends the import."""
    found: list[Row] = []
    beside: Counter[str] = Counter()
    for line, row in source.rows:
        if not is_object(row):
            log.skip("row_not_object", f"the row is no JSON object but {kind_of(row)}; it was set aside", line, row=row)
            continue
        kind = text_or(row.get("type"))
        if kind in _OTHERS and "uuid" not in row:
            raise invalid(
                log.name, line, "the row belongs to another format than the rest", "keep one session of one format in a file"
            )
        entry = Row.of(line, row)
        if entry.spoken:
            found.append(entry)
        elif kind in _BESIDE:
            beside[f"{kind}/{row['subtype']}" if kind == "system" and text_or(row.get("subtype")) else kind] += 1
            found.append(entry)
        else:
            log.skip("row_not_understood", "the row's type or shape is not known; it was set aside", line, row=row)
            found.append(entry)
    for kind, count in beside.items():
        log.skip("row_not_in_context", f"{count} {shown(kind)} rows are not part of the context", rows=count)
    return found


def _own_side(rows: list[Row], log: Log) -> list[Row]:
    """The session's rows, or in a sub-agent's file the sub-agent's."""
    spoken = [row for row in rows if row.spoken]
    main = [row for row in spoken if row.row.get("isSidechain") is not True]
    if not main:
        return rows
    aside = len(spoken) - len(main)
    if aside:
        log.skip("sidechain_set_aside", f"{aside} rows of sub-agents are not part of the context", rows=aside)
    return [row for row in rows if row.kind not in _SPOKEN or row.row.get("isSidechain") is not True]


def _is_context(row: Row) -> bool:
    """True for a row that the model was sent, the summary row aside."""
    return row.spoken and row.row.get("isVisibleInTranscriptOnly") is not True and row.row.get("isApiErrorMessage") is not True


def _is_summary(row: Row) -> bool:
    return row.kind == "user" and row.spoken and row.row.get("isCompactSummary") is True


def _is_boundary(row: Row) -> bool:
    return row.kind == "system" and row.row.get("subtype") == "compact_boundary"


# ------------------------------------------------------------------------------------------------------ the way


def _way(body: list[Row], log: Log) -> _Way:
    """Find the conversation; account for every user's and assistant's row that is not on it."""
    spoken = [row for row in body if row.spoken]
    linked = sum([bool(text_or(row.row.get("parentUuid"))) for row in spoken])
    # A few links in a file without any other are no tree: walking would lose what stands before them.
    if linked * 2 >= len(spoken) - 1 and linked:
        walked, summary, boundary = _walk(body, log)
    else:
        walked, summary, boundary = _listed(body)
    walked = [row for row in walked if not _is_summary(row)]
    before = boundary or summary
    chosen = _taken_in(_preserved(walked, body, summary, boundary, log), spoken, before)
    superseded = {uuid for row in chosen for uuid in row.row.get("supersedesUuids") or () if type(uuid) is str}
    chosen = [row for row in chosen if row.uuid not in superseded]
    rows = _distinct([row for row in chosen if _is_context(row)], log)
    taken = {row.line for row in chosen} | ({summary.line} if summary else set())
    log.kept += summary is not None
    shown_only = sum([not _is_context(row) for row in chosen])
    if shown_only:
        log.skip("row_not_in_context", f"{shown_only} rows were shown to the user and not sent to the model", rows=shown_only)
    _account([row for row in spoken if row.line not in taken], before, superseded, log)
    return _Way(tuple(rows), summary, boundary)


def _account(rest: list[Row], before: Row | None, superseded: Collection[str], log: Log) -> None:
    """Say what became of the rows that are not on the way."""
    replaced = [row for row in rest if row.uuid in superseded]
    rest = [row for row in rest if row.uuid not in superseded]
    older = [row for row in rest if _is_summary(row)]
    rest = [row for row in rest if not _is_summary(row)]
    hidden = [row for row in rest if before is not None and row.line < before.line]
    others = len(rest) - len(hidden)
    if replaced:
        log.skip("row_superseded", f"{len(replaced)} rows were superseded by later ones", rows=len(replaced))
    for row in older:
        log.skip("summary_superseded", "a later compaction's summary took this one's place", row.line)
    if hidden and before is not None:
        lines = f"lines {hidden[0].line} to {hidden[-1].line}"
        text = f"{len(hidden)} rows ({lines}) are hidden by the latest compaction; its summary stands for them"
        log.skip("hidden_by_compaction", text, before.line, rows=len(hidden))
    if others:
        text = f"{others} rows are not on the branch of the last message and are not in the context"
        log.skip("not_on_branch", text, rows=others)


def _listed(body: list[Row]) -> tuple[list[Row], Row | None, Row | None]:
    """A file without parents is a list: what stands behind the last summary."""
    summary = next((row for row in reversed(body) if _is_summary(row) and _has_text(row)), None)
    start = summary.line if summary else 0
    boundary = next((row for row in reversed(body) if _is_boundary(row) and row.line < start), None)
    return [row for row in body if row.line > start and row.spoken], summary, boundary


def _walk(body: list[Row], log: Log) -> tuple[list[Row], Row | None, Row | None]:
    """Walk from the last message to the root or to the latest summary. A lost parent is the row before."""
    places: dict[str, list[int]] = {}
    for index, row in enumerate(body):
        if row.uuid:
            places.setdefault(row.uuid, []).append(index)
    at: int | None = next((index for index in range(len(body) - 1, -1, -1) if body[index].spoken), None)
    way: dict[int, None] = {}
    summary: Row | None = None
    boundary: Row | None = None
    while at is not None:
        if at in way:
            log.add("parent_cycle", "the rows' parents form a circle; the walk ended there", body[at].line)
            break
        row = body[at]
        way[at] = None
        if _is_boundary(row):
            boundary = row
            break
        if _is_summary(row) and _has_text(row):
            summary = row
            boundary = next((found for found in reversed(body[:at]) if _is_boundary(found)), None)
            break
        parent = row.row.get("parentUuid")
        if "parentUuid" not in row.row and row.kind in _SPOKEN:
            at = _before(body, at)
        elif type(parent) is not str or not parent:
            at = None
        else:
            at = _parent(body, at, places.get(parent, []), log)
    return [body[index] for index in reversed(way) if body[index].spoken], summary, boundary


def _parent(body: list[Row], at: int, found: list[int], log: Log) -> int | None:
    """Of several rows with one uuid the nearest before the child is its parent."""
    if found:
        before = bisect_left(found, at)
        return found[before - 1] if before else found[0]
    text = "the row's parent is not in the file; the row before it was taken instead"
    log.add("parent_outside_file", text, body[at].line)
    return _before(body, at)


def _before(body: list[Row], at: int) -> int | None:
    """The nearest row before that is part of the tree."""
    return next((index for index in range(at - 1, -1, -1) if body[index].uuid), None)


def _has_text(row: Row) -> bool:
    return not is_blank(_summary_text(row))


def _summary_text(row: Row) -> str:
    content = row.message["content"]
    if type(content) is str:
        return content
    return "\n".join([block["text"] for block in row.blocks if is_object(block) and type(block.get("text")) is str])


def _summary_id(row: Row) -> str:
    return row.uuid or f"claude-{row.line}"


def _preserved(walked: list[Row], body: list[Row], summary: Row | None, boundary: Row | None, log: Log) -> list[Row]:
    """The way with the messages that the compaction kept, in front and in their order."""
    if summary is None or boundary is None:
        return walked
    given: Any = boundary.row.get("compactMetadata")
    told: Any = given if is_object(given) else {}
    kept: Any = told.get("preservedMessages")
    uuids = kept.get("uuids") if is_object(kept) else None
    latest = {row.uuid: row for row in body if row.uuid and row.spoken}
    if type(uuids) is list or type(uuids) is tuple:
        found = [latest[uuid] for uuid in uuids if type(uuid) is str and uuid in latest]
        missing = len(uuids) - len(found)
    else:
        found, missing = _segment(told.get("preservedSegment"), latest), 0
    if missing:
        log.add("preserved_outside_file", f"{missing} messages that the compaction preserved are not in the file", boundary.line)
    front = {row.line: row for row in found if not _is_summary(row)}
    return [*front.values(), *[row for row in walked if row.line not in front]]


def _segment(told: Any, latest: dict[str, Row]) -> list[Row]:
    """The rows from a segment's tail back to its head; none when the head is not reached."""
    if not is_object(told):
        return []
    found: dict[int, Row] = {}
    at: Any = told.get("tailUuid")
    while type(at) is str and at in latest and latest[at].line not in found:
        row = latest[at]
        found[row.line] = row
        if at == told.get("headUuid"):
            return list(reversed(found.values()))
        at = row.row.get("parentUuid")
    return []


def _taken_in(way: list[Row], spoken: list[Row], before: Row | None) -> list[Row]:
    """The way with what stands beside it because tools ran in parallel: rows of its answers, and results of their calls."""
    on_way = {row.line for row in way}
    since = 0 if before is None else before.line
    answers = {row.answer_id: row.line for row in way if row.answer_id}
    beside = [row for row in spoken if row.line not in on_way and row.line > since and not _is_summary(row)]
    more: dict[int, list[Row]] = {}
    for row in beside:
        if row.answer_id in answers and row.answer_id:
            more.setdefault(answers[row.answer_id], []).append(row)
    rows = [found for row in way for found in (row, *more.get(row.line, ()))]
    return _with_results(rows, [row for row in beside if row.results and len(row.results) == len(row.blocks)])


def _with_results(rows: list[Row], beside: list[Row]) -> list[Row]:
    """The rows and those results *beside* them that answer a call of theirs which has no result among them."""
    calls: dict[str, Row] = {}
    answered: set[str] = set()
    for row in rows:
        for block in row.blocks:
            if row.kind == "assistant" and is_object(block) and text_or(block.get("id")):
                calls[block["id"]] = row
        answered |= {text_or(block.get("tool_use_id")) for block in row.results}
    more: dict[int, list[Row]] = {}
    for row in beside:
        ids = [text_or(block.get("tool_use_id")) for block in row.results]
        if all(id_ in calls and id_ not in answered for id_ in ids):
            answered.update(ids)
            more.setdefault(calls[ids[0]].line, []).append(row)
    return [found for row in rows for found in (row, *more.get(row.line, ()))]


def _distinct(rows: list[Row], log: Log) -> list[Row]:
    """The rows without those that were written twice."""
    seen: dict[str, Row] = {}
    found: list[Row] = []
    for row in rows:
        first = seen.setdefault(row.uuid, row) if row.uuid else row
        if first is not row and first.row == row.row:
            log.skip("row_doubled", "the row was written twice and is read once", row.line)
            continue
        found.append(row)
    return found


def _hidden_calls(body: list[Row], way: _Way) -> set[str]:
    """The ids of calls that stand before the latest compaction."""
    before = way.boundary or way.summary
    if before is None:
        return set()
    return {
        block["id"]
        for row in body
        if row.kind == "assistant" and row.line < before.line
        for block in row.blocks
        if is_object(block) and text_or(block.get("id"))
    }
