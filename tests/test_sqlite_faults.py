"""What the disk can do to a ledger file: errors at every call, a full disk, flipped bits. Never a false answer."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import attrs
import pytest
from sqlite_kit import CALLS, WRITES, Fault, Faults, copied, placed, user

from compactor import UserMessage, open_session
from compactor.errors import CompactionError, ErrorCode
from compactor.events import Draft, EventType, canonical, verify_chain
from compactor.searching import read_query
from compactor.stores._ledger import SqliteLedger
from compactor.stores._writing import UnknownOutcomeError
from compactor.stores.sqlite import open_store
from compactor.surface import fold

THOROUGH = "COMPACTOR_THOROUGH" in os.environ
"""Every fault at every call, and 1,500 flipped bits: a minute. Else the last four kinds at every fourth call."""
STABLE = {
    ErrorCode.PERSISTENCE_FAILED,
    ErrorCode.FILE_UNREADABLE,
    ErrorCode.COMMIT_UNKNOWN,
}
"""What an error of the disk may be told as."""


class Life:
    """One owner's life, in which anything may fail: what it was told, and what it was not."""

    def __init__(self, path: Path, faults: Faults) -> None:
        self.path, self.faults = path, faults
        self.told: list[bytes] = []
        """What the ledger said it has, in order."""
        self.unknown: list[bytes] | None = None
        """What may be there, or not, behind it."""
        self.errors: list[CompactionError | UnknownOutcomeError] = []
        self.dead: Path | None = None
        """The files as they were after the first fault, and what then has to be in them."""
        self.expected: list[list[bytes]] = []

    async def attempt(self, work: Any, bodies: list[bytes] | None = None) -> Any:
        """Do something; whatever it raises must be one of two kinds."""
        fired = self.faults.fired
        before = list(self.told)
        after = [[*before, *(bodies or [])]]
        try:
            return await work()
        except (CompactionError, UnknownOutcomeError) as error:
            self.errors.append(error)
            if isinstance(error, CompactionError):
                assert error.code in STABLE, error
                assert str(self.path) in error.where, error
                assert error.fix
            after = (
                [before]
                if isinstance(error, CompactionError) and error.code is not ErrorCode.COMMIT_UNKNOWN
                else [before, *after]
            )
            return None
        finally:
            if self.faults.fired > fired and self.dead is None:
                self.dead, self.expected = copied(self.path, self.path.parent / "dead"), after

    async def write(self, ledger: SqliteLedger, lease: Any, drafts: list[Draft]) -> None:
        """Append, once more when it was refused."""
        bodies = [canonical(draft.data) for draft in drafts]
        for _ in range(2):
            count = len(self.errors)
            if await self.attempt(lambda: ledger.append(lease, drafts), bodies) is not None:
                self.told += bodies
                return
            assert len(self.errors) == count + 1
            if isinstance(self.errors[-1], UnknownOutcomeError):
                self.unknown = bodies
                return

    async def run(self) -> None:
        self.faults.armed = True
        for _ in range(2):
            ledger = await self.attempt(lambda: SqliteLedger.open(self.path, vfs=self.faults.vfs))
            if ledger is not None:
                break
        else:
            return
        try:
            await self.live(ledger)
        finally:
            await ledger.aclose()
            self.faults.armed = False

    async def live(self, ledger: SqliteLedger) -> None:
        for _ in range(2):
            lease = await self.attempt(lambda: ledger.acquire("s", owner="us"))
            if lease is not None:
                break
        else:
            return
        self.told.append(canonical({"owner": "us"}))
        await self.write(ledger, lease, [user("m1"), user("m2")])
        await self.write(ledger, lease, [user("m3", "secret")])
        order = list(lease.surface.order)
        if len(order) == 3 and self.unknown is None:
            await self.write(ledger, lease, placed("c1", order[:2]))
            await self.attempt(lambda: ledger.index("s"))
            await self.attempt(lambda: ledger.search("s", read_query("x"), 5))
        await self.attempt(lambda: ledger.surface_at("s", 0))
        await self.write(ledger, lease, [user("m4")])
        if self.unknown is None:
            assert [event.body for event in (await self.attempt(lambda: ledger.read("s"))) or ()] in ([], self.told)
        await ledger.release(lease)

    async def check(self, path: Path) -> None:
        """What is there when the file is opened again, on a disk that works."""
        ledger = await open_store(path)
        try:
            events = await ledger.read("s")
            verify_chain(events)
            assert attrs.asdict(await ledger.surface_at("s")) == attrs.asdict(fold("s", events)) if events else True
            found = [event.body for event in events]
            # Owners who could not be told that their life had begun leave a trace of it.
            lives = canonical({"owner": "us"})
            assert [body for body in found if body != lives] in self.possible(lives)
            assert await ledger.verify_file() == ()
            lease = await ledger.acquire("s", owner="the next")
            await ledger.append(lease, [user("m9")])
            await ledger.release(lease)
        finally:
            await ledger.aclose()

    def possible(self, lives: bytes) -> list[list[bytes]]:
        told = [body for body in self.told if body != lives]
        return [told] if self.unknown is None else [told, told + self.unknown]


