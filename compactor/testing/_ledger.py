"""``check_ledger``: the executable definition of the ``Ledger`` protocol. Here: owners, writes, names, cancellation."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from ..errors import ErrorCode
from ..events import APPEND, Draft, EventType, Replace, verify_chain
from ..ledger import Lease, Ledger, NamesTakenError, Origin
from ..searching import read_query
from ..surface import fold
from ._cutting import Cutter
from ._drafts import answering, asking, ended, pinned, placed, refused, rewound, seqs_of, started, state, unchanged, user
from ._finding import check_searching
from ._folds import check_edits, check_folds, check_forks, check_hiding, check_pruning, check_redaction

WRONG = (
    Draft(EventType.MESSAGE_APPENDED, {"id": "x"}),
    Draft(EventType.REQUIREMENT_PINNED, {"id": "r", "content": "c"}, APPEND),
    Draft(EventType.SUMMARY_PLACED, {"id": "s", "content": "c", "hidden": [[0, 1]]}, Replace(0, 1), (0, 1)),
    ended("never started"),
)
"""Each breaks a rule of the surface, whatever was written before."""


async def check_ledger(open_handle: Callable[[], Awaitable[Ledger]]) -> None:
    """Assert that a store keeps to the ``Ledger`` protocol. *open_handle* gives a new handle on the same, empty ledger.

    Always with two handles, as two processes would have: what holds only inside one object is not a ledger.
    """
    ours, theirs = await open_handle(), await open_handle()
    assert await theirs.sessions() == ()
    for check in (
        _check_lives,
        _check_appending,
        _check_names,
        _check_runs,
        check_folds,
        check_edits,
        check_hiding,
        check_pruning,
        check_redaction,
        check_forks,
        check_searching,
        _check_sessions,
        _check_cancellation,
        _check_cuts,
    ):
        await check(ours, theirs)


async def _check_lives(ours: Ledger, theirs: Ledger) -> None:
    assert await theirs.read("lives") == ()
    lease = await ours.acquire("lives", owner="the first owner")
    busy = await refused(ErrorCode.BUSY, theirs.acquire("lives", owner="the second owner"))
    assert "the first owner" in str(busy), "busy must name the owner"
    await refused(ErrorCode.BUSY, ours.acquire("lives", owner="the same process"))
    await ours.release(lease)
    await refused(ErrorCode.FENCED, ours.append(lease, [user("after release")]))
    second = await theirs.acquire("lives", owner="the second owner")
    assert second.epoch == lease.epoch + 1, "a new life, a new epoch"
    third = await ours.acquire("lives", owner="a takeover", takeover=True)
    await refused(ErrorCode.FENCED, theirs.append(second, [user("from a paused owner")]))
    await refused(ErrorCode.FENCED, theirs.redact(second, 0, b"{}", pinned("from a paused owner")))
    await theirs.release(second)
    await ours.append(third, [user("the new owner goes on")])
    events = await theirs.read("lives")
    opened = [event for event in events if event.type is EventType.SESSION_OPENED]
    assert [event.epoch for event in opened] == [1, 2, 3], "every life begins with an event"
    await refused(ErrorCode.INVALID_INPUT, ours.acquire("../etc", owner="nobody"))
    await ours.release(third)
    await ours.release(third)


async def _check_appending(ours: Ledger, theirs: Ledger) -> None:
    lease = await ours.acquire("appends", owner="us")
    odd = {
        "id": "m1",
        "role": "user",
        "content": "\ud800 \u2028 \U0001f600",
        "meta": {"big": 2**70, "float": 1e-7, "deep": [[{}]]},
    }
    written = await ours.append(lease, [user("m0"), Draft(EventType.MESSAGE_APPENDED, odd, APPEND)])
    read = await theirs.read("appends")
    assert read[-2:] == written, "what was acknowledged is there, for everybody"
    assert read[-1].data == odd, "data come back without loss"
    assert seqs_of(read) == list(range(len(read))), "seqs have no gaps"
    assert await theirs.read("appends", 1, 2) == read[1:2]
    assert await theirs.read("appends", 2) == read[2:]
    assert await theirs.read("appends", 9, 12) == (), "there is nothing behind the end"
    verify_chain(read)
    assert state(fold("appends", read)) == state(lease.surface), "the lease's surface is the fold of what is durable"
    for wrong in WRONG:
        await unchanged(theirs, "appends", ours.append(lease, [user("goes with it"), wrong]), ErrorCode.LEDGER_CORRUPT)
    assert state(lease.surface) == state(fold("appends", read)), "a refused batch leaves the lease as it was"
    assert await ours.append(lease, []) == (), "nothing to write is nothing written"
    assert await theirs.read("appends") == read
    await ours.release(lease)


async def _check_names(ours: Ledger, theirs: Ledger) -> None:
    """A name belongs to one event, for ever: hidden, rewound away, in later lives."""
    lease = await ours.acquire("names", owner="us")
    (first, second, *_rest) = await ours.append(
        lease, [user("m0"), asking("m1", "a", "b"), answering("m2", "a"), answering("m3", "b")]
    )
    (shown,) = await ours.append(lease, [Draft(EventType.TURN_SHOWN, {"turn": 1})])
    names = {"message:m0": first.seq, "message:m1": second.seq, "call:a": second.seq, "call:b": second.seq, "turn:1": shown.seq}

    async def found(handle: Ledger) -> dict[str, int | None]:
        return {name: await handle.find("names", name) for name in names}

    assert await found(ours) == await found(theirs) == names
    for nothing in ("message:m9", "call:m0", "m0", "records", "", "message:M0", "message:%"):
        assert await theirs.find("names", nothing) is None, "a name that nobody has"
    assert await theirs.find("no such session", "message:m0") is None

    async def taken(lease: Lease, handle: Ledger, drafts: list[Draft]) -> dict[str, int]:
        error = await unchanged(theirs, "names", handle.append(lease, drafts), ErrorCode.INVALID_INPUT)
        assert isinstance(error, NamesTakenError), "a name that is taken is told"
        assert await found(theirs) == names
        return error.taken

    assert await taken(lease, ours, [user("new"), user("m0")]) == {"message:m0": first.seq}
    both = {"call:a": second.seq, "message:m0": first.seq}
    assert await taken(lease, ours, [asking("new", "a", "fresh"), user("m0")]) == both, "all that are taken, at once"
    assert await theirs.find("names", "message:new") is None, "a refused batch leaves no names"
    assert await theirs.find("names", "call:fresh") is None
    following = lease.surface.next_seq
    assert await taken(lease, ours, [user("twice"), user("twice")]) == {"message:twice": following}, "nor two of one batch"
    await ours.append(lease, [user("new"), asking("fresh", "fresh"), answering("answer", "fresh")])
    run = lease.surface.order[:4]
    marker, summary, end = await ours.append(lease, [started("c1"), placed("c1", run), ended("c1")])
    names |= {"start:c1": marker.seq, "summary:c1": summary.seq, "end:c1": end.seq}
    assert await taken(lease, ours, [user("m0")]) == {"message:m0": first.seq}, "hidden messages keep their names"
    assert await taken(lease, ours, [started("c1")]) == {"start:c1": marker.seq}
    await ours.append(lease, [rewound(0)])
    assert await taken(lease, ours, [user("m0")]) == {"message:m0": first.seq}, "and those that were rewound away"
    await ours.release(lease)
    again = await theirs.acquire("names", owner="them")
    assert await taken(again, theirs, [user("m0")]) == {"message:m0": first.seq}, "and those of earlier lives"
    await theirs.release(again)
    assert await found(ours) == names


async def _check_runs(ours: Ledger, theirs: Ledger) -> None:
    lease = await ours.acquire("runs", owner="us")
    seqs = seqs_of(await ours.append(lease, [user(f"m{index}") for index in range(4)]))
    await ours.append(lease, [started("c1")])
    assert lease.surface.orphan() == "c1", "a start marker without an end is visible"
    await unchanged(
        theirs, "runs", ours.append(lease, [placed("c1", seqs[:2]), ended("c1"), ended("c1")]), ErrorCode.LEDGER_CORRUPT
    )
    summary, _end = await ours.append(lease, [placed("c1", seqs[:2]), ended("c1")])
    assert lease.surface.order == [summary.seq, *seqs[2:]], "the summary stands where its span stood"
    assert lease.surface.orphan() is None
    await unchanged(theirs, "runs", ours.append(lease, [ended("c1")]), ErrorCode.LEDGER_CORRUPT)
    await ours.append(lease, [started("c2")])
    await ours.release(lease)
    again = await theirs.acquire("runs", owner="them")
    assert again.surface.order == [summary.seq, *seqs[2:]], "another owner folds the same surface"
    assert again.surface.orphan() is None, "the marker of an earlier life is a trace, and blocks nothing"
    await unchanged(ours, "runs", theirs.append(again, [ended("c2")]), ErrorCode.LEDGER_CORRUPT)
    await theirs.release(again)


async def _check_sessions(ours: Ledger, theirs: Ledger) -> None:
    begun = [info.id for info in await theirs.sessions()]
    lease = await ours.acquire("0.first-by-name", owner="us")
    (event,) = await ours.append(lease, [user("m0")])
    infos = await theirs.sessions()
    assert [info.id for info in infos] == [*begun, "0.first-by-name"], "in the order of their beginning"
    (info,) = [info for info in infos if info.id == "0.first-by-name"]
    events = await theirs.read(info.id)
    assert (info.events, info.epoch) == (len(events), lease.epoch)
    assert (info.began, info.changed) == (events[0].time, event.time)
    await ours.release(lease)


def _methods(ours: Ledger, theirs: Ledger, lease: Lease) -> list[Callable[[], Awaitable[Any]]]:
    """Every method but ``release``, which has to work in a cancelled scope."""
    name = lease.session_id
    return [
        lambda: ours.append(lease, [user("never")]),
        lambda: ours.redact(lease, 1, b"{}", pinned("never")),
        lambda: theirs.read(name),
        lambda: theirs.surface_at(name),
        lambda: theirs.surface_at(name, 0),
        lambda: theirs.find(name, "message:m0"),
        lambda: theirs.hiding(name, 1),
        lambda: theirs.search(name, read_query("x"), 5),
        lambda: theirs.index(name),
        theirs.sessions,
        lambda: theirs.acquire("never", owner="nobody"),
        lambda: theirs.acquire(name, owner="nobody", takeover=True),
        lambda: theirs.acquire("never", owner="nobody", origin=Origin(name, 1)),
    ]


async def _check_cancellation(ours: Ledger, theirs: Ledger) -> None:
    """Every method meets a checkpoint before it does anything; giving up a session works in spite of it."""
    lease = await ours.acquire("cancelled", owner="us")
    await ours.append(lease, [user("m0")])
    before = await theirs.read("cancelled")
    for attempt in _methods(ours, theirs, lease):
        with trio.CancelScope() as scope:
            scope.cancel()
            await attempt()
        assert scope.cancelled_caught, "a method that does not notice that it was cancelled"
        assert await theirs.read("cancelled") == before
    assert "never" not in [info.id for info in await theirs.sessions()]
    await ours.append(lease, [user("m1")])
    with trio.CancelScope() as scope:
        scope.cancel()
        await ours.release(lease)
    await theirs.release(await theirs.acquire("cancelled", owner="them"))


async def _check_cuts(ours: Ledger, theirs: Ledger) -> None:
    """Cancelled one step later each time: raised means that nothing was recorded, returned that it was."""
    lease = await ours.acquire("cuts", owner="us")
    await ours.append(lease, [user("m0", "to redact")])

    async def written(at: int) -> bool:
        return await theirs.find("cuts", f"message:cut{at}") is not None

    async def redacted(at: int) -> bool:
        return any(event.data.get("at") == at for event in await theirs.read("cuts"))

    async def forked(at: int) -> bool:
        return f"cut{at}" in [info.id for info in await theirs.sessions()]

    async def fork(at: int) -> None:
        await theirs.release(await ours.acquire(f"cut{at}", owner="us", origin=Origin("cuts", 1)))

    cut = 0
    cut += await _cut_everywhere(lambda at: ours.append(lease, [user(f"cut{at}")]), written)
    cut += await _cut_everywhere(
        lambda at: ours.redact(lease, 1, b'{"id":"m0"}', Draft(EventType.DATA_REDACTED, {"at": at})), redacted
    )
    cut += await _cut_everywhere(fork, forked)
    assert cut, "not one cancellation met its method"
    assert state(lease.surface) == state(fold("cuts", await theirs.read("cuts")))
    await ours.release(lease)


async def _cut_everywhere(attempt: Callable[[int], Awaitable[Any]], recorded: Callable[[int], Awaitable[bool]]) -> int:
    """Count the attempts that raised Cancelled."""
    raised = 0
    for at in itertools.count(1):
        cutter, done = Cutter(at), False
        trio.lowlevel.add_instrument(cutter)
        try:
            with cutter.scope:
                cutter.arm()
                await attempt(at)
                done = True
            cutter.disarm()
        finally:
            trio.lowlevel.remove_instrument(cutter)
        assert await recorded(at) is done, f"cancelled at step {at}: raised must mean not recorded, and the reverse"
        raised += not done
        if not cutter.fired:
            assert done
            return raised
    raise AssertionError
