"""A master and its slaves in one lab world."""

from __future__ import annotations

from typing import Any

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client.callbacks.send_result import SendResult
from engine.protocol.message.message import Message
from engine.replication.ha.ha_config import HaRole
from engine.store.files.store_config import MessageStoreConfig
from tests.support.lab.lab_cluster import LabCluster

MASTER = "broker-a"
SMALL_FILES = MessageStoreConfig(mapped_file_size_commit_log=16 * 1024, max_message_size=8 * 1024)


class ReplicaPair(LabCluster):
    """A started master without slaves; ``slave(1)`` starts the first."""

    def __init__(self, role: HaRole = HaRole.ASYNC_MASTER, **settings: Any) -> None:
        super().__init__(
            store_config=SMALL_FILES,
            broker_settings={"broker_role": role, "ha_listen_port": 10_912, "slave_timeout_ms": 1_000, **settings},
        )
        self._producer = self.producer("P", "producers")
        self.start(self._producer)

    @property
    def master(self) -> Broker:
        return self.brokers[MASTER]

    def slave(self, number: int, **settings: Any) -> Broker:
        """Start a slave on the node of its number, with whatever files that has; it follows when this returns."""
        slave = self.start_slave(number, **settings)
        self.world.run_until(lambda: slave.replication.client.problem == "")
        return slave

    def start_slave(self, number: int, **settings: Any) -> Broker:
        """The same, not waiting for anything."""
        node = f"slave-{number}"
        runtime = self.world.node(node)
        config = BrokerConfig(
            broker_name=MASTER,
            broker_id=number,
            broker_role=HaRole.SLAVE,
            host=runtime.identity.host_ip,
            name_server_addresses=(self.name_server_address,),
            **settings,
        )
        slave = self.brokers[node] = Broker(runtime, config, SMALL_FILES)
        self.world.run(slave.start(), node=node)
        return slave

    def send(self, body: bytes = b"hello", topic: str = "T", delay_level: int = 0) -> SendResult:
        """Send one message and wait for the answer."""
        return self.send_message(Message(topic, body, delay_level=delay_level))

    def send_message(self, message: Message) -> SendResult:
        """The same with any message."""
        return self.run(self._producer, self._producer.send(message))

    def wait_until_same(self, slave: Broker) -> None:
        """The slave has all that the master has, and consumers can see it."""
        log, copy = self.master.store.commit_log, slave.store.commit_log
        self.world.run_until(lambda: copy.max_offset == log.max_offset == slave.store.dispatcher.dispatched_offset)


def log_bytes(broker: Broker, start: int | None = None) -> bytes:
    """Return the commit log as it is in the files."""
    log = broker.store.commit_log
    begin = log.min_offset if start is None else start
    return log.files.read(begin, log.max_offset - begin)
