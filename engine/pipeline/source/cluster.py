"""What the planner asks a cluster: which topics, which queues where, and their offsets.

Connections are kept between calls: a stream asks a few times per second. Everything is asked of masters, since only
they know the newest offsets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from engine.pipeline.source.cluster_options import ClusterOptions
from engine.pipeline.source.errors import RocketMQError
from engine.pipeline.source.node_client import UNREACHABLE, NodeClient, refusal
from engine.pipeline.source.queue_offsets import QueueKey
from engine.protocol.command_header import CommandHeader
from engine.protocol.errors import ProtocolError
from engine.protocol.json_text import loads_json_object
from engine.protocol.name_server_headers import GetRouteInfoRequestHeader
from engine.protocol.names import (
    DLQ_GROUP_TOPIC_PREFIX,
    REPLY_TOPIC_POSTFIX,
    RETRY_GROUP_TOPIC_PREFIX,
    SCHEDULE_TOPIC,
    SYSTEM_TOPICS,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
    is_system_topic,
)
from engine.protocol.permission import is_readable, is_writable
from engine.protocol.queue_headers import OffsetResponseHeader, QueueRequestHeader, SearchOffsetRequestHeader
from engine.protocol.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.topic_route_data import BrokerData, TopicRouteData

#: Topics that a broker keeps for itself and need not register, and their queues there; a delay level has a queue each.
_UNROUTED_QUEUES = {
    TRANSACTION_HALF_TOPIC: 1,
    TRANSACTION_OP_HALF_TOPIC: 1,
    TRANSACTION_CHECK_MAX_TIME_TOPIC: 1,
    SCHEDULE_TOPIC: 18,
}
_OWN_PREFIXES = (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX)


class Cluster:
    """One cluster, seen from the planner (or an executor that has lost a broker). Not thread-safe."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._clients: dict[str, NodeClient] = {}
        self._masters: dict[str, str] = {}

    def close(self) -> None:
        """End all connections."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    # --- topics and queues -------------------------------------------------------------------------------------------

    def queues(self, topics: Sequence[str], option: str | None = None) -> list[QueueKey]:
        """The readable queues of these topics, sorted.

        :param option: the option that names the topics, for errors.

        Raises :class:`RocketMQError`: a topic is unknown or has no readable queue, or no name server answers.
        """
        found: list[QueueKey] = []
        for topic, route in zip(topics, self._routes(topics), strict=True):
            queues = self._queues_of(topic, route)
            if not queues:
                said_where = "" if option is None else f"option {option!r}: "
                raise RocketMQError("ROCKETMQ_UNKNOWN_TOPIC", f"{said_where}{self._nothing_to_read(topic, route)}")
            found += queues
        return sorted(found)

    def queues_there_are(self, topics: Sequence[str]) -> list[QueueKey]:
        """The same without complaint: of topics that are unknown or have no readable queue there is none."""
        routes = zip(topics, self._routes(topics), strict=True)
        return sorted(queue for topic, route in routes for queue in self._queues_of(topic, route))

    def _nothing_to_read(self, topic: str, route: TopicRouteData | None) -> str:
        if route is not None:
            return f"topic {topic!r} has no queue that one may read"
        return f"name server {self._name_servers_text} knows no topic {topic!r}{self._similar(topic)}"

    def writable_queues(self, topic: str) -> list[QueueKey]:
        """The queues that a producer may choose from, in the order in which every client numbers them.

        Raises :class:`RocketMQError` when there are none.
        """
        route = self._routes([topic])[0]
        queues: list[QueueKey] = []
        if route is not None:
            for broker in route.broker_datas:
                self._note_master(broker)
            queues = [
                QueueKey(topic, data.broker_name, queue_id)
                for data in route.queue_datas
                # Only a master takes messages.
                if is_writable(data.perm) and data.broker_name in self._masters
                for queue_id in range(data.write_queue_nums)
            ]
        if not queues:
            raise RocketMQError(
                "ROCKETMQ_UNKNOWN_TOPIC",
                f"name server {self._name_servers_text} knows no queue of topic {topic!r} that one may write to"
                f"{self._similar(topic)}",
            )
        return sorted(queues)

    def topics_like(self, pattern: str, *, with_system_topics: bool) -> list[str]:
        """The topics whose whole name matches a regular expression, sorted; perhaps none.

        Topics of the broker itself, retry and dead-letter topics are left out unless they are wanted.
        """
        wanted = re.compile(pattern)
        return [
            topic
            for topic in self._all_topics()
            if wanted.fullmatch(topic) and (with_system_topics or not _is_own(topic))
        ]

    def _all_topics(self) -> list[str]:
        answer = self._ask_name_server([RemotingCommand.request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)])[0]
        if answer.code != ResponseCode.SUCCESS:
            raise refusal("", self._name_servers_text, answer)
        names = loads_json_object(answer.body, "a topic list").get("topicList")
        # Each broker and each cluster has a topic of its own name, which says where it is; nobody writes to them.
        brokers = self._cluster_info()
        no_topics = {data.broker_name for data in brokers} | {data.cluster for data in brokers}
        return sorted(name for name in names or () if isinstance(name, str) and name not in no_topics)

    def _queues_of(self, topic: str, route: TopicRouteData | None) -> list[QueueKey]:
        if route is None:
            return self._unrouted_queues(topic)
        for broker in route.broker_datas:
            self._note_master(broker)
        return [
            QueueKey(topic, data.broker_name, queue_id)
            for data in route.queue_datas
            if is_readable(data.perm)
            for queue_id in range(data.read_queue_nums)
        ]

    def _unrouted_queues(self, topic: str) -> list[QueueKey]:
        """Queues of a topic that brokers have and name servers do not tell: every master is asked."""
        count = _UNROUTED_QUEUES.get(topic)
        if count is None:
            return []
        for broker in self._cluster_info():
            self._note_master(broker)
        return [QueueKey(topic, name, queue_id) for name in sorted(self._masters) for queue_id in range(count)]

    def _note_master(self, broker: BrokerData) -> None:
        if broker.master_address is not None:
            self._masters[broker.broker_name] = broker.master_address

    def _similar(self, topic: str) -> str:
        """A hint for a misspelt name; an error must not become another one, so it may stay empty."""
        import difflib

        try:
            others = [name for name in self._all_topics() if name != topic]
        except (RocketMQError, ProtocolError):
            return ""
        close = difflib.get_close_matches(topic, others, n=3)
        return f"; did you mean {' or '.join(repr(name) for name in close)}?" if close else ""

    # --- offsets -----------------------------------------------------------------------------------------------------

    def min_offsets(self, queues: Sequence[QueueKey]) -> dict[QueueKey, int]:
        """Offset of the oldest message that is left in each queue."""
        return self._offsets(
            queues, RequestCode.GET_MIN_OFFSET, lambda queue: QueueRequestHeader(queue.topic, queue.queue_id)
        )

    def max_offsets(self, queues: Sequence[QueueKey]) -> dict[QueueKey, int]:
        """The offset that the next message of each queue will get."""
        return self._offsets(
            queues, RequestCode.GET_MAX_OFFSET, lambda queue: QueueRequestHeader(queue.topic, queue.queue_id)
        )

    def offsets_near(self, timestamps_ms: Mapping[QueueKey, int]) -> dict[QueueKey, int]:
        """Offset of the message stored nearest to a time; a message before that time is as good as one after it."""
        return self._offsets(
            list(timestamps_ms),
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
            lambda queue: SearchOffsetRequestHeader(queue.topic, queue.queue_id, timestamps_ms[queue]),
        )

    def _offsets(
        self, queues: Sequence[QueueKey], code: RequestCode, header: Callable[[QueueKey], CommandHeader]
    ) -> dict[QueueKey, int]:
        offsets: dict[QueueKey, int] = {}
        for queue, answer in self.ask_queues(queues, code, header):
            if answer.code != ResponseCode.SUCCESS:
                raise refusal(queue.topic, self.master(queue.broker_name), answer)
            offsets[queue] = OffsetResponseHeader.decode(answer.ext_fields).offset
        return offsets

    def ask_queues(
        self, queues: Iterable[QueueKey], code: RequestCode, header: Callable[[QueueKey], CommandHeader]
    ) -> list[tuple[QueueKey, RemotingCommand]]:
        """Ask about each queue at the master that has it, all queues of a broker in one round trip; the answers."""
        by_broker: dict[str, list[QueueKey]] = {}
        for queue in queues:
            by_broker.setdefault(queue.broker_name, []).append(queue)
        answers: list[tuple[QueueKey, RemotingCommand]] = []
        for broker_name, of_broker in by_broker.items():
            requests = [RemotingCommand.request(code, header(queue)) for queue in of_broker]
            answers += zip(of_broker, self.ask_broker(broker_name, of_broker[0].topic, requests), strict=True)
        return answers

    # --- nodes -------------------------------------------------------------------------------------------------------

    def knows_master(self, broker_name: str) -> bool:
        """Whether a name server has told where a broker is."""
        return broker_name in self._masters

    def master(self, broker_name: str) -> str:
        """The address of a broker's master, as the name servers told it last. Raises ``ROCKETMQ_BROKER_AWAY``."""
        address = self._masters.get(broker_name)
        if address is None:
            raise RocketMQError(
                "ROCKETMQ_BROKER_AWAY",
                f"name server {self._name_servers_text} tells no master of broker {broker_name!r}",
            )
        return address

    def refresh_master(self, topic: str, broker_name: str) -> str:
        """The same, asked anew: the broker may have moved."""
        self._masters.pop(broker_name, None)
        self._queues_of(topic, self._routes([topic])[0])
        return self.master(broker_name)

    def ask_broker(self, broker_name: str, topic: str, requests: Sequence[RemotingCommand]) -> list[RemotingCommand]:
        """Ask a master; when it does not answer, once more wherever the name server then says it is."""
        try:
            return self.client(self.master(broker_name)).ask_all(requests)
        except UNREACHABLE:
            address = self.refresh_master(topic, broker_name)
        try:
            return self.client(address).ask_all(requests)
        except UNREACHABLE as failure:
            raise broker_away(topic, broker_name, failure) from failure

    def client(self, address: str) -> NodeClient:
        """The connection to a node, kept for the next call."""
        client = self._clients.get(address)
        if client is None:
            client = self._clients[address] = NodeClient(address, self._options)
        return client

    def _routes(self, topics: Sequence[str]) -> list[TopicRouteData | None]:
        """Where each topic is; None for one that the name server does not know."""
        answers = self._ask_name_server(
            [
                RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic, True))
                for topic in topics
            ]
        )
        routes: list[TopicRouteData | None] = []
        for topic, answer in zip(topics, answers, strict=True):
            if answer.code == ResponseCode.TOPIC_NOT_EXIST:
                routes.append(None)
            elif answer.code == ResponseCode.SUCCESS:
                routes.append(TopicRouteData.from_json(answer.body))
            else:
                raise refusal(topic, self._name_servers_text, answer)
        return routes

    def _cluster_info(self) -> list[BrokerData]:
        answer = self._ask_name_server([RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO)])[0]
        if answer.code != ResponseCode.SUCCESS:
            raise refusal("", self._name_servers_text, answer)
        table = loads_json_object(answer.body, "the brokers of a cluster").get("brokerAddrTable")
        return [BrokerData.from_dict(data) for data in table.values()] if isinstance(table, dict) else []

    def _ask_name_server(self, requests: Sequence[RemotingCommand]) -> list[RemotingCommand]:
        failures: list[str] = []
        for address in self._options.name_servers:
            try:
                return self.client(address).ask_all(requests)
            except UNREACHABLE as failure:
                failures.append(str(failure))
        raise RocketMQError("ROCKETMQ_NAME_SERVER_AWAY", f"option 'nameServer': {'; '.join(failures)}")

    @property
    def _name_servers_text(self) -> str:
        return ", ".join(self._options.name_servers)


def _is_own(topic: str) -> bool:
    return is_system_topic(topic) or topic.startswith(_OWN_PREFIXES) or topic.endswith(f"_{REPLY_TOPIC_POSTFIX}")


def broker_away(topic: str, broker_name: str, failure: BaseException) -> RocketMQError:
    """The error for a broker that does not answer."""
    return RocketMQError("ROCKETMQ_BROKER_AWAY", f"topic {topic!r}: broker {broker_name!r} does not answer: {failure}")


assert set(_UNROUTED_QUEUES) <= set(SYSTEM_TOPICS)
