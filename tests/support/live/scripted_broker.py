"""A broker and its name server on one real socket, answering as a test has scripted: for clients that have no lab."""

from __future__ import annotations

import socketserver
import threading

from engine.protocol.body.topic_route_data import BrokerData, QueueData, TopicRouteData
from engine.protocol.command.pull_message_headers import PullMessageRequestHeader, PullMessageResponseHeader
from engine.protocol.command.queue_headers import OffsetResponseHeader
from engine.protocol.command.remoting_command import decode_command, encode_command
from engine.protocol.message.addresses import encode_host
from engine.protocol.message.message_codec import encode_stored_parts
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.frame_splitter import FrameSplitter

#: Instead of an answer: the connection is closed.
CLOSE = object()


def stored_message(offset, *, topic="Orders", queue_id=0, body=None, tags=None, stored_ms=None):
    """The stored form of message ``offset``."""
    return encode_stored_parts(
        topic=topic.encode(),
        body=b"body %d" % offset if body is None else body,
        properties=f"TAGS\x01{tags}".encode() if tags else b"",
        queue_id=queue_id,
        flag=0,
        queue_offset=offset,
        physical_offset=offset * 1_000,
        sys_flag=0,
        born_timestamp=1,
        born_host=encode_host("127.0.0.1:5"),
        store_timestamp=offset * 10 if stored_ms is None else stored_ms,
        store_host=encode_host("127.0.0.1:10911"),
        reconsume_times=0,
        prepared_transaction_offset=0,
    )


class ScriptedBroker:
    """One topic ``Orders`` with one queue that holds messages ``low`` to ``high - 1``.

    A test changes ``low``, ``high``, ``per_pull`` (messages per answer), ``tags`` (of all messages), ``near`` (what a
    search by time answers) or ``script``: a list of functions from a request to an answer; each is used once, for the
    next pull. ``is_reversed`` answers pulls that came together in the opposite order. The name server knows ``routes``:
    topic -> (broker name, readable queues, writable queues, permission), or None: the topic is not there; and
    ``addresses``: broker name -> addresses by broker id.
    """

    def __init__(self, *, low=0, high=100, per_pull=32):
        self.low, self.high, self.per_pull = low, high, per_pull
        self.script = []
        self.pulls = []
        self.stored_ms = lambda offset: offset * 10
        self.near = lambda time_ms: self.low
        self.tags = None
        self.is_reversed = False
        #: The most requests that one read from the socket brought.
        self.most_at_once = 0
        broker = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                splitter = FrameSplitter()
                while data := self.request.recv(65_536):
                    frames = splitter.feed(data)
                    broker.most_at_once = max(broker.most_at_once, len(frames))
                    answers = [broker._answer(decode_command(frame)) for frame in frames]
                    for answer in reversed(answers) if broker.is_reversed else answers:
                        if answer is CLOSE:
                            return
                        self.request.sendall(answer if isinstance(answer, bytes) else encode_command(answer))

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self.routes = {"Orders": [("broker-a", 1, 1, 6)]}
        self.addresses = {"broker-a": {0: self.address}}
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request):
        code = request.code
        if code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            queues = self.routes.get(request.ext_fields["topic"])
            if queues is None:
                return request.reply(ResponseCode.TOPIC_NOT_EXIST, "no such topic")
            brokers = [BrokerData("DefaultCluster", name, addresses) for name, addresses in self.addresses.items()]
            route = TopicRouteData([QueueData(*of_broker) for of_broker in queues], brokers)
            return request.reply(ResponseCode.SUCCESS, body=route.to_json())
        if code == RequestCode.GET_MIN_OFFSET:
            return request.reply(ResponseCode.SUCCESS, None, OffsetResponseHeader(self.low))
        if code == RequestCode.GET_MAX_OFFSET:
            return request.reply(ResponseCode.SUCCESS, None, OffsetResponseHeader(self.high))
        if code == RequestCode.SEARCH_OFFSET_BY_TIMESTAMP:
            offset = self.near(int(request.ext_fields["timestamp"]))
            return request.reply(ResponseCode.SUCCESS, None, OffsetResponseHeader(offset))
        if code == RequestCode.PULL_MESSAGE:
            self.pulls.append(PullMessageRequestHeader.decode(request.ext_fields))
            return (self.script.pop(0) if self.script else self.pull)(request)
        return request.reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"no script for {code}")

    def pull(self, request, leave_out=(), code=ResponseCode.SUCCESS, remark="FOUND"):
        """What a healthy broker answers."""
        header = PullMessageRequestHeader.decode(request.ext_fields)
        first = header.queue_offset
        if not self.low <= first < self.high:
            next_offset = self.low if first < self.low else self.high
            code = ResponseCode.PULL_NOT_FOUND if first == self.high else ResponseCode.PULL_OFFSET_MOVED
            return request.reply(code, "MOVED", PullMessageResponseHeader(0, next_offset, self.low, self.high))
        end = min(first + header.max_msg_nums, first + self.per_pull, self.high)
        body = b"".join(
            stored_message(offset, topic=header.topic, tags=self.tags, stored_ms=self.stored_ms(offset))
            for offset in range(first, end)
            if offset not in leave_out
        )
        answer = PullMessageResponseHeader(0, end, self.low, self.high)
        return request.reply(code, remark, answer, body if code == ResponseCode.SUCCESS else b"")
