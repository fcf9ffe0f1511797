"""The store as the broker uses it."""

from __future__ import annotations

import pytest

from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.addresses import encode_host
from engine.protocol.message.message_codec import decode_messages, decode_stored_message
from engine.protocol.message.message_id import encode_offset_message_id
from engine.protocol.message.message_properties import encode_properties
from engine.runtime.port import FolderLocked
from engine.store.log.put_message_result import PutMessageStatus
from engine.store.log.store_batch import StoreBatch
from engine.store.log.stored_record import parse_record
from engine.store.message_store import MessageStore
from engine.store.reading.get_message_result import GetMessageStatus
from engine.store.reading.message_collector import FILTER_EFFORT_MAX
from tests.engine.store.store_world import BORN_HOST, STORE_HOST, StoreWorld, small_config, store_batch, store_message


@pytest.fixture
def world():
    world = StoreWorld()
    world.start()
    return world


def get(world, offset=0, count=32, topic="T", queue_id=0, message_filter=None):
    return world.store.get_message("G", topic, queue_id, offset, count, message_filter)


class TagFilter:
    reads_message = False
    effort = 0

    def __init__(self, *tags):
        self.codes = [java_string_hash(tag) for tag in tags]

    def matches_consume_queue(self, tags_code, unit):
        return tags_code in self.codes

    def matches_commit_log(self, record):
        raise AssertionError("a tag filter reads no messages")


class BodyFilter:
    reads_message = True
    effort = 10

    def matches_consume_queue(self, tags_code, unit):
        return True

    def matches_commit_log(self, record):
        return decode_stored_message(record).body.startswith(b"wanted")


# --- putting


def test_a_put_message_is_stored_with_everything_it_came_with(world):
    result = world.put(
        b"body",
        tags="TagA",
        keys="k1 k2",
        unique_key="U1",
        flag=7,
        sys_flag=0x301,
        reconsume_times=3,
        prepared_transaction_offset=99,
    )
    assert (result.status, result.offset, result.queue_offset) == (PutMessageStatus.PUT_OK, 0, 0)
    [message] = world.messages()
    assert message.body == b"body"
    assert message.properties == {"TAGS": "TagA", "KEYS": "k1 k2", "UNIQ_KEY": "U1"}
    assert (message.flag, message.sys_flag, message.reconsume_times) == (7, 0x301, 3)
    assert message.prepared_transaction_offset == 99
    assert (message.born_host, message.store_host) == ("127.0.0.1:50000", "127.0.0.1:10911")
    assert message.store_timestamp == result.store_timestamp == world.runtime.clock.now_ms()
    assert message.store_size == result.size_bytes == result.end_offset


def test_the_offset_message_id_leads_to_the_message(world):
    world.put(b"first")
    result = world.put(b"second")
    assert result.offset_message_id == encode_offset_message_id(STORE_HOST, result.offset)
    assert world.store.message_at(result.offset).body == b"second"
    assert decode_stored_message(world.store.commit_log.record_at(result.offset)).body == b"second"
    assert world.store.message_at(result.offset + 1) is None
    assert world.store.message_at(10**12) is None
    assert world.store.commit_log.record_at(result.end_offset) is None


def test_queues_count_their_offsets_separately(world):
    for number in range(6):
        world.put(str(number).encode(), queue_id=number % 2)
    world.put(b"other", topic="Other")
    assert [m.queue_offset for m in world.messages(queue_id=1)] == [0, 1, 2]
    assert world.bodies(queue_id=0) == [b"0", b"2", b"4"]
    assert world.bodies("Other") == [b"other"]
    assert [(topic, queue_id) for topic, queue_id, _ in world.store.consume_queues()] == [
        ("Other", 0),
        ("T", 0),
        ("T", 1),
    ]


def test_a_message_becomes_visible_only_after_the_turn_of_the_event_loop_that_put_it(world):
    seen_at_once = []

    def put():
        world.store.put_message(store_message())
        seen_at_once.append(world.store.max_offset("T", 0))
        assert world.store.dispatch_behind_bytes > 0

    world.do(put)
    assert seen_at_once == [0]
    assert world.store.max_offset("T", 0) == 1
    assert world.store.dispatch_behind_bytes == 0


def test_arrivals_are_reported_once_for_all_messages_of_one_turn(world):
    arrived = []
    world.store.dispatcher.on_messages_arrived = arrived.append
    result = world.do(lambda: [world.store.put_message(store_message(tags="TagA")) for _ in range(2)])[0]
    [requests] = arrived
    assert [(request.topic, request.queue_offset) for request in requests] == [("T", 0), ("T", 1)]
    assert {request.tags_code for request in requests} == {java_string_hash("TagA")}
    assert requests[0].store_timestamp == result.store_timestamp


