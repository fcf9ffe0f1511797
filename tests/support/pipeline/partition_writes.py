"""Partitions of rows that tests write to a live broker without Spark, over lines that may break."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.node_client import NodeClient
from engine.pipeline.source.writer.writer_replay import WriteIdentity, stored_messages
from engine.pipeline.source.writer.writer_rows import RowReader
from engine.pipeline.source.writer.writer_sender import PartitionSender
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.request_code import RequestCode
from engine.runtime.live.blocking_connection import ConnectionLost

FIRST = WriteIdentity("00112233aabbccdd", 7, 1, may_repeat=False, is_noted=False)
AGAIN = replace(FIRST, may_repeat=True, is_noted=True)
#: Another query, whose messages are between ours.
OTHERS = replace(FIRST, name="ee" * 8)


def rows(options, **columns):
    """What the columns of one record batch say."""
    return list(RowReader(options.topic, copies_messages=False).read(pa.RecordBatch.from_pydict(columns)))


def send(options, cluster, identity, outgoing):
    sender = PartitionSender(options, identity, cluster, {})
    sender.send(outgoing)
    sender.finish()
    return sender


def stored(cluster, topic):
    """Queue number -> its messages."""
    queues = cluster.queues([topic])
    ends = cluster.max_offsets(queues)
    answers = {queue: b"".join(stored_messages(cluster, queue, 0, ends[queue])) for queue in queues}
    return {queue.queue_id: decode_messages(data, decompress=False) for queue, data in answers.items()}


def bodies(cluster, topic):
    return sorted(message.body.decode() for messages in stored(cluster, topic).values() for message in messages)


class BadLine(Cluster):
    """A cluster on a line that may lose requests or replies, or answer in the broker's stead.

    ``faults`` are for the requests that send, one after the other: "request" or "reply" is lost, a number is the code
    of the answer, None lets it pass; a function is called before the reply is lost.
    """

    def __init__(self, options, *faults):
        super().__init__(options)
        self.faults = list(faults)

    def client(self, address):
        client = self._clients.get(address)
        if client is None:
            client = self._clients[address] = BadClient(address, self._options, self.faults)
        return client


class BadClient(NodeClient):
    def __init__(self, address, options, faults):
        super().__init__(address, options)
        self._faults = faults
        self._fault = None

    def send(self, requests):
        requests = list(requests)
        sends = requests[0].code in (RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_MESSAGE_V2)
        self._fault = self._faults.pop(0) if sends and self._faults else None
        if self._fault == "request":
            raise ConnectionLost("the line is down")
        return super().send(requests) if not isinstance(self._fault, int) else []

    def receive(self):
        if isinstance(self._fault, int):
            return RemotingCommand(self._fault, remark="says the test")
        answer = super().receive()
        if callable(self._fault):
            self._fault()
        if self._fault is not None:
            raise ConnectionLost("the line is down")
        return answer
