"""A stream's progress as offsets of a consumer group (option ``commitGroup``): the tools of the broker show its lag.

Spark's checkpoint alone says where a query continues; it never reads these offsets.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from itertools import groupby

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import Briefly, RocketMQError
from engine.pipeline.source.cluster.queue_offsets import Offsets, QueueKey, broker_of
from engine.protocol.body import question
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.command.headers import UnregisterClientRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ConsumeType
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

_log = logging.getLogger("glassmq.pipeline")

#: How long a broker that failed is left alone, so that it delays no micro-batch more often than that.
_PAUSE_S = 30.0
#: How long a group without consumers is taken to have none: clients send heartbeats every 30 s.
_TRUST_S = 30.0


class OffsetCommits:
    """Store offsets of one group, never lower ones than the broker has. A failure is logged and ends nothing."""

    def __init__(self, group: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._group = group
        self._clock = clock
        #: What the brokers have, as far as it is known; -1: nothing.
        self._stored: dict[QueueKey, int] = {}
        #: Broker -> when it is tried again.
        self._retry_at: dict[str, float] = {}
        #: Broker -> when it is asked for consumers of the group again.
        self._check_at: dict[str, float] = {}

    def commit(self, cluster: Cluster, ends: Offsets) -> None:
        """Store that all messages before ``ends`` are processed."""
        for broker_name, queues in groupby(sorted(ends, key=broker_of), key=broker_of):
            if not cluster.knows_master(broker_name) or self._clock() < self._retry_at.get(broker_name, 0.0):
                continue
            try:
                with Briefly():
                    self._commit_to(cluster, {queue: ends[queue] for queue in queues})
            except RocketMQError as error:
                self._retry_at[broker_name] = self._clock() + _PAUSE_S
                _log.warning(
                    "%s; the option 'commitGroup' stores nothing at broker %r for %d s",
                    error.text,
                    broker_name,
                    _PAUSE_S,
                )

    def _commit_to(self, cluster: Cluster, ends: Mapping[QueueKey, int]) -> None:
        new = [queue for queue in ends if queue not in self._stored]
        if new:
            self._announce(cluster, new[0])
            stored = cluster.group_offsets(self._group, new)
            self._stored |= {queue: stored.get(queue, -1) for queue in new}
        higher = {queue: end for queue, end in ends.items() if end > self._stored[queue]}
        for queue in higher:
            self._check_consumers(cluster, queue)
        cluster.store_group_offsets(self._group, higher)
        self._stored |= higher

    def _check_consumers(self, cluster: Cluster, queue: QueueKey) -> None:
        """Raise ``ROCKETMQ_REFUSED`` for a group with consumers: they would skip what they have not consumed."""
        if self._clock() < self._check_at.get(queue.broker_name, 0.0):
            return
        members = cluster.ask_queue(queue, question.group_members(self._group), without=None)
        if members is not None:
            raise RocketMQError("ROCKETMQ_REFUSED", f"group {self._group!r} has consumers: {', '.join(members)}")
        self._check_at[queue.broker_name] = self._clock() + _TRUST_S

    def _announce(self, cluster: Cluster, queue: QueueKey) -> None:
        """Let the broker create the group and its retry topic, by which ``mqadmin consumerProgress`` finds groups.

        Brokers do that at a member's first heartbeat, so this joins the group for a moment.
        """
        self._check_consumers(cluster, queue)
        client_id = f"spark@{uuid.uuid4().hex}"
        member = ConsumerData(self._group, ConsumeType.CONSUME_ACTIVELY)
        joins = RemotingCommand.request(RequestCode.HEART_BEAT)
        joins.body = HeartbeatData(client_id, consumers=(member,)).to_json()
        leaves = UnregisterClientRequestHeader(client_id, consumer_group=self._group)
        for request in (joins, RemotingCommand.request(RequestCode.UNREGISTER_CLIENT, leaves)):
            (answer,) = cluster.ask_broker(queue.broker_name, queue.topic, [request])
            if answer.code != ResponseCode.SUCCESS:
                raise RocketMQError("ROCKETMQ_REFUSED", f"group {self._group!r}: the broker says: {answer.remark}")
