"""Whatever a session did, every projection of its ledger is, at every past moment, what a naive model says it was.

The same machine runs against planted mutants of the fold, the history, the edits and the store.
"""

from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import Naive, Plain, calls_of, seq_of
from scenes import BUDGET, Swap, Waiting, conversation, good

from compactor import edits, history, surface
from compactor.compaction import compact_context
from compactor.context import build_live_context, record_to_plain
from compactor.errors import CompactionError, ErrorCode
from compactor.events import APPEND, Draft, EventType, Replace, Restore, Rewind, verify_chain
from compactor.formats import render_request
from compactor.history import context_at, load, originals
from compactor.messages import message_to_plain
from compactor.outcomes import Committed, Failed
from compactor.plain import SESSION_LIMITS
from compactor.session import open_session
from compactor.stores import MemoryLedger
from compactor.stores.sqlite import open_store
from compactor.surface import Log, Surface, fold

FORMAT = "openai-chat"
OPS = (
    *["append"] * 4,
    *["round"] * 4,
    *["compact"] * 4,
    *["undo", "rewind", "turn", "pin"] * 2,
    *["late", "ask", "answer", "retry", "prune", "fail", "cancel", "close"],
    *["unpin", "fork", "redact", "reopen", "takeover", "refuse", "refuse drafts"],
)
PROGRAMS = st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 999)), min_size=12, max_size=40)
Another = Callable[[], Awaitable[Any]]


def plain_user(name: str, size: int) -> Plain:
    return {"id": name, "role": "user", "content": "x" * size}


def plain_asking(name: str, calls: list[str]) -> Plain:
    blocks = [{"type": "toolCall", "id": call, "name": "tool", "arguments": {"n": 1}} for call in calls]
    return {"id": name, "role": "assistant", "content": [{"type": "text", "text": "hm"}, *blocks]}


def plain_answer(name: str, call: str, size: int) -> Plain:
    head = {"id": name, "role": "toolResult", "toolCallId": call, "toolName": "tool"}
    return {**head, "content": "y" * size, "isError": False}


def built(context: Plain) -> Any:
    return build_live_context(context, limits=SESSION_LIMITS)


