"""Selectors, batches, the splitter, permits, checks of messages and settings: everything that needs no network."""

from __future__ import annotations

import asyncio
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client import IllegalClientArgument, ListSplitter, Message, MessageQueue, TooManyPendingSends
from engine.client.callbacks.message_queue_selector import (
    SelectMessageQueueByMachineRoom,
    SelectMessageQueueByRandom,
    java_hash_code,
    select_message_queue_by_hash,
)
from engine.client.foundation.client_config import parse_name_server_addresses
from engine.client.foundation.client_settings import build_configs
from engine.client.foundation.errors import ClientNotRunning
from engine.client.foundation.service_state import ServiceLife, ServiceState
from engine.client.instance.topic_publish_info import TopicPublishInfo
from engine.client.producer.async_send_permits import AsyncSendPermits
from engine.client.producer.list_splitter import stored_size
from engine.client.producer.message_batch import MessageBatch, check_batch_size
from engine.client.producer.message_validator import check_message
from engine.client.producer.producer_config import ProducerConfig
from engine.protocol.message.batch_codec import encode_batch
from engine.protocol.message.message_properties import PROPERTY_UNIQUE_KEY

QUEUES = [MessageQueue("T", "a", number) for number in range(8)]
MESSAGE = Message("T", b"x")

# --- selectors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", 0),
        ("TagA", 2598919),
        ("order-42", 1234255197),
        (7, 7),
        (-7, -7),
        (1 << 32, 1),  # Long.hashCode folds the halves
        (-(1 << 31) - 1, -(1 << 31)),
    ],
)
def test_hash_codes_are_those_of_java(value, expected):
    assert java_hash_code(value) == expected


@given(st.text(max_size=20) | st.integers(-(1 << 63), (1 << 63) - 1))
def test_selecting_by_hash_always_finds_the_same_queue_of_the_topic(argument):
    chosen = select_message_queue_by_hash(QUEUES, MESSAGE, argument)
    assert chosen in QUEUES
    assert chosen == select_message_queue_by_hash(list(QUEUES), Message("T", b"other"), argument)


def test_a_negative_hash_selects_by_its_absolute_remainder():
    assert select_message_queue_by_hash(QUEUES, MESSAGE, -11) == QUEUES[3]


def test_selecting_by_hash_of_something_without_a_java_hash_is_refused():
    with pytest.raises(IllegalClientArgument, match=r"got \(1, 2\)"):
        select_message_queue_by_hash(QUEUES, MESSAGE, (1, 2))


def test_machine_rooms_take_turns_among_their_own_queues():
    queues = [MessageQueue("T", name, number) for name in ("r1@a", "r2@b", "c") for number in range(2)]
    selector = SelectMessageQueueByMachineRoom(["r1"])
    assert {str(selector(queues, MESSAGE, None)) for _ in range(8)} == {"T@r1@a:0", "T@r1@a:1"}
    with pytest.raises(
        IllegalClientArgument, match="no queue of 'T' is in one of the rooms r3; brokers: c, r1@a, r2@b"
    ):
        SelectMessageQueueByMachineRoom(["r3"])(queues, MESSAGE, None)


def test_selecting_at_random_reaches_every_queue():
    selector = SelectMessageQueueByRandom(random.Random(1))
    assert {selector(QUEUES, MESSAGE, None) for _ in range(200)} == set(QUEUES)


# --- round robin ------------------------------------------------------------------------------------------------------


def test_queues_take_turns():
    info = TopicPublishInfo(QUEUES[:3], first_index=4)
    assert [info.select_one_message_queue().queue_id for _ in range(4)] == [1, 2, 0, 1]


def test_after_a_failure_another_broker_is_chosen_if_there_is_one():
    queues = [*QUEUES[:2], MessageQueue("T", "b", 0)]
    info = TopicPublishInfo(queues, 0)
    assert info.select_one_message_queue("a").broker_name == "b"
    assert TopicPublishInfo(QUEUES, 0).select_one_message_queue("a").broker_name == "a"


