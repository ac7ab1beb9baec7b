"""The command line: arguments and files → library calls → text. The only place that runs Trio and writes to stdout.

``run`` parses (``_arguments``), works, and says what came out (``_report``, ``_words``). A result goes to a file whole
or not at all (``_output``); Ctrl-C is taken by whoever may be interrupted (``_signals``); the trace is a logger that the
session is given (``_trace``).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from compactor.errors import CompactionError, ErrorCode
from compactor.formats import Rendered, render_messages
from compactor.lesson import compare, walk
from compactor.outcomes import Committed, Failed, Outcome, Unchanged
from compactor.plain import SESSION_LIMITS, Tally
from compactor.readers import read_bytes_transcript, read_transcript, sample_bytes
from compactor.reading import read_messages
from compactor.session import open_session, plan_compaction
from compactor.transcript import validate_transcript

from . import _report
from ._arguments import Job, parse
from ._input import STDIN, standard_input, unread
from ._output import Target, replace, target
from ._session_arguments import SessionJob
from ._signals import interruptible
from ._trace import tracer
from ._words import (
    DONE,
    FAILED,
    FAULTS,
    REFUSED,
    SCHEMA,
    UNREAD,
    Problem,
    RefusedError,
    UnreadError,
    put,
    put_json,
    put_lines,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactor.context import ActiveContext
    from compactor.formats import ImportReport
    from compactor.messages import TranscriptFault
    from compactor.tracing import Logger

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Do what *arguments* say and give the exit code. Raises KeyboardInterrupt, and what only a bug can raise."""
    try:
        return _run(arguments)
    except UnreadError:
        return UNREAD


def _run(arguments: Sequence[str]) -> int:
    as_json = "--json" in arguments
    job = parse(arguments)
    if isinstance(job, Problem):
        return _told(job, as_json=as_json, shown=True)
    if isinstance(job, int):
        return job
    try:
        if isinstance(job, SessionJob):
            from ._session import run_session  # noqa: PLC0415 - the part of the library that only ledgers need

            return run_session(job)
        return _VERBS[job.command](job)
    except RefusedError as error:
        return _told(error.problem, as_json=as_json)


def _told(problem: Problem, *, as_json: bool, shown: bool = False) -> int:
    if not shown:
        warn(problem.sentence)
    if as_json and problem.file != "<stdout>":
        put_json(problem.to_plain())
    return problem.exit


# ---------------------------------------------------------------------------------------------------------- input


def _piped(job: Job) -> bytes | None:
    """The input that has no path: the sample, or standard input."""
    if job.file is None:
        return sample_bytes()
    if job.file != STDIN:
        return None
    return standard_input()


def _context(job: Job, piped: bytes | None) -> ActiveContext:
    return read_transcript(job.file or "", session=job.of) if piped is None else read_bytes_transcript(piped, job.name)


def _read(job: Job) -> ActiveContext:
    """Read the input; what is wrong with it is exit 3."""
    try:
        return _context(job, _piped(job))
    except CompactionError as error:
        raise unread(error, job.name) from error


# ----------------------------------------------------------------------------------------------------------- verbs


def _compact(job: Job) -> int:
    goal = None if job.out in (None, "-") else target(job.out or "")
    before = _read(job)
    plan = plan_compaction(before, job.sizing)
    if not job.as_json:
        warn(*_report.grouped(before.report.notes))
    outcome = _compacted(job, before, tracer(job.trace))
    rendered = None if job.out is None else _rendered(job, outcome.context)
    if rendered is not None and not job.as_json:
        warn(*_report.grouped(rendered.notes))
    if goal is not None and rendered is not None:
        replace(goal, _data(rendered))
    if job.as_json:
        found = _report.compact_to_plain(before, plan, outcome)
        put_json({**_head(job), **found, "report": _report.report_to_plain(before.report), "export": _export(goal, rendered)})
        return DONE
    lines = [_report.read_line(job.name, before.report), *_report.compact_lines(before, plan, outcome), _last(job, goal)]
    if goal is None and rendered is not None:
        # The result has stdout for itself.
        warn(*lines)
        put(_data(rendered))
    else:
        put_lines(lines)
    return DONE