@attrs.define
class World:
    """One ledger under two handles, the sessions in it as the naive model has them, and the one that is open."""

    ledger: Any
    other: Any
    swap: Swap = attrs.field(factory=lambda: Swap(good))
    number: int = 0
    models: dict[str, Naive] = attrs.field(factory=lambda: {"s": Naive("s")})
    id: str = "s"
    session: Any = None
    ran: set[str] = attrs.field(factory=set)
    """The steps that did what they are for."""

    @property
    def model(self) -> Naive:
        return self.models[self.id]

    def fresh(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}"

    # ------------------------------------------------------------------------------------------------- the steps

    async def _append(self, *given: Plain) -> None:
        kept = await self.session.append(*copy.deepcopy(given))
        for each, message in zip(given, kept, strict=True):
            plain = message_to_plain(message)
            self._same_but_for_names(each, plain)
            self.model.appended(each, plain)

    def _same_but_for_names(self, given: Plain, kept: Plain) -> None:
        """Calls may have been renamed, to names that nobody had; nothing else changes."""
        renamed = kept.get("meta", {}).get("renamedCalls", {})
        assert not set(calls_of(kept)) & {name.partition(":")[2] for name in self.model.names if name.startswith("call:")}
        back = {key: value for key, value in copy.deepcopy(kept).items() if key != "meta"}
        for block in back["content"] if given["role"] == "assistant" else ():
            if block["type"] == "toolCall":
                block["id"] = renamed.get(block["id"], block["id"])
        if given["role"] == "toolResult":
            back["toolCallId"] = renamed.get(back["toolCallId"], back["toolCallId"])
        assert back == given

    async def append(self, n: int) -> None:
        await self._append(*[plain_user(self.fresh("w"), 30 + n % 70) for _ in range(1 + n % 3)])

    async def round(self, n: int) -> None:
        calls = [f"c{(n + index) % 5}" for index in range(1 + n % 2)]
        asked = plain_asking(self.fresh("a"), calls)
        if n % 3:
            await self._append(asked)
            await self._append(*[plain_answer(self.fresh("t"), call, n % 50) for call in calls])
        else:
            await self._append(asked, *[plain_answer(self.fresh("t"), call, n % 50) for call in calls])

    async def ask(self, n: int) -> None:
        await self._append(plain_asking(self.fresh("a"), [f"c{n % 3}", f"d{n % 3}"]))

    async def answer(self, n: int) -> None:
        waiting = self.model.open_calls(self.model.now)
        assert list(self.session.open_calls) == waiting
        if waiting:
            # The newest open call of a reused id is meant by it; every open call can be meant by its own.
            await self._append(plain_answer(self.fresh("t"), waiting[-1 - n % len(waiting)], n % 50))

    async def close(self, n: int) -> None:
        for result in await self.session.close_calls("dead"):
            self.model.appended(message_to_plain(result), message_to_plain(result))

    async def retry(self, n: int) -> None:
        """The same again is nothing; with other content, or from before a rewind, it is refused."""
        model = self.model
        if not model.given:
            return
        seq = sorted(model.given)[n % len(model.given)]
        given = copy.deepcopy(model.given[seq])
        there = model.hiding().keys() | {seq_of(tree) for tree in model.now}
        if seq in there or any(model.data[at]["id"] == given["id"] for at in there if "id" in model.data.get(at, {})):
            assert [message_to_plain(kept) for kept in await self.session.append(given)] == [model.data[seq]]
            given["content"] = [{"type": "text", "text": "other"}] if given["role"] == "assistant" else "other"
        await self.refused(lambda: self.session.append(given), ErrorCode.INVALID_INPUT, ErrorCode.INVALID_TRANSCRIPT)

    async def prune(self, n: int) -> None:
        model = self.model
        results = [tree for tree in model.now if model.data[seq_of(tree)].get("role") == "toolResult"]
        if results:
            seq = results[n % len(results)]
            data = {**model.data[seq], "content": "cut"}
            await self.ledger.append(self.session.lease, [Draft(EventType.TOOL_RESULT_PRUNED, data, Replace(seq, seq), (seq,))])
            self.session._writer.rebase(await load(self.ledger, self.id, self.session.lease.surface))
            model.pruned(seq, data)

    async def compact(self, n: int) -> None:
        """Force a compaction; the model believes of its outcome only which messages it names."""
        outcome = await self.session.compact(force=True)
        if isinstance(outcome, Committed):
            summary = {"id": outcome.record.summary_id, "content": "a good summary"}
            self.model.compacted(outcome.run_id, summary, record_to_plain(outcome.record))
            self.ran.add("compact")
        else:
            await self._ran_in_vain(outcome)

    async def _ran_in_vain(self, outcome: Any) -> None:
        assert isinstance(outcome, Failed)
        events = await self.ledger.read(self.id, len(self.model.types))
        if events and events[0].type is EventType.COMPACTION_STARTED:
            run = events[0].data["run"]
            self.model.names[f"start:{run}"] = self.model.happened("compaction/started")
            self.model.names[f"end:{run}"] = self.model.happened("compaction/ended")
            self.ran.add("failed run")

    async def late(self, n: int) -> None:
        """Append, ask, pin and show while the model summarizes; edits have to wait."""
        waiting, outcomes = Waiting(), list[Any]()
        self.swap.now = waiting

        async def run() -> None:
            outcomes.append(await self.session.compact(force=True))

        before = self.model.now
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            while not (waiting.called.is_set() or outcomes):
                await trio.lowlevel.checkpoint()
            if waiting.called.is_set():
                run_id = (await self.ledger.read(self.id, len(self.model.types)))[0].data["run"]
                self.model.names[f"start:{run_id}"] = self.model.happened("compaction/started")
                await self.append(n)
                await self.ask(n)
                await self.pin(n)
                for edit in (
                    lambda: self.session.rewind(0),
                    lambda: self.session.redact(1, "why"),
                    lambda: self.session.unpin("r"),
                ):
                    await self.refused(edit, ErrorCode.BUSY)
                waiting.told.set()
        self.swap.now = good
        (outcome,) = outcomes
        if isinstance(outcome, Committed):
            summary = {"id": outcome.record.summary_id, "content": "a good summary"}
            self.model.placed(outcome.run_id, summary, record_to_plain(outcome.record))
            assert all(tree in before for tree in self.model.now[0][1]), "only what was there when it began is hidden"
            self.ran.add("late")
        elif waiting.called.is_set():
            self.model.names[f"end:{outcome.run_id}"] = self.model.happened("compaction/ended")

    async def fail(self, n: int) -> None:
        self.swap.now = lambda _request: 1 / 0
        await self._ran_in_vain(await self.session.compact(force=True))
        self.swap.now = good

    async def cancel(self, n: int) -> None:
        async def cut(_request: object) -> None:
            scope.cancel()
            await trio.sleep_forever()

        self.swap.now = cut
        outcome = None
        with trio.CancelScope() as scope:
            outcome = await self.session.compact(force=True)
        await self._ran_in_vain(outcome or self.session.last_outcome)
        self.swap.now = good

    async def undo(self, n: int) -> None:
        model = self.model
        standing = [model.records[seq][0]["id"] for seq in model.in_force(model.now)]
        undoable = [run for run in standing if run in model.runs]
        gone = sorted(model.runs - set(standing))
        if gone:
            await self.refused(lambda: self.session.undo(gone[n % len(gone)]), ErrorCode.INVALID_INPUT)
        if undoable:
            run = undoable[n % len(undoable)]
            undone = await self.session.undo(run)
            assert list(undone.record_ids) == model.undone(run)
            self.ran |= {"undo"} | ({"nested undo"} if len(undone.record_ids) > 1 else set())

    async def rewind(self, n: int) -> None:
        seq = n % len(self.model.types)
        to = self.model.whole(seq)
        rewound = await self.session.rewind(seq)
        assert (rewound.seq, rewound.less) == (to, self.model.rewound(seq))
        self.ran |= {"rewind"} | ({"rewind drops calls"} if rewound.less else set())

    async def fork(self, n: int) -> None:
        """Another session, in which everything else goes on."""
        seq = n % len(self.model.types)
        name = self.fresh("f")
        assert await self.session.fork(seq, name) == name
        self.models[name] = self.model.forked(seq, name)
        await self.refused(lambda: self.session.fork(seq, name), ErrorCode.INVALID_INPUT)
        self.id = name

    async def pin(self, n: int) -> None:
        name = self.fresh("r")
        await self.session.pin("a rule", id=name)
        seq = self.model.happened("requirement/pinned", pins=(*self.model.pins, (name, len(self.model.types))))
        self.model.data[seq] = {"content": "a rule"}
        await self.refused(lambda: self.session.pin("again", id=name), ErrorCode.INVALID_INPUT)

    async def unpin(self, n: int) -> None:
        pins = self.model.pins
        if pins:
            gone = pins[n % len(pins)]
            await self.session.unpin(gone[0])
            self.model.happened("requirement/unpinned", pins=tuple([pin for pin in pins if pin != gone]))

    async def turn(self, n: int) -> None:
        pending = [plain_user(self.fresh("p"), 5)] if n % 2 else []
        turn = await self.session.turn(pending=[{"role": "user", "content": each["content"]} for each in pending])
        for each, message in zip(pending, turn.context.messages[len(turn.context.messages) - len(pending) :], strict=True):
            each["id"] = message.id
        if turn.outcome is not None:
            outcome = turn.outcome
            if isinstance(outcome, Committed):
                summary = {"id": outcome.record.summary_id, "content": "a good summary"}
                self.model.compacted(outcome.run_id, summary, record_to_plain(outcome.record))
            else:
                await self._ran_in_vain(outcome)
        seq = self.model.happened("turn/shown")
        self.model.names[f"turn:{turn.number}"] = seq
        assert turn.number == len(self.model.turns) + 1
        self.model.turns[turn.number] = (seq, pending, turn.render(FORMAT))

    async def redact(self, n: int) -> None:
        model, seq = self.model, n % len(self.model.types)
        told = seq in model.data or any(at == seq and pending for at, pending, _shown in model.turns.values())
        if told:
            await self.session.redact(seq, "why")
            model.redacted(seq)
            self.ran.add("redact")
        else:
            await self.refused(lambda: self.session.redact(seq, "why"), ErrorCode.INVALID_INPUT)

    async def takeover(self, n: int) -> None:
        lease = await self.other.acquire(self.id, owner="another", takeover=True)
        self.model.happened("session/opened")
        await self.refused(lambda: self.session.append(plain_user("never", 5)), ErrorCode.FENCED)
        await self.other.release(lease)

    async def refuse(self, n: int) -> None:
        for wrong, code in (
            (lambda: self.session.undo("nobody"), ErrorCode.INVALID_INPUT),
            (lambda: self.session.rewind(len(self.model.types)), ErrorCode.INVALID_INPUT),
            (lambda: self.session.unpin("nobody"), ErrorCode.INVALID_INPUT),
            (lambda: self.session.append(plain_user("new", 5), plain_answer("t", "nobody", 5)), ErrorCode.INVALID_TRANSCRIPT),
            (lambda: self.session.append(plain_user("new", 5), 7), ErrorCode.INVALID_INPUT),
            (lambda: self.session.redact(len(self.model.types), "why"), ErrorCode.INVALID_INPUT),
            (lambda: self.session.turn(pending=[plain_answer("t", "nobody", 5)]), ErrorCode.INVALID_TRANSCRIPT),
        ):
            await self.refused(wrong, code)

    async def refuse_drafts(self, n: int) -> None:
        """Past the session, as a bug in it would: the ledger keeps its rules itself."""
        model = self.model
        fresh = Draft(EventType.MESSAGE_APPENDED, plain_user("new", 5), APPEND)
        wrong = [
            Draft(EventType.COMPACTION_ENDED, {"run": "never started"}),
            Draft(EventType.SURFACE_REWOUND, {}, Rewind(len(model.types) + 1)),
            Draft(EventType.SURFACE_REWOUND, {}, Rewind(n % len(model.types), len(model.shown[n % len(model.types)]) + 1)),
        ]
        hidden = sorted(model.hiding())
        gone = [seq for seq in hidden if seq in model.records] or [0]
        wrong.append(Draft(EventType.COMPACTION_UNDONE, {}, Restore((gone[n % len(gone)],)), (gone[0],)))
        if hidden:
            seq = hidden[n % len(hidden)]
            wrong.append(self._over([seq]))
        order = [seq_of(tree) for tree in model.now]
        if len(order) > 1:
            wrong.append(attrs.evolve(self._over(order[-2:]), op=Replace(order[-1], order[-2])))
            wrong.append(attrs.evolve(self._over(order[-2:]), sources=(order[-1],)))
        asked = [seq for seq in order if calls_of(model.data[seq])]
        if asked:
            wrong.append(self._over([asked[n % len(asked)]]))
        for draft in wrong:
            await self.refused(
                lambda draft=draft: self.ledger.append(self.session.lease, [fresh, draft]), ErrorCode.LEDGER_CORRUPT
            )
        if model.names:
            taken = Draft(EventType.MESSAGE_APPENDED, plain_user("m", 5), APPEND)
            taken.data["id"] = next((name[8:] for name in model.names if name.startswith("message:")), "m")
            if f"message:{taken.data['id']}" in model.names:
                await self.refused(lambda: self.ledger.append(self.session.lease, [fresh, taken]), ErrorCode.INVALID_INPUT)

    def _over(self, seqs: list[int]) -> Draft:
        data = {"id": "s", "content": "c", "run": "x", "hidden": [[seq, seq] for seq in seqs]}
        return Draft(EventType.SUMMARY_PLACED, data, Replace(seqs[0], seqs[-1]), tuple(seqs))

    async def refused(self, wanted: Callable[[], Awaitable[Any]], *codes: ErrorCode) -> None:
        """It is refused, and neither the ledger, nor the surface, nor the context, nor what is known of ids has changed."""
        before, ids = await self._everything(), copy.deepcopy(self._known())
        with pytest.raises(CompactionError) as caught:
            await wanted()
        assert caught.value.code in codes, caught.value
        after = await self._everything()
        assert after[:2] == before[:2]
        assert after[2:] == before[2:]
        now = self._known()
        assert now[2:] == ids[2:], "calls that were renamed, replies that were counted"
        for name, seq in now[0].items() - ids[0].items():
            assert self.model.names[f"message:{name}"] == seq, "only what the ledger knows is learned"
        assert {f"call:{name}" for name in now[1] - ids[1]} <= self.model.names.keys()
        assert ids[0].items() <= now[0].items()
        assert ids[1] <= now[1]

    async def _everything(self) -> tuple[Any, ...]:
        lease = self.session.lease
        told = await self.ledger.read(self.id), attrs.asdict(await self.ledger.surface_at(self.id))
        return (*told, attrs.asdict(lease.surface), list(lease.surface.pins), id(self.session.context), id(self.session.snapshot))

    def _known(self) -> tuple[Any, ...]:
        ids = self.session._writer._ids
        return ids._seqs, ids._calls, {name: given for name, given in ids._renamed.items() if given}, ids.replies

    # ----------------------------------------------------------------------------------------------- what holds

    async def agrees(self) -> None:
        """Now: the session, its lease and the model."""
        model, lease = self.model, self.session.lease
        kinds = [event.type.value for event in await self.ledger.read(self.id, max(0, len(model.types) - 8))]
        assert kinds == model.types[max(0, len(model.types) - 8) :]
        assert lease.surface.order == [seq_of(tree) for tree in model.now]
        assert list(lease.surface.pins.items()) == list(model.pins)
        assert lease.surface.turns == len(model.turns)
        assert self.session.context == built(model.context(len(model.types) - 1))
        assert list(self.session.open_calls) == model.open_calls(model.now)

    async def judge(self) -> None:
        """At every past moment of every session: the ledger and the model."""
        for model in self.models.values():
            events = await self.other.read(model.id)
            assert [event.type.value for event in events] == model.types
            assert [event.epoch for event in events] == model.epochs
            verify_chain(events)
            self._folds(model, events)
            await self._history(model)
        assert {info.id: info.events for info in await self.other.sessions()} == {
            name: len(model.types) for name, model in self.models.items()
        }

    def _folds(self, model: Naive, events: Any) -> None:
        growing, log = Surface(model.id), Log(model.id, events)
        for seq, event in enumerate(events):
            past = Log(model.id, events[:seq])
            growing.check([event], past)
            growing.apply(event, past)
            whole = log.fold(seq + 1)
            assert attrs.asdict(growing) == attrs.asdict(whole), "one more, or all again"
            kept = Surface.load(model.id, growing.dump())
            kept.link(log)
            assert attrs.asdict(kept) == attrs.asdict(whole), "from a checkpoint"
        assert attrs.asdict(fold(model.id, events)) == attrs.asdict(growing)

    async def _history(self, model: Naive) -> None:
        ledger, name = self.other, model.id
        for seq in range(len(model.types)):
            at = await ledger.surface_at(name, seq)
            assert at.order == [seq_of(tree) for tree in model.shown[seq]]
            assert list(at.pins.items()) == list(model.pinned[seq])
            context, _event = await context_at(ledger, name, seq=seq)
            assert context == built(model.context(seq)), f"the context at event {seq}"
        hiding = model.hiding()
        assert [await ledger.hiding(name, seq) for seq in range(len(model.types))] == [
            hiding.get(seq) for seq in range(len(model.types))
        ]
        for wanted in {key for each in self.models.values() for key in each.names}:
            assert await ledger.find(name, wanted) == model.names.get(wanted)
        assert [message_to_plain(message) for message in await originals(ledger, name)] == model.transcript()
        for number, (seq, pending, rendered) in model.turns.items():
            context, event = await context_at(ledger, name, turn=number)
            assert event.seq == seq
            sent = render_request(FORMAT, context)
            assert sent == render_request(FORMAT, built(model.context(seq, pending)))
            assert rendered in (None, sent), "to the byte, as it was sent then"


