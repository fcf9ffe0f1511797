"""How a micro-batch's rows are shared among queues, and ranges among tasks."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from engine.pipeline.source.cluster.queue_offsets import QueueKey, from_json_object, to_json_object
from engine.pipeline.source.reader.offset_range import OffsetRange, plan_partitions, share_limit

queues = st.builds(QueueKey, st.sampled_from(["A", "B"]), st.sampled_from(["broker-a", "host:b"]), st.integers(0, 12))


@given(st.dictionaries(queues, st.integers(0, 10_000)), st.integers(1, 20_000))
def test_shares_are_within_the_lags_and_sum_up_to_the_limit(lags, max_rows):
    shares = share_limit(lags, max_rows)
    assert shares.keys() == lags.keys()
    assert all(0 <= shares[queue] <= lags[queue] for queue in lags)
    assert sum(shares.values()) == min(max_rows, sum(lags.values()))


@given(st.dictionaries(queues, st.integers(1, 10_000), min_size=1))
def test_every_queue_with_messages_gets_one_at_least(lags):
    assert all(share > 0 for share in share_limit(lags, len(lags)).values())


@given(st.dictionaries(queues, st.integers(0, 9), min_size=2), st.integers(1, 20), st.data())
def test_no_queue_waits_longer_than_its_turn_however_many_others_have_messages(lags, max_rows, data):
    turn = data.draw(st.integers(0, 10**6))
    others = data.draw(st.sets(st.sampled_from(sorted(lags))))
    quiet = data.draw(st.sampled_from(sorted(lags)))
    lags[quiet] = 1
    served = []
    for _ in range(-(-len(lags) // max_rows)):
        shares = share_limit(lags, max_rows, turn)
        served.append(shares[quiet])
        turn += sum(shares.values())
        # Some others never have less than before.
        lags = {queue: lag - (0 if queue in others else shares[queue]) for queue, lag in lags.items()}
        if sum(shares.values()) < max_rows:
            break
    assert any(served)


def test_queues_come_to_their_ends_together():
    lags = {QueueKey("A", "b", 0): 9_000, QueueKey("A", "b", 1): 1_000}
    assert list(share_limit(lags, 1_000).values()) == [900, 100]


@given(
    st.dictionaries(queues, st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))),
    st.integers(1, 20),
    st.integers(1_000, 10**6),
)
@example({QueueKey("A", "b", 0): (0, 4)}, 3, 1_000)
def test_tasks_cover_every_range_once_within_their_bound(ends, min_partitions, max_records):
    ranges = [
        OffsetRange(queue, f"{queue.broker_name}:1", start, start + size) for queue, (start, size) in ends.items()
    ]
    partitions = plan_partitions(ranges, min_partitions, max_records)
    covered: dict[QueueKey, list[tuple[int, int]]] = {}
    for partition in partitions:
        assert 0 < sum(item.size for item in partition.value) <= max_records
        for item in partition.value:
            covered.setdefault(item.queue, []).append((item.start, item.end))
    for item in ranges:
        pieces = sorted(covered.pop(item.queue, []))
        assert [edge for piece in pieces for edge in piece[:1]] + [item.end] == [item.start] + [
            edge for piece in pieces for edge in piece[1:]
        ]
    assert not covered
    assert len(partitions) >= min(min_partitions, sum(item.size for item in ranges))


def test_small_ranges_of_many_queues_share_a_task():
    ranges = [OffsetRange(QueueKey("A", "b", queue_id), "b:1", 0, 1_000) for queue_id in range(40)]
    assert len(plan_partitions(ranges, 1, 250_000)) == 1


@given(st.dictionaries(queues, st.integers(0, 2**62)))
def test_offsets_survive_their_json_and_the_same_offsets_give_the_same_text(offsets):
    value = to_json_object(offsets)
    assert from_json_object(value) == offsets
    shuffled = dict(reversed(offsets.items()))
    assert str(to_json_object(shuffled)) == str(value)
