"""The SQLite store against the executable definition, and what a file has beyond it: guards, folds, search, redaction."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlite_kit import made, placed, user

from compactor import Committed, UserMessage, open_session
from compactor.errors import CompactionError, ErrorCode
from compactor.events import Draft, EventType, Restore, Rewind, canonical, verify_chain
from compactor.ledger import NamesTakenError, Origin
from compactor.searching import read_query
from compactor.stores import MemoryLedger, open_store
from compactor.stores._schema import APPLICATION_ID
from compactor.surface import fold
from compactor.testing import check_ledger, scripted


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_two_handles_on_one_file_keep_to_the_protocol(path: Path, durability: Any) -> None:
    handles = []

    async def another() -> Any:
        handles.append(await open_store(path, durability=durability))
        return handles[-1]

    await check_ledger(another)
    assert await handles[0].verify_file() == ()
    for handle in handles:
        await handle.aclose()
    assert [name.name for name in path.parent.iterdir() if name.is_file()] == ["a.ledger"], "nothing else is left of it"


async def test_a_session_lives_in_a_file(path: Path) -> None:
    async with open_session(path, session_id="s", summarizer=scripted(), auto=False) as session:
        await session.append(*[UserMessage("x" * 60, id=f"m{index}") for index in range(9)])
        assert isinstance(await session.compact(force=True), Committed)
        context = session.context
    async with open_session(path, session_id="s", auto=False) as session:
        assert session.context == context
        assert session.lease.epoch == 2


# ------------------------------------------------------------------------------------------------------ the file itself


def _change(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


async def _ledger_with(path: Path, messages: int = 3) -> None:
    ledger = await open_store(path)
    lease = await ledger.acquire("s", owner="us")
    await ledger.append(lease, [user(f"m{index}", f"text {index}") for index in range(messages)])
    await ledger.release(lease)
    await ledger.aclose()


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("empty", "is empty"),
        ("directory", "is a directory"),
        ("text", "is not a SQLite database"),
        ("foreign", "of another program"),
        ("newer", "this program knows"),
        ("truncated", "is cut off"),
        ("no trigger", "its schema is damaged at events_last"),
    ],
)
async def test_what_is_no_ledger_of_ours_is_refused_and_left_alone(path: Path, what: str, message: str, read_only: bool) -> None:
    match what:
        case "empty":
            path.write_bytes(b"")
        case "directory":
            path.mkdir()
        case "text":
            path.write_text("once upon a time " * 99)
        case "foreign":
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE t (x)")
            connection.close()
        case _:
            await _ledger_with(path, 99)
    if what == "newer":
        _change(path, "PRAGMA user_version = 99")
    elif what == "truncated":
        path.write_bytes(path.read_bytes()[:-5_000])
    elif what == "no trigger":
        _change(path, "DROP TRIGGER events_last")
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(CompactionError, match=message) as caught:
        await open_store(path, read_only=read_only)
    assert str(path) in str(caught.value)
    assert caught.value.fix
    assert (path.read_bytes() if path.is_file() else b"") == before
    shutil.rmtree(path.with_name("a.ledger.locks"), ignore_errors=True)
    if not (read_only and what == "no trigger"):  # which could be told by SQLite only
        assert [name.name for name in path.parent.iterdir()] == ["a.ledger"], "nothing was made beside it"


async def test_what_is_not_there_is_made_by_writers_only(path: Path) -> None:
    with pytest.raises(CompactionError, match="does not exist") as caught:
        await open_store(path, read_only=True)
    assert caught.value.code is ErrorCode.FILE_UNREADABLE
    with pytest.raises(CompactionError, match="its directory does not exist"):
        await open_store(path / "below" / "a.ledger")
    with pytest.raises(CompactionError, match="is no durability"):
        await open_store(path, durability="off")  # type: ignore[arg-type]
    assert not path.exists()
    ledger = await open_store(path)
    await ledger.aclose()
    await ledger.aclose()
    assert int.from_bytes(path.read_bytes()[68:72]) == APPLICATION_ID
    for attempt in (ledger.sessions, lambda: ledger.acquire("s", owner="us")):
        with pytest.raises(CompactionError, match="the ledger handle is closed"):
            await attempt()


async def test_a_handle_that_reads_only_follows_what_others_write_and_writes_nothing(path: Path) -> None:
    writing = await open_store(path)
    lease = await writing.acquire("s", owner="us")
    reading = await open_store(path, read_only=True)
    await writing.append(lease, [user("m0")])
    assert [event.seq for event in await reading.read("s")] == [0, 1]
    await reading.index("s")
    for attempt in (lambda: reading.acquire("t", owner="us"), lambda: reading.append(lease, [])):
        with pytest.raises(CompactionError, match="read_only=True"):
            await attempt()
    await writing.aclose()
    assert len(await reading.read("s")) == 2
    await reading.aclose()


AS_NOBODY = """
import os, sys, trio
from compactor.stores import open_store, _ledger
from compactor.errors import CompactionError
os.setgroups([]), os.setgid(65_534), os.setuid(65_534)
async def main():
    ledger = await open_store(sys.argv[1], read_only=True)
    print(len(await ledger.read("s")))
    await ledger.aclose()
    for path in (sys.argv[1], sys.argv[1] + "2"):
        try:
            ledger = await open_store(path)
            await ledger.acquire("s", owner="nobody")
        except CompactionError as error:
            print(error.code, error.where.startswith(path), bool(error.fix))
