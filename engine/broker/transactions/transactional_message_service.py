"""Half messages, op messages and check-backs (RocketMQ: ``TransactionalMessageServiceImpl``,
``TransactionalMessageBridge``, ``TransactionalMessageCheckService``, ``AbstractTransactionalMessageCheckListener``).

A sender sends a half message, runs its local transaction, and then commits or rolls back (END_TRANSACTION, oneway: it
may get lost). The check service asks about transactions without a decision. One round, every 60 s, walks along the half
queue from the offset where the last round ended, and along the op queue in parallel::

    decided (an op message names it)            continue
    asked 15 times, or older than 72 h          move it to TRANS_CHECK_MAX_TIME_TOPIC, continue
    arrived after the round began               end of the round
    younger than transactionTimeOut             end of the round: those after it are younger still
    younger than its own immunity time          store it again at the end, continue
    op messages are left                        read 32 of them and check again
    else                                        store it again, counter + 1; ask a producer of its group;
                                                continue

Each check therefore stores a new copy of the half message at a new offset; the answer names that offset, a late
END_TRANSACTION the old one. With ``commit_transaction_once`` the broker knows that both belong to one transaction
(:mod:`engine.broker.transactions.undecided_transactions`) and carries out the first decision only: a round skips copies
that are not the newest, and an op message names the newest. Without it, as in RocketMQ, both copies are committed.

The two offsets are stored as those of consumer group CID_RMQ_SYS_TRANS, and only once everything before them is on
disk: otherwise a power cut could erase the newer copy, and the transaction would never be checked again. Simplified:
one round handles one queue, as there is only one; op messages of messages that were postponed are recognized in later
rounds, too; a postponement does not count as a check (RocketMQ counts it, and gives up a message that requests more
than 15 rounds without ever asking).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.broker.tables.producer_manager import ProducerManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.broker.transactions.half_message import (
    HALF_QUEUE_ID,
    check_times,
    checked_once_more,
    decided_offset,
    discarded_message,
    first_copy,
    op_message,
    producer_group,
    put_off,
    real_place,
    record_first_copy,
    recorded_first_copy,
    whole_number,
)
from engine.broker.transactions.undecided_transactions import UndecidedInLog, UndecidedTransactions
from engine.protocol.command.headers import CheckTransactionStateRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import MalformedMessage
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import encode_stored_message
from engine.protocol.message.message_properties import PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS
from engine.protocol.names import (
    TRANSACTION_CHECK_GROUP,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
)
from engine.protocol.request_code import RequestCode
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus
from engine.store.log.store_message import StoreMessage
from engine.store.message_store import MessageStore
from engine.store.recovery.recovery_report import RecoveryReport

logger = logging.getLogger("glassmq.broker")

#: ``MAX_PROCESS_TIME_LIMIT``: the maximum duration of one round.
MAX_ROUND_MS = 60_000
#: ``PULL_MSG_RETRY_NUMBER`` of op messages that are read together (``OP_MSG_PULL_NUMS``).
OP_MESSAGES_PER_READ = 32
#: The number of half messages of one round before other tasks get a turn.
_SLICE = 64
_HOUR_MS = 3_600_000


@dataclass(slots=True)
class _Round:
    """One walk along the half queue.

    :ivar half_offset: the half message to process next.
    :ivar op_offset: the op message to read next.
    :ivar decided: half message not reached yet -> the op message that names it.
    :ivar late: the same for half messages that earlier rounds have passed.
    :ivar done_ops: op messages that are no longer needed.
    """

    started_ms: int
    half_offset: int
    op_offset: int
    decided: dict[int, int] = field(default_factory=dict)
    late: dict[int, int] = field(default_factory=dict)
    done_ops: dict[int, None] = field(default_factory=dict)


@dataclass(eq=False)
class TransactionalMessageService:
    """A service that checks the half queue of one broker.

    :ivar checks_sent: the number of checks sent to producers.
    :ivar discarded_messages: the number of half messages that were given up.
    :ivar next_round_ms: when the next round is due, by the broker's clock; 0 before ``start``.
    """

    config: BrokerConfig
    address: BrokerAddress
    clock: Clock
    store: MessageStore
    topics: TopicConfigManager
    offsets: ConsumerOffsetManager
    producers: ProducerManager

    def __post_init__(self) -> None:
        #: None: the behaviour of RocketMQ (``commit_transaction_once``).
        self._undecided = UndecidedTransactions() if self.config.commit_transaction_once else None
        #: Half messages whose op message could not be written yet -> the committed message's offset.
        self._owed: dict[int, int | None] = {}
        self._turn = 0
        self.checks_sent = 0
        self.discarded_messages = 0
        self.next_round_ms = 0

    def load(self, report: RecoveryReport) -> None:
        """Find the undecided transactions; the store and the offsets are loaded."""
        if self._undecided is None:
            return
        topics = (TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC, TRANSACTION_CHECK_MAX_TIME_TOPIC)
        in_log = UndecidedInLog(self.store, report, {topic: self._offset(topic) for topic in topics})
        self._undecided, self._owed = in_log.found, in_log.owed
        if in_log.owed:
            logger.warning("%d transactions were committed and not marked so; they are marked now", len(in_log.owed))

    def start(self, tasks: BackgroundTasks) -> None:
        """Start to run a round of checks at every interval."""
        if self._owed:
            tasks.spawn(self._mark_committed(), "mark committed transactions")
        tasks.every(self.config.transaction_check_interval_ms, self._check_and_wait, "transaction check")
        self._note_next_round()

    async def _mark_committed(self) -> None:
        self.write_owed_ops()

    async def _check_and_wait(self) -> None:
        try:
            await self.check()
        finally:
            self._note_next_round()

    def _note_next_round(self) -> None:
        self.next_round_ms = self.clock.now_ms() + self.config.transaction_check_interval_ms

    # ------------------------------------------------------------------------------ adding

    @property
    def refusal(self) -> str | None:
        """Return the reason why no further transaction may begin; None if one may."""
        limit = self.config.max_undecided_transactions
        if self._undecided is None or len(self._undecided) < limit:
            return None
        return f"{limit} transactions are undecided already (maxUndecidedTransactions); nothing is stored"

    def put_half(self, message: StoreMessage) -> PutMessageResult:
        """Store a half message that a sender has sent, which begins a transaction."""
        result = self._put(message)
        if self._undecided is not None and result.status is PutMessageStatus.PUT_OK:
            self._undecided.put(result.queue_offset, result.queue_offset)
        return result

    def put_copy(self, half: MessageExt, message: StoreMessage) -> PutMessageResult:
        """Store ``half``, whose transaction continues, in the form ``message``."""
        result = self._put(message)
        if self._undecided is not None and result.status is PutMessageStatus.PUT_OK:
            first = recorded_first_copy(half)
            self._undecided.put(result.queue_offset if first is None else first, result.queue_offset)
        return result

    def is_decidable(self, half: MessageExt) -> bool:
        """Return True if the transaction of ``half`` (any copy) may still be decided."""
        return self._undecided is None or self._undecided.decidable(first_copy(half)) is not None

    def is_being_checked(self, discarded: MessageExt) -> bool:
        """Return True if ``discarded``, which was given up, is in the half queue again."""
        first = recorded_first_copy(discarded)
        return self._undecided is not None and first is not None and self._undecided.newest(first) is not None

    def mark_decided(self, half: MessageExt, committed_place: int | None) -> PutMessageResult:
        """Record that ``half`` was committed or rolled back (``deletePrepareMessage``).

        :param committed_place: the commit-log offset of the committed message; None: rolled back.
        """
        if self._undecided is None:
            return self._put(op_message(half.queue_offset, self.address.store_host, self.clock.now_ms()))
        newest = self._undecided.decidable(first_copy(half))
        assert newest is not None, "only an undecided transaction is decided"
        self._undecided.remove(first_copy(half))
        self._owed[newest] = committed_place
        return self.write_owed_ops()

    def write_owed_ops(self) -> PutMessageResult:
        """Write the op messages that are due; those that the store refuses stay due. Return the last result."""
        result = PutMessageResult(PutMessageStatus.PUT_OK)
        for offset, committed_place in list(self._owed.items()):
            op = op_message(offset, self.address.store_host, self.clock.now_ms(), committed_place)
            result = self._put(op)
            if result.status is not PutMessageStatus.PUT_OK:
                break
            del self._owed[offset]
        return result

    def _put(self, message: StoreMessage) -> PutMessageResult:
        """Store any form of :mod:`engine.broker.transactions.half_message`; its topic is created if need be."""
        self.topics.create_topic_in_send_message_back(message.topic, 1)
        return self.store.put_message(message)

    # ------------------------------------------------------------------------------ progress

    @property
    def half_offset(self) -> int:
        """Return the offset of the half message at which the next round begins: everything before it is decided or was
        stored again.
        """
        return self._offset(TRANSACTION_HALF_TOPIC)

    @property
    def op_offset(self) -> int:
        """Return the offset of the op message at which the next round begins."""
        return self._offset(TRANSACTION_OP_HALF_TOPIC)

    def _offset(self, topic: str) -> int:
        stored = self.offsets.query_offset(TRANSACTION_CHECK_GROUP, topic, HALF_QUEUE_ID)
        return max(stored, self.store.min_offset(topic, HALF_QUEUE_ID))

    def _messages(self, topic: str, offset: int, count: int) -> list[MessageExt | None]:
        """Return the messages from ``offset`` on; None for one that is missing."""
        end = min(offset + count, self.store.max_offset(topic, HALF_QUEUE_ID))
        return [self.store.message_in_queue(topic, HALF_QUEUE_ID, place) for place in range(offset, end)]

    # ------------------------------------------------------------------------------ a round

    async def check(self) -> None:
        """Run one round of checks."""
        walk = _Round(self.clock.now_ms(), self.half_offset, self.op_offset)
        first_op, end = walk.op_offset, self.store.max_offset(TRANSACTION_HALF_TOPIC, HALF_QUEUE_ID)
        looked_at = 0
        while self._look_at_next(walk):
            looked_at += 1
            if looked_at % _SLICE == 0:
                await asyncio.sleep(0)
            if self.clock.now_ms() - walk.started_ms > MAX_ROUND_MS:
                break
        if walk.half_offset >= end:
            # The round has passed every half message to which a late answer could have referred.
            walk.done_ops |= dict.fromkeys(walk.late.values())
        while first_op in walk.done_ops:
            first_op += 1
        discarded = self.store.max_offset(TRANSACTION_CHECK_MAX_TIME_TOPIC, 0)
        if self._undecided is not None and not await self.store.flushed(self.store.commit_log.max_offset):
            logger.warning(
                "the transaction check starts at its previous position: what it wrote is not on the disk yet"
            )
            return
        self._commit(TRANSACTION_HALF_TOPIC, walk.half_offset)
        self._commit(TRANSACTION_OP_HALF_TOPIC, first_op)
        if self._undecided is not None:
            self._commit(TRANSACTION_CHECK_MAX_TIME_TOPIC, discarded)

    def _commit(self, topic: str, offset: int) -> None:
        if offset != self._offset(topic):
            self.offsets.commit_offset("this broker", TRANSACTION_CHECK_GROUP, topic, HALF_QUEUE_ID, offset)

    def _look_at_next(self, walk: _Round) -> bool:
        """Take one step of the round, as in the module's table. Return False if the round ends."""
        op = walk.decided.pop(walk.half_offset, None)
        if op is not None:
            walk.done_ops[op] = None
            # An op message whose commit was lost in a power cut decides nothing.
            if self._undecided is None or walk.half_offset not in self._undecided:
                walk.half_offset += 1
                return True
        found = self._messages(TRANSACTION_HALF_TOPIC, walk.half_offset, 1)
        if not found:
            return False
        half = found[0]
        if half is None:
            walk.half_offset += 1
            return True
        return self._look_at(walk, half)

    def _look_at(self, walk: _Round, half: MessageExt) -> bool:
        now_ms = self.clock.now_ms()
        age_ms = now_ms - half.born_timestamp
        if self._is_given_up(half, age_ms) and not self._is_done_with(walk, half):
            return self._went_on(walk, self._discard(half))
        if half.store_timestamp >= walk.started_ms:
            return False
        immunity_ms = immunity_of(half)
        if immunity_ms is None and 0 <= age_ms < self.config.transaction_time_out_ms:
            return False
        if self._read_ops(walk):
            return True
        if self._is_done_with(walk, half):
            walk.half_offset += 1
            return True
        if immunity_ms is not None and age_ms < immunity_ms:
            return self._went_on(walk, self.put_copy(half, put_off(half, self.address.store_host)))
        return self._went_on(walk, self._check(half))

    def _is_done_with(self, walk: _Round, half: MessageExt) -> bool:
        """Return whether the transaction is decided, given up, or has a newer copy, though no op message names
        ``half``.
        """
        if self._undecided is not None:
            return half.queue_offset not in self._undecided
        return recorded_first_copy(half) in walk.late

    def _went_on(self, walk: _Round, result: PutMessageResult) -> bool:
        """Return whether the half message could be stored elsewhere; otherwise the next round processes it again."""
        if result.status is not PutMessageStatus.PUT_OK:
            logger.error("the transaction check stops for now: %s", result.remark)
            return False
        walk.half_offset += 1
        return True

    def _is_given_up(self, half: MessageExt, age_ms: int) -> bool:
        reserved_ms = self.store.config.file_reserved_time_hours * _HOUR_MS
        return check_times(half) >= self.config.transaction_check_max or age_ms > reserved_ms

    def _read_ops(self, walk: _Round) -> bool:
        """Read further op messages; return whether there were any."""
        ops = self._messages(TRANSACTION_OP_HALF_TOPIC, walk.op_offset, OP_MESSAGES_PER_READ)
        for op in ops:
            offset = decided_offset(op) if op is not None else None
            if offset is None or (self._undecided is not None and offset in self._undecided):
                walk.done_ops[walk.op_offset] = None  # not a mark, or one that the start could not verify
            else:
                marks = walk.late if offset < walk.half_offset else walk.decided
                if offset in marks:
                    walk.done_ops[marks[offset]] = None  # decided twice: one mark is enough
                marks[offset] = walk.op_offset
            walk.op_offset += 1
        return bool(ops)

    # ------------------------------------------------------------------------------ outcome of a half message

    def _discard(self, half: MessageExt) -> PutMessageResult:
        if self._undecided is not None:
            record_first_copy(half)
        result = self._put(discarded_message(half, self.address.store_host))
        if result.status is PutMessageStatus.PUT_OK:
            if self._undecided is not None:
                self._undecided.give_up(first_copy(half))
            self.discarded_messages += 1
            logger.error(
                "half message %s of group %s is given up after %d checks: it is in %s now",
                half.message_id,
                producer_group(half),
                check_times(half),
                TRANSACTION_CHECK_MAX_TIME_TOPIC,
            )
        return result

    def _check(self, half: MessageExt) -> PutMessageResult:
        """Count the check, by storing the message again, and ask a producer."""
        if self._undecided is not None:
            record_first_copy(half)
        result = self.put_copy(half, checked_once_more(half, self.address.store_host))
        if result.status is PutMessageStatus.PUT_OK:
            half.queue_offset, half.commit_log_offset = result.queue_offset, result.offset
            self._ask_producer(half)
        return result

    def _ask_producer(self, half: MessageExt) -> None:
        """Send code 39 to one member of the group, in rotation; it answers with END_TRANSACTION."""
        group = producer_group(half)
        clients = [client for client in self.producers.clients_of_group(group) if client.channel.is_open]
        if not clients:
            logger.warning(
                "no member of producer group %s is connected to report the outcome of %s", group, half.message_id
            )
            return
        header = CheckTransactionStateRequestHeader(
            half.queue_offset, half.commit_log_offset, half.unique_id, half.unique_id, half.offset_message_id
        )
        try:
            half.topic, half.queue_id = real_place(half)
        except MalformedMessage as error:
            logger.error("%s", error)
            return
        request = RemotingCommand.request(
            RequestCode.CHECK_TRANSACTION_STATE, header, encode_stored_message(half), oneway=True
        )
        self._turn += 1
        clients[self._turn % len(clients)].channel.send_oneway(request)
        self.checks_sent += 1


def immunity_of(half: MessageExt) -> int | None:
    """Return the minimum age of ``half`` for a check, set by its sender, ms (CHECK_IMMUNITY_TIME_IN_SECONDS)."""
    seconds = whole_number(half, PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS, max_digits=9)
    return None if seconds is None else seconds * 1_000
