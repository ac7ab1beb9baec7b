"""A session's history in its most naive form: plain lists and trees, every past state kept whole. Shares no code with the folds.

What the model is sent is a tuple of trees: a seq, or (seq of a summary, what it hides). Nothing is ever looked up again,
and nothing is moved: an undo unfolds trees, a rewind takes the tuple that was kept.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import attrs

Tree = Any
"""A seq, or a summary's seq with the trees that it hides."""
Plain = dict[str, Any]


def seq_of(tree: Tree) -> int:
    return tree[0] if isinstance(tree, tuple) else tree


def below(trees: tuple[Tree, ...]) -> Iterator[tuple[int, int]]:
    """Everything that is hidden, with what hides it."""
    for tree in trees:
        if isinstance(tree, tuple):
            for hidden in tree[1]:
                yield seq_of(hidden), tree[0]
            yield from below(tree[1])


def holds(tree: Tree, summary: int) -> bool:
    return isinstance(tree, tuple) and (tree[0] == summary or any(holds(inner, summary) for inner in tree[1]))


def unfolded(trees: tuple[Tree, ...], summary: int) -> tuple[Tree, ...]:
    """As if *summary*, and everything that was built on it, had never been placed."""
    found: list[Tree] = []
    for tree in trees:
        if not holds(tree, summary):
            found.append(tree)
        elif tree[0] == summary:
            found += tree[1]
        else:
            found += unfolded(tree[1], summary)
    return tuple(found)


def path_to(trees: tuple[Tree, ...], summary: int) -> list[int]:
    """The summaries from the one that is shown down to *summary*."""
    for tree in trees:
        if holds(tree, summary):
            return [tree[0], *([] if tree[0] == summary else path_to(tree[1], summary))]
    return []


