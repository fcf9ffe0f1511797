"""What is read ahead of a group, and how much of its backlog that is. Needs no Spark."""

from __future__ import annotations

import pytest

from engine.pipeline.jobs.backlog_relief.backlog import Backlog, is_long, plan
from engine.pipeline.jobs.backlog_relief.relief_folder import MovedRange
from engine.pipeline.source.cluster.queue_offsets import QueueKey

LEFT, RIGHT = QueueKey("Orders", "broker-a", 0), QueueKey("Orders", "broker-a", 1)


def backlog(progress, end=100, minimum=0):
    """Return the backlog of one queue."""
    return Backlog({LEFT: progress}, {LEFT: minimum}, {LEFT: end})


@pytest.mark.parametrize(
    ("looked", "ranges", "planned"),
    [
        (backlog(10), {}, (15, 35)),  # 5 messages ahead of the group, 20 at a time
        (backlog(10, end=30), {}, (15, 30)),
        (backlog(10, end=15), {}, None),
        (backlog(10, minimum=40), {}, (40, 60)),  # what is deleted cannot be read
        (backlog(10), {LEFT: MovedRange(15, 35)}, (35, 55)),  # it goes on
        (backlog(30), {LEFT: MovedRange(15, 35)}, (35, 55)),
        (backlog(35), {LEFT: MovedRange(15, 35)}, (40, 60)),  # the group has passed it
        (backlog(10), {LEFT: MovedRange(35, 35)}, (15, 35)),  # it was closed
    ],
)
def test_a_range_goes_on_until_the_group_has_passed_it(looked, ranges, planned):
    expected = {} if planned is None else {LEFT: planned}
    assert plan(looked, ranges, left_to_group=5, messages_max=20) == expected


@pytest.mark.parametrize(
    ("lag", "is_active", "follows", "expected"),
    [
        (10, False, True, False),  # not before its lag is more than `above`
        (11, False, True, True),
        (11, False, False, True),
        (5, True, True, True),  # until its lag is less than `below`
        (4, True, True, False),
        (0, True, False, True),  # one look goes on with what it has begun
    ],
)
def test_moving_begins_above_one_bound_and_ends_below_another(lag, is_active, follows, expected):
    assert is_long(lag, is_active, above=10, below=5, follows=follows) is expected


@pytest.mark.parametrize(("messages_max", "each"), [(20, 10), (21, 10), (1, 1)])
def test_queues_share_what_is_read_at_a_time(messages_max, each):
    looked = Backlog({LEFT: 0, RIGHT: 0}, {LEFT: 0, RIGHT: 0}, {LEFT: 100, RIGHT: 100})
    assert plan(looked, {}, 0, messages_max) == {LEFT: (0, each), RIGHT: (0, each)}


@pytest.mark.parametrize(("progress", "left"), [(0, 8), (10, 8), (20, 4), (30, 0), (40, 0)])
def test_what_is_moved_aside_counts_as_far_as_it_is_before_the_group(progress, left):
    ranges = {LEFT: MovedRange(10, 30, in_range=8, moved=50), RIGHT: MovedRange(0, 9, in_range=9)}
    assert backlog(progress).moved_before(ranges) == left
    assert backlog(progress).moved_before({LEFT: MovedRange(30, 30, moved=8)}) == 0


def test_a_group_ahead_of_a_queue_that_was_made_again_hides_no_backlog_of_others():
    looked = Backlog({LEFT: 500, RIGHT: 3}, {LEFT: 0, RIGHT: 0}, {LEFT: 2, RIGHT: 10})
    assert looked.lag == 7
