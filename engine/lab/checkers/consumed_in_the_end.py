"""Checker, at the end of a run: every message that a group wants was consumed, is a dead letter, or is still to come.

Anomalies: *skipped* (a message that the group has not consumed and that lies behind its offset, with no retry on the
way), *stuck* (messages wait, a member runs, nothing is wrong, and nobody consumes).

Fault model: any; a message that a power cut was allowed to take, or whose retry copy it took, is left out. "Stuck" is
claimed only after the cluster has been calm for a heartbeat and a rebalance and the longest wait for a pull (30 s), and
when no listener call hangs. Retries that wait at a delay level are still to come, however long that takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.lab.checkers.broker_watch import BrokerWatch
from engine.lab.checkers.checker import Checker, Texts
from engine.lab.checkers.group_watch import GroupWatch
from engine.lab.checkers.logged_message import LoggedMessage
from engine.lab.checkers.violation import Anomaly
from engine.lab.consumer_role import ConsumerRole
from engine.lab.scenario import ListenerResult, Role, Scenario
from engine.protocol.names import SCHEDULE_TOPIC

if TYPE_CHECKING:
    from engine.lab.checkers.cluster_watch import ClusterWatch

#: Heartbeat 30 s, rebalance 20 s, a pull whose answer was lost 30 s.
CALM_MS = 80_000


class ConsumedInTheEnd(Checker):
    """See the module."""

    name = "consumed-in-the-end"
    anomaly = Anomaly.SKIPPED
    title: ClassVar[Texts] = {"en": "Everything is consumed in the end", "zh": "所有消息最终都会被消费"}
    why: ClassVar[Texts] = {
        "en": "At least once means once: after all faults are over, no message may be left behind.",
        "zh": "“至少一次”意味着确有一次：故障全部结束之后，不能有消息被遗漏。",
    }

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._dropping = {group.name: None for group in watch.world.scenario.groups if group.retry_queues == 0}
        #: (broker, group, topic, queue id) -> the first offset that a broker stored.
        self._first_offsets: dict[tuple[str, str, str, int], int] = {}

    @classmethod
    def applies(cls, scenario: Scenario) -> bool:
        """There is a clustering group."""
        return any(spec.model == "clustering" for spec in scenario.of_role(Role.CONSUMER))

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        """Remember where a group began that did not begin with the first message."""
        self._first_offsets.setdefault((broker.name, group, topic, queue_id), offset)

    def run_ended(self) -> None:
        """See the module."""
        brokers = [broker for broker in self.watch.brokers.values() if broker.is_up]
        if len(brokers) < len(self.watch.brokers):
            return  # what lies on a broker that is down may be a retry of what lies on another
        for group in self.watch.groups.values():
            if group.is_consistent and group.name not in self._dropping:
                self._check(group, brokers)

    def _check(self, group: GroupWatch, brokers: list[BrokerWatch]) -> None:
        to_come: dict[str, bool] = {}
        for broker in brokers:
            for message in broker.messages:
                if group.wants(message) and self._is_to_come(broker, group, message):
                    key = message.unique_key
                    to_come[key] = to_come.get(key, False) or message.topic != SCHEDULE_TOPIC
        waiting: list[LoggedMessage] = []
        for broker in brokers:
            for message in broker.messages:
                if not group.wants(message) or self._is_done(group, message) or self._is_before_begin(group, message):
                    continue
                if message.unique_key not in to_come:
                    self._report_skipped(group, message)
                elif to_come[message.unique_key]:
                    waiting.append(message)
        if waiting and self._should_be_done(group):
            self._report_stuck(group, waiting)

    def _is_done(self, group: GroupWatch, message: LoggedMessage) -> bool:
        key = message.unique_key
        return (
            key in group.consumed
            or key in group.dead
            or key in group.lost
            or (message.broker, *message.place) in group.positions
        )

    def _is_before_begin(self, group: GroupWatch, message: LoggedMessage) -> bool:
        broker = self.watch.brokers[message.broker]
        if message.queue_offset < broker.lost_until.get((message.topic, message.queue_id), 0):
            return True
        if group.begins_at_first:
            return False
        first = self._first_offsets.get((message.broker, group.name, message.topic, message.queue_id))
        return first is None or message.queue_offset < first

    def _is_to_come(self, broker: BrokerWatch, group: GroupWatch, message: LoggedMessage) -> bool:
        """Whether the group or the delay level that the message lies at is not past it."""
        if message.topic == SCHEDULE_TOPIC:
            offsets = broker.broker.schedule_message_service.offset_table
            return message.queue_offset >= offsets.get(message.queue_id + 1, 0)
        offset = broker.broker.consumer_offset_manager.query_offset(group.name, message.topic, message.queue_id)
        return message.queue_offset >= offset

    def _should_be_done(self, group: GroupWatch) -> bool:
        watch = self.watch
        if watch.now_us - max(watch.calm_since_us, watch.last_consume_us) < CALM_MS * 1_000:
            return False
        roles = [role for role in watch.world.nodes.values() if role.spec.group == group.name]
        members = [role for role in roles if isinstance(role, ConsumerRole) and role.consumer is not None]
        if not members or any(role.listener_calls or role.listener.result is ListenerResult.HANGS for role in members):
            return False
        return all(role.listener.duration_ms < CALM_MS for role in members)

    def _report_skipped(self, group: GroupWatch, message: LoggedMessage) -> None:
        self.report(
            {"group": group.name, **message.element},
            (message.first_key,),
            f"Group {group.name} never consumed message {message.first_key} (offset {message.queue_offset} of queue "
            f"{message.queue_id} of {message.topic} on {message.broker}), and nothing will bring it again.",
            f"消费组 {group.name} 从未消费消息 {message.first_key}（{message.broker} 上 {message.topic} 队列 "
            f"{message.queue_id} 的偏移量 {message.queue_offset}），也不会再有人投递它。",
        )

    def _report_stuck(self, group: GroupWatch, waiting: list[LoggedMessage]) -> None:
        keys = tuple(message.first_key for message in waiting)
        first = waiting[0]
        self.report(
            {"group": group.name, **first.element},
            keys,
            f"{len(keys)} messages wait for group {group.name}, which has done nothing for {CALM_MS // 1_000} s "
            f"although nothing is wrong; the first is {first.first_key} on {first.broker}.",
            f"有 {len(keys)} 条消息在等待消费组 {group.name}，而它在一切正常的情况下已有 {CALM_MS // 1_000} 秒"
            f"毫无动作；第一条是 {first.broker} 上的 {first.first_key}。",
            Anomaly.STUCK,
        )
