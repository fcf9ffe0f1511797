"""A broker's replica of one partition (Kafka: ``Partition``, ``Replica``).

A leader learns the progress of each follower from its fetches: a fetch at offset n means that the follower has
everything before n. The high watermark is the smallest log end of the in-sync replicas. It advances when the last of
them fetches, and followers learn of it with the next response. The only I/O here is that of the log.

Left out: reassignment, rack awareness, and waiting for a replica that is about to join.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.cluster_image import NO_LEADER, PartitionRecord
from engine.kafka.replication.replica_state import ReplicaState
from engine.kafka.replication.replication_config import ReplicationConfig

_UNKNOWN = -1


@dataclass(slots=True)
class FollowerProgress:
    """The leader's state about a follower; -1: it has not fetched since this leader was elected.

    :ivar caught_up_ms: when it last had everything that the leader had (Kafka: ``lastCaughtUpTimeMs``).
    """

    end_offset: int
    caught_up_ms: int
    fetched_ms: int = 0
    leader_end_then: int = _UNKNOWN

    def fetched(self, offset: int, leader_end_offset: int, now_ms: int) -> None:
        """Note that the follower has everything before ``offset``."""
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end_then >= 0:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.end_offset, self.fetched_ms, self.leader_end_then = offset, now_ms, leader_end_offset


class Replica:
    """One replica of a partition.

    :ivar leader, leader_epoch, nodes, isr, partition_epoch: the controller's last decision; -1: none yet.
    :ivar followers: for a leader: node id -> progress.
    :ivar asked_isr: for a leader: the in-sync replicas that it has requested from the controller; None: none.
    """

    def __init__(self, node_id: int, place: TopicPartition, log: PartitionLog, config: ReplicationConfig) -> None:
        self.place = place
        self.log = log
        self.state = ReplicaState.OFFLINE
        self.leader = NO_LEADER
        self.leader_epoch = self.partition_epoch = _UNKNOWN
        self.nodes: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.followers: dict[int, FollowerProgress] = {}
        self.asked_isr: tuple[int, ...] | None = None
        self._node_id = node_id
        self._config = config
        self._epoch_begins_at = 0

    @property
    def is_leader(self) -> bool:
        """Return whether this broker believes that it leads."""
        return self.state is ReplicaState.LEADER

    def apply(self, record: PartitionRecord, now_ms: int) -> bool:
        """Apply the controller's decision. Return whether there is a new leader or a new leader epoch."""
        if record.partition_epoch <= self.partition_epoch:
            return False
        self.partition_epoch, self.asked_isr = record.partition_epoch, None
        self.nodes, self.isr = record.replicas, record.isr
        is_new = record.leader_epoch > self.leader_epoch
        if is_new:
            self.leader, self.leader_epoch = record.leader, record.leader_epoch
            self.followers = {}
            if self.leader == self._node_id:
                self._lead(now_ms)
            else:
                known = self.leader != NO_LEADER
                self.state = self.state.go(ReplicaState.TRUNCATING if known else ReplicaState.OFFLINE)
        self.advance()
        return is_new

    def _lead(self, now_ms: int) -> None:
        self.state = self.state.go(ReplicaState.LEADER)
        self._epoch_begins_at = self.log.log_end_offset
        self.log.epochs.appended(self.leader_epoch, self._epoch_begins_at)
        for node in self.nodes:
            if node != self._node_id:
                self.followers[node] = FollowerProgress(_UNKNOWN, now_ms if node in self.isr else 0)

    # --- a leader ----------------------------------------------------------------------------------------------------

    def check_leads(self, epoch: int = _UNKNOWN) -> None:
        """Check that this broker leads in ``epoch``; -1: in any epoch. Raises :class:`KafkaRefusal`."""
        if epoch >= 0 and epoch != self.leader_epoch:
            code = KafkaErrorCode.FENCED_LEADER_EPOCH
            if epoch > self.leader_epoch:
                code = KafkaErrorCode.UNKNOWN_LEADER_EPOCH
            raise KafkaRefusal(code, f"{self.place} is in epoch {self.leader_epoch}, not {epoch}")
        if not self.is_leader:
            raise KafkaRefusal(KafkaErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.place} is led by {self.leader}")

    @property
    def has_enough(self) -> bool:
        """Return whether at least ``min.insync.replicas`` replicas are in sync, or all if there are fewer."""
        return len(self.isr) >= min(self._config.min_insync_replicas, len(self.followers) + 1)

    def follower_fetched(self, node: int, offset: int, now_ms: int) -> bool:
        """Note a follower's fetch at ``offset``. Return whether the high watermark advanced."""
        progress = self.followers.get(node)
        if progress is None:
            return False
        progress.fetched(offset, self.log.log_end_offset, now_ms)
        return self.advance()

    def advance(self) -> bool:
        """Advance the high watermark to the smallest log end of the replicas that count; return whether it advanced. It
        never goes back.

        Replicas that have been requested as in-sync count already. With fewer than ``min.insync.replicas`` it stays
        (KIP-966, Kafka 4).
        """
        if not self.is_leader or not self.has_enough:
            return False
        counting = (*self.isr, *(self.asked_isr or ()))
        ends = [one.end_offset for node, one in self.followers.items() if node in counting]
        end_offset = min([self.log.log_end_offset, *ends])
        if end_offset <= self.log.high_watermark:
            return False
        self.log.high_watermark = end_offset
        return True

    def wanted_isr(self, now_ms: int, fetching: int | None = None) -> tuple[int, ...]:
        """Return the replicas that should be in sync: all that keep up, and the one that is ``fetching`` now if it
        has caught up.
        """
        return tuple(
            node
            for node in self.nodes
            if node == self._node_id
            or (self._keeps_up(node, now_ms) if node in self.isr else node == fetching and self._may_join(node))
        )

    def _keeps_up(self, node: int, now_ms: int) -> bool:
        follower = self.followers[node]
        is_at_end = follower.end_offset == self.log.log_end_offset
        return is_at_end or now_ms - follower.caught_up_ms <= self._config.replica_lag_time_max_ms

    def _may_join(self, node: int) -> bool:
        return self.followers[node].end_offset >= max(self.log.high_watermark, self._epoch_begins_at)

    # --- a follower --------------------------------------------------------------------------------------------------

    def truncated_to(self, offset: int) -> int:
        """Truncate the log at ``offset``. Return the number of records removed."""
        lost = self.log.truncate_to(offset)
        self.log.high_watermark = min(self.log.high_watermark, self.log.log_end_offset)
        return lost

    def fetch_on(self) -> None:
        """Begin to fetch: the log is now a prefix of its leader's."""
        self.state = self.state.go(ReplicaState.FETCHING)

    def copied(self, batches: bytes, high_watermark: int) -> None:
        """Append what the leader has sent after the end of this log. Raises :class:`KafkaRefusal`, ``DiskFault``."""
        if batches:
            self.log.append_copy(batches)
        self.log.high_watermark = max(self.log.high_watermark, min(high_watermark, self.log.log_end_offset))
