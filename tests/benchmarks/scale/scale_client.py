"""Many cheap connections to a broker, for :mod:`tests.benchmarks.scale.scale_run`: requests by number over one asyncio
protocol, a sender of pre-encoded batches, and consumers that do nothing but wait.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import struct
import time
from collections.abc import Callable, Iterable

from engine.protocol.command.remoting_command import RemotingCommand, decode_command, encode_command
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.interop.harness.wire import RequestRefused

#: A queue: topic and queue id.
Queue = tuple[str, int]

BODY_BYTES = 128
BATCH_MESSAGES = 100
#: Batches that one sending connection has under way.
_PIPELINED = 4
_SENDERS = 4
_READERS = 4
_HEARTBEAT_S = 30
_SUSPEND_MS = 20_000
_SUSPEND_AND_SUBSCRIPTION = 1 << 1 | 1 << 2
_READ_BYTES_MAX = 1024 * 1024
_MESSAGES_MAX = 1_000_000

#: What a batch holds per message (``MessageDecoder.encodeMessage``), with the unique key that every real client sets.
_KEY = b"%032X"
_PROPERTIES_BYTES = len("UNIQ_KEY\x01") + 32 + len("\x02WAIT\x01true\x02")
_MESSAGE = (
    struct.pack(">iiiii", 22 + BODY_BYTES + _PROPERTIES_BYTES, 0, 0, 0, BODY_BYTES)
    + b"b" * BODY_BYTES
    + struct.pack(">h", _PROPERTIES_BYTES)
    + b"UNIQ_KEY\x01"
    + _KEY
    + b"\x02WAIT\x01true\x02"
)
_STORED_KEY = re.compile(rb"UNIQ_KEY\x01([0-9A-F]{32})\x02")


class Client(asyncio.Protocol):
    """One connection. ``await Client.connect(address)``."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[RemotingCommand]] = {}
        self._received = bytearray()
        self._transport: asyncio.WriteTransport | None = None

    @classmethod
    async def connect(cls, address: str) -> Client:
        """Raises ``OSError``."""
        host, port = address.rsplit(":", 1)
        _, client = await asyncio.get_running_loop().create_connection(cls, host, int(port))
        return client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """What the broker asks of its clients is not for these: only replies are looked at."""
        self._received += data
        start = 0
        while len(self._received) >= start + 4:
            end = start + 4 + int.from_bytes(self._received[start : start + 4])
            if end > len(self._received):
                break
            command = decode_command(bytes(self._received[start + 4 : end]))
            start = end
            waiting = self._waiting.pop(command.opaque, None) if command.is_response else None
            if waiting is not None and not waiting.done():
                waiting.set_result(command)
        del self._received[:start]

    def connection_lost(self, error: Exception | None) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError("the broker closed the connection"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def ask(self, code: int, fields: dict[str, str], body: bytes = b"") -> asyncio.Future[RemotingCommand]:
        """The reply to come, whatever its code."""
        command = RemotingCommand(code, next(self._numbers), ext_fields=fields, body=body)
        reply: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()
        self._waiting[command.opaque] = reply
        assert self._transport is not None
        self._transport.write(encode_command(command))
        return reply

    async def call(self, code: int, fields: dict[str, str], body: bytes = b"") -> RemotingCommand:
        """The reply. Raises :class:`RequestRefused` for any code but 0."""
        reply = await self.ask(code, fields, body)
        if reply.code != ResponseCode.SUCCESS:
            raise RequestRefused(code, reply.code, reply.remark)
        return reply

    # --- requests ----------------------------------------------------------------------------------------------------

    async def create_topic(self, topic: str, queues: int) -> None:
        """As ``mqadmin updateTopic`` does it."""
        fields = {"topic": topic, "defaultTopic": "TBW102", "perm": "6", "topicFilterType": "SINGLE_TAG"}
        fields |= {"readQueueNums": str(queues), "writeQueueNums": str(queues), "topicSysFlag": "0", "order": "false"}
        await self.call(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)

    async def send(self, queue: Queue, body: bytes = b"b" * BODY_BYTES) -> None:
        """One message."""
        await self.call(RequestCode.SEND_MESSAGE, _send_fields(queue), body)

    async def send_batch(self, queue: Queue, first_key: int, count: int) -> None:
        """``count`` messages with consecutive unique keys."""
        body = b"".join([_MESSAGE % key for key in range(first_key, first_key + count)])
        await self.call(RequestCode.SEND_BATCH_MESSAGE, {**_send_fields(queue), "batch": "true"}, body)

    async def pull(self, queue: Queue, offset: int, count: int = 1, max_bytes: int | None = None) -> RemotingCommand:
        """What is there, without waiting."""
        return await self.call(RequestCode.PULL_MESSAGE, _pull_fields("scale", queue, offset, count, max_bytes))

    def park(self, group: str, queue: Queue, offset: int) -> asyncio.Future[RemotingCommand]:
        """A pull that waits for a message at ``offset``."""
        fields = _pull_fields(group, queue, offset, 32, None)
        fields |= {"sysFlag": str(_SUSPEND_AND_SUBSCRIPTION), "suspendTimeoutMillis": str(_SUSPEND_MS)}
        return self.ask(RequestCode.PULL_MESSAGE, fields)

    async def topics(self) -> dict[str, object]:
        """The broker's topics: name -> configuration."""
        reply = await self.call(RequestCode.GET_ALL_TOPIC_CONFIG, {})
        table: dict[str, object] = json.loads(reply.body)["topicConfigTable"]
        return table

    async def end_offset(self, queue: Queue) -> int:
        """The offset that the queue's next message gets."""
        fields = {"topic": queue[0], "queueId": str(queue[1])}
        return int((await self.call(RequestCode.GET_MAX_OFFSET, fields)).ext_fields["offset"])


def _send_fields(queue: Queue) -> dict[str, str]:
    fields = {"producerGroup": "scale", "topic": queue[0], "defaultTopic": "TBW102", "defaultTopicQueueNums": "4"}
    fields |= {"queueId": str(queue[1]), "sysFlag": "0", "bornTimestamp": str(int(time.time() * 1000)), "flag": "0"}
    return fields | {"properties": "", "reconsumeTimes": "0", "unitMode": "false", "batch": "false"}


def _pull_fields(group: str, queue: Queue, offset: int, count: int, max_bytes: int | None) -> dict[str, str]:
    fields = {"consumerGroup": group, "topic": queue[0], "queueId": str(queue[1]), "queueOffset": str(offset)}
    fields |= {"maxMsgNums": str(count), "sysFlag": str(1 << 2), "commitOffset": "0", "suspendTimeoutMillis": "0"}
    fields |= {"subscription": "*", "subVersion": "0", "expressionType": "TAG"}
    return fields if max_bytes is None else {**fields, "maxMsgBytes": str(max_bytes)}


async def waiting_consumer(address: str, group: str, number: int, queue: Queue, is_parked: asyncio.Event) -> None:
    """A member of ``group`` whose pull of ``queue`` waits, is answered "nothing" and waits again."""
    client = await Client.connect(address)
    subscription = {"topic": queue[0], "subString": "*", "subVersion": 0, "tagsSet": [], "codeSet": []}
    consumer = {"groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING"}
    consumer |= {"consumeFromWhere": "CONSUME_FROM_LAST_OFFSET"}
    heartbeat = {
        "clientID": f"127.0.0.1@{number}",
        "producerDataSet": [],
        "consumerDataSet": [{**consumer, "subscriptionDataSet": [{**subscription, "expressionType": "TAG"}]}],
    }
    body, beaten_at, offset = json.dumps(heartbeat).encode(), 0.0, 0
    try:
        while True:
            if time.monotonic() - beaten_at > _HEARTBEAT_S:
                await client.call(RequestCode.HEART_BEAT, {}, body)
                beaten_at = time.monotonic()
            waits = client.park(group, queue, offset)
            is_parked.set()
            offset = int((await waits).ext_fields["nextBeginOffset"])
    finally:
        client.close()


async def send_all(
    address: str, queues: list[Queue], first_key: int, messages: int, on_progress: Callable[[int], None]
) -> dict[Queue, int]:
    """Send ``messages`` with the unique keys from ``first_key`` on, in batches, to one queue after the other.

    Returns how many each got.
    """
    sent: dict[Queue, int] = dict.fromkeys(queues, 0)
    starts = iter(range(0, messages, BATCH_MESSAGES))
    done = 0

    async def sender(client: Client) -> None:
        nonlocal done
        for start in starts:
            queue = queues[(first_key + start) // BATCH_MESSAGES % len(queues)]
            count = min(BATCH_MESSAGES, messages - start)
            await client.send_batch(queue, first_key + start, count)
            sent[queue] += count
            done += count
            on_progress(done)

    clients = [await Client.connect(address) for _ in range(_SENDERS)]
    try:
        await asyncio.gather(*(sender(client) for client in clients for _ in range(_PIPELINED)))
    finally:
        for client in clients:
            client.close()
    return sent


async def read_all(
    address: str, queues: Iterable[Queue], messages: int, on_progress: Callable[[int], None]
) -> bytearray:
    """Pull all of ``queues``: how often each unique key below ``messages`` was found."""
    found, waiting, done = bytearray(messages), iter(queues), 0

    async def reader(client: Client) -> None:
        nonlocal done
        for queue in waiting:
            offset, end = 0, await client.end_offset(queue)
            while offset < end:
                reply = await client.pull(queue, offset, _MESSAGES_MAX, _READ_BYTES_MAX)
                offset = int(reply.ext_fields["nextBeginOffset"])
                keys = _STORED_KEY.findall(reply.body)
                for key in keys:
                    found[int(key, 16)] += 1
                done += len(keys)
                on_progress(done)

    clients = [await Client.connect(address) for _ in range(_READERS)]
    try:
        await asyncio.gather(*map(reader, clients))
    finally:
        for client in clients:
            client.close()
    return found
