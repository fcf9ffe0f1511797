"""The store reads what a real RocketMQ 4.9.8 broker wrote, and writes the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.protocol.message.message_codec import decode_stored_message, encode_stored_message, stored_properties_text
from engine.store.files.consume_queue_entry import CONSUME_QUEUE_ENTRY
from engine.store.queues.dispatch_request import DispatchRequest
from tests.engine.store.store_world import StoreWorld, small_config

GOLDEN = Path(__file__).parents[2] / "golden"
LOG = (GOLDEN / "commitlog.head16k.bin").read_bytes()
#: Whole messages in these 16 KiB, and where the last one ends: the next one is cut off by the end of the capture.
MESSAGE_COUNT = 70
LOG_END = 16_183

QUEUES = {
    "cq.GO_0.bin": ("GO", 0),
    "cq.GT_0.bin": ("GT", 0),
    "cq.GT_1.bin": ("GT", 1),
    "cq.GX_0.bin": ("GX", 0),
    "cq.RMQ_SYS_TRANS_HALF_TOPIC_0.bin": ("RMQ_SYS_TRANS_HALF_TOPIC", 0),
    "cq.RMQ_SYS_TRANS_OP_HALF_TOPIC_0.bin": ("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0),
    "cq.SCHEDULE_TOPIC_XXXX_0.bin": ("SCHEDULE_TOPIC_XXXX", 0),
    "cq._RETRY_gc1_0.bin": ("%RETRY%gc1", 0),
}


def golden_entries(file_name):
    """The real broker's entries that point into the captured part of its log."""
    entries = CONSUME_QUEUE_ENTRY.iter_unpack((GOLDEN / file_name).read_bytes())
    return [entry for entry in entries if entry[1] and entry[0] + entry[1] <= LOG_END]


@pytest.fixture
def world():
    world = StoreWorld(small_config(mapped_file_size_commit_log=len(LOG)))
    world.disk.write_whole("commitlog/00000000000000000000", LOG)
    world.start()
    return world


def test_the_walk_finds_every_whole_message_and_cuts_the_torn_one(world):
    assert world.report.messages_checked == MESSAGE_COUNT
    assert (world.report.commit_log_max_offset, world.store.commit_log.max_offset) == (LOG_END, LOG_END)
    assert world.report.bytes_cut == len(LOG) - LOG_END
    assert world.report.damaged_ranges == []


def test_every_message_encodes_to_the_same_bytes(world):
    offset = 0
    while offset < LOG_END:
        record = world.store.commit_log.record_at(offset)
        message = decode_stored_message(record)
        assert message.commit_log_offset == offset
        assert encode_stored_message(message, stored_properties_text(record)) == record
        assert record == LOG[offset : offset + len(record)]
        offset += len(record)
    assert offset == LOG_END


@pytest.mark.parametrize("file_name", sorted(QUEUES))
def test_dispatch_writes_the_real_brokers_consume_queues(world, file_name):
    topic, queue_id = QUEUES[file_name]
    expected = golden_entries(file_name)
    assert expected
    assert world.store.consume_queue_entries(topic, queue_id, 0, 100) == expected
    on_disk = world.disk.read_whole(world.path_of_queue(topic, queue_id))
    packed = b"".join(CONSUME_QUEUE_ENTRY.pack(*entry) for entry in expected)
    assert on_disk[: len(packed)] == (GOLDEN / file_name).read_bytes()[: len(packed)]


def test_all_golden_queues_are_covered():
    assert sorted(path.name for path in GOLDEN.glob("cq.*.bin")) == sorted(QUEUES)


def test_messages_are_found_by_the_real_clients_keys(world):
    for key in ("key1", "C00002024B9B5FFD2B2768FEE9C00001"):
        result = world.store.query_message("GT", key, 32, 0, 1 << 62)
        assert [decode_stored_message(buffer).commit_log_offset for buffer in result.buffers] == [188]


def test_what_the_scanner_tells_the_dispatcher_is_what_the_messages_say(world):
    world.shutdown()
    world.disk.remove("consumequeue")
    dispatched: list[DispatchRequest] = []
    world.start_again()
    for topic, queue_id, queue in world.store.consume_queues():
        for message in world.messages(topic, queue_id):
            assert (message.topic, message.queue_id) == (topic, queue_id)
        dispatched += queue.entries(0, 1_000)
    assert len(dispatched) == MESSAGE_COUNT
