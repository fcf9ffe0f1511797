"""What the planner asks a cluster: which topics, which queues where, and their offsets.

Connections are kept between calls: a stream asks a few times per second. Everything is asked of masters, since only
they know the newest offsets.
"""

from __future__ import annotations

import difflib
import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import TypeVar

from engine.pipeline.source.cluster.cluster_options import CLUSTER_OPTION_NAMES, ClusterOptions
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.node_client import PULL_BYTES, UNREACHABLE, NodeClient, refusal
from engine.pipeline.source.cluster.option_values import OptionValues
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.protocol.body import question
from engine.protocol.body.question import Question
from engine.protocol.body.topic_route_data import BrokerData, TopicRouteData
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.names import (
    DLQ_GROUP_TOPIC_PREFIX,
    REPLY_TOPIC_POSTFIX,
    RETRY_GROUP_TOPIC_PREFIX,
    SCHEDULE_TOPIC,
    SYSTEM_TOPICS,
    TOOLS_CONSUMER_GROUP,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
    is_system_topic,
)
from engine.protocol.permission import is_readable, is_writable
from engine.protocol.response_code import ResponseCode

_T = TypeVar("_T")
_log = logging.getLogger("glassmq.pipeline")

#: Topics that a broker keeps for itself and need not register, and their queues there; a delay level has a queue each.
_UNROUTED_QUEUES = {
    TRANSACTION_HALF_TOPIC: 1,
    TRANSACTION_OP_HALF_TOPIC: 1,
    TRANSACTION_CHECK_MAX_TIME_TOPIC: 1,
    SCHEDULE_TOPIC: 18,
}
#: So long a reader goes on with the routes that it knows while no name server answers. RocketMQ's clients have no such
#: bound; here a queue that is new or gone must not stay unseen.
_KNOWN_FOR_S = 300.0
#: Answers that are kept for that.
_KNOWN_MAX = 10_000
_OWN_PREFIXES = (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX)


