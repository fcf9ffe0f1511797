"""Headers of PULL_MESSAGE, code 11."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int32, Int64


class PullMessageRequestHeader(CommandHeader):
    """A consumer's request for up to ``max_msg_nums`` messages from ``queue_offset`` on.

    ``max_msg_bytes`` is RocketMQ 5's field: how many bytes of messages the consumer takes at once. RocketMQ 4.9 does
    not know it; GlassMQ sends up to that many (1 MiB at most) instead of the 32 messages and 256 KiB that other
    consumers get.

    The bits of ``sys_flag`` are in ``system_flags`` (commit offset, suspend, subscription, ...). ``commit_offset`` is
    the consume progress to store with the pull. A suspended pull waits up to ``suspend_timeout_millis`` for a message.
    """

    consumer_group: str
    topic: str
    queue_id: Int32
    queue_offset: Int64
    max_msg_nums: Int32
    sys_flag: Int32
    commit_offset: Int64
    suspend_timeout_millis: Int64
    subscription: str | None = None
    sub_version: Int64 = 0
    expression_type: str | None = None
    max_msg_bytes: Int32 | None = None
    broker_name: str | None = None


class PullMessageResponseHeader(CommandHeader):
    """The reply of PULL_MESSAGE. It always has all four fields, whatever the code: the Java client unboxes them
    unchecked.
    """

    suggest_which_broker_id: Int64
    next_begin_offset: Int64
    min_offset: Int64
    max_offset: Int64
