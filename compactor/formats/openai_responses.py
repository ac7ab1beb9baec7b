"""OpenAI Responses, in and out: ``{"instructions": text, "input": [items]}``.

In: instructions and system messages become pinned requirements; the items of one answer (reasoning, text, calls) become
one message, so that no compaction can part them. Out: the same items again. Reasoning goes back as it came or not at all,
and without it the items of its message go without their ids: an id whose reasoning is missing is refused for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compactor.context import build_live_context, with_report
from compactor.errors import CompactionError, ErrorCode, shown
from compactor.messages import (
    AssistantMessage,
    Block,
    Message,
    Opaque,
    Requirement,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from compactor.plain import SESSION_LIMITS, Limits, is_blank, is_object

from ._frame import framed
from ._openai_parts import read_arguments
from ._pairing import Draft, repair
from ._reply import each, no_system, pruned, reported, wrong
from ._responses_check import OUTPUTS, check_openai_responses
from ._responses_export import Export
from ._responses_parts import OPAQUE, content_of, noted
from ._shared import Log, Names, Rendered, invalid, kind_of, metadata, replaced, text_or, without

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compactor.context import ActiveContext

NAME: Final = "openai-responses"
_CALLS: Final = tuple(OUTPUTS.values())


# ----------------------------------------------------------------------------------------------------------- in


def parse(data: object, *, name: str = "", limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """Read a list of items or ``{"instructions": ..., "input": [...]}``. An item without the shape of its type → FORMAT_INVALID."""
    log = Log(name)
    items, requirements = data, list[Requirement]()
    if is_object(data):
        document: Any = data
        items = document.get("input")
        items = [{"role": "user", "content": items}] if type(items) is str else items
        if text_or(document.get("instructions")):
            requirements.append(Requirement(document["instructions"], id="system-1"))
        for key in without(document, "instructions", "input"):
            text = f"the key {shown(key)} beside the input is not part of the context"
            log.aside("key_ignored", text, None, {key: document[key]})
    if type(items) is not list and type(items) is not tuple:
        raise invalid(name, None, f"needs a list of items, got {kind_of(items)}", 'pass a list, or {"input": [...]}')
    drafts: list[Draft] = []
    group = _Group()
    names = Names()
    for index, item in enumerate(items):
        try:
            if not is_object(item):
                raise _wrong(f"needs an object, got {kind_of(item)}", "pass items with a type")
            if item.get("role") in ("system", "developer"):
                _pin(item, index, requirements, log)
            elif _is_answer(item):
                group.add(item, index, log)
                log.kept += 1
            else:
                group = _flushed(group, drafts, names, log)
                message = _sent(item, lambda _call: "")
                drafts.append(_draft(message, item, index, names, log))
        except CompactionError as error:
            inner = CompactionError(error.code, error.message, where=f"input[{index}]", fix=error.fix)
            raise replaced(inner, name, None) from error
    _flushed(group, drafts, names, log)
    if requirements:
        log.add("system_pinned", f"{len(requirements)} system texts were pinned as requirements, in their order")
    messages = repair(drafts, log, names)
    context = build_live_context({"requirements": tuple(requirements), "messages": messages}, limits=limits)
    return with_report(context, log.report(NAME, len(items)))


def _wrong(what: str, fix: str) -> CompactionError:
    return CompactionError(ErrorCode.FORMAT_INVALID, what, where="item", fix=fix)


def _pin(item: dict[str, Any], index: int, requirements: list[Requirement], log: Log) -> None:
    content = content_of(item.get("content"), {}) or ""
    texts = [content] if isinstance(content, str) else [block.text for block in content if type(block) is Text]
    text = "\n".join(texts)
    if is_blank(text):
        log.skip("row_not_in_context", f"input[{index}]: a {item['role']} message without text cannot be pinned", row=item)
        return
    requirements.append(Requirement(text, id=f"system-{len(requirements) + 1}"))
    log.kept += 1


def _is_answer(item: dict[str, Any]) -> bool:
    """True for what a model made: part of an assistant message."""
    kind = item.get("type", "message")
    if type(kind) is not str:
        raise _wrong(f"the type is {kind_of(kind)}", "name the item's type")
    if kind != "message":
        return not kind.endswith(("_output", "_response"))
    role = item.get("role")
    if role not in ("user", "assistant"):
        raise _wrong(f"the role is {shown(role)}", "use user, assistant, system or developer")
    return bool(role == "assistant")


class _Group:
    """The items of one answer, on their way to one message."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.extras: dict[str, Any] = {}
        self.items: dict[str, Any] = {}
        self.rows: list[dict[str, Any]] = []
        self.index = -1

    def add(self, item: dict[str, Any], index: int, log: Log, *, keep_ids: bool = True) -> None:
        """Take one item; without *keep_ids* what it is called by its maker is forgotten."""
        if not self.rows:
            self.index = index
        self.rows.append(item)
        kind, at = item.get("type", "message"), len(self.blocks)
        rest = pruned(without(item, "type", *(() if keep_ids else ("id",))))
        if kind == "message":
            self._say(item, rest, at)
        elif kind in _CALLS:
            self._call(item, kind, rest, at, log)
        else:
            self.blocks.append(Opaque(f"{OPAQUE}{text_or(kind, 'item')}", data=item))

    def _say(self, item: dict[str, Any], rest: dict[str, Any], at: int) -> None:
        content = content_of(item.get("content", 0), self.extras, shift=at)
        if content is None:
            raise _wrong(f"the content is {kind_of(item.get('content'))}", "pass text or a list of parts")
        self.blocks += [Text(content)] if isinstance(content, str) else content
        if len(self.blocks) > at:
            self.items[str(at)] = without(rest, "role", "content")

    def _call(self, item: dict[str, Any], kind: str, rest: dict[str, Any], at: int, log: Log) -> None:
        custom = kind == "custom_tool_call"
        call_id, name = item.get("call_id"), item.get("name")
        if not text_or(call_id) or not text_or(name):
            raise _wrong("a call needs a call_id and a name", "give the call the id that its output names")
        arguments, is_raw = read_arguments(item.get("input" if custom else "arguments"), as_text=custom)
        if is_raw and not custom:
            log.add(
                "arguments_kept_raw", f"the arguments of call {shown(call_id)} are no JSON object; they were kept as they came"
            )
        rest = without(rest, "call_id", "name", "input" if custom else "arguments") | ({"custom": True} if custom else {})
        if rest:
            self.items[str(at)] = rest
        self.blocks.append(ToolCall(str(call_id), name=str(name), arguments=arguments))

    def message(self, id_: str | None, more: dict[str, Any]) -> AssistantMessage:
        """All of it as one message."""
        meta = metadata(
            more, noted(blocks=self.extras, items={key: item for key, item in self.items.items() if item}, starts=self._starts())
        )
        return AssistantMessage(tuple(self.blocks), id=id_, meta=meta)

    def _starts(self) -> list[int]:
        """Blocks that begin a message of their own behind other text."""
        texts = [int(key) for key in self.items if type(self.blocks[int(key)]) is not ToolCall]
        return [at for at in texts if at and type(self.blocks[at - 1]) is not ToolCall and not _is_item(self.blocks[at - 1])]


