"""The planner's requests to a cluster: topics, queues and their offsets.

Connections are kept between calls: a stream sends requests a few times per second. All requests go to masters, since
only they know the newest offsets.
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

from engine.pipeline.source.cluster.cluster_options import CLUSTER_OPTIONS, ClusterOptions
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.node_client import PULL_BYTES, UNREACHABLE, NodeClient, refusal
from engine.pipeline.source.cluster.option_values import OptionValues
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.protocol.body import question
from engine.protocol.body.question import AdminQuestion
from engine.protocol.body.topic_route_data import BrokerData, TopicRouteData
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
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
from engine.protocol.response_code import ResponseCode

_T = TypeVar("_T")
_log = logging.getLogger("glassmq.pipeline")

#: Topics that a broker keeps for itself and need not register, with their queues; each delay level has one queue.
_UNROUTED_QUEUES = {
    TRANSACTION_HALF_TOPIC: 1,
    TRANSACTION_OP_HALF_TOPIC: 1,
    TRANSACTION_CHECK_MAX_TIME_TOPIC: 1,
    SCHEDULE_TOPIC: 18,
}
#: How long a reader uses its known routes while no name server answers. RocketMQ's clients have no such limit; here a
#: queue that is new or gone must be noticed.
_KNOWN_FOR_S = 300.0
#: Most answers that are kept for that.
_KNOWN_MAX = 10_000
_OWN_PREFIXES = (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX)


class Cluster:
    """A cluster as seen by the planner (or an executor that has lost a broker). Not thread-safe."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._clients: dict[str, NodeClient] = {}
        self._masters: dict[str, str] = {}
        #: Request to name servers -> its last answer.
        self._known: dict[tuple[object, ...], RemotingCommand] = {}
        self._answered_s = 0.0
        self._is_name_server_away = False
        #: Brokers that refuse to give sizes of messages.
        self._without_sizes: set[str] = set()

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    # --- topics and queues -------------------------------------------------------------------------------------------

    def queues(self, topics: Sequence[str], option: str | None = None) -> list[QueueKey]:
        """Return the readable queues of these topics, sorted.

        :param option: the option that names the topics, for errors.

        Raises :class:`RocketMQError` if a topic is unknown or has no readable queue, or no name server answers.
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
        """Return the readable queues; topics that are unknown or have no readable queue are ignored."""
        routes = zip(topics, self._routes(topics), strict=True)
        return sorted(queue for topic, route in routes for queue in self._queues_of(topic, route))

    def known(self, topics: Sequence[str]) -> tuple[str, ...]:
        """Return the ``topics`` that have a readable queue."""
        readable = {queue.topic for queue in self.queues_there_are(topics)}
        return tuple(topic for topic in topics if topic in readable)

    def _nothing_to_read(self, topic: str, route: TopicRouteData | None) -> str:
        if route is not None:
            return f"topic {topic!r} has no readable queue"
        return f"name server {self._name_servers_text} knows no topic {topic!r}{self._similar(topic)}"

    def writable_queues(self, topic: str) -> list[QueueKey]:
        """Return the queues from which a producer may choose, in the order in which every client numbers them.

        Raises :class:`RocketMQError` if no queue is writable.
        """
        (route,) = self._routes([topic])
        queues = [
            QueueKey(topic, data.broker_name, queue_id)
            for data in (() if route is None else route.queue_datas)
            # Only a master accepts messages.
            if is_writable(data.perm) and data.broker_name in self._masters
            for queue_id in range(data.write_queue_nums)
        ]
        if not queues:
            raise RocketMQError(
                "ROCKETMQ_UNKNOWN_TOPIC",
                f"name server {self._name_servers_text} knows no writable queue of topic {topic!r}"
                f"{self._similar(topic)}",
            )
        return sorted(queues)

    def topics_like(self, pattern: str, *, with_system_topics: bool) -> list[str]:
        """Return the topics whose whole name matches a regular expression, sorted; possibly empty.

        The broker's own topics, retry and dead-letter topics are left out unless they are requested.
        """
        return [topic for topic in self._all_topics() if matches(pattern, topic, with_system_topics=with_system_topics)]

    def _all_topics(self) -> list[str]:
        # Each broker and each cluster has a topic with its own name, which gives its address; no client writes to it.
        names, brokers = self._ask_name_server(question.topic_names()), self._brokers()
        no_topics = {data.broker_name for data in brokers} | {data.cluster for data in brokers}
        return sorted(name for name in names if name not in no_topics)

    def _brokers(self) -> Collection[BrokerData]:
        return self._ask_name_server(question.cluster_info()).broker_addr_table.values()

    def _queues_of(self, topic: str, route: TopicRouteData | None) -> list[QueueKey]:
        if route is None:
            return self._unrouted_queues(topic)
        return [
            QueueKey(topic, data.broker_name, queue_id)
            for data in route.queue_datas
            if is_readable(data.perm)
            for queue_id in range(data.read_queue_nums)
        ]

    def _unrouted_queues(self, topic: str) -> list[QueueKey]:
        """Return the queues of a topic that brokers have and name servers do not report; every master is asked."""
        count = _UNROUTED_QUEUES.get(topic)
        if count is None:
            return []
        self._note_masters(self._brokers())
        return [QueueKey(topic, name, queue_id) for name in sorted(self._masters) for queue_id in range(count)]

    def _note_masters(self, brokers: Iterable[BrokerData]) -> None:
        self._masters |= {
            broker.broker_name: broker.master_address for broker in brokers if broker.master_address is not None
        }

    def _similar(self, topic: str) -> str:
        """Return a hint for a misspelt name; empty on errors, as one error must not replace another."""
        try:
            others = [name for name in self._all_topics() if name != topic]
        except (RocketMQError, ProtocolError):
            return ""
        close = difflib.get_close_matches(topic, others, n=3)
        return f"; did you mean {' or '.join(repr(name) for name in close)}?" if close else ""

    # --- offsets -----------------------------------------------------------------------------------------------------

    def min_offsets(self, queues: Iterable[QueueKey]) -> dict[QueueKey, int]:
        """Return the offset of the oldest message that still exists in each queue."""
        return self.ask_queues(queues, question.min_offset)

    def max_offsets(self, queues: Iterable[QueueKey]) -> dict[QueueKey, int]:
        """Return the offset that the next message of each queue will get."""
        return self.ask_queues(queues, question.max_offset)

    def offsets_near(self, timestamps_ms: Mapping[QueueKey, int]) -> dict[QueueKey, int]:
        """Return the offset of the message stored nearest to a time, whether before or after it."""
        return self.ask_queues(timestamps_ms, lambda queue: question.offset_at(queue, timestamps_ms[queue]))

    def entry_sizes(self, starts: Mapping[QueueKey, int], count: int) -> dict[QueueKey, list[int]]:
        """Return the stored sizes of at most ``count`` messages of each queue from its offset on; without queues that
        have no message there, and those of a broker that refuses to give sizes, which is logged once.
        """
        refusals: dict[QueueKey, RocketMQError] = {}
        found = self.ask_queues(
            starts, lambda queue: question.entry_sizes(queue, starts[queue], count), without=None, refusals=refusals
        )
        suspects = [queue for queue in refusals if queue.broker_name not in self._without_sizes]
        # A message that does not exist (any more) has no entry: an answer that may have the code of a refusal.
        firsts = self.ask_queues(suspects, question.min_offset, without=None)
        ends = self.ask_queues(suspects, question.max_offset, without=None)
        for queue, first in firsts.items():
            is_there = first <= starts[queue] < ends.get(queue, 0)
            if is_there and queue.broker_name not in self._without_sizes:
                self._without_sizes.add(queue.broker_name)
                _log.warning(
                    "%s; 'maxBytesPerTrigger' does not limit what is read from broker %r, which gives no sizes",
                    refusals[queue].text,
                    queue.broker_name,
                )
        return found

    def group_offsets(self, group: str, queues: Iterable[QueueKey]) -> dict[QueueKey, int]:
        """Return the next offset of a group in each queue; queues without one are left out.

        Brokers keep such offsets for any name, whether or not the group ever had a member. Raises ``ROCKETMQ_REFUSED``
        if the account may not read them.
        """
        none = (ResponseCode.QUERY_NOT_FOUND,)
        return self.ask_queues(queues, partial(question.group_offset, group), group=group, without=none)

    def store_group_offsets(self, group: str, offsets: Mapping[QueueKey, int]) -> None:
        """Store these offsets at the brokers; they are stored when this returns."""
        self.ask_queues(offsets, lambda queue: question.store_group_offset(group, queue, offsets[queue]), group=group)

    def ask_queues(
        self,
        queues: Iterable[QueueKey],
        ask: Callable[[QueueKey], AdminQuestion[_T]],
        *,
        group: str | None = None,
        without: Collection[int] | None = (),
        refusals: dict[QueueKey, RocketMQError] | None = None,
    ) -> dict[QueueKey, _T]:
        """Return the masters' answers for each queue, with one round trip per broker. Raises :class:`RocketMQError`.

        :param group: the group whose progress is requested: access control checks group and topic, so errors name both.
        :param without: queues whose answer has such a code are left out; None: all whose answer is not a success.
        :param refusals: receives the errors of the queues that are left out.
        """
        by_broker: dict[str, list[QueueKey]] = {}
        for queue in queues:
            by_broker.setdefault(queue.broker_name, []).append(queue)
        answers: list[tuple[QueueKey, AdminQuestion[_T], RemotingCommand]] = []
        for broker_name, of_broker in by_broker.items():
            asked = [ask(queue) for queue in of_broker]
            reported = self.ask_broker(broker_name, of_broker[0].topic, [one.request() for one in asked])
            answers += zip(of_broker, asked, reported, strict=True)
        found: dict[QueueKey, _T] = {}
        for queue, one, answer in answers:
            if answer.code == ResponseCode.SUCCESS:
                found[queue] = one.read(answer)
                continue
            error = refusal(queue.topic, self.master(queue.broker_name), answer)
            if without is not None and answer.code not in without:
                raise error if group is None else RocketMQError(error.condition, f"group {group!r}, {error.text}")
            if refusals is not None:
                refusals[queue] = error
        return found

    def ask_queue(self, queue: QueueKey, asked: AdminQuestion[_T], *, without: Collection[int] | None) -> _T | None:
        """Return the master's answer about one queue, as :meth:`ask_queues` does; None if it is left out."""
        return self.ask_queues([queue], lambda _: asked, without=without).get(queue)

    # --- messages ----------------------------------------------------------------------------------------------------

    def pull(self, queue: QueueKey, offset: int, max_messages: int) -> RemotingCommand:
        """Return the answer to one pull, as in :func:`~engine.protocol.body.question.look`."""
        asked = question.look(queue, offset, max_messages, max_bytes=PULL_BYTES)
        return self.ask_broker(queue.broker_name, queue.topic, [asked.request()])[0]

    def lets_pull(self, queue: QueueKey) -> bool:
        """Return whether the broker serves messages of the queue; some topics it keeps for itself."""
        return self.pull(queue, 0, 1).code not in (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def knows_master(self, broker_name: str) -> bool:
        """Return whether a name server has reported the broker's address."""
        return broker_name in self._masters

    def master(self, broker_name: str) -> str:
        """Return the last reported address of a broker's master. Raises ``ROCKETMQ_BROKER_AWAY``."""
        address = self._masters.get(broker_name)
        if address is None:
            raise RocketMQError(
                "ROCKETMQ_BROKER_AWAY",
                f"name server {self._name_servers_text} reports no master of broker {broker_name!r}",
            )
        return address

    def refresh_master(self, topic: str, broker_name: str) -> str:
        """Return the address of the master after a new request: the broker may have moved."""
        self._masters.pop(broker_name, None)
        self._queues_of(topic, self._routes([topic])[0])
        return self.master(broker_name)

    def ask_broker(self, broker_name: str, topic: str, requests: Sequence[RemotingCommand]) -> list[RemotingCommand]:
        """Send requests to a master; if it does not answer, once more to the address that the name server then
        reports.
        """
        try:
            return self.client(self.master(broker_name)).ask_all(requests)
        except UNREACHABLE:
            address = self.refresh_master(topic, broker_name)
        try:
            return self.client(address).ask_all(requests)
        except UNREACHABLE as failure:
            raise broker_away(topic, broker_name, failure) from failure

    def client(self, address: str) -> NodeClient:
        """Return the connection to a node, which is kept for the next call."""
        client = self._clients.get(address)
        if client is None:
            client = self._clients[address] = NodeClient(address, self._options)
        return client

    def _routes(self, topics: Sequence[str]) -> list[TopicRouteData | None]:
        """Return the route of each topic, and note its masters; None if the name server does not know the topic."""
        asked = [question.topic_route(topic) for topic in topics]
        answers = self._exchange_with_name_server([one.request() for one in asked])
        routes: list[TopicRouteData | None] = []
        for topic, one, answer in zip(topics, asked, answers, strict=True):
            if answer.code not in (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SUCCESS):
                raise refusal(topic, self._name_servers_text, answer)
            route = one.read(answer) if answer.code == ResponseCode.SUCCESS else None
            self._note_masters(() if route is None else route.broker_datas)
            routes.append(route)
        return routes

    def _ask_name_server(self, asked: AdminQuestion[_T]) -> _T:
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
    """Return a cluster for a ``with``, by the options of ``format("rocketmq")`` for address and account."""
    return closing(Cluster(ClusterOptions.parse(OptionValues(options, CLUSTER_OPTIONS))))


def matches(pattern: str, topic: str, *, with_system_topics: bool) -> bool:
    """Return whether a topic's whole name matches a pattern, and the topic is not a broker's own unless wanted."""
    is_own = is_system_topic(topic) or topic.startswith(_OWN_PREFIXES) or topic.endswith(f"_{REPLY_TOPIC_POSTFIX}")
    return re.fullmatch(pattern, topic) is not None and (with_system_topics or not is_own)


def broker_away(topic: str, broker_name: str, failure: BaseException) -> RocketMQError:
    """Return the error for a broker that does not answer."""
    return RocketMQError("ROCKETMQ_BROKER_AWAY", f"topic {topic!r}: broker {broker_name!r} does not answer: {failure}")


assert set(_UNROUTED_QUEUES) <= set(SYSTEM_TOPICS)
