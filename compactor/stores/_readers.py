"""The connections that read: a few, each lent to one thread at a time, each reading in one snapshot. Runs in threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar

import apsw
import attrs

from ..errors import CompactionError, ErrorCode
from ._faults import told
from ._rows import Place
from ._schema import connect, stands

T = TypeVar("T")


@attrs.define(eq=False)
class Readers:
    """Connections on one file."""

    path: str
    vfs: str | None
    _idle: list[Place] = attrs.field(factory=list)
    """Those that nobody reads from just now."""
    _closed: bool = False

    def read(self, work: Callable[[Place], T]) -> T:
        """Let *work* read the file as it is at one moment."""
        place, sound = self._lent(), False
        try:
            with told(self.path, "read"):
                place.connection.execute("BEGIN")
                try:
                    given = work(place)
                except CompactionError as refused:
                    if refused.code is ErrorCode.INVALID_INPUT:
                        place.connection.execute("COMMIT")
                        sound = True
                    raise
                place.connection.execute("COMMIT")
                sound = True
        finally:
            if sound:
                self._idle.append(place)
            else:  # whatever state it is in, the next reader shall not meet it
                _drop(place)
            if self._closed:
                self.close()
        return given

    def _lent(self) -> Place:
        place = self._idle.pop() if self._idle else None
        if place is not None and place.stands is not None and place.stands != stands(self.path):
            _drop(place)
            place = None
        if place is not None:
            return place
        still = stands(self.path)
        with told(self.path, "opened"):
            connection = connect(self.path, writable=False, immutable=still is not None, vfs=self.vfs)
        return Place(connection, self.path, still)

    def close(self) -> None:
        """Close them; those that are lent are closed when they come back."""
        self._closed = True
        while self._idle:
            _drop(self._idle.pop())


def _drop(place: Place) -> None:
    with contextlib.suppress(apsw.Error):
        place.connection.close(True)
