"""Cuts a list of messages into batches that a broker accepts (``ListSplitter`` of RocketMQ's batch example)::

for batch in ListSplitter(messages):
    await producer.send_batch(batch)

A message that is too large by itself goes alone: sending that batch is refused, and says so, and all others still go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.protocol.message.message import Message
from engine.protocol.message.record_layout import FIXED_SIZE_BYTES

#: What producers and brokers accept at most per request (``maxMessageSize`` of each), 4 MiB.
DEFAULT_SIZE_LIMIT_BYTES = 4_194_304
#: RocketMQ's example counts this much per message for lengths and the like.
EXAMPLE_OVERHEAD_BYTES = 20
#: What producer and broker add to every stored message of a batch: the UNIQ_KEY, WAIT and CLUSTER properties. A
#: generous figure; the cluster's name is not known here.
_ADDED_PROPERTIES_BYTES = 160


def measure(message: Message) -> int:
    """The size of ``message`` as RocketMQ's example computes it: topic + body + properties + 20 bytes."""
    properties = sum(len(name.encode()) + len(value.encode()) for name, value in message.properties.items())
    return len(message.topic.encode()) + len(message.body) + properties + EXAMPLE_OVERHEAD_BYTES


def stored_size(message: Message) -> int:
    """An upper bound for the room that ``message`` takes in the commit log.

    Brokers up to 4.9.3 add these up over a batch and refuse more than ``maxMessageSize``. For small messages they are
    well above what the example measures, which therefore cuts batches that those brokers refuse. Later ones, and this
    one, only look at the body of the request.
    """
    separators = 2 * len(message.properties)
    return measure(message) - EXAMPLE_OVERHEAD_BYTES + FIXED_SIZE_BYTES + separators + _ADDED_PROPERTIES_BYTES


class ListSplitter:
    """Iterates over sublists, in order, whose size stays within the limit; a single message may be beyond it.

    :param messages: what shall be sent.
    :param size_limit_bytes: the most that one sublist may measure, by either way of measuring.
    """

    def __init__(self, messages: Sequence[Message], size_limit_bytes: int = DEFAULT_SIZE_LIMIT_BYTES) -> None:
        self._messages = messages
        self._size_limit_bytes = size_limit_bytes

    def __iter__(self) -> Iterator[list[Message]]:
        """The sublists. None is empty, and together they are the whole list."""
        batch: list[Message] = []
        batch_bytes = 0
        for message in self._messages:
            size = stored_size(message)
            if batch and batch_bytes + size > self._size_limit_bytes:
                yield batch
                batch, batch_bytes = [], 0
            batch.append(message)
            batch_bytes += size
        if batch:
            yield batch
