"""``Transcript``: an immutable sequence of messages that knows its cost, its safe cuts and its open calls.

Many transcripts share one append-only buffer, each as (buffer, start, stop): appending, dropping a prefix and keeping
every state of a long session cost what is new, not what is there. Only the transcript that ends where its buffer ends
can grow it; any other one that appends gets a copy first.

Theory: a *cut* is a position that no tool round spans. When a result arrives for the call at i, every cut behind i is
gone, except the new end. An older transcript never sees that: for it the call at i was open, and behind an open call
nothing may be cut anyway. So the cuts can live in one shared list that only its end changes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, Final, Self, overload

from .errors import CompactionError, ErrorCode, shown
from .messages import AssistantMessage, Message, ToolCall, ToolResult, TranscriptFault
from .plain import SESSION_LIMITS, Limits, Tally
from .reading import Reading, read_messages


class _Buffer:
    """Messages with running totals: entry k of a total is the sum over the messages before k."""

    __slots__ = ("answered", "calls", "chars", "cuts", "items", "messages", "units")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.units = array("q", [0])
        self.items = array("q", [0])
        self.chars = array("q", [0])
        self.cuts = array("q", [0])
        self.calls: dict[str, int] = {}
        self.answered: dict[str, int] = {}

    def fill(self, reading: Reading) -> None:
        """Take over everything that was read, at once: the same as pushing message after message."""
        self.messages = messages = reading.messages
        self.units, self.items, self.chars = reading.units, reading.items, reading.chars
        self.calls = {call: index for call, _name, index in reading.calls}
        self.answered = {call: index for call, _name, index in reading.results}
        uncut = bytearray(b"\1") * (len(messages) + 1)
        for call, end in self.answered.items():
            start = self.calls[call]
            uncut[start + 1 : end + 1] = bytes(end - start)
        self.cuts = array("q", compress(range(len(messages) + 1), uncut))

    def push(self, message: Message, units: int) -> None:
        """Add one message whose pairing was checked."""
        index = len(self.messages)
        kind = type(message)
        if kind is AssistantMessage:
            for block in message.content:
                if type(block) is ToolCall:
                    self.calls[block.id] = index
        elif kind is ToolResult:
            call = message.tool_call_id  # type: ignore[union-attr]
            start = self.calls[call]
            self.answered[call] = index
            cuts = self.cuts
            while cuts[-1] > start:
                cuts.pop()
        self.messages.append(message)
        self.units.append(self.units[-1] + units)
        self.cuts.append(index + 1)

    def count(self, items: int, chars: int) -> None:
        """Add the counters of the message that was pushed last."""
        self.items.append(self.items[-1] + items)
        self.chars.append(self.chars[-1] + chars)


class Transcript(Sequence[Message]):
    """The messages of a context, in order. Made by this package only; slices are plain tuples."""

    __slots__ = ("_buffer", "_open", "_start", "_stop")

    def __init__(self, buffer: _Buffer, start: int, stop: int, open_calls: tuple[tuple[str, int], ...]) -> None:
        self._buffer: Final = buffer
        self._start: Final = start
        self._stop: Final = stop
        self._open: Final = open_calls

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        size = len(self)
        if isinstance(index, slice):
            start, stop, step = index.indices(size)
            if step == 1:
                return tuple(self._buffer.messages[self._start + start : self._start + max(start, stop)])
            return tuple([self[position] for position in range(start, stop, step)])
        position = index + size if index < 0 else index
        if not 0 <= position < size:
            msg = f"message index {index} is outside 0..{size - 1}"
            raise IndexError(msg)
        return self._buffer.messages[self._start + position]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._buffer.messages[self._start : self._stop])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Transcript):
            same = self._buffer is other._buffer and (self._start, self._stop) == (other._start, other._stop)
            return same or self[:] == other[:]
        return self[:] == tuple(other) if isinstance(other, tuple | list) else NotImplemented

    def __hash__(self) -> int:
        return hash((len(self), self.units))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # The buffer may hold messages that this transcript must not show.
        return transcript_of, (self[:],)

    def __repr__(self) -> str:
        waiting = f", {len(self._open)} open calls" if self._open else ""
        return f"<Transcript of {len(self)} messages, {self.units} units{waiting}>"

    @property
    def units(self) -> int:
        """The units of all messages; O(1)."""
        return self._buffer.units[self._stop] - self._buffer.units[self._start]

    @property
    def counted(self) -> tuple[int, int]:
        """Items and code points of these messages, as the limits count them; O(1)."""
        buffer = self._buffer
        return buffer.items[self._stop] - buffer.items[self._start], buffer.chars[self._stop] - buffer.chars[self._start]

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of calls that wait for their result, in order."""
        return tuple([call for call, _index in self._open])

    @property
    def ids(self) -> tuple[str, ...]:
        """The message ids, in order."""
        return tuple([message.id for message in self])  # type: ignore[misc]

    @property
    def closed_length(self) -> int:
        """How many messages stand before the first one with an open call: the largest cut that may be chosen."""
        return (self._open[0][1] if self._open else self._stop) - self._start

    def cuts(self) -> tuple[int, ...]:
        """Every position after which a prefix may be cut off, ascending; never 0."""
        cuts, limit = self._buffer.cuts, self._start + self.closed_length
        return tuple([cut - self._start for cut in cuts[bisect_right(cuts, self._start) : bisect_right(cuts, limit)]])

    def cut_for(self, room: int, last: int) -> int | None:
        """The smallest cut ≤ *last* after which the rest costs at most *room* units; O(log n)."""
        buffer, start = self._buffer, self._start
        # Rest after position p is units[stop] - units[p], so units[p] must reach this.
        wanted = buffer.units[self._stop] - room
        position = max(bisect_left(buffer.units, wanted, start, self._stop + 1), start + 1)
        found = bisect_left(buffer.cuts, position)
        limit = start + min(last, self.closed_length)
        if found < len(buffer.cuts) and buffer.cuts[found] <= limit:
            return buffer.cuts[found] - start
        return None

    def last_cut(self, last: int) -> int | None:
        """The largest cut ≤ *last*, or None."""
        if last <= 0:  # the buffer may hold more than these messages: what was refused, or what others appended
            return None
        cuts = self._buffer.cuts
        found = bisect_right(cuts, self._start + min(last, self.closed_length)) - 1
        cut = cuts[found] - self._start
        return cut if cut > 0 else None

    def units_before(self, position: int) -> int:
        """The units of the messages before *position*; O(1)."""
        return self._buffer.units[self._start + position] - self._buffer.units[self._start]

    def before(self, cut: int) -> Transcript:
        """The messages before *cut*, which must be one of ``cuts()``."""
        return Transcript(self._buffer, self._start, self._start + cut, ())

    def after(self, cut: int) -> Transcript:
        """The messages from *cut* on, which must be one of ``cuts()``."""
        return Transcript(self._buffer, self._start + cut, self._stop, self._open)

    def appended(self, message: Message, units: int, tally: Tally) -> Transcript:
        """The same and one more message, which was read before; its pairing is checked here, in live mode."""
        self.check_pairing(message)
        calls = message.tool_calls if type(message) is AssistantMessage else ()
        known = self._buffer.calls
        # A call id that only hidden messages use may come again; its entry in the shared index must then stay.
        mine = self._stop == len(self._buffer.messages) and not any(call.id in known for call in calls)
        grown = self if mine else self.detached()
        buffer, open_calls = grown._buffer, grown._open
        index = grown._stop
        buffer.push(message, units)
        buffer.count(tally.items, tally.chars)
        if calls:
            open_calls = (*open_calls, *[(call.id, index) for call in calls])
        elif type(message) is ToolResult:
            open_calls = tuple([pair for pair in open_calls if pair[0] != message.tool_call_id])
        return Transcript(buffer, grown._start, index + 1, open_calls)

    def has_call(self, call_id: str) -> bool:
        """True when a call of that id stands in these messages."""
        return self._start <= self._buffer.calls.get(call_id, -1) < self._stop

    def check_pairing(self, message: Message) -> None:
        """Refuse what would break the pairing, before anything changes."""
        match message:
            case AssistantMessage():
                seen: set[str] = set()
                for call in message.tool_calls:
                    if call.id in seen or self.has_call(call.id):
                        raise _refused("DUPLICATE_TOOL_CALL_ID", call.id, "is taken; give each call an id of its own")
                    seen.add(call.id)
            case ToolResult():
                for call_id, index in self._open:
                    if call_id == message.tool_call_id:
                        name = next(call.name for call in self._buffer.messages[index].tool_calls if call.id == call_id)  # type: ignore[union-attr]
                        if name != message.tool_name:
                            raise _refused("TOOL_NAME_MISMATCH", call_id, "was made to another tool than this result names")
                        return
                rule = "DUPLICATE_TOOL_RESULT" if self.has_call(message.tool_call_id) else "ORPHAN_TOOL_RESULT"
                raise _refused(
                    rule, message.tool_call_id, "does not wait for a result; append the call first, and one result only"
                )
            case _:
                pass

    def detached(self) -> Transcript:
        """The same messages in a buffer of their own: free of what stands before them, and of what others appended."""
        old, new = self._buffer, _Buffer()
        for index in range(self._start, self._stop):
            new.push(old.messages[index], old.units[index + 1] - old.units[index])
            new.count(old.items[index + 1] - old.items[index], old.chars[index + 1] - old.chars[index])
        moved = tuple([(call, index - self._start) for call, index in self._open])
        return Transcript(new, 0, len(new.messages), moved)


