"""Selecting a queue by a business key: always the same one, evenly, and what moves when queues are added."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client import (
    IllegalClientArgument,
    Message,
    MessageQueue,
    SelectMessageQueueByConsistentHash,
    select_message_queue_by_hash,
)

MESSAGE = Message("T", b"x")
KEYS = [f"order-{number}" for number in range(1_000)]


def queues(count: int) -> list[MessageQueue]:
    return [MessageQueue("T", "broker-a", number) for number in range(count)]


@given(st.one_of(st.text(), st.integers()), st.integers(1, 16))
def test_a_key_always_selects_the_same_queue_of_those_there_are(key, count):
    first = SelectMessageQueueByConsistentHash()(queues(count), MESSAGE, key)
    assert first in queues(count)
    assert SelectMessageQueueByConsistentHash()(queues(count), MESSAGE, key) == first


@given(st.lists(st.sampled_from(KEYS), min_size=1, max_size=10), st.integers(2, 8))
def test_what_was_selected_before_does_not_matter(keys, count):
    selector = SelectMessageQueueByConsistentHash()
    for key in keys:
        for some in (queues(count), queues(count - 1)):
            assert selector(some, MESSAGE, key) == SelectMessageQueueByConsistentHash()(some, MESSAGE, key)


def test_every_queue_gets_a_fair_share():
    selector = SelectMessageQueueByConsistentHash()
    shares = Counter(selector(queues(8), MESSAGE, key).queue_id for key in KEYS)
    assert len(shares) == 8
    assert min(shares.values()) > 1_000 / 8 / 2
    assert max(shares.values()) < 1_000 / 8 * 2


def test_a_key_moves_only_to_a_queue_that_was_added_where_modulo_moves_most():
    ring = SelectMessageQueueByConsistentHash()
    before, after = ([ring(queues(count), MESSAGE, key) for key in KEYS] for count in (8, 9))
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert {queue.queue_id for queue in moved} == {8}
    assert 0 < len(moved) < 1_000 * 2 / 9
    by_modulo = [
        select_message_queue_by_hash(queues(8), MESSAGE, key) != select_message_queue_by_hash(queues(9), MESSAGE, key)
        for key in KEYS
    ]
    assert sum(by_modulo) > 600


def test_only_keys_that_can_be_hashed_alike_everywhere_are_taken():
    with pytest.raises(IllegalClientArgument, match="a string or an integer"):
        SelectMessageQueueByConsistentHash()(queues(2), MESSAGE, object())
    with pytest.raises(IllegalClientArgument, match="at least 1"):
        SelectMessageQueueByConsistentHash(0)
