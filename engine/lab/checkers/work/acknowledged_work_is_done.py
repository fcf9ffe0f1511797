"""Checker: acknowledged work has been done.

Anomaly: *lost work*. A group has acknowledged a message, and its work was not done completely, neither by this delivery
nor by another of the same order; or it was done, and the message for the next group has never arrived. Checked at the
end of a run.

Fault model: any. An idempotent listener acknowledges a duplicate without working because it considers the work done: a
record that says so too early, or about another message, loses the work. A listener that acknowledges first and works
later breaks it with one crash. Dead letters are not acknowledged: they were not consumed, and are visible.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import DeliveryJudged, WorkDone
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.scenario import Scenario


class AcknowledgedWorkIsDone(Checker):
    """Check that acknowledged work is done."""

    name = "acknowledged-work-is-done"
    anomaly = Anomaly.SKIPPED

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (group, order) -> the delivery that was acknowledged first.
        self._acknowledged: dict[tuple[str, str], DeliveryJudged] = {}
        #: (group, order, node, effect) -> how often it was done, less what was taken back.
        self._done: dict[tuple[str, str, str, str], int] = {}
        self._delivered: dict[tuple[str, str], None] = {}
        #: Group -> the groups that continue its work.
        self._next: dict[str, dict[str, None]] = {}
        consumers = self.world.scenario.of_kind(ConsumerSpec)
        for spec in consumers:
            if spec.work is not None and spec.work.then:
                following = [other.group for other in consumers if other.topic == spec.work.then and other.work]
                self._next[spec.group] = dict.fromkeys(following)

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        return scenario.has_work

    def work_done(self, entry: WorkDone) -> None:
        group = self.world.spec_of(ConsumerSpec, entry.by).group
        done = group, entry.key, entry.node, entry.undoes or entry.effect
        self._done[done] = self._done.get(done, 0) + (-1 if entry.undoes else 1)

    def delivery_judged(self, entry: DeliveryJudged) -> None:
        delivery = entry.group, entry.order
        self._delivered[delivery] = None
        if entry.is_acknowledged:
            self._acknowledged.setdefault(delivery, entry)

    def run_ended(self) -> None:
        for (group, order), entry in self._acknowledged.items():
            element = {"node": entry.node, "group": group, "message": entry.key}
            work = self.world.spec_of(ConsumerSpec, entry.node).work
            assert work is not None, "only who has work judges deliveries"
            if any(self._done.get((group, order, *effect), 0) < 1 for effect in work.effects):
                self.report(element, self.text("lost", entry=entry))
            for following in self._next.get(group, ()):
                if (following, order) not in self._delivered:
                    broken_off = self.text("broken_off", entry=entry, following=following)
                    self.report({**element, "next": following}, broken_off)
