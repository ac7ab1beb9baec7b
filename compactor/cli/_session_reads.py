"""The verbs that only look into a ledger. None needs the session to be closed elsewhere, none leaves a trace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import trio

from compactor.audit import Audit, Finding
from compactor.context import ActiveContext, build_live_context
from compactor.errors import CompactionError, ErrorCode
from compactor.formats import Rendered, render_messages, render_request
from compactor.history import fetch
from compactor.ledger import SessionInfo
from compactor.messages import message_to_plain
from compactor.plain import SESSION_LIMITS
from compactor.surface import hidden_by
from compactor.viewing import LedgerView

from . import _report, _session_report
from ._session_arguments import SessionJob
from ._session_frame import Found, Seen, context_found, see, viewing, which
from ._session_owner import owner_of
from ._words import DONE, FAULTS, REFUSED, Problem, RefusedError, told


async def ls(job: SessionJob, _given: None) -> Found:
    """One line for each session; a damaged one hides none of the others."""
    rows = []
    async with viewing(job) as view:
        for info in await view.sessions():
            seen: Seen | None
            try:
                seen = await see(view, info)
            except CompactionError as error:
                if error.code is not ErrorCode.LEDGER_CORRUPT:
                    raise
                seen = None
            rows.append(_session_report.session_to_plain(info, seen, owner_of(job.path, info.id)))
    return Found({"sessions": rows}, _session_report.session_lines(rows))


# -------------------------------------------------------------------------------------------------------- a surface


def _shown(job: SessionJob, name: str, seen: Seen) -> Found:
    """A surface: for people, or in a format as exactly the arguments of a request."""
    to = job.options["to"]
    plain = {**context_found(name, seen.context), **_session_report.seen_to_plain(seen)}
    if to is None:
        return Found(plain, _session_report.surface_lines(job.name, name, seen, full=job.options["full"]))
    rendered = render_messages(to, seen.context)
    # A request is written as the renderer gives it: what a client would have sent, to the byte.
    request = Rendered(to, render_request(to, seen.context))
    notes = _report.notes_to_plain(rendered.notes)
    return Found(
        {**plain, "format": to, "rendered": request.data, "notes": notes},
        _session_report.context_lines(name, seen.context),
        data=request.to_json().encode() + b"\n",
        asides=_report.grouped(rendered.notes),
    )


async def show(job: SessionJob, _given: None) -> Found:
    """What the model is sent now."""
    async with viewing(job) as view:
        info = await which(job, view)
        return _shown(job, info.id, await see(view, info))


async def at(job: SessionJob, _given: None) -> Found:
    """What it was sent then."""
    async with viewing(job) as view:
        info = await which(job, view)
        return _shown(job, info.id, await see(view, info, turn=job.options["turn"], seq=job.options["seq"]))


async def diff(job: SessionJob, _given: None) -> Found:
    """What two moments have that the other has not. Of turns the surface, without what was pending then."""
    async with viewing(job) as view:
        info = await which(job, view)
        before, after = [await _surface(view, info, job.options[name]) for name in ("before", "after")]
        gone = [seq for seq in before.surface.order if seq not in set(after.surface.order)]
        hiding = await _hiding(view, info, after, gone)
    plain = _session_report.diff_to_plain(before, after, hiding)
    return Found({"session": info.id, **plain}, _session_report.diff_lines(plain))


async def _surface(view: LedgerView, info: SessionInfo, moment: tuple[str, int]) -> Seen:
    kind, number = moment
    seen = await see(view, info, **{kind: number})
    return seen if seen.shown is None else await see(view, info, seq=seen.shown.seq)


async def _hiding(view: LedgerView, info: SessionInfo, after: Seen, gone: Iterable[int]) -> dict[int, str]:
    """Of the events *gone* those that a compaction hides, and which: each summary hides the one before it."""
    missing, found = set(gone), dict[int, str]()
    at = after.surface.order[:1]
    while missing and at:
        (event,) = (await fetch(view.store, info.id, at)).values()
        hidden = hidden_by(event) or ()
        found |= {seq: event.data["run"] for seq in hidden if seq in missing}
        missing.difference_update(hidden)
        at = [*hidden[:1]]
    return found


# ----------------------------------------------------------------------------------------------------------- recall


async def search(job: SessionJob, _given: None) -> Found:
    """Where words stand."""
    async with viewing(job) as view:
        info = await which(job, view)
        hits = await view.history_search(
            info.id, job.options["query"], limit=job.options["limit"], everywhere=not job.options["hidden"]
        )
    return Found({"session": info.id, "hits": [attrs.asdict(hit) for hit in hits]}, _session_report.hit_lines(hits))


async def read(job: SessionJob, _given: None) -> Found:
    """One page of what a compaction hid."""
    async with viewing(job) as view:
        info = await which(job, view)
        page = await view.history_read(info.id, job.options["record"], job.options["cursor"])
    return Found({"session": info.id, **attrs.asdict(page)}, _session_report.page_lines(page))


async def export(job: SessionJob, _given: None) -> Found:
    """The surface, or everything, as a document of a format."""
    async with viewing(job) as view:
        info = await which(job, view)
        context = await view.surface_at(info.id)
        if job.options["originals"]:
            context = _originals(context, await view.transcript(info.id))
    rendered = render_messages(job.options["to"], context)
    plain = {**context_found(info.id, context), "format": rendered.format, "notes": _report.notes_to_plain(rendered.notes)}
    if job.options["out"] is None:
        plain["rendered"] = rendered.data
    lines = _session_report.context_lines(info.id, context)
    return Found(plain, lines, data=rendered.to_json().encode() + b"\n", asides=_report.grouped(rendered.notes))


def _originals(context: ActiveContext, messages: Sequence[Any]) -> ActiveContext:
    """A context that shows everything that was said, with the pins of now."""
    pins = [{"id": item.id, "content": item.content} for item in context.requirements]
    plain = [message_to_plain(message) for message in messages]
    return build_live_context({"requirements": pins, "messages": plain}, limits=SESSION_LIMITS)


# ------------------------------------------------------------------------------------------------------ the whole file


async def verify(job: SessionJob, _given: None) -> Found:
    """Everything that can be checked. A file that is too damaged to be opened is a fault that was found."""
    try:
        async with viewing(job) as view:
            audit = await view.verify(job.session)
    except CompactionError as error:
        if error.code is not ErrorCode.LEDGER_CORRUPT:
            raise
        audit = Audit(0, 0, (Finding("", -1, "file", error.message),), ())
    plain = {
        "ok": audit.ok,
        "sessions": audit.sessions,
        "events": audit.events,
        "faults": [attrs.asdict(finding) for finding in audit.faults],
        "traces": [attrs.asdict(finding) for finding in audit.traces],
    }
    return Found(plain, _session_report.audit_lines(audit), DONE if audit.ok else FAULTS)


async def backup(job: SessionJob, _given: None) -> Found:
    """A copy of one moment."""
    goal = job.options["dest"]
    async with viewing(job) as view:
        try:
            await view.backup(goal)
        except CompactionError as error:
            raise _of_copy(goal, error) from error
    size = (await trio.Path(goal).stat()).st_size
    return Found({"backup": goal, "bytes": size}, [_report.row("written", f"{told(goal)}, {size:,} bytes")])


def _of_copy(goal: str, error: CompactionError) -> CompactionError | RefusedError:
    """An error about the copy names the copy, as it was typed."""
    if error.where != os.path.abspath(goal):  # noqa: PTH100 - what the store says
        return error
    return RefusedError(Problem.of(CompactionError(error.code, error.message, where=goal, fix=error.fix), REFUSED, goal))


async def stats(job: SessionJob, _given: None) -> Found:
    """Counts."""
    async with viewing(job) as view:
        info = await which(job, view)
        counts = await view.statistics(info.id)
    return Found({"session": info.id, **counts.to_plain()}, _session_report.statistics_lines(counts))