async def beginning(n: int) -> Any:
    """Nothing; a conversation; or one that was compacted before it came here, with its summary and records."""
    if n % 3 == 0:
        return None
    if n % 3 == 1:
        return conversation(6)
    return (await compact_context(conversation(), BUDGET, summarizer=good)).context


def adopted(model: Naive, context: Any) -> None:
    """What a session writes when it takes a context over."""
    records = [record_to_plain(record) for record in context.compactions]
    if records:
        model.names["records"] = model.happened("records/adopted")
    if context.summary is not None:
        seq = model.happened("summary/placed")
        model.shown[-1] = (seq,)
        model.data[seq] = {"id": context.summary.id, "content": context.summary.content}
        model.records[seq] = records
    for message in context.messages:
        plain = message_to_plain(message)
        model.appended(plain, plain)


async def drive(another: Another, program: list[tuple[str, int]]) -> set[str]:
    """Run a program against the world, and judge it. Gives what really happened."""
    world = World(await another(), await another())
    first = await beginning(program[0][1])
    steps = [*program]
    new_id = lambda: world.fresh("n")  # noqa: E731
    while steps:
        name = world.id
        async with open_session(
            world.ledger, session_id=name, context=first, policy=BUDGET, summarizer=world.swap, auto=False, new_id=new_id
        ) as session:
            world.session = session
            world.model.happened("session/opened")
            if first is not None:
                adopted(world.model, first)
                first = None
            await world.agrees()
            while steps and world.id == name:
                step, n = steps.pop(0)
                if step == "reopen":
                    break
                await getattr(world, step.replace(" ", "_"))(n)
                if step == "takeover":
                    break
                if world.id == name:
                    await world.agrees()
    await world.judge()
    return world.ran


