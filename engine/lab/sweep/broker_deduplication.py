"""The state and the look-ups that a broker would need to deliver each message once, with the structures that brokers
have.

``ProducerStates`` is Kafka's of an idempotent producer; the index of keys is RocketMQ's ``IndexFile``, here of unique
ids. What neither could do: know whether a consumer whose acknowledgement is missing has done its work.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.kafka.log.producer_states import BATCHES_KEPT, ProducerStates
from engine.kafka.records.record_batch import BatchHeader
from engine.store.files.store_config import MessageStoreConfig
from engine.store.queues.index_file import index_file_size
from engine.store.queues.index_key import index_key_hash

#: Ids that are searched for in the index and are not there.
_ASKED = 20_000


class Price(NamedTuple):
    """Cost of one way to recognise duplicates.

    :ivar state_bytes: state after ``messages`` were sent.
    :ivar look_ups: average reads for one more message.
    """

    messages: int
    state_bytes: int
    look_ups: float


def by_sequence(messages: int, producers: int, partitions: int, records_per_batch: int = 1) -> Price:
    """Measure Kafka's way: each producer sends to each partition in turn; the broker keeps their last numbers."""
    states = [ProducerStates() for _ in range(partitions)]
    batches = messages // records_per_batch
    looked = 0
    for number in range(batches):
        producer, partition = number % producers, number // producers % partitions
        sequence = number // (producers * partitions) * records_per_batch
        header = BatchHeader(0, 0, 0, 2, 0, 0, records_per_batch - 1, 0, 0, producer, 0, sequence, records_per_batch)
        state = states[partition].producers.get(producer)
        looked += 1 + (len(state.batches) if state is not None else 0)
        assert states[partition].known(header) is None
        states[partition].appended(header)
    assert looked <= batches * (1 + BATCHES_KEPT)
    return Price(messages, sum(len(state.encode()) for state in states), looked / messages)


def by_unique_id(messages: int) -> Price:
    """Measure an index: the broker keeps an index of every id for as long as the messages, in one file after the other.

    An id that is new has to be looked for in all of them, in each through all ids of its hash slot. Files are alike:
    one is filled here, and asked for ids that are in none.
    """
    config = MessageStoreConfig()
    ids_in_slot: dict[int, int] = {}
    in_one = min(messages, config.max_index_num)
    for number in range(in_one):
        slot = _slot(number, config)
        ids_in_slot[slot] = ids_in_slot.get(slot, 0) + 1
    read_in_one = sum(1 + ids_in_slot.get(_slot(in_one + number, config), 0) for number in range(_ASKED))
    files = -(-messages // config.max_index_num)
    size = files * index_file_size(config.max_hash_slot_num, config.max_index_num)
    return Price(messages, size, files * read_in_one / _ASKED)


def _slot(number: int, config: MessageStoreConfig) -> int:
    return index_key_hash("Orders", f"7F00000100002A9F{number:016X}") % config.max_hash_slot_num
