"""``blocking``: a summarizer that blocks, in a worker thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from ..context import SummaryRequest


def blocking(function: Callable[[SummaryRequest], str]) -> Callable[[SummaryRequest], Awaitable[str]]:
    """Mark a plain function that blocks (an SDK without an async face): it runs in a worker thread.

    A cancelled run does not wait for it: the thread is abandoned, goes on with its immutable request, and its answer is
    ignored. It must not touch Trio or the session.
    """

    async def in_thread(request: SummaryRequest) -> str:
        return await trio.to_thread.run_sync(function, request, abandon_on_cancel=True)

    return in_thread
