"""What the clients of a recording did, as far as their frames show it: messages, transactions, groups, failures."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from app.lab.views.recorded_frames import RecordedFrame, RecordedFrames
from engine.lab.scenario.frame_names import request_name
from engine.lab.scenario.scenario_traffic import BODIES_MAX_BYTES
from engine.lab.scenario.traffic_spec import BODY_BYTES_MAX
from engine.protocol.body.bodies import LockBatchRequestBody
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.command.consumer_headers import UnregisterClientRequestHeader
from engine.protocol.command.send_header_reader import decode_send_header_v2
from engine.protocol.command.send_message_headers import ConsumerSendMsgBackRequestHeader, SendMessageRequestHeader
from engine.protocol.command.transaction_headers import EndTransactionRequestHeader
from engine.protocol.errors import ProtocolError
from engine.protocol.java_text import java_text
from engine.protocol.message.batch_codec import decode_batch
from engine.protocol.message.compression import decompress_body
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.message.message_properties import (
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQUE_KEY,
    decode_properties,
)
from engine.protocol.names import is_retry_topic
from engine.protocol.request_code import SENDS, RequestCode


@dataclass(slots=True)
class SentMessage:
    """A message that a client sent; ``tries``: how often. ``at_ms`` is of the broker's clock."""

    at_ms: float
    topic: str
    queue_id: int
    properties: dict[str, str]
    body: bytes
    is_oneway: bool
    is_batched: bool
    tries: int = 1
    stored_ms: float | None = None


@dataclass(slots=True)
class RecordedProducer:
    """A client's messages under one group. ``outcomes`` and ``checks``: transaction types of END_TRANSACTION."""

    client: str
    group: str
    is_transactional: bool
    messages: dict[str, SentMessage] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    checks: dict[str, list[int]] = field(default_factory=dict)
    local_ms: list[float] = field(default_factory=list)


@dataclass(slots=True)
class RecordedConsumer:
    """A member of a group."""

    client: str
    data: ConsumerData
    since_ms: float
    until_ms: float | None = None
    is_orderly: bool = False
    delay_level: int = 0
    max_reconsume_times: int | None = None


