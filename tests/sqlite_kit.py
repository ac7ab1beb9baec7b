"""Faults for a ledger file: a VFS that fails, or kills its process, at a chosen call; and short ways to make ledgers."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import apsw

from compactor.events import APPEND, Draft, EventType, Replace, ranges
from compactor.stores._ledger import SqliteLedger
from compactor.stores._writing import Writer

Fault = Literal["EIO", "ENOSPC", "EROFS"]
WRITES = ("xWrite", "xSync", "xTruncate", "xDelete")
CALLS = (*WRITES, "xRead", "xOpen", "xFileSize")
_numbers = itertools.count()

_EXTENDED = {
    "xWrite": apsw.SQLITE_IOERR_WRITE,
    "xSync": apsw.SQLITE_IOERR_FSYNC,
    "xTruncate": apsw.SQLITE_IOERR_TRUNCATE,
    "xDelete": apsw.SQLITE_IOERR_DELETE,
    "xRead": apsw.SQLITE_IOERR_READ,
    "xFileSize": apsw.SQLITE_IOERR_FSTAT,
}


def _error(fault: Fault, call: str) -> apsw.Error:
    if call == "xOpen":
        return apsw.CantOpenError("injected")
    if fault == "ENOSPC" and call in ("xWrite", "xTruncate"):
        return apsw.FullError("injected")
    if fault == "EROFS" and call in ("xWrite", "xTruncate", "xDelete"):
        return apsw.ReadOnlyError("injected")
    error = apsw.IOError("injected")
    error.extendedresult = _EXTENDED[call]
    return error


class Faults(apsw.VFS):
    """Fails at call number *at*, counted from ``arm()``; once, or from then on. With *kill* the process dies instead."""

    def __init__(
        self,
        at: int,
        fault: Fault = "EIO",
        *,
        once: bool = True,
        calls: Sequence[str] = CALLS,
        kill: Literal["before", "after"] | None = None,
    ) -> None:
        self.vfs = f"faults-{next(_numbers)}"
        self.at, self.fault, self.once, self.calls, self.kill = at, fault, once, calls, kill
        self.count, self.fired, self.armed = 0, 0, False
        super().__init__(self.vfs, "")

    def meet(self, call: str) -> bool:
        """Count a call; raise when it has to fail; True when it has to be the process's last."""
        if not self.armed or call not in self.calls:
            return False
        self.count += 1
        if self.count != self.at and (self.once or self.count < self.at):
            return False
        self.fired += 1
        if self.kill == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kill is None:
            raise _error(self.fault, call)
        return True

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        self.meet("xOpen")
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        last = self.meet("xDelete")
        super().xDelete(filename, syncdir)
        die(last)


class _File(apsw.VFSFile):
    def __init__(self, faults: Faults, name: Any, flags: list[int]) -> None:
        self.faults = faults
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        last = self.faults.meet("xWrite")
        super().xWrite(data, offset)
        die(last)

    def xSync(self, flags: int) -> None:  # noqa: N802
        last = self.faults.meet("xSync")
        super().xSync(flags)
        die(last)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        last = self.faults.meet("xTruncate")
        super().xTruncate(newsize)
        die(last)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self.faults.meet("xRead")
        return super().xRead(amount, offset)

    def xFileSize(self) -> int:  # noqa: N802
        self.faults.meet("xFileSize")
        return super().xFileSize()


def die(last: bool) -> None:
    if last:
        os.kill(os.getpid(), signal.SIGKILL)


def made(path: Path, *, durability: Literal["full", "normal"] = "normal", vfs: str | None = None) -> SqliteLedger:
    """A ledger, opened without Trio, for what opens its ledgers itself."""
    ledger = SqliteLedger(str(path), False, time.time, Writer(str(path), durability, vfs))
    ledger._open()
    return ledger


def copied(path: Path, target: Path) -> Path:
    """The files as a dead process would leave them: without the shared memory."""
    target.mkdir(parents=True, exist_ok=True)
    for suffix in ("", "-wal"):
        if Path(f"{path}{suffix}").exists():
            shutil.copy(f"{path}{suffix}", target / (path.name + suffix))
    return target / path.name


def user(name: str, text: str = "x") -> Draft:
    return Draft(EventType.MESSAGE_APPENDED, {"id": name, "role": "user", "content": text}, APPEND)


def placed(run: str, hidden: Sequence[int]) -> list[Draft]:
    """A run that hides *hidden*, in one transaction."""
    data = {"id": f"s-{run}", "content": "a summary", "run": run, "hidden": ranges(hidden)}
    return [
        Draft(EventType.COMPACTION_STARTED, {"run": run}),
        Draft(EventType.SUMMARY_PLACED, data, Replace(hidden[0], hidden[-1]), tuple(hidden)),
        Draft(EventType.COMPACTION_ENDED, {"run": run, "code": None}),
    ]
