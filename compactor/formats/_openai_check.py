"""The rules that an OpenAI chat endpoint enforces on a list of messages. Works on any data and never raises."""

from __future__ import annotations

from typing import Any

from compactor.errors import shown
from compactor.plain import is_blank, is_object

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def check_openai_chat(messages: object) -> tuple[str, ...]:
    """List what an endpoint would refuse; empty means valid.

    Every batch of tool calls is directly followed by exactly its tool messages, in any order; no tool message stands
    anywhere else; ids are distinct within a batch; system text is not blank, a list of parts is not empty, and an
    assistant says, refuses or calls something.
    """
    if type(messages) is not list and type(messages) is not tuple:
        return ("the messages are no list",)
    faults: list[str] = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        role = message.get("role") if is_object(message) else None
        if type(role) is not str or role not in _ROLES:
            faults.append(f"{where}: needs an object with a role")
            continue
        if role == "tool":
            call_id = message.get("tool_call_id")
            if type(call_id) is str and call_id in waiting:
                waiting.remove(call_id)
            else:
                faults.append(f"{where}: no call directly before it waits for result {shown(call_id)}")
        elif waiting:
            faults.append(f"{where}: call {shown(waiting[0])} must be answered before this message")
            waiting = []
        faults += [f"{where}: {fault}" for fault in _content(role, message)]
        if role == "assistant":
            waiting, found = _calls(message.get("tool_calls"))
            faults += [f"{where}: {fault}" for fault in found]
    if waiting:
        faults.append(f"messages: call {shown(waiting[0])} is never answered")
    return tuple(faults)


def _content(role: str, message: Any) -> list[str]:
    content = message.get("content")
    if type(content) is list:
        if not content:
            return ["the list of parts is empty"]
        return [] if all(is_object(part) and type(part.get("type")) is str for part in content) else ["a part has no type"]
    if role == "assistant":
        if content is None or content == "":
            return [] if message.get("tool_calls") or message.get("refusal") else ["says and calls nothing"]
    elif role in ("system", "developer") and type(content) is str and is_blank(content):
        return ["the text is blank"]
    return [] if type(content) is str else ["the content is neither text nor parts"]


def _calls(calls: Any) -> tuple[list[str], list[str]]:
    """The ids that wait for a tool message, and what is wrong with the calls."""
    if calls is None:
        return [], []
    if type(calls) is not list or not calls:
        return [], ["tool_calls is no list of calls; leave it out"]
    ids: list[str] = []
    faults: list[str] = []
    for call in calls:
        id_ = call.get("id") if is_object(call) else None
        if type(id_) is not str or not id_:
            faults.append("a call has no id")
            continue
        if id_ in ids:
            faults.append(f"two calls have the id {shown(id_)}")
        ids.append(id_)
        inner: Any = call.get(call["type"]) if call.get("type") in ("function", "custom") else None
        text = inner.get("arguments" if call["type"] == "function" else "input") if is_object(inner) else None
        name = inner.get("name") if is_object(inner) else None
        if type(text) is not str or type(name) is not str or is_blank(name):
            faults.append(f"call {shown(id_)} needs a name and its arguments as text")
    return ids, faults