@pytest.mark.parametrize("once", [True, False], ids=["once", "for good"])
@pytest.mark.parametrize("fault", ["EIO", "ENOSPC", "EROFS"])
async def test_an_error_of_the_disk_at_every_call_leaves_the_state_before_or_after(
    tmp_path: Path, fault: Fault, once: bool
) -> None:
    seen, outcomes = 0, set()
    for at in range(1, 2_000, 1 if THOROUGH or (fault, once) == ("EIO", True) else 4):
        directory = tmp_path / str(at)
        directory.mkdir()
        faults = Faults(at, fault, once=once, calls=CALLS if fault == "EIO" else WRITES)
        life = Life(directory / "a.ledger", faults)
        await life.run()
        if not faults.fired:
            assert not life.errors
            break
        seen += 1
        outcomes |= {error.code if isinstance(error, CompactionError) else "unknown" for error in life.errors}
        if life.path.exists():
            await life.check(life.path)
        if life.dead is not None and life.dead.exists():
            await died(life, life.dead)
        shutil.rmtree(directory)
    assert seen > 15, "the injector did not reach the calls"
    assert ErrorCode.PERSISTENCE_FAILED in outcomes


async def died(life: Life, path: Path) -> None:
    """The process died right after the fault: what had been refused until then must not come back with the log."""
    ledger = await open_store(path)
    try:
        events = await ledger.read("s")
        verify_chain(events)
        bodies = [event.body for event in events if event.type is not EventType.SESSION_OPENED]
        lives = canonical({"owner": "us"})
        assert bodies in [[body for body in possible if body != lives] for possible in life.expected]
    finally:
        await ledger.aclose()


# ------------------------------------------------------------------------------------------------------------ bit rot


async def _answers(path: Path) -> Any:
    """Everything that a replay is made of."""
    ledger = await open_store(path, read_only=True)
    try:
        found: list[Any] = [await ledger.sessions()]
        for name in ("one", "two", "three"):
            events = await ledger.read(name)
            surfaces = [await ledger.surface_at(name, seq) for seq in (None, 3, len(events) - 2)]
            found += [events, *map(attrs.asdict, surfaces)]
        return found
    finally:
        await ledger.aclose()


async def _grown(path: Path) -> None:
    ledger = await open_store(path, durability="normal")
    for name in ("one", "two", "three"):
        lease = await ledger.acquire(name, owner="us")
        for number in range(40):
            await ledger.append(lease, [user(f"m{number}-{index}", f"text {index} of {number} " * 3) for index in range(8)])
        await ledger.append(lease, placed("c1", lease.surface.order[:200]))
        await ledger.append(lease, placed("c2", lease.surface.order[:10]))
        await ledger.redact(
            lease, 5, canonical({"id": "m0-4", "role": "user", "content": "[redacted]"}), Draft(EventType.DATA_REDACTED, {})
        )
        await ledger.index(name)
        await ledger.release(lease)
    await ledger.aclose()


async def test_a_flipped_bit_is_an_error_with_its_place_or_changes_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    await _grown(path)
    whole, right = path.read_bytes(), await _answers(path)
    choose = random.Random(7)
    damaged = tmp_path / "b.ledger"
    caught = 0
    count = 1_500 if THOROUGH else 300
    for _ in range(count):
        at = choose.randrange(len(whole) * 8)
        data = bytearray(whole)
        data[at // 8] ^= 1 << at % 8
        damaged.write_bytes(data)
        try:
            assert await _answers(damaged) == right, f"bit {at} of {path} changed an answer"
        except CompactionError as error:
            assert error.code in (ErrorCode.LEDGER_CORRUPT, ErrorCode.FILE_UNREADABLE), error
            assert str(damaged) in error.where
            caught += 1
        for suffix in ("-wal", "-shm"):
            Path(f"{damaged}{suffix}").unlink(missing_ok=True)
    assert caught > count / 10


@pytest.mark.parametrize("table", ["names", "folds", "spans", "sessions"])
async def test_a_changed_projection_is_found_by_the_check_of_the_file(tmp_path: Path, table: str) -> None:
    import apsw

    path = tmp_path / "a.ledger"
    await _grown(path)
    ledger = await open_store(path)
    assert await ledger.verify_file() == ()
    await ledger.aclose()
    with apsw.Connection(str(path)) as connection:
        change = {
            "names": "DELETE FROM names WHERE (session, hash) = (SELECT session, hash FROM names LIMIT 1)",
            "folds": "UPDATE folds SET state = cast(replace(state, '\"turns\":0', '\"turns\":1') AS BLOB)",
            "spans": "DELETE FROM spans WHERE last = (SELECT max(last) FROM spans)",
            "sessions": "UPDATE sessions SET epoch = epoch + 1 WHERE id = 2",
        }[table]
        connection.execute(change)
        assert connection.changes()
    connection.close()
    ledger = await open_store(path, read_only=True)
    faults = await ledger.verify_file()
    await ledger.aclose()
    assert len(faults) >= 1


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
async def test_a_session_is_told_what_became_of_its_append_and_serves_what_it_had(tmp_path: Path, lasting: bool) -> None:
    faults = Faults(1, once=not lasting, calls=("xSync",) if not lasting else ("xSync", "xWrite"))
    ledger = await SqliteLedger.open(tmp_path / "a.ledger", vfs=faults.vfs)
    async with open_session(ledger, session_id="s", auto=False) as session:
        await session.append(UserMessage("hello", id="m1"))
        before = session.context
        faults.armed = True
        with pytest.raises(CompactionError) as caught:
            await session.append(UserMessage("lost", id="m2"))
        assert caught.value.code is (ErrorCode.COMMIT_UNKNOWN if lasting else ErrorCode.PERSISTENCE_FAILED)
        assert session.context is before
        if not lasting:
            await session.append(UserMessage("lost", id="m2"))
        faults.armed = False
    await ledger.aclose()
    async with open_session(tmp_path / "a.ledger", session_id="s", auto=False) as session:
        assert session.context.messages.ids[0] == "m1"
        await session.append(UserMessage("lost", id="m2"))
        assert session.context.messages.ids == ("m1", "m2"), "what may have been recorded is appended once"
