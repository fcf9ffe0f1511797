"""The route tables (RocketMQ: ``RouteInfoManager``).

Four tables, all in memory; brokers fill them by registering every 30 s::

    topic   -> broker name -> QueueData       how many queues the topic has there
    broker name            -> BrokerData      the addresses of the name: broker id -> "ip:port"
    cluster -> broker names
    address                -> BrokerLiveInfo  when it last registered, the version of its topics, its channel

A topic that a broker no longer has stays in the route until it is deleted here too (DELETE_TOPIC_IN_NAMESRV), as in
RocketMQ 4. Simplified: no filter servers, no lock (code between awaits is atomic).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.name_server.errors import RegistrationRefused
from engine.protocol.body.bodies import ClusterInfo, TopicConfigSerializeWrapper
from engine.protocol.body.data_version import DataVersion
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.body.topic_route_data import MASTER_ID, BrokerData, QueueData, TopicRouteData
from engine.protocol.command.headers import RegisterBrokerRequestHeader
from engine.protocol.permission import PERM_READ_WRITE, PERM_WRITE
from engine.remoting.channel import Channel
from engine.runtime.port import Clock

logger = logging.getLogger("glassmq.name_server")


@dataclass(slots=True)
class BrokerLiveInfo:
    """A live broker process, identified by its address."""

    last_update_ms: int
    data_version: DataVersion
    channel: Channel
    ha_server_addr: str


class RouteInfoManager:
    """The route tables of a name server.

    :param clock: the name server's clock.
    :param expired_time_ms: a broker that has not registered for this long counts as dead.
    :param max_brokers: bound of broker addresses.
    :param max_topics: bound of topics.
    """

    def __init__(
        self, clock: Clock, expired_time_ms: int = 120_000, max_brokers: int = 1_000, max_topics: int = 100_000
    ) -> None:
        self._clock = clock
        self._expired_time_ms = expired_time_ms
        self._max_brokers = max_brokers
        self._max_topics = max_topics
        self._topic_queue_table: dict[str, dict[str, QueueData]] = {}
        self._broker_addr_table: dict[str, BrokerData] = {}
        self._cluster_addr_table: dict[str, dict[str, None]] = {}
        self._broker_live_table: dict[str, BrokerLiveInfo] = {}

    # ------------------------------------------------------------------------------ registration

    def register_broker(
        self, header: RegisterBrokerRequestHeader, topics: TopicConfigSerializeWrapper, channel: Channel
    ) -> tuple[str | None, str | None]:
        """Register a broker and its topics.

        Returns the high-availability address and the address of its master if it is a slave and the master is known,
        otherwise None twice. Raises :class:`RegistrationRefused` if a bound is reached.
        """
        live = self._broker_live_table.get(header.broker_addr)
        if live is None and len(self._broker_live_table) >= self._max_brokers:
            raise RegistrationRefused(f"this name server allows {self._max_brokers} brokers")
        new_topics = sum(topic not in self._topic_queue_table for topic in topics.topic_config_table)
        if len(self._topic_queue_table) + new_topics > self._max_topics:
            raise RegistrationRefused(f"this name server allows {self._max_topics} topics")
        is_first = self._note_address(header)
        if header.broker_id == MASTER_ID and (is_first or live is None or live.data_version != topics.data_version):
            for config in topics.topic_config_table.values():
                self._update_queue_data(header.broker_name, config)
        self._broker_live_table[header.broker_addr] = BrokerLiveInfo(
            self._clock.now_ms(), topics.data_version, channel, header.ha_server_addr
        )
        if live is None:
            logger.info(
                "broker %s (%s, id %d) registers with %d topics",
                header.broker_name,
                header.broker_addr,
                header.broker_id,
                len(topics.topic_config_table),
            )
        return (None, None) if header.broker_id == MASTER_ID else self._master_of(header.broker_name)

    def _note_address(self, header: RegisterBrokerRequestHeader) -> bool:
        """Enter the broker into the cluster and address tables; return True if this broker id is new."""
        self._cluster_addr_table.setdefault(header.cluster_name, {})[header.broker_name] = None
        data = self._broker_addr_table.setdefault(
            header.broker_name, BrokerData(header.cluster_name, header.broker_name)
        )
        # A slave that became master registers its old address under a new id: the old entry must be removed.
        for broker_id, address in list(data.broker_addrs.items()):
            if address == header.broker_addr and broker_id != header.broker_id:
                del data.broker_addrs[broker_id]
        is_first = header.broker_id not in data.broker_addrs
        data.broker_addrs[header.broker_id] = header.broker_addr
        return is_first

    def _update_queue_data(self, broker_name: str, config: TopicConfig) -> None:
        queue_data = QueueData(
            broker_name, config.read_queue_nums, config.write_queue_nums, config.perm, config.topic_sys_flag
        )
        queues = self._topic_queue_table.setdefault(config.topic_name, {})
        if queues.get(broker_name) != queue_data:
            queues[broker_name] = queue_data

    def _master_of(self, broker_name: str) -> tuple[str | None, str | None]:
        address = self._broker_addr_table[broker_name].master_address
        live = None if address is None else self._broker_live_table.get(address)
        return (None, None) if live is None else (live.ha_server_addr, address)

    def query_data_version(self, broker_addr: str) -> DataVersion | None:
        """Return the version of the topics that the broker registered last."""
        live = self._broker_live_table.get(broker_addr)
        return None if live is None else live.data_version

    def touch(self, broker_addr: str) -> None:
        """Note that the broker is alive, because it asked whether it must register."""
        live = self._broker_live_table.get(broker_addr)
        if live is not None:
            live.last_update_ms = self._clock.now_ms()

    # ------------------------------------------------------------------------------ removal

    def unregister_broker(self, broker_name: str, broker_addr: str, broker_id: int) -> None:
        """Remove a broker that unregisters."""
        if self._broker_live_table.pop(broker_addr, None) is not None:
            logger.info("broker %s (%s) unregisters", broker_name, broker_addr)
        data = self._broker_addr_table.get(broker_name)
        if data is not None and data.broker_addrs.get(broker_id) == broker_addr:
            self._remove_address(data, broker_id)

    def channel_closed(self, channel: Channel) -> None:
        """Remove the broker of a closed connection."""
        for address, live in list(self._broker_live_table.items()):
            if live.channel is channel:
                logger.warning("the connection of broker %s closed: it is removed", address)
                self._remove_dead(address)

    def forget_brokers(self) -> None:
        """Forget which brokers are alive, at the end of the name server: it closes their connections itself."""
        self._broker_live_table.clear()

    def scan_not_active_broker(self) -> None:
        """Remove every broker that has not registered for too long, and close its connection."""
        now_ms = self._clock.now_ms()
        for address, live in list(self._broker_live_table.items()):
            if now_ms - live.last_update_ms > self._expired_time_ms:
                logger.warning("broker %s has been silent for %d ms: it is removed", address, self._expired_time_ms)
                self._remove_dead(address)
                live.channel.close()

    def _remove_dead(self, broker_addr: str) -> None:
        self._broker_live_table.pop(broker_addr, None)
        for data in list(self._broker_addr_table.values()):
            for broker_id, address in list(data.broker_addrs.items()):
                if address == broker_addr:
                    self._remove_address(data, broker_id)

    def _remove_address(self, data: BrokerData, broker_id: int) -> None:
        """Remove one address; with the last one of a broker name its topics are removed, too."""
        del data.broker_addrs[broker_id]
        if data.broker_addrs:
            return
        name = data.broker_name
        del self._broker_addr_table[name]
        for cluster, members in list(self._cluster_addr_table.items()):
            members.pop(name, None)
            if not members:
                del self._cluster_addr_table[cluster]
        for topic, queues in list(self._topic_queue_table.items()):
            queues.pop(name, None)
            if not queues:
                del self._topic_queue_table[topic]

    def delete_topic(self, topic: str, cluster_name: str | None = None) -> None:
        """Remove ``topic`` from the route; if a cluster is named, only there."""
        queues = self._topic_queue_table.get(topic)
        if queues is None:
            return
        members = list(queues) if cluster_name is None else list(self._cluster_addr_table.get(cluster_name, ()))
        for broker_name in members:
            queues.pop(broker_name, None)
        if not queues:
            del self._topic_queue_table[topic]

    # ------------------------------------------------------------------------------ write permission

    def wipe_write_perm(self, broker_name: str) -> int:
        """Remove write permission, so that producers do not choose queues of ``broker_name``; return the number of its
        topics.

        Used before a broker is stopped: consumers can still drain it. It lasts until the broker's topics change,
        because it then registers their own permissions again.
        """
        return self._change_perm(broker_name, lambda perm: perm & ~PERM_WRITE)

    def add_write_perm(self, broker_name: str) -> int:
        """Restore it. As in RocketMQ every topic of the broker becomes readable and writable, whatever its permission
        was.
        """
        return self._change_perm(broker_name, lambda _: PERM_READ_WRITE)

    def _change_perm(self, broker_name: str, change: Callable[[int], int]) -> int:
        count = 0
        for queues in self._topic_queue_table.values():
            data = queues.get(broker_name)
            if data is not None:
                queues[broker_name] = replace(data, perm=change(data.perm))
                count += 1
        logger.info("the write permission of broker %s is changed on %d topics", broker_name, count)
        return count

    # ------------------------------------------------------------------------------ queries

    def pickup_topic_route_data(self, topic: str) -> TopicRouteData | None:
        """Return the brokers that have ``topic`` and how many queues each; None if no broker has it."""
        queues = self._topic_queue_table.get(topic)
        if queues is None:
            return None
        brokers = [self._broker_addr_table[name] for name in queues if name in self._broker_addr_table]
        if not brokers:
            return None
        return TopicRouteData(queue_datas=list(queues.values()), broker_datas=brokers)

    def all_cluster_info(self) -> ClusterInfo:
        """Return all brokers, and the brokers of each cluster."""
        clusters = {cluster: list(members) for cluster, members in self._cluster_addr_table.items()}
        return ClusterInfo(dict(self._broker_addr_table), clusters)

    def all_topics(self) -> list[str]:
        """Return the names of all topics, in the order in which they became known."""
        return list(self._topic_queue_table)

    def topics_of_cluster(self, cluster: str) -> list[str]:
        """Return the names of all topics that a broker of ``cluster`` has."""
        members = self._cluster_addr_table.get(cluster, {})
        return [topic for topic, queues in self._topic_queue_table.items() if any(name in members for name in queues)]

    def system_topics(self) -> tuple[list[str], str | None]:
        """Return the topics named after clusters and brokers, and the address of one broker to ask for the others."""
        names: dict[str, None] = {}
        for cluster, members in self._cluster_addr_table.items():
            names[cluster] = None
            names.update(members)
        addresses = (address for data in self._broker_addr_table.values() for address in data.broker_addrs.values())
        return list(names), next(addresses, None)

    def topics_by_flag(self, is_wanted: Callable[[int], bool]) -> list[str]:
        """Return the topics whose ``topicSysFlag`` matches. As in RocketMQ, the first broker with the topic decides."""
        return [
            topic
            for topic, queues in self._topic_queue_table.items()
            if is_wanted(next(iter(queues.values())).topic_sys_flag)
        ]
