"""What a store must make of its events: the surface at any time, what hides what, edits, redaction, forks."""

from __future__ import annotations

import hashlib

from ..errors import ErrorCode
from ..events import Draft, EventType, canonical, verify_chain
from ..ledger import Lease, Ledger, Origin
from ..surface import fold
from ._drafts import (
    answer,
    answering,
    asking,
    ended,
    pinned,
    placed,
    pruned,
    refused,
    rewound,
    seqs_of,
    started,
    state,
    unchanged,
    undone,
    user,
)


async def _compact(ledger: Ledger, lease: Lease, run: str, hidden: list[int]) -> int:
    """A whole run; the seq of its summary."""
    await ledger.append(lease, [started(run)])
    summary, _end = await ledger.append(lease, [placed(run, hidden), ended(run)])
    return summary.seq


async def check_folds(ours: Ledger, theirs: Ledger) -> None:
    """The surface of now and of every seq is the fold of what was written until then, for everybody."""
    name, lives = "folds", (ours, theirs, ours)
    for life, handle in enumerate(lives):
        lease = await handle.acquire(name, owner="us")
        first = await handle.append(
            lease, [user(f"{life}u"), asking(f"{life}a", f"{life}x", f"{life}y"), answering(f"{life}r", f"{life}y")]
        )
        await handle.append(lease, [pinned("r1"), pinned("r2", f"in life {life}")])
        await handle.append(lease, [answering(f"{life}s", f"{life}x", "a long text"), user(f"{life}v")])
        long = lease.surface.order[-2]
        await handle.append(lease, [pruned(long, answer(f"{life}s", f"{life}x", "cut"))])
        inner = await _compact(handle, lease, f"{life}c1", lease.surface.order[:-1])
        await handle.append(lease, [user(f"{life}w"), Draft(EventType.TURN_SHOWN, {"turn": life + 1})])
        outer = await _compact(handle, lease, f"{life}c2", lease.surface.order[:2])
        await handle.append(lease, [Draft(EventType.REQUIREMENT_UNPINNED, {"id": "r1"})])
        await handle.append(lease, [undone(outer, inner)])
        await handle.append(lease, [user(f"{life}z")])
        await handle.append(lease, [rewound(outer)])
        await handle.append(lease, [rewound(first[2].seq, 2)])
        if life < len(lives) - 1:
            await handle.append(lease, [rewound(inner), started(f"{life}c3")])
        events = await theirs.read(name)
        assert state(lease.surface) == state(fold(name, events)), "the lease's surface is the fold of what is durable"
        await handle.release(lease)
    events = await ours.read(name)
    verify_chain(events)
    for handle in (theirs, ours):
        assert state(await handle.surface_at(name)) == state(fold(name, events))
        for seq in range(len(events)):
            at = await handle.surface_at(name, seq)
            assert state(at) == state(fold(name, events[: seq + 1])), f"the surface as of event {seq}"
    at = await theirs.surface_at(name)
    at.order.clear()
    assert (await theirs.surface_at(name)).order, "what a caller does to its surface is nobody else's"
    for wrong in (-1, len(events)):
        await refused(ErrorCode.INVALID_INPUT, theirs.surface_at(name, wrong))
    await refused(ErrorCode.INVALID_INPUT, theirs.surface_at("no such session"))


async def check_edits(ours: Ledger, theirs: Ledger) -> None:
    """Restoring and rewinding: what is possible, and what is refused without a trace."""
    name = "edits"
    lease = await ours.acquire(name, owner="us")
    seqs = seqs_of(await ours.append(lease, [user(f"m{index}") for index in range(5)]))
    inner = await _compact(ours, lease, "c1", seqs[:2])
    outer = await _compact(ours, lease, "c2", [inner, seqs[2]])
    (adopted,) = await ours.append(lease, [Draft(EventType.SUMMARY_PLACED, {"id": "s", "content": "c"}, user("x").op)])
    for wrong in (
        undone(inner),
        undone(inner, outer),
        undone(outer, outer),
        undone(seqs[4]),
        undone(adopted.seq),
        undone(999),
        rewound(999),
        rewound(-1),
        rewound(lease.surface.next_seq),
        rewound(seqs[1], 3),
        rewound(seqs[1], -1),
    ):
        await unchanged(theirs, name, ours.append(lease, [user("goes with it"), wrong]), ErrorCode.LEDGER_CORRUPT)
        await unchanged(theirs, name, ours.append(lease, [wrong]), ErrorCode.LEDGER_CORRUPT)
    following = lease.surface.next_seq
    for pair in (
        [user("new"), rewound(following)],
        [rewound(0), rewound(following)],
        [placed("c3", [outer, seqs[3]]), undone(following)],
    ):
        # An edit looks back at what was durable before its transaction began.
        await unchanged(theirs, name, ours.append(lease, pair), ErrorCode.LEDGER_CORRUPT)
    await ours.append(lease, [undone(outer, inner)])
    assert lease.surface.order == [*seqs, adopted.seq], "spans come back in the place of their summaries"
    assert state(await theirs.surface_at(name)) == state(lease.surface)
    await ours.append(lease, [rewound(outer)])
    assert lease.surface.order == [outer, *seqs[3:]]
    await ours.append(lease, [rewound(seqs[3], 1)])
    assert lease.surface.order == seqs[:3]
    assert state(await theirs.surface_at(name)) == state(lease.surface)
    await ours.release(lease)


