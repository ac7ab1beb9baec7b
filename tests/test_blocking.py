"""A blocking summarizer runs in a thread, and a cancelled run does not wait for it."""

from __future__ import annotations

import threading

import trio

from compactor import Budget, Committed, UserMessage, open_session
from compactor.summarizers import blocking

BUDGET = Budget(400, target_units=300, summary_max_units=60, retain_recent_messages=1)


async def test_a_blocking_summarizer_runs_off_the_loop() -> None:
    threads: list[threading.Thread] = []

    def summarize(request: object) -> str:
        threads.append(threading.current_thread())
        return "a summary"

    async with open_session(policy=BUDGET, summarizer=blocking(summarize), auto=False) as session:
        await session.append(*[UserMessage("x" * 50) for _ in range(10)])
        assert isinstance(await session.compact(), Committed)
    assert threads[0] is not threading.current_thread()


async def test_a_cancelled_run_leaves_a_blocked_thread_behind_and_ignores_its_answer() -> None:
    began, go_on, done = trio.Event(), threading.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def summarize(request: object) -> str:
        token.run_sync_soon(began.set)
        go_on.wait()
        done.set()
        return "too late"

    async with open_session(policy=BUDGET, summarizer=blocking(summarize), auto=False) as session:
        await session.append(*[UserMessage("x" * 50) for _ in range(10)])
        base = session.snapshot
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.compact)
                await began.wait()
                scope.cancel()
        assert session.snapshot is base
        go_on.set()
        await trio.to_thread.run_sync(done.wait)
        assert session.snapshot is base
