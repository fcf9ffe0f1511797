"""Who leads a partition, and who counts as in sync, once brokers come or go (Kafka: ``PartitionChangeBuilder``)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from engine.kafka.replication.cluster_image import NO_LEADER, PartitionRecord


def elected(
    record: PartitionRecord, live: Collection[int], *, restarted: int = NO_LEADER, is_unclean: bool = False
) -> PartitionRecord | None:
    """The partition as it goes on with the brokers that are ``live``; None: as before.

    In sync stays who lives; where nobody does, those stay that were last, for only they have everything. A leader that
    is gone is followed by the first replica in sync that lives; with ``is_unclean``, where there is none, by any.

    Who has ``restarted`` does not lead on, but is in sync as before: its log outlived the process. (Kafka 4 takes it
    out until it has caught up; in the article's days it stayed for as long as its session in ZooKeeper.)
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