# --- batches ----------------------------------------------------------------------------------------------------------


def half_message() -> Message:
    message = Message("T", b"x")
    message.properties["TRAN_MSG"] = "true"
    return message


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (Message("Other", b"x"), "message 1 has topic 'Other', the first has 'T'"),
        (Message("T", b"x", delay_level=3), "message 1 has delay level 3; delayed messages cannot be batched"),
        (half_message(), r"message 1 is transactional \(TRAN_MSG\)"),
        (Message("T", b"x", wait_store_msg_ok=False), "message 1 differs from the first in WAIT"),
    ],
)
def test_a_batch_says_which_message_does_not_belong(second, complaint):
    with pytest.raises(IllegalClientArgument, match=complaint):
        MessageBatch([Message("T", b"x"), second])


def test_a_batch_to_a_retry_topic_and_an_empty_one_are_refused():
    with pytest.raises(IllegalClientArgument, match="retry topic"):
        MessageBatch([Message("%RETRY%g", b"x")])
    with pytest.raises(IllegalClientArgument, match="empty"):
        MessageBatch([])


# --- splitter ---------------------------------------------------------------------------------------------------------

BODIES = st.lists(st.integers(1, 400), max_size=60)


@given(BODIES, st.integers(100, 4_000))
def test_the_splitter_keeps_order_and_every_batch_fits_as_stored_and_as_it_travels(sizes, limit):
    messages = [Message("T", bytes(size)) for size in sizes]
    batches = list(ListSplitter(messages, limit))
    assert [message for batch in batches for message in batch] == messages
    for batch in batches:
        assert batch
        if len(batch) > 1 or stored_size(batch[0]) <= limit:
            assert sum(map(stored_size, batch)) <= limit
            for message in batch:
                message.properties[PROPERTY_UNIQUE_KEY] = "0" * 56  # as from a host with an IPv6 address
            assert len(encode_batch(batch)) <= limit


@given(BODIES, st.integers(100, 4_000))
def test_the_splitter_makes_no_more_batches_than_needed(sizes, limit):
    batches = list(ListSplitter([Message("T", bytes(size)) for size in sizes], limit))
    for batch, following in itertools.pairwise(batches):
        assert sum(map(stored_size, batch)) + stored_size(following[0]) > limit


def test_a_single_message_over_the_limit_goes_alone_and_the_others_still_go():
    messages = [Message("T", b"first"), Message("T", bytes(1_000)), Message("T", b"last")]
    assert list(ListSplitter(messages, 1_000)) == [[messages[0]], [messages[1]], [messages[2]]]


def test_the_default_limit_is_4_mib():
    batches = list(ListSplitter([Message("T", bytes(1_000_000)) for _ in range(9)]))
    assert [len(batch) for batch in batches] == [4, 4, 1]


# --- checks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (Message("", b"x"), "topic name is blank"),
        (Message("a b", b"x"), "illegal character"),
        (Message("T" * 128, b"x"), "128 characters; allowed: at most 127"),
        (Message("SCHEDULE_TOPIC_XXXX", b"x"), "belongs to the broker"),
        (Message("T", b""), "body is empty"),
        (Message("T", "text"), "body must be bytes, got str"),  # type: ignore[arg-type]
        (Message("T", bytes(4_194_305)), "4194305 bytes; allowed: at most 4194304"),
        (Message("T", b"x", properties={"a": " "}), "property 'a' = ' '"),
        (Message("T", b"x", properties={"a\x01": "b"}), "without the characters"),
        (Message("T", b"x", properties={"a": 1}), "must be strings"),  # type: ignore[dict-item]
        (Message("T", b"x", properties={"a": "b" * 32_767}), "32769 bytes; allowed: at most 32767"),
    ],
)
def test_a_message_that_cannot_be_sent_is_refused_and_the_reason_named(message, complaint):
    with pytest.raises(IllegalClientArgument, match=complaint):
        check_message(message, 4_194_304)


def test_name_server_addresses_are_read_in_both_spellings():
    assert parse_name_server_addresses("a:1; b:2,a:1") == ("a:1", "b:2")
    assert parse_name_server_addresses(["a:1"]) == ("a:1",)


