"""What a broker knows of a topic (RocketMQ: ``TopicConfig``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.body.json_body import JsonBody
from engine.protocol.permission import PERM_READ_WRITE

#: Queues of a topic created without saying how many (RocketMQ: ``TopicConfig.defaultReadQueueNums``).
DEFAULT_QUEUE_NUMS = 16


@dataclass(slots=True)
class TopicConfig(JsonBody):
    """An entry of ``topics.json`` too. ``perm``: see ``permission``.

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
        """How many queues there may be messages in."""
        return max(self.read_queue_nums, self.write_queue_nums)
