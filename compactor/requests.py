"""A request for a compaction and those who wait for it; and a stream of transition records for those who watch."""

from __future__ import annotations

import math
from typing import Any

import attrs
import trio

from .outcomes import Missed, Outcome, TransitionRecord


@attrs.define(eq=False, repr=False)
class Request:
    """One run that was asked for. Its scope lasts as long as the most patient of its waiters."""

    instructions: str | None = attrs.field(repr=False)
    force: bool
    trigger: str
    automatic: bool = False
    """Nobody has to wait for it: it goes on when every waiter has left."""
    begun: bool = False
    withdrawn: bool = False
    outcome: Outcome | None = None
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    settled: trio.Event = attrs.field(factory=trio.Event)
    _waiters: dict[object, float] = attrs.field(factory=dict)

    def same(self, instructions: str | None, *, force: bool, trigger: str) -> bool:
        """True when a caller with these options would get what it asked for. Who asked does not matter, overflow does."""
        return (self.instructions, self.force, self.trigger == "overflow") == (instructions, force, trigger == "overflow")

    def join(self) -> object:
        """Add the calling task to the waiters, with its own deadline."""
        token = object()
        self._waiters[token] = trio.current_effective_deadline()
        self._extend()
        return token

    def leave(self, token: object) -> bool:
        """Take a waiter away. True when nobody is left who wants the run."""
        self._waiters.pop(token, None)
        if self._waiters or self.automatic:
            self._extend()
            return False
        return True

    def _extend(self) -> None:
        self.scope.deadline = math.inf if self.automatic else max(self._waiters.values())

    def settle(self, outcome: Outcome) -> None:
        """Give the outcome to everybody who waits; the first one counts."""
        if self.outcome is None:
            self.outcome = outcome
        self.settled.set()


@attrs.define(eq=False, repr=False)
class Stream:
    """One watcher. It never blocks the actor: what does not fit is counted, and told as one ``Missed``."""

    _send: trio.MemorySendChannel[Any]
    _missed: int = 0

    @classmethod
    def open(cls, size: int) -> tuple[Stream, trio.MemoryReceiveChannel[TransitionRecord | Missed]]:
        """A stream and the channel to read it from."""
        send, receive = trio.open_memory_channel[Any](size)
        return cls(send), receive

    def send(self, record: TransitionRecord) -> None:
        """Hand a record on, or count it."""
        try:
            if self._missed:
                self._send.send_nowait(Missed(self._missed))
                self._missed = 0
            self._send.send_nowait(record)
        except trio.WouldBlock:
            self._missed += 1
        except trio.BrokenResourceError:
            pass  # the reader has closed its end

    def close(self) -> None:
        """End the stream for its reader."""
        self._send.close()
