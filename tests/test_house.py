"""The house: one order of modules, pure below the edges, small modules, a complete public face."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import compactor

PACKAGE = Path(compactor.__file__).parent

# One ordered list; a module imports only modules above it. A package stands for all its modules.
ORDER = [
    "errors",
    "plain",
    "phases",
    "messages",
    "units",
    "tokens",
    "pairing",
    "everyday",
    "reading",
    "transcript",
    "boundary",
    "budgets",
    "channels",
    "context",
    "verdicts",
    "policy",
    "outcomes",
    "events",
    "surface",
    "searching",
    "ledger",
    "replay",
    "identity",
    "formats",
    "stores",
    "readers",
    "summarizers",
    "turns",
    "tracing",
    "usercode",
    "machine",
    "asking",
    "history",
    "passages",
    "recall",
    "evidence",
    "judging",
    "audit",
    "statistics",
    "appending",
    "writer",
    "edits",
    "requests",
    "host",
    "sessionwork",
    "actor",
    "compaction",
    "planning",
    "live",
    "viewing",
    "session",
    "portal",
    "testing",
    "lesson",
    "cli",
]
PURE = ORDER[: ORDER.index("stores")]
IMPURE = {"trio", "structlog", "os", "time", "random", "secrets", "sqlite3", "socket", "asyncio", "threading", "io", "pathlib"}
DOORS = {"__init__", "__main__"}


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts)] = path
    return found


def top(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def imports(name: str, path: Path) -> set[str]:
    """Every import of the module, also inside functions and under TYPE_CHECKING; own ones as 'compactor.<module>'."""
    here = ["compactor", *name.split(".")]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level] if node.level else []
            target = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{target}.{alias.name}" for alias in node.names} if target in {"compactor", ""} else {target}
    return found


@pytest.mark.parametrize("name", [name for name in modules() if top(name) not in DOORS])
def test_a_module_imports_only_modules_above_it(name: str) -> None:
    assert top(name) in ORDER, f"give {name} its place in ORDER"
    place = ORDER.index(top(name))
    for found in imports(name, modules()[name]):
        parts = found.split(".")
        if parts[0] != "compactor":
            continue
        target = parts[1]
        if target == top(name):
            continue
        assert ORDER.index(target) < place, f"{name} imports {found}, which does not stand above it"


@pytest.mark.parametrize("name", [name for name in modules() if top(name) in PURE])
def test_everything_above_the_edges_is_pure(name: str) -> None:
    impure = {found for found in imports(name, modules()[name]) if top(found) in IMPURE}
    assert not impure


@pytest.mark.parametrize("name", list(modules()))
def test_a_module_can_be_read_in_one_sitting(name: str) -> None:
    text = modules()[name].read_text()
    assert len(text.splitlines()) <= 420
    assert ast.get_docstring(ast.parse(text)), "say what the module owns"


def test_only_the_machine_takes_rows() -> None:
    callers = set()
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "step":
                callers.add(name)
    assert callers == {"machine"}


def test_only_the_command_line_prints_or_runs_trio() -> None:
    for name, path in modules().items():
        if top(name) in {"cli", "__main__", "testing", "portal", "lesson"}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"print", "trio.run"}, f"{name} calls {called}"


def test_the_public_face_is_sorted_complete_and_explained() -> None:
    stubs = set()
    for node in ast.walk(ast.parse((PACKAGE / "__init__.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            stubs |= {(alias.name, node.module) for alias in node.names}
    assert stubs == set(compactor._HOMES.items())
    assert compactor.__all__ == sorted(compactor._HOMES)
    for name in compactor.__all__:
        value = getattr(compactor, name)
        assert name == "TRANSITIONS" or value.__doc__, f"{name} has no docstring"
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        compactor.nonsense  # noqa: B018
    assert set(compactor.__all__) <= set(dir(compactor))


def test_the_core_needs_three_packages_and_nothing_of_the_extras() -> None:
    allowed = {"trio", "attrs", "attr", "structlog", "outcome", "sniffio", "sortedcontainers", "idna", "compactor"}
    script = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        top = name.split('.')[0]
        if top in {{'click', 'rich', 'hypothesis', 'pytest', 'apsw', 'openai', 'anthropic', 'httpx', 'orjson'}}:
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
before = {{name.split('.')[0] for name in sys.modules}}
import compactor
for name in compactor.__all__:
    getattr(compactor, name)
import compactor.testing
foreign = {{name.split('.')[0] for name in sys.modules}} - before - set(sys.stdlib_module_names) - {allowed!r}
print(sorted(name for name in foreign if not name.startswith('_')))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == "[]"
