"""Commits and rolls back half messages (RocketMQ: ``EndTransactionProcessor``; 323 is served by
``AdminBrokerProcessor`` there).

Commit: the half message is stored once more, in its real topic, where consumers see it, and an op message says that the
half message is done with. Rollback: the op message only. The first decision counts, whichever copy of the half message
it names; a later one is refused.

With ``commit_transaction_once`` off it is RocketMQ's way, where nobody asks whether the message was decided before: a
second commit delivers it a second time, a commit after a rollback delivers it after all. A crash between the two writes
leaves a committed message without its op message, and a later check commits it again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from engine.broker.delivery.put_message_reply import REPLY_CODES
from engine.broker.transactions.half_message import committed_message, producer_group, resumed_message
from engine.protocol.command.headers import EndTransactionRequestHeader, ResumeCheckHalfMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_id import decode_offset_message_id
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_NOT_TYPE, TRANSACTION_ROLLBACK_TYPE
from engine.remoting.channel import Channel
from engine.store.log.put_message_result import PutMessageStatus

if TYPE_CHECKING:
    from engine.broker.broker import Broker

logger = logging.getLogger("glassmq.broker")


class EndTransactionProcessor:
    """Codes 37 and 323."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def end_transaction(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 37. Senders do not wait for the reply; tools may."""
        header = EndTransactionRequestHeader.decode(request.ext_fields)
        decision = header.commit_or_rollback
        if decision == TRANSACTION_NOT_TYPE:
            logger.info("%s does not know yet what became of %s", channel.remote_address, header.msg_id)
            return request.reply(ResponseCode.SUCCESS)
        if decision not in (TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE):
            return request.reply(
                ResponseCode.SYSTEM_ERROR,
                f"commitOrRollback {decision}; allowed: {TRANSACTION_COMMIT_TYPE} commit, "
                f"{TRANSACTION_ROLLBACK_TYPE} rollback, {TRANSACTION_NOT_TYPE} unknown",
            )
        half = self._broker.store.message_at(header.commit_log_offset)
        problem = self._problem_of(half, header)
        if problem is not None or half is None:
            logger.warning("%s ends a transaction that is none: %s", channel.remote_address, problem)
            return request.reply(ResponseCode.SYSTEM_ERROR, problem)
        service = self._broker.transactional_message_service
        if not service.is_decidable(half):
            logger.info("%s ends transaction %s once more", channel.remote_address, half.message_id)
            return request.reply(
                ResponseCode.SYSTEM_ERROR,
                f"transaction {half.message_id} is decided already, or was given up and must be resumed first; "
                "nothing is changed (a broker with commitTransactionOnce=false would carry it out again)",
            )
        committed_place = None
        if decision == TRANSACTION_COMMIT_TYPE:
            committed = self._commit(request, half)
            if isinstance(committed, RemotingCommand):
                return committed
            committed_place = committed
        result = service.mark_decided(half, committed_place)
        if result.status is not PutMessageStatus.PUT_OK:
            logger.error("half message %s is decided but not marked so: %s", half.message_id, result.remark)
        return request.reply(ResponseCode.SUCCESS)

    def _problem_of(self, half: MessageExt | None, header: EndTransactionRequestHeader) -> str | None:
        """Why ``header`` does not mean ``half``; None when it does (``checkPrepareMessage``)."""
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

    def _commit(self, request: RemotingCommand, half: MessageExt) -> RemotingCommand | int:
        """Make ``half`` visible. Returns where in the log it lies now, or the reply when that cannot be."""
        try:
            message = committed_message(half, self._broker.store_host)
        except ProtocolError as error:
            return request.reply(ResponseCode.SYSTEM_ERROR, str(error))
        result = self._broker.store.put_message(message)
        if result.status is PutMessageStatus.PUT_OK:
            return result.offset
        logger.error("half message %s cannot be committed: %s", half.message_id, result.remark)
        return request.reply(REPLY_CODES[result.status], result.remark)

    def resume_check_half_message(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 323: a message that was given up is to be asked about again."""
        header = ResumeCheckHalfMessageRequestHeader.decode(request.ext_fields)
        _, offset = decode_offset_message_id(header.msg_id)
        discarded = self._broker.store.message_at(offset)
        if discarded is None or discarded.topic != TRANSACTION_CHECK_MAX_TIME_TOPIC:
            return request.reply(
                ResponseCode.SYSTEM_ERROR,
                f"there is no message of {TRANSACTION_CHECK_MAX_TIME_TOPIC} with offset id {header.msg_id[:40]}",
            )
        service = self._broker.transactional_message_service
        if service.is_being_checked(discarded):
            return request.reply(ResponseCode.SYSTEM_ERROR, f"{discarded.message_id} is being checked again already")
        result = service.put_copy(discarded, resumed_message(discarded, self._broker.store_host))
        if result.status is not PutMessageStatus.PUT_OK:
            return request.reply(REPLY_CODES[result.status], result.remark)
        logger.info("%s has message %s checked again", channel.remote_address, header.msg_id)
        return request.reply(ResponseCode.SUCCESS)
