"""OpenCode sessions (import only): ``{"info": session, "messages": [{"info": message, "parts": [...]}]}``, in their order.

That is what ``opencode export`` writes; ``readers`` makes it of a storage folder or a database. A finished summary of the model
and the user's message that asked for it stand for everything before them, but for the tail that the request names; the
summary is the context's. What was taken back, answers that failed and parts that are never sent are left out, and said.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, shown
from compactor.messages import Summary, ToolCall
from compactor.plain import SESSION_LIMITS, Limits, is_blank, is_object

from ._opencode_parts import Part, message_of, objects_in, steps_of, user_message
from ._pairing import Draft
from ._reply import pruned
from ._sessions import Pins, Row, finished, identified, named, paired, reraised
from ._shared import Log, Names, invalid, kind_of, text_or

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactor.context import ActiveContext

NAME: Final = "opencode"
_INFO: Final = frozenset(
    {"id", "sessionID", "role", "time", "tokens", "modelID", "model", "providerID", "finish", "summary", "system"}
)
_ABORTED: Final = "MessageAbortedError"
_SAID: Final = frozenset({"text", "tool", "reasoning"})


def is_document(keys: Mapping[str, object], fields: Mapping[str, set[str | None]]) -> bool:
    """True for an exported session. *fields* are those of its messages with their values."""
    return keys.get("messages") == "[" and "{" in fields.get("info", ()) and "[" in fields.get("parts", ())


@attrs.frozen
class _Entry:
    index: int
    row: Row = attrs.field(repr=False)
    info: Row = attrs.field(repr=False)
    parts: tuple[Part, ...] = attrs.field(repr=False)

    @property
    def id(self) -> str:
        """The message's own id."""
        return text_or(self.info.get("id"))

    @property
    def label(self) -> str:
        """Where it stands."""
        return f"messages[{self.index}]"

    @property
    def request(self) -> Part | None:
        """The part that asks for a compaction, in a user's message."""
        if self.info.get("role") != "user":
            return None
        return next((part for part in self.parts if part.get("type") == "compaction"), None)

    @property
    def words(self) -> str:
        """The text of its parts."""
        return "\n".join([part["text"] for part in self.parts if part.get("type") == "text" and type(part.get("text")) is str])


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read an exported session, or a list of its messages. A message without an ``info`` is set aside."""
    log = Log(name)
    document: Any = data if is_object(data) else {"messages": data}
    items = document.get("messages")
    if type(items) is not list and type(items) is not tuple:
        raise invalid(name, None, f"needs a list of messages, got {kind_of(items)}", 'pass {"info": ..., "messages": [...]}')
    entries = _entries(items, log)
    session = document.get("info")
    entries = _not_reverted(entries, session.get("revert") if is_object(session) else None, log)
    entries, summary = _compacted(entries, log)
    names, pins, beside = Names(), Pins(log), Counter[str]()
    if summary is not None:
        names.take(summary.id or "")
    system = next((found for entry in reversed(entries) if (found := _system(entry))), "")
    pins.add(system)
    drafts = [draft for entry in entries for draft in _drafts(entry, names, beside, log)]
    messages = paired(drafts, log, names)
    for kind, count in beside.items():
        log.add("part_not_in_context", f"{count} {shown(kind)} parts are not sent to the model")
    return finished(NAME, log, rows=len(items), messages=messages, requirements=pins.tell(), summary=summary, limits=limits)


def _entries(items: Any, log: Log) -> list[_Entry]:
    found: list[_Entry] = []
    for index, item in enumerate(items):
        info: Any = item.get("info") if is_object(item) else None
        if not is_object(info) or info.get("role") not in ("user", "assistant"):
            text = f"messages[{index}]: the message's shape is not known; it was set aside"
            log.skip("row_not_understood", text, row=item)
            continue
        parts = objects_in(item.get("parts"), f"messages[{index}]", log)
        found.append(_Entry(index, dict(item), info, tuple(parts)))
    return found


def _system(entry: _Entry) -> str:
    """The system text that a message was sent with."""
    given = entry.info.get("system")
    if type(given) is list or type(given) is tuple:
        given = "\n".join([text for text in given if type(text) is str])
    return text_or(given)


def _not_reverted(entries: list[_Entry], revert: Any, log: Log) -> list[_Entry]:
    """The messages before the one that the user went back to; of that one the parts before the part that is named."""
    target = text_or(revert.get("messageID")) if is_object(revert) else ""
    at = next((at for at, entry in enumerate(entries) if entry.id == target and target), None)
    if at is None:
        return entries
    part_id = text_or(revert.get("partID"))
    parts = entries[at].parts
    cut = next((place for place, part in enumerate(parts) if part_id and part.get("id") == part_id), 0)
    kept = entries[:at]
    if cut:
        kept.append(attrs.evolve(entries[at], parts=parts[:cut]))
    lost = len(entries) - len(kept)
    if lost:
        log.skip("rolled_back", f"{lost} messages were taken back and are not in the context", rows=lost)
    return kept


def _compacted(entries: list[_Entry], log: Log) -> tuple[list[_Entry], Summary | None]:
    """Apply the newest compaction that has a finished summary."""
    answers = {
        text_or(entry.info.get("parentID")): at
        for at, entry in enumerate(entries)
        if _is_summary(entry) and text_or(entry.info.get("parentID"))
    }
    for at in range(len(entries) - 1, -1, -1):
        request = entries[at].request
        answer = answers.get(entries[at].id) if request is not None and entries[at].id else None
        if request is None or answer is None or answer < at:
            continue
        told = entries[answer]
        tail_id = text_or(request.get("tail_start_id"))
        start = next((place for place in range(at) if tail_id and entries[place].id == tail_id), at)
        if tail_id and start == at:
            log.add("boundary_outside_file", f"{entries[at].label}: the first kept message is not in the file")
        for older in range(start):
            if _is_summary(entries[older]):
                log.skip("summary_superseded", f"{entries[older].label}: a later compaction's summary took this one's place")
        hidden = sum([not _is_summary(entry) for entry in entries[:start]])
        if hidden:
            text = f"{hidden} messages are hidden by the latest compaction; its summary stands for them"
            log.skip("hidden_by_compaction", text, rows=hidden)
        log.skip("row_not_in_context", f"{entries[at].label}: the request for the summary is not part of the context")
        log.kept += 1
        rest = [entry for place, entry in enumerate(entries) if place >= start and place not in (at, answer)]
        return rest, Summary(told.words, id=told.id or f"opencode-{told.index + 1}")
    return entries, None


def _is_summary(entry: _Entry) -> bool:
    """True for a summary that was finished."""
    info = entry.info
    is_whole = info.get("finish") is not None and info.get("error") is None
    return info.get("role") == "assistant" and info.get("summary") is True and is_whole and not is_blank(entry.words)


# ------------------------------------------------------------------------------------------------------- drafts


def _told(info: Row) -> Row:
    """What a message says beside its parts."""
    model, times = info.get("model"), info.get("time")
    model = model if is_object(model) else {}
    found = {
        "model": info.get("modelID", model.get("modelID")),
        "provider": info.get("providerID", model.get("providerID")),
        "usage": info.get("tokens"),
        "stopReason": info.get("finish"),
        "entryTimestamp": times.get("created") if is_object(times) else None,
    }
    return pruned({**{key: value for key, value in info.items() if key not in _INFO}, **found})


def _drafts(entry: _Entry, names: Names, beside: Counter[str], log: Log) -> list[Draft]:
    try:
        return _user(entry, names, beside, log) if entry.info["role"] == "user" else _model(entry, names, beside, log)
    except CompactionError as error:
        raise reraised(error, log, None, entry.label) from error


def _user(entry: _Entry, names: Names, beside: Counter[str], log: Log) -> list[Draft]:
    message = user_message(entry.parts, beside, _told(entry.info))
    if message is None:
        log.skip("row_not_in_context", f"{entry.label}: nothing of the message is sent to the model", row=entry.row)
        return []
    id_ = named(names, entry.id, f"opencode-{entry.index + 1}", log)
    return [Draft(identified(message, id_), entry.row, f"message {shown(id_)}")]


def _model(entry: _Entry, names: Names, beside: Counter[str], log: Log) -> list[Draft]:
    """The steps of an answer; one that failed is not sent again, one that was broken off is, if it says something."""
    error = entry.info.get("error")
    aborted = is_object(error) and error.get("name") == _ABORTED
    said = any(text_or(part.get("type")) in _SAID for part in entry.parts)
    if error is not None and not (aborted and said):
        log.skip("row_not_in_context", f"{entry.label}: an answer that failed is not sent to the model again", row=entry.row)
        return []
    id_ = named(names, entry.id, f"opencode-{entry.index + 1}", log)
    told = _told(entry.info)
    steps = steps_of(entry.parts, id_, beside, log, entry.label)
    if not steps:
        log.skip("row_not_in_context", f"{entry.label}: the answer says nothing", row=entry.row)
        return []
    stop = "aborted" if aborted else ""
    drafts: list[Draft] = []
    for number, step in enumerate(steps, start=1):
        step_id = id_ if number == 1 else names.take(f"{id_}-{number}")
        drafts.append(Draft(identified(message_of(step, told), step_id), entry.row, f"message {shown(step_id)}", None, stop))
        for result in step.results:
            made = f"{id_}-{len(drafts)}-result"
            result_id = named(names, result.id or "", made, log)
            drafts.append(Draft(identified(result, result_id), entry.row, f"message {shown(result_id)}"))
    calls = [block for step in steps for block in step.blocks if type(block) is ToolCall]
    if stop and len(calls) > sum([len(step.results) for step in steps]):
        log.add("answer_aborted", f"{entry.label}: the answer was broken off while its calls ran")
    return drafts
