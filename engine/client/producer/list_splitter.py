"""A splitter of message lists into batches that client and broker accept (``ListSplitter`` of RocketMQ's batch
example)::

for batch in ListSplitter(messages):
    await producer.send_batch(batch)

A message that is too large becomes its own batch: that batch is refused with an error, but all others can be sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.protocol.message.message import Message
from engine.protocol.message.record_layout import FIXED_SIZE_BYTES

#: The maximum size of a request for producers and brokers (``maxMessageSize`` of each), 4 MiB.
DEFAULT_SIZE_LIMIT_BYTES = 4_194_304
#: The size that producer and broker add to every stored message of a batch: the UNIQ_KEY, WAIT and CLUSTER properties.
#: A generous estimate, because the cluster's name is not known here.
_ADDED_PROPERTIES_BYTES = 160


def stored_size(message: Message) -> int:
    """Return an upper bound for the room that ``message`` takes in the commit log.

    Brokers up to 4.9.3 refuse a batch whose stored sizes add up to more than ``maxMessageSize``. Producers and all
    brokers compare the body of the request, in which a message takes less room: 22 bytes of lengths, and no topic.

    The splitter in RocketMQ's documents counts topic, body, properties and 20 bytes. That is less than is sent: it
    leaves out separators and the UNIQ_KEY, which the client adds later. With a limit of 4 MiB RocketMQ's own client
    refuses its batches of messages up to about 10 kB.
    """
    properties = sum(len(name.encode()) + len(value.encode()) + 2 for name, value in message.properties.items())
    return FIXED_SIZE_BYTES + len(message.topic.encode()) + len(message.body) + properties + _ADDED_PROPERTIES_BYTES


class ListSplitter:
    """An iterable of sublists, in order, whose size stays within the limit; a single message may exceed it.

    :param messages: the messages to send.
    :param size_limit_bytes: the maximum total of the stored sizes in one sublist.
    """

    def __init__(self, messages: Sequence[Message], size_limit_bytes: int = DEFAULT_SIZE_LIMIT_BYTES) -> None:
        self._messages = messages
        self._size_limit_bytes = size_limit_bytes

    def __iter__(self) -> Iterator[list[Message]]:
        """Yield the sublists. None of them is empty, and together they are the whole list."""
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
