"""Files become contexts or one clear error: encodings, torn lines, mixed formats, and everything a fuzzer thinks of."""

import json
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from compactor.context import ActiveContext
from compactor.errors import CompactionError, ErrorCode
from compactor.formats import check_openai_chat, detect, line_of, render_messages
from compactor.plain import Limits
from compactor.readers import decode_rows, read_bytes_transcript, read_transcript, sample_bytes
from compactor.transcript import validate_transcript

ALLOWED = {
    ErrorCode.FORMAT_UNKNOWN,
    ErrorCode.FORMAT_INVALID,
    ErrorCode.FILE_UNREADABLE,
    ErrorCode.INVALID_TRANSCRIPT,
}
SECRET = "hunter2-secret-contents"


def line(**row):
    return json.dumps(row).encode() + b"\n"


HEADER = line(type="session", version=3, id="s", timestamp="2026-01-01T00:00:00Z", cwd="/w")


def entry(id_, parent, message):
    return line(type="message", id=id_, parentId=parent, timestamp="2026-01-01T00:00:01Z", message=message)


def said(id_, parent, text=SECRET):
    return entry(id_, parent, {"role": "user", "content": text})


SMALL = HEADER + said("a", None) + said("b", "a")
OPENAI = json.dumps(
    {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": SECRET},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        ]
    },
    indent=1,
).encode()
OURS = render_messages("compactor", read_bytes_transcript(SMALL, "small")).to_json(indent=1).encode()


def refused(data, name="f.jsonl"):
    with pytest.raises(CompactionError) as caught:
        read_bytes_transcript(data, name)
    error = caught.value
    assert error.code in ALLOWED
    assert error.where.startswith(name)
    assert error.fix
    assert "\n" not in str(error)
    assert SECRET not in str(error)
    return error


def checked(context):
    assert type(context) is ActiveContext
    report = context.report
    assert report.kept + report.skipped + report.torn == report.rows
    assert sum(note.rows for note in report.notes) == report.skipped
    assert validate_transcript(list(context.messages), live=True) == ()
    assert check_openai_chat(render_messages("openai-chat", context).data) == ()
    text = render_messages("compactor", context).to_json().encode()
    assert read_bytes_transcript(text, "again") == context
    return context


# ------------------------------------------------------------------------------------------------- opening files


def test_a_file_is_read_by_its_content_whatever_its_name_is(tmp_path):
    path = tmp_path / "session.docx"
    path.write_bytes(SMALL)
    assert read_transcript(path).report.format == "pi"
    assert read_transcript(str(path)).messages.ids == ("a", "b")
    path.write_bytes(OPENAI)
    assert read_transcript(path).report.format == "openai-chat"
    path.write_bytes(OURS)
    assert read_transcript(path).report.format == "compactor"


def test_a_missing_file_and_a_directory_are_named(tmp_path):
    for path, what in ((tmp_path / "no.jsonl", "is not there"), (tmp_path, "is a directory"), ("/dev/null", "no regular file")):
        with pytest.raises(CompactionError, match=what) as caught:
            read_transcript(path)
        assert caught.value.code is ErrorCode.FILE_UNREADABLE
        assert caught.value.where == str(path)
        assert caught.value.fix


@pytest.mark.parametrize("path", ["", "a\0b", b"bytes", 7, None, "x" * 5000, "line\nbreak"])
def test_what_is_no_path_is_file_unreadable(path):
    with pytest.raises(CompactionError) as caught:
        read_transcript(path)
    assert caught.value.code is ErrorCode.FILE_UNREADABLE
    assert "\n" not in str(caught.value)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    path = tmp_path / "f.jsonl"
    path.write_bytes(SMALL)

    def refuse(self):
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(CompactionError, match="may not be read") as caught:
        read_transcript(path)
    assert caught.value.code is ErrorCode.FILE_UNREADABLE


def test_a_pipe_is_read(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, SMALL)
    os.close(writing)
    try:
        assert len(read_transcript(f"/dev/fd/{reading}").messages) == 2
    finally:
        os.close(reading)


