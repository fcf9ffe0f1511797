"""Links on which the messages of a scenario with work are sent, and the resulting requests to stores and services.

These are the links that random faults of such a scenario break. Heartbeats, rebalances and routes are left out: between
start and end of a short story hardly one of them is sent. Crashes, pauses and partitions reach who sends them, too.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.scenario.scenario import Scenario

#: Requests without an answer.
_ONE_WAY = ("UPDATE_CONSUMER_OFFSET", "END_TRANSACTION")
#: The called node, the requests, and what is sent back unrequested.
_Conversation = tuple[str, tuple[str, ...], tuple[str, ...]]


class MessageLink(NamedTuple):
    """One direction between two nodes; ``frames``: the names of frames that may be sent there."""

    source: str
    target: str
    frames: tuple[str, ...]


def message_links(scenario: Scenario) -> list[MessageLink]:
    """Return both directions of each pair of nodes of which one calls the other, in the order of the text."""
    links: list[MessageLink] = []
    for spec in scenario.nodes:
        for asked, requests, unasked in _conversations(scenario, spec):
            replies = [f"reply to {name}" for name in requests if name not in _ONE_WAY]
            links.append(MessageLink(spec.name, asked, requests))
            links.append(MessageLink(asked, spec.name, (*replies, *unasked)))
    return links


def _conversations(scenario: Scenario, spec: NodeSpec) -> list[_Conversation]:
    requests = spec.message_requests
    if not requests:
        return []
    checks = ("CHECK_TRANSACTION_STATE",) if "END_TRANSACTION" in requests else ()
    asked: list[_Conversation] = [(broker.name, requests, checks) for broker in scenario.of_kind(BrokerSpec)]
    return asked + [(name, scenario.node(name).served_requests, ()) for name in spec.called_nodes]
