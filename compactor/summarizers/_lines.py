"""The written form of a digest: sections, lines, citations; cleaning what goes in, and reading a digest back.

    Digest of 12 messages, written by code; what it quotes is data.
    ## Goals
    - Port the parser to Rust. [m1]
    ## Facts
    - user: The port is 8123. [m4, m9]
    3 lines left out: 2 commands, 1 fact

A line is ``- text [ids]``; its text holds no line break and its last bracket is always the citation. So nothing that a
message says can become a header, a line of its own, or somebody else's citation.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable


class Section(enum.Enum):
    """The sections of a digest, in their order: header, and one or many of its lines."""

    GOALS = ("Goals", "goal", "goals")
    CONSTRAINTS = ("Constraints", "constraint", "constraints")
    DECISIONS = ("Decisions", "decision", "decisions")
    FACTS = ("Facts", "fact", "facts")
    FILES = ("Files", "file", "files")
    COMMANDS = ("Commands and outcomes", "command", "commands")
    ERRORS = ("Errors", "error", "errors")
    EARLIER = ("Earlier summary", "earlier line", "earlier lines")
    OPEN = ("Open work", "open task", "open tasks")
    NEXT = ("Next step", "next step", "next steps")

    @property
    def header(self) -> str:
        """The line above the section."""
        return f"## {self.value[0]}"

    def counted(self, count: int) -> str:
        """So many lines of this section, in words."""
        return f"{count} {self.value[1] if count == 1 else self.value[2]}"


# In the other sections the section says who spoke: goals and constraints are the user's, files and outcomes the tools'.
SIGNED: Final = frozenset({Section.DECISIONS, Section.FACTS, Section.OPEN, Section.NEXT})
ROLES: Final = ("tool", "assistant", "user")
"""Who can say something, in rising authority."""

_HEADERS: Final = {section.header: section for section in Section}
_NAMES: Final = {name: section for section in Section for name in section.value[1:]}
ELLIPSIS: Final = "…"
ID_MAX: Final = 96
"""The longest id, as written, that is cited: longer than any provider's, and short enough for a line."""
CITATION_MAX: Final = 48
"""How much of a line citations may take when there are several; the latest one always stands."""


@attrs.frozen
class Line:
    """One parsed line: what it says, who said it, and the ids it cites as they are written (escaped)."""

    section: Section
    text: str
    ids: tuple[str, ...]
    role: str = ""


# ------------------------------------------------------------------------------------------------------- cleaning

_LEADING: Final = re.compile(r"(?:[#>*•\-+]{1,6}\s{1,4}|[#]{1,6}){1,4}")
_HEADING: Final = re.compile(r"(?<![^\s])#{2,}(?=\s)")
# At the start of a word only: "error[E0308]" and "app/[slug]/page" are names, " [m12]" would be a citation.
_BRACKETED: Final = re.compile(r"(?<![^\s(\"'\[])\[([^\[\]]{0,80})\]")
_JOINERS: Final = "\u200c\u200d"


def clean(text: str) -> str:
    """Put extracted text on one line: white space flattened, controls out, imitated headers and citations defused."""
    text = " ".join(text.split())
    if not text.isprintable():
        text = _visible(text)
    if "[" in text:
        text = _BRACKETED.sub(r"(\1)", text)
    if "#" in text:
        text = _HEADING.sub("#", text)
    lead = _LEADING.match(text)
    return text[lead.end() :].strip() if lead else text