async def on_disk(program: list[tuple[str, int]]) -> set[str]:
    """The same on a file of its own; both handles are closed."""
    handles: list[Any] = []

    async def another() -> Any:
        handles.append(await open_store(path))
        return handles[-1]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        try:
            return await drive(another, program)
        finally:
            with trio.CancelScope(shield=True):
                for handle in handles:
                    await handle.aclose()


async def in_memory() -> Another:
    ledger = MemoryLedger()

    async def another() -> MemoryLedger:
        await trio.lowlevel.checkpoint()
        return MemoryLedger(ledger)

    return another


@settings(deadline=None, max_examples=50)
@given(PROGRAMS)
async def test_every_projection_at_every_moment_is_what_the_naive_model_says(program: list[tuple[str, int]]) -> None:
    await drive(await in_memory(), program)


@settings(deadline=None, max_examples=5)
@given(PROGRAMS)
async def test_and_so_it_is_in_a_file(program: list[tuple[str, int]]) -> None:
    await on_disk(program)


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_file_holds_what_the_fixed_programs_do(number: int) -> None:
    assert await on_disk(FIXED[number]) >= {"compact", "rewind", "undo"}


# ------------------------------------------------------------------------------------------------ tests of the test


def seeded(seed: int, steps: int = 36) -> list[tuple[str, int]]:
    """A program that anybody can run again."""
    chance = random.Random(seed)
    return [(chance.choice(OPS), chance.randrange(1_000)) for _ in range(steps)]


