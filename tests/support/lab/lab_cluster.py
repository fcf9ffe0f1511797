"""A name server, brokers and clients in one lab world, each on a node of its own::

with LabCluster(seed=1) as cluster:
    producer = cluster.producer("P1", "producers")
    consumer = cluster.push_consumer("C1", "consumers")
    consumer.subscribe("T")
    consumer.register_message_listener(listen)
    cluster.start(producer, consumer)
    cluster.run(producer, producer.send(Message("T", b"hello")))
    cluster.world.run_until(lambda: heard)
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client.consumer.default_mq_pull_consumer import DefaultMQPullConsumer
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.name_server.name_server import NameServer
from engine.name_server.name_server_config import NameServerConfig
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.store_config import MessageStoreConfig

_T = TypeVar("_T")

Client = DefaultMQProducer | DefaultMQPushConsumer | DefaultMQPullConsumer

NAME_SERVER = "name-server"
#: Small files: a lab world has many, and reads them whole.
LAB_STORE = MessageStoreConfig(mapped_file_size_commit_log=1 << 20)


def broker_name(number: int) -> str:
    """``broker-a``, ``broker-b``, ..."""
    return f"broker-{chr(ord('a') + number)}"


class LabCluster:
    """A started cluster.

    :param brokers: how many masters there are.
    :param store_config: the brokers' stores.
    :param broker_settings: further fields of each broker's :class:`BrokerConfig`.
    :param world: further settings of :class:`LabMachines`, e.g. ``jitter_us``.
    """

    def __init__(
        self,
        seed: int = 1,
        brokers: int = 1,
        store_config: MessageStoreConfig = LAB_STORE,
        broker_settings: Mapping[str, Any] | None = None,
        **world: Any,
    ) -> None:
        self._store_config = store_config
        self._broker_settings = dict(broker_settings or {})
        self.world = LabMachines(seed, **world)
        runtime = self.world.node(NAME_SERVER)
        self.name_server = NameServer(runtime, NameServerConfig(host="", port=9876))
        self.world.run(self.name_server.start(), node=NAME_SERVER)
        self.name_server_address = f"{runtime.identity.host_ip}:9876"
        self.brokers: dict[str, Broker] = {}
        for number in range(brokers):
            self.start_broker(broker_name(number))

    @property
    def broker(self) -> Broker:
        """The first broker."""
        return self.brokers[broker_name(0)]

    def start_broker(self, name: str, **settings: Any) -> Broker:
        """Start a broker on the node of its name, with whatever files that has. Also after a crash."""
        runtime = self.world.node(name)
        config = BrokerConfig(
            broker_name=name,
            host=runtime.identity.host_ip,
            name_server_addresses=(self.name_server_address,),
            **{**self._broker_settings, **settings},
        )
        broker = self.brokers[name] = Broker(runtime, config, self._store_config)
        self.world.run(broker.start(), node=name)
        return broker

    def restart_broker(self, name: str, **settings: Any) -> Broker:
        """A new process of a broker that crashed, or that is crashed now."""
        self.world.restart(name)
        return self.start_broker(name, **settings)

    # --- clients ---------------------------------------------------------------------------------------------------

    def producer(self, node: str, group: str, **settings: Any) -> DefaultMQProducer:
        """A producer on ``node``, not started."""
        return DefaultMQProducer(self.world.node(node), group, self.name_server_address, **settings)

    def push_consumer(self, node: str, group: str, **settings: Any) -> DefaultMQPushConsumer:
        """A push consumer on ``node``, not started."""
        return DefaultMQPushConsumer(self.world.node(node), group, self.name_server_address, **settings)

    def pull_consumer(self, node: str, group: str, **settings: Any) -> DefaultMQPullConsumer:
        """A pull consumer on ``node``, not started."""
        return DefaultMQPullConsumer(self.world.node(node), group, self.name_server_address, **settings)

    def start(self, *clients: Client) -> None:
        """Start clients, one after the other, each on its node."""
        for client in clients:
            self.run(client, client.start())

    def stop(self, *clients: Client) -> None:
        """Shut clients down, one after the other."""
        for client in clients:
            self.run(client, client.shutdown())

    def run(self, client: Client, work: Coroutine[Any, Any, _T]) -> _T:
        """Run ``work`` on the client's node until it is done; its result."""
        return self.world.run(work, node=client.instance.runtime.node_name)

    # --- end -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the world."""
        self.world.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