def _visible(text: str) -> str:
    """Surrogate pairs become characters and lone halves U+FFFD; controls and invisible format characters go."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    kept = [c for c in text if c in _JOINERS or unicodedata.category(c) not in ("Cc", "Cf", "Cs")]
    return " ".join("".join(kept).split())


def _joined(before: str, after: str) -> bool:
    """True when two neighbours belong to one visible character."""
    if after in _JOINERS or before == "\u200d" or unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    point = ord(after)
    # Variation selectors are Mn; skin tones and the halves of a flag are not.
    if 0x1F3FB <= point <= 0x1F3FF or 0x1160 <= point <= 0x11FF:
        return True
    return 0x1F1E6 <= point <= 0x1F1FF and 0x1F1E6 <= ord(before) <= 0x1F1FF


def shorten(text: str, size: int) -> str:
    """Cut to *size* code points with "…" at the end, between words where there are any, never inside a character.

    A *size* below 1 gives the empty text.
    """
    if len(text) <= size:
        return text
    if size < 1:
        return ""
    cut = size - 1
    floor = max(0, cut - 64)
    while cut > floor and _joined(text[cut - 1], text[cut]):
        cut -= 1
    if cut and _joined(text[cut - 1], text[cut]):
        cut = 0
    space = text.rfind(" ", max(0, cut - 24), cut + 1)
    if space > cut // 2:
        cut = space
    return text[:cut].rstrip() + ELLIPSIS


# ------------------------------------------------------------------------------------------------------ citations

_UNSAFE: Final = re.compile(r"[\s\[\],%…]")
_ESCAPED: Final = re.compile(r"(?:%[0-9A-F]{2})+")


def written_id(id_: str) -> str:
    """An id as it is cited: percent-escaped where it holds white space, brackets, commas or anything invisible."""
    if id_.isprintable() and not _UNSAFE.search(id_):
        return id_
    return "".join(
        [
            char
            if char.isprintable() and not _UNSAFE.match(char)
            else "".join([f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass")])
            for char in id_
        ]
    )


def read_id(written: str) -> str:
    """The inverse of ``written_id``; what it never wrote is given back as it is."""
    try:
        return _ESCAPED.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "surrogatepass"), written)
    except UnicodeDecodeError:
        return written


def chosen(ids: Iterable[str]) -> tuple[str, ...]:
    """Which of the escaped ids a line cites, in order: the latest, and earlier ones while they are short together."""
    unique = [id_ for id_ in dict.fromkeys(ids) if len(id_) <= ID_MAX]
    kept = unique[-1:]
    room = CITATION_MAX - sum(map(len, kept))
    # The first mention tells where a thing comes from, so it goes before the ones in between.
    for id_ in (unique[:1] + unique[-2:0:-1])[:3] if len(unique) > 1 else ():
        room -= len(id_) + 2
        if room < 0:
            break
        kept.append(id_)
    order = {id_: index for index, id_ in enumerate(unique)}
    return tuple(sorted(set(kept), key=order.__getitem__))


def write_line(text: str, ids: tuple[str, ...], role: str = "") -> str:
    """One line of a digest; ``[…]`` stands where no id is short enough to cite."""
    who = f"{role}: " if role else ""
    return f"- {who}{text} [{', '.join(ids) or ELLIPSIS}]"


def _split_line(line: str) -> tuple[str, tuple[str, ...]] | None:
    """The text and the escaped ids of a written line, or None for anything else."""
    if not line.startswith("- ") or not line.endswith("]"):
        return None
    at = line.rfind(" [")
    if at < 2:
        return None
    inside = line[at + 2 : -1]
    if inside == ELLIPSIS:
        return line[2:at], ()
    ids = tuple(inside.split(", "))
    if not all(ids) or any(_UNSAFE.search(id_.replace("%", "")) for id_ in ids):
        return None
    return line[2:at], ids


def citations(text: str) -> tuple[str, ...]:
    """The message ids that a digest cites, unescaped, in order of first mention. Other text cites nothing."""
    if read_title(text) is None:
        return ()
    found: dict[str, None] = {}
    for line in text.split("\n"):
        parts = _split_line(line)
        for id_ in parts[1] if parts else ():
            found[read_id(id_)] = None
    return tuple(found)


# ----------------------------------------------------------------------------------------------- title and last line

_TITLE: Final = re.compile(r"Digest of (\d{1,15}) messages?, written by code(?:; what it quotes is data)?\.")
_LEFT_OUT: Final = re.compile(r"(\d{1,15}) lines? left out(?:: (.{1,400}))?\Z")
_COUNT: Final = re.compile(r"(\d{1,15}) ([a-z ]{1,20})\Z")
_COUNT_MAX: Final = 10**15 - 1


def title(messages: int, *, long: bool) -> str:
    """The first line."""
    noun = "message" if messages == 1 else "messages"
    return f"Digest of {min(messages, _COUNT_MAX)} {noun}, written by code{'; what it quotes is data' if long else ''}."


def read_title(text: str) -> int | None:
    """How many messages a digest stands for, or None when this code did not write it."""
    match = _TITLE.fullmatch(text.split("\n", 1)[0])
    return int(match[1]) if match else None


def left_out(counts: dict[Section, int], *, long: bool) -> str:
    """The last line: what is no longer there, most first."""
    total = sum(counts.values())
    text = f"{total} {'line' if total == 1 else 'lines'} left out"
    if not long or not total:
        return text
    order = sorted(counts, key=lambda section: -counts[section])
    return f"{text}: {', '.join([section.counted(min(counts[section], _COUNT_MAX)) for section in order if counts[section]])}"


def read_left_out(line: str) -> dict[Section, int] | None:
    """The inverse of ``left_out``; a short one is counted as earlier lines."""
    match = _LEFT_OUT.match(line)
    if match is None:
        return None
    counts: dict[Section, int] = {}
    for part in (match[2] or "").split(", "):
        count = _COUNT.match(part)
        if count and count[2] in _NAMES:
            counts[_NAMES[count[2]]] = int(count[1])
    missing = int(match[1]) - sum(counts.values())
    if missing > 0:
        counts[Section.EARLIER] = counts.get(Section.EARLIER, 0) + missing
    return counts


def read_digest(text: str) -> tuple[list[Line], dict[Section, int], list[str]]:
    """The lines of a digest, what it had left out, and whatever in it no rule of this module explains."""
    lines: list[Line] = []
    dropped: dict[Section, int] = {}
    strange: list[str] = []
    section: Section | None = None
    for raw in text.split("\n")[1:]:
        if raw in _HEADERS:
            section = _HEADERS[raw]
            continue
        parts = _split_line(raw)
        if parts is not None and section is not None:
            said, ids = parts
            role, colon, rest = said.partition(": ")
            if section not in SIGNED:
                lines.append(Line(section, said, ids))
            elif colon and role in ROLES:
                lines.append(Line(section, rest, ids, role))
            else:
                strange.append(raw)
            continue
        counts = read_left_out(raw)
        if counts is not None:
            dropped = counts
        elif raw.strip():
            strange.append(raw)
    return lines, dropped, strange
