"""Requests to brokers and name servers, and the decoding of their replies (RocketMQ: ``MQClientAPIImpl``).

Clients, tools and Spark's tasks send the same requests over different kinds of connections. They share this module;
each adds how it waits for a reply and how it reports a refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from engine.protocol.body.bodies import ClusterInfo, GetConsumerListByGroupResponseBody, TopicList
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SUBSCRIBE_ALL
from engine.protocol.body.topic_route_data import TopicRouteData
from engine.protocol.command.admin_headers import GetConsumeStatsRequestHeader
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import (
    GetConsumerListByGroupRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetRouteInfoRequestHeader,
    OffsetResponseHeader,
    PullMessageRequestHeader,
    QueryConsumeQueueRequestHeader,
    QueryConsumerOffsetRequestHeader,
    QueryMessageRequestHeader,
    QueueRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
    ViewMessageRequestHeader,
)
from engine.protocol.command.queue_headers import UNIQUE_KEY_QUERY_FLAG
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import ExpressionType
from engine.protocol.json_form.json_fields import as_object, get_integer, get_list
from engine.protocol.json_form.json_text import ObjectKeyMap, loads_json_object
from engine.protocol.names import TOOLS_CONSUMER_GROUP
from engine.protocol.request_code import RequestCode
from engine.protocol.system_flags import PULL_SUBSCRIPTION

_T = TypeVar("_T")
_END_OF_TIME_MS = 2**63 - 1


class QueueOfTopic(Protocol):
    """A queue in any representation that has a topic and a queue id."""

    @property
    def topic(self) -> str:
        """The topic of the queue."""

    @property
    def queue_id(self) -> int:
        """The number of the queue on its broker."""


@dataclass(frozen=True, slots=True)
class AdminQuestion(Generic[_T]):
    """A request: its code, its header and the reader of its reply.

    :ivar what: the requested action; it completes the sentence "cannot ...".
    :ivar read: reads a reply with the code SUCCESS. Raises :class:`~engine.protocol.errors.ProtocolError`.
    :ivar flags: additional fields next to those of the header.
    """

    code: RequestCode
    header: CommandHeader | None
    what: str
    read: Callable[[RemotingCommand], _T]
    flags: dict[str, str] = field(default_factory=dict)

    def request(self) -> RemotingCommand:
        """Create a new request."""
        command = RemotingCommand.request(self.code, self.header)
        command.ext_fields.update(self.flags)
        return command


def _offset(reply: RemotingCommand) -> int:
    return OffsetResponseHeader.decode(reply.ext_fields).offset


def _nothing(reply: RemotingCommand) -> None:
    """Read nothing: only the arrival of the reply matters."""


def _body(reply: RemotingCommand) -> bytes:
    return reply.body


# --- name servers ----------------------------------------------------------------------------------------------------


def topic_route(topic: str) -> AdminQuestion[TopicRouteData]:
    """Request the brokers that have the topic (code 105). TOPIC_NOT_EXIST: no broker with it is known."""
    header = GetRouteInfoRequestHeader(topic, accept_standard_json_only=True)
    what = f"report the route of topic {topic!r}"
    return AdminQuestion(
        RequestCode.GET_ROUTEINFO_BY_TOPIC, header, what, lambda reply: TopicRouteData.from_json(reply.body)
    )


def cluster_info() -> AdminQuestion[ClusterInfo]:
    """Request all brokers, and the brokers of each cluster (code 106)."""
    code = RequestCode.GET_BROKER_CLUSTER_INFO
    return AdminQuestion(code, None, "list the brokers", lambda reply: ClusterInfo.from_json(reply.body))


def topic_names() -> AdminQuestion[tuple[str, ...]]:
    """Request the names of all topics (code 206)."""
    code = RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
    return AdminQuestion(code, None, "list the topics", lambda reply: TopicList.from_json(reply.body).topic_list)


# --- queues ----------------------------------------------------------------------------------------------------------


def max_offset(queue: QueueOfTopic) -> AdminQuestion[int]:
    """Request the offset that the queue's next message will get (code 30)."""
    return _queue_question(RequestCode.GET_MAX_OFFSET, queue)


def min_offset(queue: QueueOfTopic) -> AdminQuestion[int]:
    """Request the offset of the queue's oldest message (code 31)."""
    return _queue_question(RequestCode.GET_MIN_OFFSET, queue)


def _queue_question(code: RequestCode, queue: QueueOfTopic) -> AdminQuestion[int]:
    return AdminQuestion(
        code, QueueRequestHeader(queue.topic, queue.queue_id), f"answer {code.name} of {queue}", _offset
    )


def offset_at(queue: QueueOfTopic, timestamp_ms: int) -> AdminQuestion[int]:
    """Request the offset of the message stored at a time, or of the nearest one, earlier or later (code 29)."""
    header = SearchOffsetRequestHeader(queue.topic, queue.queue_id, timestamp_ms)
    what = f"find the offset of {queue} at {timestamp_ms} ms"
    return AdminQuestion(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header, what, _offset)


def earliest_store_time(queue: QueueOfTopic) -> AdminQuestion[int]:
    """Request the store time (ms) of the queue's oldest message; -1 if the queue is empty (code 32)."""
    return AdminQuestion(
        RequestCode.GET_EARLIEST_MSG_STORETIME,
        QueueRequestHeader(queue.topic, queue.queue_id),
        f"report the store time of the oldest message of {queue}",
        lambda reply: GetEarliestMsgStoretimeResponseHeader.decode(reply.ext_fields).timestamp,
    )


