"""Sessions in files: a path is a ledger, opened once for all sessions of a run, closed with the last."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import trio

from compactor import Budget, Committed, CompactionError, ErrorCode, UserMessage, open_ledger, open_session, open_store
from compactor.testing import scripted


def user(number: int) -> UserMessage:
    return UserMessage("x" * 96, id=f"u{number}")


async def test_a_path_is_a_ledger_that_lasts(tmp_path: Path) -> None:
    path = tmp_path / "agent.ledger"
    budget = Budget(800, target_units=400, summary_max_units=100, retain_recent_messages=1)
    async with open_session(path, session_id="s", policy=budget, summarizer=scripted(), auto=False) as session:
        await session.append(*[user(number) for number in range(10)])
        assert isinstance(await session.compact(), Committed)
        kept = session.context
    async with open_session(str(path), session_id="s", policy=budget) as session:
        assert session.context == kept
        assert session.lease.epoch == 2


async def test_sessions_of_one_run_share_a_file_and_the_last_one_closes_it(tmp_path: Path) -> None:
    path, link = tmp_path / "agent.ledger", tmp_path / "link"
    async with open_session(path, session_id="a") as first:
        link.symlink_to(path)
        async with open_session(link, session_id="b") as second:
            assert first.store is second.store, "their appends share a commit"
            await second.append(user(1))
        await first.append(user(2))
        by_link = await open_store(link)
        with pytest.raises(CompactionError, match="is open"):
            await by_link.acquire("a", owner="by another name of the file")
        await by_link.aclose()
        store = first.store
    with pytest.raises(CompactionError, match="closed") as caught:
        await store.sessions()
    assert caught.value.code is ErrorCode.SESSION_CLOSED


async def test_many_sessions_that_open_a_new_file_at_once_get_one_ledger(tmp_path: Path) -> None:
    path, stores = tmp_path / "agent.ledger", []

    async def one(name: str) -> None:
        async with open_session(path, session_id=name) as session:
            await session.append(user(1))
            stores.append(session.store)
            opened.append(name)
            if len(opened) == 8:
                everybody.set()
            await everybody.wait()

    opened: list[str] = []
    everybody = trio.Event()
    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(one, f"s{number}")
    assert len({id(store) for store in stores}) == 1
    async with open_ledger(path) as ledger:
        assert {info.id for info in await ledger.sessions()} == set(opened)


async def test_a_session_that_is_open_elsewhere_is_busy_and_its_owner_is_named(tmp_path: Path) -> None:
    path = tmp_path / "agent.ledger"
    async with open_session(path, session_id="s"):
        with pytest.raises(CompactionError, match=r"is open: process \d+") as caught:
            async with open_session(path, session_id="s"):
                raise AssertionError
        assert caught.value.code is ErrorCode.BUSY
        async with open_session(path, session_id="t"):
            pass


async def test_an_opening_that_fails_leaves_the_file_closed(tmp_path: Path) -> None:
    path = tmp_path / "agent.ledger"
    async with open_session(path, session_id="s"):
        pass
    ledger = await open_store(path)
    lease = await ledger.acquire("s", owner="somebody")
    with pytest.raises(CompactionError, match="is open: somebody"):
        async with open_session(path, session_id="s"):
            raise AssertionError
    await ledger.release(lease)
    await ledger.aclose()
    with pytest.raises(CompactionError, match="directory") as caught:
        async with open_session(tmp_path, session_id="s"):
            raise AssertionError
    assert caught.value.code is ErrorCode.FILE_UNREADABLE
    with pytest.raises(CompactionError) as caught:
        async with open_ledger(tmp_path / "nothing.ledger"):
            raise AssertionError
    assert caught.value.code is ErrorCode.FILE_UNREADABLE
    assert sorted(item.name for item in tmp_path.iterdir()) == ["agent.ledger", "agent.ledger.locks"]  # noqa: ASYNC240


def test_without_apsw_a_path_names_the_extra_that_brings_it(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["apsw"] = None
import trio
from compactor import CompactionError, open_session
async def main():
    async with open_session(sys.argv[1]):
        pass
try:
    trio.run(main)
except CompactionError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "x")], capture_output=True, text=True, check=True)
    assert 'pip install "trio-compactor[sqlite]"' in done.stdout
