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

from .errors import shown
from .outcomes import TransitionRecord

EVENT: Final = "compaction.transition"

_silent = logging.getLogger("compactor")
_silent.addHandler(logging.NullHandler())


class Logger(Protocol):
    """What is needed of a logger: structlog's ``info(event, **fields)``."""

    def info(self, event: str, **fields: Any) -> Any:
        """Log one event."""


Observer = Callable[[TransitionRecord], None]


def fields(record: TransitionRecord) -> dict[str, Any]:
    """The fields of the log event: plain values, ids escaped, no content."""
    return {
        "session_id": shown(record.session_id)[1:-1],
        "run_id": shown(record.run_id)[1:-1],
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
