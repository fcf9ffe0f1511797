"""The producer of messages that are delivered if, and only if, a local transaction is committed (RocketMQ:
``TransactionMQProducer``, ``DefaultMQProducerImpl.sendMessageInTransaction``)::

    1 send the half message, and wait              stored, but no consumer sees it
    2 call ``execute_local_transaction``           only if 1 ended with SEND_OK; else: roll back
    3 END_TRANSACTION: commit, rollback, unknown   oneway: may be lost
    . CHECK_TRANSACTION_STATE from the broker      for transactions without a decision
      call ``check_local_transaction``, and 3

Consumers are eventually, not immediately, consistent with the local transaction; and a message may be delivered twice.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from engine.client.callbacks.send_message_hook import EndTransactionContext
from engine.client.callbacks.send_result import SendResult, SendStatus
from engine.client.callbacks.transaction_listener import LocalTransactionState, TransactionListener
from engine.client.foundation.client_settings import DEFAULT_NAME_SERVER_ADDRESS
from engine.client.foundation.consume_workers import is_being_cancelled
from engine.client.foundation.errors import IllegalClientArgument, MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.command.headers import CheckTransactionStateRequestHeader, EndTransactionRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import MalformedMessage, ProtocolError
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_id import decode_offset_message_id
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TRANSACTION_PREPARED,
)
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC
from engine.protocol.request_code import RequestCode
from engine.remoting.channel import Channel
from engine.runtime.port import Runtime
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")

#: ``checkThreadPoolMinSize``: how many checks are answered in parallel.
CHECK_WORKERS = 1
#: ``checkRequestHoldMax``: how many checks may wait. The broker repeats those that are dropped.
CHECK_REQUEST_HOLD_MAX = 2_000


_OWN_PROPERTIES = (PROPERTY_TRANSACTION_PREPARED, PROPERTY_PRODUCER_GROUP)


@dataclass(frozen=True, slots=True)
class TransactionSendResult:
    """The result of sending a transactional message.

    :ivar send_result: the position of the half message.
    :ivar local_transaction_state: the state that was reported to the broker.
    """

    send_result: SendResult
    local_transaction_state: LocalTransactionState


@dataclass(frozen=True, slots=True)
class _Check:
    """A check from the broker at ``address``."""

    address: str
    header: CheckTransactionStateRequestHeader
    message: MessageExt


class TransactionMQProducer(DefaultMQProducer):
    """A producer with a transaction listener; it can also send other messages.

    :param transaction_listener: may be set later, but before ``start``.

    The other parameters are those of :class:`DefaultMQProducer`. All members of a group must be able to answer for each
    other, because the broker asks any of them.
    """

    def __init__(
        self,
        runtime: Runtime | None = None,
        group: str = "",
        name_server_addresses: str | tuple[str, ...] | list[str] = DEFAULT_NAME_SERVER_ADDRESS,
        transaction_listener: TransactionListener | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(runtime, group, name_server_addresses, **settings)
        self.transaction_listener = transaction_listener
        self._checks: asyncio.Queue[_Check] = asyncio.Queue(CHECK_REQUEST_HOLD_MAX)

    async def start(self) -> None:
        """Start as :meth:`DefaultMQProducer.start` does. Raises :class:`IllegalClientArgument` without a listener."""
        if self.transaction_listener is None:
            raise IllegalClientArgument("a TransactionMQProducer needs a transaction_listener")
        self.instance.remoting_client.register_processor(RequestCode.CHECK_TRANSACTION_STATE, self._check_received)
        # A member that has sent nothing yet, for example after a restart, must be reachable for checks: it sends
        # heartbeats to the brokers whose address it knows. RocketMQ gives every producer this route, for the same
        # effect.
        self._impl.keep_route(AUTO_CREATE_TOPIC_KEY_TOPIC)
        await super().start()
        for number in range(CHECK_WORKERS):
            self.instance.background.spawn(self._answer_checks(), f"transaction check {number}")

    async def send_message_in_transaction(
        self, message: Message, argument: object = None, timeout_ms: int | None = None
    ) -> TransactionSendResult:
        """Send ``message`` as a half message, run the local transaction, and report its outcome to the broker.

        ``argument`` is passed to the listener. Raises what :meth:`DefaultMQProducer.send` raises; then the local
        transaction was not started. Later errors do not raise, because the broker will ask.
        """
        listener = self.transaction_listener
        if listener is None:
            raise IllegalClientArgument("a TransactionMQProducer needs a transaction_listener")
        if message.delay_level:
            raise IllegalClientArgument(
                f"a transactional message cannot be delayed: property {PROPERTY_DELAY_TIME_LEVEL} is set"
            )
        message.properties[PROPERTY_TRANSACTION_PREPARED] = "true"
        message.properties[PROPERTY_PRODUCER_GROUP] = self.group
        result = await self._send((message,), self._prepare(message, _OWN_PROPERTIES), None, timeout_ms)
        problem = ""
        if result.status is SendStatus.SEND_OK:
            await step("executes the local transaction")
            state, problem = await self._ask(listener.execute_local_transaction, message, argument)
        else:
            # The half message may vanish in a crash, so the transaction must not rely on it.
            state = LocalTransactionState.ROLLBACK_MESSAGE
        self._note_number(message, state)
        await step("ends the transaction")
        await self._end_first(message, result, state, problem)
        return TransactionSendResult(result, state)

    def _note_number(self, message: Message, state: LocalTransactionState) -> None:
        """Record a number that no consumer will see, or perhaps none, so that it does not count as a loss."""
        if self.numbering is None or state is LocalTransactionState.COMMIT_MESSAGE:
            return
        numbers = self.numbering.number(message.topic, [message.properties])
        if state is LocalTransactionState.ROLLBACK_MESSAGE:
            self.numbering.is_not_stored(message.topic, numbers)
        else:
            self.numbering.is_unknown(message.topic, numbers)

    async def _ask(self, function: Any, *arguments: object) -> tuple[LocalTransactionState, str]:
        """Return the listener's answer, and its error, if any."""
        try:
            answer = await self.instance.runtime.call_listener(function, *arguments)
        except (Exception, asyncio.CancelledError) as error:
            if is_being_cancelled():
                raise
            _log.exception("the transaction listener of group %s failed", self.group)
            return LocalTransactionState.UNKNOW, f"{type(error).__name__}: {error}"
        if answer is None:
            return LocalTransactionState.UNKNOW, ""
        if not isinstance(answer, LocalTransactionState):
            problem = f"the transaction listener returned {answer!r}; allowed: a LocalTransactionState or None"
            _log.error("%s", problem)
            return LocalTransactionState.UNKNOW, problem
        return answer, ""

    async def _end_first(
        self, message: Message, result: SendResult, state: LocalTransactionState, problem: str
    ) -> None:
        try:
            _, commit_log_offset = decode_offset_message_id(result.offset_message_id)
            address = self.instance.route_table.master_address(result.message_queue.broker_name)
        except (ProtocolError, MQClientError) as error:
            _log.warning("the outcome of %s is not reported, the broker will ask: %s", result.message_id, error)
            return
        header = EndTransactionRequestHeader(
            self.group,
            result.queue_offset,
            commit_log_offset,
            state.value,
            from_transaction_check=False,
            msg_id=result.message_id,
            transaction_id=result.transaction_id or result.message_id,
        )
        self._call_hooks(message, address, header, state)
        await self._end(address, header, problem)

    def _call_hooks(
        self,
        message: Message | MessageExt,
        address: str,
        header: EndTransactionRequestHeader,
        state: LocalTransactionState,
    ) -> None:
        hooks = self._impl.kernel.hooks
        if hooks.are_any_for_transactions:
            hooks.end_transaction(
                EndTransactionContext(
                    self.group,
                    message.topic,
                    message.properties,
                    address,
                    header.msg_id or "",
                    header.transaction_id,
                    state,
                    header.from_transaction_check is True,
                )
            )

    async def _end(self, address: str, header: EndTransactionRequestHeader, problem: str) -> None:
        """Report the outcome to the broker, which will ask again if this is lost."""
        command = RemotingCommand.request(RequestCode.END_TRANSACTION, header, oneway=True)
        command.remark = problem or None
        try:
            await self.instance.api.send_oneway(address, command, f"end the transaction of {header.msg_id}")
        except MQClientError as error:
            _log.warning("the outcome of %s is not reported, the broker will ask: %s", header.msg_id, error)

    # ------------------------------------------------------------------------------ checks

    def _check_received(self, channel: Channel, request: RemotingCommand) -> None:
        """Queue a check (code 39) for the workers."""
        header = CheckTransactionStateRequestHeader.decode(request.ext_fields)
        try:
            message = decode_stored_message(request.body, decompress=True)
        except MalformedMessage as error:
            # No answer is better than a guess: the broker asks again, and finally moves the message aside.
            _log.warning("broker %s asks about a message that cannot be read: %s", channel.remote_address, error)
            return
        group = message.properties.get(PROPERTY_PRODUCER_GROUP)
        if group != self.group:
            _log.warning("broker %s asks about a message of producer group %r", channel.remote_address, group)
            return
        try:
            self._checks.put_nowait(_Check(channel.remote_address, header, message))
        except asyncio.QueueFull:
            _log.warning("%d transaction checks wait already: this one must come again", CHECK_REQUEST_HOLD_MAX)

    async def _answer_checks(self) -> None:
        while True:
            check = await self._checks.get()
            await step("checks the local transaction")
            await self._answer(check)

    async def _answer(self, check: _Check) -> None:
        assert self.transaction_listener is not None, "start() has seen to that"
        state, problem = await self._ask(self.transaction_listener.check_local_transaction, check.message)
        header = EndTransactionRequestHeader(
            self.group,
            check.header.tran_state_table_offset,
            check.header.commit_log_offset,
            state.value,
            from_transaction_check=True,
            msg_id=check.message.message_id,
            transaction_id=check.header.transaction_id,
        )
        self._call_hooks(check.message, check.address, header, state)
        await self._end(check.address, header, problem)
