"""Settings of replication (RocketMQ: ``brokerRole`` and the settings of ``MessageStoreConfig`` that begin with
``ha``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class HaRole(Enum):
    """Role of a broker among the brokers that share its name (RocketMQ: ``BrokerRole``)."""

    #: Acknowledges a message when it has stored the message itself.
    ASYNC_MASTER = "ASYNC_MASTER"
    #: Acknowledges a message when slaves have stored it as well.
    SYNC_MASTER = "SYNC_MASTER"
    #: Copies a master.
    SLAVE = "SLAVE"


class ReplicaAcks(Enum):
    """The number of copies for which a SYNC_MASTER waits. RocketMQ 4.9 has only the first; the others are ours."""

    #: One slave.
    ONE = "one"
    #: Two slaves.
    TWO = "two"
    #: Enough slaves that, with the master, more than half of ``replica_count`` machines have the message.
    MAJORITY = "majority"


@dataclass(frozen=True, slots=True)
class HaConfig:
    """Settings of replication with RocketMQ 4.9.8's defaults; RocketMQ has no names for the last two.

    :ivar send_heartbeat_interval_ms: either side sends a heartbeat when it has sent nothing for this long.
    :ivar housekeeping_interval_ms: a connection is closed when the other side has sent nothing for this long.
    :ivar transfer_batch_bytes: largest size of a piece of the log.
    :ivar slave_fallbehind_max_bytes: the master does not wait for a slave that lags by more than this.
    :ivar slave_timeout_ms: how long a sender waits for slaves.
    :ivar replica_count: machines that hold a copy, the master included; for ``ReplicaAcks.MAJORITY``.
    """

    send_heartbeat_interval_ms: int = 5_000
    housekeeping_interval_ms: int = 20_000
    transfer_batch_bytes: int = 32 * 1024
    slave_fallbehind_max_bytes: int = 256 * 1024 * 1024
    slave_timeout_ms: int = 3_000
    replica_acks: ReplicaAcks = ReplicaAcks.ONE
    replica_count: int = 3

    @property
    def slaves_needed(self) -> int:
        """Return how many slaves must have a message before a SYNC_MASTER acknowledges it."""
        if self.replica_acks is ReplicaAcks.MAJORITY:
            return self.replica_count // 2
        return 1 if self.replica_acks is ReplicaAcks.ONE else 2
