"""Checker: no message is missed because members of a group have different subscriptions.

Anomaly: *skipped*. A broker keeps one set of subscriptions per group, that of the member that announced the newest.
With it the pulls of *all* members are filtered, while each member drops what it did not ask for itself. And the members
divide the queues of a topic among all of them, also among those that never asked for the topic. So what one member
wants gets lost on the way: it is passed over (the group's offset moves past it), or waits in a queue that is not
pulled.

Fault model: any. RocketMQ promises nothing to such a group, and says nothing either: the rule is the user's to keep.
The claim is made only of groups whose members do differ; about the others see ``offsets-never-pass-unconsumed`` and
``consumed-in-the-end``.
"""

from __future__ import annotations

from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.group_watch import GroupWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.enums import ExpressionType
from engine.texts import Text


class SubscriptionsAgree(Checker):
    """Check that subscriptions agree."""

    name = "subscriptions-agree"
    anomaly = Anomaly.SKIPPED

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (broker, group, topic, queue id) for which one message was reported; the others follow when the run is over.
        self._noted: dict[tuple[str, str, str, int], None] = {}

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        """Return whether members of some clustering group have different subscriptions, by tags."""
        subscriptions: dict[str, dict[tuple[str, str], None]] = {}
        for spec in scenario.of_kind(ConsumerSpec):
            if _is_judged(spec):
                subscriptions.setdefault(spec.group, {})[spec.topic, spec.expression] = None
        return any(len(wanted) > 1 for wanted in subscriptions.values())

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        members = self.watch.groups.get(group)
        place = (broker.name, group, topic, queue_id)
        if members is None or members.is_consistent or place in self._noted:
            return
        for passed in range(max(before, 0, broker.lost_until.get((topic, queue_id), 0)), offset):
            message = broker.by_place.get((topic, queue_id, passed))
            if message is None or members.is_settled(message):
                continue
            if self._report(members, message, self.text("passed_over")):
                self._noted[place] = None
                return

    def run_ended(self) -> None:
        for group in self.watch.groups.values():
            for broker in () if group.is_consistent else self.watch.brokers.values():
                for message in broker.messages:
                    if not group.is_settled(message):
                        self._report(group, message, self.text("never"))

    def _report(self, group: GroupWatch, message: LoggedMessage, action: Text) -> bool:
        """Report the message if a member wanted it. Return whether one did."""
        member = next((spec for spec in group.members if _wants(spec, message)), None)
        if member is None or not group.begins_at_first:
            return False
        self.report(
            {"group": group.name, **message.element},
            self.text(
                "found",
                member=member.name,
                topic=member.topic,
                expression=member.expression,
                message=message,
                group=group.name,
                action=action,
            ),
        )
        return True


def _is_judged(spec: ConsumerSpec) -> bool:
    return spec.model == "clustering" and spec.expression_type == ExpressionType.TAG


def _wants(spec: ConsumerSpec, message: LoggedMessage) -> bool:
    if not _is_judged(spec) or message.destination != spec.topic:
        return False
    return build_subscription_data(spec.topic, spec.expression).matches_tag(message.tags or None)
