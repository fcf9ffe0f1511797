"""The sender of one partition's rows: chooses queues, collects batches, sends them, and retries.

A batch is one request (RocketMQ: ``SEND_BATCH_MESSAGE``) with messages of one topic for one queue; some messages are
sent alone. If no reply comes, it is unknown whether the batch was stored: before it is sent again, the end of the queue
is searched for its unique ids.
"""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.node_client import BUSY_CODES, UNREACHABLE
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.writer.writer_messages import Pending, make_pending
from engine.pipeline.source.writer.writer_options import WriteOptions, check_topic
from engine.pipeline.source.writer.writer_replay import WriteIdentity, begin_of_search, find_earlier, sent_messages
from engine.pipeline.source.writer.writer_rows import OutgoingRow, wrong_row
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.command.send_message_headers import SendMessageRequestHeader, SendMessageResponseHeader
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message_id import UniqueIdGenerator
from engine.protocol.message.message_properties import PROPERTY_WAIT_STORE_MSG_OK, encode_properties
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import STORED_CODES, ResponseCode, outcome_is_known
from engine.runtime.port import ConnectFailed

#: Codes after which the broker may accept it later; after SYSTEM_ERROR the outcome is unknown.
_PASSING_CODES = BUSY_CODES | {ResponseCode.SERVICE_NOT_AVAILABLE, ResponseCode.SYSTEM_ERROR}
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
#: Limit for all queues' unsent batches together; beyond it, every one of them is sent.
_UNSENT_BYTES_MAX = 32 * 1024 * 1024
#: ``defaultTopicQueueNums`` of RocketMQ's producers; it matters only if a broker creates topics automatically.
_DEFAULT_TOPIC_QUEUES = 4


@dataclass(slots=True)
class _Unsent:
    """Messages collected for one queue."""

    messages: list[Pending] = field(default_factory=list)
    size_bytes: int = 0


@dataclass(slots=True)
class _TopicState:
    """A topic in this task: where to send, and what need not be sent."""

    queues: list[QueueKey]
    turn: int
    earlier: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Failure:
    """An unsuccessful try.

    :ivar is_known: whether it is certain that this try stored nothing.
    :ivar is_final: whether no other try can help.
    """

    text: str
    is_known: bool
    is_final: bool = False


