"""What the SQLite ledger costs, as ratios within one run: ``python tests/bench/ledger.py [--quick] [--keep DIRECTORY]``.

Each figure is compared with the least that SQLite itself can do for the same, in turns, so that a busy machine slows both.
The long ledger (1,000,000 events; 100,000 with --quick) takes some minutes to build and to index; a process of its own
builds it, whose memory is measured.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import attrs
import trio

from compactor import UserMessage, open_session
from compactor.events import APPEND, Draft, Event, EventType, Replace, canonical, names_of, ranges, seal
from compactor.history import fetch
from compactor.searching import Query, folded, read_query, searchable
from compactor.stores import open_store
from compactor.stores._indexing import pieces_query, words_query
from compactor.stores._rows import Head, Place, new_head, put_events, put_head, put_names
from compactor.stores._schema import connect, create

TEXT = "the quick brown fox jumps over the lazy dog and looks into src/app/models.py "
SURFACE = 200
"""Entries on the surface of the long ledger; the oldest are hidden, over and over."""


def draft(number: int, text: str) -> Draft:
    return Draft(EventType.MESSAGE_APPENDED, {"id": f"m-{number:010x}", "role": "user", "content": text}, APPEND)


def text_of(number: int) -> str:
    """About 200 characters, with a rare word in every thousandth."""
    words = random.Random(number).choices(WORDS, k=26)
    return " ".join(words) + (f" rare-{number}" if number % 1_000 == 0 else "")


WORDS = [
    f"{a}{b}{c}" for a in "bdfglmprst" for b in ("an", "er", "ill", "oma") for c in ("", "ing", "ed", "port", "table", "ness")
]


class Bare:
    """SQLite alone: one table, the same bytes, the same durability."""

    def __init__(self, path: Path, mode: str) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", mode)
        self.connection.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        self.next = 0

    def insert(self, body: bytes) -> None:
        self.next += 1
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute("INSERT INTO events VALUES (?, ?)", (self.next, body))
        self.connection.execute("COMMIT")

    def insert_many(self, bodies: list[bytes]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(
            "INSERT INTO events VALUES (?, ?)", [(self.next + at, body) for at, body in enumerate(bodies, 1)]
        )
        self.connection.execute("COMMIT")
        self.next += len(bodies)


class Same:
    """SQLite alone with the ledger's own tables and triggers: the very rows of an append, made beforehand."""

    def __init__(self, path: Path, mode: Any) -> None:
        create(str(path), vfs=None)
        self.connection = connect(str(path), writable=True, durability=mode)
        self.place = Place(self.connection, str(path))
        self.connection.execute("BEGIN IMMEDIATE")
        self.head = new_head(self.place, "s", 1.5)
        self.connection.execute("COMMIT")
        self.prepared: list[tuple[Head, Event, tuple[str, int]]] = []

    def prepare(self, count: int, text: str) -> None:
        """Seal what will be inserted."""
        head = self.prepared[-1][0] if self.prepared else self.head
        for _ in range(count):
            each = draft(head.next, text)
            event = seal(each, session_id="s", seq=head.next, time=1.5, epoch=1, previous=head.digest)
            head = attrs.evolve(head, next=head.next + 1, digest=event.digest)
            self.prepared.append((head, event, (names_of(each)[0], event.seq)))
        self.prepared.reverse()

    def insert(self) -> None:
        after, event, name = self.prepared.pop()
        self.connection.execute("BEGIN IMMEDIATE")
        put_head(self.place, self.head, after)
        put_names(self.place, self.head, [name])
        put_events(self.place, self.head, [event])
        self.connection.execute("COMMIT")
        self.head = after

    def insert_many(self) -> None:
        rows, self.prepared = self.prepared[::-1], []
        self.connection.execute("BEGIN IMMEDIATE")
        put_head(self.place, self.head, rows[-1][0])
        put_names(self.place, self.head, [name for _head, _event, name in rows])
        put_events(self.place, self.head, [event for _head, event, _name in rows])
        self.connection.execute("COMMIT")
        self.head = rows[-1][0]


