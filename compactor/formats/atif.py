"""ATIF, the Agent Trajectory Interchange Format, in and out: any version is read, ``ATIF-v1.7`` is written.

In: system steps become pinned requirements; the results of an agent step become messages behind it. Out: one step for each message
of the user and each answer with its results. The format has no summary: it goes as a user step in the usual frame, and what is
needed to read it back stands in the step's ``extra``. Then the other steps are marked as copied context.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from compactor.errors import CompactionError, ErrorCode, shown
from compactor.messages import (
    AssistantMessage,
    Block,
    Content,
    Media,
    Message,
    Opaque,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from compactor.plain import EMPTY, SESSION_LIMITS, JsonObject, Limits, is_blank, is_object, safe_int, thaw

from ._atif_check import METRICS, check_atif
from ._frame import framed
from ._pairing import NO_RESULT, Draft
from ._reply import pruned
from ._rounds import WireIds, rounds, tell
from ._sessions import Pins, Row, finished, identified, paired, reraised
from ._shared import Log, Names, Rendered, extras_of, invalid, kind_of, metadata, raw_arguments, text_or, without

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compactor.context import ActiveContext

NAME: Final = "atif"
VERSION: Final = "ATIF-v1.7"
ATIF: Final = "atif"
"""The key of a message's metadata that holds what only this format knows; with a colon the kind of an opaque block."""
_OWN: Final = "compactor"
_LIST: Final = (list, tuple)
_COUNTS: Final = ("prompt_tokens", "completion_tokens", "cached_tokens")
_IMAGES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def is_document(keys: Mapping[str, object], fields: Mapping[str, set[str | None]]) -> bool:
    """True for a trajectory. *keys* are its own with the values of short strings."""
    version = keys.get("schema_version")
    if type(version) is str and version.startswith("ATIF"):
        return True
    return keys.get("steps") == "[" and "agent" in keys and "source" in fields


# ----------------------------------------------------------------------------------------------------------- in


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read a trajectory's document. A step of an unknown shape is set aside with its contents."""
    log = Log(name)
    document: Any = data if is_object(data) else {}
    steps = document.get("steps")
    if type(steps) is not list and type(steps) is not tuple:
        raise invalid(
            name, None, f"needs a trajectory with a list of steps, got {kind_of(data)}", "pass the trajectory's document"
        )
    for key in without(document, "steps", "schema_version"):
        log.aside("key_ignored", f"the key {shown(key)} beside the steps is not part of the context", None, {key: document[key]})
    pins, names = Pins(log), Names()
    agent = document.get("agent")
    model = text_or(agent.get("model_name")) if is_object(agent) else ""
    summary: Summary | None = None
    drafts: list[Draft] = []
    for index, given in enumerate(steps):
        label = f"steps[{index}]"
        step = dict(given) if is_object(given) else None
        source = step.get("source") if step is not None else None
        if step is None or source not in ("system", "user", "agent"):
            log.skip("row_not_understood", f"{label}: the step's source or shape is not known; it was set aside", row=given)
            continue
        told = _summary(step)
        try:
            if told is not None and summary is None and not drafts:
                summary = Summary(told["content"], id=names.take(told["id"]))
                log.kept += 1
            elif source == "system":
                _pin(step, label, pins, log)
            elif source == "user":
                drafts.append(_user(step, index, label, names))
            else:
                drafts += _agent(step, index, label, model, names, log)
        except CompactionError as error:
            raise reraised(error, log, None, label) from error
    messages = paired(drafts, log, names)
    return finished(NAME, log, rows=len(steps), messages=messages, requirements=pins.tell(), summary=summary, limits=limits)


def _summary(step: Row) -> Row | None:
    """What a step of ours says about the summary that it shows."""
    extra = step.get("extra")
    own = extra.get(_OWN) if is_object(extra) else None
    told = own.get("summary") if is_object(own) else None
    return told if is_object(told) and text_or(told.get("content")) and text_or(told.get("id")) else None


def _content(value: Any, extras: Row | None = None) -> Content:
    """Text or parts; what is not known stays opaque."""
    if type(value) is str or value is None:
        return value or ""
    if type(value) not in _LIST:
        return (Opaque(f"{ATIF}:content", data=raw_arguments(value)),)
    return tuple([_part(part, index, {} if extras is None else extras) for index, part in enumerate(value)])


def _part(part: Any, index: int, extras: Row) -> Text | Media | Opaque:
    if is_object(part):
        source: Any = part.get("source")
        if part.get("type") == "text" and type(part.get("text")) is str:
            return Text(part["text"])
        if part.get("type") in ("image", "audio") and is_object(source) and text_or(source.get("path")):
            if without(source, "media_type", "path"):
                extras[str(index)] = without(source, "media_type", "path")
            return Media(source["path"], media_type=text_or(source.get("media_type")))
    return Opaque(f"{ATIF}:part", data=part if is_object(part) else raw_arguments(part))


