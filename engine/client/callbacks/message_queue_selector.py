"""Selectors that choose the queue of a message by its content (RocketMQ: ``MessageQueueSelector``).

A selector is a function ``(queues, message, argument) -> queue``. Messages that must stay in order have to reach the
same queue, so they are sent with the same argument, for instance an order number. The order breaks when the number of
queues changes: then the same argument selects another queue while older messages still wait in the former one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

from engine.client.allocation.allocate_message_queue_consistent_hash import place_on_ring
from engine.client.foundation.errors import IllegalClientArgument
from engine.client.foundation.red_black_tree import RedBlackTree
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message import Message

#: The argument is the one that was passed to ``send``.
MessageQueueSelector = Callable[[Sequence[MessageQueue], Message, object], MessageQueue]


def java_hash_code(value: object) -> int:
    """Return Java's ``hashCode`` of a string, an Integer or a Long with the same value: a signed 32-bit number.

    A Python producer and a Java producer therefore select the same queue for the same key.
    """
    if isinstance(value, str):
        return java_string_hash(value)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        if -(1 << 31) <= value < 1 << 31:
            return value
        unsigned = value & 0xFFFFFFFFFFFFFFFF
        folded = (unsigned ^ (unsigned >> 32)) & 0xFFFFFFFF
        return folded - (1 << 32) if folded & 0x80000000 else folded
    raise IllegalClientArgument(
        f"select_message_queue_by_hash takes a string or a 64-bit integer as argument, got {value!r}"
    )


def select_message_queue_by_hash(queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
    """Return the queue at ``|hash of argument mod number of queues|`` (``SelectMessageQueueByHash``)."""
    return queues[abs(java_hash_code(argument)) % len(queues)]


#: The number of positions of each queue on the ring: enough for shares to differ by a few tenths only.
DEFAULT_PLACES_PER_QUEUE = 40


class SelectMessageQueueByConsistentHash:
    """A selector of the next queue on a hash ring, clockwise from the position of the argument, a business key.

    RocketMQ has no such selector, only the ring (``ConsistentHashRouter``, used by the allocation strategy). When one
    queue of n is added or removed, about one key of n selects another queue; with ``|hash| mod n`` nearly all do. For
    these few the order still breaks while older messages wait in the former queue.

    :param places_per_queue: the number of positions of each queue on the ring; more makes shares more even.
    """

    def __init__(self, places_per_queue: int = DEFAULT_PLACES_PER_QUEUE) -> None:
        if places_per_queue < 1:
            raise IllegalClientArgument(f"places_per_queue must be at least 1, got {places_per_queue}")
        self._places_per_queue = places_per_queue
        #: The last ring and its queues, which rarely change.
        self._queues: tuple[MessageQueue, ...] = ()
        self._ring: RedBlackTree[MessageQueue] = RedBlackTree()

    def __call__(self, queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
        """Select a queue. ``argument``: a string or an integer."""
        if not isinstance(argument, str | int):
            raise IllegalClientArgument(f"a business key is a string or an integer, got {argument!r}")
        if tuple(queues) != self._queues:
            self._build_ring(queues)
        found = self._ring.ceiling(place_on_ring(str(argument)))
        queue = self._ring.first_value() if found is None else found[1]
        assert queue is not None, "a producer selects only when there are queues"
        return queue

    def _build_ring(self, queues: Sequence[MessageQueue]) -> None:
        self._queues = tuple(queues)
        self._ring = RedBlackTree()
        for queue in self._queues:
            for place in range(self._places_per_queue):
                self._ring.put(place_on_ring(f"{queue.broker_name}-{queue.queue_id}-{place}"), queue)


class SelectMessageQueueByRandom:
    """A selector of random queues (``SelectMessageQueueByRandom``).

    :param generator: the random generator, e.g. ``runtime.random_for("queue selector")``.
    """

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator

    def __call__(self, queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
        return self._generator.choice(queues)


class SelectMessageQueueByMachineRoom:
    """A round-robin selector for queues in some machine rooms; brokers are named ``room@name`` as in allocation
    strategies.

    In RocketMQ 4.9.8 the class of that name is a stub that returns null, which makes every send fail.

    :param machine_rooms: the rooms to send to.
    """

    def __init__(self, machine_rooms: Iterable[str]) -> None:
        self._machine_rooms = dict.fromkeys(machine_rooms)
        self._turn = 0

    def __call__(self, queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
        """Select the next queue. Raises :class:`IllegalClientArgument` if the rooms have no queue."""
        near = [queue for queue in queues if machine_room_of(queue.broker_name) in self._machine_rooms]
        if not near:
            rooms = ", ".join(self._machine_rooms) or "none"
            found = ", ".join(sorted({queue.broker_name for queue in queues}))
            raise IllegalClientArgument(
                f"no queue of {message.topic!r} is in one of the rooms {rooms}; brokers: {found}"
            )
        self._turn += 1
        return near[self._turn % len(near)]


def machine_room_of(broker_name: str) -> str:
    """Return ``"room"`` of ``"room@name"``; empty if there is no room in the name."""
    room, separator, _ = broker_name.partition("@")
    return room if separator else ""
