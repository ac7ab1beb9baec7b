"""The verbs of ledgers: each an async function from a ``SessionJob`` to what it found. What goes wrong is one sentence."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from compactor.context import ActiveContext, build_live_context
from compactor.errors import CompactionError, ErrorCode
from compactor.formats import Rendered, render_messages, render_request
from compactor.ledger import SessionInfo
from compactor.live import Session, owner
from compactor.messages import message_to_plain
from compactor.outcomes import Failed
from compactor.plain import SESSION_LIMITS
from compactor.readers import read_bytes_transcript, read_transcript
from compactor.session import open_ledger, open_session, plan_compaction
from compactor.stores import open_store
from compactor.viewing import LedgerView

from . import _report, _session_report
from ._output import replace, target
from ._session_arguments import STDIN, SessionJob
from ._signals import interruptible
from ._trace import tracer
from ._words import DONE, FAILED, FAULTS, REFUSED, SCHEMA, Problem, RefusedError, put, put_json, put_lines, refused, warn


@attrs.frozen
class Found:
    """What a verb found: for programs, for people, and as the bytes of a result that has a format."""

    plain: dict[str, Any]
    lines: Sequence[str] = ()
    exit: int = DONE
    data: bytes | None = None
    asides: Sequence[str] = ()
    """What people are told beside the result."""


def run_session(job: SessionJob) -> int:
    """Do what the job says, and tell what it came to."""
    out = job.options.get("out")
    goal = None if out in (None, "-") else target(out)
    try:
        with interruptible():
            found = trio.run(_VERBS[job.verb], job)
    except CompactionError as error:
        raise RefusedError(Problem.of(error, REFUSED, job.ledger)) from error
    if goal is not None and found.data is not None:
        replace(goal, found.data)
    if job.as_json:
        put_json({"schema": SCHEMA, "command": f"session {job.verb}", "ledger": job.name, **found.plain})
        return found.exit
    warn(*found.asides)
    if found.data is not None and goal is None:
        put(found.data)
    elif goal is not None:
        put_lines([*found.lines, _report.row("written", goal.name)])
    else:
        put_lines(found.lines)
    return found.exit


# ------------------------------------------------------------------------------------------------------- which session


@contextlib.asynccontextmanager
async def _view(job: SessionJob) -> AsyncIterator[LedgerView]:
    async with open_ledger(job.ledger) as view:
        yield view


async def _which(job: SessionJob, view: LedgerView) -> SessionInfo:
    """The session that is meant: the one that is named, or the only one."""
    infos = await view.sessions()
    if job.session is None and len(infos) == 1:
        return infos[0]
    found = next((info for info in infos if info.id == job.session), None)
    if found is not None:
        return found
    names = ", ".join([info.id for info in infos[:20]]) or "none; begin one with: compactor session import"
    what = f"has {len(infos)} sessions" if job.session is None else f"has no session {job.session!r}"
    raise refused(what, f"name one with --session; there are: {names}", job.name, ErrorCode.INVALID_INPUT.value)


@contextlib.asynccontextmanager
async def _writing(job: SessionJob, **options: Any) -> AsyncIterator[Session]:
    """The session, opened for writing; it must be there already."""
    async with _view(job) as view:
        info = await _which(job, view)
    async with open_session(job.ledger, session_id=info.id, auto=False, **options) as session:
        yield session


def _context_found(name: str, context: ActiveContext) -> dict[str, Any]:
    return {"session": name, **_session_report.context_to_plain(context)}


# ------------------------------------------------------------------------------------------------------------- verbs


async def _ls(job: SessionJob) -> Found:
    async with _view(job) as view:
        rows = [(info, await view.surface_at(info.id), await view.statistics(info.id)) for info in await view.sessions()]
    return Found({"sessions": [_session_report.session_to_plain(*row) for row in rows]}, _session_report.session_lines(rows))


async def _import(job: SessionJob) -> Found:
    file = job.options["file"]
    try:
        context = read_bytes_transcript(sys.stdin.buffer.read(), "<stdin>") if file == STDIN else read_transcript(file)
    except CompactionError as error:
        raise RefusedError(Problem.of(error, REFUSED, file)) from error
    async with open_session(job.ledger, session_id=job.session, context=context, auto=False) as session:
        for text in job.options["pin"]:
            await session.pin(text)
        name, context_now = session.id, session.context
    report = context.report
    lines = [_report.read_line(file, report), *_session_report.context_lines(name, context_now)]
    plain = {**_context_found(name, context_now), "report": _report.report_to_plain(report)}
    return Found(plain, lines, asides=_report.grouped(report.notes))


def _messages(job: SessionJob) -> list[Any]:
    """What ``append`` is given."""
    given = [{"role": "user", "content": job.options["user"]}] if job.options["user"] is not None else []
    if job.options["assistant"] is not None:
        given.append({"role": "assistant", "content": [{"type": "text", "text": job.options["assistant"]}]})
    file = job.options["file"]
    if (file is None) == (not given):
        raise refused("needs messages", "name a FILE, or pass --user or --assistant", job.name, ErrorCode.INVALID_INPUT.value)
    if file is None:
        return given
    try:
        text = (sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()).decode()
        try:
            value = json.loads(text)
        except ValueError:
            value = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else "is neither JSON nor JSONL"
        raise refused(
            f"cannot be read: {what}", "pass messages of this program's own JSON", file, ErrorCode.FILE_UNREADABLE.value
        ) from error
    return value if type(value) is list else [value]


async def _append(job: SessionJob) -> Found:
    messages = _messages(job)
    async with _writing(job) as session:
        kept = await session.append(*messages)
        ids = [message.id for message in kept]
        return Found(
            {**_context_found(session.id, session.context), "appended": ids},
            [_report.row("appended", ", ".join(map(str, ids))), *_session_report.context_lines(session.id, session.context)],
        )


async def _pin(job: SessionJob) -> Found:
    text, remove = job.options["text"], job.options["remove"]
    if (text is None) == (remove is None):
        raise refused("needs one thing to do", "pass a TEXT to pin, or --remove ID", job.name, ErrorCode.INVALID_INPUT.value)
    async with _writing(job) as session:
        if remove is not None:
            await session.unpin(remove)
        name = remove if remove is not None else await session.pin(text)
        verb = "unpinned" if remove is not None else "pinned"
        plain = {**_context_found(session.id, session.context), verb: name}
        return Found(plain, [_report.row(verb, name), *_session_report.context_lines(session.id, session.context)])


async def _compact(job: SessionJob) -> Found:
    options = job.options
    if options["dry_run"]:
        async with _view(job) as view:
            context = await view.surface_at((await _which(job, view)).id)
        plan = plan_compaction(context, job.sizing)
        return Found(
            _report.plan_to_plain(context, plan, force=options["force"]),
            _report.plan_lines(context, plan, force=options["force"]),
        )
    async with _writing(job, policy=job.sizing, logger=tracer(options["trace"])) as session:
        before, plan = session.context, session.plan()
        outcome = await session.compact(options["instructions"], force=options["force"])
        name = session.id
    if isinstance(outcome, Failed):
        raise RefusedError(Problem.of(outcome.error, FAILED, job.ledger)) from outcome.error
    return Found(
        {"session": name, **_report.compact_to_plain(before, plan, outcome)}, _report.compact_lines(before, plan, outcome)
    )


def _shown(job: SessionJob, name: str, context: ActiveContext) -> Found:
    """A surface: for people, or in a format as exactly the arguments of a request."""
    to = job.options.get("to")
    if to is None:
        return Found(_context_found(name, context), _session_report.surface_lines(name, context))
    rendered = render_messages(to, context)
    return Found({**_context_found(name, context), "format": to, "rendered": rendered.data}, data=_request(to, context, rendered))


def _request(to: str, context: ActiveContext, rendered: Rendered) -> bytes:
    try:
        data = json.dumps(render_request(to, context), ensure_ascii=False, allow_nan=False).encode()
    except (CompactionError, UnicodeEncodeError):  # a format for files, or text that only escapes can hold
        data = rendered.to_json().encode()
    return data + b"\n"


async def _show(job: SessionJob) -> Found:
    async with _view(job) as view:
        info = await _which(job, view)
        return _shown(job, info.id, await view.surface_at(info.id))


async def _at(job: SessionJob) -> Found:
    turn, seq = job.options["turn"], job.options["seq"]
    if (turn is None) == (seq is None):
        raise refused("needs one moment", "pass --turn N or --seq N", job.name, ErrorCode.INVALID_INPUT.value)
    async with _view(job) as view:
        info = await _which(job, view)
        return _shown(job, info.id, await view.surface_at(info.id, turn=turn, seq=seq))


def _moment(job: SessionJob, text: str) -> dict[str, int]:
    kind, _, number = text.partition(":")
    if kind not in ("turn", "seq") or not number.isdecimal():
        raise refused(f"{text!r} is no moment", "write turn:3 or seq:40", job.name, ErrorCode.INVALID_INPUT.value)
    return {kind: int(number)}


async def _diff(job: SessionJob) -> Found:
    moments = [_moment(job, job.options[key]) for key in ("before", "after")]
    async with _view(job) as view:
        info = await _which(job, view)
        before, after = [await view.surface_at(info.id, **moment) for moment in moments]
    plain = _session_report.diff_to_plain(before, after)
    return Found({"session": info.id, **plain}, _session_report.diff_lines(plain))


async def _search(job: SessionJob) -> Found:
    async with _view(job) as view:
        info = await _which(job, view)
        hits = await view.history_search(
            info.id, job.options["query"], limit=job.options["limit"], everywhere=not job.options["hidden"]
        )
    return Found({"session": info.id, "hits": [attrs.asdict(hit) for hit in hits]}, _session_report.hit_lines(hits))


async def _read(job: SessionJob) -> Found:
    async with _view(job) as view:
        info = await _which(job, view)
        page = await view.history_read(info.id, job.options["record"], job.options["cursor"])
    return Found({"session": info.id, **attrs.asdict(page)}, _session_report.page_lines(page))


async def _undo(job: SessionJob) -> Found:
    dry = job.options["dry_run"]
    async with _writing(job) as session:
        undone = await session.undo(job.options["record"], dry_run=dry)
        words = "would undo" if dry else "undone"
        plain = {**_context_found(session.id, undone.context), "undone": list(undone.record_ids), "dryRun": dry}
        lines = [_report.row(words, ", ".join(undone.record_ids)), *_session_report.context_lines(session.id, undone.context)]
        return Found(plain, lines)


async def _rewind(job: SessionJob) -> Found:
    async with _writing(job) as session:
        rewound = await session.rewind(job.options["seq"])
        plain = {**_context_found(session.id, rewound.context), "seq": rewound.seq, "less": rewound.less}
        less = f", without its last {rewound.less} messages, whose calls were answered later" if rewound.less else ""
        lines = [
            _report.row("rewound", f"to event {rewound.seq}{less}"),
            *_session_report.context_lines(session.id, rewound.context),
        ]
        return Found(plain, lines)


async def _fork(job: SessionJob) -> Found:
    async with _writing(job) as session:
        name = await session.fork(job.options["seq"], job.options["as"])
        return Found({"session": session.id, "fork": name}, [_report.row("fork", f"{name}, of {session.id}")])


async def _export(job: SessionJob) -> Found:
    async with _view(job) as view:
        info = await _which(job, view)
        context = await view.surface_at(info.id)
        if job.options["originals"]:
            context = _originals(context, await view.transcript(info.id))
    rendered = render_messages(job.options["to"], context)
    notes = _report.grouped(rendered.notes)
    plain = {**_context_found(info.id, context), "format": rendered.format, "notes": _report.notes_to_plain(rendered.notes)}
    if job.as_json and job.options["out"] is None:
        plain["rendered"] = rendered.data
    return Found(plain, _session_report.context_lines(info.id, context), data=rendered.to_json().encode() + b"\n", asides=notes)


def _originals(context: ActiveContext, messages: Sequence[Any]) -> ActiveContext:
    """A context that shows everything that was said, with the pins of now."""
    pins = [{"id": item.id, "content": item.content} for item in context.requirements]
    plain = [message_to_plain(message) for message in messages]
    return build_live_context({"requirements": pins, "messages": plain}, limits=SESSION_LIMITS)


async def _verify(job: SessionJob) -> Found:
    async with _view(job) as view:
        audit = await view.verify(job.session)
    plain = {
        "ok": audit.ok,
        "sessions": audit.sessions,
        "events": audit.events,
        "faults": [attrs.asdict(finding) for finding in audit.faults],
        "traces": [attrs.asdict(finding) for finding in audit.traces],
    }
    return Found(plain, _session_report.audit_lines(audit), DONE if audit.ok else FAULTS)


async def _unlock(job: SessionJob) -> Found:
    async with _view(job) as view:
        info = await _which(job, view)
        surface = await view.store.surface_at(info.id)
        markers = [
            {"run": run, "seq": marker.started, "epoch": marker.epoch, "time": marker.time}
            for run, marker in surface.runs.items()
        ]
    done = job.options["yes"]
    if done:
        store = await open_store(job.ledger)
        try:
            await store.release(await store.acquire(info.id, owner=f"{owner()}, unlocking", takeover=True))
        finally:
            await store.aclose()
    return Found(
        {"session": info.id, "markers": markers, "unlocked": done}, _session_report.marker_lines(info.id, markers, done=done)
    )


async def _redact(job: SessionJob) -> Found:
    seqs, reason = job.options["seqs"], job.options["reason"]
    if not job.options["yes"]:
        async with _view(job) as view:
            info = await _which(job, view)
            kinds = {seq: [event.type.value for event in await view.store.read(info.id, seq, seq + 1)] for seq in seqs}
        lines = [_report.row(f"event {seq}", (kind or ["is not there"])[0]) for seq, kind in kinds.items()]
        lines.append(_report.row("result", "nothing was changed; what is redacted is gone for good: add --yes to do it"))
        return Found({"session": info.id, "redacted": []}, lines)
    async with _writing(job) as session:
        for seq in seqs:
            await session.redact(seq, reason)
        return Found({"session": session.id, "redacted": list(seqs)}, [_report.row("redacted", ", ".join(map(str, seqs)))])


async def _backup(job: SessionJob) -> Found:
    async with _view(job) as view:
        await view.backup(job.options["dest"])
    return Found({"backup": job.options["dest"]}, [_report.row("written", job.options["dest"])])


async def _stats(job: SessionJob) -> Found:
    async with _view(job) as view:
        info = await _which(job, view)
        counts = await view.statistics(info.id)
    return Found(counts.to_plain(), _session_report.statistics_lines(counts))


_VERBS: Final[dict[str, Callable[[SessionJob], Awaitable[Found]]]] = {
    "ls": _ls,
    "import": _import,
    "append": _append,
    "pin": _pin,
    "compact": _compact,
    "show": _show,
    "at": _at,
    "diff": _diff,
    "search": _search,
    "read": _read,
    "undo": _undo,
    "rewind": _rewind,
    "fork": _fork,
    "export": _export,
    "verify": _verify,
    "unlock": _unlock,
    "redact": _redact,
    "backup": _backup,
    "stats": _stats,
}