def report(what: str, ratio: float, goal: float, detail: str, *, most: bool = False) -> None:
    met = ratio <= goal if most else ratio >= goal
    print(f"{'ok  ' if met else 'MISS'} {what:<58} {ratio:6.2f}  (goal {'<=' if most else '>='} {goal:g})  {detail}", flush=True)


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def in_turns(rounds: int, *works: Callable[[], Awaitable[Any]]) -> list[float]:
    """The median seconds of each."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for at, work in enumerate(works):
            seconds[at].append(await timed(work))
    return [statistics.median(each) for each in seconds]


def sync_seconds(directory: Path) -> float:
    """What one fdatasync of a page costs here."""
    taken = []
    with (directory / "sync").open("wb", buffering=0) as file:
        for _ in range(100):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken)


# ---------------------------------------------------------------------------------------------------------- appending


async def appending(directory: Path, mode: Any, *, quick: bool) -> None:
    count, rounds = (60, 5) if quick else (200, 15)
    bare = Bare(directory / f"bare-{mode}.db", mode)
    same = Same(directory / f"same-{mode}.ledger", mode)
    ledger = await open_store(directory / f"{mode}.ledger", durability=mode)
    text = TEXT * 3
    body = canonical(draft(0, text).data)
    async with open_session(ledger, session_id="s", auto=False) as session:
        numbers = iter(range(1 << 40))

        async def bare_single() -> None:
            for _ in range(count):
                await trio.to_thread.run_sync(bare.insert, body)

        async def single() -> None:
            for _ in range(count):
                await session.append(UserMessage(text, id=f"m-{next(numbers):010x}"))

        async def bare_loop() -> None:
            for _ in range(count * 5):
                bare.insert(body)

        async def same_single() -> None:
            for _ in range(count):
                await trio.to_thread.run_sync(same.insert)

        async def same_loop() -> None:
            for _ in range(count * 5):
                same.insert()

        async def many() -> None:
            async def task() -> None:
                for _ in range(count * 5 // 64):
                    await session.append(UserMessage(text, id=f"m-{next(numbers):010x}"))

            async with trio.open_nursery() as nursery:
                for _ in range(64):
                    nursery.start_soon(task)

        same.prepare(count * rounds, text)
        goal = 0.8 if mode == "full" else 0.7
        least, rows, ours = [seconds / count * 1e6 for seconds in await in_turns(rounds, bare_single, same_single, single)]
        detail = f"{ours:.0f} us, in a thread {rows:.0f} us"
        report(f"{mode}: one awaited session.append, to the same rows", rows / ours, goal, detail)
        report(f"{mode}: the same, to one insert into a bare table", least / ours, goal, f"{least:.0f} us")
        same.prepare(count * 5 * rounds, text)
        least, rows, ours = [seconds / count / 5 * 1e6 for seconds in await in_turns(rounds, bare_loop, same_loop, many)]
        ours *= count * 5 / (count * 5 // 64 * 64)
        report(f"{mode}: 64 in flight on one session, to the same rows", rows / ours, 0.5, f"{ours:.0f} us, a loop {rows:.0f} us")
        report(f"{mode}: the same, to inserts into a bare table", least / ours, 0.5, f"{least:.0f} us")
    await ledger.aclose()


async def sessions(directory: Path, *, quick: bool) -> None:
    count = 20 if quick else 60
    ledger = await open_store(directory / "sessions.ledger")
    leases = [await ledger.acquire(f"s{number}", owner="bench") for number in range(100)]
    numbers = iter(range(1 << 40))

    async def run(lease: Any) -> None:
        for _ in range(count):
            await ledger.append(lease, [draft(next(numbers), TEXT)])

    async def one() -> None:
        await run(leases[0])

    async def hundred() -> None:
        async with trio.open_nursery() as nursery:
            for lease in leases:
                nursery.start_soon(run, lease)

    single, together = await in_turns(5, one, hundred)
    sync = sync_seconds(directory)
    detail = f"{count / single:,.0f}/s and {100 * count / together:,.0f}/s; one fdatasync takes {sync * 1e3:.2f} ms"
    report("full: appends/s of 100 sessions, to one session", 100 * single / together, 10 if sync >= 1e-3 else 1, detail)
    await ledger.aclose()


async def importing(directory: Path, *, quick: bool) -> None:
    count = 20_000 if quick else 100_000
    bare = Bare(directory / "bare-import.db", "full")
    ledger = await open_store(directory / "import.ledger")
    drafts = [draft(number, text_of(number)) for number in range(count)]
    bodies = [canonical(each.data) for each in drafts]
    lives = iter(range(1 << 40))

    async def bare_import() -> None:
        await trio.to_thread.run_sync(bare.insert_many, bodies)

    same = [Same(directory / f"same-import-{at}.ledger", "full") for at in range(3 if quick else 5)]
    for each in same:
        each.prepare(count, TEXT * 3)

    async def same_import() -> None:
        await trio.to_thread.run_sync(same.pop().insert_many)

    async def ours_import() -> None:
        lease = await ledger.acquire(f"s{next(lives)}", owner="bench")
        await ledger.append(lease, drafts)

    least, rows, ours = await in_turns(3 if quick else 5, bare_import, same_import, ours_import)
    detail = f"{count / ours:,.0f}/s, executemany {count / rows:,.0f}/s"
    report(f"importing {count:,} messages, to the same rows", rows / ours, 0.4, detail)
    report("the same, to one executemany into a bare table", least / ours, 0.4, f"{count / least:,.0f}/s")
    await ledger.aclose()


# ---------------------------------------------------------------------------------------------------------- long ones


async def build(path: Path, events: int) -> None:
    """A session of so many events, most of them hidden: summaries hide one another, the surface stays small."""
    ledger = await open_store(path, durability="normal")
    lease = await ledger.acquire("s", owner="bench")
    run = 0
    while lease.surface.next_seq < events:
        start = lease.surface.next_seq
        await ledger.append(lease, [draft(start + at, text_of(start + at)) for at in range(500)])
        run += 1
        hidden = lease.surface.order[:-SURFACE]
        data = {"id": f"sum-{run}", "content": "a summary " * 20, "run": f"c{run}", "hidden": ranges(hidden)}
        await ledger.append(
            lease,
            [
                Draft(EventType.TURN_SHOWN, {"turn": run}),
                Draft(EventType.COMPACTION_STARTED, {"run": f"c{run}"}),
                Draft(EventType.SUMMARY_PLACED, data, Replace(hidden[0], hidden[-1]), tuple(hidden)),
                Draft(EventType.COMPACTION_ENDED, {"run": f"c{run}", "code": None}),
            ],
        )
    await ledger.release(lease)
    await ledger.aclose()


async def index(path: Path) -> None:
    ledger = await open_store(path, durability="normal")
    await ledger.index("s")
    await ledger.aclose()


def memory() -> float:
    """The most that this process ever held, in MB. ``getrusage`` would count what its parent held, too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1_024


