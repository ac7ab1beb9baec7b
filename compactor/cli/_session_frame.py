"""What the verbs of ledgers share: what one is and finds, which session is meant, and errors in the words of the command line."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

import attrs

from compactor.context import ActiveContext
from compactor.errors import CompactionError, ErrorCode
from compactor.events import Event
from compactor.history import context_at, load
from compactor.ledger import SessionInfo
from compactor.live import Session
from compactor.session import open_ledger, open_session
from compactor.surface import Surface
from compactor.viewing import LedgerView

from ._session_arguments import SessionJob
from ._session_report import context_to_plain
from ._words import DONE, REFUSED, Problem, RefusedError, refused

NAMED_MAX: Final = 20
"""How many sessions a message lists."""


@attrs.frozen
class Found:
    """What a verb found: for programs, for people, and as the bytes of a result that has a format."""

    plain: dict[str, Any]
    lines: Sequence[str] = ()
    exit: int = DONE
    data: bytes | None = None
    asides: Sequence[str] = ()
    """What people are told beside the result."""


def _nothing(_job: SessionJob) -> None:
    """Most verbs need nothing before."""


@attrs.frozen
class Verb:
    """One verb: *work* runs in Trio, and gets what *ready* gave."""

    work: Callable[[SessionJob, Any], Awaitable[Found]]
    ready: Callable[[SessionJob], Any] = _nothing
    """Reads what is to be read, before anything is open: there Ctrl-C ends the process at once."""
    whole: bool = False
    """Ctrl-C waits until the work is done, so that exit 130 means: nothing was changed."""


# ------------------------------------------------------------------------------------------------------------ errors

# What stands before the message when it is the name of an argument of the library, which nobody typed.
_ARGUMENTS: Final = frozenset({"turn", "seq", "record_id", "cursor", "session_id", "unpin", "ledger"})

# The library's advice → the same for the command line.
ADVICE: Final = {
    "turns are counted from 1; statistics() says how many there were": "turns are counted from 1; session stats says how many there were",
    "sessions() says how many": "events are counted from 0; session ls says how many there are",
    "events are counted from 0": "events are counted from 0; session ls says how many there are",
    "sessions() lists them": "session ls lists them",
    "see context.compactions": "session show lists the compactions in force",
    "take the record_id of a hit of history_search, or the one that stands below a summary": "take the one of a hit of session search, or one that session show lists",
    "see context.requirements": "session show lists the pins",
    "open it without context=...": "give the new session another id with --session, or append to this one",
    "close it there, or wait": "close it there, or wait; session unlock --yes takes it away",
    "make the file and its directory writable, or open it with read_only=True": "make the file and its directory writable",
    "open it for writing once": "use any verb that writes, once",
    "open the ledger again": "session show tells",
    "close the session and open it again": "do it again",
    "wait for the results or close_calls(...)": "append the results of the calls that wait: session append",
    "use a MemoryLedger here": "use ledgers on Linux or macOS",
    "pass the cursor of a hit or of the page before, or none": "pass the cursor of a hit or of the page before, or leave --cursor out",
}


def problem(error: CompactionError, job: SessionJob, exit_code: int = REFUSED) -> Problem:
    """An error of the library in the words of whoever typed the command."""
    where, message = error.where, error.message
    if where == job.path or where.startswith(f"{job.path}:"):
        where = where.removeprefix(job.path).lstrip(": ")
    elif where.startswith(job.path):  # a file beside it
        where, message = "", f"{where}: {message}"
    if where in _ARGUMENTS:
        where = ""
    fix = ADVICE.get(error.fix, error.fix)
    return Problem.of(CompactionError(error.code, message, where=where, fix=fix), exit_code, job.ledger)


def invalid(job: SessionJob, what: str, fix: str) -> RefusedError:
    """Exit 3: what was asked of the ledger cannot be."""
    return refused(what, fix, job.ledger, ErrorCode.INVALID_INPUT.value)


# ------------------------------------------------------------------------------------------------------- which session


@contextlib.asynccontextmanager
async def viewing(job: SessionJob) -> AsyncIterator[LedgerView]:
    """The ledger, to be read."""
    async with open_ledger(job.path) as view:
        yield view


async def which(job: SessionJob, view: LedgerView) -> SessionInfo:
    """The session that is meant: the one that is named, or the only one."""
    infos = await view.sessions()
    if job.session is None and len(infos) == 1:
        return infos[0]
    found = next((info for info in infos if info.id == job.session), None)
    if found is not None:
        return found
    if not infos:
        raise invalid(job, "has no sessions", "begin one with: compactor session import LEDGER FILE")
    what = f"has {len(infos)} sessions" if job.session is None else f"has no session {job.session!r}"
    names = ", ".join([info.id for info in infos[:NAMED_MAX]]) + (", …" if len(infos) > NAMED_MAX else "")
    raise invalid(job, what, f"name one with --session; there are: {names}")


@contextlib.asynccontextmanager
async def writing(job: SessionJob, **options: Any) -> AsyncIterator[Session]:
    """The session, opened for writing; it must be there already."""
    async with viewing(job) as view:
        info = await which(job, view)
    async with open_session(job.path, session_id=info.id, auto=False, **options) as session:
        yield session


# ----------------------------------------------------------------------------------------------------- what is shown


@attrs.frozen
class Seen:
    """A surface and what it shows: the seqs of its messages, and for a turn the event that tells of it."""

    surface: Surface
    context: ActiveContext
    shown: Event | None = None

    @property
    def seqs(self) -> Sequence[int | None]:
        """The event of each message; None for input that was pending, and has none."""
        found: list[int | None] = [*self.surface.order[self.context.summary is not None :]]
        return found + [None] * (len(self.context.messages) - len(found))


async def see(view: LedgerView, info: SessionInfo, *, turn: int | None = None, seq: int | None = None) -> Seen:
    """The session as it was shown at a turn, or after an event, or as it is."""
    if turn is None:
        surface = await view.store.surface_at(info.id, seq)
        return Seen(surface, await load(view.store, info.id, surface))
    context, shown = await context_at(view.store, info.id, turn=turn)
    return Seen(await view.store.surface_at(info.id, None if shown is None else shown.seq), context, shown)


def context_found(name: str, context: ActiveContext) -> dict[str, Any]:
    """The beginning of what most verbs tell to programs."""
    return {"session": name, **context_to_plain(context)}
