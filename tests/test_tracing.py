"""One log event per transition, with exactly the documented fields; no content, ever; and a logger that cannot hurt."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import structlog
import trio
import trio.testing
from scenes import BUDGET, FaultyLedger, Swap, Waiting, good
from structlog.testing import capture_logs

from compactor.compaction import compact_context
from compactor.errors import CompactionError, ErrorCode
from compactor.machine import Run
from compactor.messages import UserMessage
from compactor.outcomes import Committed, TransitionRecord
from compactor.phases import Phase, Signal
from compactor.requests import Request
from compactor.session import Session, open_session
from compactor.tracing import EVENT, fields, log_to
from compactor.usercode import Box

FIELDS = {
    "session_id",
    "run_id",
    "trigger",
    "from_phase",
    "signal",
    "to_phase",
    "elapsed",
    "attempt",
    "units_before",
    "units_after",
    "boundary",
    "code",
}
CANARY = "CANARY-5ecret"
RECORD = TransitionRecord("s", "c", "manual", Phase.IDLE, Signal.REQUESTED, Phase.SELECTING, 0.0, 0, 10, None, None, None)


@pytest.fixture
def configured() -> Iterator[None]:
    structlog.configure()
    yield
    structlog.reset_defaults()


class Listener:
    """A logger that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, **given: Any) -> None:
        self.events.append((event, given))


def secretive(count: int = 10) -> dict[str, Any]:
    """A conversation in which every text and id is secret."""
    return {
        "requirements": [{"id": f"r-{CANARY}", "content": CANARY}],
        "messages": [{"id": f"{CANARY}-{n}", "role": "user", "content": f"{CANARY} ".ljust(80, "x")} for n in range(count)],
    }


def opened(**options: Any) -> Any:
    given = {"session_id": "s", "context": secretive(), "policy": BUDGET, "summarizer": good, "auto": False}
    return open_session(**(given | options))


async def test_a_run_logs_one_event_per_transition(autojump_clock: trio.testing.MockClock) -> None:
    listener = Listener()

    async def slow(_request: Any) -> str:
        await trio.sleep(2.5)
        return "a good summary"

    async with opened(logger=listener, summarizer=slow) as session:
        before = session.context.units
        outcome = await session.compact()
        after = session.context.units
    common = {"session_id": "s", "run_id": outcome.run_id, "trigger": "manual", "units_before": before, "code": None}

    def row(start: str, signal: str, end: str, elapsed: float, attempt: int, units: int | None, boundary: int | None) -> Any:
        given = {"from_phase": start, "signal": signal, "to_phase": end, "elapsed": elapsed}
        return EVENT, common | given | {"attempt": attempt, "units_after": units, "boundary": boundary}

    at = outcome.record.boundary
    assert listener.events == [
        row("IDLE", "REQUESTED", "SELECTING", 0.0, 0, None, None),
        row("SELECTING", "CUT_CHOSEN", "SELECTING", 0.0, 0, None, at),
        row("SELECTING", "LOCKED", "SUMMARIZING", 0.0, 0, None, at),
        row("SUMMARIZING", "SUMMARIZED", "VALIDATING", 2.5, 1, None, at),
        row("VALIDATING", "ACCEPTED", "VALIDATING", 2.5, 1, after, at),
        row("VALIDATING", "COMMITTED_DURABLY", "COMMITTED", 2.5, 1, after, at),
        row("COMMITTED", "SETTLED", "IDLE", 2.5, 1, after, at),
    ]
    assert all(set(given) == FIELDS for _event, given in listener.events)


async def test_a_configured_structlog_is_used(configured: None) -> None:
    with capture_logs() as logs:
        async with opened() as session:
            await session.compact()
    assert [entry["signal"] for entry in logs][-1] == "SETTLED"
    assert len(logs) == 7
    assert all(set(entry) == FIELDS | {"event", "log_level"} for entry in logs)
    assert {(entry["event"], entry["log_level"]) for entry in logs} == {(EVENT, "info")}