def _is_item(block: Block) -> bool:
    return type(block) is Opaque and block.kind.startswith(OPAQUE)


def _flushed(group: _Group, drafts: list[Draft], names: Names, log: Log) -> _Group:
    """Make a message of what was gathered, if anything was; a new group begins."""
    if group.rows:
        drafts.append(_draft(group.message(None, {}), tuple(group.rows), group.index, names, log))
        # Its rows were counted one by one; the pairing counts one for the message.
        log.kept -= 1
    return _Group()


def _draft(message: Message, row: object, index: int, names: Names, log: Log) -> Draft:
    id_ = names.take(f"msg-{index + 1}")
    del log
    match message:
        case UserMessage():
            message = UserMessage(message.content, id=id_, meta=message.meta)
        case AssistantMessage():
            message = AssistantMessage(message.content, id=id_, meta=message.meta)
        case ToolResult():
            call, tool = message.tool_call_id, message.tool_name
            message = ToolResult(call, message.content, tool_name=tool, id=id_, meta=message.meta)
    return Draft(message, row, f"input[{index}]")


def _sent(item: dict[str, Any], tool_name: Callable[[str], str]) -> Message:
    """What the loop sends: the user's words, an output, or another answer of the client."""
    kind, extras = item.get("type", "message"), dict[str, Any]()
    if kind in OUTPUTS:
        call_id = text_or(item.get("call_id"), "?")
        content = content_of(item.get("output"), extras)
        rest = pruned(without(item, "type", "call_id", "output"))
        if content is None:
            raise _wrong(f"the output is {kind_of(item.get('output'))}", "pass text or a list of parts")
        return ToolResult(call_id, content, tool_name=tool_name(call_id), meta=noted(blocks=extras, extra=rest))
    if kind != "message":
        return UserMessage((Opaque(f"{OPAQUE}{kind}", data=item),))
    content = content_of(item.get("content", 0), extras)
    if content is None:
        raise _wrong(f"the content is {kind_of(item.get('content'))}", "pass text or a list of parts")
    rest = pruned(without(item, "type", "role", "content"))
    return UserMessage(content, meta=metadata(noted(blocks=extras, extra=rest)))


