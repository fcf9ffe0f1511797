"""MACHINE_ROOM: only queues of certain machine rooms are divided (``AllocateMessageQueueByMachineRoom``).

The name of a broker contains its room, ``room@broker``. Queues of other rooms are left to other groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.protocol.body.message_queue import MessageQueue


class AllocateMessageQueueByMachineRoom:
    """A strategy of equal blocks of the rooms' queues; the remaining ones go to the first members, one each.

    :param consumer_machine_rooms: names of the rooms whose queues this group consumes.
    """

    name = "MACHINE_ROOM"

    def __init__(self, consumer_machine_rooms: Iterable[str]) -> None:
        self.consumer_machine_rooms = tuple(consumer_machine_rooms)

    def allocate(
        self,
        consumer_group: str,
        client_id: str,
        message_queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        eligible = [queue for queue in message_queues if self._is_in_our_rooms(queue)]
        index = client_ids.index(client_id)
        size, remainder = divmod(len(eligible), len(client_ids))
        mine = eligible[index * size : (index + 1) * size]
        if index < remainder:
            mine.append(eligible[size * len(client_ids) + index])
        return mine

    def _is_in_our_rooms(self, queue: MessageQueue) -> bool:
        room, separator, _ = queue.broker_name.partition("@")
        return bool(separator) and room in self.consumer_machine_rooms
