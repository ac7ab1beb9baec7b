"""The rules that Anthropic's Messages endpoint enforces on a request. Works on any data and never raises."""

from __future__ import annotations

import re
from typing import Any, Final

from compactor.errors import shown
from compactor.plain import is_blank, is_object

_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_THINKING: Final = ("thinking", "redacted_thinking")


def check_anthropic(request: object) -> tuple[str, ...]:
    """List what an endpoint would refuse in ``{"system", "messages"}`` or a list of messages; empty means valid.

    The first message is the user's and roles alternate; no content, text or tool name is empty; ids of calls are distinct
    and of letters, digits, ``_`` and ``-``; all results of a message's calls stand first in the next message, and nowhere
    else; thinking is signed, and no message ends with it.
    """
    given: Any = request
    faults: list[str] = []
    if is_object(given):
        faults += _system(given["system"]) if "system" in given else []
        given = given.get("messages")
    if type(given) is not list and type(given) is not tuple:
        return (*faults, "the messages are no list")
    waiting: list[str] = []
    seen: set[str] = set()
    before = "assistant"
    for index, message in enumerate(given):
        where = f"messages[{index}]"
        role = message.get("role") if is_object(message) else None
        if role not in ("user", "assistant"):
            faults.append(f"{where}: needs an object with the role user or assistant")
            continue
        if role == before:
            faults.append(
                f"{where}: " + ("the first message must be the user's" if index == 0 else f"follows another {role} message")
            )
        before = role
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if type(content) is str else content
        if type(blocks) is not list or not blocks:
            faults.append(f"{where}: the content is empty, or neither text nor blocks")
            blocks = []
        if role == "user":
            found = _answers(blocks, waiting)
            waiting = []
        else:
            found = [f"call {shown(waiting[0])} must be answered in the next message"] if waiting else []
            waiting, more = _calls(blocks, seen)
            found += more
        for block in blocks:
            found += _block(block, role)
        faults += [f"{where}: {fault}" for fault in found]
    if waiting:
        faults.append(f"messages: call {shown(waiting[0])} is never answered")
    return tuple(faults)


def _system(system: Any) -> list[str]:
    blocks = [{"type": "text", "text": system}] if type(system) is str else system
    if type(blocks) is not list or not blocks:
        return ["system: neither text nor a list of text blocks; leave it out"]
    return [f"system: {fault}" for block in blocks for fault in _block(block, "system")]


def _answers(blocks: list[Any], waiting: list[str]) -> list[str]:
    """Judge the results of a user message; *waiting* are the calls of the message before it."""
    faults: list[str] = []
    open_, text_seen = list(waiting), False
    for block in blocks:
        if not is_object(block) or block.get("type") != "tool_result":
            text_seen = True
            continue
        id_ = block.get("tool_use_id")
        if type(id_) is str and id_ in open_:
            open_.remove(id_)
        else:
            faults.append(f"no call of the message before waits for result {shown(id_)}")
        if text_seen:
            faults.append("tool results must stand before everything else")
    return faults + [f"call {shown(id_)} must be answered in the next message" for id_ in open_[:1]]


def _calls(blocks: list[Any], seen: set[str]) -> tuple[list[str], list[str]]:
    waiting: list[str] = []
    faults: list[str] = []
    for block in blocks:
        if not is_object(block) or block.get("type") != "tool_use":
            continue
        id_, name = block.get("id"), block.get("name")
        if type(id_) is not str or not _ID.fullmatch(id_):
            faults.append(f"call id {shown(id_)} has other characters than letters, digits, _ and -")
            continue
        if id_ in seen:
            faults.append(f"two calls have the id {shown(id_)}")
        seen.add(id_)
        waiting.append(id_)
        if type(name) is not str or is_blank(name) or not is_object(block.get("input")):
            faults.append(f"call {shown(id_)} needs a name and an object as its input")
    if blocks and is_object(blocks[-1]) and blocks[-1].get("type") in _THINKING:
        faults.append("ends with thinking")
    return waiting, faults


def _block(block: Any, role: str) -> list[str]:
    kind = block.get("type") if is_object(block) else None
    if type(kind) is not str:
        return ["a block has no type"]
    if kind == "text":
        text = block.get("text")
        return [] if type(text) is str and text.strip() and not is_blank(text) else ["a text is empty"]
    if role == "system":
        return ["only text may stand here"]
    if kind in _THINKING:
        key = "signature" if kind == "thinking" else "data"
        signed = role == "assistant" and type(block.get(key)) is str and block[key]
        return [] if signed else ["thinking is not signed, or not the assistant's"]
    if role == "assistant":
        return [f"an assistant sends no {kind}"] if kind in ("image", "document", "tool_result") else []
    if kind == "tool_use":
        return ["only an assistant calls tools"]
    return _result(block) if kind == "tool_result" else []


def _result(block: dict[str, Any]) -> list[str]:
    content = block.get("content")
    if content is None or type(content) is str:
        return ["an error needs a content"] if block.get("is_error") is True and not content else []
    if type(content) is not list:
        return ["a result's content is neither text nor blocks"]
    return [fault for inner in content for fault in _block(inner, "user")]