def test_a_batch_is_stored_side_by_side_with_consecutive_offsets_and_comma_joined_ids(world):
    world.put(b"before")
    result = world.put_batch([b"a", b"b", b"c"])
    assert result.is_ok
    assert (result.queue_offset, result.message_count, len(result.offsets)) == (1, 3, 3)
    ids = result.offset_message_id.split(",")
    assert ids == [encode_offset_message_id(STORE_HOST, offset) for offset in result.offsets]
    assert world.bodies() == [b"before", b"a", b"b", b"c"]
    assert world.store.commit_log.max_offset == result.end_offset


def test_the_messages_of_a_batch_lie_in_the_log_as_if_they_had_come_one_by_one():
    fields: list[dict] = [{"tags": "TagA", "flag": 7}, {"keys": "k1 k2"}, {"body": b"", "unique_key": "0A" * 16}]
    batched, single = StoreWorld(small_config()), StoreWorld(small_config())
    for world in (batched, single):
        world.start()
    batch = store_batch([store_message(**one) for one in fields])

    def put_singly():
        for one in fields:
            single.store.put_message(store_message(**one))

    batched.do(lambda: batched.store.put_batch(batch))
    single.do(put_singly)
    end = single.store.commit_log.max_offset
    assert end > 0
    for world in (batched, single):
        assert world.store.commit_log.max_offset == end
    assert batched.store.commit_log.files.read(0, end) == single.store.commit_log.files.read(0, end)
    assert batched.store.consume_queue_entries("T", 0, 0, 9) == single.store.consume_queue_entries("T", 0, 0, 9)
    found = batched.store.query_message("T", "k2", 9, 0, 2**50)
    assert len(found.buffers) == 1


@pytest.mark.parametrize(
    ("batch", "remark"),
    [
        (StoreBatch("T", 0, [], 0, BORN_HOST, STORE_HOST), "empty"),
        (store_batch([store_message(sys_flag=0x4)]), "transactional"),
    ],
)
def test_an_impossible_batch_is_refused_as_a_whole(world, batch, remark):
    result = world.do(lambda: world.store.put_batch(batch))
    assert result.status is PutMessageStatus.MESSAGE_ILLEGAL
    assert remark in result.remark
    assert world.store.commit_log.max_offset == 0
    assert (result.message_count, result.offset_message_id) == (0, "")


def test_prepared_and_rolled_back_messages_get_no_logical_offset(world):
    world.put(b"prepared", sys_flag=0x4)
    world.put(b"rolled back", sys_flag=0xC)
    committed = world.put(b"committed", sys_flag=0x8)
    assert committed.queue_offset == 0
    assert world.bodies() == [b"committed"]


def test_messages_are_refused_before_start_and_after_shutdown():
    world = StoreWorld()
    assert world.put().status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    world.start()
    assert world.put().is_ok
    world.shutdown()
    refused = world.put()
    assert (refused.status, refused.remark) == (PutMessageStatus.SERVICE_NOT_AVAILABLE, "the store is not running")


def test_a_second_store_cannot_use_the_same_folder(world):
    other = MessageStore(world.runtime, world.config)
    with pytest.raises(FolderLocked):
        other.load()
    assert world.put().is_ok


# --- getting


def test_get_reads_from_an_offset_up_to_a_count(world):
    for number in range(10):
        world.put(str(number).encode())
    result = get(world, offset=3, count=4)
    assert (result.status, result.next_begin_offset, result.message_count) == (GetMessageStatus.FOUND, 7, 4)
    assert (result.min_offset, result.max_offset) == (0, 10)
    assert [m.body for m in decode_messages(result.data)] == [b"3", b"4", b"5", b"6"]
    assert result.last_store_timestamp == world.runtime.clock.now_ms()


def test_messages_come_without_what_lies_between_them(world):
    world.put_batch([b"a", b"b"])
    world.put(b"in between", topic="Other")
    world.put_batch([b"c", b"d"])
    world.put(b"x" * 10_000, topic="Other")
    world.put(b"e")
    result = get(world)
    assert [message.body for message in decode_messages(result.data)] == [b"a", b"b", b"c", b"d", b"e"]
    assert result.message_count == 5


