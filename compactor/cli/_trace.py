"""``--trace``: a logger for the session that writes one line per transition to stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from ._words import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from compactor.tracing import Logger

KINDS: Final = ("pretty", "json", "off")


def on_terminal() -> bool:
    """True when somebody looks at stderr."""
    return sys.stderr is not None and sys.stderr.isatty()


def tracer(kind: str | None) -> Logger | None:
    """The logger for ``--trace`` *kind*; None means: pretty on a terminal, else off."""
    match kind or ("pretty" if on_terminal() else "off"):
        case "json":
            return _Json()
        case "pretty":
            return _Pretty()
        case _:
            return None


class _Json:
    """One JSON object per line."""

    def info(self, event: str, **fields: Any) -> None:
        """Write one event."""
        warn(json.dumps({"event": event, **fields}, allow_nan=False))


class _Pretty:
    """One aligned line; in colour where rich is installed and a terminal wants it."""

    def __init__(self) -> None:
        self._show = (_coloured() if on_terminal() else None) or _plain

    def info(self, event: str, **fields: Any) -> None:
        """Write one event; there is one kind of them."""
        del event
        self._show(fields)


def _parts(fields: dict[str, Any]) -> tuple[str, str, str, str]:
    """Time, phases, signal, and what is known by then."""
    before, after = fields["units_before"], fields["units_after"]
    facts = [f"{before:,} units" if after is None else f"{before:,} -> {after:,} units"]
    facts += [f"boundary {fields['boundary']:,}"] if fields["boundary"] is not None else []
    facts += [f"attempt {fields['attempt']}"] if fields["attempt"] > 1 else []
    facts += [fields["code"]] if fields["code"] else []
    phases = f"{fields['from_phase']:<11} -> {fields['to_phase']:<11}"
    return f"{fields['elapsed']:9.4f} s", phases, f"{fields['signal']:<18}", ", ".join(facts)


def _plain(fields: dict[str, Any]) -> None:
    warn("  ".join(_parts(fields)))


def _coloured() -> Callable[[dict[str, Any]], None] | None:
    """The same with rich, which looks at NO_COLOR and TERM itself; None when it is not installed."""
    try:
        from rich.console import Console  # noqa: PLC0415 - only for somebody who looks
        from rich.text import Text  # noqa: PLC0415
    except ModuleNotFoundError:
        return None
    console = Console(stderr=True, soft_wrap=True)

    def show(fields: dict[str, Any]) -> None:
        time, phases, signal, facts = _parts(fields)
        style = {"FAILED": "bold red", "COMMITTED": "bold green"}.get(fields["to_phase"], "bold")
        console.print(Text.assemble((time, "dim"), "  ", (phases, style), "  ", (signal, "cyan"), "  ", facts))

    return show
