"""What a broker knows of a topic (RocketMQ: ``TopicConfig``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.protocol.json_fields import get_boolean, get_integer, get_text
from engine.protocol.permission import PERM_READ_WRITE

#: Queues of a topic created without saying how many (RocketMQ: ``TopicConfig.defaultReadQueueNums``).
DEFAULT_QUEUE_NUMS = 16


@dataclass(slots=True)
class TopicConfig:
    """``perm``: see ``permission``. Producers use ``write_queue_nums`` queues, consumers ``read_queue_nums``."""

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

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire and of ``topics.json``."""
        return {
            "order": self.order,
            "perm": self.perm,
            "readQueueNums": self.read_queue_nums,
            "topicFilterType": self.topic_filter_type,
            "topicName": self.topic_name,
            "topicSysFlag": self.topic_sys_flag,
            "writeQueueNums": self.write_queue_nums,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> TopicConfig:
        """Read the JSON object. Raises ``MalformedBody``."""
        return cls(
            topic_name=get_text(fields, "topicName"),
            read_queue_nums=get_integer(fields, "readQueueNums", DEFAULT_QUEUE_NUMS),
            write_queue_nums=get_integer(fields, "writeQueueNums", DEFAULT_QUEUE_NUMS),
            perm=get_integer(fields, "perm", PERM_READ_WRITE),
            topic_filter_type=get_text(fields, "topicFilterType", "SINGLE_TAG"),
            topic_sys_flag=get_integer(fields, "topicSysFlag", 0),
            order=get_boolean(fields, "order"),
        )
