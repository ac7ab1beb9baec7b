"""Real processes on one file: killed at every write, racing for sessions, stopped and gone on after a takeover."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlite_kit import user

from compactor import Committed, UserMessage, open_session
from compactor.errors import CompactionError, ErrorCode
from compactor.events import EventType, verify_chain
from compactor.stores import open_store
from compactor.surface import fold
from compactor.testing import scripted

HERE = Path(__file__).parent


@contextlib.contextmanager
def child(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that runs *script*, talks in lines, and is gone at the end."""
    command = [sys.executable, "-u", "-c", script, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def say(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


# ------------------------------------------------------------------------------------------------------------ killed

# Forks a process for each death, which is quicker than to start one. What was acknowledged goes to a pipe.
MORTAL = """
import json, os, sys
from pathlib import Path
import trio
from harness import BUDGET
from sqlite_kit import WRITES, Faults
from compactor import Committed, UserMessage, open_session
from compactor.stores._ledger import SqliteLedger
from compactor.testing import scripted

async def life(path, faults, tell):
    ledger = await SqliteLedger.open(path, vfs=faults.vfs)
    async with open_session(ledger, session_id="s", policy=BUDGET, summarizer=scripted(), auto=False) as session:
        for index in range(3):
            await session.append(UserMessage("x" * 60, id=f"m{index}"))
            tell(f"m{index}")
        await session.append(*[UserMessage("x" * 60, id=f"m{index}") for index in range(3, 9)])
        tell(*[f"m{index}" for index in range(3, 9)])
        outcome = await session.compact()
        assert isinstance(outcome, Committed), outcome
        tell(outcome.record.id)
        await session.append(UserMessage("x" * 60, id="last"))
        tell("last")
    await ledger.aclose()

def run(path, at, kill):
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        faults = Faults(at, calls=WRITES, kill=kill)
        faults.armed = True
        tell = lambda *names: os.write(writing, json.dumps(names).encode() + b"\\n")
        trio.run(life, path, faults, tell)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as told:
        names = [name for line in told for name in json.loads(line)]
    return os.waitpid(pid, 0)[1], names

for line in sys.stdin:
    path, at, kill = json.loads(line)
    print(json.dumps(run(path, at, kill)), flush=True)
"""


async def test_a_process_that_is_killed_at_any_write_leaves_the_state_before_or_after(tmp_path: Path) -> None:
    deaths, traces = 0, 0
    with child(MORTAL) as mortal:
        assert mortal.stdin is not None
        for at in range(1, 2_000):
            path = tmp_path / f"{at}.ledger"
            mortal.stdin.write(json.dumps([str(path), at, ("before", "after")[at % 2]]) + "\n")
            mortal.stdin.flush()
            status, acknowledged = json.loads(line(mortal))
            if status == 0:
                assert "last" in acknowledged
                break
            assert os.WTERMSIG(status) == signal.SIGKILL
            deaths += 1
            traces += await _reopened(path, acknowledged)
    assert deaths > 60
    assert traces, "no death fell between a start marker and its end"


async def _reopened(path: Path, acknowledged: list[str]) -> int:
    """Nothing that was acknowledged is missing, no end is false, and the next life runs. 1 for a visible trace."""
    if not path.exists():
        assert not acknowledged
        return 0
    ledger = await open_store(path, durability="normal")
    try:
        assert await ledger.verify_file() == ()
        events = await ledger.read("s")
        verify_chain(events)
        surface = fold("s", events) if events else None
        ids = [event.data["id"] for event in events if event.type is EventType.MESSAGE_APPENDED]
        runs = [event.data["run"] for event in events if event.type is EventType.SUMMARY_PLACED]
        assert set(acknowledged) <= {*ids, *runs}
        assert ids in ([f"m{at}" for at in range(count)] for count in (0, 1, 2, 3, 9)) or ids[-1] == "last"
        for event in events:
            if event.type is EventType.SUMMARY_PLACED:
                assert events[event.seq + 1].data["code"] is None, "a summary without its end"
        async with open_session(ledger, session_id="s", summarizer=scripted(), auto=False) as again:
            await again.append(*[UserMessage("y" * 60, id=f"z{index}") for index in range(8)])
            assert isinstance(await again.compact(force=True), Committed)
    finally:
        await ledger.aclose()
    return surface is not None and surface.orphan() is not None


# ------------------------------------------------------------------------------------------------------------- racing

RACER = """
import sys, trio
from compactor.errors import CompactionError
from compactor.stores import open_store
async def main():
    ledger = await open_store(sys.argv[1])
    print("ready")
    sys.stdin.readline()
    for number in range(50):
        try:
            await ledger.acquire(f"s{number}", owner=f"racer {sys.argv[2]}")
            print("won")
        except CompactionError as error:
            print(error.code, error)
    sys.stdin.readline()
    await ledger.aclose()
trio.run(main)
"""


async def test_of_two_processes_that_race_for_a_session_exactly_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with child(RACER, path, 0) as one, child(RACER, path, 1) as other:
        for racer in (one, other):
            assert line(racer) == "ready"
        for racer in (one, other):
            say(racer)
        said = [[line(racer) for _ in range(50)] for racer in (one, other)]
        for number, pair in enumerate(zip(*said, strict=True)):
            assert sorted([answer == "won" for answer in pair]) == [False, True], (number, pair)
            loser = pair[0] if pair[1] == "won" else pair[1]
            assert loser.startswith("CONTEXT_BUSY"), loser
            assert "racer" in loser or "did not say" in loser
        ledger = await open_store(path)
        assert len(await ledger.sessions()) == 50
        with pytest.raises(CompactionError, match=r"session 's0' is open: racer \d"):
            await ledger.acquire("s0", owner="us")
        for racer in (one, other):
            racer.kill()
            racer.wait()
        for number in range(50):
            lease = await ledger.acquire(f"s{number}", owner="us")
            assert lease.epoch == 2, "an owner that is dead is no owner"
            events = await ledger.read(f"s{number}")
            assert [event.type for event in events] == [EventType.SESSION_OPENED] * 2
        await ledger.aclose()


PAUSED = """
import sys, trio
from sqlite_kit import user
from compactor.errors import CompactionError
from compactor.stores import open_store
async def main():
    ledger = await open_store(sys.argv[1])
    lease = await ledger.acquire("s", owner="the old owner")
    await ledger.append(lease, [user("old")])
    print("ready")
    sys.stdin.readline()
    for attempt in (lambda: ledger.append(lease, [user("late")]), lambda: ledger.redact(lease, 1, b"{}", user("late"))):
        try:
            await attempt()
            print("written")
        except CompactionError as error:
            print(error.code)
    await ledger.release(lease)
    print(len(await ledger.read("s")))
    await ledger.aclose()
trio.run(main)
"""


async def test_an_owner_that_was_stopped_and_taken_over_writes_no_more(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with child(PAUSED, path) as old:
        assert line(old) == "ready"
        old.send_signal(signal.SIGSTOP)
        ledger, third = await open_store(path), await open_store(path)
        with pytest.raises(CompactionError, match="is open: the old owner") as caught:
            await ledger.acquire("s", owner="us")
        assert caught.value.code is ErrorCode.BUSY
        lease = await ledger.acquire("s", owner="us", takeover=True)
        await ledger.append(lease, [user("new")])
        old.send_signal(signal.SIGCONT)
        say(old)
        assert [line(old), line(old)] == ["CONTEXT_FENCED", "CONTEXT_FENCED"]
        assert line(old) == "4"
        old.wait()
        with pytest.raises(CompactionError, match="is open: us"):
            await third.acquire("s", owner="a third one, after the old owner has let go")
        await ledger.append(lease, [user("newer")])
        await ledger.aclose()
        assert (await third.acquire("s", owner="them")).epoch == 3
        await third.aclose()


async def test_an_owner_says_who_it_is_on_one_line_and_ids_never_reach_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    ledger = await open_store(path)
    await ledger.acquire("Some.Id", owner="evil\n\x1b[2J" + "x" * 5_000)
    with pytest.raises(CompactionError, match=r"evil\?\?\[2Jxxx") as caught:
        await ledger.acquire("Some.Id", owner="us")
    assert len(str(caught.value)) < 600
    await ledger.acquire("some.id", owner="ids differ in case")
    names = [file.name for file in (tmp_path / "a.ledger.locks").iterdir()]
    assert len(names) == 2
    assert not any("id" in name.lower() for name in names)
    await ledger.aclose()
