"""Growth: both stores get the same messages, and what is counted is exact."""

from __future__ import annotations

import itertools

import pytest

from app.storage.growth.access_counter import PATTERN_MAX, AccessCounter
from app.storage.growth.grown_stores import batches_of
from app.storage.growth.growth import Size, grow
from app.storage.growth.report import comma_separated, picture, table, write_pattern
from app.storage.progress import Cancelled, ProgressStep
from engine.runtime.traced_disk import AccessKind, DiskAccess


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grow")
    grown = grow(folder, [Size(1, 5_000), Size(20, 5_000), Size(20, 10_000)], lambda step: None)
    assert list(folder.iterdir()) == []
    return grown


def of(result, store, topics, messages):
    return next(
        point for point in result.points if (point.store, point.topics, point.messages) == (store, topics, messages)
    )


def test_the_stores_take_turns(result):
    assert [point.store for point in result.points] == ["rocketmq", "kafka"] * 3


def test_one_log_takes_all_topics_or_each_has_its_own(result):
    for point in result.points:
        assert point.written_files == (1 if point.store == "rocketmq" else point.topics)


def test_a_dense_index_grows_with_every_message_and_a_sparse_one_hardly(result):
    assert of(result, "rocketmq", 20, 5_000).index_bytes == 20 * 5_000
    assert of(result, "rocketmq", 20, 10_000).index_bytes == 20 * 10_000
    assert of(result, "kafka", 20, 10_000).index_bytes < 20 * 10_000 / 10


def test_rocketmq_looks_up_in_two_reads_and_kafka_in_more_of_a_larger_log(result):
    for point in result.points:
        if point.store == "rocketmq":
            assert (point.lookup_reads, point.lookup_seeks) == (2, 2)
            assert point.lookup_bytes < 300
    assert of(result, "kafka", 1, 5_000).lookup_reads > of(result, "kafka", 20, 5_000).lookup_reads


def test_the_reports_have_a_line_for_each_point(result):
    assert table(result).count("\n| ") == 1 + len(result.points)
    assert comma_separated(result).count("\n") == 1 + len(result.points)
    assert "pattern" not in comma_separated(result)
    assert picture(result).count("<g ") == 12
    assert "kafka: 10,000 messages, 20 topics, 20 files" in write_pattern(result)


def test_topics_without_a_message_are_refused(tmp_path):
    with pytest.raises(ValueError, match="5 messages for 6 topics"):
        grow(tmp_path, [Size(6, 5)], lambda step: None)


def test_growth_that_is_cancelled_leaves_nothing(tmp_path):
    steps: list[ProgressStep] = []

    def cancel_in_kafka(step: ProgressStep) -> None:
        steps.append(step)
        if step.number == 1 and len(steps) > 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        grow(tmp_path, [Size(2, 1_000)], cancel_in_kafka)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [(1, 1), (3, 1_000), (10, 15), (7, 7)])
def test_every_topic_gets_its_share(size):
    shares: dict[int, int] = {}
    for topic, count in batches_of(*size):
        shares[topic] = shares.get(topic, 0) + count
    assert sum(shares.values()) == size[1]
    assert len(shares) == size[0]


def test_a_long_pattern_is_thinned_out_evenly():
    counter = AccessCounter(".log")
    for number in range(10_000):
        counter.note(DiskAccess(AccessKind.WRITE, "a.log", number, 1))
    positions = [place.position for place in counter.pattern]
    assert PATTERN_MAX / 2 <= len(positions) <= PATTERN_MAX
    assert len({after - before for before, after in itertools.pairwise(positions)}) == 1
