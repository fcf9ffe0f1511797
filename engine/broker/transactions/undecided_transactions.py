"""The undecided transactions of one broker (RocketMQ has no such table: it carries out every commit request, and after
a crash each copy of a half message is a separate transaction).

A check stores a half message again, so a transaction is a chain of copies. It is identified by the first copy's offset
in the half queue; every later copy carries that number (TRAN_PREPARED_QUEUE_OFFSET). Only the newest copy counts, and a
transaction that is not in the table is decided, or was given up. A unique id would not suffice: sending one message
object twice makes two transactions with one id.

The table is not stored. A start rebuilds it from the log, from the offsets at which the last round ended::

    half queue                    a transaction begins, or has a newer copy
    op queue                      it is decided, unless its committed message is missing ...
    committed, without op         ... and decided, too: a crash erased the op message, or preceded it
    TRANS_CHECK_MAX_TIME_TOPIC    it was given up
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.broker.transactions.half_message import (
    HALF_QUEUE_ID,
    committed_at,
    decided_offset,
    first_copy,
    recorded_first_copy,
)
from engine.protocol.message.message import MessageExt
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.message_store import MessageStore
from engine.store.recovery.recovery_report import RecoveryReport

#: The maximum number of given-up transactions that may still be decided, the newest ones; a start forgets them. Others
#: must be resumed first.
GIVEN_UP_MAX = 10_000
_ENTRIES_PER_READ = 64


class UndecidedTransactions:
    """A table of transactions, identified by their first copies' offsets.

    ``copy in table``: it is the newest copy of an undecided transaction.
    """

    def __init__(self) -> None:
        #: Newest copy -> first copy.
        self._first_of: dict[int, int] = {}
        #: The reverse, where the two differ.
        self._newest_of: dict[int, int] = {}
        #: First copy -> last copy of transactions that are no longer checked.
        self._given_up: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._first_of)

    def __contains__(self, copy: int) -> bool:
        return copy in self._first_of

    def newest(self, first: int) -> int | None:
        """Return the newest copy of an undecided transaction; None for any other transaction."""
        copy = self._newest_of.get(first, first)
        return copy if copy in self._first_of else None

    def decidable(self, first: int) -> int | None:
        """Return the copy that a decision applies to, even of a transaction that was given up; None: it is decided."""
        newest = self.newest(first)
        return self._given_up.get(first) if newest is None else newest

    def put(self, first: int, copy: int) -> None:
        """Record ``copy`` as the newest copy of its transaction."""
        self.remove(first)
        self._first_of[copy] = first
        if copy != first:
            self._newest_of[first] = copy

    def remove(self, first: int) -> None:
        """Remove a decided transaction."""
        self._first_of.pop(self._newest_of.pop(first, first), None)
        self._given_up.pop(first, None)

    def give_up(self, first: int) -> None:
        """Stop the checks of a transaction."""
        newest = self.newest(first)
        assert newest is not None, "it was undecided"
        self.remove(first)
        self._given_up[first] = newest
        if len(self._given_up) > GIVEN_UP_MAX:
            del self._given_up[next(iter(self._given_up))]


class UndecidedInLog:
    """The undecided transactions that a start finds in the log.

    :param starts: the offset to read from, for each of the three topics.
    :ivar found: the resulting table.
    :ivar owed: newest copy -> offset of the committed message, for transactions whose op message is missing.
    """

    def __init__(self, store: MessageStore, report: RecoveryReport, starts: dict[str, int]) -> None:
        self.found = UndecidedTransactions()
        self.owed: dict[int, int | None] = {}
        self._store = store
        self._report = report
        self._starts = starts
        #: Any copy -> first copy; newest copy -> its commit-log offset.
        self._firsts: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._read()

    def _read(self) -> None:
        for half in self._messages(TRANSACTION_HALF_TOPIC):
            first = self._firsts[half.queue_offset] = first_copy(half)
            self.found.put(first, half.queue_offset)
            self._places[half.queue_offset] = half.commit_log_offset
        for op in self._messages(TRANSACTION_OP_HALF_TOPIC):
            offset = decided_offset(op)
            first_of_op = self._firsts.get(offset) if offset is not None else None
            if first_of_op is not None and self._is_vouched_for(op):
                self._ends(first_of_op, op)
        for discarded in self._messages(TRANSACTION_CHECK_MAX_TIME_TOPIC):
            recorded_first = recorded_first_copy(discarded)
            if recorded_first is not None:
                self._ends(recorded_first, discarded)
        for half_place, committed_place in self._report.successors.items():
            committed_half = self._store.message_at(half_place)
            if committed_half is not None and committed_half.topic == TRANSACTION_HALF_TOPIC:
                newest = self.found.newest(first_copy(committed_half))
                if newest is not None:
                    self.owed[newest] = committed_place
                    self.found.remove(first_copy(committed_half))

    def _messages(self, topic: str) -> Iterator[MessageExt]:
        offset = self._starts[topic]
        while entries := self._store.consume_queue_entries(topic, HALF_QUEUE_ID, offset, _ENTRIES_PER_READ):
            offset += len(entries)
            for place, size, _ in entries:
                message = None if size == FILLER_SIZE else self._store.message_at(place)
                if message is not None:
                    yield message

    def _ends(self, first: int, message: MessageExt) -> None:
        """End a transaction because of ``message``. One that was resumed afterwards has a later copy."""
        newest = self.found.newest(first)
        if newest is not None and message.commit_log_offset > self._places[newest]:
            self.found.remove(first)

    def _is_vouched_for(self, op: MessageExt) -> bool:
        """Return whether the committed message exists: a power cut may erase it and leave its op message.

        Checked at every start, because the sender may not have been asked before the next one.
        """
        place = committed_at(op)
        is_gone = place is None or place < self._store.commit_log.min_offset
        return is_gone or self._store.message_at(place or 0) is not None
