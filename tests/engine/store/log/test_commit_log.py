"""Encoding and placing messages in the commit log."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.protocol.message.addresses import encode_host
from engine.protocol.message.message_codec import decode_stored_message, encode_stored_parts, peek_stored_message
from engine.protocol.message.record_layout import BLANK_MAGIC
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.put_message_result import PutMessageStatus
from tests.engine.store.store_world import BORN_HOST, STORE_HOST, StoreWorld, small_config, store_batch, store_message

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None)
@given(
    body=st.binary(max_size=300),
    topic=st.text("abcXYZ019_-%|", min_size=1, max_size=127),
    properties=st.text(max_size=200),
    queue_id=st.integers(0, 2**31 - 1),
    flag=INT32,
    sys_flag=st.sampled_from([0, 0x1, 0x301, 0x8]),
    born_timestamp=INT64,
    reconsume_times=INT32,
    prepared=INT64,
    born_host=st.sampled_from([BORN_HOST, "[::1]:9", encode_host("10.1.2.3:65535"), encode_host("[::2]:1")]),
)
def test_the_stores_encoder_writes_what_the_codec_writes(
    body,
    topic,
    properties,
    queue_id,
    flag,
    sys_flag,
    born_timestamp,
    reconsume_times,
    prepared,
    born_host,
):
    world = StoreWorld()
    try:
        world.start()
        message = store_message(
            body,
            topic,
            queue_id,
            properties_string=properties,
            flag=flag,
            sys_flag=sys_flag,
            born_timestamp=born_timestamp,
            born_host=born_host,
            reconsume_times=reconsume_times,
            prepared_transaction_offset=prepared,
        )
        result = world.do(lambda: world.store.put_message(message))
        host = born_host if isinstance(born_host, bytes) else encode_host(born_host)
        expected = encode_stored_parts(
            topic=topic.encode(),
            body=body,
            properties=properties.encode(),
            queue_id=queue_id,
            flag=flag,
            queue_offset=0,
            physical_offset=0,
            sys_flag=sys_flag | (0x10 if len(host) == 20 else 0),
            born_timestamp=born_timestamp,
            born_host=host,
            store_timestamp=result.store_timestamp,
            store_host=encode_host(STORE_HOST),
            reconsume_times=reconsume_times,
            prepared_transaction_offset=prepared,
        )
        assert world.store.commit_log.record_at(0) == expected
    finally:
        world.world.close()


@pytest.fixture
def world():
    world = StoreWorld(small_config(mapped_file_size_commit_log=1024))
    world.start()
    return world


def test_a_full_file_ends_with_a_blank_and_the_log_goes_on_in_the_next(world):
    results = [world.put(b"x" * 250) for _ in range(4)]
    assert [result.offset for result in results[:3]] == [0, 342, 684 if results[2].offset == 684 else 1024]
    first_in_second_file = next(result for result in results if result.offset == 1024)
    end = max(result.end_offset for result in results if result.offset < 1024)
    size, magic = peek_stored_message(world.disk.read_whole("commitlog/00000000000000000000"), end)
    assert (size, magic) == (1024 - end, BLANK_MAGIC)
    assert world.disk.list_folder("commitlog") == ["00000000000000000000", "00000000000000001024"]
    assert decode_stored_message(world.store.commit_log.record_at(1024)).commit_log_offset == 1024
    assert first_in_second_file.queue_offset == results.index(first_in_second_file)
    assert len(world.bodies()) == 4


@pytest.mark.parametrize("rest", range(16))
def test_a_message_fits_only_if_eight_bytes_are_left_for_the_blank(world, rest):
    world.put(b"x" * 400)
    first_end = world.store.commit_log.max_offset
    overhead = first_end - 400
    second = world.put(b"y" * (1024 - first_end - overhead - rest))
    assert second.offset == (first_end if rest >= 8 else 1024)
    assert [len(body) for body in world.bodies()] == [400, 1024 - first_end - overhead - rest]


def test_a_batch_is_never_spread_over_two_files(world):
    world.put(b"x" * 500)
    result = world.put_batch([b"a" * 100, b"b" * 100, b"c" * 100])
    assert result.offset == 1024
    assert [len(body) for body in world.bodies()] == [500, 100, 100, 100]
    assert world.store.message_at(result.offsets[2]).queue_offset == 3


def test_a_batch_of_small_messages_may_grow_beyond_the_largest_message_but_not_beyond_a_file():
    world = StoreWorld(small_config(max_message_size=1_000))
    world.start()
    result = world.put_batch([b"%d" % number for number in range(600)])
    assert (result.status, result.message_count) == (PutMessageStatus.PUT_OK, 600)
    assert result.size_bytes > 50 * 1_000
    refused = world.put_batch([b"%d" % number for number in range(800)])
    assert refused.status is PutMessageStatus.MESSAGE_ILLEGAL
    assert "the 800 messages of the batch would take" in refused.remark
    assert f"allowed: {64 * 1024 - 8} " in refused.remark
    assert len(world.bodies()) == 600


def test_with_default_settings_every_batch_of_4_mib_that_a_client_makes_is_stored():
    """A client gives every message a unique id, so the smallest messages of a batch take 66 bytes each on the wire."""
    world = StoreWorld(MessageStoreConfig())
    world.start()
    properties = "UNIQ_KEY\x01" + "7F00000100002A9F0000000000000000" + "\x02WAIT\x01true\x02CLUSTER\x01DefaultCluster"
    messages = [store_message(b"x", topic="TopicTest", properties_string=properties)] * (4 * 1024 * 1024 // 66)
    result = world.do(lambda: world.store.put_batch(store_batch(messages)))
    assert (result.status, result.message_count) == (PutMessageStatus.PUT_OK, 63_550)
    assert world.store.max_offset("TopicTest", 0) == 63_550


def test_a_message_larger_than_a_file_is_refused_and_leaves_no_trace(world):
    world.put(b"before")
    result = world.put(b"x" * 1_000)
    assert result.status is PutMessageStatus.MESSAGE_ILLEGAL
    assert "room for 1016" in result.remark
    assert world.put(b"after").queue_offset == 1
    assert world.bodies() == [b"before", b"after"]
    assert world.disk.list_folder("commitlog") == ["00000000000000000000"]


@pytest.mark.parametrize(
    ("fields", "status", "remark"),
    [
        ({"body": b"x" * 101}, PutMessageStatus.MESSAGE_ILLEGAL, "101 bytes; allowed: 100"),
        (
            {"properties_string": "x" * 32_768},
            PutMessageStatus.PROPERTIES_SIZE_EXCEEDED,
            "32768 bytes; allowed: 32767",
        ),
        ({"topic": "t" * 128}, PutMessageStatus.MESSAGE_ILLEGAL, "128 characters; allowed: 1 to 127"),
        ({"topic": ""}, PutMessageStatus.MESSAGE_ILLEGAL, "0 characters"),
        ({"flag": 2**40}, PutMessageStatus.MESSAGE_ILLEGAL, "does not fit its field"),
        ({"born_host": "nowhere"}, PutMessageStatus.MESSAGE_ILLEGAL, "nowhere"),
    ],
)
def test_what_does_not_fit_the_layout_is_refused_and_named(fields, status, remark):
    world = StoreWorld(small_config(max_message_size=100))
    world.start()
    message = store_message(**fields)
    for result in (
        world.do(lambda: world.store.put_message(message)),
        world.do(lambda: world.store.put_batch(store_batch([message]))),
    ):
        assert result.status is status
        assert remark in result.remark
    assert world.store.commit_log.max_offset == 0
    assert world.put(b"fine").queue_offset == 0


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"body": b"x" * 101}, "message 2 of the batch: the body takes 101 bytes; allowed: 100"),
        ({"properties_string": "x" * 32_768}, "message 2 of the batch: the properties take 32768 bytes"),
    ],
)
def test_a_refused_batch_names_the_message_and_stores_none(fields, remark):
    world = StoreWorld(small_config(max_message_size=100))
    world.start()
    # The one before is larger, where it may be.
    messages = [store_message(), store_message(body=b"x" * 100, properties_string="x" * 100), store_message(**fields)]
    result = world.do(lambda: world.store.put_batch(store_batch(messages)))
    assert remark in result.remark
    assert world.store.commit_log.max_offset == 0


def test_the_longest_topic_and_properties_fit():
    world = StoreWorld(small_config())
    world.start()
    world.put(topic="t" * 127, properties_string="p" * 32_767)
    [message] = world.messages("t" * 127)
    assert message.store_size == 91 + 5 + 127 + 32_767


def test_a_full_disk_refuses_messages_and_loses_none(world):
    world.put(b"before")
    world.storage.occupied_bytes = world.storage.capacity_bytes
    refused = [world.put(b"x" * 400) for _ in range(5)]
    assert refused[-1].status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert "full" in refused[-1].remark
    accepted = sum(result.is_ok for result in refused)
    world.storage.occupied_bytes = 0
    world.world.run_for(20_000)
    assert world.put(b"after").is_ok
    assert world.bodies() == [b"before", *[b"x" * 400] * accepted, b"after"]


def test_log_files_may_have_another_size_than_before():
    world = StoreWorld(small_config(mapped_file_size_commit_log=1024))
    world.start()
    for number in range(10):
        world.put(bytes((number,)) * 200)
    for size in (4096, 512):
        world.shutdown()
        world.config = small_config(mapped_file_size_commit_log=size)
        # A last file that is too short may also have been cut, so it is mentioned; nothing else is.
        assert all("the rest is taken as empty" in line for line in world.start_again().lines)
        for number in range(10):
            assert world.put(bytes((number,)) * 200).is_ok
    assert world.bodies() == [bytes((number,)) * 200 for number in range(10)] * 3