def _pin(step: Row, label: str, pins: Pins, log: Log) -> None:
    content = _content(step.get("message"))
    text = content if isinstance(content, str) else "\n".join([block.text for block in content if type(block) is Text])
    if pins.add(text):
        log.kept += 1
        if step.get("observation") is not None or not isinstance(content, str):
            log.aside("key_ignored", f"{label}: only the text of a system step was pinned", None, step)
    else:
        log.skip("requirement_doubled", f"{label}: the system text is pinned already, or says nothing", row=step)


def _told(step: Row, *known: str) -> Row:
    """What a step says beside its message."""
    stamp = {"entryTimestamp": step["timestamp"]} if step.get("timestamp") is not None else {}
    rest = pruned(without(step, "step_id", "source", "message", "timestamp", "is_copied_context", *known))
    return stamp | ({ATIF: rest} if rest else {})


def _user(step: Row, index: int, label: str, names: Names) -> Draft:
    extras: Row = {}
    message = UserMessage(_content(step.get("message"), extras), meta=metadata(_told(step), {"media": extras} if extras else {}))
    return Draft(identified(message, names.take(f"step-{index + 1}")), step, label)


def _agent(step: Row, index: int, label: str, model: str, names: Names, log: Log) -> list[Draft]:
    """An answer and the results of its calls; an observation that answers none is what the user's side says."""
    id_ = names.take(f"step-{index + 1}")
    blocks: list[Block] = []
    if text_or(step.get("reasoning_content")):
        blocks.append(Thinking(step["reasoning_content"]))
    content = _content(step.get("message"))
    blocks += [Text(content)] if isinstance(content, str) and content else [] if isinstance(content, str) else content
    calls = _calls(step.get("tool_calls"), id_, label, log)
    metrics = step.get("metrics")
    beside = pruned({"model": step.get("model_name") or model or None, "usage": metrics})
    known = (
        "model_name",
        "metrics",
        "tool_calls",
        "observation",
        *(("reasoning_content",) if blocks and type(blocks[0]) is Thinking else ()),
    )
    answer = AssistantMessage((*blocks, *calls), meta=metadata(_told(step, *known), beside))
    drafts = [Draft(identified(answer, id_), step, label)]
    given: Any = step.get("observation")
    results = given.get("results") if is_object(given) else None
    open_calls = [call.id for call in calls]
    for number, result in enumerate(results if type(results) in _LIST and results is not None else (), start=1):
        if not is_object(result):
            log.aside("row_not_understood", f"{label}: a result is no object", None, result)
            continue
        call_id = text_or(result.get("source_call_id"))
        # Older writers leave the id out where there is one call.
        call_id = call_id or (open_calls[0] if len(calls) == 1 and open_calls else "")
        open_calls = [waiting for waiting in open_calls if waiting != call_id]
        message = _result(result, call_id)
        drafts.append(Draft(identified(message, names.take(f"step-{index + 1}-result-{number}")), step, label))
    if given is not None and type(results) not in _LIST:
        log.aside("row_not_understood", f"{label}: the observation has no list of results", None, {"observation": given})
    return drafts


def _calls(given: Any, id_: str, label: str, log: Log) -> list[ToolCall]:
    found: list[ToolCall] = []
    if given is not None and type(given) not in _LIST:
        log.aside("row_not_understood", f"{label}: the calls are no list", None, {"tool_calls": given})
        return found
    for number, call in enumerate(given or (), start=1):
        if not is_object(call) or not text_or(call.get("function_name")):
            log.aside("row_not_understood", f"{label}: a call names no function", None, {"tool_call": call})
            continue
        arguments = call.get("arguments")
        arguments = arguments if is_object(arguments) else {} if arguments is None else raw_arguments(arguments)
        found.append(
            ToolCall(text_or(call.get("tool_call_id"), f"{id_}-call-{number}"), name=call["function_name"], arguments=arguments)
        )
    return found


def _result(result: Row, call_id: str) -> Message:
    extra = result.get("extra")
    is_error = is_object(extra) and extra.get("is_error") is True
    rest = pruned(without(result, "source_call_id", "content"))
    meta = metadata({ATIF: rest} if rest else {}, {} if call_id else {"kind": "observation"})
    content = _content(result.get("content"))
    return ToolResult(call_id, content, is_error, meta=meta) if call_id else UserMessage(content, meta=meta)


# ---------------------------------------------------------------------------------------------------------- out


