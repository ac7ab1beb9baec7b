"""Ratios of the core, measured within one run: ``python tests/bench/core.py``. Never part of the test suite.

Machines are noisy, so nothing here is an absolute promise: every figure is a ratio to ``json.loads`` of the same text,
to the same import, or to itself at half the size. Each is the best of several repetitions.
"""

from __future__ import annotations

import gc
import json
import logging
import random
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import trio

from compactor import Budget, UserMessage, build_active_context, compact_context, open_session, select_compaction_boundary

SIZE = 4_096
WORDS = [
    "the",
    "agent",
    "reads",
    "a",
    "file",
    "and",
    "writes",
    "tests",
    "then",
    "runs",
    "the",
    "build",
    "error",
    "path",
    "src/app/main.py",
    "line",
    "42",
    "fix",
    "value",
    "returns",
    "none",
    "please",
    "check",
    "again",
    "why",
    "does",
    "this",
    "fail",
    "on",
    "windows",
    "only",
    "when",
    "the",
    "cache",
    "is",
    "cold",
    "and",
    "the",
    "user",
    "has",
    "no",
    "home",
    "directory",
]
OPTIONS = {"target_units": 300_000, "summary_max_units": 2_000, "retain_recent_messages": 4}


def conversation(size: int, seed: int = 7) -> list[dict[str, Any]]:
    """About 30 % of the messages in tool rounds of one to three calls, about 150 characters each."""
    dice = random.Random(seed)

    def prose(length: int) -> str:
        text = ""
        while len(text) < length:
            text += dice.choice(WORDS) + " "
        return text[:length]

    messages: list[dict[str, Any]] = []
    while len(messages) < size:
        index = len(messages)
        if dice.random() < 0.13 and index + 4 < size:
            calls = [f"call_{index}_{number}" for number in range(dice.randint(1, 3))]
            blocks = [
                {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": prose(60), "timeout": 30}}
                for call in calls
            ]
            messages.append({"id": f"m{index}", "role": "assistant", "content": [{"type": "text", "text": prose(50)}, *blocks]})
            for call in calls:
                result = {"toolCallId": call, "toolName": "bash", "content": prose(150), "isError": False}
                messages.append({"id": f"m{len(messages)}", "role": "toolResult", **result})
        elif index % 2:
            messages.append({"id": f"m{index}", "role": "assistant", "content": [{"type": "text", "text": prose(150)}]})
        else:
            messages.append({"id": f"m{index}", "role": "user", "content": prose(150)})
    return messages


def best(function: Callable[[], Any], repeat: int = 15) -> float:
    """The shortest of several runs, in seconds."""
    shortest = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest


def row(what: str, figure: float, goal: float, unit: str) -> None:
    """One line of the table."""
    print(f"{what:<64} {figure:>9.3f} {unit:<8} goal ≤ {goal:g}  {'ok' if figure <= goal else 'MISSED'}")


def core() -> None:
    """Building, selecting, compacting, against json.loads of the same text."""
    text = json.dumps({"messages": conversation(SIZE)})
    parsed = json.loads(text)
    reference = best(lambda: json.loads(text))
    print(f"J = json.loads of {SIZE} messages, {len(text):,} bytes: {reference * 1e3:.2f} ms")
    row("build from parsed data", best(lambda: build_active_context(parsed)) / reference, 4, "J")
    context = build_active_context(parsed)
    row("select a boundary", best(lambda: select_compaction_boundary(context, OPTIONS)) / reference, 0.1, "J")

    async def compacting() -> float:
        shortest = float("inf")
        for number in range(30):
            options = {**OPTIONS, "max_units": 400_000, "summary_id": "s", "record_id": f"r{number}"}
            began = time.perf_counter()
            await compact_context(context, options, summarizer=lambda _request: "a summary")
            shortest = min(shortest, time.perf_counter() - began)
        return shortest

    seconds = trio.run(compacting)
    row("compact a built context, instant summarizer", seconds / reference, 0.4, "J")
    row("the same", seconds * 1e3, 2, "ms")


async def appending(size: int) -> tuple[float, float]:
    """Seconds to append *size* messages one at a time, and to ask after each whether to compact."""
    messages = conversation(size)
    async with open_session(policy=Budget(10**9), auto=True) as session:
        began = time.perf_counter()
        for message in messages:
            await session.append(message)
        appended = time.perf_counter() - began
        contexts = [session.context] * size
        began = time.perf_counter()
        for context in contexts:
            _ = context.units > session.sizing.threshold(context)
        return appended, time.perf_counter() - began


def live() -> None:
    """Appending to a live session with its memory ledger."""
    # In turns, so that a slow moment of the machine meets both.
    pairs = [(trio.run(appending, SIZE), trio.run(appending, 2 * SIZE)) for _ in range(7)]
    once, twice = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    row(f"must I compact? after each of {SIZE} appends, all together", once[1] * 1e3, 50, "ms")
    row(f"append one of {SIZE} messages, average", once[0] / SIZE * 1e6, 60, "µs")
    row("append twice as many, in total", twice[0] / once[0], 2.2, "x")


async def remembering(keep: bool) -> int:
    """Bytes of a live session, with or without 200 kept contexts."""
    messages = conversation(SIZE)
    gc.collect()
    tracemalloc.start()
    async with open_session(policy=Budget(10**9)) as session:
        kept = []
        for index, message in enumerate(messages):
            await session.append(message)
            if keep and index % 20 == 0:
                kept.append(session.context)
        gc.collect()
        used, _peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(kept) >= 200 or not keep
        return used


def memory() -> None:
    """What it costs to keep many states of one session."""
    row(
        "200 kept contexts + session, against the session alone",
        trio.run(remembering, True) / trio.run(remembering, False),
        1.5,
        "x",
    )


def importing() -> None:
    """Importing the core, and everything, against importing what it stands on.

    ``import compactor`` alone loads nothing; names load when they are used. The core is every public name but the
    codecs, the readers and the digest, which a program that does not use them never loads.
    """
    edges = {"DigestSummarizer", "Summarizer", "parse_messages", "render_messages", "read_transcript"}
    everything = "import trio, attrs, structlog, compactor; [getattr(compactor, name) for name in compactor.__all__]"
    core_only = (
        f"import trio, attrs, structlog, compactor; [getattr(compactor, name) for name in set(compactor.__all__) - {edges}]"
    )
    stand = "import trio, attrs, structlog"

    def run(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    codes = ("pass", stand, core_only, everything)
    run(everything)()
    # In turns, so that a slow moment of the machine meets all.
    rounds = [[best(run(code), 1) for code in codes] for _ in range(20)]
    empty, base, core_seconds, all_seconds = [min(times) for times in zip(*rounds, strict=True)]
    base, core_seconds, all_seconds = base - empty, core_seconds - empty, all_seconds - empty
    row("import the core, against trio, attrs, structlog", core_seconds / base, 1.5, "x")
    print(f"{'import every public name, the same way':<64} {all_seconds / base:>9.3f} x")


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(f"Python {sys.version.split()[0]}, {UserMessage.__module__.split('.')[0]} core")
    core()
    live()
    memory()
    importing()
