"""Degradation under backlog: what matters less is moved to another topic, so that the rest gets through.

The listener knows how far behind it is: the client writes the queue's greatest offset into each message that it pulls
(property ``MAX_OFFSET``). If more lies between than it bears, a message of low priority is sent to another topic and
counts as consumed here; a group of its own works that topic off when there is time. If the send fails, the message is
consumed later, as any other that fails: nothing is dropped. A process that dies between send and acknowledgement sends
it once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.client.errors import MQClientError
from engine.lab.history import SendInvoked, SendReturned
from engine.lab.second_producer import SecondProducer
from engine.protocol.message import Message, MessageExt
from engine.protocol.message_properties import PROPERTY_MAX_OFFSET

if TYPE_CHECKING:
    from engine.lab.consumer_role import ConsumerRole
    from engine.lab.listener_spec import MoveAsideSpec


class MovingAsideFailed(Exception):
    """The message stays where it is, and is delivered again later."""


class MoveAside(SecondProducer):
    """:ivar moved: how many messages were sent to the other topic."""

    def __init__(self, role: ConsumerRole, spec: MoveAsideSpec) -> None:
        super().__init__(role, "aside")
        self.spec = spec
        self.moved = 0

    async def sort_out(self, messages: Sequence[MessageExt]) -> list[MessageExt]:
        """Move what is to be moved; the others. Raises :class:`MovingAsideFailed` when a broker did not take it."""
        kept = []
        for message in messages:
            if self._is_wanted(message):
                await self._move(message)
            else:
                kept.append(message)
        return kept

    def _is_wanted(self, message: MessageExt) -> bool:
        """Whether it matters less, and the backlog is too great."""
        if message.tags not in self.spec.only_tags:
            return False
        end = message.properties.get(PROPERTY_MAX_OFFSET)
        return end is not None and int(end) - message.queue_offset > self.spec.above

    async def _move(self, message: MessageExt) -> None:
        role, topic, key = self._role, self.spec.topic, " ".join(message.keys)
        world = role.world
        world.history.sends_invoked.append(SendInvoked(world.event_number, world.now_us, role.name, key, topic))
        status, detail, place = "ok", "", (-1, -1, "", "")
        try:
            result = await self._producer.send(Message(topic, message.body, tags=message.tags, keys=key))
        except MQClientError as error:
            status, detail = "refused" if error.outcome_is_known else "unknown", str(error)
        else:
            self.moved += 1
            detail, queue = result.status.value, result.message_queue
            place = (queue.queue_id, result.queue_offset, result.offset_message_id, queue.broker_name)
        returned = (world.event_number, world.now_us, role.name, key, status, topic, *place, detail)
        world.history.sends_returned.append(SendReturned(*returned))
        if status != "ok":
            raise MovingAsideFailed(f"{key} could not be moved to {topic}: {detail}")
