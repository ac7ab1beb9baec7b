"""Where events are kept. Stores know no policy; each states what it survives."""

from .memory import MemoryLedger
from .sqlite import open_store

__all__ = ["MemoryLedger", "open_store"]
