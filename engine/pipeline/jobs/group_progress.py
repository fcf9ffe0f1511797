"""Progress of a consumer group as its brokers keep it, read and written.

Brokers keep such offsets for any group name (codes 14 and 15), whether or not it ever had a member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.pipeline.source.cluster import Cluster
from engine.pipeline.source.errors import RocketMQError
from engine.pipeline.source.node_client import refusal
from engine.pipeline.source.queue_offsets import QueueKey
from engine.protocol.consumer_headers import QueryConsumerOffsetRequestHeader, UpdateConsumerOffsetRequestHeader
from engine.protocol.queue_headers import OffsetResponseHeader
from engine.protocol.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode


def read_progress(cluster: Cluster, group: str, queues: Sequence[QueueKey]) -> dict[QueueKey, int]:
    """The next offset of ``group`` in each queue; queues in which it has none are left out.

    Raises :class:`~engine.pipeline.source.errors.RocketMQError`; ``ROCKETMQ_REFUSED`` where the account may not ask.
    """
    progress: dict[QueueKey, int] = {}
    asked = cluster.ask_queues(
        queues,
        RequestCode.QUERY_CONSUMER_OFFSET,
        lambda queue: QueryConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id),
    )
    for queue, answer in asked:
        if answer.code == ResponseCode.SUCCESS:
            progress[queue] = OffsetResponseHeader.decode(answer.ext_fields).offset
        elif answer.code != ResponseCode.QUERY_NOT_FOUND:
            raise _refusal(group, queue, cluster.master(queue.broker_name), answer)
    return progress


def write_progress(cluster: Cluster, group: str, offsets: Mapping[QueueKey, int]) -> None:
    """Let the brokers note these offsets; they are there when this returns."""
    asked = cluster.ask_queues(
        offsets,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        lambda queue: UpdateConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id, offsets[queue]),
    )
    for queue, answer in asked:
        if answer.code != ResponseCode.SUCCESS:
            raise _refusal(group, queue, cluster.master(queue.broker_name), answer)


def _refusal(group: str, queue: QueueKey, address: str, answer: RemotingCommand) -> RocketMQError:
    # Access control looks at group and topic alike, so both are named.
    error = refusal(queue.topic, address, answer)
    return RocketMQError(error.condition, f"group {group!r}, {error.text}")
