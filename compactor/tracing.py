"""A transition record becomes one log event; nothing else in the package logs.

The library configures neither structlog nor the root logger. A logger may be passed in; without one, structlog is
used where the application has configured it (unconfigured, it would print to stdout), else the standard library's
logger ``compactor``, which is silent until somebody listens.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any, Final, Protocol

import structlog

from .outcomes import TransitionRecord

EVENT: Final = "compaction.transition"

_ID_MAX: Final = 128

_silent = logging.getLogger("compactor")
_silent.addHandler(logging.NullHandler())


class Logger(Protocol):
    """What is needed of a logger: structlog's ``info(event, **fields)``."""

    def info(self, event: str, **fields: Any) -> Any:
        """Log one event."""


Observer = Callable[[TransitionRecord], None]


def _escaped(name: str) -> str:
    """An id on one line, in ASCII. Session ids, of at most 128 characters, are shown whole."""
    return ascii(name[:_ID_MAX])[1:-1] + ("..." if len(name) > _ID_MAX else "")


def fields(record: TransitionRecord) -> dict[str, Any]:
    """The fields of the log event: plain values, ids escaped, no content."""
    return {
        "session_id": _escaped(record.session_id),
        "run_id": _escaped(record.run_id),
        "trigger": record.trigger,
        "from_phase": record.phase.value,
        "signal": record.signal.value,
        "to_phase": record.target.value,
        "elapsed": round(record.elapsed, 6),
        "attempt": record.attempt,
        "units_before": record.units_before,
        "units_after": record.units_after,
        "boundary": record.boundary,
        "code": record.code.value if record.code else None,
    }


def log_to(logger: Logger | None = None) -> Observer:
    """Give the function that logs a record. A log call that raises changes nothing."""

    def observe(record: TransitionRecord) -> None:
        with contextlib.suppress(Exception):
            if logger is not None:
                logger.info(EVENT, **fields(record))
            elif structlog.is_configured():
                structlog.get_logger("compactor").info(EVENT, **fields(record))
            elif _silent.isEnabledFor(logging.INFO):
                _silent.info(EVENT, extra={"transition": fields(record)})

    return observe
