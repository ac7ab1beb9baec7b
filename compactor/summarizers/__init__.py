"""What writes summaries: the protocol, and the digest that needs no model.

A summarizer is any callable that takes a ``SummaryRequest`` and gives text, now or later. It changes nothing; what
it raises is its own business, and what it returns is judged by others before anything is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ._lines import Section, citations
from .blocking import blocking
from .digest import DigestSummarizer

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from compactor.context import SummaryRequest

__all__ = [
    "DigestSummarizer",
    "Section",
    "Summarizer",
    "blocking",
    "citations",
]


class Summarizer(Protocol):
    """Give the text that shall stand for ``request.messages``, or an awaitable of it.

    The text may have at most ``request.max_text`` code points and must not be blank. Whatever is raised ends the
    run as ``SUMMARIZER_FAILED`` and changes nothing.
    """

    def __call__(self, request: SummaryRequest, /) -> str | Awaitable[str]:
        """Called once per attempt, and again with ``request.rejection`` set when the first answer was refused."""