@pytest.mark.parametrize("wrong", ["localhost", "a:b", ":1", "a:99999"])
def test_a_wrong_name_server_address_is_named(wrong):
    with pytest.raises(IllegalClientArgument, match="expected host:port"):
        parse_name_server_addresses(wrong)


@pytest.mark.parametrize("empty", ["", " ", ";;", ", ;", [], [" "]])
def test_an_empty_list_of_name_servers_is_refused(empty):
    with pytest.raises(IllegalClientArgument, match=r"expected e\.g\. '127.0.0.1:9876'"):
        parse_name_server_addresses(empty)


def test_an_unknown_setting_is_named_with_the_likely_one():
    with pytest.raises(IllegalClientArgument, match="did you mean send_msg_timeout_ms"):
        build_configs("a:1", ProducerConfig, {"send_msg_timeout": 5})


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"send_msg_timeout_ms": 0}, "send_msg_timeout_ms must be greater than 0, got 0"),
        ({"retry_times_when_send_failed": -1}, "retry_times_when_send_failed must not be negative, got -1"),
        ({"compress_level": 10}, "compress_level must be -1 to 9, got 10"),
        ({"rebalance_interval_ms": 0}, "rebalance_interval_ms must be greater than 0, got 0"),
        ({"poll_missing_route_interval_ms": -1}, "poll_missing_route_interval_ms must not be negative"),
    ],
)
def test_a_setting_out_of_its_range_is_named(settings, complaint):
    with pytest.raises(IllegalClientArgument, match=complaint):
        build_configs("a:1", ProducerConfig, settings)


def test_at_least_one_name_server_must_be_given():
    with pytest.raises(IllegalClientArgument, match=r"expected e\.g\. '127.0.0.1:9876'"):
        build_configs(" ; ", ProducerConfig, {})


def test_settings_find_their_class_by_name():
    client, producer = build_configs("a:1", ProducerConfig, {"api_timeout_ms": 9, "send_msg_timeout_ms": 8})
    assert (client.api_timeout_ms, producer.send_msg_timeout_ms) == (9, 8)


# --- permits ----------------------------------------------------------------------------------------------------------


def test_permits_are_handed_on_in_order_and_too_many_waiters_are_refused():
    async def scenario() -> None:
        permits = AsyncSendPermits(in_flight_max=1, waiting_max=2)
        first, second, third = (permits.reserve() for _ in range(3))
        assert (first.done(), second.done(), third.done()) == (True, False, False)
        with pytest.raises(TooManyPendingSends, match="1 asynchronous sends are under way and 2 wait"):
            permits.reserve()
        permits.release()
        assert (second.done(), third.done()) == (True, False)
        third.cancel()
        permits.release()
        assert (permits.in_flight, permits.waiting) == (0, 0)

    asyncio.run(scenario())


def test_permits_bound_the_bytes_under_way_but_one_alone_may_be_larger():
    async def scenario() -> None:
        permits = AsyncSendPermits(in_flight_max=10, waiting_max=10, in_flight_max_bytes=100)
        large = permits.reserve(500)
        small = permits.reserve(1)
        assert (large.done(), small.done()) == (True, False)
        permits.release(500)
        assert small.done()
        second, third = permits.reserve(99), permits.reserve(1)
        assert (second.done(), third.done(), permits.in_flight_bytes) == (True, False, 100)
        permits.release(99)
        assert third.done()

    asyncio.run(scenario())


def test_permits_bound_the_bytes_that_wait_but_one_alone_may_be_larger():
    async def scenario() -> None:
        permits = AsyncSendPermits(in_flight_max=1, waiting_max=10, waiting_max_bytes=100)
        permits.reserve(1)
        large = permits.reserve(500)
        with pytest.raises(TooManyPendingSends, match=r"1 wait with 500 bytes .*100, async_sends_waiting_max_bytes"):
            permits.reserve(1)
        permits.give_up(large, 500)
        second, _ = permits.reserve(60), permits.reserve(40)
        with pytest.raises(TooManyPendingSends):
            permits.reserve(1)
        permits.release(1)
        assert (second.done(), permits.waiting_bytes) == (True, 40)
        permits.reserve(60)

    asyncio.run(scenario())