class Cluster:
    """One cluster, seen from the planner (or an executor that has lost a broker). Not thread-safe."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._clients: dict[str, NodeClient] = {}
        self._masters: dict[str, str] = {}
        #: What was asked of name servers -> the last answer.
        self._known: dict[tuple[object, ...], RemotingCommand] = {}
        self._answered_s = 0.0
        self._is_name_server_away = False

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

    def known(self, topics: Sequence[str]) -> tuple[str, ...]:
        """Those of ``topics`` that have a queue that one may read."""
        routes = zip(topics, self._routes(topics), strict=True)
        return tuple(topic for topic, route in routes if self._queues_of(topic, route))

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
        # Each broker and each cluster has a topic of its own name, which says where it is; nobody writes to them.
        names, brokers = self._ask_name_server(question.topic_names()), self._brokers()
        no_topics = {data.broker_name for data in brokers} | {data.cluster for data in brokers}
        return sorted(name for name in names if name not in no_topics)

    def _brokers(self) -> Collection[BrokerData]:
        return self._ask_name_server(question.cluster_info()).broker_addr_table.values()

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
        for broker in self._brokers():
            self._note_master(broker)
        return [QueueKey(topic, name, queue_id) for name in sorted(self._masters) for queue_id in range(count)]

    def _note_master(self, broker: BrokerData) -> None:
        if broker.master_address is not None:
            self._masters[broker.broker_name] = broker.master_address

    def _similar(self, topic: str) -> str:
        """A hint for a misspelt name; an error must not become another one, so it may stay empty."""
        try:
            others = [name for name in self._all_topics() if name != topic]
        except (RocketMQError, ProtocolError):
            return ""
        close = difflib.get_close_matches(topic, others, n=3)
        return f"; did you mean {' or '.join(repr(name) for name in close)}?" if close else ""

    # --- offsets -----------------------------------------------------------------------------------------------------

    def min_offsets(self, queues: Iterable[QueueKey]) -> dict[QueueKey, int]:
        """Offset of the oldest message that is left in each queue."""
        return self.ask_queues(queues, question.min_offset)

    def max_offsets(self, queues: Iterable[QueueKey]) -> dict[QueueKey, int]:
        """The offset that the next message of each queue will get."""
        return self.ask_queues(queues, question.max_offset)

    def offsets_near(self, timestamps_ms: Mapping[QueueKey, int]) -> dict[QueueKey, int]:
        """Offset of the message stored nearest to a time; a message before that time is as good as one after it."""
        return self.ask_queues(timestamps_ms, lambda queue: question.offset_at(queue, timestamps_ms[queue]))

    def group_offsets(self, group: str, queues: Iterable[QueueKey]) -> dict[QueueKey, int]:
        """The next offset of a group in each queue; queues in which it has none are left out.

        Brokers keep such offsets for any name, whether or not the group ever had a member. Raises ``ROCKETMQ_REFUSED``
        where the account may not ask.
        """
        none = (ResponseCode.QUERY_NOT_FOUND,)
        return self.ask_queues(queues, partial(question.group_offset, group), group=group, without=none)

    def store_group_offsets(self, group: str, offsets: Mapping[QueueKey, int]) -> None:
        """Let the brokers note these offsets; they are there when this returns."""
        self.ask_queues(offsets, lambda queue: question.store_group_offset(group, queue, offsets[queue]), group=group)

    def ask_queues(
        self,
        queues: Iterable[QueueKey],
        ask: Callable[[QueueKey], Question[_T]],
        *,
        group: str | None = None,
        without: Collection[int] | None = (),
    ) -> dict[QueueKey, _T]:
        """What the masters say of each queue, all queues of a broker in one round trip. Raises :class:`RocketMQError`.

        :param group: about whose progress it is: access control looks at group and topic alike, so errors name both.
        :param without: queues whose answer has such a code are left out; None: all whose answer is no success.
        """
        by_broker: dict[str, list[QueueKey]] = {}
        for queue in queues:
            by_broker.setdefault(queue.broker_name, []).append(queue)
        answers: list[tuple[QueueKey, Question[_T], RemotingCommand]] = []
        for broker_name, of_broker in by_broker.items():
            asked = [ask(queue) for queue in of_broker]
            told = self.ask_broker(broker_name, of_broker[0].topic, [one.request() for one in asked])
            answers += zip(of_broker, asked, told, strict=True)
        found: dict[QueueKey, _T] = {}
        for queue, one, answer in answers:
            if answer.code == ResponseCode.SUCCESS:
                found[queue] = one.read(answer)
            elif without is not None and answer.code not in without:
                error = refusal(queue.topic, self.master(queue.broker_name), answer)
                raise error if group is None else RocketMQError(error.condition, f"group {group!r}, {error.text}")
        return found

    # --- messages ----------------------------------------------------------------------------------------------------

    def pull(
        self, queue: QueueKey, offset: int, max_messages: int, group: str = TOOLS_CONSUMER_GROUP
    ) -> RemotingCommand:
        """The answer to one pull; see :func:`~engine.protocol.body.question.look`."""
        asked = question.look(queue, offset, max_messages, group=group, max_bytes=PULL_BYTES)
        return self.ask_broker(queue.broker_name, queue.topic, [asked.request()])[0]

    def lets_pull(self, queue: QueueKey) -> bool:
        """Whether the broker hands out messages of the queue; some topics it keeps for itself."""
        return self.pull(queue, 0, 1).code not in (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION)

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
        asked = [question.topic_route(topic) for topic in topics]
        answers = self._exchange_with_name_server([one.request() for one in asked])
        routes: list[TopicRouteData | None] = []
        for topic, one, answer in zip(topics, asked, answers, strict=True):
            if answer.code == ResponseCode.TOPIC_NOT_EXIST:
                routes.append(None)
            elif answer.code == ResponseCode.SUCCESS:
                routes.append(one.read(answer))
            else:
                raise refusal(topic, self._name_servers_text, answer)
        return routes

    def _ask_name_server(self, asked: Question[_T]) -> _T:
        (answer,) = self._exchange_with_name_server([asked.request()])
        if answer.code != ResponseCode.SUCCESS:
            raise refusal("", self._name_servers_text, answer)
        return asked.read(answer)

    def _exchange_with_name_server(self, requests: Sequence[RemotingCommand]) -> list[RemotingCommand]:
        asked: list[tuple[object, ...]] = [(request.code, *sorted(request.ext_fields.items())) for request in requests]
        failures: list[str] = []
        for address in self._options.name_servers:
            try:
                answers = self.client(address).ask_all(requests)
            except UNREACHABLE as failure:
                failures.append(str(failure))
                continue
            if len(self._known) > _KNOWN_MAX:
                self._known.clear()
            self._known |= zip(asked, answers, strict=True)
            self._answered_s, self._is_name_server_away = time.monotonic(), False
            return answers
        error = RocketMQError("ROCKETMQ_NAME_SERVER_AWAY", f"option 'nameServer': {'; '.join(failures)}")
        if time.monotonic() - self._answered_s > _KNOWN_FOR_S or any(one not in self._known for one in asked):
            raise error
        if not self._is_name_server_away:
            _log.warning("%s; for up to %d s what it answered last is used", error.text, _KNOWN_FOR_S)
        self._is_name_server_away = True
        return [self._known[one] for one in asked]

    @property
    def _name_servers_text(self) -> str:
        return ", ".join(self._options.name_servers)


def open_cluster(options: Mapping[str, str]) -> closing[Cluster]:
    """A cluster for a ``with``, by the options of ``format("rocketmq")`` that say which, and who asks."""
    return closing(Cluster(ClusterOptions.parse(OptionValues(options, CLUSTER_OPTION_NAMES))))


def _is_own(topic: str) -> bool:
    return is_system_topic(topic) or topic.startswith(_OWN_PREFIXES) or topic.endswith(f"_{REPLY_TOPIC_POSTFIX}")


def broker_away(topic: str, broker_name: str, failure: BaseException) -> RocketMQError:
    """The error for a broker that does not answer."""
    return RocketMQError("ROCKETMQ_BROKER_AWAY", f"topic {topic!r}: broker {broker_name!r} does not answer: {failure}")


assert set(_UNROUTED_QUEUES) <= set(SYSTEM_TOPICS)