class PartitionSender:
    """Sends one partition of one micro-batch. Not thread-safe.

    :ivar sent: how many messages it has stored.
    :ivar left_out: how many an earlier try had stored.
    :ivar firsts: the lowest offset in each queue that any try of this partition wrote to.
    """

    def __init__(
        self, options: WriteOptions, identity: WriteIdentity, cluster: Cluster, planned: Mapping[QueueKey, int]
    ) -> None:
        """Create a sender. ``planned``: offsets before which nothing of this write can be stored."""
        self.sent = 0
        self.left_out = 0
        self.firsts: dict[QueueKey, int] = {}
        self._options = options
        self._identity = identity
        self._prefix = identity.prefix
        self._cluster = cluster
        self._planned = planned
        self._topics: dict[str, _TopicState] = {}
        self._unsent: defaultdict[QueueKey, _Unsent] = defaultdict(_Unsent)
        self._unsent_bytes = 0
        #: The offset after everything this task is known to have stored in each queue.
        self._known_ends: dict[QueueKey, int] = {}
        # Random where RocketMQ uses the machine's address: executors in containers often share one.
        address = ".".join(str(number) for number in secrets.token_bytes(4))
        self._unique_ids = UniqueIdGenerator(address, secrets.randbits(16), secrets.randbits(32), _now_ms)

    def send(self, rows: Iterable[OutgoingRow]) -> None:
        """Send rows; some may wait until :meth:`finish`. Raises :class:`RocketMQError`."""
        for row in rows:
            topic = self._topic(row)
            if topic.earlier.get(row.fingerprint, 0):
                topic.earlier[row.fingerprint] -= 1
                self.left_out += 1
                continue
            pending = make_pending(row, self._unique_ids.next(), self._prefix, self._options.max_message_bytes)
            self._collect(self._queue(row, topic), pending)

    def finish(self) -> None:
        """Send what waits. Raises :class:`RocketMQError`."""
        for queue in list(self._unsent):
            self._flush(queue)

    # --- which queue -------------------------------------------------------------------------------------------------

    def _topic(self, row: OutgoingRow) -> _TopicState:
        state = self._topics.get(row.topic)
        if state is None:
            state = self._topics[row.topic] = self._find_topic(row)
        return state

    def _find_topic(self, row: OutgoingRow) -> _TopicState:
        if (wrong := check_topic(row.topic)) is not None:
            raise wrong_row(row.number, f"'topic': {wrong}")
        queues = self._cluster.writable_queues(row.topic)
        earlier: dict[str, int] = {}
        if self._identity.may_repeat:
            lookback = self._options.replay_lookback
            found = find_earlier(self._cluster, self._identity, self._readable(row.topic), self._planned, lookback)
            earlier = found.fingerprints
            self.firsts |= found.firsts
        # Partitions and micro-batches begin at different queues, so that small ones do not all use the first.
        return _TopicState(queues, self._identity.batch + self._identity.partition, earlier)

    def _readable(self, topic: str) -> list[QueueKey]:
        queues = self._cluster.queues_there_are([topic])
        if not queues:
            raise RocketMQError(
                "ROCKETMQ_SEND_FAILED",
                f"option 'replayCheck': topic {topic!r} has no readable queue, so what an earlier try has sent "
                "cannot be seen; with never it is written anyway, perhaps twice",
            )
        return queues

    def _queue(self, row: OutgoingRow, topic: _TopicState) -> QueueKey:
        if row.queue_id is not None:
            return self._named_queue(row, topic.queues)
        if row.sharding_key is not None:
            # As SelectMessageQueueByHash, so that Java producers map a key to the same queue.
            return topic.queues[abs(java_string_hash(row.sharding_key)) % len(topic.queues)]
        topic.turn += 1
        return topic.queues[topic.turn % len(topic.queues)]

    def _named_queue(self, row: OutgoingRow, queues: list[QueueKey]) -> QueueKey:
        fitting = [
            queue for queue in queues if queue.queue_id == row.queue_id and row.broker_name in (None, queue.broker_name)
        ]
        if len(fitting) != 1:
            asked = f"{row.broker_name}:{row.queue_id}" if row.broker_name else str(row.queue_id)
            labels = ", ".join(queue.label for queue in queues)
            what = "is ambiguous, give the column broker_name too" if fitting else "is not a writable queue"
            raise wrong_row(row.number, f"'queue_id' {asked} {what}; {row.topic!r} has {labels}")
        return fitting[0]

    # --- batches -----------------------------------------------------------------------------------------------------

    def _collect(self, queue: QueueKey, pending: Pending) -> None:
        unsent, size = self._unsent[queue], pending.stored_bytes
        if unsent.messages and (unsent.size_bytes + size > self._options.batch_bytes or pending.travels_alone):
            self._flush(queue)
            unsent = self._unsent[queue]
        unsent.messages.append(pending)
        unsent.size_bytes += size
        self._unsent_bytes += size
        if pending.travels_alone or unsent.size_bytes >= self._options.batch_bytes:
            self._flush(queue)
        elif self._unsent_bytes > _UNSENT_BYTES_MAX:
            self.finish()

    def _flush(self, queue: QueueKey) -> None:
        unsent = self._unsent.pop(queue)
        self._unsent_bytes -= unsent.size_bytes
        self._deliver(queue, unsent.messages, 0)

    # --- sending -----------------------------------------------------------------------------------------------------

    def _deliver(self, queue: QueueKey, messages: list[Pending], tries: int) -> None:
        """Send until it is stored. Raises :class:`RocketMQError` when the tries are used up.

        A request without a reply may be stored after any later search. So from then on the messages stay with this
        queue, whatever other tries return, and each try searches for them first.
        """
        is_uncertain = False
        while messages:
            failure: _Failure | None = None
            if is_uncertain:
                try:
                    messages = self._not_stored(queue, messages)
                except RocketMQError as error:
                    failure = _Failure(error.text, is_known=False)
            if messages and failure is None:
                failure = self._try(queue, messages)
            if failure is None:
                return
            tries += 1
            is_uncertain = is_uncertain or not failure.is_known
            if failure.is_final or tries > self._options.send_retries:
                raise _gave_up(queue, messages, tries, failure.text, is_uncertain=is_uncertain)
            time.sleep(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (tries - 1)))
            if not is_uncertain:
                messages = self._move(queue, messages, tries)

    def _move(self, queue: QueueKey, messages: list[Pending], tries: int) -> list[Pending]:
        """Send movable messages to another broker, if there is one; return the messages that must stay."""
        others = [other for other in self._topics[queue.topic].queues if other.broker_name != queue.broker_name]
        moving = [pending for pending in messages if pending.is_movable]
        if not others or not moving:
            return messages
        self._deliver(others[tries % len(others)], moving, tries)
        return [pending for pending in messages if not pending.is_movable]

    def _try(self, queue: QueueKey, messages: list[Pending]) -> _Failure | None:
        """Send one request; return None if the messages are stored."""
        request = self._request(queue, messages)
        try:
            client = self._cluster.client(self._cluster.master(queue.broker_name))
        except RocketMQError as error:
            return _Failure(error.text, is_known=True)
        try:
            client.send([request])
            answer = client.receive()
        except UNREACHABLE as error:
            client.close()
            # The broker may have moved; if nothing is known of it, the next try reports that.
            with suppress(RocketMQError):
                self._cluster.refresh_master(queue.topic, queue.broker_name)
            return _Failure(str(error), is_known=isinstance(error, ConnectFailed))
        if answer.code in STORED_CODES:
            self.sent += len(messages)
            # The offset of a delayed message is that in its waiting queue.
            if not messages[0].row.is_delayed:
                offset = SendMessageResponseHeader.decode(answer.ext_fields).queue_offset
                self.firsts.setdefault(queue, offset)
                self._known_ends[queue] = offset + len(messages)
            return None
        return _Failure(
            f"the broker says: {answer.remark or 'no reason given'} (code {answer.code})",
            is_known=outcome_is_known(answer.code),
            is_final=answer.code not in _PASSING_CODES,
        )

    def _request(self, queue: QueueKey, messages: list[Pending]) -> RemotingCommand:
        first = messages[0]
        is_batch = not first.travels_alone
        properties = {PROPERTY_WAIT_STORE_MSG_OK: "true"} if is_batch else first.row.properties
        header = SendMessageRequestHeader(
            producer_group=self._options.producer_group,
            topic=queue.topic,
            default_topic=AUTO_CREATE_TOPIC_KEY_TOPIC,
            default_topic_queue_nums=_DEFAULT_TOPIC_QUEUES,
            queue_id=queue.queue_id,
            sys_flag=first.sys_flag,
            born_timestamp=_now_ms(),
            flag=0,
            properties=encode_properties(properties),
            batch=is_batch,
        )
        body = b"".join([pending.content for pending in messages])
        code = RequestCode.SEND_BATCH_MESSAGE if is_batch else RequestCode.SEND_MESSAGE_V2
        request = RemotingCommand.request(code, None, body)
        request.ext_fields = header.encode_v2()
        return request

    def _not_stored(self, queue: QueueKey, messages: list[Pending]) -> list[Pending]:
        """Return the messages of a request without a reply that are not in the queue. Raises :class:`RocketMQError`."""
        wanted = {pending.unique_id for pending in messages}
        found: set[str] = set()
        end = self._cluster.max_offsets([queue])[queue]
        begin = begin_of_search(self._known_ends.get(queue), end, self._options.replay_lookback)
        for message in sent_messages(self._cluster, queue, begin, end):
            if message.unique_id in wanted:
                found.add(message.unique_id)
                self.firsts.setdefault(queue, message.queue_offset)
        self.sent += len(found)
        return [pending for pending in messages if pending.unique_id not in found]


def _gave_up(queue: QueueKey, messages: list[Pending], tries: int, text: str, *, is_uncertain: bool) -> RocketMQError:
    outcome = "whether they are stored is not known" if is_uncertain else "none of them is stored"
    return RocketMQError(
        "ROCKETMQ_SEND_FAILED",
        f"queue {queue}: {len(messages)} messages could not be sent in {tries} {'try' if tries == 1 else 'tries'}, "
        f"{outcome}: {text}",
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
