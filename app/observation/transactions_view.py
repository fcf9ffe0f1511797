"""Half messages and the op messages that decide them, as one broker stores them.

Reads both queues forward, a few entries per sample: nothing is hooked into the broker. When it lags by more it jumps,
and decisions from before the jump are no longer known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.observation.bounds import GIVEN_UP_MAX, HALF_MESSAGES_MAX, client_text
from app.observation.unix_time import world_us
from engine.broker.transactions.half_message import (
    HALF_QUEUE_ID,
    check_times,
    committed_at,
    decided_offset,
    producer_group,
    real_place,
)
from engine.broker.transactions.half_message_lookup import HalfMessageLookup, HalfMessageRefused, StoredHalfMessages
from engine.broker.transactions.transactional_message_service import immunity_of
from engine.protocol.errors import MalformedMessage
from engine.protocol.names import (
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)
from engine.store.files.consume_queue_entry import FILLER_SIZE

if TYPE_CHECKING:
    from app.picture.half_message import (
        FixedHalfMessage,
        GivenUpMessage,
        HalfMessage,
        HalfMessageNames,
        Outcome,
        StoredHalfMessage,
        Transactions,
    )
    from engine.broker.broker import Broker
    from engine.protocol.message.message import MessageExt

#: Op messages that one sample reads.
OPS_PER_LOOK_MAX = 200
#: Decisions that are kept.
_DECISIONS_MAX = 4_000


class TransactionsView:
    """Builds the ``transactions`` part of a broker's state."""

    def __init__(self, broker: Broker, messages_max: int = HALF_MESSAGES_MAX) -> None:
        self._broker = broker
        self._store = broker.store
        self._messages_max = messages_max
        self._next_op = -1
        #: Half offset -> offset of the op message that names it.
        self._decided_by: dict[int, int] = {}
        #: Op offset -> half offset.
        self._decides: dict[int, int] = {}
        #: Half offset -> (commit-log offset, the constant part of its view).
        self._known: dict[int, tuple[int, FixedHalfMessage]] = {}
        #: Half offset -> what was decided.
        self._outcomes: dict[int, Outcome] = {}
        self._stored = StoredHalfMessages(broker.store)
        self._lookup = HalfMessageLookup(self._stored)
        #: Ends of both queues, and the given-up messages at that time.
        self._given_up: tuple[tuple[int, int], list[GivenUpMessage]] = ((0, 0), [])
        self._begin_ms = 0
        self._last: Transactions | None = None

    def build(self, begin_ms: int = 0) -> Transactions | None:
        """Return the half messages; None while there was never one.

        The same object as before while nothing has changed.

        :param begin_ms: time of the broker's clock at which the time of the picture begins.
        """
        if begin_ms != self._begin_ms:
            self._begin_ms, self._known, self._given_up = begin_ms, {}, ((0, 0), [])
        end = self._store.max_offset(TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID)
        if end == 0:
            return None
        self._read_ops()
        given_up_end = self._store.max_offset(TRANSACTION_CHECK_MAX_TIME_TOPIC, HALF_QUEUE_ID)
        service, config = self._broker.transactional_message_service, self._broker.config
        view: Transactions = {
            "half_offset": service.half_offset,
            "half_end": end,
            "op_offset": service.op_offset,
            "op_end": self._store.max_offset(TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID),
            "checks_sent": service.checks_sent,
            "discarded": service.discarded_messages,
            "time_out_ms": config.transaction_time_out_ms,
            "check_interval_ms": config.transaction_check_interval_ms,
            "check_max": config.transaction_check_max,
            "next_round_us": self._us(service.next_round_ms),
            "messages": self._messages(service.half_offset, end),
            "given_up_end": given_up_end,
            "given_up": self._given_up_messages(given_up_end, end),
        }
        if view != self._last:
            self._last = view
        return self._last

    def key_decided_by(self, op_offset: int) -> str:
        """Return the key of the half message that the op message at ``op_offset`` decides; empty when it is not
        known.
        """
        half_offset = self._decides.get(op_offset)
        if half_offset is None:
            return ""
        entries = self._store.consume_queue_entries(TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, half_offset, 1)
        fixed = self._fixed(half_offset, entries[0][0]) if entries else None
        return str(fixed["key"]) if fixed is not None else ""

    # ------------------------------------------------------------------------------ op queue

    def _read_ops(self) -> None:
        end = self._store.max_offset(TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID)
        if end < self._next_op:
            self._next_op, self._decided_by, self._decides, self._outcomes = -1, {}, {}, {}
        first = max(self._next_op, self._store.min_offset(TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID))
        self._next_op = end
        for position in range(max(first, end - OPS_PER_LOOK_MAX), end):
            op = self._store.message_in_queue(TRANSACTION_OP_HALF_TOPIC, HALF_QUEUE_ID, position)
            half_offset = decided_offset(op) if op is not None else None
            if half_offset is not None:
                # The first one counts; a second END_TRANSACTION leaves a second one.
                self._decided_by.setdefault(half_offset, position)
                self._decides[position] = half_offset
                if op is not None and committed_at(op) is not None:
                    self._outcomes.setdefault(half_offset, "committed")
        for table in (self._decided_by, self._decides, self._outcomes):
            while len(table) > _DECISIONS_MAX:
                table.pop(next(iter(table)))

    # ------------------------------------------------------------------------------ half queue

    def _messages(self, half_offset: int, end: int) -> list[HalfMessage]:
        first = max(half_offset, end - self._messages_max)
        entries = self._store.consume_queue_entries(TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID, first, end - first)
        messages: list[HalfMessage] = []
        for queue_offset, (place, size, _) in enumerate(entries, first):
            fixed = None if size == FILLER_SIZE else self._fixed(queue_offset, place)
            if fixed is not None:
                op = self._decided_by.get(queue_offset)
                outcome = None if op is None else self._outcome(fixed)
                messages.append({**fixed, "decided_by": op, "outcome": outcome})
        for known in list(self._known)[: max(0, len(self._known) - _DECISIONS_MAX)]:
            del self._known[known]
        return messages

    def _outcome(self, half: FixedHalfMessage) -> Outcome | None:
        """Return what was decided. Where the op message does not say it, as RocketMQ's do not, the index does."""
        queue_offset = half["queue_offset"]
        if queue_offset not in self._outcomes:
            try:
                copies = self._stored.called(half["topic"], half["id"])
            except HalfMessageRefused:  # there is no index
                return None
            is_committed = any(copy.prepared_transaction_offset == half["offset"] for copy in copies)
            self._outcomes[queue_offset] = "committed" if is_committed else "rolled-back"
        return self._outcomes[queue_offset]

    # ------------------------------------------------------------------------------ given up

    def _given_up_messages(self, end: int, half_end: int) -> list[GivenUpMessage]:
        """Return the given-up messages; they are read again only when one of the two queues has grown."""
        if self._given_up[0] != (end, half_end):
            first = max(self._store.min_offset(TRANSACTION_CHECK_MAX_TIME_TOPIC, HALF_QUEUE_ID), end - GIVEN_UP_MAX)
            entries = self._store.consume_queue_entries(
                TRANSACTION_CHECK_MAX_TIME_TOPIC, HALF_QUEUE_ID, first, end - first
            )
            found = [self._store.message_at(place) for place, size, _ in entries if size != FILLER_SIZE]
            views = [self._given_up_view(message) for message in found if message is not None]
            self._given_up = ((end, half_end), views)
        return self._given_up[1]

    def _given_up_view(self, message: MessageExt) -> GivenUpMessage:
        try:
            again = self._lookup.half_after(message)
        except HalfMessageRefused:  # there is no index
            again = None
        return {
            **self._common_view(message),
            "given_up_us": self._us(message.store_timestamp),
            "checked_again": again,
        }

    # ------------------------------------------------------------------------------ both

    def _fixed(self, queue_offset: int, commit_log_offset: int) -> FixedHalfMessage | None:
        known = self._known.get(queue_offset)
        if known is not None and known[0] == commit_log_offset:
            return known[1]
        half = self._store.message_at(commit_log_offset)
        if half is None:
            return None
        view = self._view_of(half)
        self._known[queue_offset] = (commit_log_offset, view)
        return view

    def _view_of(self, half: MessageExt) -> FixedHalfMessage:
        immunity_ms = immunity_of(half)
        patience_ms = self._broker.config.transaction_time_out_ms if immunity_ms is None else immunity_ms
        return {**self._common_view(half), "ask_from_us": self._us(half.born_timestamp + patience_ms)}

    def _common_view(self, message: MessageExt) -> StoredHalfMessage:
        return {**half_message_names(message), "born_us": self._us(message.born_timestamp)}

    def _us(self, time_ms: int) -> int:
        return world_us(time_ms, self._begin_ms)


def half_message_names(message: MessageExt) -> HalfMessageNames:
    """Return the fields that a half message and a given-up message have in common, but for times."""
    try:
        topic, queue_id = real_place(message)
    except MalformedMessage:
        topic, queue_id = "", -1
    return {
        "queue_offset": message.queue_offset,
        "offset": message.commit_log_offset,
        "id": client_text(message.message_id),
        "key": client_text(message.keys[0]) if message.keys else "",
        "topic": client_text(topic),
        "queue_id": queue_id,
        "group": client_text(producer_group(message)),
        "check_times": check_times(message),
    }