def test_who_is_cancelled_while_waiting_gives_no_permit_back():
    async def scenario() -> None:
        permits = AsyncSendPermits(in_flight_max=1, waiting_max=10)
        permits.reserve(5)
        waiting = permits.reserve(7)
        waiting.cancel()
        permits.release(5)
        permits.give_up(waiting, 7)
        assert (permits.in_flight, permits.in_flight_bytes, permits.waiting_bytes) == (0, 0, 0)

    asyncio.run(scenario())


def test_nobody_overtakes_a_large_send_that_waits_for_room():
    async def scenario() -> None:
        permits = AsyncSendPermits(in_flight_max=10, waiting_max=10, in_flight_max_bytes=100)
        permits.reserve(60)
        large, small = permits.reserve(60), permits.reserve(10)
        assert (large.done(), small.done()) == (False, False)
        permits.give_up(large, 60)
        assert small.done(), "who gives up makes room for those behind"

    asyncio.run(scenario())


@given(st.lists(st.tuples(st.sampled_from(["reserve", "release", "give up"]), st.integers(0, 60)), max_size=60))
def test_permits_never_exceed_their_bounds_and_nobody_is_forgotten(actions):
    async def scenario() -> None:
        permits = AsyncSendPermits(3, 5, in_flight_max_bytes=100, waiting_max_bytes=150)
        held: list[tuple[asyncio.Future[None], int]] = []
        for action, number in actions:
            granted = [pair for pair in held if pair[0].done()]
            if action == "reserve":
                try:
                    held.append((permits.reserve(number), number))
                except TooManyPendingSends:
                    assert permits.waiting == 5 or permits.waiting_bytes + number > 150
            elif action == "release" and granted:
                held.remove(granted[number % len(granted)])
                permits.release(granted[number % len(granted)][1])
            elif action == "give up" and held:
                pair = held.pop(number % len(held))
                permits.give_up(*pair)
            running = [size for future, size in held if future.done()]
            assert (permits.in_flight, permits.in_flight_bytes) == (len(running), sum(running))
            assert permits.waiting == len(held) - len(running)
            assert permits.waiting_bytes == sum(size for future, size in held if not future.done()) <= 150
            assert len(running) <= 3
            assert sum(running) <= 100
        while held:
            future, size = held.pop(0)
            assert future.done(), "those who wait longest come first"
            permits.release(size)

    asyncio.run(scenario())


# --- life -------------------------------------------------------------------------------------------------------------


def test_a_client_is_never_started_twice_and_says_what_state_it_is_in():
    life = ServiceLife("producer group g")
    with pytest.raises(ClientNotRunning, match="producer group g is CREATE_JUST, not RUNNING: call start"):
        life.require_running()

    async def live() -> None:
        async with life.starting():
            assert life.state is ServiceState.START_FAILED, "until it has succeeded"
        life.require_running()
        with pytest.raises(ClientNotRunning, match="producer group g is running: it cannot be started again"):
            async with life.starting():
                pass
        await life.end()

    asyncio.run(live())
    with pytest.raises(ClientNotRunning, match="is SHUTDOWN_ALREADY, not RUNNING: make a new one"):
        life.require_running()


def test_a_part_and_a_batch_may_be_exactly_as_large_as_allowed():
    messages = [Message("T", b"x" * 50), Message("T", b"y" * 70)]
    limit = sum(stored_size(message) for message in messages)
    assert list(ListSplitter(messages, limit)) == [messages]
    assert list(ListSplitter(messages, limit - 1)) == [messages[:1], messages[1:]]
    check_batch_size(100, 2, 100)
    with pytest.raises(IllegalClientArgument, match="the batch of 2 messages takes 101 bytes; allowed: at most 100"):
        check_batch_size(101, 2, 100)
