"""The processor that commits and rolls back half messages (RocketMQ: ``EndTransactionProcessor``; 323 is served by
``AdminBrokerProcessor`` there).

Commit: the half message is stored again, in its real topic, where consumers see it, and an op message marks the half
message as decided. Rollback: the op message only. The first decision counts, whichever copy of the half message it
names; a later one is refused.

With ``commit_transaction_once`` off it behaves like RocketMQ, which does not check for an earlier decision: a second
commit delivers the message a second time, a commit after a rollback still delivers it. A crash between the two writes
leaves a committed message without its op message, and a later check commits it again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.errors import check_stored
from engine.broker.foundation.store_lookups import message_with_id
from engine.broker.transactions.half_message import committed_message, producer_group, resumed_message
from engine.broker.transactions.transactional_message_service import TransactionalMessageService
from engine.protocol.command.headers import EndTransactionRequestHeader, ResumeCheckHalfMessageRequestHeader
from engine.protocol.message.message import MessageExt
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC
from engine.protocol.request_code import RequestCode
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_NOT_TYPE, TRANSACTION_ROLLBACK_TYPE
from engine.remoting.channel import Channel
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.store.log.put_message_result import PutMessageStatus
from engine.store.message_store import MessageStore

logger = logging.getLogger("glassmq.broker")


@dataclass(frozen=True)
class EndTransactionProcessor:
    """The processor of codes 37 and 323."""

    address: BrokerAddress
    store: MessageStore
    transactions: TransactionalMessageService

    @answers(RequestCode.END_TRANSACTION, EndTransactionRequestHeader, Channel)
    def end_transaction(self, header: EndTransactionRequestHeader, channel: Channel) -> None:
        """Commit or roll back (code 37). Senders do not wait for the reply; tools may."""
        decision = header.commit_or_rollback
        if decision == TRANSACTION_NOT_TYPE:
            logger.info("%s does not know the outcome of %s yet", channel.remote_address, header.msg_id)
            return
        if decision not in (TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE):
            raise RequestRefused(
                f"commitOrRollback {decision}; allowed: {TRANSACTION_COMMIT_TYPE} commit, "
                f"{TRANSACTION_ROLLBACK_TYPE} rollback, {TRANSACTION_NOT_TYPE} unknown"
            )
        half = self.store.message_at(header.commit_log_offset)
        problem = _problem_of(half, header)
        if problem is not None or half is None:
            logger.warning("%s ends a transaction that does not exist: %s", channel.remote_address, problem)
            raise RequestRefused(problem or "")
        if not self.transactions.is_decidable(half):
            logger.info("%s ends transaction %s once more", channel.remote_address, half.message_id)
            raise RequestRefused(
                f"transaction {half.message_id} is decided already, or was given up and must be resumed first; "
                "nothing is changed (a broker with commitTransactionOnce=false would carry it out again)"
            )
        committed_place = self._commit(half) if decision == TRANSACTION_COMMIT_TYPE else None
        result = self.transactions.mark_decided(half, committed_place)
        if result.status is not PutMessageStatus.PUT_OK:
            logger.error("half message %s is decided but not marked so: %s", half.message_id, result.remark)

    def _commit(self, half: MessageExt) -> int:
        """Make ``half`` visible and return its new commit-log offset."""
        result = self.store.put_message(committed_message(half, self.address.store_host))
        if result.status is not PutMessageStatus.PUT_OK:
            logger.error("half message %s cannot be committed: %s", half.message_id, result.remark)
        check_stored(result)
        return result.offset

    @answers(RequestCode.RESUME_CHECK_HALF_MESSAGE, ResumeCheckHalfMessageRequestHeader, Channel)
    def resume_check_half_message(self, header: ResumeCheckHalfMessageRequestHeader, channel: Channel) -> None:
        """Resume the checks of a half message that was given up (code 323)."""
        discarded = message_with_id(self.store, header.msg_id)
        if discarded is None or discarded.topic != TRANSACTION_CHECK_MAX_TIME_TOPIC:
            raise RequestRefused(
                f"there is no message of {TRANSACTION_CHECK_MAX_TIME_TOPIC} with offset id {header.msg_id[:40]}"
            )
        if self.transactions.is_being_checked(discarded):
            raise RequestRefused(f"{discarded.message_id} is being checked again already")
        check_stored(self.transactions.put_copy(discarded, resumed_message(discarded, self.address.store_host)))
        logger.info("%s has message %s checked again", channel.remote_address, header.msg_id)


def _problem_of(half: MessageExt | None, header: EndTransactionRequestHeader) -> str | None:
    """Return why ``header`` does not match ``half``; None if it does (``checkPrepareMessage``)."""
    if half is None or half.topic != TRANSACTION_HALF_TOPIC:
        return f"there is no half message at commit log offset {header.commit_log_offset}"
    group = producer_group(half)
    if group != header.producer_group:
        return f"the half message is of producer group {group!r}, not {header.producer_group[:127]!r}"
    if half.queue_offset != header.tran_state_table_offset:
        return (
            f"the half message has logical offset {half.queue_offset}, not {header.tran_state_table_offset} "
            "(tranStateTableOffset)"
        )
    return None
