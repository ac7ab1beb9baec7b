"""Pictures that drift from the code fail the build."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RENDER = ROOT / "diagrams" / "render.py"


def test_every_picture_and_table_is_what_the_code_says() -> None:
    for path, text in runpy.run_path(str(RENDER))["outputs"]().items():
        assert path.read_text() == text, f"{path.name} is stale: run python diagrams/render.py"


def test_check_names_a_stale_picture_and_fails(tmp_path: Path) -> None:
    for name in ("compactor", "tests", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "diagrams").mkdir()
    for path in RENDER.parent.iterdir():
        if path.is_file():
            (tmp_path / "diagrams" / path.name).write_bytes(path.read_bytes())
    stale = tmp_path / "diagrams" / "phases.txt"
    stale.write_text("somebody drew this")
    command = [sys.executable, str(tmp_path / "diagrams" / "render.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, "stale: diagrams/phases.txt\n"), done.stderr
    assert stale.read_text() == "somebody drew this"


@pytest.mark.parametrize("name", ["phases.mmd", "phases.txt", "modules.txt", "sequence.mmd"])
def test_the_folder_holds_what_the_script_writes(name: str) -> None:
    assert (RENDER.parent / name).exists()