@attrs.define
class Naive:
    """One session."""

    id: str
    types: list[str] = attrs.field(factory=list)
    """The kind of every event."""
    shown: list[tuple[Tree, ...]] = attrs.field(factory=list)
    """What the model would be sent after every event."""
    pinned: list[tuple[tuple[str, int], ...]] = attrs.field(factory=list)
    """The pins, by id and seq, after every event."""
    data: dict[int, Plain] = attrs.field(factory=dict)
    """What was said, by seq: messages, summaries, pins."""
    given: dict[int, Plain] = attrs.field(factory=dict)
    """Messages as their caller gave them."""
    names: dict[str, int] = attrs.field(factory=dict)
    records: dict[int, list[Plain]] = attrs.field(factory=dict)
    """The records that a summary carries: its own, or those that it was adopted with."""
    turns: dict[int, tuple[int, list[Plain], Any]] = attrs.field(factory=dict)
    """Turn → its seq, the pending messages, and what was rendered (None once something in it was redacted)."""
    epochs: list[int] = attrs.field(factory=list)

    # ------------------------------------------------------------------------------------------- what happens

    @property
    def now(self) -> tuple[Tree, ...]:
        return self.shown[-1] if self.shown else ()

    @property
    def pins(self) -> tuple[tuple[str, int], ...]:
        return self.pinned[-1] if self.pinned else ()

    def happened(self, kind: str, shown: tuple[Tree, ...] | None = None, pins: Any = None) -> int:
        """One event more; its seq."""
        self.shown.append(self.now if shown is None else shown)
        self.pinned.append(self.pins if pins is None else pins)
        self.epochs.append((self.epochs[-1] if self.epochs else 0) + (kind == "session/opened"))
        self.types.append(kind)
        return len(self.types) - 1

    def appended(self, given: Plain, kept: Plain) -> int:
        seq = self.happened("message/appended")
        self.shown[-1] = (*self.now, seq)
        self.data[seq], self.given[seq] = kept, given
        self.names[f"message:{kept['id']}"] = seq
        for call in calls_of(kept):
            self.names[f"call:{call}"] = seq
        return seq

    def pruned(self, seq: int, data: Plain) -> None:
        at = self.happened("tool_result/pruned")
        self.shown[-1] = tuple([at if tree == seq else tree for tree in self.now])
        self.data[at] = data

    def compacted(self, run: str, summary: Plain, record: Plain) -> None:
        """A run with nothing between its beginning and its end."""
        self.names[f"start:{run}"] = self.happened("compaction/started")
        self.placed(run, summary, record)

    def placed(self, run: str, summary: Plain, record: Plain) -> None:
        """Everything up to the last message that the record names is behind the summary now."""
        ids = record["compactedMessageIds"]
        count = len(ids) + any(self.is_summary(tree) for tree in self.now)
        hidden = self.now[:count]
        assert [self.data[seq_of(tree)]["id"] for tree in hidden if not self.is_summary(tree)] == [*ids]
        seq = self.happened("summary/placed")
        self.shown[-1] = ((seq, hidden), *self.shown[-2][count:])
        self.data[seq], self.records[seq] = summary, [record]
        self.names[f"summary:{run}"] = seq
        self.names[f"end:{run}"] = self.happened("compaction/ended")

    def undone(self, run: str) -> list[str]:
        """The runs that are undone, newest first."""
        summary = self.names[f"summary:{run}"]
        path = path_to(self.now, summary)
        self.happened("compaction/undone", unfolded(self.now, summary))
        return [self.records[seq][0]["id"] for seq in path]

    def whole(self, seq: int) -> int:
        """The moment itself, or the next one: a summary and its end, or adopted records and their summary, are one."""
        if self.types[seq] == "records/adopted":
            return seq + 1
        return seq + (seq in self.records and self.records[seq][0]["id"] in self.runs)

    @property
    def runs(self) -> set[str]:
        return {name.partition(":")[2] for name in self.names if name.startswith("summary:")}

    def rewound(self, seq: int) -> int:
        """How many entries are dropped: from the first call on whose result came later."""
        trees = self.shown[self.whole(seq)]
        dead = set(self.open_calls(trees)) - set(self.open_calls(self.now))
        keep = len(trees)
        for at in reversed(range(len(trees))):
            if dead.intersection(calls_of(self.data[seq_of(trees[at])])):
                keep = at
        self.happened("surface/rewound", trees[:keep])
        return len(trees) - keep

    def forked(self, seq: int, name: str) -> Naive:
        """Another session with this one's beginning."""
        stop = self.whole(seq) + 1
        child = copy.deepcopy(self)
        child.id = name
        for kept in (child.types, child.shown, child.pinned, child.epochs):
            del kept[stop:]
        child.names = {key: at for key, at in child.names.items() if at < stop}
        child.turns = {key: turn for key, turn in child.turns.items() if turn[0] < stop}
        for known in (child.data, child.given, child.records):
            for at in [at for at in known if at >= stop]:
                del known[at]
        child.happened("session/opened")
        return child

    def redacted(self, seq: int) -> None:
        """What was said is gone from every time."""
        for turn, (at, pending, _rendered) in self.turns.items():
            self.turns[turn] = (at, [_buried(each) for each in pending] if at == seq else pending, None)
        if seq in self.data:
            self.data[seq] = _buried(self.data[seq])
        self.given.pop(seq, None)
        self.happened("data/redacted")

    # ------------------------------------------------------------------------------------------ what is asked

    def is_summary(self, tree: Tree) -> bool:
        return seq_of(tree) in self.records

    def open_calls(self, trees: tuple[Tree, ...]) -> list[str]:
        said = [self.data[seq_of(tree)] for tree in trees if not self.is_summary(tree)]
        answered = [each["toolCallId"] for each in said if each["role"] == "toolResult"]
        return [call for each in said for call in calls_of(each) if call not in answered]

    def hiding(self) -> dict[int, int]:
        return dict(below(self.now))

    def in_force(self, trees: tuple[Tree, ...]) -> list[int]:
        """The summaries that stand, hidden or not, oldest first."""
        found = {seq_of(tree) for tree in trees} | {seq for seq, _above in below(trees)}
        return sorted(seq for seq in found if seq in self.records)

    def context(self, seq: int, pending: tuple[Plain, ...] | list[Plain] = ()) -> Plain:
        """What the model was sent at an event."""
        trees = self.shown[seq]
        said = [self.data[seq_of(tree)] for tree in trees]
        summary = said.pop(0) if trees and self.is_summary(trees[0]) else None
        return {
            "requirements": [{"id": pin, "content": self.data[at]["content"]} for pin, at in self.pinned[seq]],
            "summary": summary,
            "messages": [*said, *pending],
            "compactions": [record for summary_ in self.in_force(trees) for record in self.records[summary_]],
        }

    def transcript(self) -> list[Plain]:
        return [self.data[seq] for seq, kind in enumerate(self.types) if kind == "message/appended"]


def calls_of(message: Plain) -> list[str]:
    if message.get("role") != "assistant":
        return []
    return [block["id"] for block in message["content"] if block["type"] == "toolCall"]


def _buried(said: Plain) -> Plain:
    kept = {**said}
    renamed = kept.pop("meta", {}).get("renamedCalls")
    if renamed is not None:
        kept["meta"] = {"renamedCalls": renamed}
    if isinstance(said["content"], str):
        return {**kept, "content": "[redacted]"}
    calls = [{**block, "arguments": {}} for block in said["content"] if block["type"] == "toolCall"]
    return {**kept, "content": [{"type": "text", "text": "[redacted]"}, *calls]}
