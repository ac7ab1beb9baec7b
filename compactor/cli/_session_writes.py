"""The verbs that change a ledger; each opens the session, appends, and closes it. What they need is read and checked before."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio

from compactor.context import ActiveContext, with_requirements
from compactor.edits import forked, planned_undo, tombstone_of
from compactor.errors import CompactionError, ErrorCode
from compactor.events import Event
from compactor.formats import ImportReport
from compactor.ledger import check_session_id
from compactor.live import owner
from compactor.messages import Requirement
from compactor.outcomes import Failed
from compactor.planning import plan_compaction
from compactor.readers import decode_rows, read_bytes_transcript, read_transcript, sample_bytes
from compactor.reading import read_one
from compactor.session import open_session
from compactor.stores import open_store

from . import _report, _session_report
from ._input import NAME, STDIN, standard_input, unread
from ._session_arguments import SessionJob
from ._session_frame import Found, context_found, invalid, problem, viewing, which, writing
from ._session_owner import owner_of
from ._trace import tracer
from ._words import FAILED, REFUSED, Problem, RefusedError, refused, told

# ------------------------------------------------------------------------------------------------------------- import


def session_file(job: SessionJob) -> tuple[str, ActiveContext, ImportReport]:
    """What ``import`` begins a session with, what it is called, and how it was read."""
    file = job.options["file"]
    name = "<sample>" if file is None else NAME if file == STDIN else told(file)
    try:
        match file:
            case None:
                context = read_bytes_transcript(sample_bytes(), name)
            case "-":
                context = read_bytes_transcript(standard_input(), name)
            case _:
                context = read_transcript(file, session=job.options["from"])
        # Pinned before and not after: a session begins in one transaction.
        pins = tuple([Requirement(text, id=f"r-{secrets.token_hex(6)}") for text in job.options["pin"]])
        return name, with_requirements(context, (*context.requirements, *pins)), context.report
    except CompactionError as error:
        raise unread(error, name) from error


async def import_(job: SessionJob, given: tuple[str, ActiveContext, ImportReport]) -> Found:
    """Begin a session. It is asked first whether it can be: a refusal leaves nothing behind."""
    file, context, report = given
    name = check_session_id(f"s-{secrets.token_hex(6)}" if job.session is None else job.session)
    if await trio.Path(job.path).exists():
        async with viewing(job) as view:
            if any(info.id == name for info in await view.sessions()):
                surface = await view.store.surface_at(name)
                if surface.order or surface.pins:
                    raise invalid(job, f"session {name} has content already", "give the new one another id with --session")
    async with open_session(job.path, session_id=name, context=context, auto=False) as session:
        now = session.context
    lines = [_report.read_line(file, report), *_session_report.context_lines(name, now)]
    plain = {**context_found(name, now), "file": file, "report": _report.report_to_plain(report)}
    return Found(plain, lines, asides=_report.grouped(report.notes))


# ------------------------------------------------------------------------------------------------------------- append


def messages(job: SessionJob) -> Sequence[Any]:
    """What ``append`` is given, each message checked on its own, so that the file and the line can be named."""
    user, assistant, file = job.options["user"], job.options["assistant"], job.options["file"]
    said = [] if user is None else [{"role": "user", "content": user}]
    said += [] if assistant is None else [{"role": "assistant", "content": [{"type": "text", "text": assistant}]}]
    if file is None:
        return said
    name = NAME if file == STDIN else told(file)
    rows = _rows(_contents(file, name), name)
    found = [(line, message) for line, value in rows for message in (value if type(value) is list else [value])]
    for line, message in found:
        try:
            read_one({"id": "m", **message} if type(message) is dict else message)
        except CompactionError as error:
            where = error.where.removeprefix("messages[0]").removeprefix(".")
            what = f"{where}: {error.message}" if where else error.message
            raise RefusedError(Problem(REFUSED, error.code.value, what, error.fix, name, line)) from error
    return [message for _line, message in found]


def _contents(file: str, name: str) -> bytes:
    if file == STDIN:
        return standard_input()
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        what = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "is not a usable path"
        raise refused(what, "name a file of messages", name, ErrorCode.FILE_UNREADABLE.value) from error


def _rows(data: bytes, name: str) -> Sequence[tuple[int, Any]]:
    """JSONL, or one JSON document on any number of lines: outside of strings a newline is a space, and inside there is none."""
    try:
        return decode_rows(data + b"\n", name).rows
    except CompactionError as error:
        try:
            return decode_rows(data.replace(b"\n", b" ") + b"\n", name).rows
        except CompactionError:
            raise RefusedError(Problem.of(error, REFUSED, name)) from error


async def append(job: SessionJob, given: Sequence[Any]) -> Found:
    """Append messages, all or none."""
    async with writing(job) as session:
        kept = await session.append(*given)
        name, now = session.id, session.context
    ids = [str(message.id) for message in kept]
    lines = [_report.row("appended", ", ".join(ids) or "nothing"), *_session_report.context_lines(name, now)]
    return Found({**context_found(name, now), "appended": ids}, lines)


async def pin(job: SessionJob, _given: None) -> Found:
    """Pin a requirement, or take one away."""
    text, remove = job.options["text"], job.options["remove"]
    async with writing(job) as session:
        if remove is None:
            did, id_ = "pinned", await session.pin(text)
        else:
            did, id_ = "unpinned", remove
            await session.unpin(remove)
        name, now = session.id, session.context
    return Found({**context_found(name, now), did: id_}, [_report.row(did, id_), *_session_report.context_lines(name, now)])


# ------------------------------------------------------------------------------------------------------------ compact


async def compact(job: SessionJob, _given: None) -> Found:
    """One run of the machine; or what it would do."""
    options = job.options
    if options["dry_run"]:
        async with viewing(job) as view:
            info = await which(job, view)
            context = await view.surface_at(info.id)
        plan = plan_compaction(context, job.sizing)
        lines = _report.plan_lines(context, plan, force=options["force"])
        plain = {"session": info.id, **_report.plan_to_plain(context, plan, force=options["force"])}
        return Found(plain, [*lines, _report.row("result", "nothing was written")])
    async with writing(job, policy=job.sizing, logger=tracer(options["trace"])) as session:
        before, plan = session.context, session.plan()
        outcome = await session.compact(options["instructions"], force=options["force"])
        name = session.id
    if isinstance(outcome, Failed):
        raise RefusedError(problem(outcome.error, job, FAILED)) from outcome.error
    lines = [_report.row("session", name), *_report.compact_lines(before, plan, outcome)]
    if outcome.record is not None:
        lines.append(_report.row("record", f"{outcome.record.id}; to bring back what it hid: session undo"))
    return Found({"session": name, **_report.compact_to_plain(before, plan, outcome)}, lines)


# -------------------------------------------------------------------------------------------------------------- edits


async def undo(job: SessionJob, _given: None) -> Found:
    """Bring back what a compaction hid."""
    dry, record = job.options["dry_run"], job.options["record"]
    if dry:
        async with viewing(job) as view:
            info = await which(job, view)
            name = info.id
            undone, _op = await planned_undo(view.store, name, await view.store.surface_at(name), record)
    else:
        async with writing(job) as session:
            name = session.id
            undone = await session.undo(record)
    did = "would undo" if dry else "undone"
    plain = {**context_found(name, undone.context), "undone": list(undone.record_ids), "dryRun": dry}
    lines = [_report.row(did, ", ".join(undone.record_ids)), *_session_report.context_lines(name, undone.context)]
    return Found(plain, [*lines, _report.row("result", "nothing was written")] if dry else lines)


async def rewind(job: SessionJob, _given: None) -> Found:
    """Make the surface what it was."""
    async with writing(job) as session:
        rewound = await session.rewind(job.options["seq"])
        name = session.id
    less = f", without its last {_report.count(rewound.less, 'message')}, whose calls were answered later" if rewound.less else ""
    lines = [_report.row("rewound", f"to event {rewound.seq}{less}"), *_session_report.context_lines(name, rewound.context)]
    return Found({**context_found(name, rewound.context), "seq": rewound.seq, "less": rewound.less}, lines)


async def fork(job: SessionJob, _given: None) -> Found:
    """Begin another session. What it takes over can change no more, so whoever writes the parent may go on."""
    seq, name = job.options["seq"], job.options["as"]
    name = check_session_id(f"s-{secrets.token_hex(6)}" if name is None else name)
    async with viewing(job) as view:
        info = await which(job, view)
        if any(one.id == name for one in await view.sessions()):
            raise invalid(job, f"session {name} is there already", "give the fork another id with --as")
        surface = await view.store.surface_at(info.id)
    store = await open_store(job.path)
    try:
        await forked(store, info.id, surface, seq, name, owner=owner())
    finally:
        await store.aclose()
    async with viewing(job) as view:
        now = await view.surface_at(name)
    plain = {**context_found(name, now), "fork": name, "parent": info.id}
    lines = [_report.row("fork", f"{name}, of {info.id}"), *_session_report.context_lines(name, now)]
    return Found(plain, lines)


# ----------------------------------------------------------------------------------------------- with an explicit yes


async def unlock(job: SessionJob, _given: None) -> Found:
    """Show who or what blocks a session; take it over and close it, which is what opening it anew would do."""
    async with viewing(job) as view:
        info = await which(job, view)
        surface = await view.store.surface_at(info.id)
        markers = [
            {"run": run, "seq": marker.started, "epoch": marker.epoch, "time": marker.time}
            for run, marker in surface.runs.items()
        ]
    found = owner_of(job.path, info.id)
    blocked = found.state == "open" or bool(markers)
    done = blocked and job.options["yes"]
    if done:
        store = await open_store(job.path)
        try:
            # Taken away only from whom the user was shown.
            lease = await store.acquire(info.id, owner=f"{owner()}, unlocking", takeover=found.state == "open")
            await store.release(lease)
        finally:
            await store.aclose()
    lines = _session_report.marker_lines(info.id, found, markers, done=done)
    return Found({"session": info.id, "owner": found.to_plain(), "markers": markers, "unlocked": done}, lines)


async def redact(job: SessionJob, _given: None) -> Found:
    """Bury what events say. All of them are looked at first, so a wrong number redacts nothing."""
    seqs, yes = list(dict.fromkeys(job.options["seqs"])), job.options["yes"]
    async with viewing(job) as view:
        info = await which(job, view)
        events = [event for seq in seqs if seq < info.events for event in await view.store.read(info.id, seq, seq + 1)]
    _check_redactable(job, seqs, events)
    if yes:
        async with writing(job) as session:
            for seq in seqs:
                await session.redact(seq, job.options["reason"])
    plain = {
        "session": info.id,
        "events": _session_report.events_to_plain(events),
        "redacted": seqs if yes else [],
        "dryRun": not yes,
    }
    return Found(plain, _session_report.redacted_lines(events, done=yes))


def _check_redactable(job: SessionJob, seqs: Sequence[int], events: Sequence[Event]) -> None:
    there = {event.seq for event in events}
    for seq in seqs:
        if seq not in there:
            raise invalid(job, f"the session has no event {seq}", "events are counted from 0; session ls says how many there are")
    for event in events:
        if tombstone_of(event) is None:
            what = f"event {event.seq} is {event.type.value}, which holds no text of a conversation"
            raise invalid(job, what, "redact the event that holds it; session search finds its number")