trio.run(main)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a user without rights to become")
async def test_a_file_in_a_directory_that_may_not_be_written_can_be_read(path: Path) -> None:
    await _ledger_with(path)
    for directory in path.parents:
        if "pytest" in directory.name or directory == path.parent:
            directory.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, str(path)], capture_output=True, text=True, check=False)
    refused = "CONTEXT_PERSISTENCE_FAILED True True"
    assert done.stdout.splitlines() == ["4", refused, refused], done.stderr


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE events SET body = x'7b7d' WHERE id & 1099511627775 = 1", "only redacted"),
        ("UPDATE events SET time = time + 1", "only redacted"),
        ("UPDATE events SET id = id + 99", "only redacted"),
        ("UPDATE events SET redacted = zeroblob(40), digest = zeroblob(32)", "only redacted"),
        ("DELETE FROM events", "never deleted"),
        ("REPLACE INTO events SELECT * FROM events WHERE id & 1099511627775 = 1", "takes nobody's place"),
        ("INSERT OR REPLACE INTO events SELECT * FROM events WHERE id & 1099511627775 = 0", "takes nobody's place"),
        (
            "INSERT OR IGNORE INTO events SELECT id + 5, type, time, epoch, body, op, sources, digest, redacted FROM events",
            "follows",
        ),
    ],
)
async def test_the_file_itself_refuses_to_change_events(path: Path, statement: str, message: str) -> None:
    await _ledger_with(path)
    with pytest.raises(apsw.ConstraintError, match=message):
        _change(path, statement)
    ledger = await open_store(path, read_only=True)
    verify_chain(await ledger.read("s"))
    await ledger.aclose()


async def test_an_event_of_a_type_that_is_not_known_names_the_newer_version(path: Path) -> None:
    await _ledger_with(path)
    ledger = await open_store(path, read_only=True)
    last = (await ledger.read("s"))[-1]
    await ledger.aclose()
    import hashlib

    from compactor.events import _digest
    from compactor.stores._rows import Head

    body = b'{"news":1}'
    digest = _digest(last.digest, "s", 4, "message/sung", 1.5, 1, None, (), hashlib.sha256(body).digest())  # type: ignore[arg-type]
    connection = apsw.Connection(str(path))
    connection.execute(
        "INSERT INTO events VALUES ((1 << 40) + 4, 'message/sung', 1.5, 1, ?, NULL, NULL, ?, NULL)", (body, digest)
    )
    *columns, _sum = connection.execute(
        "SELECT id, name, epoch, next, digest, began, changed, folded, sum FROM sessions"
    ).fetchone()
    head = attrs.evolve(Head(*columns), next=5, digest=digest)
    connection.execute("UPDATE sessions SET next = 5, digest = ?, sum = ?", (digest, head.sum))
    connection.close()
    ledger = await open_store(path)
    assert len(await ledger.read("s", 0, 4)) == 4
    for attempt in (lambda: ledger.read("s"), lambda: ledger.surface_at("s"), lambda: ledger.acquire("s", owner="us")):
        with pytest.raises(CompactionError, match=r"a\.ledger: event 4: is of a type that this version does not know"):
            await attempt()
    await ledger.aclose()