# ------------------------------------------------------------------------------------------------------ bytes


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is empty"),
        (b" \r\n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\0\0\0", "is empty"),
        (b"\x1f\x8b\x08rest", "gzip"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
        (b"PK\x03\x04rest", "ZIP"),
        (b"SQLite format 3\0rest", "SQLite"),
        (b"\x7fELF\0\0\0\1\2\3" + bytes(range(256)), "binary"),
        (b"hello world\n", "no importer"),
        (b"{}", "no importer"),
        (b"[]", "no importer"),
        (b'"text"', "no importer"),
        (b'{"type":"user","uuid":"u"}\n{"type":"assistant","uuid":"v"}\n', "no importer"),
    ],
)
def test_what_nobody_recognises_is_format_unknown(data, what):
    error = refused(data)
    assert error.code is ErrorCode.FORMAT_UNKNOWN
    assert what in error.message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_named(encoding):
    error = refused(SMALL.decode().encode(encoding))
    assert error.where == "f.jsonl:1"
    assert "UTF-" in error.message
    assert "save it as UTF-8" in error.fix


def test_latin_1_names_line_and_byte():
    broken = HEADER + said("a", None, "x") + '{"type":"message","note":"é"}\n'.encode("latin-1") + said("b", "a")
    error = refused(broken)
    assert error.where == "f.jsonl:3"
    assert "byte 27 of the line (0xe9)" in error.message
    assert refused('{"messages":[\n{"role":"user","content":"é"}]}'.encode("latin-1")).where == "f.jsonl:2"


def test_a_byte_order_mark_crlf_blank_lines_and_line_separators_in_strings_are_accepted():
    odd = (
        HEADER
        + b"\n  \n"
        + json.dumps(
            {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "one\u2028two\u0085three"}},
            ensure_ascii=False,
        ).encode()
    )
    context = checked(read_bytes_transcript(b"\xef\xbb\xbf" + odd.replace(b"\n", b"\r\n"), "f"))
    assert context.messages[0].content == "one\u2028two\u0085three"
    assert context.report.rows == 2


def test_a_lone_surrogate_escape_is_kept():
    data = HEADER + b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"\\ud800"}}\n'
    context = checked(read_bytes_transcript(data, "f"))
    assert context.messages[0].content == "\ud800"
    render_messages("openai-chat", context).to_json().encode()


def test_a_torn_last_line_is_left_out_and_noted():
    context = checked(read_bytes_transcript(SMALL + said("c", "b")[:-30], "f"))
    assert context.messages.ids == ("a", "b")
    [note] = [note for note in context.report.notes if note.what == "torn_line"]
    assert (note.line, context.report.torn, context.report.rows) == (4, 1, 4)
    assert note.row["$text"].startswith('{"type": "message"')
    assert SECRET not in note.text
    assert SECRET not in repr(note)
    # A row is whole when it parses, newline or not; zeros are what a crash leaves.
    assert read_bytes_transcript(SMALL[:-1], "f").report.torn == 0
    assert read_bytes_transcript(SMALL + b"\0" * 64, "f").report.torn == 1
    assert read_bytes_transcript(SMALL + '{"a":"é'.encode()[:-1], "f").report.torn == 1


def test_a_broken_line_in_the_middle_is_named():
    error = refused(HEADER + said("a", None) + b'{"type": "message", "message": {"role' + b"\n" + said("b", "a"))
    assert error.where == "f.jsonl:3"
    assert refused(b"oops\n" + SMALL).code is ErrorCode.FORMAT_UNKNOWN
    assert refused(b"{oops\n" + SMALL).where == "f.jsonl:1"


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"1e999", "too large"),
        (b"-1e999", "too large"),
        (b"9" * 400, "too large"),
        (b"9" * 309, "too large"),
        (b"9" * 5000, "too large"),
        (b"NaN", "NaN"),
        (b"-Infinity", "NaN"),
        (b'{"a":1,"a":2}', "twice"),
        (b"[" * 100_000 + b"]" * 100_000, "nested"),
        (b"[" * 600 + b"]" * 600, "nesting"),
        (b'"\x01"', "Invalid control character"),
    ],
)
def test_a_value_without_a_faithful_reading_names_its_line(value, what):
    row = b'{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"x","extra":' + value + b"}}\n"
    error = refused(HEADER + said("a", None) + row + said("c", "b"))
    assert (error.code, error.where) == (ErrorCode.FORMAT_INVALID, "f.jsonl:3")
    assert what in error.message


def test_rows_that_are_no_objects_are_set_aside():
    context = checked(read_bytes_transcript(HEADER + b"7\n[1]\nnull\n" + said("a", None), "f"))
    notes = [note for note in context.report.notes if note.what == "row_not_object"]
    assert [note.line for note in notes] == [2, 3, 4]
    assert notes[0].row == {"$raw": 7}


