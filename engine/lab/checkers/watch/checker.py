"""What all checkers have in common.

A checker claims something about a world and looks, event by event, whether it holds. Its docstring says within which
fault model the claim must hold, and what RocketMQ does *not* promise. It is told only what changed (see
:class:`~engine.lab.checkers.watch.cluster_watch.ClusterWatch`), so an event in which nothing changed costs it nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from engine.lab.checkers.watch.cluster_watch import ClusterWatch, WatchListener
from engine.lab.checkers.watch.violation import Anomaly, Violation
from engine.lab.nodes.history import ConsumeBegan
from engine.lab.scenario.scenario import Role, Scenario
from engine.texts import Text

#: A checker reports no more violations in one run: the first ones tell the story.
MAX_VIOLATIONS = 100


class Checker(WatchListener):
    """One invariant. Subclasses override the methods of :class:`WatchListener` for the news that they need.

    :cvar name: as in a scenario's ``invariants``.
    :cvar title, why: for people: what holds, and why one wants it.
    """

    name: ClassVar[str]
    title: ClassVar[Text]
    why: ClassVar[Text]
    anomaly: ClassVar[Anomaly]

    def __init_subclass__(cls, *, is_base: bool = False) -> None:
        """``is_base``: no invariant, but what several have in common; so it has no name."""
        if is_base:
            return
        cls.title, cls.why = Text(f"checker.{cls.name}.title"), Text(f"checker.{cls.name}.why")

    def __init__(self, watch: ClusterWatch) -> None:
        self.watch = watch
        self.world = watch.world
        self._reported: dict[tuple[str | int, ...], None] = {}
        watch.add(self)

    @staticmethod
    def applies(scenario: Scenario) -> bool:
        """Whether the claim means anything in ``scenario``; most are about brokers of RocketMQ."""
        return bool(scenario.of_role(Role.BROKER))

    @property
    def ok(self) -> bool:
        """Whether nothing was found so far."""
        return not self._reported

    def report(
        self,
        element: Mapping[str, str | int],
        text: Text,
        anomaly: Anomaly | None = None,
        *,
        messages: tuple[str, ...] | None = None,
    ) -> None:
        """Something does not hold. Only the first report about an element counts.

        :param messages: keys of those it is about; None: the element's, if it names one.
        """
        identity = tuple(element.values())
        if identity in self._reported or len(self._reported) >= MAX_VIOLATIONS:
            return
        self._reported[identity] = None
        if messages is None:
            messages = (str(element["message"]),) if "message" in element else ()
        watch = self.watch
        where = (watch.event_number, watch.now_us, dict(element))
        watch.found.append(Violation(self.name, anomaly or self.anomaly, *where, messages, text))

    def report_read(self, entry: ConsumeBegan, what: Text) -> None:
        """A listener got a message; ``what`` is wrong with it."""
        self.report(
            {
                "node": entry.node,
                "topic": entry.topic,
                "queue": entry.queue_id,
                "offset": entry.queue_offset,
                "message": entry.key,
            },
            Text("checker.read", entry=entry, what=what),
        )


def has_clustering_group(scenario: Scenario) -> bool:
    """Whether consumers share the messages of a topic."""
    return any(spec.model == "clustering" for spec in scenario.of_role(Role.CONSUMER))


def has_slaves(scenario: Scenario) -> bool:
    """Whether a broker follows another one."""
    return any(spec.slave_of for spec in scenario.of_role(Role.BROKER))


def has_kafka(scenario: Scenario) -> bool:
    """Whether there is a broker of Kafka."""
    return bool(scenario.of_role(Role.KAFKA_BROKER))


def has_lone_kafka(scenario: Scenario) -> bool:
    """Whether there is one, and nobody has copies."""
    return has_kafka(scenario) and not has_kafka_cluster(scenario)


def has_kafka_cluster(scenario: Scenario) -> bool:
    """Whether brokers of Kafka hold copies of each other's partitions."""
    return bool(scenario.of_role(Role.KAFKA_CONTROLLER))


def has_raft(scenario: Scenario) -> bool:
    """Whether there is a Raft group."""
    return bool(scenario.of_role(Role.RAFT_PEER))


def has_orderly_group(scenario: Scenario) -> bool:
    """Whether such consumers handle each queue in order."""
    return any(spec.orderly and spec.model == "clustering" for spec in scenario.of_role(Role.CONSUMER))


def has_transactions(scenario: Scenario) -> bool:
    """Whether anybody sends in transactions."""
    return scenario.sends_in_transactions


def consumption_element(entry: ConsumeBegan) -> dict[str, str | int]:
    """What the claims about order are about: one message that one member of a group begins with."""
    return {
        "node": entry.node,
        "group": entry.group,
        "topic": entry.topic,
        "queue": entry.queue_id,
        "offset": entry.queue_offset,
        "message": entry.key,
    }
