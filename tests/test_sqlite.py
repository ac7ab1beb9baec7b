"""The SQLite store against the executable definition, and what a file has beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactor.stores.sqlite import open_store
from compactor.testing import check_ledger


@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_two_handles_on_one_file_keep_to_the_protocol(tmp_path: Path, durability: str) -> None:
    handles = []

    async def another():
        handles.append(await open_store(tmp_path / "a.ledger", durability=durability))
        return handles[-1]

    try:
        await check_ledger(another)
    finally:
        for handle in handles:
            await handle.aclose()
