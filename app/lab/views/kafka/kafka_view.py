"""The state of the nodes of Kafka, for their cards on the stage."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import BATCHES_SHOWN, IN_FLIGHT_SHOWN, PARTITIONS_SHOWN, RECORDS_SHOWN, SEGMENTS_SHOWN
from app.observation.unix_time import world_us
from engine.kafka.records.record_batch import read_header
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.wire.frames import key_of
from engine.kafka.wire.produce import ProduceRequest
from engine.lab.kafka.kafka_controller_node import node_ids

if TYPE_CHECKING:
    from app.picture.world import kafka as picture
    from app.picture.world.producer import InFlight
    from engine.kafka.client.fetcher import CompletedFetch
    from engine.kafka.client.in_flight_requests import ClientRequest
    from engine.kafka.client.kafka_producer import KafkaProducer
    from engine.kafka.replication.replica import Replica
    from engine.kafka.wire.fields import KafkaMessage
    from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
    from engine.lab.kafka.kafka_consumer_node import KafkaConsumerNode
    from engine.lab.kafka.kafka_controller_node import KafkaControllerNode
    from engine.lab.kafka.kafka_producer_node import KafkaProducerNode
    from engine.lab.kafka.stored_log import StoredSegment
    from engine.lab.nodes.scenario_node import ScenarioNode


def kafka_broker_view(role: KafkaBrokerNode) -> picture.KafkaBroker:
    """Return the view of a Kafka broker."""
    committed: dict[tuple[str, int], dict[str, int]] = {}
    for (group, topic, partition), offset in role.committed_offsets():
        committed.setdefault((topic, partition), {})[group] = offset
    partitions: list[picture.Partition] = []
    for (topic, partition), found in groupby(role.stored.segments(), lambda one: (one.topic, one.partition)):
        segments = list(found)
        replica = role.replicas.get(TopicPartition(topic, partition))
        partitions.append(
            {
                "topic": topic,
                "partition": partition,
                "start": segments[0].base_offset,
                "end": segments[-1].next_offset,
                "size_bytes": sum(segment.size_bytes for segment in segments),
                "committed": committed.get((topic, partition), {}),
                "segments": [_segment_view(segment) for segment in segments[-SEGMENTS_SHOWN:]],
                "replica": None if replica is None else _replica_view(replica, _names(role)),
            }
        )
    held = 0 if role.broker is None else role.broker.partitions.purgatory.waiting_count
    return {"partitions": partitions, "held_fetches": held}


def _names(role: ScenarioNode) -> dict[int, str]:
    return {number: name for name, number in node_ids(role.world).items()}


def _replica_view(replica: Replica, names: dict[int, str]) -> picture.PartitionReplica:
    isr = [names[node] for node in replica.isr]
    replicas = [names[node] for node in replica.nodes]
    asked = [names[node] for node in replica.asked_isr or ()]
    followers: list[picture.PartitionFollower] = [
        {"name": names[node], "end": progress.end_offset} for node, progress in replica.followers.items()
    ]
    return {
        "state": replica.state.value,
        "leader": names.get(replica.leader, ""),
        "epoch": replica.leader_epoch,
        "high_watermark": replica.log.high_watermark,
        "replicas": replicas,
        "isr": isr,
        "asked_isr": asked if replica.asked_isr is not None else None,
        "followers": followers,
    }


def kafka_controller_view(role: KafkaControllerNode) -> picture.KafkaController | picture.NoProcess:
    """Return the view of a Kafka controller."""
    controller = role.controller
    if controller is None:
        return {}
    names, heard_ms, begin_ms = _names(role), controller.heard_ms, role.runtime.clock.begin_ms
    brokers: list[picture.BrokerSession] = [
        {
            "name": name,
            "heard_us": world_us(heard_ms[node], begin_ms) if node in heard_ms else None,
        }
        for node, name in names.items()
    ]
    partitions: list[picture.PartitionLeader] = [
        {
            "topic": one.topic,
            "partition": one.partition,
            "leader": names.get(one.leader, ""),
            "epoch": one.leader_epoch,
            "replicas": [names[node] for node in one.replicas],
            "isr": [names[node] for node in one.isr],
        }
        for one in islice(controller.image.partitions.values(), PARTITIONS_SHOWN)
        if not one.topic.startswith("__")
    ]
    session_us = controller.config.broker_session_timeout_ms * 1_000
    return {"brokers": brokers, "session_us": session_us, "partitions": partitions}


def _segment_view(segment: StoredSegment) -> picture.Segment:
    indexed = {position for _, position in segment.index_entries}
    batches: list[picture.Batch] = [
        {
            "offset": batch.header.base_offset,
            "records": batch.header.record_count,
            "size_bytes": batch.header.size_bytes,
            "codec": batch.header.codec.name.lower(),
            "is_indexed": batch.position in indexed,
            "is_unflushed": not batch.is_flushed,
        }
        for batch in segment.batches[-BATCHES_SHOWN:]
    ]
    return {
        "name": segment.name,
        "base_offset": segment.base_offset,
        "size_bytes": segment.size_bytes,
        "batch_count": len(segment.batches),
        "index_entries": len(segment.index_entries),
        "torn_bytes": segment.torn_bytes,
        "batches": batches,
    }


def kafka_producer_view(role: KafkaProducerNode) -> picture.KafkaProducer:
    """Return the view of a Kafka producer."""
    in_flight: list[InFlight] = [
        {"key": key, "since_us": since_us} for key, since_us in islice(role.in_flight.items(), IN_FLIGHT_SHOWN)
    ]
    view: picture.KafkaProducer = {
        "sent": role.sent,
        "acknowledged": role.acknowledged,
        "failed": role.refused,
        "unknown": role.unknown,
        "in_flight": in_flight,
    }
    producer = role.producer
    if producer is not None:
        view["accumulator"] = _accumulator_view(role, producer)
        view["requests"] = _requests_view(role, (*producer.client.unsent, *producer.client.in_flight))
        view["max_in_flight"] = producer.config.max_in_flight
        view["producer_id"] = producer.sender.owner.producer_id
    return view


def _accumulator_view(role: KafkaProducerNode, producer: KafkaProducer) -> picture.Accumulator:
    config = producer.config
    partitions: list[picture.AccumulatedPartition] = []
    for place, row in sorted(producer.accumulator.rows.items()):
        batches: list[picture.AccumulatedBatch] = [
            {
                "records": len(batch.records),
                "size_bytes": batch.size_bytes,
                "since_us": world_us(batch.created_ms, role.runtime.clock.begin_ms),
                "attempts": batch.tries,
                "is_closed": batch is not row[-1] or batch.size_bytes >= config.batch_size,
            }
            for batch in islice(row, IN_FLIGHT_SHOWN)
        ]
        partitions.append({"topic": place.topic, "partition": place.partition, "batches": batches})
    return {
        "batch_bytes": config.batch_size,
        "linger_us": config.linger_ms * 1_000,
        "memory_bytes": config.buffer_memory,
        "used_bytes": producer.accumulator.used_bytes,
        "partitions": partitions,
    }


def kafka_consumer_view(role: KafkaConsumerNode) -> picture.KafkaConsumer:
    """Return the view of a Kafka consumer."""
    keys = [*role.polled[:RECORDS_SHOWN]]
    view: picture.KafkaConsumer = {
        "group": role.spec.group,
        "topic": role.spec.topic,
        "consumed": role.consumed,
        "polled": {"keys": keys, "count": len(role.polled), "at": role.polled[role.at] if role.at >= 0 else None},
    }
    consumer = role.consumer
    if consumer is not None:
        clients = (consumer.client, consumer.coordinator)
        completed = [_completed_view(fetch) for fetch in consumer.fetcher.completed_fetches]
        view["fetcher"] = {
            "unsent": _requests_view(role, [one for client in clients for one in client.unsent]),
            "in_flight": _requests_view(role, [one for client in clients for one in client.in_flight]),
            "completed": completed,
        }
        positions: list[picture.Position] = [
            {
                "topic": place.topic,
                "partition": place.partition,
                "position": consumer.position(place),
                "committed": consumer.committed.get(place),
            }
            for place in role.partitions
        ]
        view["positions"] = positions
    return view


def _completed_view(fetch: CompletedFetch) -> picture.CompletedFetch:
    counts: list[tuple[int, int]] = []
    position = 0
    while position < len(fetch.data):
        header = read_header(fetch.data, position)
        counts.append((position, header.record_count))
        position += header.size_bytes
    unopened = sum(count for start, count in counts if start >= fetch.read_bytes)
    return {
        "topic": fetch.place.topic,
        "partition": fetch.place.partition,
        "records": sum(count for _, count in counts),
        "records_left": len(fetch.records) + unopened,
        "size_bytes": len(fetch.data),
    }


def _requests_view(role: ScenarioNode, requests: Iterable[ClientRequest]) -> list[picture.ClientRequest]:
    return [
        {
            "number": one.correlation_id,
            "name": key_of(one.request).name,
            "records": _record_count(one.request),
            "since_us": world_us(one.sent_ms, role.runtime.clock.begin_ms) if one.sent_ms else None,
        }
        for one in islice(requests, IN_FLIGHT_SHOWN)
    ]


def _record_count(request: KafkaMessage) -> int:
    """Return the number of records in a produce request: each partition has one batch."""
    topics = request.topics if isinstance(request, ProduceRequest) else ()
    return sum(read_header(one.records or b"").record_count for topic in topics for one in topic.partitions)
