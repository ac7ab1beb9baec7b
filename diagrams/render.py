"""Write the pictures of this folder, and the README's tables, from the code: ``python diagrams/render.py [--check]``.

Text formats only, so that a change of the table is a line in a diff. ``--check`` writes nothing and fails when a file
is not what the code says.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import Any

import trio
import trio.testing

from compactor import TRANSITIONS, Budget, Phase, Signal, UserMessage, open_session
from compactor.phases import Effect
from compactor.testing import scripted

HERE = Path(__file__).parent
ROOT = HERE.parent

# What a caller of compact() gets when its cancellation meets the run at this edge.
AT_EDGE = {
    Signal.REQUESTED: "`Cancelled`; nothing was written",
    Signal.CUT_CHOSEN: "`Cancelled`; nothing was written",
    Signal.SUMMARIZED: "`Cancelled`; the ledger has the run's two markers, the context is the same object",
    Signal.REJECTED_RETRYABLE: "`Cancelled`; the ledger has the run's two markers, the context is the same object",
    Signal.ACCEPTED: "`Cancelled`; the last moment: the ledger has the run's two markers, the context is the same object",
}
AFTER = "returns `Committed`; the cancellation is met at the caller's next checkpoint"
PERFORMED_BY = {Effect.REPLY: "C", Effect.SELECT: "A", Effect.VALIDATE: "A", Effect.PUBLISH: "A", Effect.FOLLOW_UP: "A"}
INSIDE = {
    Signal.LOCKED: "`Cancelled`, as soon as the summarizer ended or its grace ran out",
    Signal.COMMITTED_DURABLY: AFTER,
}


def phase_diagram() -> str:
    """A Mermaid state diagram; checked rows are marked."""
    lines = ["stateDiagram-v2", "    [*] --> IDLE"]
    joined: dict[tuple[Phase, Phase], list[str]] = {}
    for row in TRANSITIONS:
        joined.setdefault((row.phase, row.target), []).append(row.signal.name + ("*" if row.checked else ""))
    lines += [f"    {start} --> {end}: {', '.join(signals)}" for (start, end), signals in joined.items()]
    lines.append("    note right of IDLE: * a phase edge, checked for cancellation before it is taken")
    return "\n".join(lines) + "\n"


def matrix() -> str:
    """Every phase against every signal; a dot is a refused pair, a star a phase edge."""
    rows = {(row.phase, row.signal): row for row in TRANSITIONS}
    width = max(len(signal.name) for signal in Signal)
    column = max(len(phase.name) for phase in Phase) + 2
    lines = [" " * width + "  " + "".join(phase.name.ljust(column) for phase in Phase)]
    for signal in Signal:
        cells = []
        for phase in Phase:
            row = rows.get((phase, signal))
            cells.append("." if row is None else row.target.name + ("*" if row.checked else ""))
        lines.append(signal.name.ljust(width) + "  " + "".join(cell.ljust(column) for cell in cells))
    lines += ["", ". refused    * a phase edge, checked for cancellation before it is taken"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def module_order() -> str:
    """Each module and what it imports of the package, in the order that a test enforces."""
    tree = ast.parse((ROOT / "tests" / "test_house.py").read_text())
    order = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "ORDER"
    )
    lines = []
    for name in order:
        path = ROOT / "compactor" / f"{name}.py"
        paths = [path] if path.exists() else sorted((ROOT / "compactor" / name).rglob("*.py"))
        found: set[str] = set()
        for one in paths:
            nested = one.parent != ROOT / "compactor"
            for node in ast.walk(ast.parse(one.read_text())):
                if isinstance(node, ast.ImportFrom) and node.level == (2 if nested else 1):
                    found |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compactor."):
                    found.add((node.module or "").split(".")[1])
        used = [other for other in order if other in found and other != name]
        lines.append(f"{name:<14}{' '.join(used)}".rstrip())
    return "\n".join(lines) + "\n"


def sequence() -> str:
    """A Mermaid sequence diagram of one real run on a virtual clock, appends included."""
    records: list[dict[str, Any]] = []

    class Recorder:
        def info(self, event: str, **fields: Any) -> None:  # noqa: ARG002 - the protocol names it
            records.append(fields)

    async def main() -> None:
        budget = Budget(400, target_units=300, summary_max_units=60, retain_recent_messages=1)
        count = iter(range(1_000))
        async with open_session(
            session_id="lesson",
            policy=budget,
            summarizer=scripted("too long " * 20, "a summary"),
            auto=False,
            logger=Recorder(),
            new_id=lambda: str(next(count)),
        ) as session:
            await session.append(*[UserMessage("x" * 50) for _ in range(10)])
            await session.compact()

    trio.run(main, clock=trio.testing.MockClock())
    rows = {(row.phase.value, row.signal.value): row for row in TRANSITIONS}
    lines = [
        "sequenceDiagram",
        "    participant C as caller",
        "    participant A as actor",
        "    participant W as ledger, summarizer",
    ]
    lines.append("    C->>A: compact()")
    for fields in records:
        row = rows[fields["from_phase"], fields["signal"]]
        lines.append(f"    Note over A: {row.phase.name} → {row.target.name}: {row.signal.name}{'*' if row.checked else ''}")
        lines += [f"    A->>{PERFORMED_BY.get(effect, 'W')}: {effect.value}" for effect in row.effects]
    return "\n".join(lines) + "\n"


def table() -> str:
    """The README's table: the rows, and what the caller gets when it is cancelled there."""
    lines = [
        "| phase | signal | target | effects | edge | when the caller is cancelled here |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in TRANSITIONS:
        effects = ", ".join(effect.value for effect in row.effects) or "–"
        given = AT_EDGE.get(row.signal, "") if row.checked else INSIDE.get(row.signal, "")
        edge = "✓" if row.checked else ""
        lines.append(f"| {row.phase.name} | {row.signal.name} | {row.target.name} | {effects} | {edge} | {given} |")
    return "\n".join(lines) + "\n"


def between(text: str, name: str, body: str) -> str:
    """The text with what stands between two markers replaced."""
    start, end = f"<!-- {name}: written by diagrams/render.py -->\n", f"<!-- end {name} -->"
    head, _, rest = text.partition(start)
    _, _, tail = rest.partition(end)
    return head + start + body + end + tail if rest else text


def outputs() -> dict[Path, str]:
    """Every derived file and what it must hold."""
    readme = ROOT / "README.md"
    return {
        HERE / "phases.mmd": phase_diagram(),
        HERE / "phases.txt": matrix(),
        HERE / "modules.txt": module_order(),
        HERE / "sequence.mmd": sequence(),
        readme: between(readme.read_text(), "transitions", table()),
    }


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is stale")
    check = parser.parse_args().check
    stale = [path for path, text in outputs().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{'stale' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(outputs()[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
