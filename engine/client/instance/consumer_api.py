"""The requests of consumers (RocketMQ: the consumer's half of ``MQClientAPIImpl``)."""

from __future__ import annotations

from engine.client.instance.mq_client_api import MQClientApi, read_reply
from engine.protocol.body import question
from engine.protocol.body.bodies import CheckClientRequestBody, LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.command.headers import ConsumerSendMsgBackRequestHeader, PullMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message import MessageExt
from engine.protocol.request_code import RequestCode

#: DefaultMQPushConsumerImpl.sendMessageBack
SEND_BACK_TIMEOUT_MS = 5_000


class ConsumerApi:
    """A sender of consumers' requests, with one method per request code. All raise
    :class:`~engine.client.foundation.errors.MQClientError`.
    """

    def __init__(self, api: MQClientApi) -> None:
        self._api = api

    async def consumer_ids(self, address: str, group: str) -> tuple[str, ...]:
        """Return the client ids of the group's connected members (code 38)."""
        return await self._api.ask(address, question.group_members(group))

    async def pull_message(self, address: str, header: PullMessageRequestHeader, timeout_ms: int) -> RemotingCommand:
        """Pull messages (code 11) and return the reply whatever its code."""
        command = RemotingCommand.request(RequestCode.PULL_MESSAGE, header)
        what = f"pull from queue {header.queue_id} of {header.topic!r}"
        return await self._api.exchange(address, command, what, timeout_ms)

    async def query_consumer_offset(self, address: str, group: str, queue: MessageQueue) -> int:
        """Return the group's committed offset (code 14). Raises :class:`OffsetNotFound` if it has none."""
        return await self._api.ask(address, question.group_offset(group, queue))

    async def update_consumer_offset(self, address: str, group: str, queue: MessageQueue, offset: int) -> None:
        """Commit an offset (code 15), oneway: if it gets lost, the next one includes it."""
        note = question.store_group_offset(group, queue, offset)
        command = RemotingCommand.request(note.code, note.header, oneway=True)
        await self._api.send_oneway(address, command, note.what)

    async def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Return the offset that the next message of the queue will get (code 30)."""
        return await self._api.ask(address, question.max_offset(queue))

    async def min_offset(self, address: str, queue: MessageQueue) -> int:
        """Return the offset of the queue's oldest message (code 31)."""
        return await self._api.ask(address, question.min_offset(queue))

    async def search_offset(self, address: str, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the offset of the message stored at a time (code 29), or of the nearest one, earlier or later."""
        return await self._api.ask(address, question.offset_at(queue, timestamp_ms))

    async def earliest_message_store_time(self, address: str, queue: MessageQueue) -> int:
        """Return when the queue's oldest message was stored, ms; -1 if it is empty (code 32)."""
        return await self._api.ask(address, question.earliest_store_time(queue))

    async def send_message_back(
        self, address: str, group: str, message: MessageExt, delay_level: int, max_reconsume_times: int
    ) -> None:
        """Send back a message that could not be consumed; the broker delivers it again later (code 36)."""
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.commit_log_offset,
            group=group,
            delay_level=delay_level,
            origin_msg_id=message.message_id,
            origin_topic=message.topic,
            max_reconsume_times=max_reconsume_times,
        )
        what = f"take message {message.message_id} back"
        code = RequestCode.CONSUMER_SEND_MSG_BACK
        await self._api.request(address, code, header, what, timeout_ms=SEND_BACK_TIMEOUT_MS)

    async def check_client_config(
        self, address: str, client_id: str, group: str, subscription: SubscriptionData
    ) -> None:
        """Have the broker compile an expression other than tags (code 46)."""
        body = CheckClientRequestBody(client_id, group, subscription).to_json()
        what = f"accept the subscription {subscription.sub_string!r} to {subscription.topic!r}"
        await self._api.request(address, RequestCode.CHECK_CLIENT_CONFIG, None, what, body=body)

    async def lock_batch_mq(
        self, address: str, body: LockBatchRequestBody, timeout_ms: int
    ) -> tuple[MessageQueue, ...]:
        """Lock queues for this client, or renew its locks (code 41). Return those that it now has."""
        what = f"lock {len(body.mq_set)} queues for group {body.consumer_group!r}"
        code = RequestCode.LOCK_BATCH_MQ
        reply = await self._api.request(address, code, None, what, body=body.to_json(), timeout_ms=timeout_ms)
        return read_reply(lambda: LockBatchResponseBody.from_json(reply.body), what).lock_ok_mq_set

    async def unlock_batch_mq(self, address: str, body: LockBatchRequestBody, timeout_ms: int | None) -> None:
        """Release locks of this client (code 42). ``timeout_ms`` None: oneway."""
        what = f"unlock {len(body.mq_set)} queues of group {body.consumer_group!r}"
        code = RequestCode.UNLOCK_BATCH_MQ
        if timeout_ms is None:
            command = RemotingCommand.request(code, None, body.to_json(), oneway=True)
            await self._api.send_oneway(address, command, what)
        else:
            await self._api.request(address, code, None, what, body=body.to_json(), timeout_ms=timeout_ms)
