"""A producer next to a consumer in the same application, with the same lifetime as the process.

:class:`MoveAside` is degradation under backlog: less important messages are moved to another topic, so that the rest
gets through. The listener knows its lag: the client writes the queue's greatest offset into each message that it pulls
(property ``MAX_OFFSET``). If the lag exceeds its limit, a message of low priority is sent to another topic and counts
as consumed here; a separate group consumes that topic when there is time. If the send fails, the message is consumed
later, like any other that fails: nothing is dropped. A process that dies between send and acknowledgement sends it once
more.

:class:`Replier` answers requests. A reply that does not get through (the requester is gone, say) is only noted: the
request is consumed nevertheless, because no requester waits for its reply any more.

A third stands in :mod:`engine.lab.nodes.relay`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from engine.client.callbacks.send_result import SendResult
from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.client.producer.reply_message import create_reply_message, is_expired, is_request
from engine.lab.nodes.history import ReplySent, SendInvoked, SendReturned
from engine.lab.nodes.scenario_node import MemberNode
from engine.lab.scenario.listener_spec import MoveAsideSpec
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_properties import PROPERTY_MAX_OFFSET


class HelperProducer:
    """A producer within a consumer's process.

    :param purpose: makes the producer's group: the consumer's, ``-`` and this.
    """

    def __init__(self, role: MemberNode, purpose: str) -> None:
        self._role = role
        self._group = f"{role.spec.group}-{purpose}"
        self._started: DefaultMQProducer | None = None

    async def start(self, settings: dict[str, Any]) -> None:
        """Start with the process."""
        producer = self._make_producer(self._role.world.name_server_address, settings)
        await producer.start()
        self._started = producer

    def _make_producer(self, name_servers: str, settings: dict[str, Any]) -> DefaultMQProducer:
        return DefaultMQProducer(self._role.runtime, self._group, name_servers, **settings)

    async def stop(self) -> None:
        """Stop cleanly with the process."""
        if self._started is not None:
            await self._started.shutdown()

    def forget(self) -> None:
        """Reset the state that ends with the process."""
        self._started = None

    @property
    def _producer(self) -> DefaultMQProducer:
        assert self._started is not None, "a listener is called while its process runs"
        return self._started

    async def _send(self, key: str, topic: str, sending: Awaitable[SendResult]) -> str | None:
        """Send a message, and note it in the history; return why it was not acknowledged, if it was not."""
        role, history = self._role, self._role.world.history
        history.sends_invoked.append(SendInvoked(*role.here_and_now, key, topic))
        problem, place = None, (-1, -1, "", "")
        try:
            result = await sending
        except MQClientError as error:
            status, detail = "refused" if error.outcome_is_known else "unknown", str(error)
            problem = detail
        else:
            status, detail, queue = "ok", result.status.value, result.message_queue
            place = (queue.queue_id, result.queue_offset, result.offset_message_id, queue.broker_name)
        returned = (*role.here_and_now, key, status, topic, *place, detail)
        history.sends_returned.append(SendReturned(*returned))
        return problem


class MovingAsideFailed(Exception):
    """A message could not be moved aside: it stays where it is, and is delivered again later."""


class MoveAside(HelperProducer):
    """Move less important messages to another topic under backlog.

    :ivar moved: how many messages were sent to the other topic.
    """

    def __init__(self, role: MemberNode, spec: MoveAsideSpec) -> None:
        super().__init__(role, "aside")
        self.spec = spec
        self.moved = 0

    async def sort_out(self, messages: Sequence[MessageExt]) -> list[MessageExt]:
        """Move the messages that are to be moved; return the others. Raises :class:`MovingAsideFailed` if a broker did
        not accept one.
        """
        kept = []
        for message in messages:
            if self._is_wanted(message):
                await self._move(message)
            else:
                kept.append(message)
        return kept

    def _is_wanted(self, message: MessageExt) -> bool:
        """Return whether it has low priority and the backlog is too large."""
        if message.tags not in self.spec.only_tags:
            return False
        end = message.properties.get(PROPERTY_MAX_OFFSET)
        return end is not None and int(end) - message.queue_offset > self.spec.above

    async def _move(self, message: MessageExt) -> None:
        topic, key = self.spec.topic, " ".join(message.keys)
        moved = Message(topic, message.body, tags=message.tags, keys=key)
        problem = await self._send(key, topic, self._producer.send(moved))
        if problem is not None:
            raise MovingAsideFailed(f"{key} could not be moved to {topic}: {problem}")
        self.moved += 1


class Replier(HelperProducer):
    """Reply to requests.

    :param pattern: the reply to a request, with ``{key}`` for its key and ``{node}`` for the consumer.
    :ivar replied: how many replies reached their requesters; ``failed``: how many did not.
    :ivar expired: how many requests were dropped without work, as their timeout was over.
    """

    def __init__(self, role: MemberNode, pattern: str) -> None:
        super().__init__(role, "replies")
        self._pattern = pattern
        self.replied = self.failed = self.expired = 0

    def awaited(self, messages: Sequence[MessageExt]) -> list[MessageExt]:
        """Return the messages without the requests whose timeout is over."""
        now_ms = self._role.runtime.clock.now_ms()
        kept = [message for message in messages if not is_expired(message, now_ms)]
        self.expired += len(messages) - len(kept)
        return kept

    async def answer(self, messages: Sequence[MessageExt]) -> None:
        """Reply to those of the messages that are requests."""
        for message in messages:
            if is_request(message):
                await self._answer(message)

    async def _answer(self, message: MessageExt) -> None:
        key = " ".join(message.keys)
        body = self._pattern.replace("{key}", key).replace("{node}", self._role.name)
        problem = ""
        try:
            await self._producer.send(create_reply_message(message, body.encode()))
        except MQClientError as error:
            self.failed += 1
            problem = str(error)
        else:
            self.replied += 1
        self._role.world.history.replies_sent.append(ReplySent(*self._role.here_and_now, key, problem))
