"""The configuration of a topic at a broker (RocketMQ: ``TopicConfig``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.body.json_body import JsonBody
from engine.protocol.permission import PERM_READ_WRITE

#: Queues of a topic created without a queue count (RocketMQ: ``TopicConfig.defaultReadQueueNums``).
DEFAULT_QUEUE_NUMS = 16


@dataclass(slots=True)
class TopicConfig(JsonBody):
    """A topic's configuration, also an entry of ``topics.json``. The bits of ``perm`` are in ``permission``.

    Producers use ``write_queue_nums`` queues, consumers ``read_queue_nums``.
    """

    topic_name: str
    read_queue_nums: int = DEFAULT_QUEUE_NUMS
    write_queue_nums: int = DEFAULT_QUEUE_NUMS
    perm: int = PERM_READ_WRITE
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: int = 0
    order: bool = False

    @property
    def queue_nums(self) -> int:
        """Return the number of queues that can hold messages."""
        return max(self.read_queue_nums, self.write_queue_nums)