@attrs.define
class _Export:
    """The steps of one export, and what it had to leave out."""

    log: Log = attrs.field(factory=Log)
    lost: Counter[str] = attrs.field(factory=Counter)
    steps: list[Row] = attrs.field(factory=list)
    copied: bool = False

    def add(self, source: str, message: Any, meta: JsonObject, **more: Any) -> None:
        """One step."""
        own = meta.get(ATIF, EMPTY)
        rest = thaw(own) if type(own) is JsonObject else {}
        step = {"step_id": len(self.steps) + 1, "source": source, "message": message}
        stamp = meta.get("entryTimestamp")
        step |= {"timestamp": stamp} if _is_time(stamp) else {}
        step |= {"extra": rest["extra"]} if is_object(rest.get("extra")) else {}
        if source == "agent":
            step |= {"llm_call_count": rest["llm_call_count"]} if safe_int(rest.get("llm_call_count"), 0) is not None else {}
            step |= {"reasoning_effort": rest["reasoning_effort"]} if type(rest.get("reasoning_effort")) in (str, float) else {}
        step |= {"is_copied_context": True} if self.copied else {}
        self.steps.append(step | {key: value for key, value in more.items() if value is not None})

    def content(self, blocks: str | Sequence[Block]) -> Any:
        """A text, or parts where there is more than one text."""
        if isinstance(blocks, str):
            return blocks
        parts: list[Row] = []
        for block in blocks:
            match block:
                case Text():
                    parts.append({"type": "text", "text": block.text})
                case Media() if block.media_type in _IMAGES and block.source:
                    parts.append({"type": "image", "source": {"media_type": block.media_type, "path": block.source}})
                case Media():
                    self.lost["media_left_out"] += 1
                case Opaque():
                    self.lost["opaque_left_out"] += 1
                case _:
                    pass
        if len(parts) == 1 and parts[0]["type"] == "text":
            return parts[0]["text"]
        return parts or ""


def render(context: ActiveContext) -> Rendered:
    """Write a context as a trajectory; the notes say what could not be held."""
    out = _Export()
    for requirement in context.requirements:
        out.add("system", requirement.content, EMPTY)
    summary = context.summary
    if summary is not None:
        told = {_OWN: {"summary": {"id": summary.id, "content": summary.content}}}
        out.add("user", framed(context), EMPTY, extra=told)
        out.copied = True
    ids = WireIds(r"\0", 1 << 20)
    models: set[str] = set()
    for round_ in rounds(context.messages, out.lost, out.log):
        message = round_.message
        if type(message) is not AssistantMessage:
            out.add("user", out.content(message.content), message.meta)
            continue
        models.add(text_or(message.meta.get("model")))
        _said(message, round_.answers, ids.of(message, out.lost), out)
    tell(out.lost, out.log)
    # It counts for every step without one: it may not speak for an answer whose model nobody knows.
    named = {"model_name": models.pop()} if len(models) == 1 and "" not in models else {}
    agent = {"name": "compactor", "version": "1", **named}
    data = {"schema_version": VERSION, "agent": agent, "steps": out.steps}
    faults = check_atif(data)
    if faults:
        raise CompactionError(ErrorCode.INTERNAL, f"the export breaks a rule of its format: {faults[0]}", fix="report this bug")
    return Rendered(NAME, data, tuple(out.log.notes))


def _said(
    message: AssistantMessage, answers: Sequence[tuple[ToolCall, ToolResult | None]], names: dict[str, str], out: _Export
) -> None:
    """An answer with its calls and their results."""
    thoughts = [block for block in message.content if type(block) is Thinking]
    unread = sum([block.redacted or is_blank(block.text) for block in thoughts])
    out.lost["thinking_left_out"] += unread
    reasoning = "\n\n".join([block.text for block in thoughts if not block.redacted and not is_blank(block.text)])
    if any(block.signature and not block.redacted for block in thoughts):
        out.log.add("signature_left_out", f"message {shown(message.id)}: the signature of its thinking was left out")
    calls = [
        {"tool_call_id": names[call.id], "function_name": call.name, "arguments": thaw(call.arguments)}
        for call in message.tool_calls
    ]
    results: list[Row] = []
    for call, result in answers:
        entry: Row = {"source_call_id": names[call.id], "content": NO_RESULT if result is None else out.content(result.content)}
        extra = extras_of(_own(result), "extra") if result is not None else {}
        if result is not None and result.is_error:
            extra["is_error"] = True
        results.append(entry | ({"extra": extra} if extra else {}))
    usage = thaw(message.meta.get("usage", EMPTY))
    counts = [usage.get(key, 0) for key in _COUNTS] if is_object(usage) else []
    is_own = is_object(usage) and not usage.keys() - METRICS and all(type(count) is int for count in counts)
    metrics = None if not is_object(usage) or not usage else usage if is_own else {"extra": usage}
    told = extras_of(message.meta, ATIF)
    if told.get("llm_call_count") == 0:
        metrics, reasoning = None, ""
    out.add(
        "agent",
        out.content(message.content),
        message.meta,
        model_name=text_or(message.meta.get("model")) or None,
        reasoning_content=reasoning or None,
        tool_calls=calls or None,
        observation={"results": results} if results else None,
        metrics=metrics,
    )


def _own(result: ToolResult) -> JsonObject:
    """The part of a result's metadata that belongs to this format."""
    found = result.meta.get(ATIF, EMPTY)
    return found if type(found) is JsonObject else EMPTY


def _is_time(value: Any) -> bool:
    """True for a time as the format takes it."""
    if type(value) is not str:
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
