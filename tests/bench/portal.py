"""What the portal costs: ``python tests/bench/portal.py``. Never part of the test suite.

Two figures count, both in µs and the best of several rounds: the round trip of a call that does nothing, and an
``append`` through a face less the same ``append`` under Trio.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable

import trio

from compactor import Budget, UserMessage, open_session, portal
from compactor.session import Session

CALLS = 1_000
ROUNDS = 12
GOAL = 150.0


async def nothing(_session: Session) -> None:
    """A method that does not even meet a checkpoint."""


async def best(step: Callable[[], Awaitable[object]]) -> float:
    """µs of one *step*: the best of several rounds."""
    shortest = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            await step()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest / CALLS * 1e6


def best_plain(step: Callable[[], object]) -> float:
    """The same for a step that blocks."""
    shortest = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            step()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest / CALLS * 1e6


async def under_trio() -> float:
    """An append of the Trio API."""
    async with open_session(policy=Budget(10**9)) as session:
        return await best(lambda: session.append(UserMessage("a message")))


async def under_asyncio() -> tuple[float, float]:
    """Nothing, and an append, through the asyncio face."""
    async with portal.open_session(policy=Budget(10**9)) as session:
        return await best(session.nothing), await best(lambda: session.append(UserMessage("a message")))


async def together() -> float:
    """An append of 64 asyncio tasks at once, per append."""
    shortest = float("inf")
    async with portal.open_session(policy=Budget(10**9)) as session:
        for _ in range(ROUNDS):
            began = time.perf_counter()
            await asyncio.gather(*[session.append(UserMessage("a message")) for _ in range(64)])
            shortest = min(shortest, time.perf_counter() - began)
    return shortest / 64 * 1e6


def in_plain_code() -> tuple[float, float]:
    """Nothing, and an append, through the plain face."""
    with portal.open_session(policy=Budget(10**9)) as session:
        return best_plain(session.nothing), best_plain(lambda: session.append(UserMessage("a message")))


async def opening() -> float:
    """Opening and leaving a session, the thread running, through the asyncio face."""
    shortest = float("inf")
    for _ in range(200):
        began = time.perf_counter()
        async with portal.open_session():
            pass
        shortest = min(shortest, time.perf_counter() - began)
    return shortest * 1e6


def row(what: str, figure: float, goal: float | None = None) -> None:
    """One line of the table."""
    judged = "" if goal is None else f"goal ≤ {goal:g}  {'ok' if figure <= goal else 'MISSED'}"
    print(f"{what:<60} {figure:>8.1f} µs  {judged}".rstrip())


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    Session.nothing = nothing  # type: ignore[attr-defined]
    print(f"Python {sys.version.split()[0]}; best of {ROUNDS} rounds of {CALLS} calls")
    began = time.perf_counter()
    with portal.open_session():
        started = (time.perf_counter() - began) * 1e6
    bare = trio.run(under_trio)
    trip, append = asyncio.run(under_asyncio())
    plain_trip, plain_append = in_plain_code()
    row("append under Trio", bare)
    row("asyncio: a call that does nothing, there and back", trip, GOAL)
    row("asyncio: append, less the append under Trio", append - bare, GOAL)
    row("asyncio: append, 64 tasks at once, each", asyncio.run(together()))
    row("plain: a call that does nothing, there and back", plain_trip, GOAL)
    row("plain: append, less the append under Trio", plain_append - bare, GOAL)
    row("asyncio: open and leave a session", asyncio.run(opening()))
    row("the first session of a process: start Trio's thread", started)