@pytest.mark.parametrize(
    "data",
    [
        SMALL + line(role="user", content="x"),
        SMALL + line(messages=[{"role": "user", "content": "x"}]),
        SMALL + line(format="compactor", version=1),
        SMALL + line(type="response_item", payload={}),
    ],
)
def test_a_row_of_another_format_is_named(data):
    error = refused(data)
    assert (error.code, error.where) == (ErrorCode.FORMAT_INVALID, "f.jsonl:4")
    assert "another format" in error.message


def test_mixed_documents_are_named():
    assert refused(line(messages=[{"role": "user", "content": "x"}]) + SMALL).where == "f.jsonl:1"
    assert refused(OPENAI + b"\n" + OPENAI).where == "f.jsonl:32"
    late = [{"role": "user", "content": "x" * 70_000}, {"role": "toolResult", "content": "x"}]
    error = refused(json.dumps(late, indent=0).encode())
    assert (error.where, error.code) == ("f.jsonl:6", ErrorCode.FORMAT_INVALID)


def test_a_document_that_ends_in_the_middle_says_so():
    error = refused(OPENAI[:-20])
    assert error.code is ErrorCode.FORMAT_INVALID
    assert "not JSON" in error.message or "ends in the middle" in error.message
    assert "ends in the middle" in refused(OPENAI.rstrip(b"}\n ")).message


def test_an_element_of_a_document_is_found_by_line():
    broken = json.loads(OPENAI)
    broken["messages"][3] = {"role": "tool", "content": 7}
    data = json.dumps(broken, indent=1).encode()
    error = refused(data)
    assert data.split(b"\n")[int(error.where.split(":")[1]) - 1].strip() == b"{"
    assert error.where == "f.jsonl:25"
    ours = json.loads(OURS)
    ours["messages"][1]["id"] = " "
    error = refused(json.dumps(ours, indent=1).encode())
    assert (error.code, error.where) == (ErrorCode.INVALID_TRANSCRIPT, "f.jsonl:15")
    ours["messages"] = 7
    assert refused(json.dumps(ours).encode()).code is ErrorCode.INVALID_TRANSCRIPT
    ours["messages"], ours["requirements"] = [], [{"id": "r"}]
    assert refused(json.dumps(ours).encode()).code is ErrorCode.FORMAT_INVALID


def test_a_line_of_eight_megabytes_is_read_and_its_time_is_linear():
    # The 200 MB of the promise take the same path: one find, one decode, one parse for each line.
    big = HEADER + said("a", None, "x" * 8_000_000) + said("b", "a")
    assert len(read_bytes_transcript(big, "f").messages[0].content) == 8_000_000
    first = said("a", None, "x" * 200_000) + said("b", "a")
    assert read_bytes_transcript(first, "f").report.kept == 2
    late_type = json.dumps({"message": {"role": "user", "content": "x" * 200_000}, "type": "message"}).encode()
    assert read_bytes_transcript(late_type, "f").report.kept == 1
    late_role = json.dumps([{"content": "x" * 200_000, "role": "user"}]).encode()
    assert read_bytes_transcript(late_role, "f").report.kept == 1
    error = refused(HEADER + b'{"x":"' + b"x" * 8_000_000 + b"\n" + said("a", None))
    assert error.where == "f.jsonl:2"
    assert len(str(error)) < 300


@pytest.mark.parametrize(
    "data", [b'"' * 3_000_000, b"[" * 3_000_000, b'{"a":' * 600_000, b"{}\n" * 90_000, b'{"type":"\\"' * 60_000]
)
def test_megabytes_of_nonsense_are_refused(data):
    refused(data)


def test_limits_of_the_caller_are_obeyed():
    with pytest.raises(CompactionError) as caught:
        read_bytes_transcript(SMALL, "f", limits=Limits(messages=1))
    assert caught.value.code is ErrorCode.LIMIT_EXCEEDED
    with pytest.raises(CompactionError) as caught:
        read_bytes_transcript(OURS, "f", limits=Limits(messages=1))
    assert caught.value.code is ErrorCode.LIMIT_EXCEEDED


