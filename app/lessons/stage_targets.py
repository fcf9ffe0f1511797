"""The things of the stage that a lesson can point at: by name, never by a place in a page.

The page finds them with ``static/lessons/targets.js``, which has a function for each of these kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.kafka import KafkaBrokerSpec, KafkaControllerSpec
from engine.lab.scenario.kinds.name_server import NameServerSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.kinds.raft import RaftPeerSpec
from engine.lab.scenario.kinds.stores import DatabaseSpec, ServiceSpec
from engine.lab.scenario.kinds.xa import CoordinatorSpec, ResourceManagerSpec
from engine.lab.scenario.scenario import Scenario
from engine.protocol.names import (
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
    dlq_topic,
    retry_topic,
)


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target.

    :ivar words: what follows the kind; ``|`` separates alternatives.
    :ivar what: what is shown there.
    """

    words: tuple[str, ...]
    what: str


TARGETS: Mapping[str, TargetKind] = {
    "node": TargetKind(("NODE",), "the card of a node"),
    "routes": TargetKind(("NAME_SERVER",), "the brokers that a name server knows"),
    "sends": TargetKind(("PRODUCER",), "how many messages a producer has sent, and how that ended"),
    "commit-log": TargetKind(("BROKER",), "the end of the commit log"),
    "copies": TargetKind(("BROKER",), "what a master's slaves have of its log, or a slave's word on its master"),
    "page-cache": TargetKind(("NODE",), "the pages of its files: which are in memory, and which are dirty"),
    "disk-arm": TargetKind(("NODE",), "where on the disk its arm read and wrote"),
    "record": TargetKind(("BROKER", "KEY"), "one record of the commit log, by its message's key"),
    "queue": TargetKind(("BROKER", "TOPIC", "NUMBER"), "one consume queue, with the groups' offsets"),
    "partition": TargetKind(("KAFKA_BROKER", "TOPIC", "NUMBER"), "one partition's log in a broker of Kafka"),
    "isr": TargetKind(("KAFKA_SERVER", "TOPIC", "NUMBER"), "a partition's ISR, as a broker or the controller has it"),
    "high-watermark": TargetKind(
        ("KAFKA_BROKER", "TOPIC", "NUMBER"), "a partition's high watermark, as a broker has it"
    ),
    "entry": TargetKind(("BROKER", "TOPIC", "NUMBER", "NUMBER"), "one entry of a consume queue, by its offset"),
    "committed": TargetKind(("BROKER", "TOPIC", "NUMBER", "GROUP"), "the offset that a group has stored in a queue"),
    "held-pulls": TargetKind(("BROKER",), "the pulls that wait at a broker"),
    "process-queue": TargetKind(("CONSUMER", "TOPIC@NUMBER"), "a ProcessQueue with its trees"),
    "waiting-tree": TargetKind(("CONSUMER", "TOPIC@NUMBER"), "the tree of the messages that wait (msgTreeMap)"),
    "consuming-tree": TargetKind(
        ("CONSUMER", "TOPIC@NUMBER"), "the tree of those an orderly listener has (consumingMsgOrderlyTreeMap)"
    ),
    "lock": TargetKind(("BROKER", "GROUP", "TOPIC@NUMBER"), "one line of the broker's lock table"),
    "listener": TargetKind(("CONSUMER",), "the calls of the listener that run"),
    "filter": TargetKind(("CONSUMER",), "what a consumer subscribes to, and what filters did with its topic"),
    "delay-levels": TargetKind(("BROKER",), "the delay levels, with the queue that each has"),
    "half-messages": TargetKind(("BROKER",), "the half messages, each with how long until it is asked about"),
    "local-transactions": TargetKind(("PRODUCER",), "the calls of the transaction listener"),
    "bank": TargetKind(("NODE",), "the account of a node that is a bank, with its newest rows"),
    "cash-machine": TargetKind(("NODE",), "somebody who looks up the balance at a bank"),
    "global-transactions": TargetKind(("COORDINATOR",), "the global transactions that a coordinator has open"),
    "branches": TargetKind(("RESOURCE_MANAGER",), "the branches of a resource manager"),
    "guard": TargetKind(("CONSUMER",), "the idempotence of a consumer: its strategy, its verdicts"),
    "orders": TargetKind(("DATABASE",), "the stock and the orders in a database, with who writes"),
    "records": TargetKind(("NODE",), "the idempotence records in a database or a Redis"),
    "calls": TargetKind(("SERVICE",), "what a service has done"),
    "raft-log": TargetKind(("PEER",), "the log of a Raft peer, each entry with its term"),
    "fault-menu": TargetKind(("NODE",), "the button that opens a node's faults"),
    "panel": TargetKind(
        ("source|invariants|timers|actors|faults|settings|sequence|log|frames|explorer|money|xa|life|backlog|compare",),
        "a panel",
    ),
    "control": TargetKind(("restart|back|play|step|actor|run-until|speed|scrub|fork",), "a control of time"),
}