async def check_hiding(ours: Ledger, theirs: Ledger) -> None:
    """What hides an event now, one step up; nothing where it is shown, or was rewound away."""
    name = "hiding"
    lease = await ours.acquire(name, owner="us")
    seqs = seqs_of(await ours.append(lease, [user(f"m{index}") for index in range(4)]))

    async def hiding() -> list[int | None]:
        found = [await theirs.hiding(name, seq) for seq in seqs]
        assert found == [await ours.hiding(name, seq) for seq in seqs]
        return found

    assert await hiding() == [None] * 4
    inner = await _compact(ours, lease, "c1", seqs[:2])
    assert await hiding() == [inner, inner, None, None]
    outer = await _compact(ours, lease, "c2", [inner, seqs[2]])
    assert await hiding() == [inner, inner, outer, None]
    assert await theirs.hiding(name, inner) == outer
    assert await theirs.hiding(name, outer) is None
    assert await theirs.hiding(name, 0) is None
    await ours.append(lease, [undone(outer)])
    assert await hiding() == [inner, inner, None, None]
    assert await theirs.hiding(name, inner) is None
    await ours.append(lease, [rewound(seqs[3])])
    assert await hiding() == [None] * 4
    await ours.append(lease, [rewound(outer)])
    assert await hiding() == [inner, inner, outer, None]
    await ours.append(lease, [rewound(0)])
    assert await hiding() == [None] * 4
    await ours.append(lease, [rewound(seqs[3])])
    other = await _compact(ours, lease, "c3", seqs[1:3])
    assert await hiding() == [None, other, other, None]
    await ours.release(lease)
    await theirs.release(await theirs.acquire(name, owner="them"))
    assert await hiding() == [None, other, other, None]


async def check_pruning(ours: Ledger, theirs: Ledger) -> None:
    """A pruned result takes the place of exactly one result, and changes nothing but its content."""
    name = "pruning"
    lease = await ours.acquire(name, owner="us")
    written = await ours.append(
        lease, [user("m0"), asking("m1", "a", "b"), answering("m2", "a", "a long text"), answering("m3", "b", "another")]
    )
    shown, asked, first, second = seqs_of(written)
    data = answer("m2", "a", "cut")
    for wrong in (
        pruned(shown, {"id": "m0", "role": "user", "content": "cut"}),
        pruned(asked, {"id": "m1", "role": "assistant", "content": []}),
        pruned(first, {**data, "isError": True}),
        pruned(first, {**data, "toolCallId": "b"}),
        pruned(first, {**data, "id": "m9"}),
        pruned(first, {key: value for key, value in data.items() if key != "toolName"}),
        pruned(second, data),
        placed("c", [first, second]),
        pruned(999, data),
    ):
        await unchanged(theirs, name, ours.append(lease, [wrong]), ErrorCode.LEDGER_CORRUPT)
    both = Draft(EventType.TOOL_RESULT_PRUNED, data, placed("c", [first, second]).op, (first, second))
    await unchanged(theirs, name, ours.append(lease, [both]), ErrorCode.LEDGER_CORRUPT)
    short, other = await ours.append(lease, [pruned(first, data), pruned(second, answer("m3", "b", "cut"))])
    assert lease.surface.order == [shown, asked, short.seq, other.seq]
    (shorter,) = await ours.append(lease, [pruned(short.seq, answer("m2", "a", ""))])
    summary = await _compact(ours, lease, "c1", [shown, asked, shorter.seq, other.seq])
    assert await theirs.find(name, "message:m2") == first, "the name stays with what was appended"
    await ours.append(lease, [undone(summary)])
    assert lease.surface.order == [shown, asked, shorter.seq, other.seq], "what was pruned stays pruned"
    assert state(await theirs.surface_at(name)) == state(lease.surface)
    await ours.release(lease)


