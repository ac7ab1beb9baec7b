"""``compactor session``: runs one verb and tells what it came to. The table of the verbs."""

from __future__ import annotations

from typing import Final

import trio

from compactor.errors import CompactionError, ErrorCode

from . import _report
from . import _session_reads as reads
from . import _session_writes as writes
from ._output import replace, target
from ._session_arguments import SessionJob
from ._session_frame import Found, Verb, problem
from ._signals import deferred, interruptible
from ._words import SCHEMA, RefusedError, put, put_json, put_lines, refused, warn

VERBS: Final[dict[str, Verb]] = {
    "ls": Verb(reads.ls),
    "import": Verb(writes.import_, ready=writes.session_file, whole=True),
    "append": Verb(writes.append, ready=writes.messages, whole=True),
    "pin": Verb(writes.pin, whole=True),
    "compact": Verb(writes.compact),
    "show": Verb(reads.show),
    "at": Verb(reads.at),
    "diff": Verb(reads.diff),
    "search": Verb(reads.search),
    "read": Verb(reads.read),
    "undo": Verb(writes.undo, whole=True),
    "rewind": Verb(writes.rewind, whole=True),
    "fork": Verb(writes.fork, whole=True),
    "export": Verb(reads.export),
    "verify": Verb(reads.verify),
    "unlock": Verb(writes.unlock, whole=True),
    "redact": Verb(writes.redact, whole=True),
    "backup": Verb(reads.backup),
    "stats": Verb(reads.stats),
}


def run_session(job: SessionJob) -> int:
    """Do what the job says, and tell what it came to."""
    _check_path(job)
    out = job.options.get("out")
    goal = None if out in (None, "-") else target(out)
    verb = VERBS[job.verb]
    try:
        given = verb.ready(job)
        with deferred() if verb.whole else interruptible():
            found = trio.run(verb.work, job, given)
    except CompactionError as error:
        raise RefusedError(problem(error, job)) from error
    if goal is not None and found.data is not None:
        replace(goal, found.data)
    if job.as_json:
        put_json({"schema": SCHEMA, "command": f"session {job.verb}", "ledger": job.ledger, **found.plain})
        return found.exit
    _tell(found, None if goal is None else goal.name)
    return found.exit


def _tell(found: Found, written: str | None) -> None:
    """The result, for people. One that has a format has stdout for itself, unless it went to a file."""
    warn(*found.asides)
    if written is not None:
        put_lines([*found.lines, _report.row("written", written)])
    elif found.data is not None:
        put(found.data)
    else:
        put_lines(found.lines)


def _check_path(job: SessionJob) -> None:
    """Refuse a name that SQLite, which wants UTF-8, cannot open."""
    try:
        usable = b"\0" not in job.ledger.encode()
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise refused("its name is not UTF-8", "give the ledger another name", job.name, ErrorCode.FILE_UNREADABLE.value)