def _compacted(job: Job, context: ActiveContext, logger: Logger | None) -> Committed | Unchanged:
    """One run of the machine on a session in memory; whatever it ended with but a result is exit 4 or 5."""

    async def session() -> Outcome:
        async with open_session(context=context, policy=job.sizing, auto=False, logger=logger) as opened:
            return await opened.compact(job.instructions, force=job.force)

    try:
        with interruptible():
            outcome = trio.run(session)
    except CompactionError as error:
        raise RefusedError(Problem.of(error, FAILED, job.name)) from error
    if isinstance(outcome, Failed):
        raise RefusedError(Problem.of(outcome.error, FAILED, job.name)) from outcome.error
    return outcome


def _rendered(job: Job, context: ActiveContext) -> Rendered:
    try:
        return render_messages(job.to, context)
    except CompactionError as error:
        raise RefusedError(Problem.of(error, REFUSED, job.name)) from error


def _data(rendered: Rendered) -> bytes:
    return rendered.to_json().encode() + b"\n"


def _head(job: Job) -> dict[str, Any]:
    return {"schema": SCHEMA, "command": job.command, "file": job.name}


def _export(goal: Target | None, rendered: Rendered | None) -> dict[str, Any] | None:
    if goal is None or rendered is None:
        return None
    return {"format": rendered.format, "path": goal.name, "notes": _report.notes_to_plain(rendered.notes)}


def _last(job: Job, goal: Target | None) -> str:
    if goal is not None:
        return _report.row("written", f"{goal.name} ({job.to})")
    if job.out is not None:
        return _report.row("written", f"standard output ({job.to})")
    return _report.row("result", f"nothing was written; to keep it: compactor compact {job.typed} -o FILE")


def _plan(job: Job) -> int:
    context = _read(job)
    plan = plan_compaction(context, job.sizing)
    if job.as_json:
        found = _report.plan_to_plain(context, plan, force=job.force)
        put_json({**_head(job), **found, "report": _report.report_to_plain(context.report)})
        return DONE
    warn(*_report.grouped(context.report.notes))
    lines = [_report.read_line(job.name, context.report), *_report.plan_lines(context, plan, force=job.force)]
    put_lines([*lines, _report.row("result", f"nothing was written; to do it: compactor compact {job.typed}")])
    return DONE


def _check(job: Job) -> int:
    report: ImportReport | None = None
    faults: tuple[TranscriptFault, ...] = ()
    piped = _piped(job)
    try:
        context = _context(job, piped)
    except CompactionError as error:
        # Our own format is read strictly: one fault and there is no context. All of them are listed here.
        faults = _all_faults(job, piped) if error.code is ErrorCode.INVALID_TRANSCRIPT else ()
        if not faults:
            raise unread(error, job.name) from error
    else:
        report, faults = context.report, validate_transcript(context.messages, live=True)
    number = len(faults) + sum([_report.is_fault(note) for note in report.notes] if report else [])
    if job.as_json:
        put_json({**_head(job), **_report.check_to_plain(report, faults, number)})
    else:
        read = [] if report is None else [_report.read_line(job.name, report)]
        put_lines([*read, *_report.check_lines(report, faults, number)])
    return FAULTS if number else DONE


def _all_faults(job: Job, piped: bytes | None) -> tuple[TranscriptFault, ...]:
    """Every fault of a document that the reader refused at its first one; none when they cannot be listed."""
    faults: list[TranscriptFault] = []
    try:
        document = json.loads(Path(job.file or "").read_bytes() if piped is None else piped)
        messages = document["messages"] if type(document) is dict else document
        read_messages(messages, Tally(SESSION_LIMITS), rich=True, live=True, collect=faults)
    except (OSError, ValueError, KeyError, RecursionError, CompactionError):
        return ()
    return tuple(faults)


def _demo(job: Job) -> int:
    """The lesson. What it is asked to show is no failure of the command."""

    async def lesson() -> None:
        await walk(_say, cancel_at=job.cancel_at, fail=job.fail, pause=_enter if job.step else None)

    with interruptible():
        trio.run(lesson)
    _say("\nA careless cutter, to compare with:")
    compare(_say)
    return DONE


def _say(line: str) -> None:
    put_lines([line])


async def _enter() -> None:
    """Wait for a line of standard input; its end means: go on."""
    warn("   (Enter)")
    await trio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)


_VERBS = {"compact": _compact, "plan": _plan, "check": _check, "demo": _demo}
