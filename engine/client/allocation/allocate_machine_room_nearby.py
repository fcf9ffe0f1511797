"""MACHINE_ROOM_NEARBY: queues go to members in the same room, if there are any (``AllocateMachineRoomNearby``).

Within a room another strategy allocates. Queues of a room without members are divided among all members, so that no
queue stays without a consumer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.client.allocation.allocate_message_queue_strategy import AllocateMessageQueueStrategy
from engine.client.foundation.errors import IllegalClientArgument
from engine.protocol.body.message_queue import MessageQueue


class AllocateMachineRoomNearby:
    """A strategy that applies another one room by room.

    :param strategy: allocates the queues of one room to the members there.
    :param broker_room: returns the room of a queue's broker (RocketMQ: ``MachineRoomResolver.brokerDeployIn``).
    :param consumer_room: returns the room of a client id (``MachineRoomResolver.consumerDeployIn``).
    """

    def __init__(
        self,
        strategy: AllocateMessageQueueStrategy,
        broker_room: Callable[[MessageQueue], str],
        consumer_room: Callable[[str], str],
    ) -> None:
        self._strategy = strategy
        self._broker_room = broker_room
        self._consumer_room = consumer_room

    @property
    def name(self) -> str:
        """Return RocketMQ's name with the inner strategy's, ``MACHINE_ROOM_NEARBY-AVG``."""
        return f"MACHINE_ROOM_NEARBY-{self._strategy.name}"

    def allocate(
        self,
        consumer_group: str,
        client_id: str,
        message_queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> list[MessageQueue]:
        """Allocate room by room. Raises :class:`IllegalClientArgument` for a blank room."""
        if client_id not in client_ids:
            return []
        queues_of_room: dict[str, list[MessageQueue]] = {}
        for queue in message_queues:
            queues_of_room.setdefault(_named(self._broker_room(queue), queue.broker_name), []).append(queue)
        members_of_room: dict[str, list[str]] = {}
        for member in client_ids:
            members_of_room.setdefault(_named(self._consumer_room(member), member), []).append(member)

        def share(queues: Sequence[MessageQueue], members: Sequence[str]) -> list[MessageQueue]:
            return self._strategy.allocate(consumer_group, client_id, queues, members)

        my_room = self._consumer_room(client_id)
        mine = share(queues_of_room.get(my_room, []), members_of_room[my_room])
        for room in sorted(queues_of_room):
            if room not in members_of_room:
                mine += share(queues_of_room[room], client_ids)
        return mine


def _named(room: str, whose: str) -> str:
    if not room.strip():
        raise IllegalClientArgument(f"the machine room of {whose!r} is blank; every broker and member needs one")
    return room
