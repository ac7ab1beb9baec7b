"""``open_session`` and ``open_ledger``: where a session, or a look into a ledger, begins and ends.

Owns what has to be closed again: the store, the right to write, the nursery of the session's tasks.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from .asking import default_summarizer
from .context import Contextual, SummaryRequest, build_live_context, with_limits
from .errors import CompactionError, ErrorCode
from .history import load
from .ledger import Lease, Ledger, check_session_id
from .live import Session, owner
from .machine import GRACE, require_trio
from .outcomes import Committed
from .plain import SESSION_LIMITS
from .planning import Plan, plan_compaction
from .policy import Budget, Policy, Sizing, check_sizing
from .stores import MemoryLedger, open_store
from .tracing import Logger
from .turns import check_live_format
from .writer import Writer

if TYPE_CHECKING:
    from .viewing import LedgerView

__all__ = ["Plan", "Session", "open_ledger", "open_session", "plan_compaction"]


@contextlib.asynccontextmanager
async def open_session(
    ledger: Ledger | str | os.PathLike[str] | None = None,
    *,
    session_id: str | None = None,
    context: Contextual | None = None,
    policy: Policy | Budget | Sizing | None = None,
    summarizer: Callable[[SummaryRequest], Any] | None = None,
    format: str | None = None,  # noqa: A002 - the public face says so
    after_commit: Callable[[Committed], Any] | None = None,
    auto: bool = True,
    grace: float = GRACE,
    logger: Logger | None = None,
    new_id: Callable[[], str] = lambda: secrets.token_hex(6),
) -> AsyncIterator[Session]:
    """Open a session for writing; ``async with`` gives the ``Session``.

    *ledger* is a path (one SQLite file for any number of sessions, durable; needs the extra ``sqlite``), an open ledger, or
    None: in memory. *context* is what a new session begins with. *policy* is a ``Policy`` or a
    ``Budget``. *format* is a provider's: ``append`` then takes what its SDK returned, and ``turn().render()`` writes it.
    *after_commit* is awaited after each commit; the messages that it gives are appended. *auto* compacts in the background
    when an append crosses the threshold. *grace* is how long cancelled user code may take to end. Raises BUSY when somebody
    else has the session open.

    Leaving ends a run in hand as cancelled, unless it is committing.
    """
    require_trio("open_session")
    sizing = Policy() if policy is None else policy
    check_sizing(sizing)
    if format is not None:
        check_live_format(format)
    name = check_session_id(f"s-{new_id()}" if session_id is None else session_id)
    first = None if context is None else with_limits(build_live_context(context, limits=SESSION_LIMITS), SESSION_LIMITS)
    failure: BaseException | None = None
    session: Session | None = None
    async with _store(ledger) as store, _owned(store, name) as lease:
        found = await load(store, name, lease.surface)
        writer = Writer(store, lease, found, sizing=sizing, format=format, after_commit=after_commit, new_id=new_id)
        async with trio.open_nursery() as nursery:
            session = Session(
                writer,
                nursery,
                summarizer=summarizer or default_summarizer(),
                auto=auto,
                grace=grace,
                logger=logger,
                new_id=new_id,
            )
            try:
                if first is not None:
                    await session.begin(first)
                yield session
            except BaseException as raised:  # noqa: BLE001 - raised again below, outside the nursery, so that it stays bare
                failure = raised
            await session.aclose()
    crash = session.crash if session is not None else None
    if isinstance(crash, KeyboardInterrupt | SystemExit):
        raise crash
    if crash is not None:
        error = CompactionError(ErrorCode.INTERNAL, "the session's actor crashed", fix="report it, and open the session again")
        error.__context__ = failure
        raise error from crash
    if failure is not None:
        raise failure


@contextlib.asynccontextmanager
async def _owned(store: Ledger, name: str) -> AsyncIterator[Lease]:
    """The right to write a session."""
    lease = await store.acquire(name, owner=owner())
    try:
        yield lease
    finally:
        await store.release(lease)


@attrs.define(eq=False)
class _Shared:
    """A file that several sessions of this run have open; the last one closes it."""

    store: Any
    users: int = 0


_FILES: Final[trio.lowlevel.RunVar[dict[str, _Shared]]] = trio.lowlevel.RunVar("compactor ledgers")


@contextlib.asynccontextmanager
async def _store(ledger: Ledger | str | os.PathLike[str] | None) -> AsyncIterator[Ledger]:
    """The ledger to write: a path is opened once in a Trio run, so that the appends of many sessions share a commit."""
    if ledger is None:
        yield MemoryLedger()
    elif not isinstance(ledger, str | os.PathLike):
        yield ledger
    else:
        files = _FILES.get({})
        _FILES.set(files)
        path = str(await trio.Path(ledger).resolve())
        shared = files.get(path)
        if shared is None:
            opened = await open_store(path)
            # Somebody else may have been quicker while this one was opened.
            shared = files.setdefault(path, _Shared(opened))
            if shared.store is not opened:
                await opened.aclose()
        shared.users += 1
        try:
            yield shared.store
        finally:
            shared.users -= 1
            if not shared.users:
                del files[path]
                await shared.store.aclose()


@contextlib.asynccontextmanager
async def open_ledger(path: str | os.PathLike[str]) -> AsyncIterator[LedgerView]:
    """Look into a ledger file: read only, no ownership, from any process, also while another one writes.

    ``async with`` gives the ``LedgerView``. Raises ``CompactionError`` for what is no ledger, or cannot be read.
    """
    from .viewing import LedgerView  # noqa: PLC0415 - audit, recall and counts load when somebody looks in

    require_trio("open_ledger")
    store = await open_store(path, read_only=True)
    try:
        yield LedgerView(store)
    finally:
        await store.aclose()
