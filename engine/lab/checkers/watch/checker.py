"""The base class of all checkers.

A checker claims something about a world and checks the claim event by event. Its docstring states the fault model
within which the claim must hold, and what RocketMQ does *not* promise. It is notified only of changes (see
:class:`~engine.lab.checkers.watch.cluster_watch.ClusterWatch`), so an event without changes costs it nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from engine.lab.checkers.watch.cluster_watch import ClusterWatch, WatchListener
from engine.lab.checkers.watch.violation import Anomaly, Violation
from engine.lab.nodes.history import ConsumeBegan
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.kafka import KafkaBrokerSpec, KafkaControllerSpec
from engine.lab.scenario.kinds.raft import RaftPeerSpec
from engine.lab.scenario.scenario import Scenario
from engine.texts import Text

#: Most violations that a checker reports in one run: the first ones are the most useful.
MAX_VIOLATIONS = 100


class Checker(WatchListener):
    """Base class of the checkers, each of which checks one invariant.

    Subclasses override the methods of :class:`WatchListener` for the events that they need.

    :cvar name: as in a scenario's ``invariants``.
    :cvar title, why: for users: what holds, and why it matters.
    """

    name: ClassVar[str]
    title: ClassVar[Text]
    why: ClassVar[Text]
    anomaly: ClassVar[Anomaly]

    def __init_subclass__(cls, *, is_base: bool = False) -> None:
        """Register the checker. ``is_base``: it is a common base of several checkers and has no name."""
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
        """Return whether the claim applies to ``scenario``; most are about brokers of RocketMQ."""
        return bool(scenario.of_kind(BrokerSpec))

    def text(self, key: str, /, **arguments: object) -> Text:
        """Return a text of this checker, ``checker.NAME.KEY`` in the catalogue."""
        return Text(f"checker.{self.name}.{key}", **arguments)

    @property
    def ok(self) -> bool:
        """Return whether no violation was found so far."""
        return not self._reported

    def report(
        self,
        element: Mapping[str, str | int],
        text: Text,
        anomaly: Anomaly | None = None,
        *,
        messages: tuple[str, ...] | None = None,
    ) -> None:
        """Report a violation. Only the first report about an element counts.

        :param messages: keys of the messages concerned; None: the element's, if it names one.
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
        """Report a message that a listener received; ``what`` says what is wrong with it."""
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
    """Return whether consumers share the messages of a topic."""
    return any(spec.model == "clustering" for spec in scenario.of_kind(ConsumerSpec))


def has_slaves(scenario: Scenario) -> bool:
    """Return whether a broker follows another one."""
    return any(spec.slave_of for spec in scenario.of_kind(BrokerSpec))


def has_kafka(scenario: Scenario) -> bool:
    """Return whether there is a Kafka broker."""
    return bool(scenario.of_kind(KafkaBrokerSpec))


def has_lone_kafka(scenario: Scenario) -> bool:
    """Return whether there is a Kafka broker without replication."""
    return has_kafka(scenario) and not has_kafka_cluster(scenario)


def has_kafka_cluster(scenario: Scenario) -> bool:
    """Return whether Kafka brokers hold copies of each other's partitions."""
    return bool(scenario.of_kind(KafkaControllerSpec))


def has_raft(scenario: Scenario) -> bool:
    """Return whether there is a Raft group."""
    return bool(scenario.of_kind(RaftPeerSpec))


def has_orderly_group(scenario: Scenario) -> bool:
    """Return whether a clustering group consumes each queue in order."""
    return any(spec.orderly and spec.model == "clustering" for spec in scenario.of_kind(ConsumerSpec))


def has_transactions(scenario: Scenario) -> bool:
    """Return whether a node sends in transactions."""
    return scenario.sends_in_transactions


def consumption_element(entry: ConsumeBegan) -> dict[str, str | int]:
    """Return the element of a violation of order: a message, and the group member that begins to consume it."""
    return {
        "node": entry.node,
        "group": entry.group,
        "topic": entry.topic,
        "queue": entry.queue_id,
        "offset": entry.queue_offset,
        "message": entry.key,
    }
