"""Checker: the reservations of an order (try, confirm, cancel) end in the same way at all services, and none is left.

Anomalies: *lost write* (confirmed at one service and not at another), *stuck* (a reservation that will never end: its
try came after the cancel), *ghost read* (a cancel or a confirm has released what was not reserved). Looked for at the
end of a run, of orders that were acknowledged.

Fault model: any, with services that keep the states of their reservations. Without them a doubled, a lost or a late
call is enough. ``work-done-once`` checks that a confirm is done once.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import DeliveryJudged, WorkDone
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.work.reservations import ReservationEvent
from engine.lab.work.work_spec import StepKind, WorkSpec


class ReservationsAgree(Checker):
    """Check that reservations agree."""

    name = "reservations-agree"
    anomaly = Anomaly.LOST_WRITE

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (service, order) -> how often it was confirmed there, and how many reservations are open.
        self._confirmed: dict[tuple[str, str], int] = {}
        self._open: dict[tuple[str, str], int] = {}
        self._acknowledged: dict[str, DeliveryJudged] = {}

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        return any(_services(spec.work) for spec in scenario.of_kind(ConsumerSpec))

    def work_done(self, entry: WorkDone) -> None:
        place = entry.node, entry.key
        if entry.effect == ReservationEvent.TRY:
            self._open[place] = self._open.get(place, 0) + 1
        elif entry.effect == ReservationEvent.CONFIRM or entry.undoes == ReservationEvent.TRY:
            self._open[place] = self._open.get(place, 0) - 1
            self._confirmed[place] = self._confirmed.get(place, 0) + (not entry.undoes)

    def delivery_judged(self, entry: DeliveryJudged) -> None:
        if entry.is_acknowledged and _services(self.world.spec_of(ConsumerSpec, entry.node).work):
            self._acknowledged.setdefault(entry.order, entry)

    def run_ended(self) -> None:
        for order, entry in self._acknowledged.items():
            services = _services(self.world.spec_of(ConsumerSpec, entry.node).work)
            confirmed = [name for name in services if self._confirmed.get((name, order))]
            others = [name for name in services if name not in confirmed]
            if confirmed and others:
                text = self.text("apart", key=order, node=confirmed[0], other=others[0])
                self.report({"message": order}, text)
            for name in services:
                left = self._open.get((name, order), 0)
                element = {"node": name, "message": order}
                if left > 0:
                    self.report(element, self.text("left", node=name, key=order), Anomaly.STUCK)
                elif left < 0:
                    text = self.text("released", node=name, key=order)
                    self.report(element, text, Anomaly.GHOST_READ)


def _services(work: WorkSpec | None) -> list[str]:
    return [] if work is None else [one.service for one in work.steps if one.kind is StepKind.RESERVE]
