"""A name server and a broker in a lab world, and a client that speaks in encoded frames only."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.name_server.name_server import NameServer
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.command.headers import (
    ConsumerSendMsgBackRequestHeader,
    CreateTopicRequestHeader,
    PullMessageRequestHeader,
    SendMessageRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand, SerializeType
from engine.protocol.enums import ConsumeFromWhere, ConsumeType, LanguageCode, MessageModel
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.names import retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import pull_system_flag
from engine.remoting.channel import Channel
from engine.remoting.remoting_client import RemotingClient
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.store_config import MessageStoreConfig

GOLDEN_FRAMES = Path(__file__).parents[2] / "golden" / "wire-first-of-each.jsonl"
TIMEOUT_MS = 60_000


def golden_frames() -> list[dict[str, Any]]:
    """The captured frames, oldest first."""
    return [json.loads(line) for line in GOLDEN_FRAMES.read_text().splitlines()]


class BrokerLab:
    """One world with nodes "name-server" and "broker-a"."""

    def __init__(
        self,
        config: BrokerConfig | None = None,
        store_config: MessageStoreConfig | None = None,
        *,
        seed: int = 1,
        name_server: bool = True,
    ) -> None:
        self.world = LabMachines(seed=seed)
        self.config = config if config is not None else BrokerConfig()
        self.store_config = store_config
        self.name_server: NameServer | None = None
        if name_server:
            self.name_server = NameServer(self.world.node("name-server"))
            self.world.run(self.name_server.start(), node="name-server")
            self.config = dataclasses.replace(self.config, name_server_addresses=(self.name_server.address,))
        self.world.node("broker-a")
        self.broker = self._start_broker()

    def _start_broker(self) -> Broker:
        async def start() -> Broker:
            broker = Broker(self.world.node("broker-a"), self.config, self.store_config)
            await broker.start()
            return broker

        return self.world.run(start(), node="broker-a")

    def restart_broker(
        self, *, keep_page_cache: bool = True, torn: bool = False, before_start: Callable[[], object] | None = None
    ) -> None:
        """Kill the broker's process, or cut its power, and start it again on the files it left."""
        self.world.crash("broker-a", keep_page_cache, torn=torn)
        if before_start is not None:
            before_start()
        self.world.restart("broker-a")
        self.broker = self._start_broker()

    def stop_broker(self) -> None:
        """Shut the broker down in order and start it again."""
        self.world.run(self.broker.shutdown(), node="broker-a")
        self.world.restart("broker-a")
        self.broker = self._start_broker()

    def client(self, name: str = "client", *, binary: bool = False) -> LabClient:
        """A client on a node of its own, connected to the broker with its first request."""
        return LabClient(self, name, binary=binary)

    def run_for(self, duration_ms: int) -> None:
        """Let virtual time pass."""
        self.world.run_for(duration_ms)


@contextmanager
def broker_lab(
    config: BrokerConfig | None = None, store_config: MessageStoreConfig | None = None, **options: Any
) -> Iterator[BrokerLab]:
    """A lab that is freed at the end."""
    lab = BrokerLab(config, store_config, **options)
    try:
        yield lab
    finally:
        lab.world.close()