FIXED = [seeded(seed) for seed in (7, 20, 28, 17, 24, 26, 10, 19)]


async def judged(kind: type[MemoryLedger] = MemoryLedger) -> set[str]:
    """Run the fixed programs."""
    ran: set[str] = set()
    for program in FIXED:
        ledger = kind()

        async def another(ledger: MemoryLedger = ledger) -> MemoryLedger:
            return kind(ledger)

        ran |= await drive(another, program)
    return ran


async def test_the_fixed_programs_do_what_they_are_for_and_hold() -> None:
    wanted = {"late", "compact", "failed run", "undo", "nested undo", "rewind", "rewind drops calls", "redact"}
    assert await judged() == wanted


def spans_come_back_in_the_wrong_order(patch: pytest.MonkeyPatch) -> None:
    restored = surface._restored

    def mutant(order: Any, summary: int, past: Any) -> list[int]:
        at, new = list(order).index(summary), restored(order, summary, past)
        size = len(new) - len(order) + 1
        return [*new[:at], *reversed(new[at : at + size]), *new[at + size :]]

    patch.setattr(surface, "_restored", mutant)


def summaries_are_restored_oldest_first(patch: pytest.MonkeyPatch) -> None:
    over = edits._over

    async def mutant(*asked: Any) -> Any:
        return (await over(*asked))[::-1]

    patch.setattr(edits, "_over", mutant)


