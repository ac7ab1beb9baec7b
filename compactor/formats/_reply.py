"""What every live format shares: what a provider's SDK returned becomes plain data that nouns can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactor.errors import CompactionError, ErrorCode, kind_name
from compactor.messages import AssistantMessage
from compactor.plain import JsonObject, is_object, thaw

if TYPE_CHECKING:
    from collections.abc import Callable


def dumped(value: object) -> Any:
    """Plain data as it is; an SDK's object as the dict that its ``model_dump`` gives."""
    if type(value) in (dict, JsonObject, list, tuple, str):
        return value
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        raise wrong(f"needs a message, got {kind_name(value)}")
    try:
        try:
            found = dump(mode="json")
        except TypeError:
            found = dump()
    except Exception as error:
        raise wrong(f"{kind_name(value)}.model_dump() raised {kind_name(error)}") from error
    if not is_object(found):
        raise wrong(f"{kind_name(value)}.model_dump() gave {kind_name(found)}, no dict with text keys")
    return found


def each(value: object, read: Callable[[Any, Callable[[str], str]], list[Any]], tool_name: Callable[[str], str]) -> list[Any]:
    """Read one thing that an agent's loop holds, or each of a list of them; results in it may answer calls in it."""
    known: dict[str, str] = {}

    def named(call: str) -> str:
        # Never empty: the writer then refuses a result that nobody waits for as just that.
        return known.get(call) or tool_name(call) or "unknown"

    def walk(item: object) -> list[Any]:
        given = dumped(item)
        if type(given) is list or type(given) is tuple:
            return [message for inner in given for message in walk(inner)]
        if not is_object(given):
            raise wrong(f"needs a message, got {kind_name(given)}")
        found = read(given, named)
        for message in found:
            if type(message) is AssistantMessage:
                known.update({call.id: call.name for call in message.tool_calls})
        return found

    return walk(value)


def wrong(what: str, fix: str = "pass what the provider's SDK returned, or a message that it takes") -> CompactionError:
    """An error of what a loop appends."""
    return CompactionError(ErrorCode.FORMAT_INVALID, what, where="append", fix=fix)


def no_system(role: object) -> CompactionError:
    """System text is pinned, not appended."""
    return wrong(f"a {role} message is no part of the conversation", "pin its text with session.pin(...)")


def pruned(value: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that an SDK fills with None; what is inside them stays as it is."""
    return {key: item for key, item in value.items() if item is not None}


def reported(given: dict[str, Any], stop: object, provider: str) -> dict[str, Any]:
    """What a reply says about itself, for the message's metadata."""
    found = {"provider": provider, "responseId": given.get("id"), "model": given.get("model"), "stopReason": stop}
    usage = given.get("usage")
    found["usage"] = thaw(usage) if is_object(usage) else None
    return pruned(found)
