"""The routes and broker addresses that a client knows (RocketMQ: the tables of ``MQClientInstance``)."""

from __future__ import annotations

import dataclasses
import logging
import re

from engine.client.foundation.errors import MQBrokerError, NoBroker, NoRoute, OrderTopicConfUnusable
from engine.client.instance.mq_client_api import MQClientApi
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.topic_route_data import MASTER_ID, BrokerData, TopicRouteData, check_queue_nums
from engine.protocol.errors import MalformedBody
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC
from engine.protocol.permission import is_readable, is_writable
from engine.protocol.response_code import ResponseCode

_log = logging.getLogger("glassmq.client")

#: The maximum length of a queue count's text.
_COUNT = re.compile("[0-9]{1,18}")


def publish_queues(topic: str, route: TopicRouteData) -> tuple[MessageQueue, ...]:
    """Return the queues that a producer may send to: writable ones whose master is up, sorted by broker.

    Raises :class:`OrderTopicConfUnusable`.
    """
    if route.order_topic_conf:
        counts = _read_order_topic_conf(topic, route.order_topic_conf)
        if not any(counts.get(data.broker_name) for data in route.broker_datas):
            known = ", ".join(sorted(data.broker_name for data in route.broker_datas)) or "none"
            raise OrderTopicConfUnusable(topic, route.order_topic_conf, f"it names no queue of its brokers: {known}")
        # A globally fixed number of queues, regardless of which brokers are up.
        return tuple(MessageQueue(topic, name, queue_id) for name, count in counts.items() for queue_id in range(count))
    masters = {data.broker_name for data in route.broker_datas if data.master_address is not None}
    return tuple(
        MessageQueue(topic, data.broker_name, queue_id)
        for data in sorted(route.queue_datas, key=lambda data: data.broker_name)
        if is_writable(data.perm) and data.broker_name in masters
        for queue_id in range(data.write_queue_nums)
    )


def _read_order_topic_conf(topic: str, order_topic_conf: str) -> dict[str, int]:
    """Parse the broker names of ``"broker-a:4;broker-b:4"`` and their numbers of queues.

    RocketMQ's producers fail a send with a NumberFormatException, or with an OutOfMemoryError for a large number.
    """
    counts: dict[str, int] = {}
    for entry in filter(str.strip, order_topic_conf.split(";")):
        broker_name, _, count = entry.strip().rpartition(":")
        if not broker_name or not _COUNT.fullmatch(count) or broker_name in counts:
            raise OrderTopicConfUnusable(topic, order_topic_conf, f"{entry!r:.80} is wrong")
        counts[broker_name] = int(count)
    try:
        check_queue_nums(counts.items())
    except MalformedBody as error:
        raise OrderTopicConfUnusable(topic, order_topic_conf, str(error)) from error
    return counts


def subscribe_queues(topic: str, route: TopicRouteData) -> tuple[MessageQueue, ...]:
    """Return the queues that a consumer may pull from, sorted."""
    queues = (
        MessageQueue(topic, data.broker_name, queue_id)
        for data in route.queue_datas
        if is_readable(data.perm)
        for queue_id in range(data.read_queue_nums)
    )
    return tuple(sorted(queues))