@pytest.mark.parametrize(
    ("offset", "status", "next_offset"),
    [
        (3, GetMessageStatus.OFFSET_OVERFLOW_ONE, 3),
        (4, GetMessageStatus.OFFSET_OVERFLOW_BADLY, 3),
        (-1, GetMessageStatus.OFFSET_TOO_SMALL, 0),
    ],
)
def test_get_outside_of_the_queue_says_where_to_go_on(world, offset, status, next_offset):
    world.put_batch([b"a", b"b", b"c"])
    result = get(world, offset)
    assert (result.status, result.next_begin_offset, result.data) == (status, next_offset, b"")


def test_get_from_an_unknown_queue_or_one_without_visible_messages(world):
    assert get(world).status is GetMessageStatus.NO_MATCHED_LOGIC_QUEUE
    world.put(sys_flag=0x4)
    result = get(world)
    assert (result.status, result.next_begin_offset) == (GetMessageStatus.NO_MESSAGE_IN_QUEUE, 0)


def test_get_stops_at_the_transfer_limits_but_always_gives_one_message():
    world = StoreWorld(small_config(max_transfer_bytes_on_message_in_memory=500))
    world.start()
    for _ in range(4):
        world.put(b"x" * 150)
    assert get(world).message_count == 2
    world.put(b"y" * 2_000)
    assert get(world, offset=4).message_count == 1
    assert get(world, count=1).message_count == 1


def test_a_bulk_read_has_limits_of_its_own(monkeypatch):
    world = StoreWorld(small_config(access_message_in_memory_max_bytes=500))
    world.start()
    for _ in range(60):
        world.put(b"x" * 100)

    def bulk(max_bytes, count=100):
        return world.store.get_message("G", "T", 0, 0, count, None, max_bytes).message_count

    one = len(world.store.get_message("G", "T", 0, 0, 1).data)
    assert (bulk(100 * one), bulk(100 * one, count=40), bulk(3 * one + 1)) == (60, 40, 3)
    monkeypatch.setattr("engine.store.reading.message_collector.BULK_MAX_BYTES", 5 * one)
    assert bulk(100 * one) == 5
    monkeypatch.setattr("engine.store.reading.message_collector.BULK_MAX_MESSAGES", 4)
    assert bulk(100 * one) == 4


def test_a_bulk_read_passes_over_offsets_that_were_left_out():
    world = StoreWorld(small_config())
    world.start()
    for body in b"ab", b"cd":
        for letter in body.decode():
            world.put(letter.encode())
        queue = next(queue for topic, queue_id, queue in world.store.consume_queues() if (topic, queue_id) == ("T", 0))
        queue.skip_to(6)

    def bulk(offset, max_bytes, count=100):
        result = world.store.get_message("G", "T", 0, offset, count, None, max_bytes)
        return b"".join(message.body for message in decode_messages(result.data)), result.next_begin_offset

    one = len(world.store.get_message("G", "T", 0, 0, 1).data)
    assert bulk(0, 100 * one) == (b"abcd", 8)
    assert bulk(0, 3 * one) == (b"abc", 7), "they take no room"
    assert bulk(2, 1) == (b"c", 7), "the message behind them comes whatever its size is"
    assert bulk(3, 1, count=2) == (b"", 5)


def test_messages_far_behind_the_end_count_as_on_disk_and_come_in_smaller_portions():
    world = StoreWorld(small_config(access_message_in_memory_max_bytes=1_500, max_transfer_count_on_message_in_disk=2))
    world.start()
    for _ in range(20):
        world.put(b"x" * 100)
    assert get(world, offset=0).message_count == 2
    assert get(world, offset=15).message_count == 5


def test_a_tag_filter_skips_messages_and_moves_on_behind_them(world):
    for number in range(8):
        world.put(str(number).encode(), tags="TagA" if number % 3 == 0 else "TagB")
    result = get(world, message_filter=TagFilter("TagA"))
    assert [m.body for m in decode_messages(result.data)] == [b"0", b"3", b"6"]
    assert result.next_begin_offset == 8
    nothing = get(world, message_filter=TagFilter("TagC"))
    assert (nothing.status, nothing.next_begin_offset) == (GetMessageStatus.NO_MATCHED_MESSAGE, 8)


def test_a_filter_may_look_into_the_message(world):
    for body in (b"wanted 1", b"other", b"wanted 2"):
        world.put(body)
    result = get(world, message_filter=BodyFilter())
    assert [m.body for m in decode_messages(result.data)] == [b"wanted 1", b"wanted 2"]
    assert get(world, message_filter=BodyFilter(), count=1).next_begin_offset == 1