class RecordedClients:
    """Reads the frames of a file.

    :ivar failures: group -> unique id -> the messages in the log that it sent back.
    :ivar others: requests of clients that no client of the lab sends by itself.
    :ivar silent: clients that neither send nor consume.
    """

    def __init__(self, file: RecordedFrames) -> None:
        self._frames = file.frames
        #: Number of a frame, and how far the broker's clock was ahead after it.
        self._ahead = [
            (number, int(values[1]))
            for number, part, _, values in file.states
            if part == "broker" and len(values) == 2 and isinstance(values[1], int)
        ]
        self.producers: dict[tuple[str, str, bool], RecordedProducer] = {}
        self.consumers: dict[tuple[str, str], RecordedConsumer] = {}
        self.failures: dict[str, dict[str, dict[int, None]]] = {}
        self.others: dict[str, None] = {}
        self.queues: dict[str, int] = {}
        self._requests: dict[int, RecordedFrame] = {}
        self._sent: dict[int, list[SentMessage]] = {}
        self._first_ms: dict[str, float] = {}
        #: What further bodies may take: a small file may hold gigabytes of compressed zeros.
        self._room_bytes = BODIES_MAX_BYTES
        #: Offset in the log -> unique id.
        self._pulled: dict[int, str] = {}
        for frame in file.frames:
            self._first_ms.setdefault(frame.client, self.time_ms(frame))
            try:
                self._read(frame)
            except (ProtocolError, KeyError, ValueError):  # its receiver could not read it either
                self.others[f"{request_name(frame.command.code)}?"] = None
        for _, part, name, values in file.states:
            if part == "topics" and values and isinstance(values[0], int):
                self.queues[name] = max(self.queues.get(name, 0), values[0])
        acting = dict.fromkeys(client for client, *_ in (*self.producers, *self.consumers))
        self.silent = [client for client in self._first_ms if client not in acting]

    def time_ms(self, frame: RecordedFrame) -> float:
        """Return when the frame passed, by the broker's clock, which a test may have set ahead."""
        return self.ms_at(frame.at_us, frame.number)

    def ms_at(self, at_us: float, before_frame: int) -> float:
        """Return a time, by the broker's clock as it was before this frame."""
        place = bisect_left(self._ahead, before_frame, key=lambda change: change[0])
        return at_us / 1_000 + (self._ahead[place - 1][1] if place else 0)

    def _read(self, frame: RecordedFrame) -> None:
        command = frame.command
        if command.is_response:
            self._read_reply(frame, self._requests.get(frame.answers))
            return
        self._requests[frame.number] = frame
        if frame.is_in and (read := _READERS.get(command.code)) is not None:
            read(self, frame)
        elif frame.is_in and command.code not in _OF_ITSELF:
            self.others[request_name(command.code)] = None

    def _read_reply(self, frame: RecordedFrame, request: RecordedFrame | None) -> None:
        if request is not None and request.command.code == RequestCode.PULL_MESSAGE:
            for message in decode_messages(frame.command.body, decompress=False):
                self._pulled[message.commit_log_offset] = message.unique_id or ""
        for sent in self._sent.get(frame.answers, ()):
            sent.stored_ms = self.time_ms(frame)

    def _send(self, frame: RecordedFrame) -> None:
        fields = frame.command.ext_fields
        header = decode_send_header_v2(fields) if "b" in fields else SendMessageRequestHeader.decode(fields)
        if is_retry_topic(header.topic):
            return
        self._see_queue(header.topic, header.queue_id)
        sent = self._sent.setdefault(frame.number, [])
        for body, properties, is_batched in _messages_of(frame, header, min(BODY_BYTES_MAX, self._room_bytes)):
            self._room_bytes = max(0, self._room_bytes - len(body))
            is_half = properties.get(PROPERTY_TRANSACTION_PREPARED) == "true"
            client = (frame.client, header.producer_group, is_half)
            producer = self.producers.setdefault(client, RecordedProducer(*client))
            unique_id = properties.get(PROPERTY_UNIQUE_KEY) or f"frame {frame.number}"
            message = producer.messages.get(unique_id)
            if message is None:
                message = producer.messages[unique_id] = SentMessage(
                    self.time_ms(frame),
                    header.topic,
                    header.queue_id,
                    properties,
                    body,
                    frame.command.is_oneway,
                    is_batched,
                )
            else:
                message.tries += 1
            sent.append(message)

    def _see_queue(self, topic: str, queue_id: int) -> None:
        self.queues[topic] = max(self.queues.get(topic, 1), queue_id + 1)

    def _end_transaction(self, frame: RecordedFrame) -> None:
        header = EndTransactionRequestHeader.decode(frame.command.ext_fields)
        unique_id = header.transaction_id or header.msg_id or ""
        producer = next(
            (one for one in self.producers.values() if one.is_transactional and unique_id in one.messages), None
        )
        if producer is None:
            return
        if header.from_transaction_check:
            producer.checks.setdefault(unique_id, []).append(header.commit_or_rollback)
        elif unique_id not in producer.outcomes:
            producer.outcomes[unique_id] = header.commit_or_rollback
            if (stored_ms := producer.messages[unique_id].stored_ms) is not None:
                producer.local_ms.append(self.time_ms(frame) - stored_ms)

    def _send_back(self, frame: RecordedFrame) -> None:
        header = ConsumerSendMsgBackRequestHeader.decode(frame.command.ext_fields)
        unique_id = self._pulled.get(header.offset, header.origin_msg_id or "")
        self.failures.setdefault(header.group, {}).setdefault(unique_id, {})[header.offset] = None
        if (consumer := self.consumers.get((frame.client, header.group))) is not None:
            consumer.delay_level, consumer.max_reconsume_times = header.delay_level, header.max_reconsume_times

    def _heartbeat(self, frame: RecordedFrame) -> None:
        for data in HeartbeatData.from_json(frame.command.body).consumers:
            if data.group_name != _INNER_GROUP and data.subscriptions:
                known = self.consumers.setdefault(
                    (frame.client, data.group_name),
                    RecordedConsumer(frame.client, data, self._first_ms[frame.client]),
                )
                known.data = data

    def _lock(self, frame: RecordedFrame) -> None:
        group = LockBatchRequestBody.from_json(frame.command.body).consumer_group
        if (consumer := self.consumers.get((frame.client, group))) is not None:
            consumer.is_orderly = True

    def _unregister(self, frame: RecordedFrame) -> None:
        header = UnregisterClientRequestHeader.decode(frame.command.ext_fields)
        if (consumer := self.consumers.get((frame.client, header.consumer_group or ""))) is not None:
            consumer.until_ms = self.time_ms(frame)

    def _pull(self, frame: RecordedFrame) -> None:
        fields = frame.command.ext_fields
        if not is_retry_topic(fields["topic"]):
            self._see_queue(fields["topic"], int(fields["queueId"]))


def _messages_of(
    frame: RecordedFrame, header: SendMessageRequestHeader, most_bytes: int
) -> Iterable[tuple[bytes, dict[str, str], bool]]:
    """Yield body, properties, and whether it comes in a batch."""
    if frame.command.code == RequestCode.SEND_BATCH_MESSAGE or header.batch:
        for _, body, properties in decode_batch(frame.command.body):
            yield body, decode_properties(java_text(properties)), True
        return
    body = decompress_body(frame.command.body, header.sys_flag, most_bytes)
    yield body, decode_properties(header.properties or ""), False


#: A client's own group of producers, for what it sends by itself.
_INNER_GROUP = "CLIENT_INNER_PRODUCER"
_READERS: dict[int, Callable[[RecordedClients, RecordedFrame], None]] = {
    **dict.fromkeys(SENDS, RecordedClients._send),
    RequestCode.END_TRANSACTION: RecordedClients._end_transaction,
    RequestCode.CONSUMER_SEND_MSG_BACK: RecordedClients._send_back,
    RequestCode.HEART_BEAT: RecordedClients._heartbeat,
    RequestCode.LOCK_BATCH_MQ: RecordedClients._lock,
    RequestCode.UNREGISTER_CLIENT: RecordedClients._unregister,
    RequestCode.PULL_MESSAGE: RecordedClients._pull,
}
#: Requests that a client sends without its application asking for them.
_OF_ITSELF = (
    RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    RequestCode.UNLOCK_BATCH_MQ,
    RequestCode.GET_MAX_OFFSET,
    RequestCode.GET_MIN_OFFSET,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
)