_KINDS: Mapping[str, type[NodeSpec]] = {
    "NAME_SERVER": NameServerSpec,
    "PRODUCER": ProducerSpec,
    "BROKER": BrokerSpec,
    "CONSUMER": ConsumerSpec,
    "COORDINATOR": CoordinatorSpec,
    "RESOURCE_MANAGER": ResourceManagerSpec,
    "DATABASE": DatabaseSpec,
    "SERVICE": ServiceSpec,
    "PEER": RaftPeerSpec,
    "KAFKA_BROKER": KafkaBrokerSpec,
}
_KAFKA_SERVERS: tuple[type[NodeSpec], ...] = (KafkaBrokerSpec, KafkaControllerSpec)


@dataclass(frozen=True, slots=True)
class StageTarget:
    """A target such as ``queue B1 Greetings 0``: a kind and its words. A record is named by the message's key."""

    kind: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.kind, *self.words))


class WrongTarget(Exception):
    """There is no such thing on the stage of the lesson's scenario; the message names what there is."""


def parse_target(text: str, scenario: Scenario) -> StageTarget:
    """Return the target that ``text`` names. Raises :class:`WrongTarget`."""
    kind, *words = text.split()[:10] or [""]
    if kind not in TARGETS:
        raise WrongTarget(f"{text!r} is not an element of the stage; allowed: {', '.join(TARGETS)}")
    wanted = TARGETS[kind].words
    if len(words) != len(wanted):
        raise WrongTarget(f"{text!r}: allowed: {' '.join((kind, *wanted))}")
    for word, sort in zip(words, wanted, strict=True):
        allowed = _allowed(sort, scenario)
        if allowed is None:
            if sort == "NUMBER" and not word.isdecimal():
                raise WrongTarget(f"{text!r}: {word!r} is not a number")
        elif word not in allowed:
            raise WrongTarget(f"{text!r}: there is no {word!r}; allowed: {', '.join(allowed)}")
    return StageTarget(kind, tuple(words))


def _allowed(sort: str, scenario: Scenario) -> list[str] | None:
    """Return the allowed words for ``sort``; None when any is."""
    if sort == "NODE":
        # Members that join during the lesson are not in the scenario: they continue its names.
        return [node.name for node in scenario.nodes] + [f"C{number}" for number in range(1, 10)]
    if sort == "KAFKA_SERVER":
        return [node.name for kind in _KAFKA_SERVERS for node in scenario.of_kind(kind)]
    if sort in _KINDS:
        names = [node.name for node in scenario.of_kind(_KINDS[sort])]
        return names + [f"C{number}" for number in range(1, 10)] if sort == "CONSUMER" else names
    match sort:
        case "TOPIC":
            retries = [name for group in _retrying_groups(scenario) for name in (retry_topic(group), dlq_topic(group))]
            return [topic.name for topic in scenario.topics] + _topics_of_transactions(scenario) + retries
        case "TOPIC@NUMBER":
            queues = [f"{topic.name}@{number}" for topic in scenario.topics for number in range(topic.queues)]
            return queues + [f"{retry_topic(group)}@0" for group in _retrying_groups(scenario)]
        case "GROUP":
            return list(dict.fromkeys(node.group for node in scenario.of_kind(ConsumerSpec)))
    return sort.split("|") if "|" in sort else None


def _retrying_groups(scenario: Scenario) -> list[str]:
    """Return the clustering groups: each has a retry topic, and a dead-letter topic once it gave up a message."""
    consumers = scenario.of_kind(ConsumerSpec)
    return list(dict.fromkeys(node.group for node in consumers if node.model == "clustering"))


def _topics_of_transactions(scenario: Scenario) -> list[str]:
    """Return the topics that a broker creates when the first half message arrives."""
    if all(node.transaction is None for node in scenario.of_kind(ProducerSpec)):
        return []
    return [TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC, TRANSACTION_CHECK_MAX_TIME_TOPIC]
