"""Checker: in the end every message that a group wants was consumed, is a dead letter, or is still to come.

Anomalies: *skipped*, at the end of a run (a message before the group's offset that it has not consumed, with no retry
on the way), *stuck* (messages of a queue wait and are not taken although a member runs and nothing is wrong).

Fault model: any; a message that a power cut was allowed to take, or whose retry copy it took, is left out. "Stuck" is
claimed only after the cluster has been calm for a heartbeat and a rebalance and the longest wait for a pull (30 s), and
when no listener call hangs. It is looked for all the time, because it need not last: a client drops a queue that it has
not pulled for 120 s and takes it again, which would hide that the pull was forgotten. Retries that wait at a delay
level are still to come, however long that takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker, has_clustering_group
from engine.lab.checkers.watch.cluster_watch import CALM_US, ClusterWatch
from engine.lab.checkers.watch.group_watch import GroupWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.names import SCHEDULE_TOPIC

#: Interval of the check for stuck queues.
_LOOK_EVERY_US = 5_000_000

#: (broker, topic, queue id)
_Queue = tuple[str, str, int]


class ConsumedInTheEnd(Checker):
    """Check that every message is consumed in the end."""

    name = "consumed-in-the-end"
    anomaly = Anomaly.SKIPPED
    applies = staticmethod(has_clustering_group)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._dropping = {group.name: None for group in self.world.scenario.groups if group.retry_queues == 0}
        #: (broker, group, topic, queue id) -> the first offset that a broker stored.
        self._first_offsets: dict[tuple[str, str, str, int], int] = {}
        #: When a message of the queue last became visible or was handled by a listener.
        self._last_action_us: dict[_Queue, int] = {}
        self._next_look_us = 0

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        self._first_offsets.setdefault((broker.name, group, topic, queue_id), offset)

    def messages_dispatched(self, broker: BrokerWatch, messages: Sequence[LoggedMessage]) -> None:
        for message in messages:
            self._last_action_us[broker.name, message.topic, message.queue_id] = self.watch.now_us

    def consume_began(self, entry: ConsumeBegan) -> None:
        self._last_action_us[entry.broker, entry.topic, entry.queue_id] = self.watch.now_us

    def consume_ended(self, entry: ConsumeEnded) -> None:
        self._last_action_us[entry.broker, entry.topic, entry.queue_id] = self.watch.now_us

    def second_passed(self) -> None:
        watch = self.watch
        if watch.now_us >= self._next_look_us:
            self._next_look_us = watch.now_us + _LOOK_EVERY_US
            if watch.has_been_calm:
                self._check_groups(is_end=False)

    def run_ended(self) -> None:
        self._check_groups(is_end=True)

    def _check_groups(self, *, is_end: bool) -> None:
        brokers = [broker for broker in self.watch.brokers.values() if broker.is_up]
        if len(brokers) < len(self.watch.brokers):
            return  # a message on a broker that is down may be a retry of one on another broker
        for group in self.watch.groups.values():
            if group.is_consistent and group.name not in self._dropping:
                self._check(group, brokers, is_end=is_end)

    def _check(self, group: GroupWatch, brokers: list[BrokerWatch], *, is_end: bool) -> None:
        to_come: dict[str, bool] = {}
        for broker in brokers:
            for message in broker.messages:
                if group.wants(message) and broker.is_to_come(group.name, message):
                    key = message.unique_key
                    # A message that was given back counts as consumed once that is reported: it is not waited for.
                    is_waiting = message.topic != SCHEDULE_TOPIC and not group.is_settled(message)
                    to_come[key] = to_come.get(key, False) or is_waiting
        waiting: dict[_Queue, list[LoggedMessage]] = {}
        for message in self._unfinished(group, brokers):
            if message.unique_key not in to_come:
                if is_end:
                    self._report_skipped(group, message)
            elif to_come[message.unique_key] and not group.is_settled(message):
                waiting.setdefault((message.broker, message.topic, message.queue_id), []).append(message)
        if waiting and self.watch.has_been_calm and self.watch.is_idle(group):
            for queue, messages in waiting.items():
                if self.watch.now_us - self._last_action_us.get(queue, 0) >= CALM_US:
                    self._report_stuck(group, messages)

    def _unfinished(self, group: GroupWatch, brokers: list[BrokerWatch]) -> Iterator[LoggedMessage]:
        wanted = [message for broker in brokers for message in broker.messages if group.wants(message)]
        # In this way a group may pass the last copy of a message: the copies before it will not be consumed either.
        passed = {message.unique_key: None for message in wanted if self._may_be_passed(message)}
        for message in wanted:
            is_over = message.unique_key in passed or self._is_done(group, message)
            if not is_over and not self._is_before_begin(group, message):
                yield message

    def _is_done(self, group: GroupWatch, message: LoggedMessage) -> bool:
        key = message.unique_key
        return (
            key in group.consumed
            or key in group.dead
            or key in group.lost
            or (message.broker, *message.place) in group.positions
        )

    def _may_be_passed(self, message: LoggedMessage) -> bool:
        """Return whether it has the offset of a message that a power cut took: a consumer past that one continues after
        this one.
        """
        broker = self.watch.brokers[message.broker]
        return message.queue_offset < broker.lost_until.get((message.topic, message.queue_id), 0)

    def _is_before_begin(self, group: GroupWatch, message: LoggedMessage) -> bool:
        if group.begins_at_first:
            return False
        first = self._first_offsets.get((message.broker, group.name, message.topic, message.queue_id))
        return first is None or message.queue_offset < first

    def _report_skipped(self, group: GroupWatch, message: LoggedMessage) -> None:
        self.report({"group": group.name, **message.element}, self.text("skipped", group=group.name, message=message))

    def _report_stuck(self, group: GroupWatch, waiting: list[LoggedMessage]) -> None:
        keys = tuple(message.first_key for message in waiting)
        first = waiting[0]
        self.report(
            {"group": group.name, "node": first.broker, "topic": first.topic, "queue": first.queue_id},
            self.text("stuck", count=len(keys), group=group.name, seconds=CALM_US // 1000000, first=first),
            Anomaly.STUCK,
            messages=keys,
        )
