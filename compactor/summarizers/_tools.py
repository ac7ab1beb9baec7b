"""What a tool call did, read from the names of its arguments: no list of tools is kept anywhere.

A path makes a file operation, a command a run; the words in the tool's name say whether a file was read or changed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import attrs

from ._lines import clean, shorten
from ._words import word_set

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH_MAX: Final = 240
COMMAND_MAX: Final = 160
LINE_MAX: Final = 160
"""What is kept of an outcome or an error: its one significant line."""
WINDOW: Final = 2_000
"""How much of the head and of the tail of a result is looked at: outcomes stand at the ends, and results may be huge."""

_PATHS: Final = frozenset(("path", "filepath", "filename", "file", "targetfile", "absolutepath", "notebookpath", "relativepath"))
_PATH_LISTS: Final = frozenset(("paths", "files", "filepaths"))
_COMMANDS: Final = frozenset(("command", "cmd", "script", "commandline", "shellcommand"))
_BODIES: Final = frozenset(
    ("content", "contents", "newstring", "newtext", "newstr", "filetext", "edits", "patch", "diff", "replacement")
)
_WRITES: Final = word_set(
    "write edit create replace insert update append save modify patch apply multiedit overwrite put str_replace"
)
_DELETES: Final = frozenset(("delete", "remove", "rm", "unlink", "trash"))
_SEARCHES: Final = frozenset(("grep", "glob", "find", "search", "ls", "list", "tree", "rg", "dir", "directory"))
_READS: Final = frozenset(("read", "view", "open", "cat", "get", "load", "show", "fetch"))
_VERBS: Final = _WRITES | _DELETES | _READS
_NAME_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PATCHED: Final = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.{1,240})$", re.MULTILINE)
_PATCH_STATES: Final = {"Add": "modified", "Update": "modified", "Delete": "deleted"}
_SHELLS: Final = frozenset(("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "powershell", "cmd"))


@attrs.frozen
class Deed:
    """What a call set out to do: files with their new state, and a command; *source* names it in one phrase."""

    source: str
    files: tuple[tuple[str, str], ...] = ()
    command: str = ""


def read_call(name: str, arguments: Mapping[str, Any]) -> Deed:
    """Say what a call does, from its arguments and the words in its name."""
    words = frozenset([part.lower() for part in _NAME_PART.findall(name[:80])])
    paths: list[str] = []
    command = ""
    has_body = False
    patched: list[tuple[str, str]] = []
    for raw, value in arguments.items():
        key = raw.replace("_", "").replace("-", "").lower() if len(raw) <= 32 else ""
        if key in _PATHS and type(value) is str:
            paths.append(value)
        elif key in _PATH_LISTS and isinstance(value, list | tuple):
            paths += [item for item in value[:16] if type(item) is str]
        elif key in _COMMANDS:
            command = _command(value) or command
        has_body = has_body or key in _BODIES
        if type(value) is str and "*** " in value[:WINDOW]:
            found = _PATCHED.findall(value[: 8 * WINDOW])
            patched += [(path, _PATCH_STATES[verb]) for verb, path in found[:32]]
    if paths and command in _VERBS:
        # Editors that take their verb as an argument: the "command" is view or insert, not a program.
        words, command = frozenset((command,)), ""
    files = [(path, state) for raw, state in patched if (path := _path(raw))]
    # A tool named "update_plan" with a command runs it; a path beside a command is where it runs.
    if not command and words.isdisjoint(_SEARCHES):
        state = "deleted" if words & _DELETES else "modified" if words & _WRITES or has_body else "read"
        files += [(path, state) for path in map(_path, paths) if path]
    if command:
        return Deed(command, tuple(files), command)
    label = shorten(clean(name[:120]), 40).replace("→", "->")
    place = files[0][0].replace("→", "->") if files else ""
    return Deed(f"{label} {place}".strip() or "tool", tuple(files))


def _path(value: str) -> str:
    """A path on one line; one that is too long to be shown whole is left out, for half a path is a wrong path."""
    path = clean(value[: PATH_MAX + 1])
    return path if len(path) <= PATH_MAX else ""


def _command(value: object) -> str:
    """A command as one short line. Of ``["bash", "-lc", "make"]`` only what the shell runs is kept."""
    if isinstance(value, list | tuple):
        parts = [item for item in value[:64] if type(item) is str]
        if len(parts) > 2 and parts[0] in _SHELLS and parts[1].startswith("-"):
            parts = parts[2:]
        value = " ".join(parts)
    if type(value) is not str:
        return ""
    head = value[: 4 * COMMAND_MAX].strip()
    first, _, more = head.partition("\n")
    text = clean(first).replace("→", "->")
    return shorten(f"{text} {'…' if more.strip() else ''}".rstrip(), COMMAND_MAX)


# ------------------------------------------------------------------------------------------------------- outcomes

_EXIT: Final = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?:[ _-]?(?:code|status))?|return ?code|process exited with code)[\"']?\s?[:=]?\s?(\d{1,5})\b",
    re.IGNORECASE,
)
_FAILURE: Final = re.compile(
    r"^(?:Traceback \(most recent call last\)|(?:[\w.]{1,80})?(?:Error|Exception|Panic|Failure)\b.{0,4}:|E   |fatal: |panic: |error(?:\[\w{1,12}\])?: "
    r"|npm ERR!|FAILED |FAIL[: ]|BUILD FAILED|make: \*\*\*|Segmentation fault|Killed\b)"
    r"|: (?:fatal )?error(?: \w{1,12})?: |: command not found|: No such file or directory|Permission denied",
    re.MULTILINE,
)
_LOOKS: Final = frozenset(
    ("grep", "rg", "cat", "sed", "awk", "head", "tail", "ls", "find", "less", "echo", "wc", "tree", "diff", "fd")
)
_CHATTER: Final = re.compile(r"^(?:\s*$|[-=_*~.\s]+$|Traceback |\s+File \"|\s+at |The above exception|During handling)")
ROLE_MARK: Final = re.compile(
    r"^[ \t>*#\-]{0,8}[\[<(*{|]{0,4}(?:system|user|human|developer|assistant|администратор|система|пользователь|系统|系統|用户|用戶|システム|ユーザー|시스템|사용자)"
    r"(?:[ _-](?:message|prompt|reminder|instructions?|note|notice|turn|override|info))?[\]>)*}|]{0,4}\s?[:：>\]|]",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that imitates another speaker: what follows it is quoted speech, not a statement of who wrote the message."""


