"""Settings of replication and of leader election (Kafka: ``ReplicationConfigs``, ``KRaftConfigs``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ReplicationConfig:
    """A broker's settings, with Kafka's names and defaults (Kafka 4.1, broker configuration)."""

    #: ``min.insync.replicas``: with fewer in-sync replicas, a send with ``acks`` all is refused.
    min_insync_replicas: int = 1
    #: ``replica.lag.time.max.ms``: a replica that has not been at the leader's end for longer is removed from the
    #: in-sync replicas.
    replica_lag_time_max_ms: int = 30_000
    #: ``replica.fetch.wait.max.ms``: how long a leader lets a follower's fetch wait for records.
    replica_fetch_wait_max_ms: int = 500
    #: ``replica.fetch.backoff.ms``: delay after an error.
    replica_fetch_backoff_ms: int = 1_000
    #: ``replica.fetch.max.bytes``
    replica_fetch_max_bytes: int = 1_048_576
    #: ``replica.socket.timeout.ms``: how long a follower waits for the response to a fetch.
    replica_socket_timeout_ms: int = 30_000
    #: ``replica.high.watermark.checkpoint.interval.ms``
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    #: ``broker.heartbeat.interval.ms``
    broker_heartbeat_interval_ms: int = 2_000
    #: A follower asks its leader where their logs diverge (KIP-101, since Kafka 0.11). Off: as in earlier versions, it
    #: cuts its log at its own high watermark, which may be below what it helped to acknowledge.
    leader_epochs: bool = True


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """A controller's settings, with Kafka's names and defaults.

    :ivar topics: name -> number of partitions.
    :ivar brokers: ids of the brokers that hold them.
    """

    topics: Mapping[str, int] = field(default_factory=dict)
    brokers: tuple[int, ...] = ()
    #: ``default.replication.factor``, but not Kafka's 1; with fewer brokers, all of them.
    default_replication_factor: int = 3
    #: ``broker.session.timeout.ms``: a broker that has been silent for longer no longer leads anything.
    broker_session_timeout_ms: int = 9_000
    #: ``unclean.leader.election.enable``: if no in-sync replica is left, any other may lead. What it lacks is lost.
    unclean_leader_election_enable: bool = False
