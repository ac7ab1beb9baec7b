"""What the user typed → one ``Job``. Click parses here and does nothing else; the work begins when parsing is over."""

from __future__ import annotations

import shlex
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from compactor.formats import FORMATS
from compactor.formats.native import NAME as NATIVE
from compactor.lesson import EDGES, FAILURES
from compactor.phases import Phase
from compactor.policy import Budget, Policy

from ._input import FROM, NAME, STDIN
from ._session_arguments import SessionJob, session
from ._sizing import Decorator, sized, sizing_options
from ._trace import KINDS
from ._words import BAD_USAGE, DONE, EXIT_CODES, USAGE, Problem, told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WRITABLE: Final = tuple([name for name, codec in FORMATS.items() if codec.render is not None])


@attrs.frozen
class Job:
    """One command, checked as far as that goes without looking at any file."""

    command: str
    file: str | None
    """A path, ``-`` for standard input, or None for the packaged sample."""
    as_json: bool = False
    sizing: Budget | Policy = attrs.field(factory=Policy)
    force: bool = False
    instructions: str | None = None
    trace: str | None = None
    to: str = NATIVE
    out: str | None = None
    cancel_at: Phase | None = None
    fail: Phase | None = None
    step: bool = False
    of: str | None = None
    """Which session of the file."""
    typed: str = ""
    """The options of the command as they were typed, without its name."""

    @property
    def name(self) -> str:
        """What the input is called in messages."""
        return "<sample>" if self.file is None else NAME if self.file == STDIN else told(self.file)


def parse(arguments: Sequence[str]) -> Job | SessionJob | int | Problem:
    """The job, or the exit code of what is answered already (``--help``), or what is wrong, which was shown."""
    try:
        found = _group.main(list(arguments), prog_name="compactor", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return Problem(USAGE, BAD_USAGE, error.format_message(), "see compactor --help")
    if type(found) is SessionJob:
        return found
    if type(found) is not Job:
        return int(found or DONE)
    typed = list(arguments)
    typed.remove(found.command)
    return attrs.evolve(found, typed=told(shlex.join(typed)))


def _version() -> str:
    try:
        return version("trio-compactor")
    except PackageNotFoundError:
        return "(not installed)"


_HELP: Final = f"""Compact the session of an LLM agent: commit after validate, cancel at any time, delete nothing.

FILE is a session of another tool, messages of a provider's API as JSON, or this program's own JSON; its contents tell which:
{", ".join(FORMATS)}. - is standard input; --sample takes a packaged session instead of a FILE.
"""


@click.group(
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(_version(), message="trio-compactor %(version)s")
def _group() -> None:
    """Take the verb."""


def _input(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        FROM,
        click.option("--sample", is_flag=True, help="Use the packaged sample session; no FILE."),
        click.argument("file", required=False),
    ):
        command = option(command)
    return command


def _running(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that ``compact`` and ``plan`` share."""
    options: tuple[Decorator, ...] = (
        click.option("-o", "--output", "out", metavar="OUT", help="Write the result to OUT, whole or not at all; - is stdout."),
        click.option("--to", type=click.Choice(WRITABLE), default=NATIVE, show_default=True, help="The format of the result."),
        click.option("--trace", type=click.Choice(KINDS), help="Show transitions on stderr. [default: pretty on a terminal]"),
        click.option("--instructions", metavar="TEXT", help="What the summary should look at."),
        click.option("--force", is_flag=True, help="Compact below the threshold, too."),
        *reversed(sizing_options()),
    )
    for option in options:
        command = option(command)
    return _input(command)


@_group.command()
@_running
def compact(**options: Any) -> Job:
    """Compact FILE; without -o nothing is written."""
    return _job("compact", **options)


@_group.command()
@_running
def plan(**options: Any) -> Job:
    """Say what compact would do with the same options; write nothing."""
    return _job("plan", **options)


@_group.command()
@_input
def check(**options: Any) -> Job:
    """List what is wrong with FILE. Exit 1 when something had to be repaired or set aside."""
    return _job("check", **options)


def _phase(name: str, phases: tuple[Phase, ...], text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    names = [phase.value for phase in phases]
    return click.option(
        name, type=click.Choice(names, case_sensitive=False), metavar="PHASE", help=f"{text}: {', '.join(names)}."
    )


@_group.command()
@_phase("--cancel-at", EDGES, "Cancel the run at this phase's edge")
@_phase("--fail", FAILURES, "Make the work of this phase fail")
@click.option("--step", is_flag=True, help="Wait for Enter at each step.")
def demo(cancel_at: str | None, fail: str | None, step: bool) -> Job:
    """Walk through one compaction of the packaged sample. Step by step; the lesson of this program."""
    return Job("demo", None, cancel_at=Phase(cancel_at) if cancel_at else None, fail=Phase(fail) if fail else None, step=step)


def _job(
    command: str,
    *,
    file: str | None,
    sample: bool,
    as_json: bool,
    **rest: Any,
) -> Job:
    if sample and file is not None:
        raise click.UsageError("--sample takes the place of FILE; give one of them.")
    if not sample and file is None:
        raise click.UsageError("Missing argument 'FILE' (or --sample).")
    if as_json and rest.get("out") == "-":
        raise click.UsageError("--json and -o - both want standard output; write the result to a file.")
    sizing = sized(rest)
    return Job(command, file, as_json, sizing, of=rest.pop("from"), **rest)


_group.add_command(session)
