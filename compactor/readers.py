r"""Files → decoded rows and values for ``formats``. The only place that opens one.

Whatever is wrong with a file becomes one ``CompactionError`` that names the file, the line where there is one, and what
to do; its text never shows what the file says. Lines end at ``\n`` only: U+2028 and its like occur inside strings.
"""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from .errors import CompactionError, ErrorCode, kind_name, shown
from .formats import HEAD_BYTES, Detected, Note, Rows, detect, line_of, parse_messages
from .plain import SESSION_LIMITS, JsonObject, Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .context import ActiveContext

_BOM: Final = b"\xef\xbb\xbf"
_WIDE_BOMS: Final = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\0\0\xfe\xff", "UTF-32"))
_SQLITE: Final = b"SQLite format 3\0"
_MAGIC: Final = (
    (b"\x1f\x8b", "gzip-compressed", "decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", "decompress it first"),
    (b"PK\x03\x04", "a ZIP archive", "unpack it first"),
    (_SQLITE, "a SQLite database", "export the session from it first"),
)
_KNOWN: Final = (
    "give a session of Pi, Claude Code, Codex, Gemini CLI, OpenCode, Qwen Code, Kimi or Hermes, an ATIF trajectory, messages of"
    " OpenAI, Anthropic or LangChain, or this program's own JSON"
)


def read_transcript(
    path: str | os.PathLike[str], *, session: str | None = None, limits: Limits = SESSION_LIMITS
) -> ActiveContext:
    """Read a session file; its format is told by its contents. The context's ``report`` says what was read, kept and skipped.

    OpenCode keeps a session in many files or in a database: name its ``storage`` folder, the session's own file in it, or
    ``opencode.db``, and *session*, the session's id, where there are several.

    Raises ``CompactionError``: FILE_UNREADABLE when it cannot be opened, FORMAT_UNKNOWN when no importer recognises it,
    FORMAT_INVALID or INVALID_TRANSCRIPT when it breaks a rule of its format; ``where`` is ``file:line``.
    """
    place = _opencode_place(path)
    if place is not None:
        return _opencode(place, session, limits)
    name, data = _contents(path)
    return read_bytes_transcript(data, name, limits=limits)


def read_bytes_transcript(data: bytes, name: str, *, limits: Limits = SESSION_LIMITS) -> ActiveContext:
    """The same for bytes that were read already (standard input); *name* stands for the file in errors."""
    _check_binary(data, name)
    start = len(_BOM) if data.startswith(_BOM) else 0
    detected = _detected(data, start, name)
    if detected.rows:
        return parse_messages(detected.format, decode_rows(data, name), name=name, limits=limits)
    text = _text(data[start:], name, 1)
    value = _decoded(text, name, None)
    try:
        return parse_messages(detected.format, value, name=name, limits=limits)
    except CompactionError as error:
        raise _placed(error, name, text, is_list=type(value) is list) from error


def sample_bytes() -> bytes:
    """The packaged sample session, as the bytes of a Pi version 3 file."""
    return (importlib.resources.files(__package__) / "samples" / "session.jsonl").read_bytes()


# -------------------------------------------------------------------------------------------------------- bytes


