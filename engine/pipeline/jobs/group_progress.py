"""Progress of a consumer group as its brokers keep it, read and written.

Brokers keep such offsets for any group name (codes 14 and 15), whether or not it ever had a member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
    for broker_name, of_broker in _by_broker(queues).items():
        requests = [
            RemotingCommand.request(
                RequestCode.QUERY_CONSUMER_OFFSET,
                QueryConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id),
            )
            for queue in of_broker
        ]
        answers = cluster.ask_broker(broker_name, of_broker[0].topic, requests)
        for queue, answer in zip(of_broker, answers, strict=True):
            if answer.code == ResponseCode.SUCCESS:
                progress[queue] = OffsetResponseHeader.decode(answer.ext_fields).offset
            elif answer.code != ResponseCode.QUERY_NOT_FOUND:
                raise _refusal(group, queue, cluster.master(broker_name), answer)
    return progress


def write_progress(cluster: Cluster, group: str, offsets: Mapping[QueueKey, int]) -> None:
    """Let the brokers note these offsets; they are there when this returns."""
    for broker_name, of_broker in _by_broker(offsets).items():
        requests = [
            RemotingCommand.request(
                RequestCode.UPDATE_CONSUMER_OFFSET,
                UpdateConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id, offsets[queue]),
            )
            for queue in of_broker
        ]
        answers = cluster.ask_broker(broker_name, of_broker[0].topic, requests)
        for queue, answer in zip(of_broker, answers, strict=True):
            if answer.code != ResponseCode.SUCCESS:
                raise _refusal(group, queue, cluster.master(broker_name), answer)


def _refusal(group: str, queue: QueueKey, address: str, answer: RemotingCommand) -> RocketMQError:
    # Access control looks at group and topic alike, so both are named.
    error = refusal(queue.topic, address, answer)
    return RocketMQError(error.condition, f"group {group!r}, {error.text}")


def _by_broker(queues: Iterable[QueueKey]) -> dict[str, list[QueueKey]]:
    by_broker: dict[str, list[QueueKey]] = {}
    for queue in queues:
        by_broker.setdefault(queue.broker_name, []).append(queue)
    return by_broker
