"""``compactor session VERB``: what the user typed → one ``SessionJob``. The verbs of ledgers; files have theirs on the top level."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final

import attrs
import click

from compactor.formats import FORMATS
from compactor.formats.native import NAME as NATIVE
from compactor.plain import is_blank
from compactor.policy import Budget, Policy

from ._input import FROM
from ._sizing import sized, sizing_options
from ._trace import KINDS
from ._words import EXIT_CODES, told

RENDERABLE: Final = tuple([name for name, codec in FORMATS.items() if codec.render is not None])


@attrs.frozen
class SessionJob:
    """One verb on one ledger. *options* are the verb's own, by name."""

    verb: str
    ledger: str
    """As it was typed."""
    session: str | None
    as_json: bool
    options: dict[str, Any]
    sizing: Budget | Policy = attrs.field(factory=Policy)

    @property
    def name(self) -> str:
        """What the ledger is called in messages."""
        return told(self.ledger)

    @property
    def path(self) -> str:
        """Where the ledger is, behind all links: its locks stand beside the file and not beside a link."""
        return os.path.realpath(self.ledger)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Check = Callable[[dict[str, Any]], None]

_NUMBER: Final = re.compile(r"[0-9]{1,15}")


def _moment(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, int]:
    """``turn:3`` or ``seq:40`` → the keyword of ``see``, and its value."""
    kind, _, number = value.partition(":")
    least = {"turn": 1, "seq": 0}.get(kind)
    if least is None or not _NUMBER.fullmatch(number) or int(number) < least:
        raise click.BadParameter(f"{told(value)} is no moment; write turn:3 or seq:40.")
    return kind, int(number)


def _argument(name: str, **more: Any) -> Decorator:
    return click.argument(name, **more)


def _flag(name: str, text: str) -> Decorator:
    return click.option(name, is_flag=True, help=text)


def _option(name: str, text: str, **more: Any) -> Decorator:
    return click.option(name, help=text, **more)


_SEQ: Final = click.IntRange(0, 2**53 - 1)
_TO: Final = _option("--to", "In which format, as exactly the arguments of a request.", type=click.Choice(RENDERABLE))
_FULL: Final = _flag("--full", "Show messages in full, not only how they begin.")
_OUT: Final = click.option("-o", "--output", "out", metavar="OUT", help="Write to OUT, whole or not at all; - is stdout.")
_YES: Final = _flag("--yes", "Really do it.")
_DRY: Final = _flag("--dry-run", "Say what would happen; write nothing.")


# ------------------------------------------------------------------------------------------- what goes with what


def _one(*names: str) -> Check:
    """Exactly one of these is given."""
    typed = " or ".join([name if name.isupper() else f"--{name}" for name in names])

    def check(options: dict[str, Any]) -> None:
        given = [options[name.lower()] for name in names]
        if sum([value is not None and value is not False for value in given]) != 1:
            raise click.UsageError(f"Give {typed}, and one of them only.")

    return check


def _imported(options: dict[str, Any]) -> None:
    _one("FILE", "sample")(options)
    if any(is_blank(text) for text in options["pin"]):
        raise click.UsageError("--pin needs a text.")


def _messages(options: dict[str, Any]) -> None:
    said = options["user"] is not None or options["assistant"] is not None
    if said == (options["file"] is not None):
        raise click.UsageError("Give a FILE of messages, or --user and --assistant.")


def _written(options: dict[str, Any]) -> None:
    if options["out"] is not None and options["to"] is None:
        raise click.UsageError("-o wants to know the format: add --to.")


def _then(options: dict[str, Any]) -> None:
    _one("turn", "seq")(options)
    _written(options)


# ---------------------------------------------------------------------------------------------------------- verbs


@attrs.frozen
class Shape:
    """How a verb is called: its help (the first sentence stands in the list), what it takes besides LEDGER, in order."""

    help: str
    takes: tuple[Decorator, ...] = ()
    check: Check | None = None
    of_session: bool = True
    """Takes ``--session``."""


