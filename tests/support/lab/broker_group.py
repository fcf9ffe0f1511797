"""Three brokers whose log counts by majority, and clients of theirs, in one lab world."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.group_member import GroupMember, MemberState
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.callbacks.send_result import SendStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.errors import MQClientError
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message import Message, MessageExt
from engine.replication.majority.group_config import GroupConfig
from engine.runtime.lab.lab_link_fault import Partition
from engine.store.files.store_config import MessageStoreConfig
from tests.support.lab.lab_cluster import LabCluster

MEMBERS = ("n0", "n1", "n2")
#: The group's broker, by the name that clients know.
GROUP = "broker-a"
SMALL_FILES = MessageStoreConfig(mapped_file_size_commit_log=16 * 1024, max_message_size=8 * 1024)
#: Interval at which clients look for the new master.
_OFTEN = {"poll_name_server_interval_ms": 500}


class BrokerGroup(LabCluster):
    """A started group with a leader.

    :ivar members: by name; those of crashed nodes are the last ones that ran there.
    :ivar acknowledged: bodies that were, in this order.
    :ivar consumed: bodies that the consumer got, in this order.
    """

    def __init__(self, seed: int = 1, **settings: Any) -> None:
        super().__init__(seed, brokers=0)
        self._settings = {"slave_timeout_ms": 1_000, **settings}
        self.members: dict[str, GroupMember] = {}
        self.acknowledged: list[str] = []
        self.consumed: list[str] = []
        self.down: set[str] = set()
        self._addresses = {name: f"{self.world.node(name).identity.host_ip}:40911" for name in MEMBERS}
        for name in MEMBERS:
            self.start_member(name)
        self.world.run_until(lambda: self.leaders)
        self.sender = self.producer("P", "producers", **_OFTEN)
        self.start(self.sender)

    def start_member(self, name: str) -> GroupMember:
        """Start a member on its node, with whatever files that has."""
        runtime = self.world.node(name)
        config = BrokerConfig(
            broker_name=GROUP,
            host=runtime.identity.host_ip,
            name_server_addresses=(self.name_server_address,),
            **self._settings,
        )
        member = self.members[name] = GroupMember(runtime, GroupConfig(name, self._addresses), config, SMALL_FILES)
        self.world.run(member.start(), node=name)
        return member

    def crash(self, name: str, *, keep_page_cache: bool = True) -> None:
        """Kill a member's process, or cut its machine's power."""
        self.down.add(name)
        self.world.crash(name, keep_page_cache)

    def restart_member(self, name: str) -> GroupMember:
        """A new process of a member that crashed."""
        self.down.remove(name)
        self.world.restart(name)
        return self.start_member(name)

    def restart(self, name: str) -> GroupMember:
        """In order: what it has applied is on its disk."""
        self.world.run(self.members[name].shutdown(), node=name)
        self.crash(name)
        return self.restart_member(name)

    @property
    def leaders(self) -> list[GroupMember]:
        """Members whose node runs and who serve clients."""
        return [
            member
            for name, member in self.members.items()
            if name not in self.down and member.state is MemberState.LEADS
        ]

    @property
    def leader(self) -> GroupMember:
        """Return the leader of the newest term: one that is cut off does not know of it for a while."""
        return max(self.leaders, key=lambda member: member.peer.core.term)

    def cut_off(self, name: str) -> Partition:
        """Nothing passes between a member and the others; clients and the name server reach all."""
        fault = Partition((name,), tuple(member for member in MEMBERS if member != name))
        self.world.network.faults.append(fault)
        return fault

    def send(self, body: str, topic: str = "T") -> SendStatus | None:
        """Send one message, once; None: nobody knows what became of it."""
        return self.run(self.sender, self.send_once(body, topic))

    async def send_once(self, body: str, topic: str) -> SendStatus | None:
        try:
            result = await self.sender.send(Message(topic, body.encode()), timeout_ms=2_000)
        except MQClientError:
            return None
        if result.status is SendStatus.SEND_OK:
            self.acknowledged.append(body)
        return result.status

    def send_until_acknowledged(self, *bodies: str) -> None:
        """Send each one again until it is."""

        async def send_all() -> None:
            for body in bodies:
                while await self.send_once(body, "T") is not SendStatus.SEND_OK:
                    await asyncio.sleep(0.2)

        self.run(self.sender, send_all())

    def start_consumer(self) -> DefaultMQPushConsumer:
        """Start a consumer of topic T, from its first message on."""

        async def listen(messages: Sequence[MessageExt], context: object) -> ConsumeConcurrentlyStatus:
            self.consumed += [message.body.decode() for message in messages]
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer = self.push_consumer(
            "C", "consumers", consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, **_OFTEN
        )
        consumer.subscribe("T")
        consumer.register_message_listener(listen)
        self.start(consumer)
        return consumer

    def logs(self) -> list[bytes]:
        """Return the commit log of each member as it is in its files, in order."""
        return [_log_bytes(self.world.storages[name].files) for name in MEMBERS]

    def wait_until_same(self) -> None:
        """All have the same log, to its end."""
        self.world.run_until(lambda: len(self.leaders) == 1 and len(set(self.logs())) == 1)


def _log_bytes(files: Any) -> bytes:
    paths = sorted(path for path in files if path.startswith("commitlog/"))
    return b"".join(files[path].read(0, files[path].size_bytes) for path in paths).rstrip(b"\0")
