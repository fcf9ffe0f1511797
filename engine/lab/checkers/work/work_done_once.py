"""Checker: the work of a message is done once.

Anomaly: *duplicate*. The stock is lower by two for one order, a service has been asked twice and has done it twice.
What was taken back in between does not count.

Fault model: that of the strategy. ``message-table``, and conditions of the business itself where all of the work is in
one transaction: any. ``state-table``: no work takes longer than the expiry, its store forgets nothing, and work that
has failed half-way has done nothing that counts. All others, and calls of services that do not know their callers'
keys: none; there the search finds the schedule that breaks it.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import WorkDone
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.scenario import Scenario


class WorkDoneOnce(Checker):
    """Check that work is done once."""

    name = "work-done-once"
    anomaly = Anomaly.DUPLICATE

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (group, node, effect, key) -> the first time. Each group does its own work.
        self._first: dict[tuple[str, str, str, str], WorkDone] = {}

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        return scenario.has_work

    def work_done(self, entry: WorkDone) -> None:
        group = self.world.spec_of(ConsumerSpec, entry.by).group
        if entry.undoes:
            self._first.pop((group, entry.node, entry.undoes, entry.key), None)
            return
        first = self._first.setdefault((group, entry.node, entry.effect, entry.key), entry)
        if first is not entry:
            self.report(
                {"node": entry.node, "message": entry.key},
                self.text("again", entry=entry, first=first, seconds=round(first.time_us / 1e6, 3)),
            )
