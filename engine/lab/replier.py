"""A consumer's application that answers requests: it has a producer of its own, which sends the replies.

A reply that does not get through (the requester is gone, say) is noted and forgotten: the request is consumed all the
same, for nobody waits for its reply any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.client.default_mq_producer import DefaultMQProducer
from engine.client.errors import MQClientError
from engine.client.reply_message import create_reply_message, is_request
from engine.lab.history import ReplySent
from engine.protocol.message import MessageExt

if TYPE_CHECKING:
    from engine.lab.consumer_role import ConsumerRole


class Replier:
    """:param pattern: the reply to a request, with ``{key}`` for its key and ``{node}`` for the consumer.

    :ivar replied: how many replies reached their requesters; ``failed``: how many did not.
    """

    def __init__(self, role: ConsumerRole, pattern: str) -> None:
        self._role = role
        self._pattern = pattern
        self.replied = self.failed = 0
        self._producer: DefaultMQProducer | None = None

    async def start(self, settings: dict[str, Any]) -> None:
        """The process starts."""
        role = self._role
        producer = DefaultMQProducer(
            role.runtime, f"{role.spec.group}-replies", role.world.name_server_address, **settings
        )
        await producer.start()
        self._producer = producer

    async def stop(self) -> None:
        """The process ends in order."""
        if self._producer is not None:
            await self._producer.shutdown()

    def forget(self) -> None:
        """The process has ended."""
        self._producer = None

    async def answer(self, messages: Sequence[MessageExt]) -> None:
        """Reply to those that are requests."""
        for message in messages:
            if is_request(message):
                await self._answer(message)

    async def _answer(self, message: MessageExt) -> None:
        world, producer = self._role.world, self._producer
        assert producer is not None, "a listener is called while its process runs"
        key = " ".join(message.keys)
        body = self._pattern.replace("{key}", key).replace("{node}", self._role.name)
        problem = ""
        try:
            await producer.send(create_reply_message(message, body.encode()))
        except MQClientError as error:
            self.failed += 1
            problem = str(error)
        else:
            self.replied += 1
        world.history.replies_sent.append(ReplySent(world.event_number, world.now_us, self._role.name, key, problem))