class ClientRouteTable:
    """Routes by topic and broker addresses by name, as last received from a name server."""

    def __init__(self, api: MQClientApi) -> None:
        self._api = api
        #: topic -> route (RocketMQ: ``topicRouteTable``).
        self.routes: dict[str, TopicRouteData] = {}
        #: Topics that do not exist yet, and temporarily have the route of TBW102.
        self._assumed: dict[str, None] = {}
        #: broker name -> broker id -> address (``brokerAddrTable``).
        self.broker_addresses: dict[str, dict[int, str]] = {}

    async def fetch(self, topic: str) -> TopicRouteData:
        """Request the route and keep it. Raises :class:`NoRoute`, :class:`NameServerUnreachable`."""
        try:
            route = await self._api.topic_route(topic)
        except MQBrokerError as error:
            if error.code == ResponseCode.TOPIC_NOT_EXIST:
                servers = ", ".join(self._api.name_server_addresses)
                raise NoRoute(
                    f"no route for topic {topic!r} at name server {servers}: {error.remark}; is it created?"
                ) from error
            raise
        self._assumed.pop(topic, None)
        self._keep(topic, route)
        return route

    def knows(self, topic: str) -> bool:
        """Return whether a name server has returned the topic's own route."""
        return topic in self.routes and topic not in self._assumed

    async def fetch_by_default_topic(self, topic: str, queue_nums: int) -> TopicRouteData:
        """Return the route that the missing ``topic`` will have once a first message creates it.

        It is TBW102's, with at most ``queue_nums`` queues. Raises :class:`NoRoute` if brokers do not create topics by
        themselves.
        """
        try:
            template = await self._api.topic_route(AUTO_CREATE_TOPIC_KEY_TOPIC)
        except MQBrokerError as error:
            servers = ", ".join(self._api.name_server_addresses)
            raise NoRoute(
                f"no route for topic {topic!r} at name server {servers}: the topic does not exist, and no broker "
                f"creates topics automatically ({AUTO_CREATE_TOPIC_KEY_TOPIC} is unknown); is it created?"
            ) from error
        capped = [
            dataclasses.replace(
                data,
                read_queue_nums=min(queue_nums, data.read_queue_nums),
                write_queue_nums=min(queue_nums, data.read_queue_nums),
            )
            for data in template.queue_datas
        ]
        route = dataclasses.replace(template, queue_datas=capped)
        self._assumed[topic] = None
        self._keep(topic, route)
        return route

    def _keep(self, topic: str, route: TopicRouteData) -> None:
        if self.routes.get(topic) != route:
            _log.info("the route of topic %s is now %s", topic, route)
        self.routes[topic] = route
        for data in route.broker_datas:
            self.broker_addresses[data.broker_name] = dict(data.broker_addrs)

    def forget_offline_brokers(self) -> None:
        """Remove addresses that no known route names any more (``cleanOfflineBroker``)."""
        named: dict[str, dict[int, str]] = {}
        for route in self.routes.values():
            for data in route.broker_datas:
                named.setdefault(data.broker_name, {}).update(data.broker_addrs)
        self.broker_addresses = {
            name: {broker_id: address for broker_id, address in addresses.items() if broker_id in named.get(name, {})}
            for name, addresses in self.broker_addresses.items()
            if name in named
        }

    def master_address(self, broker_name: str) -> str:
        """Return the address to send to (``findBrokerAddressInPublish``). Raises :class:`NoBroker`."""
        address = self.broker_addresses.get(broker_name, {}).get(MASTER_ID)
        if address is None:
            raise NoBroker(f"no master of broker {broker_name!r} is known; known: {self._known()}")
        return address

    def address_to_pull_from(self, broker_name: str, broker_id: int = MASTER_ID) -> tuple[str, bool]:
        """Return ``(address, whether it is a slave)``: the requested one, else any (``findBrokerAddressInSubscribe``).

        Raises :class:`NoBroker`.
        """
        addresses = self.broker_addresses.get(broker_name, {})
        if not addresses:
            raise NoBroker(f"no address of broker {broker_name!r} is known; known: {self._known()}")
        chosen = broker_id if broker_id in addresses else min(addresses)
        return addresses[chosen], chosen != MASTER_ID

    def all_addresses(self, *, masters_only: bool) -> list[str]:
        """Return every broker's addresses, masters first, each once."""
        found: dict[str, None] = {}
        for name in sorted(self.broker_addresses):
            for broker_id in sorted(self.broker_addresses[name]):
                if broker_id == MASTER_ID or not masters_only:
                    found[self.broker_addresses[name][broker_id]] = None
        return list(found)

    def brokers_of_topic(self, topic: str) -> list[str]:
        """Return one address, the master's if possible, of each broker name that serves ``topic``."""
        route = self.routes.get(topic)
        datas: list[BrokerData] = [] if route is None else route.broker_datas
        return [
            data.broker_addrs[min(data.broker_addrs)]
            for data in sorted(datas, key=lambda data: data.broker_name)
            if data.broker_addrs
        ]

    def _known(self) -> str:
        return ", ".join(sorted(self.broker_addresses)) or "none"
