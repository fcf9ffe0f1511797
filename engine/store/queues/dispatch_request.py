"""What the dispatcher has to know about a message that lies in the commit log (RocketMQ: ``DispatchRequest``)."""

from __future__ import annotations

from typing import NamedTuple

from engine.protocol.system_flags import TRANSACTION_MASK, TRANSACTION_PREPARED_TYPE, TRANSACTION_ROLLBACK_TYPE


class DispatchRequest(NamedTuple):
    """One message. A tuple, because one is made for every message.

    ``tags_code`` is the hash of the tags, or the delivery time (ms) in the topic of delayed messages.
    """

    topic: str
    queue_id: int
    queue_offset: int
    commit_log_offset: int
    size_bytes: int
    tags_code: int
    store_timestamp: int
    sys_flag: int
    keys: str
    unique_key: str

    @property
    def end_offset(self) -> int:
        """Commit-log offset behind the message."""
        return self.commit_log_offset + self.size_bytes


def belongs_in_consume_queue(sys_flag: int) -> bool:
    """False for prepared and rolled-back messages: consumers must never see them, so they get no logical offset.

    (RocketMQ since 3.2.4 stores half messages under a topic of their own instead, without these bits.)
    """
    return sys_flag & TRANSACTION_MASK not in (TRANSACTION_PREPARED_TYPE, TRANSACTION_ROLLBACK_TYPE)
