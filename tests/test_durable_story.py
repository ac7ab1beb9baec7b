"""The whole promise of the ledger, once through: a real session file, a real SQLite file, a real killed process.

Imported, compacted three times with appends between, killed in the middle of the fourth, reopened, compacted again.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from compactor import Budget, Committed, UserMessage, open_ledger, open_session, read_transcript
from compactor.context import ActiveContext
from compactor.events import EventType
from compactor.formats import render_request
from compactor.messages import message_to_plain
from compactor.readers import sample_bytes
from compactor.searching import searchable
from compactor.summarizers import DigestSummarizer

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "pi" / "v1-before-compaction.L540-724.jsonl"
BUDGET = Budget(60_000, target_units=24_000, summary_max_units=6_000, retain_recent_messages=4, hard_units=10**9)
FORMAT = "openai-chat"

# The child holds the session, starts its fourth compaction and stands still in the middle of it, to be killed there.
CHILD = """
import sys, trio
from compactor import Budget, open_session
async def stand_still(request):
    print("in the middle", flush=True)
    await trio.sleep_forever()
async def main():
    budget = Budget(60_000, target_units=24_000, summary_max_units=6_000, retain_recent_messages=4, hard_units=10**9)
    async with open_session(sys.argv[1], session_id="s", policy=budget, summarizer=stand_still, auto=False) as session:
        await session.compact(force=True)
trio.run(main)
"""


def imported(tmp_path: Path) -> ActiveContext:
    """The real session where it is there, else the packaged one."""
    if CORPUS.exists():
        return read_transcript(CORPUS)
    (tmp_path / "sample.jsonl").write_bytes(sample_bytes())
    return read_transcript(tmp_path / "sample.jsonl")


def identifiers(context: ActiveContext) -> list[str]:
    """What an agent may have to look up again: paths, dotted and underscored names, long numbers and hashes."""
    found: dict[str, None] = {}
    for message in context.messages:
        for word in re.findall(r"[A-Za-z0-9_./-]{4,80}", searchable(message_to_plain(message))):
            inner = word.strip("./-")
            if len(inner) >= 4 and re.search(r"[/_.]|\d{3}", inner):
                found[inner] = None
    return list(found)


def kill_in_the_middle(path: Path) -> None:
    """Let another process begin a compaction, and kill it there."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "in the middle\n"
    child.kill()
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()


async def test_three_compactions_a_kill_a_fourth_and_everything_can_be_told(tmp_path: Path) -> None:
    path, context = tmp_path / "agent.ledger", imported(tmp_path)
    rendered: list[bytes] = []
    records: list[str] = []

    async def say(session: Any, text: str) -> None:
        turn = await session.turn(pending=[{"role": "user", "content": text}])
        rendered.append(json.dumps(turn.render(), ensure_ascii=False).encode("utf-8", "surrogatepass"))
        await session.append({"role": "user", "content": text}, {"role": "assistant", "content": f"I did: {text} " * 40})

    async def compacted(session: Any) -> None:
        outcome = await session.compact(force=True)
        assert isinstance(outcome, Committed), outcome
        records.append(outcome.record.id)

    def opened(**options: Any) -> Any:
        return open_session(
            path, session_id="s", policy=BUDGET, summarizer=DigestSummarizer(), format=FORMAT, auto=False, **options
        )

    async with opened(context=context) as session:
        await say(session, "before anything")
        for number in range(3):
            await compacted(session)
            await say(session, f"after compaction {number}")
            await session.pin(f"rule {number}")
            await say(session, f"again after {number}")
        before = session.context
    kill_in_the_middle(path)
    async with opened() as session:
        assert session.context == before, "a run that was killed contributed nothing"
        await compacted(session)
        await say(session, "after the fourth")

        second = await session.undo(records[1], dry_run=True)
        assert second.record_ids == (records[3], records[2], records[1])
        undone = await session.undo(records[1])
        assert undone == second
        assert undone.context.compactions[len(context.compactions) :][0].id == records[0]
        assert len(undone.context.compactions) == len(context.compactions) + 1
        still_hidden = undone.context.compactions[-1].compacted_message_ids
        given_back = [message.id for message in undone.context.messages]
        assert [*still_hidden, *given_back][: len(context.messages)] == list(context.messages.ids)
        await say(session, "after the undo")
        await compacted(session)

    async with open_ledger(path) as ledger:
        audit = await ledger.verify()
        assert audit.faults == (), audit.faults
        assert len(audit.traces) == 1, "the killed run is a visible trace"
        for number, expected in enumerate(rendered, 1):
            shown = await ledger.surface_at("s", turn=number)
            assert json.dumps(render_request(FORMAT, shown), ensure_ascii=False).encode("utf-8", "surrogatepass") == expected
        originals = await ledger.transcript("s")
        assert [message.id for message in originals[: len(context.messages)]] == list(context.messages.ids)
        events = await ledger.store.read("s")
        assert sum(event.type is EventType.COMPACTION_STARTED for event in events) == 6
        names = identifiers(context)
        assert len(names) > (300 if CORPUS.exists() else 5)
        lost = [name for name in names if not await ledger.history_search("s", f'"{name}"', limit=1, everywhere=True)]
        assert lost == []


async def test_a_view_follows_what_the_owner_writes(tmp_path: Path) -> None:
    path, first = tmp_path / "agent.ledger", {"messages": [UserMessage("hello", id="u")]}
    async with open_session(path, session_id="s", context=first, auto=False) as session, open_ledger(path) as ledger:
        assert [message.id for message in await ledger.transcript("s")] == ["u"]
        await session.append(UserMessage("again", id="v"))
        assert [message.id for message in (await ledger.surface_at("s")).messages] == ["u", "v"]