def test_without_apsw_the_error_names_the_extra(path: Path) -> None:
    script = f"""
import sys, trio
sys.modules["apsw"] = None
from compactor.stores import open_store
from compactor.errors import CompactionError
try:
    trio.run(open_store, {str(path)!r})
except CompactionError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert 'pip install "trio-compactor[sqlite]"' in done.stdout, done.stderr


async def test_a_backup_is_a_ledger_of_the_moment_it_was_made(path: Path, tmp_path: Path) -> None:
    ledger = await open_store(path)
    lease = await ledger.acquire("s", owner="us")
    await ledger.append(lease, [user(f"m{index}") for index in range(300)])
    copy = tmp_path / "copies" / "b.ledger"
    with pytest.raises(CompactionError, match="cannot be opened"):
        await ledger.backup(copy)
    copy.parent.mkdir()
    await ledger.backup(copy)
    before = await ledger.read("s")
    await ledger.append(lease, [user("later")])
    with pytest.raises(CompactionError, match="exists already"):
        await ledger.backup(copy)
    restored = await open_store(copy)
    assert await restored.read("s") == before
    assert await restored.verify_file() == ()
    await restored.release(await restored.acquire("s", owner="elsewhere"))
    await restored.aclose()
    await ledger.aclose()
    assert [name.name for name in copy.parent.iterdir() if name.is_file()] == ["b.ledger"]


# ------------------------------------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("batch", [1, 7, 2_000])
async def test_the_surface_at_every_seq_is_the_fold_of_the_prefix_across_checkpoints(path: Path, batch: int) -> None:
    ledger = await open_store(path, durability="normal")
    lease = await ledger.acquire("s", owner="us")

    async def say(count: int) -> None:
        for first in range(0, count, batch):
            start = lease.surface.next_seq
            await ledger.append(lease, [user(f"m{start + index}") for index in range(min(batch, count - first))])

    await say(350)
    await ledger.append(lease, placed("c1", lease.surface.order[:300]))
    summary = lease.surface.order[0]
    await say(300)
    await ledger.append(lease, placed("c2", lease.surface.order[:50]))
    outer = lease.surface.order[0]
    await ledger.append(lease, [Draft(EventType.COMPACTION_UNDONE, {}, Restore((outer, summary)), (outer, summary))])
    await say(20)
    await ledger.append(lease, [Draft(EventType.SURFACE_REWOUND, {}, Rewind(outer, 1))])
    await say(600)
    events = await ledger.read("s")
    folds = apsw.Connection(str(path)).execute("SELECT count(*) FROM folds").get
    assert folds >= 3
    fork = await ledger.acquire("fork", owner="us", origin=Origin("s", len(events) - 1))
    for seq in [*range(0, len(events), 23), *range(outer - 5, outer + 30), len(events) - 1]:
        expected = attrs.asdict(fold("s", events[: seq + 1]))
        assert attrs.asdict(await ledger.surface_at("s", seq)) == expected, seq
    copies = await ledger.read("fork")
    assert attrs.asdict(fork.surface) == attrs.asdict(fold("fork", copies))
    for seq in range(0, len(events), 101):
        assert attrs.asdict(await ledger.surface_at("fork", seq)) == attrs.asdict(fold("fork", copies[: seq + 1]))
    assert attrs.asdict(lease.surface) == attrs.asdict(fold("s", events))
    assert await ledger.verify_file() == ()
    await ledger.aclose()


async def test_many_rewinds_in_a_row_are_folded_without_going_deep(path: Path) -> None:
    ledger = await open_store(path, durability="normal")
    lease = await ledger.acquire("s", owner="us")
    await ledger.append(lease, [user("m0"), user("m1")])
    for _ in range(300):
        await ledger.append(lease, [Draft(EventType.SURFACE_REWOUND, {}, Rewind(lease.surface.next_seq - 1))])
    assert (await ledger.surface_at("s", 250)).order == [1, 2]
    await ledger.aclose()


# ------------------------------------------------------------------------------------------------------------- search

SCRIPTS = st.sampled_from(
    [
        "the cat_sat on src/app/models.py",
        "\u6211\u4eec\u4fee\u590d\u6570\u636e\u5e93",
        "\u30d5\u30a1\u30a4\u30eb\u3092\u8aad\u3080",
        "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8",
        "\u0e44\u0e1f\u0e25\u0e4c\u0e19\u0e35\u0e49",
        "R\u00e9sum\u00e9 STRASSE \u00df \u0130stanbul",
        "\u0928\u092e\u0938\u094d\u0924\u0947",
        "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u0627\u0644\u0633\u0644\u0627\u0645",
        "a+b==c; x->y 'q' \"w\" 100% #1",
        "\ufb01ne \uff21\uff22\uff23 \u2460 \u00bd",
        "\ud800 lone \x00 nul",
        "\U0001f600\U0001f468\u200d\U0001f469 emoji",
        "\u1780\u1798\u17d2\u1796\u17bb\u1787\u17b6 \u1019\u103c\u1014\u103a\u1019\u102c",
    ]
)
TEXTS = st.lists(st.one_of(st.text(max_size=20), SCRIPTS, st.text("ab \u6587\u66f8", max_size=8)), min_size=1, max_size=8)


@st.composite
def searches(draw: Any) -> tuple[list[str], list[str]]:
    """Texts, and queries that are mostly parts of them."""
    texts = draw(TEXTS)
    queries = []
    for _ in range(draw(st.integers(1, 6))):
        text = draw(st.sampled_from(texts))
        start = draw(st.integers(0, max(0, len(text) - 1)))
        part = text[start : start + draw(st.integers(1, 9))]
        queries.append(part if draw(st.booleans()) else part + " " + draw(st.text(max_size=4)))
    return texts, queries


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(searches(), st.integers(0, 8))
async def test_search_finds_what_a_scan_finds(tmp_path: Path, given_: tuple[list[str], list[str]], indexed: int) -> None:
    texts, queries = given_
    memory = MemoryLedger()
    for old in tmp_path.glob("*.ledger*"):
        old.unlink() if old.is_file() else None
    stored = made(tmp_path / "a.ledger")
    names: list[Any] = []
    for ledger in (memory, stored):
        lease = await ledger.acquire("s", owner="us")
        first = await ledger.append(lease, [user(f"m{at}", text) for at, text in enumerate(texts[:indexed] or texts[:1])])
        await ledger.append(lease, placed("c1", [event.seq for event in first]))
        await ledger.index("s")
        rest = texts[indexed:] if indexed else texts[1:]
        second = await ledger.append(lease, [user(f"n{at}", text) for at, text in enumerate(rest)])
        if second:
            await ledger.append(lease, placed("c2", [event.seq for event in second]))
        names.append(lease)
        await ledger.release(lease)
    for text in queries:
        try:
            query = read_query(text)
        except CompactionError:
            continue
        expected = {event.seq for event in await memory.search("s", query, 50) if _has_all(event, query)}
        found = await stored.search("s", query, 50)
        assert {event.seq for event in found if _has_all(event, query)} == expected, text
        assert all(_has_all(event, query) for event in found[: len(expected)]), "those with all terms come first"
        if len(query.terms) == 1:
            assert len(found) == len(expected)
    await stored.aclose()


def _has_all(event: Any, query: Any) -> bool:
    from compactor.searching import folded, searchable

    text = folded(searchable(event.data))
    return all(term in text for term in query.terms)


async def test_where_only_some_terms_are_met_the_rare_ones_count(path: Path) -> None:
    ledger = await open_store(path, durability="normal")
    lease = await ledger.acquire("s", owner="us")
    texts = [f"we should look at the file number {index} again" for index in range(40)]
    texts[20] = "the zanzibar port is 5432"
    events = await ledger.append(lease, [user(f"m{index}", text) for index, text in enumerate(texts)])
    await ledger.append(lease, placed("c1", [event.seq for event in events]))
    await ledger.index("s")
    best, *_rest = await ledger.search("s", read_query("what was the port of the zanzibar file"), 5)
    assert best.seq == events[20].seq
    assert await ledger.search("s", read_query("zanzibar"), 0) == ()
    await ledger.aclose()


# ---------------------------------------------------------------------------------------------------------- redaction


@pytest.mark.parametrize("size", [40, 3_000, 60_000])
async def test_redacted_bytes_are_gone_from_every_file(path: Path, size: int) -> None:
    secret = ("sk-SECRET-" + "0123456789abcdef" * (size // 16))[:size]
    ledger, reader = await open_store(path), await open_store(path, read_only=True)
    leases = [await ledger.acquire(f"s{number}", owner="us") for number in range(3)]
    for number in range(60):
        for lease in leases:
            text = secret if (number, lease) == (20, leases[1]) else "filler text " * (number % 9 * 10)
            await ledger.append(lease, [user(f"m{number}", text)])
    (lease, name) = (leases[1], "s1")
    seq = await ledger.find(name, "message:m20")
    assert seq is not None
    await ledger.append(lease, placed("c1", lease.surface.order[:40]))
    await ledger.index(name)
    assert len(await reader.search(name, read_query("sk-secret"), 5)) == 1

    def present() -> list[str]:
        found = [file.name for file in path.parent.iterdir() if file.is_file() and b"SECRET" in file.read_bytes()]
        words = [file.name for file in path.parent.iterdir() if file.is_file() and b"0123456789abcdef" in file.read_bytes()]
        return found + words

    assert present()
    tomb = canonical({"id": "m20", "role": "user", "content": "[redacted]"})
    await ledger.redact(lease, seq, tomb, Draft(EventType.DATA_REDACTED, {"seq": seq}))
    assert present() == []
    assert await reader.search(name, read_query("sk-secret"), 5) == ()
    assert (await reader.read(name, seq, seq + 1))[0].body == tomb
    assert await ledger.verify_file() == ()
    _change(path, "UPDATE events SET body = x'7b7d' WHERE redacted IS NOT NULL")
    with pytest.raises(CompactionError, match=f"event {seq}: was changed"):
        await reader.read(name)
    await reader.aclose()
    await ledger.aclose()
    assert present() == []


async def test_names_of_many_events_are_told_at_once_and_nothing_else_is_written(path: Path) -> None:
    ledger = await open_store(path)
    lease = await ledger.acquire("s", owner="us")
    await ledger.append(lease, [user("m0"), user("m1")])
    with pytest.raises(NamesTakenError) as caught:
        await ledger.append(lease, [user("m2"), user("m1"), user("m0")])
    assert caught.value.taken == {"message:m0": 1, "message:m1": 2}
    assert len(await ledger.read("s")) == 3
    await ledger.aclose()


async def test_an_older_file_is_brought_up_to_date_by_whoever_may_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from compactor.stores import _schema

    await _ledger_with(path)
    statement = "CREATE TABLE news (id INTEGER PRIMARY KEY) STRICT"
    monkeypatch.setattr(_schema, "VERSION", 2)
    monkeypatch.setitem(_schema.MIGRATIONS, 1, statement)
    monkeypatch.setitem(_schema.TABLES, "news", statement)
    with pytest.raises(CompactionError, match="written by an older version"):
        await open_store(path, read_only=True)
    ledger = await open_store(path)
    assert len(await ledger.read("s")) == 4
    await ledger.aclose()
    assert apsw.Connection(str(path)).pragma("user_version") == 2
    monkeypatch.undo()
    with pytest.raises(CompactionError, match="has version 2 of the schema, this program knows 1"):
        await open_store(path)
