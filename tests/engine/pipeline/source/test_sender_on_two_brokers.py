"""Where the rows of a partition go when one of two brokers does not take them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.writer import writer_sender
from engine.pipeline.source.writer.writer_options import WriteOptions
from engine.pipeline.source.writer.writer_replay import WriteIdentity
from engine.pipeline.source.writer.writer_rows import RowReader
from engine.pipeline.source.writer.writer_sender import PartitionSender
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.command.send_message_headers import SendMessageResponseHeader
from engine.protocol.message.batch_codec import decode_batch
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.live.blocking_connection import ConnectionLost

IDENTITY = WriteIdentity("00112233aabbccdd", 0, 0, may_repeat=False, is_noted=False)
LEFT, RIGHT = QueueKey("Orders", "left", 0), QueueKey("Orders", "right", 0)
OPTIONS = WriteOptions.parse({"nameServer": "127.0.0.1:9876", "topic": "Orders", "sendRetries": "3"})


class Broker:
    """Stores the bodies of batches; ``answers`` are codes for the next requests, or an error to raise."""

    def __init__(self):
        self.stored, self.requests, self.answers = [], 0, []

    def send(self, requests):
        self.request = requests[0]

    def receive(self):
        assert self.request.code == RequestCode.SEND_BATCH_MESSAGE
        self.requests += 1
        answer = self.answers.pop(0) if self.answers else ResponseCode.SUCCESS
        if isinstance(answer, Exception):
            raise answer
        if answer not in (ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT):
            return RemotingCommand(answer, remark="says the test")
        self.stored += [body.decode() for _, body, _ in decode_batch(self.request.body)]
        return self.request.reply(answer, None, SendMessageResponseHeader("id", 0, len(self.stored) - 1))

    def close(self):
        pass


class TwoBrokers:
    """What a sender needs to know of a cluster."""

    def __init__(self):
        self.brokers = {"left": Broker(), "right": Broker()}

    def writable_queues(self, topic):
        return [LEFT, RIGHT]

    def master(self, broker_name):
        return broker_name

    def refresh_master(self, topic, broker_name):
        return broker_name

    def client(self, address):
        return self.brokers[address]

    def max_offsets(self, queues):
        return {queue: len(self.brokers[queue.broker_name].stored) for queue in queues}


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(writer_sender, "_FIRST_PAUSE_S", 0)
    return TwoBrokers()


def send(cluster, *, options=OPTIONS, **columns):
    sender = PartitionSender(options, IDENTITY, cluster, {})
    sender.send(RowReader("Orders", copies_messages=False).read(pa.RecordBatch.from_pydict(columns)))
    sender.finish()
    return sender


class LateBroker(Broker):
    """Loses the first reply, answers ``codes``, and stores the first request with the last: nobody looks after that."""

    def __init__(self, *codes):
        super().__init__()
        self.answers = [ConnectionLost("timed out"), *codes]
        self.last = len(codes)

    def receive(self):
        if self.requests == 0:
            self.late = [body.decode() for _, body, _ in decode_batch(self.request.body)]
        elif self.requests == self.last:
            self.stored += self.late
        return super().receive()


@pytest.mark.parametrize("code", [ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL])
def test_what_may_go_anywhere_goes_to_the_other_broker_and_nowhere_else(cluster, code):
    left, right = cluster.brokers.values()
    left.answers = [code] * 9
    assert send(cluster, body=list("abcd")).sent == 4
    assert (left.stored, sorted(right.stored)) == ([], list("abcd"))


def test_what_has_a_queue_of_its_own_stays_there(cluster):
    left, right = cluster.brokers.values()
    left.answers = [ResponseCode.SYSTEM_BUSY]
    send(cluster, body=list("ab"), queue_id=[0, 0], broker_name=["left"] * 2)
    assert (left.stored, right.stored) == (["a", "b"], [])


def test_rows_of_both_kinds_in_one_batch_part(cluster):
    left, right = cluster.brokers.values()
    left.answers = [ResponseCode.SYSTEM_BUSY]
    columns = {"body": ["pinned", "free-1", "free-2"], "sharding_key": ["b", None, None]}
    assert send(cluster, **columns).sent == 3
    assert (left.stored, sorted(right.stored)) == (["pinned"], ["free-1", "free-2"])


def test_what_may_be_stored_is_not_sent_elsewhere(cluster):
    left, right = cluster.brokers.values()
    left.answers = [ConnectionLost("the line is down")] * 9
    with pytest.raises(RocketMQError, match=r"whether they are stored is not known"):
        send(cluster, body=list("abcd"))
    assert all(letter not in right.stored for letter in "bd") or all(letter not in right.stored for letter in "ac")


@pytest.mark.parametrize("code", [ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL])
def test_what_may_be_stored_is_not_sent_elsewhere_even_if_a_later_try_is_refused(cluster, code):
    late = cluster.brokers["left"] = LateBroker(*[code] * 3)
    with pytest.raises(RocketMQError, match="in 4 tries, whether they are stored is not known: the broker says"):
        send(cluster, body=list("abcd"))
    assert late.stored and all(letter not in cluster.brokers["right"].stored for letter in late.stored)


@pytest.mark.parametrize(
    ("codes", "tries"),
    [([ResponseCode.SYSTEM_BUSY] * 3, 4), ([ResponseCode.NO_PERMISSION], 2)],
    ids=["busy to the end", "refused for good"],
)
def test_the_error_remembers_a_reply_that_was_lost_before_the_last_try(cluster, codes, tries):
    cluster.brokers["left"] = LateBroker(*codes)
    with pytest.raises(RocketMQError, match=f"in {tries} tries, whether they are stored is not known"):
        send(cluster, body=["a"], queue_id=[0], broker_name=["left"])
    assert cluster.brokers["left"].stored == ["a"]


def test_a_message_that_is_stored_but_not_flushed_is_not_sent_again(cluster):
    left, right = cluster.brokers.values()
    left.answers = right.answers = [ResponseCode.FLUSH_DISK_TIMEOUT] * 2
    assert send(cluster, body=list("abcd")).sent == 4
    assert sorted(left.stored + right.stored) == list("abcd")


def test_what_waits_to_be_sent_is_bounded_and_still_travels_in_batches(cluster, monkeypatch):
    monkeypatch.setattr(writer_sender, "_UNSENT_BYTES_MAX", 10_000)
    sender = PartitionSender(OPTIONS, IDENTITY, cluster, {})
    columns = {"body": [b"x" * 500] * 200}
    sender.send(RowReader("Orders", copies_messages=False).read(pa.RecordBatch.from_pydict(columns)))
    assert 200 - sender.sent < 20
    sender.finish()
    assert sender.sent == 200
    assert sum(broker.requests for broker in cluster.brokers.values()) < 60
