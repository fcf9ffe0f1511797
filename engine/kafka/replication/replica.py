"""One partition as one broker holds it (Kafka: ``Partition``, ``Replica``).

A leader knows how far each follower has come by what it fetches: who asks for offset n has all before it. The high
watermark is the least end of the logs of the in-sync replicas; it moves when the last of them fetches, and followers
learn of it with the next answer. Here is no I/O but that of the log.

Simplified: reassignment, leader and follower in the same rack, and waiting for a replica that is about to join.
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
    """What a leader knows of a follower; -1: it has not fetched since this leader was elected.

    :ivar caught_up_ms: when it last had all that the leader had (Kafka: ``lastCaughtUpTimeMs``).
    """

    end_offset: int
    caught_up_ms: int
    fetched_ms: int = 0
    leader_end_then: int = _UNKNOWN

    def fetched(self, offset: int, leader_end_offset: int, now_ms: int) -> None:
        """It has all before ``offset``."""
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end_then >= 0:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.end_offset, self.fetched_ms, self.leader_end_then = offset, now_ms, leader_end_offset


class Replica:
    """:ivar leader, leader_epoch, nodes, isr, partition_epoch: as the controller said last; -1: it has said nothing.

    :ivar followers: of a leader: node id -> progress.
    :ivar asked_isr: of a leader: what it has asked the controller for; None: nothing.
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
        """Whether this broker believes to lead."""
        return self.state is ReplicaState.LEADER

    def apply(self, record: PartitionRecord, now_ms: int) -> bool:
        """The controller has decided; whether there is a new leader, or the same one anew."""
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
        """Raises :class:`KafkaRefusal` unless this broker leads, and whoever asks means it in ``epoch``; -1: in any."""
        if epoch >= 0 and epoch != self.leader_epoch:
            code = KafkaErrorCode.FENCED_LEADER_EPOCH
            if epoch > self.leader_epoch:
                code = KafkaErrorCode.UNKNOWN_LEADER_EPOCH
            raise KafkaRefusal(code, f"{self.place} is in epoch {self.leader_epoch}, not {epoch}")
        if not self.is_leader:
            raise KafkaRefusal(KafkaErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.place} is led by {self.leader}")

    @property
    def has_enough(self) -> bool:
        """Whether so many replicas are in sync as ``min.insync.replicas`` wants, all of them at most."""
        return len(self.isr) >= min(self._config.min_insync_replicas, len(self.followers) + 1)

    def follower_fetched(self, node: int, offset: int, now_ms: int) -> bool:
        """A follower asks for ``offset``; whether the high watermark moved."""
        progress = self.followers.get(node)
        if progress is None:
            return False
        progress.fetched(offset, self.log.log_end_offset, now_ms)
        return self.advance()

    def advance(self) -> bool:
        """Move the high watermark where all that count have come to; whether it moved. It never goes back.

        Who has been asked for counts already. With fewer than ``min.insync.replicas`` it stays (KIP-966, Kafka 4).
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
        """Who should count: all that keep up, and the one that is ``fetching`` just now, once it has caught up."""
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
        """Cut the log there; how many records that took."""
        lost = self.log.truncate_to(offset)
        self.log.high_watermark = min(self.log.high_watermark, self.log.log_end_offset)
        return lost

    def fetch_on(self) -> None:
        """The log is the beginning of its leader's."""
        self.state = self.state.go(ReplicaState.FETCHING)

    def copied(self, batches: bytes, high_watermark: int) -> None:
        """The leader has sent what lies behind this log's end. Raises :class:`KafkaRefusal`, ``DiskFault``."""
        if batches:
            self.log.append_copy(batches)
        self.log.high_watermark = max(self.log.high_watermark, min(high_watermark, self.log.log_end_offset))
