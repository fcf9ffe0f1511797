"""What a job asks the brokers itself, outside of any read: where queues end, and how far consumer groups have come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from engine.pipeline.jobs.group_progress import read_progress
from engine.pipeline.source.cluster import Cluster
from engine.pipeline.source.cluster_options import CLUSTER_OPTION_NAMES, ClusterOptions
from engine.pipeline.source.errors import RocketMQError
from engine.pipeline.source.option_values import OptionValues
from engine.pipeline.source.queue_offsets import QueueKey
from engine.protocol.names import TOOLS_CONSUMER_GROUP
from engine.protocol.pull_message_headers import PullMessageRequestHeader
from engine.protocol.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import PULL_SUBSCRIPTION


class ClusterLook:
    """Use in a ``with``; by one thread. Methods raise :class:`~engine.pipeline.source.errors.RocketMQError`."""

    def __init__(self, cluster: Mapping[str, str]) -> None:
        """:param cluster: the options of ``format("rocketmq")`` that say which cluster, and who asks."""
        self._cluster = Cluster(ClusterOptions.parse(OptionValues(cluster, CLUSTER_OPTION_NAMES)))

    def __enter__(self) -> ClusterLook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._cluster.close()

    def known(self, topics: Sequence[str]) -> tuple[str, ...]:
        """Those of ``topics`` that the cluster has."""
        return tuple(topic for topic in topics if self._is_known(topic))

    def _is_known(self, topic: str) -> bool:
        try:
            return bool(self._cluster.queues([topic]))
        except RocketMQError as error:
            if error.condition == "ROCKETMQ_UNKNOWN_TOPIC":
                return False
            raise

    def queues(self, topics: Sequence[str]) -> list[QueueKey]:
        """The readable queues of these topics, sorted."""
        return self._cluster.queues(topics)

    def ends(self, queues: Sequence[QueueKey]) -> dict[QueueKey, int]:
        """The offset that the next message of each queue will get."""
        return self._cluster.max_offsets(queues)

    def begins(self, queues: Sequence[QueueKey]) -> dict[QueueKey, int]:
        """The offset of the oldest message that is left in each queue."""
        return self._cluster.min_offsets(queues)

    def progress(self, group: str, queues: Sequence[QueueKey]) -> dict[QueueKey, int]:
        """See :func:`~engine.pipeline.jobs.group_progress.read_progress`."""
        return read_progress(self._cluster, group, queues)

    def lets_pull(self, queue: QueueKey) -> bool:
        """Whether the broker hands out messages of the queue; some topics it keeps for itself."""
        header = PullMessageRequestHeader(
            consumer_group=TOOLS_CONSUMER_GROUP,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=0,
            max_msg_nums=1,
            sys_flag=PULL_SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription="*",
            expression_type="TAG",
        )
        request = RemotingCommand.request(RequestCode.PULL_MESSAGE, header)
        (answer,) = self._cluster.ask_broker(queue.broker_name, queue.topic, [request])
        return answer.code not in (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION)