def reply(value: object, tool_name: Callable[[str], str]) -> list[Any]:
    """The messages of a ``Response`` of the SDK, or of items that the loop sends next.

    An item alone leaves its id behind, for nobody can say whether its reasoning comes with it: append the ``Response``.
    """

    def read(given: Any, named: Callable[[str], str]) -> list[Any]:
        if type(given.get("output")) in (list, tuple) and given.get("type") is None:
            stop = given.get("incomplete_details")
            reason = stop.get("reason") if is_object(stop) else given.get("status")
            return [_answer(given["output"], text_or(given.get("id")) or None, reported(given, reason, "openai"))]
        if given.get("role") in ("system", "developer"):
            raise no_system(given["role"])
        try:
            return [_answer((given,), None, {}, keep_ids=False) if _is_answer(given) else _sent(given, named)]
        except CompactionError as error:
            raise wrong(error.message, error.fix) from error

    return each(value, read, tool_name)


def _answer(items: Sequence[Any], id_: str | None, more: dict[str, Any], *, keep_ids: bool = True) -> AssistantMessage:
    group = _Group()
    for index, item in enumerate(items):
        if not is_object(item):
            raise wrong(f"an item of the output is {kind_of(item)}")
        try:
            group.add(item, index, Log(), keep_ids=keep_ids)
        except CompactionError as error:
            raise wrong(error.message, error.fix) from error
    return group.message(id_, more)


# ---------------------------------------------------------------------------------------------------------- out


def render(context: ActiveContext) -> Rendered:
    """Write a context as the arguments ``instructions`` (absent without requirements) and ``input`` of a request."""
    out = Export()
    if context.summary is not None:
        out.items.append({"type": "message", "role": "user", "content": framed(context)})
    out.add(context.messages)
    data: dict[str, Any] = {"input": out.items}
    if context.requirements:
        data = {"instructions": "\n\n".join([item.content for item in context.requirements]), **data}
    faults = check_openai_responses(data)
    if faults:
        raise CompactionError(ErrorCode.INTERNAL, f"the export breaks a rule of its format: {faults[0]}", fix="report this bug")
    return Rendered(NAME, data, tuple(out.log.notes))