def child(what: str, path: Path, events: int) -> tuple[float, float]:
    """Seconds and MB of a process that does one thing."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--child", what, str(path), str(events)], stdout=subprocess.PIPE, text=True, check=True
    )
    return time.perf_counter() - began, float(done.stdout)


async def looking(short: Path, long: Path, *, quick: bool) -> None:
    """A past turn, and opening for work: what both cost in a short ledger and in a long one."""
    ledgers = {path: await open_store(path) for path in (short, long)}
    ends = {path: (await ledger.sessions())[0].events for path, ledger in ledgers.items()}
    choose = random.Random(5)

    def past(path: Path) -> Callable[[], Awaitable[Any]]:
        return lambda: ledgers[path].surface_at("s", choose.randrange(ends[path] // 2, ends[path]))

    def opening(path: Path) -> Callable[[], Awaitable[Any]]:
        async def open_it() -> None:
            ledger = ledgers[path]
            lease = await ledger.acquire("s", owner="bench")
            await fetch(ledger, "s", lease.surface.order)
            await ledger.release(lease)

        return open_it

    rounds = 50 if quick else 200
    for what, work in (("surface_at of a random past event", past), ("opening for work", opening)):
        before, after = await in_turns(rounds, work(short), work(long))
        detail = f"{after * 1e3:.2f} ms, at {ends[short]:,} {before * 1e3:.2f} ms"
        report(f"{what} at {ends[long]:,} events", after / before, 3, detail, most=True)
    for ledger in ledgers.values():
        await ledger.aclose()


def bare_search(words: apsw.Connection, pieces: apsw.Connection, query: Query) -> list[int]:
    """What SQLite alone has to look up for ten answers: all words, any of the words, then pieces of words; unchecked."""
    found: dict[int, None] = {}
    questions = [
        (words, "texts", words_query(query.terms, "AND")),
        (words, "texts", words_query(query.terms, "OR") if len(query.terms) > 1 else ""),
        (pieces, "pieces", pieces_query(query.terms, "AND")),
    ]
    for connection, table, match in questions:
        if match and len(found) < 10:
            order = "rank" if table == "texts" else "rowid DESC"
            rows = connection.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY {order} LIMIT 10", (match,))
            found |= dict.fromkeys([row[0] for row in rows])
    return list(found)


async def searching(directory: Path, path: Path, *, quick: bool) -> None:
    """Our search, and the same questions put to bare FTS5 tables over the same texts."""
    bare = apsw.Connection(str(directory / "fts.db"))
    bare.execute("CREATE VIRTUAL TABLE texts USING fts5(text, content='')")
    pieces = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
    ledger = await open_store(path)
    end = (await ledger.sessions())[0].events
    for start in range(0, end, 5_000):
        rows = [
            (event.seq, folded(searchable(event.data)))
            for event in await ledger.read("s", start, start + 5_000)
            if event.type is EventType.MESSAGE_APPENDED
        ]
        with bare:
            bare.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", rows)
    hidden = end - SURFACE
    some = text_of(hidden // 2).split()
    questions = {
        "one rare word": f"rare-{hidden // 2_000 * 1_000}",
        "a common word": WORDS[0],
        "three common words": " ".join(WORDS[3:60:20]),
        "a phrase": f'"{" ".join(some[2:5])}"',
        "a part of a word": some[3][1:],
        "a part of a word, and a word": f"{some[3][1:]} {some[4]}",
        "what is not there": "zebra",
    }
    for what, text in questions.items():
        query = read_query(text)

        async def ours(query: Query = query) -> None:
            await ledger.search("s", query, 10)

        async def least(query: Query = query) -> None:
            await trio.to_thread.run_sync(bare_search, bare, pieces, query)

        bare_seconds, seconds = await in_turns(5 if quick else 15, least, ours)
        detail = f"{seconds * 1e3:.2f} ms, FTS5 {bare_seconds * 1e3:.2f} ms, {len(await ledger.search('s', query, 10))} found"
        report(f"search for {what} in {hidden:,} hidden events", seconds / bare_seconds, 5, detail, most=True)
    await ledger.aclose()


def sizes(path: Path) -> None:
    connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
    json_bytes, count = connection.execute("SELECT sum(length(body)), count(*) FROM events").fetchone()
    rows = connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
    search = sum(size for name, size in rows if name.startswith(("words", "pieces")))
    total = sum(size for _name, size in rows)
    detail = f"{json_bytes / count:.0f} bytes of JSON an event; the search index is {search / json_bytes:.2f} more"
    report("size of the file, to its JSON", (total - search) / json_bytes, 1.6, detail, most=True)
    connection.close()


async def main(directory: Path, *, quick: bool) -> None:
    for mode in ("full", "normal"):
        await appending(directory, mode, quick=quick)
    await sessions(directory, quick=quick)
    await importing(directory, quick=quick)
    await lasting(directory, quick=quick)


async def lasting(directory: Path, *, quick: bool) -> None:
    """The part that needs the long ledger."""
    short, long = directory / "short.ledger", directory / "long.ledger"
    events = 100_000 if quick else 1_000_000
    if not short.exists():
        await build(short, 10_000)
    if not long.exists():
        seconds, used = child("build", long, events)
        report(f"memory of building {events:,} events, MB", used, 300, f"{events / seconds:,.0f} events/s", most=True)
        seconds, used = child("index", long, events)
        report(f"memory of indexing {events:,} events, MB", used, 300, f"{events / seconds:,.0f} events/s", most=True)
    _seconds, used = child("use", long, events)
    report(f"memory of opening and searching {events:,} events, MB", used, 300, "", most=True)
    sizes(long)
    await looking(short, long, quick=quick)
    await searching(directory, long, quick=quick)


async def use(path: Path) -> None:
    ledger = await open_store(path)
    lease = await ledger.acquire("s", owner="bench")
    await ledger.surface_at("s", lease.surface.next_seq // 3)
    await ledger.search("s", read_query(" ".join(WORDS[3:60:20])), 20)
    await ledger.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=Path, help="where the files stay, and long ones are used again")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        what, name, number = options.child
        match what:
            case "build":
                trio.run(build, Path(name), int(number))
            case "index":
                trio.run(index, Path(name))
            case _:
                trio.run(use, Path(name))
        print(memory())
    elif options.keep:
        options.keep.mkdir(exist_ok=True)
        for old in options.keep.iterdir():
            if old.is_file() and old.name not in ("short.ledger", "long.ledger"):
                old.unlink()
        trio.run(lambda: main(options.keep, quick=options.quick))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            trio.run(lambda: main(Path(temporary), quick=options.quick))