def _refused(rule: str, call_id: str, what: str) -> CompactionError:
    return CompactionError(ErrorCode.INVALID_TRANSCRIPT, f"tool call {shown(call_id)} {what} [{rule}]", where="message")


def read_transcript_data(value: object, tally: Tally, *, rich: bool = False, live: bool = False) -> Transcript:
    """Read messages (plain data, nouns or a ``Transcript``) into a transcript, or raise the first fault."""
    source = value[:] if type(value) is Transcript else value
    buffer = _Buffer()
    buffer.fill(read_messages(source, tally, rich=rich, live=live))
    waiting = tuple([(call, index) for call, index in buffer.calls.items() if call not in buffer.answered])
    return Transcript(buffer, 0, len(buffer.messages), waiting)


def validate_transcript(
    messages: Sequence[Any], *, live: bool = False, limits: Limits = SESSION_LIMITS
) -> tuple[TranscriptFault, ...]:
    """List every fault of a transcript, as (rule, message index, what to do). An empty answer means: valid.

    *live* is the mode of a session in progress: a tool call may still wait for its result. Order: faults of shape
    and duplicates by message; then each result's; then calls without a result. Raises LIMIT_EXCEEDED only.
    """
    collect: list[TranscriptFault] = []
    source = messages[:] if type(messages) is Transcript else messages
    read_messages(source, Tally(limits), live=live, collect=collect)
    return tuple(collect)


def transcript_of(messages: Iterable[Message]) -> Transcript:
    """Build a live transcript from valid nouns."""
    return read_transcript_data(tuple(messages), Tally(SESSION_LIMITS), rich=True, live=True)
