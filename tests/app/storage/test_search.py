"""What a search finds and costs: counts of the very reads, which the layouts say beforehand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.storage.laboratory.search import PAGE_BYTES, STEPS_MAX, SearchQuestion, search, seeks_of
from app.storage.laboratory.traffic import FIRST_MS, STEP_MS, messages_of
from engine.runtime.traced_disk import AccessKind, DiskAccess
from tests.app.storage.conftest import TRAFFIC

MESSAGES = list(messages_of(TRAFFIC))


def read(path: str, position: int, length: int = 10) -> DiskAccess:
    return DiskAccess(AccessKind.READ, path, position, length)


def places(found):
    return {(one["topic"], one["queue_id"], one["offset"]) for one in found}


def test_a_seek_is_a_page_that_is_neither_cached_nor_the_next_one():
    reads = [
        read("a", 0),
        read("a", 100),  # the same page
        read("a", PAGE_BYTES),  # the next one
        read("b", 0),  # elsewhere
        read("a", 50),  # cached
        read("b", PAGE_BYTES - 5),  # reaches into the next page
        read("a", 5 * PAGE_BYTES),
    ]
    assert seeks_of(reads) == [True, False, False, True, False, False, True]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50_000), st.integers(1, 9_000)), max_size=30))
def test_reading_all_of_it_again_costs_no_seek(accesses):
    reads = [read(*access) for access in accesses]
    assert not any(seeks_of([*reads, *reads])[len(reads) :])


@settings(max_examples=20, deadline=None)
@given(number=st.integers(0, TRAFFIC.messages - 1))
def test_by_offset_both_find_the_message_and_rocketmq_reads_entry_and_record(stores, number):
    message = MESSAGES[number]
    offset = number // (TRAFFIC.topics * TRAFFIC.queues)
    result = search(stores, SearchQuestion("offset", message.topic, message.queue_id, offset))
    for store in result.values():
        (found,) = store["found"]
        assert found == {
            "topic": message.topic,
            "queue_id": message.queue_id,
            "offset": offset,
            "key": message.key,
            "stored_us": message.born_ms * 1_000,
        }
        assert store["cost"]["read_bytes"] == sum(step["length"] for step in store["steps"])
        assert store["cost"]["seeks"] == sum(step["is_seek"] for step in store["steps"])
    entry, record = result["rocketmq"]["steps"]
    assert (entry["kind"], entry["length"], record["kind"]) == ("queue_entry", 20, "record")
    assert record["values"]["queue_offset"] == offset
    kinds = [step["kind"] for step in result["kafka"]["steps"]]
    assert kinds == sorted(kinds, key=["offset_entry", "batch"].index)
    assert kinds.count("offset_entry") <= 6


@pytest.mark.parametrize("by", ["offset", "time"])
def test_beyond_the_end_kafka_finds_nothing_and_rocketmq_the_nearest_time(stores, by):
    value = TRAFFIC.messages if by == "offset" else FIRST_MS + TRAFFIC.messages * STEP_MS
    result = search(stores, SearchQuestion(by, "orders-0", 0, value))
    assert result["kafka"]["found"] == []
    assert [one["offset"] for one in result["rocketmq"]["found"]] == ([] if by == "offset" else [999])


def test_by_key_rocketmq_follows_a_chain_and_kafka_reads_all_of_the_topic(stores):
    result = search(stores, SearchQuestion("key", "orders-0", 0, "K00042"))
    wanted = {
        (message.topic, message.queue_id, number // 4)
        for number, message in enumerate(MESSAGES)
        if message.key == "K00042"
    }
    assert result["rocketmq"]["found_count"] == result["kafka"]["found_count"] == len(wanted) == 40
    assert places(result["rocketmq"]["found"]) < wanted
    assert places(result["kafka"]["found"]) < wanted
    logs = [file for file in stores.files["kafka"] if file["format"] == "log" and file["path"].startswith("orders-0-")]
    assert result["kafka"]["cost"]["read_bytes"] >= sum(file["size_bytes"] for file in logs)
    assert {step["kind"] for step in result["rocketmq"]["steps"]} >= {"index_slot", "index_entry"}
    assert result["rocketmq"]["steps_omitted"] == max(0, result["rocketmq"]["cost"]["reads"] - STEPS_MAX)


@settings(max_examples=20, deadline=None)
@given(after_ms=st.integers(0, (TRAFFIC.messages - 1) * STEP_MS))
def test_by_time_kafka_finds_the_first_not_older_and_rocketmq_the_nearest(stores, after_ms):
    result = search(stores, SearchQuestion("time", "orders-1", 1, FIRST_MS + after_ms))
    times = [message.born_ms for message in MESSAGES if (message.topic, message.queue_id) == ("orders-1", 1)]
    later = [time for time in times if time >= FIRST_MS + after_ms]
    assert [one["stored_us"] for one in result["kafka"]["found"]] == [1_000 * time for time in later[:1]]
    distance = abs(result["rocketmq"]["found"][0]["stored_us"] // 1_000 - FIRST_MS - after_ms)
    assert distance == min(abs(time - FIRST_MS - after_ms) for time in times)