VERBS: Final[dict[str, Shape]] = {
    "ls": Shape("List the sessions of LEDGER, and who has them open.", of_session=False),
    "import": Shape(
        "Begin a session with FILE. A session of another tool, or messages; its contents tell which; - is standard input. "
        "LEDGER is made when it is not there.",
        (
            _argument("file", required=False),
            FROM,
            _flag("--sample", "Use the packaged sample session; no FILE."),
            _option("--pin", "Pin a requirement, too; may be repeated.", multiple=True, metavar="TEXT"),
        ),
        _imported,
    ),
    "append": Shape(
        "Append messages. This program's own JSON or JSONL from FILE (- is standard input), all or none of them, or what "
        "--user and --assistant say.",
        (
            _argument("file", required=False),
            _option("--user", "What the user says.", metavar="TEXT"),
            _option("--assistant", "What the model says.", metavar="TEXT"),
        ),
        _messages,
    ),
    "pin": Shape(
        "Pin a requirement, which no compaction touches. --remove ID takes one away.",
        (_argument("text", required=False), _option("--remove", "Unpin this one.", metavar="ID")),
        _one("TEXT", "remove"),
    ),
    "compact": Shape(
        "Compact the session with the built-in digest.",
        (
            *sizing_options(),
            _flag("--force", "Compact below the threshold, too."),
            _option("--instructions", "What the summary should look at.", metavar="TEXT"),
            _DRY,
            _option("--trace", "Show transitions on stderr. [default: pretty on a terminal]", type=click.Choice(KINDS)),
        ),
    ),
    "show": Shape("Show what the model is sent now.", (_TO, _OUT, _FULL), _written),
    "at": Shape(
        "Show exactly what the model was shown then.",
        (
            _option("--turn", "As the model was shown it at turn N.", type=click.IntRange(1, 2**53 - 1), metavar="N"),
            _option("--seq", "As it was after event N.", type=_SEQ, metavar="N"),
            _TO,
            _OUT,
            _FULL,
        ),
        _then,
    ),
    "diff": Shape(
        "Say what came and what left between two moments. Each is turn:N or seq:N.",
        (_argument("before", callback=_moment), _argument("after", callback=_moment)),
    ),
    "search": Shape(
        "Find messages, hidden or not, in which all the words stand.",
        (
            _argument("query"),
            _option("--limit", "How many.", type=click.IntRange(1, 100), default=10, show_default=True, metavar="N"),
            _flag("--hidden", "Only what compaction has hidden."),
        ),
    ),
    "read": Shape(
        "Read what a compaction hid, page by page. RECORD and CURSOR are those of a hit of search.",
        (_argument("record"), _option("--cursor", "Where the page begins.", metavar="CURSOR")),
    ),
    "undo": Shape(
        "Bring back what compaction RECORD hid. First what later ones over it hid; they are listed.",
        (_argument("record"), _DRY),
    ),
    "rewind": Shape("Make the surface what it was after event SEQ.", (_argument("seq", type=_SEQ),)),
    "fork": Shape(
        "Begin another session with what this one has. This one may be open elsewhere.",
        (
            _option("--seq", "With what it had after event N.", type=_SEQ, metavar="N"),
            _option("--as", "The id of the new session.", metavar="ID"),
        ),
    ),
    "export": Shape(
        "Write the surface in a format. With --originals every message as it was appended.",
        (
            _option("--to", "In which format.", type=click.Choice(RENDERABLE), default=NATIVE, show_default=True),
            _OUT,
            _flag("--originals", "Everything, hidden or not."),
        ),
    ),
    "verify": Shape(
        "Check everything that can be checked. Chain, surface, pairing, coverage, digests and the file; exit 1 when "
        "something is wrong. Repairs nothing.",
    ),
    "unlock": Shape(
        "Show who or what blocks the session. With --yes take it over and close it: an owner that still runs can write no more.",
        (_YES,),
    ),
    "redact": Shape(
        "Replace what events say by a tombstone, for good. For a key that leaked. Without --yes nothing is changed.",
        (
            _argument("seqs", nargs=-1, required=True, type=_SEQ),
            _option("--reason", "Why; it is recorded.", required=True, metavar="TEXT"),
            _YES,
        ),
    ),
    "backup": Shape("Copy LEDGER to DEST, also while it is used.", (_argument("dest"),), of_session=False),
    "stats": Shape("Count everything that happened in the session."),
}
"""Everything that can be done with a ledger."""


@click.group(epilog=EXIT_CODES)
def session() -> None:
    """Work with the sessions of a LEDGER. It is a file that keeps every original.

    --session may be left out where the ledger holds just one.
    """


def _command(verb: str, shape: Shape) -> None:
    def command(**options: Any) -> SessionJob:
        ledger, as_json, id_ = options.pop("ledger"), options.pop("as_json"), options.pop("session", None)
        if as_json and options.get("out") == "-":
            raise click.UsageError("--json and -o - both want standard output; write the result to a file.")
        if shape.check is not None:
            shape.check(options)
        sizing = sized(options) if verb == "compact" else Policy()
        return SessionJob(verb, ledger, id_, as_json, options, sizing)

    command.__doc__ = shape.help
    made: Callable[..., Any] = command
    made = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(made)
    if shape.of_session:
        made = click.option("--session", metavar="ID", help="Which session.")(made)
    for decorator in reversed(shape.takes):
        made = decorator(made)
    made = click.argument("ledger")(made)
    session.command(verb)(made)


for _verb, _shape in VERBS.items():
    _command(_verb, _shape)
