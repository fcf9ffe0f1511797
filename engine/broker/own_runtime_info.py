"""The entries of the runtime table (code 28) that RocketMQ's brokers do not have: role, replicas, clients, held pulls.

Tools that show several brokers read them over the wire; RocketMQ's own tools and its exporter skip names they do not
know.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.broker_replication import BrokerReplication
from engine.broker.delivery.pull_request_hold_service import PullRequestHoldService
from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.producer_manager import ProducerManager

#: ``LEADER``, or the value of ``brokerRole``; the term of a leader.
ROLE = "glassmqRole"
TERM = "glassmqTerm"
#: How many replicas a sender waits for.
REPLICAS_NEEDED = "glassmqReplicasNeeded"
#: The beginning of one name for each replica, which ends with its address or name. The value: what it has confirmed of
#: the commit log.
REPLICA = "glassmqReplica_"
#: A slave's connection to its master.
FOLLOWING = "glassmqFollowing"
CLIENTS = "glassmqClients"
HELD_PULLS = "glassmqHeldPulls"
#: The role of the leader of a group.
LEADER = "LEADER"


@dataclass(frozen=True)
class OwnRuntimeInfo:
    """Builds the entries."""

    replication: BrokerReplication
    consumers: ConsumerManager
    producers: ProducerManager
    held_pulls: PullRequestHoldService

    def table(self) -> dict[str, str]:
        """Return the entries."""
        channels = {channel for _, clients in self.producers for channel in clients}
        channels.update(channel for info in self.consumers for channel in info.channel_info_table)
        return {CLIENTS: str(len(channels)), HELD_PULLS: str(len(self.held_pulls)), **self._role(), **self._replicas()}

    def _role(self) -> dict[str, str]:
        replication = self.replication
        if replication.majority is not None:
            core = replication.majority.peer.core
            return {ROLE: LEADER, TERM: str(core.term), REPLICAS_NEEDED: str(len(core.voters) // 2)}
        table = {ROLE: replication.role.value}
        if replication.service is not None and replication.is_sync_master:
            table[REPLICAS_NEEDED] = str(replication.service.config.slaves_needed)
        if replication.client is not None:
            table[FOLLOWING] = replication.client.state.value
        return table

    def _replicas(self) -> dict[str, str]:
        majority, service = self.replication.majority, self.replication.service
        if majority is not None:
            return {f"{REPLICA}{one.name}": str(one.acknowledged_offset) for one in majority.followers()}
        slaves = () if service is None else service.slaves
        return {f"{REPLICA}{one.address}": str(one.acknowledged_offset) for one in slaves}
