"""A consumer's application that answers requests: it has a producer of its own, which sends the replies.

A reply that does not get through (the requester is gone, say) is noted and forgotten: the request is consumed all the
same, for nobody waits for its reply any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.client.errors import MQClientError
from engine.client.reply_message import create_reply_message, is_request
from engine.lab.history import ReplySent
from engine.lab.second_producer import SecondProducer
from engine.protocol.message import MessageExt

if TYPE_CHECKING:
    from engine.lab.consumer_role import ConsumerRole


class Replier(SecondProducer):
    """:param pattern: the reply to a request, with ``{key}`` for its key and ``{node}`` for the consumer.

    :ivar replied: how many replies reached their requesters; ``failed``: how many did not.
    """

    def __init__(self, role: ConsumerRole, pattern: str) -> None:
        super().__init__(role, "replies")
        self._pattern = pattern
        self.replied = self.failed = 0

    async def answer(self, messages: Sequence[MessageExt]) -> None:
        """Reply to those that are requests."""
        for message in messages:
            if is_request(message):
                await self._answer(message)

    async def _answer(self, message: MessageExt) -> None:
        world = self._role.world
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
        world.history.replies_sent.append(ReplySent(world.event_number, world.now_us, self._role.name, key, problem))
