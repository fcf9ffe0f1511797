"""How many messages fit into a limit in bytes, by the sizes that consume queues report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.reader.byte_limit import share_bytes


class Queues:
    """Queues that begin at offset 0, as lists of sizes."""

    def __init__(self, *queues):
        self.sizes = {QueueKey("Orders", "broker-a", number): sizes for number, sizes in enumerate(queues)}
        self.begins = dict.fromkeys(self.sizes, 0)
        self.lags = {queue: len(sizes) for queue, sizes in self.sizes.items()}
        self.entries = 0

    def entry_sizes(self, starts, count):
        found = {queue: self.sizes[queue][start : start + count] for queue, start in starts.items()}
        self.entries += sum(map(len, found.values()))
        return {queue: sizes for queue, sizes in found.items() if sizes}

    def share(self, max_bytes):
        shares = share_bytes(self.entry_sizes, self.begins, self.lags, max_bytes)
        assert all(0 <= share <= self.lags[queue] for queue, share in shares.items())
        return list(shares.values())

    def bytes_of(self, shares):
        return sum(sum(sizes[:share]) for sizes, share in zip(self.sizes.values(), shares, strict=True))


@given(
    st.lists(st.lists(st.integers(91, 200), min_size=1, max_size=200), min_size=1, max_size=5),
    st.integers(1, 60_000),
)
def test_what_is_read_is_near_the_limit_or_all_there_is(queues, max_bytes):
    broker = Queues(*queues)
    shares = broker.share(max_bytes)
    size, slack = broker.bytes_of(shares), 200 * len(queues)
    assert sum(shares) >= 1
    assert size <= max(max_bytes, 200) + slack
    assert shares == list(broker.lags.values()) or size >= max_bytes * 91 / 200 - slack


def test_all_is_read_that_is_exactly_as_large_as_the_limit():
    assert Queues([100] * 7, [300] * 2).share(1_300) == [7, 2]


def test_a_message_that_is_larger_than_the_limit_is_read_alone():
    assert sorted(Queues([5_000] * 3, [5_000] * 3).share(10)) == [0, 1]


def test_a_long_queue_whose_first_messages_are_the_largest_stays_within_the_limit_and_few_entries_are_requested():
    broker = Queues([10_000] * 1_000 + [100] * 99_000)
    (share,) = broker.share(500_000)
    assert 40 <= share <= 50
    assert broker.entries <= 4 * 1_024


def test_messages_that_are_gone_count_nothing():
    broker = Queues([100] * 10)
    broker.lags = dict.fromkeys(broker.lags, 20)
    assert broker.share(2_000) == [20]


@pytest.mark.parametrize("queues", [[], [[]], [[], []], [[5_000]], [[5_000], []]])
def test_no_sizes_are_requested_where_there_is_nothing_to_limit(queues):
    broker = Queues(*queues)
    assert broker.share(10) == list(broker.lags.values())
    assert not broker.entries