async def check_redaction(ours: Ledger, theirs: Ledger) -> None:
    """The data of one event are gone for everybody; its place, its names and the chain stay."""
    name = "redaction"
    lease = await ours.acquire(name, owner="us")
    shown, leaked, _third = await ours.append(lease, [user("m0"), user("m1", "TOP-SECRET"), user("m2")])
    surface = state(lease.surface)
    reason, tomb = Draft(EventType.DATA_REDACTED, {"reason": "a key leaked"}), canonical({"id": "m1", "content": "gone"})
    for wrong in (-1, lease.surface.next_seq, 999):
        await unchanged(theirs, name, ours.redact(lease, wrong, tomb, reason), ErrorCode.INVALID_INPUT)
    bad = Draft(EventType.DATA_REDACTED, {}, reason.op or user("x").op)
    await unchanged(theirs, name, ours.redact(lease, leaked.seq, tomb, bad), ErrorCode.LEDGER_CORRUPT)
    assert state(lease.surface) == surface
    event = await ours.redact(lease, leaked.seq, tomb, reason)
    events = await theirs.read(name)
    assert events[-1] == event
    assert event.data == reason.data, "the reason is an event"
    verify_chain(events)
    assert not any(b"TOP-SECRET" in each.body for each in events), "the bytes are gone"
    kept = events[leaked.seq]
    assert (kept.body, kept.digest) == (tomb, leaked.digest), "a tombstone, in the same place of the chain"
    assert kept.redacted == hashlib.sha256(leaked.body).digest()
    assert await theirs.find(name, "message:m1") == leaked.seq
    assert state(await theirs.surface_at(name)) == state(lease.surface) == state(fold(name, events))
    assert lease.surface.order[:2] == [shown.seq, leaked.seq]
    again = canonical({"id": "m1"})
    await ours.redact(lease, leaked.seq, again, reason)
    events = await theirs.read(name)
    verify_chain(events)
    assert (events[leaked.seq].body, events[leaked.seq].redacted) == (again, kept.redacted), "the first digest counts"
    await ours.release(lease)
    await refused(ErrorCode.FENCED, ours.redact(lease, shown.seq, tomb, reason))
    later = await theirs.acquire(name, owner="them")
    assert later.surface.order == [shown.seq, leaked.seq, _third.seq]
    await theirs.release(later)
    verify_chain(await ours.read(name))


async def check_forks(ours: Ledger, theirs: Ledger) -> None:
    """A fork begins with a copy of a prefix, under its own name; what comes later is nobody else's."""
    parent = await ours.acquire("parent", owner="us")
    seqs = seqs_of(await ours.append(parent, [user(f"m{index}", "TOP-SECRET" if index == 1 else "x") for index in range(4)]))
    await ours.redact(parent, seqs[1], canonical({"id": "m1"}), Draft(EventType.DATA_REDACTED, {}))
    await ours.append(parent, [pinned("r")])
    summary = await _compact(ours, parent, "c1", seqs[:2])
    at = parent.surface.next_seq - 1
    await ours.append(parent, [started("c2"), user("m9")])
    before = await ours.read("parent")
    for origin in (Origin("parent", len(before)), Origin("parent", -1), Origin("no such session", 0)):
        await refused(ErrorCode.INVALID_INPUT, theirs.acquire("child", owner="them", origin=origin))
    await refused(ErrorCode.INVALID_INPUT, theirs.acquire("../etc", owner="them", origin=Origin("parent", at)))
    assert await theirs.read("child") == (), "a refused fork leaves no session"
    child = await theirs.acquire("child", owner="them", origin=Origin("parent", at))
    events = await ours.read("child")
    verify_chain(events)
    assert len(events) == at + 2
    opening = events[-1]
    assert opening.type is EventType.SESSION_OPENED
    named = {"session": "parent", "seq": at, "digest": before[at].digest.hex()}
    assert opening.data["parent"] == named, "it remembers its parent"
    assert child.epoch == opening.epoch == before[at].epoch + 1
    for old, new in zip(before[: at + 1], events, strict=False):
        assert (old.seq, old.type, old.body, old.op, old.redacted) == (new.seq, new.type, new.body, new.op, new.redacted)
        assert new.session_id == "child"
    assert child.surface.order == [summary, *seqs[2:]]
    assert state(child.surface) == state(fold("child", events)) == state(await ours.surface_at("child"))
    for name in ("message:m0", "message:m3", "start:c1", "summary:c1", "end:c1"):
        assert await ours.find("child", name) == await ours.find("parent", name) is not None, "names are carried over"
    assert await ours.find("child", "message:m9") is None
    assert await ours.hiding("child", seqs[0]) == summary
    await unchanged(ours, "child", theirs.append(child, [user("m0")]), ErrorCode.INVALID_INPUT)
    await theirs.append(child, [user("m9"), undone(summary)])
    assert child.surface.order[:2] == seqs[:2], "its own undo reaches back behind the fork"
    assert await ours.read("parent") == before, "a fork leaves its parent alone"
    await theirs.release(child)
    await unchanged(ours, "child", theirs.acquire("child", owner="them", origin=Origin("parent", at)), ErrorCode.INVALID_INPUT)
    last = await theirs.acquire("grandchild", owner="them", origin=Origin("child", len(await ours.read("child")) - 1))
    verify_chain(await ours.read("grandchild"))
    assert last.surface.order == (await ours.surface_at("child")).order
    await theirs.release(last)
    await ours.release(parent)
