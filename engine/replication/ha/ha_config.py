"""Settings of replication (RocketMQ: those of ``MessageStoreConfig`` that begin with ``ha``, and ``brokerRole``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class BrokerRole(Enum):
    """What a broker is for the others of its name. ``brokerRole``."""

    #: Acknowledges a message as soon as it has it itself.
    ASYNC_MASTER = "ASYNC_MASTER"
    #: Acknowledges a message when slaves have it as well.
    SYNC_MASTER = "SYNC_MASTER"
    #: Copies a master.
    SLAVE = "SLAVE"


class ReplicaAcks(Enum):
    """How many copies a SYNC_MASTER waits for. RocketMQ 4.9 knows the first only; the others are ours."""

    #: One slave.
    ONE = "one"
    #: Two slaves.
    TWO = "two"
    #: So many slaves that, with the master, more than half of ``replica_count`` machines have the message.
    MAJORITY = "majority"


@dataclass(frozen=True, slots=True)
class HaConfig:
    """RocketMQ 4.9.8's defaults; it has no names for the last two.

    :ivar send_heartbeat_interval_ms: after so long without anything to say either side says that it lives.
    :ivar housekeeping_interval_ms: after so long without a word from the other side the connection is closed.
    :ivar transfer_batch_bytes: most of a piece.
    :ivar slave_fallbehind_max_bytes: a slave that is further behind is not waited for.
    :ivar slave_timeout_ms: how long a sender waits for slaves.
    :ivar replica_count: machines that hold a copy, the master is one of them; for ``ReplicaAcks.MAJORITY``.
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
        """So many slaves must have a message before a SYNC_MASTER acknowledges it."""
        if self.replica_acks is ReplicaAcks.MAJORITY:
            return self.replica_count // 2
        return 1 if self.replica_acks is ReplicaAcks.ONE else 2
