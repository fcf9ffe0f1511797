"""Election of a partition's leader and in-sync replicas when brokers come or go (Kafka: ``PartitionChangeBuilder``)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from engine.kafka.replication.cluster_image import NO_LEADER, PartitionRecord


def elected(
    record: PartitionRecord, live: Collection[int], *, restarted: int = NO_LEADER, is_unclean: bool = False
) -> PartitionRecord | None:
    """Return the partition's new record for the brokers that are ``live``; None if nothing changes.

    Live replicas stay in sync; if none is live, the last ones stay in sync, because only they have everything. A dead
    leader is replaced by the first live in-sync replica, or, with ``is_unclean``, by any live one if there is no such.

    A broker that has ``restarted`` loses the leadership, but stays in sync: its log outlived the process. (Kafka 4
    removes it until it has caught up; at the time of the article it stayed for as long as its session in ZooKeeper.)
    """
    in_sync = tuple(node for node in record.isr if node in live or node == restarted) or record.isr
    leader = record.leader
    if leader not in live or leader not in in_sync:
        leader = next((node for node in record.replicas if node in live and node in in_sync), NO_LEADER)
    if leader == NO_LEADER and is_unclean:
        leader = next((node for node in record.replicas if node in live), NO_LEADER)
        in_sync = in_sync if leader == NO_LEADER else (leader,)
    if (leader, in_sync) == (record.leader, record.isr):
        return None
    epoch = record.leader_epoch + (leader != record.leader)
    return replace(record, leader=leader, isr=in_sync, leader_epoch=epoch, partition_epoch=record.partition_epoch + 1)