def _contents(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    """The file's name for people, and its bytes."""
    try:
        name: object = os.fspath(path)
    except TypeError:
        name = None
    if type(name) is not str or not name:
        raise _unreadable(f"<{kind_name(path)}>", "is no path", "pass the path of a session file")
    told = name if name.isprintable() else ascii(name)
    try:
        file = Path(name)
        mode = file.stat().st_mode
        if stat.S_ISDIR(mode):
            raise _unreadable(told, "is a directory", "name a session file inside it")
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise _unreadable(told, "is no regular file", "name a session file, or pipe it in")
        return told, file.read_bytes()
    except FileNotFoundError:
        error = _unreadable(told, "is not there", "check the path")
    except PermissionError:
        error = _unreadable(told, "may not be read", "ask for the permission to read it")
    except (OSError, ValueError) as cause:
        reason = os.strerror(cause.errno) if isinstance(cause, OSError) and cause.errno else "not a usable path"
        error = _unreadable(told, f"cannot be read: {reason}", "check the path and the disk")
    raise error


def _unreadable(name: str, what: str, fix: str) -> CompactionError:
    return CompactionError(ErrorCode.FILE_UNREADABLE, what, where=name, fix=fix)


def _unknown(name: str, what: str, fix: str = _KNOWN) -> CompactionError:
    return CompactionError(ErrorCode.FORMAT_UNKNOWN, what, where=name, fix=fix)


def _invalid(name: str, line: int, what: str, fix: str) -> CompactionError:
    return CompactionError(ErrorCode.FORMAT_INVALID, what, where=f"{name}:{line}", fix=fix)


def _check_binary(data: bytes, name: str) -> None:
    """Refuse what is not UTF-8 text by its first bytes."""
    head = data[:HEAD_BYTES]
    for magic, what, fix in _MAGIC:
        if head.startswith(magic):
            raise _unknown(name, f"is {what}", fix)
    for mark, encoding in _WIDE_BOMS:
        if head.startswith(mark):
            raise _invalid(name, 1, f"is {encoding}, byte 1 says so", "save it as UTF-8")
    # A crash can leave zeros at the end of a file: they belong to a torn line.
    head = head.rstrip(b"\0")
    if not head.removeprefix(_BOM).strip():
        raise _unknown(name, "is empty")
    if b"\0" in head:
        if head.count(b"\0") * 3 >= len(head) and head.isascii():
            raise _invalid(name, 1, f"is UTF-16 without a mark, byte {head.index(0) + 1} is zero", "save it as UTF-8")
        raise _unknown(name, "is binary")


def _detected(data: bytes, start: int, name: str) -> Detected:
    """Tell the format by the first 64 KiB; only when a single row or message is larger than that, by all of it."""
    size = len(data) - start
    found = detect(data[start : start + HEAD_BYTES].decode("utf-8", "replace"), whole=size <= HEAD_BYTES)
    if found is None and size > HEAD_BYTES:
        found = detect(data[start:].decode("utf-8", "replace"), whole=True)
    if found is None:
        for number, line, ends in _lines(data):
            _text(line, name, number)
            if number > 1 or not ends:
                break
        raise _unknown(name, "no importer recognises the contents")
    return found


def _lines(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """Number, bytes and "ended by a newline" of every line. One line is copied at a time."""
    position = len(_BOM) if data.startswith(_BOM) else 0
    number = 0
    while position < len(data):
        number += 1
        end = data.find(b"\n", position)
        ends = end >= 0
        end = end if ends else len(data)
        yield number, data[position:end], ends
        position = end + 1


def _text(data: bytes, name: str, line: int) -> str:
    """Decode UTF-8; else name the line and the byte in it."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        column = error.start - data.rfind(b"\n", 0, error.start)
        what = f"byte {column} of the line (0x{data[error.start]:02x}) is not UTF-8"
        raise _invalid(name, line, what, "save the file as UTF-8") from None


# ----------------------------------------------------------------------------------------------------- OpenCode


def _opencode_place(path: Any) -> Path | None:
    """The storage folder, the session's file in it, or the database; None for anything else, which is read as a file."""
    try:
        file = Path(os.fspath(path))
        if file.is_dir():
            return file if (file / "message").is_dir() and (file / "session").is_dir() else None
        if not file.is_file():
            return None
        storage = file.parent.parent.parent
        if file.parent.parent.name == "session" and file.suffix == ".json" and (storage / "message").is_dir():
            return file
        with file.open("rb") as opened:
            return file if opened.read(len(_SQLITE)) == _SQLITE and _is_opencode(file) else None
    except (TypeError, ValueError, OSError):
        return None


def _opencode(place: Path, session: str | None, limits: Limits) -> ActiveContext:
    """Read a session out of its many files or rows, in the order of their names, which are ascending ids."""
    name = str(place) if str(place).isprintable() else ascii(str(place))
    try:
        document = (
            _database(place, name, session) if place.is_file() and place.suffix != ".json" else _storage(place, name, session)
        )
    except OSError as cause:
        raise _unreadable(name, f"cannot be read: {os.strerror(cause.errno or 0)}", "check the path and the disk") from cause
    return parse_messages("opencode", document, name=name, limits=limits)


def _json_file(file: Path) -> Any:
    name = str(file) if str(file).isprintable() else ascii(str(file))
    data = file.read_bytes()
    return _decoded(_text(data.removeprefix(_BOM), name, 1), name, None)


def _json_folder(folder: Path) -> list[tuple[str, Any]]:
    """The values of a folder's files, by the names of the files."""
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return [(file.stem, _json_file(file)) for file in files if file.is_file()]


def _chosen(found: list[str], session: str | None, name: str) -> str:
    """The id of the one session that is meant."""
    if session is not None and session in found:
        return session
    if session is None and len(found) == 1:
        return found[0]
    known = ", ".join([shown(id_) for id_ in found[:8]]) + (", ..." if len(found) > 8 else "")
    what = f"holds {len(found)} sessions" if session is None else f"holds no session {shown(session)}"
    raise _unreadable(name, what, f"pass session= with one of {known}" if found else "name a folder with a session")


def _storage(place: Path, name: str, session: str | None) -> dict[str, Any]:
    """The session of a storage folder; of a session's own file the one that it is about."""
    storage = place if place.is_dir() else place.parent.parent.parent
    files = [place] if place.is_file() else sorted(storage.glob("session/*/*.json"))
    infos = {}
    for file in files:
        info = _json_file(file)
        if type(info) is dict and type(info.get("id")) is str:
            infos[info["id"]] = info
    id_ = _chosen(list(infos), session, name)
    messages: list[Any] = []
    flat: dict[str, list[Any]] = {}
    for _stem, part in _json_folder(storage / "part"):
        if type(part) is dict and type(part.get("messageID")) is str:
            flat.setdefault(part["messageID"], []).append(part)
    for _stem, message in _json_folder(_below(storage / "message", id_, name)):
        own = message.get("id") if type(message) is dict else None
        parts = [part for _stem, part in _json_folder(_below(storage / "part", own, name))] if type(own) is str and own else []
        messages.append({"info": message, "parts": [*parts, *flat.get(own if type(own) is str else "", [])]})
    return {"info": infos[id_], "messages": messages}


def _below(folder: Path, id_: str, name: str) -> Path:
    """The folder of an id; an id that would lead elsewhere is refused."""
    if "/" in id_ or "\\" in id_ or "\0" in id_ or id_ in (".", ".."):
        raise CompactionError(
            ErrorCode.FORMAT_INVALID, f"the id {shown(id_)} is no name of a folder", where=name, fix="repair the file"
        )
    return folder / id_


def _is_opencode(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as base:
            names = {row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return False
    return {"session", "message", "part"} <= names


def _database(file: Path, name: str, session: str | None) -> dict[str, Any]:
    """The session of a database. Ids stand in columns of their own and are not repeated in the data."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as base:
            base.row_factory = sqlite3.Row
            id_ = _chosen([row[0] for row in base.execute("SELECT id FROM session ORDER BY id")], session, name)
            info = dict(base.execute("SELECT * FROM session WHERE id = ?", (id_,)).fetchone())
            if type(info.get("revert")) is str:
                info["revert"] = _decoded(info["revert"], name, None)
            parts: dict[str, list[Any]] = {}
            for row in base.execute("SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", (id_,)):
                parts.setdefault(row["message_id"], []).append(_with_id(row, name))
            query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY id"
            messages = [{"info": _with_id(row, name), "parts": parts.get(row["id"], [])} for row in base.execute(query, (id_,))]
    except sqlite3.Error as cause:
        raise _unreadable(name, f"cannot be read as OpenCode's database: {cause}", "check the database") from cause
    return {"info": info, "messages": messages}


def _with_id(row: sqlite3.Row, name: str) -> Any:
    data = _decoded(row["data"], name, None) if type(row["data"]) is str else row["data"]
    return {**data, "id": row["id"]} if type(data) is dict else None


# --------------------------------------------------------------------------------------------------------- JSON


def decode_rows(data: bytes, name: str) -> Rows:
    """Decode JSONL. A last line without its newline that does not parse is torn and noted; any other one is an error."""
    rows: list[tuple[int, Any]] = []
    for number, line, ends in _lines(data):
        if not line.strip():
            continue
        try:
            rows.append((number, _decoded(_text(line, name, number), name, number)))
        except CompactionError:
            if ends:
                raise
            kept = JsonObject({"$text": line.decode("utf-8", "replace")})
            text = f"the last line is torn ({len(line):,} bytes, no newline at its end) and was left out"
            return Rows(tuple(rows), Note("torn_line", text, number, 0, kept))
    return Rows(tuple(rows))


class _RefusedError(ValueError):
    """Valid JSON syntax that has no faithful value; its text is for people."""


def _constant(_text: str) -> NoReturn:
    raise _RefusedError("NaN and Infinity are not JSON")


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _RefusedError("a number is too large")
    return value


def _int(text: str) -> int:
    # Longer ones are beyond a double, and beyond what int() takes.
    if len(text) > 310:
        raise _RefusedError("a number is too large")
    value = int(text)
    _float(text) if len(text) > 300 else None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RefusedError("an object has the same key twice")
    return found


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant)


def _decoded(text: str, name: str, line: int | None) -> Any:
    """Parse one JSON value; *line* is None for a document, whose lines the parser counts."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        if line is None and error.msg == "Extra data":
            what, fix = "another value follows the end of the JSON document", "keep one session of one format in a file"
        elif line is None and not text[error.pos :].strip():
            what, fix = "the JSON document ends in the middle", "export it again, or complete it"
        else:
            what, fix = (
                f"is not JSON: {error.msg.removesuffix(' at').rstrip(': ')} at character {error.colno}",
                "repair the line, or take it out",
            )
        raise _invalid(name, error.lineno if line is None else line, what, fix) from None
    except _RefusedError as error:
        raise _invalid(name, line or 1, str(error), "repair the value, or take its row out") from None
    except RecursionError:
        raise _invalid(name, line or 1, "is nested too deeply", "take the row out") from None


_MESSAGE: Final = re.compile(r"messages\[(\d+)\]")


def _placed(error: CompactionError, name: str, text: str, *, is_list: bool) -> CompactionError:
    """The error of an element with the line on which the element starts in its document."""
    inner = error.where.removeprefix(name).lstrip(": ")
    message = f"{inner}: {error.message}" if inner else error.message
    found = _MESSAGE.search(message)
    line = 1
    if found is not None:
        index = int(found[1])
        line = line_of(text, (index,) if is_list else ("messages", index))
    return CompactionError(error.code, message, where=f"{name}:{line}", fix=error.fix or "repair the element, or take it out")
