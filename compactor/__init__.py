"""Context compaction for LLM agents: commit after validate, cancel at any time, delete nothing.

The map, from the ground up; a module imports only modules above it::

    errors plain                                   the ground: one exception, untrusted data within limits
    phases                                         the machine as one table
    messages ... transcript                        the nouns, how they are read, what they cost
    boundary channels budgets context              where to cut, what a context is
    verdicts policy outcomes ledger replay         the other decisions, and the truth
    formats stores readers summarizers tracing     the edges
    machine ... actor                              one run through the table; one request at a time
    compaction session portal testing cli          the doors

Start with ``phases``, ``boundary``, ``verdicts``, ``ledger`` and ``actor``, in that order. Names are loaded when they
are first used, so that the command line can answer Ctrl-C before anything heavy is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .boundary import Group as Group
    from .boundary import group_tool_rounds as group_tool_rounds
    from .budgets import BudgetOptions as BudgetOptions
    from .channels import CompactionRecord as CompactionRecord
    from .compaction import compact_context as compact_context
    from .context import ActiveContext as ActiveContext
    from .context import SummaryRequest as SummaryRequest
    from .context import build_active_context as build_active_context
    from .context import estimate_context_units as estimate_context_units
    from .context import select_compaction_boundary as select_compaction_boundary
    from .errors import CompactionError as CompactionError
    from .errors import ErrorCode as ErrorCode
    from .errors import FailureKind as FailureKind
    from .formats import parse_messages as parse_messages
    from .formats import render_messages as render_messages
    from .messages import AssistantMessage as AssistantMessage
    from .messages import Media as Media
    from .messages import Opaque as Opaque
    from .messages import Text as Text
    from .messages import Thinking as Thinking
    from .messages import ToolCall as ToolCall
    from .messages import ToolResult as ToolResult
    from .messages import UserMessage as UserMessage
    from .outcomes import Committed as Committed
    from .outcomes import Failed as Failed
    from .outcomes import Unchanged as Unchanged
    from .phases import TRANSITIONS as TRANSITIONS
    from .phases import Phase as Phase
    from .phases import Signal as Signal
    from .phases import step as step
    from .plain import Limits as Limits
    from .policy import Budget as Budget
    from .policy import Policy as Policy
    from .readers import read_transcript as read_transcript
    from .session import Session as Session
    from .session import open_ledger as open_ledger
    from .session import open_session as open_session
    from .session import plan_compaction as plan_compaction
    from .stores import MemoryLedger as MemoryLedger
    from .stores import open_store as open_store
    from .summarizers import DigestSummarizer as DigestSummarizer
    from .summarizers import Summarizer as Summarizer
    from .transcript import validate_transcript as validate_transcript

_HOMES = {
    "ActiveContext": "context",
    "AssistantMessage": "messages",
    "Budget": "policy",
    "BudgetOptions": "budgets",
    "Committed": "outcomes",
    "CompactionError": "errors",
    "CompactionRecord": "channels",
    "DigestSummarizer": "summarizers",
    "ErrorCode": "errors",
    "Failed": "outcomes",
    "FailureKind": "errors",
    "Group": "boundary",
    "Limits": "plain",
    "Media": "messages",
    "MemoryLedger": "stores",
    "Opaque": "messages",
    "Phase": "phases",
    "Policy": "policy",
    "Session": "session",
    "Signal": "phases",
    "Summarizer": "summarizers",
    "SummaryRequest": "context",
    "TRANSITIONS": "phases",
    "Text": "messages",
    "Thinking": "messages",
    "ToolCall": "messages",
    "ToolResult": "messages",
    "Unchanged": "outcomes",
    "UserMessage": "messages",
    "build_active_context": "context",
    "compact_context": "compaction",
    "estimate_context_units": "context",
    "group_tool_rounds": "boundary",
    "open_ledger": "session",
    "open_session": "session",
    "open_store": "stores",
    "parse_messages": "formats",
    "plan_compaction": "session",
    "read_transcript": "readers",
    "render_messages": "formats",
    "select_compaction_boundary": "context",
    "step": "phases",
    "validate_transcript": "transcript",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list; ruff wants a literal, a test compares it with the imports above


def __getattr__(name: str) -> Any:
    """Load a public name from its module, once."""
    home = _HOMES.get(name)
    if home is None:
        msg = f"module 'compactor' has no attribute {name!r}"
        raise AttributeError(msg)
    value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
