"""Requests to one broker or name server over one blocking connection, several in flight at a time.

Requests are numbered and signed here, and answers are matched by number: a broker with many threads answers in any
order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from engine.acl.acl_signer import ACCESS_KEY, SECURITY_TOKEN, SIGNATURE, sign
from engine.pipeline.source.cluster.cluster_options import ClusterOptions
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.protocol.command.remoting_command import RemotingCommand, SerializeType, decode_command, encode_command
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.runtime.live.blocking_connection import BlockingConnection, ConnectionLost
from engine.runtime.live.live_tls import TlsUnusable
from engine.runtime.port import ConnectFailed

#: A server closes a connection that is idle for 120 s; this end closes it earlier.
_IDLE_LIMIT_S = 90.0
#: Most small requests in flight at a time.
_AHEAD_MAX = 64
#: Size of one pull if the broker supports the request (GlassMQ, RocketMQ 5); others return their 32 messages. More
#: would save few requests and exceed the processor's cache.
PULL_BYTES = 512 * 1024
#: How often an answer "too busy" is followed by another try, and the first pause between tries; it doubles.
BUSY_RETRIES = 5
BUSY_PAUSE_MS = 50
#: The broker's codes for "try again in a moment".
BUSY_CODES = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})
#: The broker's codes for a pull of messages that do not exist, or no longer exist.
NOTHING_FOUND_CODES = frozenset(
    {ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_OFFSET_MOVED, ResponseCode.PULL_RETRY_IMMEDIATELY}
)


class NodeClient:
    """Send requests to one node. Connects at the first request; not thread-safe.

    Methods raise :class:`ConnectionLost` and ``ConnectFailed`` of the runtime: only the caller knows the purpose of the
    request.
    """

    def __init__(self, address: str, options: ClusterOptions) -> None:
        self.address = address
        self._options = options
        self._secret_key = (options.secret_key or "").encode()
        self._connection: BlockingConnection | None = None
        self._next_opaque = 1
        self._unanswered: dict[int, None] = {}

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._unanswered.clear()

    def send(self, requests: Iterable[RemotingCommand]) -> list[int]:
        """Send requests in one write; return the numbers by which :meth:`receive` identifies the answers."""
        frames: list[bytes] = []
        opaques: list[int] = []
        for request in requests:
            request.opaque = self._next_opaque
            self._next_opaque = (self._next_opaque + 1) & 0x7FFF_FFFF
            # The binary header takes a fraction of the time to parse on both sides.
            request.serialize_type = SerializeType.ROCKETMQ
            self._sign(request)
            frames.append(encode_command(request))
            opaques.append(request.opaque)
        self._connected().send_frame(b"".join(frames), self._options.request_timeout_ms)
        self._unanswered.update(dict.fromkeys(opaques))
        return opaques

    def receive(self) -> RemotingCommand:
        """Return the next answer, to any request. Anything else that the node sends (it may notify clients) is
        ignored.
        """
        connection = self._connection
        if connection is None:
            raise ConnectionLost(f"{self.address}: the connection was closed")
        while True:
            frame = connection.receive_frame(self._options.request_timeout_ms)
            try:
                answer = decode_command(frame)
            except ProtocolError as error:
                self.close()
                raise ConnectionLost(f"{self.address} sent garbage: {error}") from error
            if answer.is_response and answer.opaque in self._unanswered:
                del self._unanswered[answer.opaque]
                return answer

    def ask_all(self, requests: Sequence[RemotingCommand]) -> list[RemotingCommand]:
        """Return the answers in the order of the requests, with a bounded number in flight.

        A lost connection is opened again once, since the node may have closed an idle one: use it only for requests
        that may be repeated. A busy node is asked again a few times.
        """
        answers: list[RemotingCommand] = []
        for start in range(0, len(requests), _AHEAD_MAX):
            answers += self._ask_some(requests[start : start + _AHEAD_MAX])
        return answers

    def _ask_some(self, requests: Sequence[RemotingCommand]) -> list[RemotingCommand]:
        try:
            answers = self._answers(requests)
        except ConnectionLost:
            self.close()
            answers = self._answers(requests)
        for attempt in range(BUSY_RETRIES):
            busy = [at for at, answer in enumerate(answers) if answer.code in BUSY_CODES]
            if not busy:
                break
            time.sleep(BUSY_PAUSE_MS * 2**attempt / 1_000)
            for at, answer in zip(busy, self._answers([requests[at] for at in busy]), strict=True):
                answers[at] = answer
        return answers

    def _answers(self, requests: Sequence[RemotingCommand]) -> list[RemotingCommand]:
        opaques = self.send(requests)
        arrived: dict[int, RemotingCommand] = {}
        while not arrived.keys() >= set(opaques):
            answer = self.receive()
            arrived[answer.opaque] = answer
        return [arrived[opaque] for opaque in opaques]

    def _connected(self) -> BlockingConnection:
        connection = self._connection
        is_stale = connection is not None and time.monotonic() - connection.last_used_s > _IDLE_LIMIT_S
        if is_stale and not self._unanswered:
            self.close()
        if connection is None or not connection.is_open:
            self._unanswered.clear()
            try:
                connection = BlockingConnection(
                    self.address, connect_timeout_ms=self._options.connect_timeout_ms, tls=self._options.tls
                )
            except TlsUnusable as error:
                raise RocketMQError("ROCKETMQ_WRONG_OPTION", f"options tls...: {error}") from error
            self._connection = connection
        return connection

    def _sign(self, request: RemotingCommand) -> None:
        if self._options.access_key is None:
            return
        fields = request.ext_fields
        fields[ACCESS_KEY] = self._options.access_key
        if self._options.security_token is not None:
            fields[SECURITY_TOKEN] = self._options.security_token
        fields[SIGNATURE] = sign(fields, request.body, self._secret_key)


#: Errors for a node that cannot be reached.
UNREACHABLE = (ConnectFailed, ConnectionLost)


def refusal(topic: str, address: str, answer: RemotingCommand) -> RocketMQError:
    """Return the error for an unsuccessful answer: its condition, and what the broker reported."""
    remark = answer.remark or "no reason given"
    if answer.code == ResponseCode.TOPIC_NOT_EXIST:
        return RocketMQError("ROCKETMQ_UNKNOWN_TOPIC", f"topic {topic!r}: broker {address} says: {remark}")
    return RocketMQError("ROCKETMQ_REFUSED", f"topic {topic!r}: broker {address} says: {remark} (code {answer.code})")
