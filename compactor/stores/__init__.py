"""Where events are kept. Stores know no policy; each states what it survives."""

from .memory import MemoryLedger

__all__ = ["MemoryLedger"]
