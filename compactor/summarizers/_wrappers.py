"""What a harness wraps around or puts into user messages, and what of it the user said.

Reminders, environment descriptions, command output and notices stand in user messages because the APIs have no other
place for them. They are not the user's words, and nothing in them is a goal or a rule.
"""

from __future__ import annotations

import re
from typing import Final

from ._words import word_set

_TAG: Final = re.compile(r"<([A-Za-z][\w-]{2,40})(?: [^<>\n]{0,200})?>")
_HARNESS: Final = word_set(
    "system reminder environment context instructions instruction command caveat stdout stderr notification hook ide tool attached "
    "attachment selection opened info details metadata memory workspace skill skills permissions turn aborted interrupted recap event"
)
_SPOKEN: Final = word_set("query request message user_query question prompt task args")
_NOTICES: Final = ("[request interrupted", "[system notification", "caveat: the messages below")
TAGS_MAX: Final = 64


def own_text(text: str) -> str:
    """A user message without what the harness put into it."""
    if text[:40].lstrip().lower().startswith(_NOTICES):
        return ""
    if "<" not in text:
        return text
    kept: list[str] = []
    at = 0
    for _ in range(TAGS_MAX):
        tag = _TAG.search(text, at)
        if tag is None:
            break
        words = frozenset(tag[1].lower().replace("-", "_").split("_"))
        if (
            not words & _HARNESS
            or words & _SPOKEN
            or not ("-" in tag[1] or "_" in tag[1] or tag[1].isupper() or tag[1] in _HARNESS)
        ):
            kept.append(text[at : tag.end()] if not words & _SPOKEN else text[at : tag.start()])
            at = tag.end()
            continue
        kept.append(text[at : tag.start()])
        closing = text.find(f"</{tag[1]}>", tag.end())
        # A wrapper that was never closed lasts to the end: better silent than obeyed.
        at = len(text) if closing < 0 else closing + len(tag[1]) + 3
    kept.append(text[at:])
    return "".join(kept).strip()