def ends(text: str) -> str:
    """The head and the tail of a long text, with a line break between; a short one as it is."""
    return text if len(text) <= 2 * WINDOW else f"{text[:WINDOW]}\n{text[-WINDOW:]}"


def own_words(text: str) -> str:
    """A text up to the first line that imitates another speaker."""
    mark = ROLE_MARK.search(text)
    return text[: mark.start()] if mark else text


@attrs.frozen
class Outcome:
    """How a call ended: whether it failed, in which words, and its significant line."""

    failed: bool
    code: str
    line: str

    @property
    def text(self) -> str:
        """For a line of the digest."""
        state = ("failed" if self.failed else "ok") + (f" (exit {self.code})" if self.code else "")
        return f"{state}: {self.line}" if self.line else f"{state}, no output"


def read_outcome(text: str, *, is_error: bool, command: str) -> Outcome:
    """Judge the result of a call by its ends; a command that only shows files may well show errors without failing."""
    seen = ends(text)
    code = ""
    failure = None
    if command:
        found = _EXIT.search(seen[:400]) or _EXIT.search(seen[-400:])
        code = found[1] if found else ""
        shows = command.split(" ", 1)[0] in _LOOKS or command.startswith(("git log", "git diff", "git show"))
        if not shows and code != "0":
            failure = _FAILURE.search(seen)
    failed = is_error or failure is not None or code not in ("", "0")
    lines = seen.split("\n")
    return Outcome(failed, code, _significant(lines, failed=failed))


def _significant(lines: list[str], *, failed: bool) -> str:
    """The line that says it: the last one that names an error, or else the last one that says anything."""
    last = ""
    for line in reversed(lines):
        if _CHATTER.match(line[:200]) or ROLE_MARK.match(line[:80]) or (_EXIT.search(line[:80]) and len(line) < 48):
            continue
        if not failed or _FAILURE.search(line[:400]):
            return _shown(line)
        last = last or line
    return _shown(last)


def _shown(line: str) -> str:
    return shorten(clean(line[: 4 * LINE_MAX]), LINE_MAX).replace("→", "->")