def a_span_is_not_restored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(surface, "_restored", lambda order, summary, past: [seq for seq in order if seq != summary])


def _operating(change: Callable[[Any, Any, Any], None]) -> Callable[[pytest.MonkeyPatch], None]:
    def apply(patch: pytest.MonkeyPatch) -> None:
        operate = surface.Surface._operate

        def mutant(self: Any, event: Any, op: Any, past: Any) -> None:
            operate(self, event, op, past)
            change(self, event, op)

        patch.setattr(surface.Surface, "_operate", mutant)

    return apply


def _drop_pins(self: Any, _event: Any, op: Any) -> None:
    if isinstance(op, Rewind):
        for seq in self.pins.values():
            self.digests.pop(seq, None)
        self.pins.clear()


def _shift(self: Any, event: Any, op: Any) -> None:
    if isinstance(op, Replace) and len(self.order) > 1:
        at = self.order.index(event.seq)
        self.digests.pop(self.order.pop(at + 1 if at + 1 < len(self.order) else at - 1))


def _go_to_the_end(self: Any, event: Any, op: Any) -> None:
    if isinstance(op, Replace):
        self.order.remove(event.seq)
        self.order.append(event.seq)


def a_rewind_forgets_the_pins(patch: pytest.MonkeyPatch) -> None:
    _operating(_drop_pins)(patch)


