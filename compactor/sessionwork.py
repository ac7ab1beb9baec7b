"""The effects of a session's run: what a row of the table does to the ledger and to the published context.

Nothing is published that was not validated and made durable first. Each effect that writes does so under the session's
writer lock, and after a write there is no checkpoint until the consequence has been drawn.
"""

from __future__ import annotations

import time
from typing import assert_never

import attrs
import trio

from .asking import Asking, described
from .context import ActiveContext, BudgetOptions, SummaryRequest, choose_boundary, compacted, record_to_plain
from .errors import CompactionError, ErrorCode, FailureKind, kind_name
from .events import Draft, EventType, Replace, ranges
from .host import Host
from .machine import Run, failed
from .messages import Summary
from .outcomes import Committed, Unchanged
from .phases import Effect, Signal
from .requests import Request
from .units import summary_units
from .usercode import Ended, start, wait
from .verdicts import VERDICTS, read_summary_text


@attrs.define(eq=False, repr=False)
class SessionWork:
    """One run of one session."""

    session: Host
    request: Request
    asking: Asking
    base: ActiveContext
    summary_id: str
    options: BudgetOptions = attrs.field(init=False)
    trouble: Exception | None = None
    """What the policy raised when it was asked whether to run: then it is asked for nothing more."""
    hidden: tuple[int, ...] = ()
    generation: int = -1
    started: int | None = None
    """The seq of the start marker, once it is known to be there."""
    summary: Summary | None = None
    rejection: str | None = None
    committed: Committed | None = None
    built_from: ActiveContext | None = None
    """The context that the accepted one was made of."""

    async def perform(self, effect: Effect, run: Run) -> Signal | None:
        """Perform one effect."""
        match effect:
            case Effect.SELECT:
                return self._select(run)
            case Effect.LOCK:
                return await self._lock(run)
            case Effect.READ_START_MARKER:
                return await self._read_marker(run, "start", Signal.LOCKED, Signal.LOCK_FAILED)
            case Effect.SUMMARIZE:
                run.attempt += 1
                return await self.asking.ask(run, self._ask(run))
            case Effect.VALIDATE:
                return self._validate(run)
            case Effect.COMMIT:
                return await self._commit(run)
            case Effect.READ_END_MARKER:
                try:
                    return await self._read_marker(run, "end", Signal.COMMITTED_DURABLY, Signal.COMMIT_FAILED)
                finally:
                    self.session.writing.release()  # held since the commit
            case Effect.PUBLISH:
                assert self.committed is not None
                self.session.publish(self.committed.context)
                run.outcome = self.committed
                return None
            case Effect.CLOSE_MARKER:
                await self._close_marker(run)
                return None
            case Effect.REFUSE_WRITES:
                self.session.unwritable = f"nobody can tell whether run {run.id} was recorded: the ledger cannot be read"
                return None
            case Effect.REPLY:
                if run.outcome is None:
                    over = run.error is not None or run.stopped is not None or run.exit is not None
                    run.outcome = failed(run, self.session.context) if over else Unchanged(self.session.context)
                self.request.settle(run.outcome)
                return Signal.SETTLED
            case Effect.FOLLOW_UP:
                await self._follow_up(run)
                return Signal.SETTLED
            case _:
                assert_never(effect)

    # ------------------------------------------------------------------------------------------------ SELECTING

    def _select(self, run: Run) -> Signal:
        if self.trouble is not None:
            raise self.trouble
        self.options = options = self._options(self.base)
        surface, messages = self.session.lease.surface, self.base.messages
        orphan = surface.orphan()
        if orphan is not None:
            run.fail(
                ErrorCode.BUSY,
                f"run {orphan} of this life left its start marker {_age(surface.runs[orphan].time)} ago: its end could not be written",
                kind=FailureKind.BUSY,
                fix="close the session and open it again",
            )
            return Signal.BUSY
        last = len(messages) - options.retain_recent_messages
        boundary = choose_boundary(self.base, options)
        smallest = messages.last_cut(last)
        if self.request.force and self.base.units <= options.target_units:
            # Asked for although the target is met already: compact everything that need not stay.
            boundary = smallest
        if smallest is None:
            waiting = len(self.base.open_calls)
            run.fail(
                ErrorCode.BOUNDARY_UNAVAILABLE,
                f"nothing can be cut: {len(messages)} messages, the last {options.retain_recent_messages} stay, {waiting} tool calls wait",
                kind=FailureKind.NOTHING_TO_CUT,
                fix="wait for the results or close_calls(...)" if waiting else "raise the budget, or keep fewer recent messages",
            )
            return Signal.NOTHING_TO_CUT
        if boundary is None:
            tail = messages.units - messages.units_before(smallest)
            pinned = self.base.requirement_units
            run.fail(
                ErrorCode.NO_PROGRESS,
                f"requirements {pinned:,} + summary {options.summary_max_units:,} + smallest tail {tail:,} exceed the target {options.target_units:,}",
                kind=FailureKind.NO_PROGRESS,
                fix="raise the target, unpin requirements, or keep fewer recent messages",
            )
            return Signal.NO_PROGRESS
        # A summary that costs as much as what it hides would gain nothing: the summarizer is told so before it is paid.
        hiding = messages.units_before(boundary) + (summary_units(self.base.summary) if self.base.summary else 0)
        if hiding - 1 <= 5 + len(self.summary_id):
            run.fail(
                ErrorCode.BOUNDARY_UNAVAILABLE,
                f"what could be hidden costs {hiding:,} units, no more than a summary",
                kind=FailureKind.NOTHING_TO_CUT,
                fix="append more first",
            )
            return Signal.NOTHING_TO_CUT
        self.options = attrs.evolve(options, summary_max_units=min(options.summary_max_units, hiding - 1))
        run.boundary = boundary
        self.hidden = tuple(surface.order[: boundary + (self.base.summary is not None)])
        self.generation = surface.generation
        return Signal.CUT_CHOSEN

    def _options(self, context: ActiveContext) -> BudgetOptions:
        """The policy's numbers for *context*; after an overflow half of what the provider refused is a new beginning."""
        options = self.session.sizing.options(context)
        if self.request.trigger == "overflow":
            # The summary's room shrinks, too: a policy for a larger window may allow more than there is in all.
            half = max(1, self.base.units // 2)
            room = min(options.summary_max_units, max(1, half // 4))
            options = attrs.evolve(options, target_units=min(options.target_units, half), summary_max_units=room)
        return options

    async def _lock(self, run: Run) -> Signal:
        session = self.session
        draft = Draft(
            EventType.COMPACTION_STARTED,
            {
                "run": run.id,
                "trigger": run.trigger,
                "hidden": ranges(self.hidden),
                "input": session.lease.surface.span_digest(self.hidden),
                "target": self.options.target_units,
                "summary_max": self.options.summary_max_units,
            },
        )
        return await self._write(run, [draft], Signal.LOCKED, Signal.LOCK_FAILED, Signal.LOCK_UNKNOWN)

    async def _write(self, run: Run, drafts: list[Draft], done: Signal, refused: Signal, unknown: Signal) -> Signal:
        """One transaction. Cancelled means that nothing was written; so does this library's own error; all else is unknown."""
        async with self.session.writing:
            return await self._write_locked(run, drafts, done, refused, unknown)

    async def _write_locked(self, run: Run, drafts: list[Draft], done: Signal, refused: Signal, unknown: Signal) -> Signal:
        try:
            events = await self.session.store.append(self.session.lease, drafts)
        except CompactionError as error:
            run.fail(error.code, error.message, kind=FailureKind.PERSISTENCE, fix=error.fix, cause=error)
            return refused
        except Exception as error:  # noqa: BLE001 - the answer was lost; the next row reads again
            run.fail(
                ErrorCode.PERSISTENCE_FAILED, f"the ledger raised {kind_name(error)}", kind=FailureKind.PERSISTENCE, cause=error
            )
            return unknown
        if drafts[0].type is EventType.COMPACTION_STARTED:
            self.started = events[0].seq
        return done

    async def _read_marker(self, run: Run, name: str, found: Signal, missing: Signal) -> Signal:
        """Resolve an unknown write by asking for its marker; never cancelled."""
        with trio.CancelScope(shield=True):
            try:
                marker = await self.session.store.find(self.session.id, f"{name}:{run.id}")
            except Exception as error:  # noqa: BLE001 - nobody can know
                run.fail(
                    ErrorCode.COMMIT_UNKNOWN,
                    f"the ledger raised {kind_name(error)} when it was read again",
                    kind=FailureKind.UNKNOWN,
                    fix="close the session and open it again",
                    cause=error,
                )
                return Signal.LEDGER_UNREADABLE
        if marker is None:
            return missing
        run.error = None
        if self.started is None:
            self.started = marker
        return found

    # ---------------------------------------------------------------------------------------------- SUMMARIZING

    def _ask(self, run: Run) -> SummaryRequest:
        assert run.boundary is not None
        return SummaryRequest(
            self.base.requirements,
            self.base.summary,
            self.base.messages.before(run.boundary),
            run.boundary,
            self.options.summary_max_units,
            self.summary_id,
            self.request.instructions,
            self.rejection,
            run.attempt,
        )

    # ----------------------------------------------------------------------------------------------- VALIDATING

    def _validate(self, run: Run) -> Signal:
        if self._moved(run):
            return Signal.CONFLICT
        try:
            self.summary = read_summary_text(
                self.asking.answer,
                summary_id=self.summary_id,
                max_units=self.options.summary_max_units,
                limits=self.base.limits,
            )
            self._build(run, self.summary)
        except CompactionError as error:
            error.kind = FailureKind.REJECTED
            run.error = error
            if run.attempt < self.session.sizing.attempts:
                self.rejection = f"{error.where}: {error.message} ({error.fix})"
                return Signal.REJECTED_RETRYABLE
            return Signal.REJECTED
        run.error = None
        return Signal.ACCEPTED

    def _moved(self, run: Run) -> bool:
        """Compare the span with what was selected: appends never move it, replacements and unpins do."""
        surface = self.session.lease.surface
        if surface.generation == self.generation and tuple(surface.order[: len(self.hidden)]) == self.hidden:
            return False
        run.fail(
            ErrorCode.CONFLICT,
            "the span that was summarized is no longer what it was",
            kind=FailureKind.CONFLICT,
            fix="nothing is lost; compact again",
        )
        return True

    def _build(self, run: Run, summary: Summary) -> None:
        """Judge the size on the surface as it was selected, with the pins of now; build what will be published."""
        assert run.boundary is not None
        now = self.session.context
        late = now.messages.units - self.base.messages.units
        target = min(self._options(now).target_units, self.base.units - 1)
        context, record = compacted(
            now, boundary=run.boundary, summary=summary, record_id=run.id, target_units=target + late, detach=True
        )
        run.units_after = context.units
        self.committed = Committed(context, record, run.id)
        self.built_from = now

    async def _commit(self, run: Run) -> Signal:
        """The one write that counts. While its answer is unknown the lock stays held: nothing may come between."""
        await self.session.writing.acquire()
        signal = None
        try:
            signal = await self._commit_locked(run)
        finally:
            if signal is not Signal.COMMIT_UNKNOWN:
                self.session.writing.release()
        return signal

    async def _commit_locked(self, run: Run) -> Signal:
        session = self.session
        if self._moved(run):
            return Signal.CONFLICT
        assert self.committed is not None
        assert self.summary is not None
        if session.context is not self.built_from:
            # Appended to since it was accepted: the summary is the same, the tail is longer, and there may be new pins.
            try:
                self._build(run, self.summary)
            except CompactionError as error:
                error.kind = FailureKind.REJECTED
                run.error = error
                return Signal.REJECTED
        record = self.committed.record
        assert self.started is not None
        surface = session.lease.surface
        drafts = [
            Draft(
                EventType.SUMMARY_PLACED,
                {
                    "id": self.summary.id,
                    "content": self.summary.content,
                    "run": run.id,
                    "record": record_to_plain(record),
                    "hidden": ranges(self.hidden),
                },
                Replace(self.hidden[0], self.hidden[-1]),
                (*self.hidden, self.started),
            ),
            Draft(
                EventType.COMPACTION_ENDED,
                {
                    "run": run.id,
                    "code": None,
                    "measure": "units",
                    "units_before": record.units_before,
                    "units_after": record.units_after,
                    "hidden": ranges(self.hidden),
                    "input": surface.span_digest(self.hidden),
                    "coverage": {
                        "summarized": ranges(self.hidden),
                        "kept": ranges(surface.order[len(self.hidden) :]),
                        "pinned": ranges([*surface.pins.values()]),
                        "control": [],
                    },
                    "summarizer": described(self.asking.summarizer),
                    # Nothing was taken from the text or added to it, unless it is here as it came.
                    "raw": None if self.asking.answer == self.summary.content else self.asking.answer,
                    "verdicts": [{"name": name, "ok": True} for name in VERDICTS],
                    "attempts": run.attempt,
                    "seconds": round(trio.current_time() - run.began, 6),
                },
            ),
        ]
        return await self._write_locked(run, drafts, Signal.COMMITTED_DURABLY, Signal.COMMIT_FAILED, Signal.COMMIT_UNKNOWN)

    async def _follow_up(self, run: Run) -> None:
        """Let the agent re-attach what it needs. Whatever goes wrong here is noted: the compaction stands."""
        host, committed = self.session, self.committed
        if host.after_commit is None or committed is None:
            return
        box = start(self.asking.nursery, host, host.after_commit, committed)
        try:
            ended = await wait(box, seconds=host.sizing.timeout, grace=self.asking.grace)
            if ended is not Ended.ANSWERED:
                run.notes.append(f"after_commit did not end within {host.sizing.timeout:g} s")
            elif box.error is not None:
                run.notes.append(f"after_commit raised {kind_name(box.error)}")
            elif box.value is not None:
                await host.append(*box.value)
        except trio.Cancelled:
            run.notes.append("after_commit was cancelled")
        except Exception as error:  # noqa: BLE001 - what it returned could not be appended
            run.notes.append(f"what after_commit returned was not appended: {kind_name(error)}")
        if not box.ended.is_set():
            self.asking.box = box
        run.exit = run.exit or box.exit

    async def _close_marker(self, run: Run) -> None:
        """End a run that did not commit. If that cannot be written the marker stays, loudly: the next run is BUSY."""
        code = ErrorCode.CANCELLED if run.stopped or run.exit or run.error is None else run.error.code
        data = {
            "run": run.id,
            "code": code.value,
            "kind": None if run.error is None or run.error.kind is None else run.error.kind.value,
            "summarizer": described(self.asking.summarizer),
            "attempts": run.attempt,
            "seconds": round(trio.current_time() - run.began, 6),
        }
        draft = Draft(EventType.COMPACTION_ENDED, data)
        with trio.CancelScope(shield=True):
            try:
                async with self.session.writing:
                    await self.session.store.append(self.session.lease, [draft])
            except Exception as error:  # noqa: BLE001 - the run has failed already; this must not hide why
                run.notes.append(f"the end marker could not be written: {kind_name(error)}")


def _age(began: float) -> str:
    """How long ago, for people; the wall clock may have been set back meanwhile."""
    return f"{max(0, round(time.time() - began)):,} s"