def test_an_error_survives_pickling():
    error = refused(b"")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# ---------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize(
    ("document", "format_"),
    [
        ({"messages": [{"role": "user", "content": "x"}]}, "openai-chat"),
        ([{"role": "developer", "content": "x"}], "openai-chat"),
        ({"messages": [{"role": "user", "id": "a", "content": "x"}, {"role": "toolResult"}]}, "compactor"),
        ([{"role": "assistant", "content": [{"type": "toolCall"}]}], "compactor"),
        ({"summary": None, "messages": []}, "compactor"),
        ({"requirements": [], "messages": [{"role": "user", "content": "x"}]}, "compactor"),
        ({"format": "compactor", "version": 9}, "compactor"),
        ({"type": "summary", "summary": "x"}, None),
        ({"sessionId": "x", "messages": [{"type": "user"}]}, None),
        ([{"role": "us\u0000er"}, {"role": "u" * 100}, {"ro\u2028le": "user", "role": 7}], None),
        (7, None),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_told_by_its_roles_and_keys(document, format_, indent):
    found = detect(json.dumps(document, indent=indent), whole=True)
    assert (found and found.format) == format_


def test_a_line_of_an_element_is_counted_even_when_it_is_not_there():
    text = '{"a": [1,\n 2], "messages": [\n\n {"x": "]}"}, {"y": 1}\n]}'
    assert line_of(text, ("messages", 0)) == 4
    assert line_of(text, ("messages", 7)) == 1


# --------------------------------------------------------------------------------------------------- the sample


def test_the_sample_is_a_session_of_ordinary_size_with_its_troubles():
    data = sample_bytes()
    assert 40_000 < len(data) < 60_000
    context = checked(read_bytes_transcript(data, "sample"))
    assert 60 <= len(context.messages) <= 91 + 1
    assert context.report.count("call_closed") == 1
    assert len(context.open_calls) == 1
    assert any(len(getattr(message, "tool_calls", ())) == 3 for message in context.messages)
    assert any("migrations" in str(message.content) for message in context.messages[:1])


# --------------------------------------------------------------------------------------------------------- fuzz

FILES = [SMALL, OPENAI, OURS, b"\n".join(sample_bytes().split(b"\n")[:9]) + b"\n"]


def whole_or_refused(data):
    try:
        context = read_bytes_transcript(data, "f")
    except CompactionError as error:
        assert error.code in ALLOWED, error
        assert error.where.startswith("f"), error
        assert error.fix, error
        return None
    return checked(context)


@pytest.mark.parametrize("data", [SMALL, OPENAI, OURS])
def test_a_file_that_is_cut_at_any_byte_is_read_or_refused(data):
    for cut in range(len(data)):
        whole_or_refused(data[:cut])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "type",
        "id",
        "parentId",
        "role",
        "content",
        "message",
        "toolCallId",
        "toolName",
        "isError",
        "arguments",
        "name",
        "text",
        "summary",
        "firstKeptEntryId",
        "firstKeptEntryIndex",
        "version",
        "messages",
        "tool_calls",
        "tool_call_id",
        "function",
        "stopReason",
        "format",
        "requirements",
        "meta",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), file=st.sampled_from(FILES))
def test_bytes_that_change_anywhere_are_read_or_refused(data, file):
    mutated = bytearray(file)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(mutated)))
        size = data.draw(st.integers(0, 12))
        mutated[at : at + size] = data.draw(
            st.binary(max_size=6)
            | st.sampled_from(
                [b"\xef\xbb\xbf", b"\r\n", "\u2028".encode(), b"[" * 2000, b"1e999", b"NaN", b"\\ud800", b'"', b"\0"]
            )
        )
    whole_or_refused(bytes(mutated))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), file=st.sampled_from([SMALL, FILES[3]]))
def test_lines_that_are_lost_doubled_or_moved_are_read_or_refused(data, file):
    rows = file.split(b"\n")[:-1]
    order = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=2 * len(rows)))
    newline = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    whole_or_refused(newline.join([rows[index] for index in order]) + newline)


def replaced_somewhere(data, value):
    """Put something else at a random place inside *value*."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: replaced_somewhere(data, value[key])}
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], replaced_somewhere(data, value[index]), *value[index + 1 :]]
    if isinstance(value, dict):
        return {**value, data.draw(KEYS): data.draw(JSON)}
    return data.draw(JSON)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_pi_values_of_the_wrong_kind_are_set_aside_or_refused(data):
    rows = [row for _line, row in decode_rows(FILES[3], "f").rows]
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(rows) - 1))
        rows[index] = replaced_somewhere(data, rows[index])
    whole_or_refused(b"".join([json.dumps(row).encode() + b"\n" for row in rows]))


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), file=st.sampled_from([OPENAI, OURS]))
def test_document_values_of_the_wrong_kind_are_set_aside_or_refused(data, file):
    document = json.loads(file)
    for _ in range(data.draw(st.integers(1, 3))):
        document = replaced_somewhere(data, document)
    whole_or_refused(json.dumps(document).encode())


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80))
@example(b"{")
@example(b'{"messages":')
@example(b'{"type":"session"')
def test_any_bytes_are_read_or_refused(data):
    whole_or_refused(data)