class LabClient:
    """Sends requests and waits for their replies; keeps what the broker asks of it in ``notified``."""

    def __init__(self, lab: BrokerLab, name: str, *, binary: bool = False) -> None:
        self.lab = lab
        self.name = name
        self.notified: list[RemotingCommand] = []
        runtime = lab.world.node(name)
        self.remoting = RemotingClient(
            runtime,
            name,
            language=LanguageCode.JAVA,
            serialize_type=SerializeType.ROCKETMQ if binary else SerializeType.JSON,
            close_on_timeout=False,
        )
        for code in (RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, RequestCode.CHECK_TRANSACTION_STATE):
            self.remoting.register_processor(code, self._notified)

    def _notified(self, channel: Channel, request: RemotingCommand) -> None:
        self.notified.append(request)

    # ------------------------------------------------------------------------------ any request

    def call(self, code: int, header: Any = None, body: bytes = b"", *, address: str | None = None) -> RemotingCommand:
        """The reply to one request."""
        return self.exchange(RemotingCommand.request(code, header, body), address=address)

    def exchange(self, request: RemotingCommand, *, address: str | None = None) -> RemotingCommand:
        """The reply to ``request``."""
        where = self.lab.broker.address if address is None else address
        return self.lab.world.run(self.remoting.call(where, request, TIMEOUT_MS), node=self.name)

    def begin(self, request: RemotingCommand) -> Any:
        """Send ``request``; the task that waits for its reply."""
        work = self.remoting.call(self.lab.broker.address, request, TIMEOUT_MS)
        return self.lab.world.node(self.name).spawn(work, f"{self.name} waits")

    def ask_name_server(self, code: int, header: Any = None, body: bytes = b"") -> RemotingCommand:
        """The name server's reply."""
        assert self.lab.name_server is not None
        return self.call(code, header, body, address=self.lab.name_server.address)

    # ------------------------------------------------------------------------------ producing

    def send(
        self,
        topic: str = "T",
        body: bytes = b"hello",
        *,
        queue_id: int = 0,
        tags: str | None = None,
        keys: str | None = None,
        properties: dict[str, str] | None = None,
        delay_level: int = 0,
        **fields: Any,
    ) -> RemotingCommand:
        """The reply to a send (310)."""
        message = Message(topic, body, tags, keys, delay_level=delay_level)
        # Whatever their names: clients of another make send any.
        message.properties = {**(properties or {}), **message.properties}
        return self.exchange(self.send_request(topic, message, queue_id=queue_id, **fields))

    def send_request(
        self, topic: str, message: Message, *, queue_id: int = 0, group: str = "producers", **fields: Any
    ) -> RemotingCommand:
        """A send (310)."""
        header = SendMessageRequestHeader(
            producer_group=group,
            topic=topic,
            default_topic=fields.pop("default_topic", "TBW102"),
            default_topic_queue_nums=fields.pop("default_topic_queue_nums", 4),
            queue_id=queue_id,
            sys_flag=fields.pop("sys_flag", 0),
            born_timestamp=fields.pop("born_timestamp", 1_767_225_600_000),
            flag=message.flag,
            properties=encode_properties(message.properties),
            **fields,
        )
        request = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, body=message.body)
        request.ext_fields = header.encode_v2()
        return request

    def create_topic(self, topic: str, queues: int = 4, perm: int = 6) -> RemotingCommand:
        """The reply to UPDATE_AND_CREATE_TOPIC."""
        header = CreateTopicRequestHeader(topic, "TBW102", queues, queues, perm, "SINGLE_TAG", 0, False)
        return self.call(RequestCode.UPDATE_AND_CREATE_TOPIC, header)

    # ------------------------------------------------------------------------------ consuming

    def heartbeat(
        self,
        group: str = "consumers",
        subscriptions: dict[str, str] | None = None,
        *,
        client_id: str | None = None,
        version: int = 1,
        message_model: MessageModel = MessageModel.CLUSTERING,
        consume_type: ConsumeType = ConsumeType.CONSUME_PASSIVELY,
        producer_groups: tuple[str, ...] = (),
        expression_type: str = "TAG",
    ) -> RemotingCommand:
        """The reply to a heartbeat of one consumer group; topic -> expression."""
        wanted = {"T": "*"} if subscriptions is None else subscriptions
        data = tuple(
            build_subscription_data(topic, expression, expression_type=kind, sub_version=version)
            for topic, expression, kind in (
                *((topic, expression, expression_type) for topic, expression in wanted.items()),
                (retry_topic(group), "*", "TAG"),
            )
        )
        consumer = ConsumerData(
            group,
            consume_type,
            message_model,
            ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            data,
        )
        heartbeat = HeartbeatData(client_id or f"{self.name}@1", producer_groups, (consumer,))
        return self.call(RequestCode.HEART_BEAT, body=heartbeat.to_json())

    def pull_request(
        self,
        topic: str = "T",
        queue_id: int = 0,
        offset: int = 0,
        *,
        group: str = "consumers",
        subscription: str | None = "*",
        suspend_ms: int = 0,
        commit_offset: int | None = None,
        max_messages: int = 32,
        version: int = 1,
        expression_type: str = "TAG",
    ) -> RemotingCommand:
        """A pull; ``subscription`` None uses the heartbeat's."""
        header = PullMessageRequestHeader(
            consumer_group=group,
            topic=topic,
            queue_id=queue_id,
            queue_offset=offset,
            max_msg_nums=max_messages,
            sys_flag=pull_system_flag(
                commit_offset=commit_offset is not None,
                suspend=suspend_ms > 0,
                subscription=subscription is not None,
            ),
            commit_offset=commit_offset or 0,
            suspend_timeout_millis=suspend_ms,
            subscription=subscription,
            sub_version=version,
            expression_type=expression_type,
        )
        return RemotingCommand.request(RequestCode.PULL_MESSAGE, header)

    def pull(self, topic: str = "T", queue_id: int = 0, offset: int = 0, **fields: Any) -> RemotingCommand:
        """The reply to a pull."""
        return self.exchange(self.pull_request(topic, queue_id, offset, **fields))

    def messages(self, topic: str = "T", queue_id: int = 0, offset: int = 0, **fields: Any) -> list[MessageExt]:
        """What a pull finds."""
        reply = self.pull(topic, queue_id, offset, **fields)
        return decode_messages(reply.body) if reply.code == ResponseCode.SUCCESS else []

    def send_back(
        self,
        message: MessageExt,
        *,
        group: str = "consumers",
        delay_level: int = 0,
        max_reconsume_times: int | None = None,
    ) -> RemotingCommand:
        """The reply to CONSUMER_SEND_MSG_BACK."""
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.commit_log_offset,
            group=group,
            delay_level=delay_level,
            origin_msg_id=message.message_id,
            origin_topic=message.topic,
            max_reconsume_times=max_reconsume_times,
        )
        return self.call(RequestCode.CONSUMER_SEND_MSG_BACK, header)