async def test_an_explicit_structlog_logger_is_used(configured: None) -> None:
    with capture_logs() as logs:
        await compact_context(secretive(), BUDGET, summarizer=good, logger=structlog.get_logger().bind(tenant="t"))
    assert {entry["tenant"] for entry in logs} == {"t"}
    assert len(logs) == 7


async def test_without_any_configuration_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    structlog.reset_defaults()
    await compact_context(secretive(), BUDGET, summarizer=good)
    assert capfd.readouterr() == ("", "")


async def test_the_standard_logger_is_silent_until_somebody_listens(caplog: pytest.LogCaptureFixture) -> None:
    structlog.reset_defaults()
    await compact_context(secretive(), BUDGET, summarizer=good)
    assert not caplog.records
    with caplog.at_level(logging.INFO, logger="compactor"):
        await compact_context(secretive(), BUDGET, summarizer=good)
    assert [record.getMessage() for record in caplog.records] == [EVENT] * 7
    assert all(set(record.transition) == FIELDS for record in caplog.records)
    assert logging.getLogger("compactor").handlers
    assert CANARY not in repr([record.__dict__ for record in caplog.records])


class Raising:
    """A logger with a full disk."""

    def __init__(self) -> None:
        self.calls = 0

    def info(self, *_args: Any, **_given: Any) -> None:
        self.calls += 1
        raise OSError(28, "No space left on device")


async def test_a_logger_that_raises_changes_nothing() -> None:
    broken = Raising()
    async with opened(logger=broken) as session:
        outcome = await session.compact()
        assert isinstance(outcome, Committed)
        assert not outcome.notes
    assert broken.calls == 7


@pytest.mark.parametrize("logger", [object(), 5, "text"], ids=repr)
async def test_what_is_no_logger_changes_nothing(logger: Any) -> None:
    assert isinstance(await compact_context(secretive(), BUDGET, summarizer=good, logger=logger), Committed)


async def test_a_failed_transition_carries_its_code() -> None:
    listener = Listener()
    async with opened(logger=listener, summarizer=lambda _request: 1 / 0) as session:
        await session.compact()
        with trio.CancelScope() as scope:

            async def cancel(_phase: Phase, _signal: Signal) -> None:
                scope.cancel()
                await trio.lowlevel.checkpoint()

            session.machine.gate = cancel
            await session.compact()
    codes = {given["signal"]: given["code"] for _event, given in listener.events if given["to_phase"] == "FAILED"}
    assert codes == {"SUMMARIZER_FAILED": "CONTEXT_SUMMARIZER_FAILED", "CANCELLED": "CONTEXT_CANCELLED"}


# ------------------------------------------------------------------------------------------------------------- secrecy


def leaky(kind: str) -> Any:
    """Summarizers whose answers and errors hold the secret."""

    class Loud(Exception):  # noqa: N818
        pass

    def answer(_request: Any) -> Any:
        match kind:
            case "good":
                return f"{CANARY} done"
            case "long":
                return CANARY * 1_000
            case "blank":
                return " \n"
            case "no text":
                return [CANARY]
            case "raises":
                local = CANARY
                raise Loud(local)
            case "group":
                raise ExceptionGroup(CANARY, [Loud(CANARY)])
            case "ours":
                raise CompactionError(ErrorCode.BUSY, CANARY, where=CANARY, fix=CANARY)
            case _:
                raise AssertionError(kind)

    return answer


def words(session: Session, outcome: Any, listener: Listener) -> str:
    """Everything that could end up in a log."""
    error = getattr(outcome, "error", None)
    return "\n".join(
        [repr(listener.events), repr(outcome), str(outcome), repr(error), str(error), repr(session), str(session)]
        + [repr(part) for part in (session.context, session.snapshot, *session.context.messages, session.context.summary)]
    )