# --- groups ----------------------------------------------------------------------------------------------------------


def group_members(group: str) -> AdminQuestion[tuple[str, ...]]:
    """Request the client ids of the group's connected members (code 38)."""
    return AdminQuestion(
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        GetConsumerListByGroupRequestHeader(group),
        f"list the members of group {group!r}",
        lambda reply: GetConsumerListByGroupResponseBody.from_json(reply.body).consumer_id_list,
    )


def group_offset(group: str, queue: QueueOfTopic) -> AdminQuestion[int]:
    """Request the group's committed offset (code 14); QUERY_NOT_FOUND if it has none. The group need not exist."""
    header = QueryConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id)
    return AdminQuestion(
        RequestCode.QUERY_CONSUMER_OFFSET, header, f"report the offset of group {group!r} in {queue}", _offset
    )


def consumed_topics(group: str) -> AdminQuestion[frozenset[str]]:
    """Request the topics in which the broker has offsets of the group (code 208), without those to which its connected
    members do not subscribe.
    """
    header = GetConsumeStatsRequestHeader(consumer_group=group)
    return AdminQuestion(RequestCode.GET_CONSUME_STATS, header, f"list the topics of group {group!r}", _topics_of_group)


def _topics_of_group(reply: RemotingCommand) -> frozenset[str]:
    table = loads_json_object(reply.body, "the group's offsets").get("offsetTable")
    pairs = table.pairs if isinstance(table, ObjectKeyMap) else ()
    return frozenset(MessageQueue.from_dict(queue).topic for queue, _ in pairs)


def store_group_offset(group: str, queue: QueueOfTopic, offset: int) -> AdminQuestion[None]:
    """Commit an offset (code 15)."""
    header = UpdateConsumerOffsetRequestHeader(group, queue.topic, queue.queue_id, offset)
    what = f"store offset {offset} of group {group!r} in {queue}"
    return AdminQuestion(RequestCode.UPDATE_CONSUMER_OFFSET, header, what, _nothing)


# --- messages --------------------------------------------------------------------------------------------------------


def look(
    queue: QueueOfTopic,
    offset: int,
    max_messages: int,
    *,
    group: str = TOOLS_CONSUMER_GROUP,
    tags: tuple[str, ...] = (),
    max_bytes: int | None = None,
) -> AdminQuestion[bytes]:
    """Request messages of a queue from ``offset`` on, as they are stored (code 11), without side effects on the broker.

    The pull commits no offset, does not wait, and carries its subscription: no member joins a group, and no group's
    progress changes.

    :param tags: only messages with these (and others with the same hash); empty: all.
    """
    header = PullMessageRequestHeader(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        queue_offset=offset,
        max_msg_nums=max_messages,
        sys_flag=PULL_SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription=" || ".join(tags) or SUBSCRIBE_ALL,
        expression_type=ExpressionType.TAG,
        max_msg_bytes=max_bytes,
    )
    return AdminQuestion(RequestCode.PULL_MESSAGE, header, f"read {queue.topic}", _body)


def place_of(queue: QueueOfTopic, offset: int) -> AdminQuestion[int | None]:
    """Request the commit-log offset of a message, for :func:`message_at` (code 321); None if it has none.

    Unlike a pull this is not a delivery: no statistics count it.
    """
    header = QueryConsumeQueueRequestHeader(queue.topic, queue.queue_id, offset, 1)
    return AdminQuestion(RequestCode.QUERY_CONSUME_QUEUE, header, f"read the entries of {queue}", _first_place)


def entry_sizes(queue: QueueOfTopic, offset: int, count: int) -> AdminQuestion[list[int]]:
    """Request the stored sizes (bytes) of at most ``count`` messages of a queue from ``offset`` on (code 321)."""
    header = QueryConsumeQueueRequestHeader(queue.topic, queue.queue_id, offset, count)
    return AdminQuestion(
        RequestCode.QUERY_CONSUME_QUEUE,
        header,
        f"read the entries of {queue}",
        lambda reply: [get_integer(entry, "physicSize") for entry in _entries(reply)],
    )


def _first_place(reply: RemotingCommand) -> int | None:
    entries = _entries(reply)
    return get_integer(entries[0], "physicOffset") if entries else None


def _entries(reply: RemotingCommand) -> tuple[dict[str, Any], ...]:
    if not reply.body:  # RocketMQ's way to report an absent entry
        return ()
    return get_list(loads_json_object(reply.body, "entries of a queue"), "queueData", as_object)


def messages_called(
    topic: str, name: str, count: int, *, is_unique_id: bool = False, end_ms: int | None = None
) -> AdminQuestion[bytes]:
    """Request the newest messages with this key, or with this unique id, as they are stored (code 12).

    :param end_ms: only messages stored until then, to the second.
    """
    end = _END_OF_TIME_MS if end_ms is None else end_ms
    header = QueryMessageRequestHeader(topic=topic, key=name, max_num=count, begin_timestamp=0, end_timestamp=end)
    flags = {UNIQUE_KEY_QUERY_FLAG: "true"} if is_unique_id else {}
    return AdminQuestion(RequestCode.QUERY_MESSAGE, header, f"search {topic}", _body, flags)


def message_at(commit_log_offset: int) -> AdminQuestion[bytes]:
    """Request the message at a commit-log offset, as it is stored (code 33)."""
    header = ViewMessageRequestHeader(offset=commit_log_offset)
    return AdminQuestion(RequestCode.VIEW_MESSAGE_BY_ID, header, "view a message", _body)
