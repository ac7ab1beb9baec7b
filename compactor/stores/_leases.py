"""The right to write one session of a file."""

from __future__ import annotations

import attrs

from ..surface import Surface
from ._owners import Claim
from ._rows import Head


@attrs.define(eq=False)
class SqliteLease:
    """What ``acquire`` gives; ``surface`` is the fold of everything durable."""

    session_id: str
    epoch: int
    surface: Surface = attrs.field(repr=False)
    head: Head = attrs.field(repr=False)
    """The head record as this owner left it."""
    claim: Claim = attrs.field(repr=False)
    released: bool = False