@pytest.mark.parametrize("kind", ["good", "long", "blank", "no text", "raises", "group", "ours"])
async def test_no_content_ever_appears_in_events_errors_or_reprs(kind: str) -> None:
    listener = Listener()
    async with opened(logger=listener, summarizer=leaky(kind), policy=attrs.evolve(BUDGET, attempts=2)) as session:
        outcome = await session.compact(instructions=CANARY)
        assert (type(outcome) is Committed) is (kind == "good")
        text = words(session, outcome, listener)
    # Ids are no content; they are shown where an object is asked for its repr, and in no event and in no error.
    assert CANARY not in repr(listener.events)
    assert CANARY not in str(getattr(outcome, "error", ""))
    assert CANARY not in text.replace(f"r-{CANARY}", "").replace(f"'{CANARY}-", "'")


@pytest.mark.parametrize("plan", [("start", "before"), ("commit", "before"), ("commit", "after"), ("close", "before")], ids=str)
async def test_what_a_ledger_raises_is_not_quoted(plan: tuple[str, str]) -> None:
    listener, ledger = Listener(), FaultyLedger(plans=[plan])
    swap = Swap(leaky("raises") if plan[0] == "close" else good)
    async with opened(ledger=ledger, logger=listener, summarizer=swap) as session:
        outcome = await session.compact()
        ledger.unreadable = True
        assert "TOP-SECRET" not in words(session, outcome, listener)
        assert ledger.fired == [plan]


@pytest.mark.parametrize("error", [KeyboardInterrupt(CANARY), SystemExit(CANARY)], ids=lambda error: type(error).__name__)
async def test_the_notes_of_a_run_keep_its_secrets(error: BaseException) -> None:
    run = Run("c", "manual", 0.0, exit=error)
    run.fail(ErrorCode.INTERNAL, "failed", kind=None, cause=ValueError(CANARY))
    assert CANARY not in repr(run)
    assert CANARY not in repr(Box(value=CANARY, error=error))
    assert CANARY not in repr(Request(CANARY, force=False, trigger="manual"))


async def test_the_reason_of_a_cancellation_stays_on_one_line() -> None:
    waiting, scope = Waiting(), trio.CancelScope()
    options = {"max_units": 500, "target_units": 300, "summary_max_units": 100, "retain_recent_messages": 1}
    async with trio.open_nursery() as nursery:

        async def cancel() -> None:
            await waiting.called.wait()
            scope.cancel(reason="user left\nFAKE EVENT " + "x" * 500)

        nursery.start_soon(cancel)
        with pytest.raises(CompactionError, match=r"user left\\nFAKE EVENT") as caught:
            await compact_context(
                secretive(), options | {"signal": scope, "summary_id": "s", "record_id": "c"}, summarizer=waiting
            )
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


# ----------------------------------------------------------------------------------------------------------- injection


@pytest.mark.parametrize("name", ["a\nb", "a\r\nb", "\x1b[31mred", "a\u2028b", "é", "\ud800", "quote\"s and 's"], ids=ascii)
async def test_ids_are_escaped_and_an_event_stays_one_line(name: str) -> None:
    listener = Listener()
    await compact_context(secretive(), BUDGET, summarizer=good, record_id=name, logger=listener)
    for _event, given in listener.events:
        assert given["run_id"].isascii()
        assert given["run_id"].isprintable()
        assert given["run_id"].encode().decode("unicode_escape") == name


@pytest.mark.parametrize("size", [64, 65, 128])
def test_a_session_id_is_logged_whole(size: int) -> None:
    assert fields(attrs.evolve(RECORD, session_id="s" * size))["session_id"] == "s" * size


def test_a_long_run_id_is_cut_and_says_so() -> None:
    logged = fields(attrs.evolve(RECORD, run_id="c" * 60_000))["run_id"]
    assert logged == "c" * 128 + "..."


def test_an_observer_never_raises() -> None:
    log_to(Raising())(RECORD)
    log_to(Raising())(None)


async def test_an_observer_gets_messages_of_no_kind() -> None:
    listener = Listener()
    async with opened(logger=listener, context=None) as session:
        await session.append(UserMessage(CANARY))
        await session.pin(CANARY)
    assert listener.events == []