def a_replacement_takes_one_too_many(patch: pytest.MonkeyPatch) -> None:
    _operating(_shift)(patch)


def a_summary_stands_at_the_end(patch: pytest.MonkeyPatch) -> None:
    _operating(_go_to_the_end)(patch)


def a_rewind_keeps_a_call_whose_result_came_later(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(edits, "_asks", lambda context, _calls: len(context.messages))


def a_rewind_takes_the_pins_of_then(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(surface.Surface, "move", _moving(surface.Surface.move))


def _moving(move: Any) -> Any:
    def mutant(self: Any, event: Any, past: Any) -> None:
        move(self, event, past)
        if isinstance(event.op, Rewind):
            self.pins = {name: seq for name, seq in self.pins.items() if seq <= event.op.seq}

    return mutant


def an_unpinned_requirement_stays(patch: pytest.MonkeyPatch) -> None:
    move = surface.Surface.move

    def mutant(self: Any, event: Any, past: Any) -> None:
        pins = dict(self.pins)
        move(self, event, past)
        if event.type is EventType.REQUIREMENT_UNPINNED:
            self.pins = pins

    patch.setattr(surface.Surface, "move", mutant)


def what_came_back_is_not_looked_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(surface.Surface, "link", lambda self, past: None)


def a_checkpoint_forgets_the_order(patch: pytest.MonkeyPatch) -> None:
    dump = surface.Surface.dump
    patch.setattr(surface.Surface, "dump", lambda self: {**dump(self), "order": [[seq, seq] for seq in sorted(self.order)]})


def sources_need_not_be_named(patch: pytest.MonkeyPatch) -> None:
    check = surface.Surface._check_replace

    def mutant(self: Any, event: Any, op: Any, past: Any) -> None:
        check(self, attrs.evolve(event, sources=tuple(range(event.seq))), op, past)

    patch.setattr(surface.Surface, "_check_replace", mutant)


def a_round_may_be_split(patch: pytest.MonkeyPatch) -> None:
    check = surface.Surface._check_replace

    def mutant(self: Any, event: Any, op: Any, past: Any) -> None:
        calls, self.calls = self.calls, {}
        answers, self.answers = self.answers, {}
        try:
            check(self, event, op, past)
        finally:
            self.calls, self.answers = calls, answers

    patch.setattr(surface.Surface, "_check_replace", mutant)


def a_turn_forgets_its_pending_messages(patch: pytest.MonkeyPatch) -> None:
    loading = history.load

    async def mutant(*args: Any, pending: Any = (), **options: Any) -> Any:
        return await loading(*args, **options)

    patch.setattr(history, "load", mutant)


def records_are_told_newest_first(patch: pytest.MonkeyPatch) -> None:
    found = history._records

    async def mutant(*args: Any) -> Any:
        return (await found(*args))[::-1]

    patch.setattr(history, "_records", mutant)


def the_transcript_is_the_surface(patch: pytest.MonkeyPatch) -> None:
    async def mutant(ledger: Any, session_id: str) -> Any:
        return (await load(ledger, session_id, await ledger.surface_at(session_id))).messages

    patch.setitem(globals(), "originals", mutant)


def a_tombstone_keeps_the_arguments(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(edits, "_buried", lambda message: {**message, "meta": {}} if type(message["content"]) is not str else message)


MUTANTS = [
    spans_come_back_in_the_wrong_order,
    summaries_are_restored_oldest_first,
    a_span_is_not_restored,
    a_rewind_forgets_the_pins,
    a_rewind_takes_the_pins_of_then,
    a_rewind_keeps_a_call_whose_result_came_later,
    a_replacement_takes_one_too_many,
    a_summary_stands_at_the_end,
    an_unpinned_requirement_stays,
    what_came_back_is_not_looked_up,
    a_checkpoint_forgets_the_order,
    sources_need_not_be_named,
    a_round_may_be_split,
    a_turn_forgets_its_pending_messages,
    records_are_told_newest_first,
    the_transcript_is_the_surface,
    a_tombstone_keeps_the_arguments,
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
async def test_a_mutant_of_the_fold_is_caught(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever way it shows
        await judged()
    assert not isinstance(caught.value, KeyboardInterrupt | SystemExit)


class HidesByTheOutermost(MemoryLedger):
    async def hiding(self, session_id, seq):
        found, above = None, await super().hiding(session_id, seq)
        while above is not None:
            found, above = above, await super().hiding(session_id, above)
        return found


class SurfaceOneTooEarly(MemoryLedger):
    async def surface_at(self, session_id, seq=None):
        return await super().surface_at(session_id, seq - 1 if seq else seq)


class ForgetsNames(MemoryLedger):
    async def find(self, session_id, name):
        await super().find(session_id, name)
        shown = self._shelf(session_id).surface.digests
        seq = self._shelf(session_id).names.get(name)
        return seq if seq in shown or not name.startswith("call:") else None


class AppliesBeforeItChecks(MemoryLedger):
    """What is refused has grown the surface already."""

    def _write(self, shelf, lease, drafts):
        before = shelf.surface.generation
        try:
            return super()._write(shelf, lease, drafts)
        except CompactionError:
            shelf.surface.generation = before + 1
            raise


class RedactsWithoutTheDigest(MemoryLedger):
    async def redact(self, lease, seq, tombstone, draft):
        event = await super().redact(lease, seq, tombstone, draft)
        shelf = self._own(lease)
        shelf.events[seq] = attrs.evolve(shelf.events[seq], redacted=None)
        return event


class ForksOneTooMany(MemoryLedger):
    def _copy(self, shelf, origin):
        more = min(origin.seq + 1, len(self._shelf(origin.session_id).events) - 1)
        return super()._copy(shelf, attrs.evolve(origin, seq=more))


STORES = [HidesByTheOutermost, SurfaceOneTooEarly, ForgetsNames, AppliesBeforeItChecks, RedactsWithoutTheDigest, ForksOneTooMany]


@pytest.mark.parametrize("mutant", STORES, ids=lambda mutant: mutant.__name__)
async def test_a_mutant_of_the_store_is_caught(mutant: Any) -> None:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever way it shows
        await judged(mutant)
    assert not isinstance(caught.value, KeyboardInterrupt | SystemExit)
