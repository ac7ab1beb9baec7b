"""Group commit: appends of many sessions that wait at the same time become durable in one transaction.

Whoever comes first leads: it takes one append of each session that waits, commits them in one thread call, applies them
to their owners' surfaces and wakes the others, with no checkpoint after the commit. A caller that is cancelled while it
waits withdraws; one whose append is being written waits for it. So Cancelled raised means: not recorded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import attrs
import trio

from ..errors import kind_name
from ..events import Draft, Event
from ._leases import SqliteLease


class GroupFailedError(Exception):
    """A bug, perhaps after the commit: no error of this package, since nobody knows what was recorded."""


@attrs.define(eq=False, repr=False)
class Job:
    """What one caller appends."""

    lease: SqliteLease
    drafts: Sequence[Draft]
    events: tuple[Event, ...] = ()
    error: Exception | None = None
    taken: bool = False
    """It is being written, or it was."""
    done: bool = False
    woken: trio.Event | None = None
    """It is done, or it is its turn to lead."""

    def wake(self) -> None:
        """Let the caller go on."""
        if self.woken is not None:
            self.woken.set()

    async def sleep(self) -> None:
        """Wait to be woken."""
        self.woken = trio.Event()
        await self.woken.wait()


@attrs.define(eq=False, repr=False)
class Queue:
    """The appends that wait. *commit* writes some of them, and puts into them what they came to; Cancelled means: nothing."""

    writing: trio.Lock
    commit: Callable[[Sequence[Job]], Awaitable[None]]
    _waiting: list[Job] = attrs.field(factory=list)
    _leader: Job | None = None

    async def append(self, job: Job) -> tuple[Event, ...]:
        """Append, all or nothing."""
        self._waiting.append(job)
        try:
            if self._leader is None:
                self._leader = job
            else:
                await job.sleep()
            if not job.done:
                await self._lead(job)
        except trio.Cancelled:
            while job.taken and not job.done:
                with trio.CancelScope(shield=True):
                    await job.sleep()
            if not job.done:
                self._waiting.remove(job)
                if self._leader is job:
                    self._appoint()
                raise
        if job.error is not None:
            raise job.error
        return job.events

    async def _lead(self, job: Job) -> None:
        """Write what waits, this job first."""
        try:
            self.writing.acquire_nowait()
        except trio.WouldBlock:
            await self.writing.acquire()
        batch = self._take(job)
        try:
            await self.commit(batch)
        except trio.Cancelled:
            # Before anything was written. The others were not cancelled: one of them goes on.
            for each in batch:
                each.taken = False
            self._waiting[:0] = batch
            batch = []
            raise
        except BaseException as bug:
            for each in batch:
                each.error = GroupFailedError(f"an append of the same group raised {kind_name(bug)}")
            raise
        finally:
            self.writing.release()
            for each in batch:
                each.done = True
                each.wake()
            if batch:
                self._appoint()

    def _take(self, leader: Job) -> list[Job]:
        """The leader's job, and the first one of every other session: each of them knows where its session ends."""
        batch: dict[str, Job] = {leader.lease.session_id: leader}
        for job in self._waiting:
            batch.setdefault(job.lease.session_id, job)
        taken = list(batch.values())
        for job in taken:
            job.taken = True
        self._waiting = [job for job in self._waiting if not job.taken]
        return taken

    def _appoint(self) -> None:
        """The next one leads."""
        self._leader = self._waiting[0] if self._waiting else None
        if self._leader is not None:
            self._leader.wake()
