"""``compactor session VERB``: what the user typed → one ``SessionJob``. The verbs of ledgers; files have theirs on the top level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
import click

from compactor.formats import FORMATS
from compactor.formats.native import NAME as NATIVE
from compactor.policy import Budget, Policy

from ._sizing import sized, sizing_options
from ._trace import KINDS
from ._words import told

STDIN: Final = "-"
RENDERABLE: Final = tuple([name for name, codec in FORMATS.items() if codec.render is not None])


@attrs.frozen
class SessionJob:
    """One verb on one ledger. *options* are the verb's own, by name."""

    verb: str
    ledger: str
    session: str | None
    as_json: bool
    options: dict[str, Any]
    sizing: Budget | Policy = attrs.field(factory=Policy)

    @property
    def name(self) -> str:
        """What the ledger is called in messages."""
        return told(self.ledger)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _argument(name: str, **more: Any) -> Decorator:
    return click.argument(name, **more)


def _flag(name: str, text: str) -> Decorator:
    return click.option(name, is_flag=True, help=text)


def _option(name: str, text: str, **more: Any) -> Decorator:
    return click.option(name, help=text, **more)


_TO: Final = _option("--to", "In which format.", type=click.Choice(RENDERABLE))
_OUT: Final = click.option("-o", "--output", "out", metavar="OUT", help="Write to OUT, whole or not at all; - is stdout.")
_TURN: Final = _option("--turn", "As the model was shown it at turn N.", type=click.IntRange(min=1), metavar="N")
_SEQ: Final = _option("--seq", "As it was after event N.", type=click.IntRange(min=0), metavar="N")
_YES: Final = _flag("--yes", "Really do it.")

# Verb → its help, and its own arguments and options, in the order in which they are typed.
VERBS: Final[dict[str, tuple[str, tuple[Decorator, ...]]]] = {
    "ls": ("List the sessions of LEDGER.", ()),
    "import": (
        "Begin a session with FILE, a session of another tool or messages; its contents tell which.",
        (_argument("file"), _option("--pin", "Pin a requirement, too.", multiple=True, metavar="TEXT")),
    ),
    "append": (
        "Append messages: this program's own JSON or JSONL from FILE (- is standard input), or one that is given.",
        (
            _argument("file", required=False),
            _option("--user", "What the user says.", metavar="TEXT"),
            _option("--assistant", "What the model says.", metavar="TEXT"),
        ),
    ),
    "pin": (
        "Pin a requirement, which no compaction touches; --remove ID takes one away.",
        (_argument("text", required=False), _option("--remove", "Unpin this one.", metavar="ID")),
    ),
    "compact": (
        "Compact the session with the built-in digest.",
        (
            *sizing_options(),
            _flag("--force", "Compact below the threshold, too."),
            _option("--instructions", "What the summary should look at.", metavar="TEXT"),
            _flag("--dry-run", "Say what would happen; write nothing."),
            _option("--trace", "Show transitions on stderr. [default: pretty on a terminal]", type=click.Choice(KINDS)),
        ),
    ),
    "show": ("Show what the model is sent now.", (_TO, _OUT)),
    "at": ("Show what the model was shown at a turn or event, exactly.", (_TURN, _SEQ, _TO, _OUT)),
    "diff": (
        "Say what came to the surface and what left it between two moments, turn:N or seq:N each.",
        (_argument("before"), _argument("after")),
    ),
    "search": (
        "Find messages, hidden or not, in which all the words stand.",
        (
            _argument("query"),
            _option("--limit", "How many.", type=click.IntRange(1, 100), default=10, show_default=True, metavar="N"),
            _flag("--hidden", "Only what compaction has hidden."),
        ),
    ),
    "read": (
        "Read what compaction RECORD hid, page by page.",
        (_argument("record"), _option("--cursor", "Where the page begins.", metavar="CURSOR")),
    ),
    "undo": (
        "Bring back what compaction RECORD hid, and first what later ones over it hid.",
        (_argument("record"), _flag("--dry-run", "Say what would come back; write nothing.")),
    ),
    "rewind": ("Make the surface what it was after event SEQ.", (_argument("seq", type=click.IntRange(min=0)),)),
    "fork": (
        "Begin another session with what this one has.",
        (_SEQ, _option("--as", "The id of the new session.", metavar="ID")),
    ),
    "export": (
        "Write the surface in a format; with --originals every message as it was appended.",
        (
            _option("--to", "In which format.", type=click.Choice(RENDERABLE), default=NATIVE, show_default=True),
            _OUT,
            _flag("--originals", "Everything, hidden or not."),
        ),
    ),
    "verify": ("Check chain, surface, pairing, coverage, digests and the file; exit 1 when something is wrong.", ()),
    "unlock": ("Show what blocks the session; with --yes take it over and close it.", (_YES,)),
    "redact": (
        "Replace what events say by a tombstone, for good; for a key that leaked.",
        (
            _argument("seqs", nargs=-1, required=True, type=click.IntRange(min=0)),
            _option("--reason", "Why; it is recorded.", required=True, metavar="TEXT"),
            _YES,
        ),
    ),
    "backup": ("Copy LEDGER to DEST, also while it is used.", (_argument("dest"),)),
    "stats": ("Count everything that happened.", ()),
}
"""Everything that can be done with a ledger."""

_WITHOUT_SESSION: Final = frozenset({"ls", "backup"})


@click.group()
def session() -> None:
    """Work with the sessions of a LEDGER, a file that keeps every original.

    --session may be left out where the ledger holds just one.
    """


def _command(verb: str, text: str, decorators: tuple[Decorator, ...]) -> None:
    def command(**options: Any) -> SessionJob:
        ledger, as_json, id_ = options.pop("ledger"), options.pop("as_json"), options.pop("session", None)
        if as_json and options.get("out") == "-":
            raise click.UsageError("--json and -o - both want standard output; write the result to a file.")
        sizing = sized(options) if verb == "compact" else Policy()
        return SessionJob(verb, ledger, id_, as_json, options, sizing)

    command.__doc__ = text
    made: Callable[..., Any] = command
    made = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(made)
    if verb not in _WITHOUT_SESSION:
        made = click.option("--session", metavar="ID", help="Which session.")(made)
    for decorator in reversed(decorators):
        made = decorator(made)
    made = click.argument("ledger")(made)
    session.command(verb)(made)


for _verb, (_text, _decorators) in VERBS.items():
    _command(_verb, _text, _decorators)
