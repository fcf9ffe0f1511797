"""Kinds of requests, and the version of each that is supported here (Kafka: ``ApiKeys``)."""

from __future__ import annotations

from enum import IntEnum


class ApiKey(IntEnum):
    """Kind of a request, with Kafka's numbers."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    API_VERSIONS = 18
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    END_TXN = 26
    ALTER_PARTITION = 56
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63


#: The supported version of each: the newest of Kafka 4.1's that has what is needed here, before variable-length lengths
#: ("flexible versions") made frames hard to read. Produce from 7 and Fetch from 10 on may carry Zstandard.
VERSIONS = {
    ApiKey.PRODUCE: 7,
    ApiKey.FETCH: 10,
    ApiKey.LIST_OFFSETS: 2,
    ApiKey.METADATA: 1,
    ApiKey.OFFSET_COMMIT: 2,
    ApiKey.OFFSET_FETCH: 1,
    ApiKey.FIND_COORDINATOR: 1,
    ApiKey.API_VERSIONS: 0,
    ApiKey.INIT_PRODUCER_ID: 0,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 3,
    ApiKey.ADD_PARTITIONS_TO_TXN: 0,
    ApiKey.END_TXN: 0,
    ApiKey.ALTER_PARTITION: 2,
    ApiKey.BROKER_REGISTRATION: 0,
    ApiKey.BROKER_HEARTBEAT: 0,
}
#: Requests between brokers and controllers, which are not announced to clients.
BETWEEN_BROKERS = (
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.ALTER_PARTITION,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
)
