"""Cancel a scenario everywhere: one scheduler step later each time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import attrs
import trio
import trio.testing


@attrs.define(eq=False)
class Cutter(trio.abc.Instrument):
    """Cancels ``scope`` before the *at*-th task step that is counted; and looks at ``invariant`` before every step.

    A scenario puts ``scope`` where it wants to be cancelled, calls ``arm()`` when counting shall begin and
    ``disarm()`` when it shall end.
    """

    at: int
    via: Literal["cancel", "deadline"] = "cancel"
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    label: Callable[[], object] = lambda: None
    """What to note about the moment of the cut, such as the session's phase."""
    invariant: Callable[[], None] = lambda: None
    steps: int = 0
    fired: bool = False
    cut_in: object = None
    broken: BaseException | None = None
    _armed: bool = False

    def arm(self) -> None:
        """Begin to count steps."""
        self._armed = True

    def disarm(self) -> None:
        """Stop counting."""
        self._armed = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count, look, cut."""
        del task
        if not self._armed:
            return
        if self.broken is None:
            try:
                self.invariant()
            except AssertionError as broken:
                self.broken = broken
        self.steps += 1
        if self.steps == self.at:
            self.fired, self.cut_in = True, self.label()
            if self.via == "cancel":
                self.scope.cancel()
            else:
                self.scope.deadline = trio.current_time()


def cancel_at_every_step(
    scenario: Callable[[Cutter], Awaitable[None]],
    *,
    via: Literal["cancel", "deadline"] = "cancel",
    limit: int = 5_000,
) -> tuple[object, ...]:
    """Run *scenario* again and again, cancelled one step later each time, until a run is not cut any more.

    The scenario checks what has to hold after a cut. Gives what ``label`` said at each cut, one entry for every cut,
    and asserts that there was at least one.
    """
    cuts: list[object] = []
    for at in range(1, limit):
        cutter = Cutter(at, via)
        trio.run(scenario, cutter, clock=trio.testing.MockClock(autojump_threshold=0), instruments=[cutter])
        if cutter.broken is not None:
            raise cutter.broken
        if not cutter.fired:
            assert cuts, "nothing was cut: the scenario never armed its cutter"
            return tuple(cuts)
        cuts.append(cutter.cut_in)
    msg = f"the scenario was still cut after {limit} steps"
    raise AssertionError(msg)
