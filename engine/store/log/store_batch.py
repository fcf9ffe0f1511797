"""A batch of messages on its way into the store (RocketMQ: ``MessageExtBatch``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: The parts that differ between the messages of a batch: flag, body, properties, tags code, keys, unique key. They mean
#: the same as in :class:`~engine.store.log.store_message.StoreMessage`. A plain tuple, because one is made for every
#: message.
BatchMember = tuple[int, bytes, bytes, int, str, str]


@dataclass(slots=True)
class StoreBatch:
    """Messages for one queue, at least one. They are stored consecutively with consecutive logical offsets, all or
    none.

    The fields mean the same as those of :class:`~engine.store.log.store_message.StoreMessage`.
    """

    topic: str
    queue_id: int
    members: Sequence[BatchMember]
    born_timestamp: int
    born_host: str | bytes
    store_host: str | bytes
    sys_flag: int = 0
    reconsume_times: int = 0
    wait_store_ok: bool = True
