"""A ledger in one SQLite file, for any number of sessions and processes. Needs the extra ``sqlite``.

What it survives. *durability* ``"full"``: whatever was acknowledged is there after a killed process, a crash of the
system and a power cut, as far as the disk keeps what it says it has. ``"normal"``: the same after a killed process; after
a crash of the system or a power cut the last events may be missing, all of a transaction or nothing of it, and those before are whole.
Never is anything half there.

The file lives on a local disk: its locks and its shared memory do not work over a network. Beside it stand ``-wal``
and ``-shm`` while it is open, and ``.locks``, with one small file for each session that was ever opened for writing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ..errors import CompactionError, ErrorCode

if TYPE_CHECKING:
    from ._ledger import SqliteLedger


async def open_store(
    path: str | os.PathLike[str],
    *,
    durability: Literal["full", "normal"] = "full",
    read_only: bool = False,
    clock: Callable[[], float] = time.time,
) -> SqliteLedger:
    """Open a ledger file, or make one where there is none. ``await ledger.aclose()`` closes it.

    With *read_only* nothing is made or written, and any number of processes may read while others write.
    *clock* gives the wall time of events, in seconds.
    """
    try:
        from ._ledger import SqliteLedger  # noqa: PLC0415 - loads apsw, which only this store needs
    except ModuleNotFoundError as missing:
        if missing.name != "apsw":
            raise
        raise CompactionError(
            ErrorCode.INVALID_INPUT,
            "ledgers in files need the package apsw",
            where="ledger",
            fix='pip install "trio-compactor[sqlite]"',
        ) from None
    return await SqliteLedger.open(path, durability=durability, read_only=read_only, clock=clock)