def test_a_filter_that_takes_long_judges_fewer_messages_of_one_request(world):
    for number in range(12):
        world.put(b"wanted" if number == 11 else b"other")

    costly = BodyFilter()
    costly.effort = FILTER_EFFORT_MAX // 5
    first = get(world, message_filter=costly)
    assert (first.status, first.next_begin_offset) == (GetMessageStatus.NO_MATCHED_MESSAGE, 5)
    assert get(world, 5, message_filter=costly).next_begin_offset == 10
    assert get(world, 10, message_filter=costly).status is GetMessageStatus.FOUND
    costly.effort = 10 * FILTER_EFFORT_MAX
    assert get(world, message_filter=costly).next_begin_offset == 1


def test_one_filtered_get_looks_at_800_entries_at_most():
    world = StoreWorld(small_config(mapped_file_size_commit_log=1024 * 1024))
    world.start()
    for _ in range(10):
        world.put_batch([b"x"] * 100)
    assert get(world, message_filter=TagFilter("TagA")).next_begin_offset == 800


def test_offset_by_time_finds_the_message_stored_nearest_to_a_time(world):
    times = []
    for _ in range(5):
        times.append(world.put().store_timestamp)
        world.world.run_for(1_000)
    store = world.store
    assert [store.offset_by_time("T", 0, time) for time in times] == [0, 1, 2, 3, 4]
    assert store.offset_by_time("T", 0, times[2] + 1) == 2
    assert store.offset_by_time("T", 0, times[2] + 500) == 2
    assert store.offset_by_time("T", 0, times[2] + 501) == 3
    assert store.offset_by_time("T", 0, 0) == 0
    assert store.offset_by_time("T", 0, times[4] + 1) == 4
    assert store.offset_by_time("Unknown", 0, 0) == 0
    assert store.earliest_message_time("T", 0) == times[0]
    assert store.earliest_message_time("Unknown", 0) == -1
    assert store.last_store_timestamp("T", 0) == times[4]


def test_a_deleted_topic_is_gone_with_its_files_and_stays_gone(world):
    world.put(topic="Doomed", queue_id=3)
    world.put(topic="Kept")
    world.store.delete_topics(["Doomed"])
    assert world.store.topics() == ["Kept"]
    assert world.disk.list_folder("consumequeue") == ["Kept"]
    world.shutdown()
    world.start_again()
    assert world.store.topics() == ["Kept"]


def test_a_message_put_in_the_turn_that_deletes_its_topic_does_not_bring_the_topic_back(world):
    world.put(topic="Doomed")

    def put_and_delete():
        world.store.put_message(store_message(topic="Doomed"))
        world.store.delete_topics(["Doomed"])

    world.do(put_and_delete)
    assert world.store.topics() == []
    assert world.store.dispatch_behind_bytes == 0


def test_delayed_messages_carry_their_delivery_time_in_the_queue(world):
    result = world.put(topic="SCHEDULE_TOPIC_XXXX", queue_id=2, delay_level=3, tags="TagA")
    [(_, _, tags_code)] = world.store.consume_queue_entries("SCHEDULE_TOPIC_XXXX", 2, 0, 1)
    assert tags_code == result.store_timestamp + 10_000


@pytest.mark.parametrize(("text", "delay_ms"), [("+3", 10_000), ("003", 10_000), ("99", 7_200_000)])
def test_a_level_that_another_broker_stored_in_another_spelling_is_read_from_the_record(world, text, delay_ms):
    properties = encode_properties({"DELAY": text})
    result = world.put(topic="SCHEDULE_TOPIC_XXXX", properties_string=properties)
    record = world.store.commit_log.record_at(0)
    stored = parse_record(record, 0, 0, world.store.config.delay_levels_ms)
    assert stored.tags_code == result.store_timestamp + delay_ms


def test_hosts_may_be_given_as_text_or_as_bytes(world):
    world.put(b"text")
    world.put(b"bytes", born_host=encode_host("127.0.0.1:50000"), store_host=encode_host("127.0.0.1:10911"))
    world.put(b"ipv6", born_host="[::1]:50000", store_host=encode_host("[fe80::1]:10911"))
    text, raw, ipv6 = world.messages()
    assert (text.born_host, text.store_host) == (raw.born_host, raw.store_host)
    assert (ipv6.born_host, ipv6.store_host) == ("[::1]:50000", "[fe80::1]:10911")
    assert world.store.last_store_timestamp("T", 0) == world.store.earliest_message_time("T", 0)


def test_of_messages_of_one_millisecond_offset_by_time_finds_the_first(world):
    world.put()
    world.world.run_for(1_000)
    moment = world.put().store_timestamp
    world.put()
    world.put()
    world.world.run_for(1_000)
    world.put()
    assert world.store.offset_by_time("T", 0, moment) == 1
