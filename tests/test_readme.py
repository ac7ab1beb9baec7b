"""The README's code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_program_of_the_readme_runs_as_it_stands(number: int) -> None:
    code = compile(BLOCKS[number], f"README.md, program {number}", "exec")
    exec(code, {"__name__": "__main__"})


def test_the_readme_has_programs_and_exactly_two_commands() -> None:
    assert len(BLOCKS) >= 4
    assert re.findall(r"^<!-- command: (\w+) -->$", README, re.MULTILINE) == ["try", "test"]


def test_the_first_line_says_which_project_this_is() -> None:
    assert "PyPI's `compactor` is another project" in README.splitlines()[2]
