"""The cases that pin the rules: this project's own in ``tests/data``, and the shared ones beside the repository.

Both have one format: ``{"meta", "cases": [...]}``, a case being ``{id, kind, tags, input, options?, op?, expected, ...}``.
The shared file is optional: a clone on its own runs the own cases and says loudly that it skipped the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "tests" / "data" / "core-cases.json"
SHARED = ROOT.parent / "shared" / "vectors" / "core-vectors.json"


def load(path: Path) -> list[dict[str, Any]]:
    """The cases of one file, recipes not yet expanded."""
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return cases


def op(case: dict[str, Any]) -> str:
    """What a case calls: ``units``, ``groups``, ``boundary`` or ``compact``."""
    return str(case.get("op") or case["kind"])


def params(*ops: str) -> list[Any]:
    """Parameters for every case that calls one of *ops*, named by their ids; a skipped one where the shared file is absent."""
    cases = load(OWN) + (load(SHARED) if SHARED.exists() else [])
    found: list[Any] = [pytest.param(case, id=case["id"]) for case in cases if op(case) in ops]
    if not SHARED.exists():
        reason = f"NOT RUN: the shared vectors are not at ../{SHARED.relative_to(ROOT.parent)}"
        found.append(pytest.param({}, id="shared-vectors", marks=pytest.mark.skip(reason=reason)))
    return found


def _numbered(value: Any, number: int) -> Any:
    """Put *number* where a recipe says ``{i}``."""
    if isinstance(value, str):
        return value.replace("{i}", str(number))
    if isinstance(value, list):
        return [_numbered(item, number) for item in value]
    if isinstance(value, dict):
        return {key: _numbered(item, number) for key, item in value.items()}
    return value


def expand(value: Any) -> Any:
    """Expand the recipes that keep large inputs small on disk."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value.get("$recipe"):
        case None:
            return {key: expand(item) for key, item in value.items()}
        case "repeat":
            return value.get("prefix", "") + value["text"] * value["n"] + value.get("suffix", "")
        case "list":
            start = value.get("start", 0)
            return [expand(_numbered(value["item"], number)) for number in range(start, start + value["n"])]
        case "object":
            numbers = range(value["n"])
            return {expand(_numbered(value["key"], n)): expand(_numbered(value["value"], n)) for n in numbers}
        case "concat":
            return [item for part in value["parts"] for item in expand(part)]
        case "nest":
            return _nested(value)
        case unknown:
            msg = f"unknown recipe {unknown}"
            raise ValueError(msg)


def _nested(recipe: dict[str, Any]) -> Any:
    """*n* containers around a leaf; the outermost is always an object."""
    current = expand(recipe["leaf"])
    for level in range(recipe["n"] - 1, -1, -1):
        kind = recipe["kind"]
        is_object = level == 0 or kind == "object" or (kind == "mixed" and level % 2 == 0)
        current = {recipe["key"]: current} if is_object else [current]
    return current
