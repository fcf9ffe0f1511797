"""Links on which the messages of a scenario with work are sent, and the resulting requests to stores and services.

These are the links that random faults of such a scenario break. Heartbeats, rebalances and routes are left out: between
start and end of a short story hardly one of them is sent. Crashes, pauses and partitions reach who sends them, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec, SendingSpec
from engine.lab.scenario.kinds.stores import DatabaseSpec, RedisSpec, ServiceSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.work.store_frames import StoreRequestCode
from engine.lab.work.work_spec import WITH_SERVICE

_PULLS = ("PULL_MESSAGE", "CONSUMER_SEND_MSG_BACK", "UPDATE_CONSUMER_OFFSET")
#: Requests without an answer.
_ONE_WAY = ("UPDATE_CONSUMER_OFFSET", "END_TRANSACTION")
#: Requests to stores, by kind.
_STORE_REQUESTS: Mapping[type[NodeSpec], tuple[StoreRequestCode, ...]] = {
    DatabaseSpec: (StoreRequestCode.SQL_EXECUTE, StoreRequestCode.SQL_COMMIT, StoreRequestCode.SQL_ROLLBACK),
    RedisSpec: (StoreRequestCode.REDIS_COMMAND,),
    ServiceSpec: (StoreRequestCode.SERVICE_CALL,),
}


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
    sends = _sends(spec)
    requests = (*_PULLS, *sends) if isinstance(spec, ConsumerSpec) else sends
    if not requests:
        return []
    checks = ("CHECK_TRANSACTION_STATE",) if "END_TRANSACTION" in sends else ()
    asked: list[_Conversation] = [(broker.name, requests, checks) for broker in scenario.of_kind(BrokerSpec)]
    if isinstance(spec, ConsumerSpec) and spec.work is not None:
        services = [one.service for one in spec.work.steps if one.kind in WITH_SERVICE]
        for name in dict.fromkeys((spec.work.database, spec.work.records, *services)):
            codes = _STORE_REQUESTS[type(scenario.node(name))]
            asked.append((name, tuple(code.name for code in codes), ()))
    return asked


def _sends(spec: NodeSpec) -> tuple[str, ...]:
    """Return the requests with which it sends messages, if it does."""
    if isinstance(spec, ConsumerSpec):
        return ("SEND_MESSAGE_V2", "END_TRANSACTION") if spec.sends_in_transactions else ()
    traffics = spec.traffic if isinstance(spec, SendingSpec) else ()
    kinds = ["SEND_BATCH_MESSAGE" if traffic.batch > 1 else "SEND_MESSAGE_V2" for traffic in traffics]
    return (*dict.fromkeys(kinds), *(("END_TRANSACTION",) if spec.sends_in_transactions else ()))
