"""What moving does to the state and to the marks, without Spark."""

from __future__ import annotations

from types import SimpleNamespace

from engine.pipeline.jobs.backlog_relief.moved_aside import LowPriority, mark_groups
from engine.pipeline.jobs.backlog_relief.moving import Mover, state_after
from engine.pipeline.jobs.backlog_relief.relief_folder import MovedRange, ReliefState
from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.cluster_options import ClusterOptions
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.protocol.command.queue_headers import OffsetResponseHeader
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

LEFT, RIGHT = QueueKey("Orders", "broker-a", 0), QueueKey("Orders", "broker-a", 1)
RULE = LowPriority.parse("bulk")


class NotingCluster(Cluster):
    """Notes which groups' progress is written, and answers 10 for each that is asked."""

    def __init__(self):
        super().__init__(ClusterOptions(("127.0.0.1:1",)))
        self.written = []

    def queues(self, topics, option=None):
        return [LEFT]

    def master(self, broker_name):
        return broker_name

    def ask_broker(self, broker_name, topic, requests):
        for request in requests:
            if request.code == RequestCode.UPDATE_CONSUMER_OFFSET:
                fields = request.ext_fields
                self.written.append((fields["consumerGroup"], fields["queueId"], fields["commitOffset"]))
        return [request.reply(ResponseCode.SUCCESS, None, OffsetResponseHeader(10)) for request in requests]


def mover(cluster, folder=None, read=None):
    """One that stores nothing."""
    return Mover(cluster, folder, RULE, read)


def test_a_range_that_goes_on_grows_and_a_new_one_begins_anew():
    ranges = {LEFT: MovedRange(0, 10, in_range=4, moved=7, kept=6), RIGHT: MovedRange(0, 10, 4, 7, 6)}
    state = ReliefState("identity", "billing", "bulk", ranges)
    moved = state_after(state, {LEFT: (10, 20), RIGHT: (50, 60)}, {LEFT: 3, RIGHT: 9})
    assert moved.ranges == {LEFT: MovedRange(0, 20, 7, 10, 13), RIGHT: MovedRange(50, 60, 9, 16, 7)}


def test_the_mark_from_is_set_before_the_mark_to_and_only_for_queues_that_are_there():
    cluster = NotingCluster()
    state = ReliefState("identity", "billing", "bulk", {LEFT: MovedRange(5, 30), RIGHT: MovedRange(6, 31)})
    mover(cluster).report(state)
    from_group, to_group = mark_groups("billing", RULE)
    assert cluster.written == [(from_group, "0", "5"), (to_group, "0", "30")]


def test_no_more_than_was_stored_can_be_worked_on_twice():
    cluster = NotingCluster()
    folder = SimpleNamespace(group="billing")
    overtaken = mover(cluster, folder)._overtaken
    assert overtaken({LEFT: (4, 20), RIGHT: (15, 20)}, {LEFT: 9, RIGHT: 5}) == 6
    assert overtaken({LEFT: (4, 20)}, {LEFT: 2}) == 2
