"""Messages that cannot be decoded: the others are consumed as if they were not there, and they become dead letters."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import lz4.frame
import pytest
import zstandard

from engine.client import ConsumeOrderlyContext, MessageExt, MessageModel
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.java_text import java_text
from engine.protocol.message.compression import DECOMPRESSED_MAX_BYTES
from engine.protocol.message.message_properties import decode_properties
from engine.protocol.message.record_layout import FIXED_PART
from engine.protocol.request_code import RequestCode
from engine.protocol.system_flags import (
    COMPRESSION_LZ4,
    COMPRESSION_ZLIB,
    COMPRESSION_ZSTD,
    MESSAGE_COMPRESSED,
)
from engine.remoting.channel import Channel
from engine.store.log.store_message import StoreMessage
from engine.store.queues.dispatch_request import dispatched_fields
from tests.engine.client.push_consumer_world import FROM_FIRST, Heard, committed, consumer_of
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.lab_faults import DropsRequests
from tests.support.lab.orderly_cluster import COMMIT, ROLLBACK, SUCCESS, HeardInOrder, orderly

ZLIB, LZ4, ZSTD = (MESSAGE_COMPRESSED | kind for kind in (COMPRESSION_ZLIB, COMPRESSION_LZ4, COMPRESSION_ZSTD))
QUEUE = MessageQueue("T", "broker-a", 0)
_zeros = zlib.compressobj()
_TOO_LARGE = b"".join(_zeros.compress(bytes(1 << 20)) for _ in range(DECOMPRESSED_MAX_BYTES >> 20))
_TOO_LARGE += _zeros.compress(b"1") + _zeros.flush()

#: What is stored -> what a listener gets.
GOOD = {
    (0, b"plain", b""): b"plain",
    (MESSAGE_COMPRESSED, zlib.compress(b"old zlib"), b""): b"old zlib",
    (ZLIB, zlib.compress(b"zlib"), b""): b"zlib",
    (LZ4, lz4.frame.compress(b"lz4"), b""): b"lz4",
    (ZSTD, zstandard.compress(b"zstd"), b""): b"zstd",
    (0, b"gbk", b"weight\x01" + "重量".encode("gbk")): b"gbk",
}
BAD = (
    (ZLIB, b"not zlib", b"KEYS\x01k"),
    (ZLIB, zlib.compress(bytes(500))[:-3], b""),
    (ZLIB, _TOO_LARGE, b""),
    (LZ4, b"not lz4", b""),
    (ZSTD, zstandard.compress(b"cut off" * 50)[:-5], b""),
    (MESSAGE_COMPRESSED | 0x500, b"of a later version", b""),
)

Stored = tuple[int, bytes, bytes]


def store(cluster: LabCluster, *messages: Stored) -> None:
    """Put messages into the broker's log as they are, as a producer of another language may have sent them."""

    async def put() -> None:
        for sys_flag, body, properties in messages:
            fields = dispatched_fields(decode_properties(java_text(properties)))
            hosts = "10.0.0.9:1", "10.0.0.2:10911"
            tags_code, keys, unique_key = fields
            message = StoreMessage("T", 0, body, properties, 1, *hosts, 0, sys_flag, tags_code, keys, unique_key)
            assert cluster.broker.store.put_message(message).is_ok

    cluster.world.run(put(), node="broker-a")


def dead_letters(cluster: LabCluster, group: str = "g") -> list[MessageExt]:
    async def read() -> list[MessageExt | None]:
        log = cluster.broker.store
        return [log.message_in_queue(f"%DLQ%{group}", 0, n) for n in range(log.max_offset(f"%DLQ%{group}", 0))]

    return [message for message in cluster.world.run(read(), node="broker-a") if message is not None]


def mixed() -> list[Stored]:
    """Good and bad ones by turns, several bad ones in a row, a bad one first and last."""
    good = iter(GOOD)
    return [BAD[0], next(good), BAD[1], next(good), next(good), BAD[2], BAD[3], BAD[4], *good, BAD[5]]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = (record for record in caplog.records if record.name == "glassmq.client")
    return [record.getMessage() for record in records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_concurrent_listener_gets_all_others_and_each_unreadable_one_is_a_dead_letter_at_once(
    cluster, producer, caplog, batch_size
):
    store(cluster, *mixed())
    heard = Heard(cluster)
    consumer = consumer_of(cluster, heard, consume_message_batch_max_size=batch_size)
    cluster.world.run_for(20_000)
    assert sorted(heard.bodies) == sorted(body.decode() for body in GOOD.values())
    assert all(message.unreadable is None for message in heard.messages)
    dead = dead_letters(cluster)
    assert sorted((one.sys_flag, one.body) for one in dead) == sorted(bad[:2] for bad in BAD)
    assert {one.properties["RETRY_TOPIC"] for one in dead} == {"T"}
    assert committed(cluster) == len(GOOD) + len(BAD)
    stats = consumer._impl.stats.of_topic("T")
    assert (stats.unreadable_messages, stats.failed_messages, stats.consumed_messages) == (6, 6, 6)
    assert [line for line in warnings(caplog) if "offset 0:" in line] == [
        "group g: " + str(QUEUE) + " offset 0: the compressed body cannot be read (zlib): "
        "Error -3 while decompressing data: incorrect header check"
    ]
    assert len(warnings(caplog)) == len(BAD)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_an_orderly_listener_gets_all_others_in_order_and_the_queue_never_stops(cluster, producer, batch_size):
    store(cluster, *mixed())
    heard = HeardInOrder(cluster)
    orderly(cluster, heard, consume_message_batch_max_size=batch_size)
    cluster.world.run_for(20_000)
    assert heard.bodies == [body.decode() for body in GOOD.values()]
    assert [(one.sys_flag, one.body) for one in dead_letters(cluster)] == [bad[:2] for bad in BAD]
    assert committed(cluster) == len(GOOD) + len(BAD)


def test_what_an_orderly_listener_rolls_back_does_not_make_two_dead_letters(cluster, producer):
    good = list(GOOD)
    store(cluster, good[0], BAD[0], good[1])
    answers = iter([SUCCESS, ROLLBACK, SUCCESS, COMMIT])

    def listen(messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> object:
        context.auto_commit = False
        return next(answers)

    consumer = cluster.push_consumer("C", "g", consume_from_where=FROM_FIRST)
    consumer.subscribe("T")
    consumer.register_message_listener_orderly(listen)
    cluster.start(consumer)
    cluster.world.run_for(10_000)
    assert next(answers, None) is None
    assert len(dead_letters(cluster)) == 1
    assert committed(cluster) == 3


def test_a_broadcasting_member_drops_what_it_cannot_read_and_says_so(cluster, producer):
    for listener, start in ((Heard(cluster), consumer_of), (HeardInOrder(cluster), orderly)):
        group = start.__name__
        consumer = start(cluster, listener, group, group=group, message_model=MessageModel.BROADCASTING)
        cluster.world.run_for(3_000)
        store(cluster, BAD[0], next(iter(GOOD)))
        cluster.world.run_for(3_000)
        assert listener.bodies[-1:] == ["plain"]
        assert dead_letters(cluster, group) == []
        cluster.stop(consumer)


def test_one_that_cannot_be_given_back_yet_holds_up_its_own_offset_only(cluster, producer):
    store(cluster, BAD[0], next(iter(GOOD)))
    fault = DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK)
    cluster.world.network.faults.append(fault)
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(12_000)
    assert heard.bodies == ["plain"]
    assert (dead_letters(cluster), committed(cluster)) == ([], 0)
    cluster.world.network.faults.remove(fault)
    cluster.world.run_for(30_000)
    assert len(dead_letters(cluster)) == 1
    assert committed(cluster) == 2


class Spoils:
    """Stands before the broker's processor of pulls and damages what leaves it, as a disk of a real broker may."""

    def __init__(self, cluster: LabCluster, spoil: Callable[[bytes, int], bytes]) -> None:
        table = cluster.broker.server.processors._processors
        process = table[RequestCode.PULL_MESSAGE]

        def spoiled(channel: Channel, request: RemotingCommand) -> Any:
            reply = process(channel, request)
            if isinstance(reply, RemotingCommand) and reply.body and request.ext_fields["topic"] == "T":
                reply.body = spoil(reply.body, int(request.ext_fields["queueOffset"]))
            return reply

        table[RequestCode.PULL_MESSAGE] = spoiled


def _records(data: bytes) -> list[bytes]:
    sizes, position = [], 0
    while position < len(data):
        sizes.append(int.from_bytes(data[position : position + 4], "big"))
        position += sizes[-1]
    return [data[sum(sizes[:n]) : sum(sizes[: n + 1])] for n in range(len(sizes))]


def _spoil_third(change: Callable[[bytes], bytes]) -> Callable[[bytes, int], bytes]:
    def spoil(data: bytes, offset: int) -> bytes:
        return b"".join(
            change(record) if number + offset == 2 else record for number, record in enumerate(_records(data))
        )

    return spoil


def _put(at: int, data: bytes) -> Callable[[bytes], bytes]:
    return lambda record: record[:at] + data + record[at + len(data) :]


BODY_LENGTH_AT = FIXED_PART[0].size - 4


@pytest.mark.parametrize("is_orderly", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        _put(FIXED_PART[0].size, b"?"),  # the body's CRC
        _put(BODY_LENGTH_AT, b"\x00\x00\x01\x00"),  # lengths that do not add up
        _put(BODY_LENGTH_AT, b"\xff\xff\xff\xff"),
        _put(36, b"\x00\x00\x00\x30"),  # hosts of another length
        _put(4, b"none"),  # the magic: no message
        _put(0, b"\x7f\xff\xff\xff"),  # a size that leads beyond the reply
        _put(0, b"\x00\x00\x00\x05"),
        _put(0, b"\xff\xff\xff\xff"),
        lambda record: _put(BODY_LENGTH_AT, b"\xff\xff\xff\xff")(_put(20, b"\x7f")(record)),  # and a place far away
    ],
)
def test_damage_on_the_way_hides_no_other_message(cluster, producer, change, is_orderly):
    store(cluster, *((0, b"%d" % number, b"") for number in range(5)))
    Spoils(cluster, _spoil_third(change))
    heard = HeardInOrder(cluster) if is_orderly else Heard(cluster)
    (orderly if is_orderly else consumer_of)(cluster, heard)
    cluster.world.run_for(20_000)
    assert heard.bodies == ["0", "1", "3", "4"]
    assert committed(cluster) == 5
    assert [one.body for one in dead_letters(cluster)] in ([b"2"], [])


def test_a_pull_consumer_gets_the_readable_ones_and_the_others_apart(cluster, producer, caplog):
    store(cluster, *mixed())
    consumer = cluster.pull_consumer("C", "g")
    cluster.start(consumer)
    result = cluster.run(consumer, consumer.pull(QUEUE))
    assert [message.body for message in result.messages] == list(GOOD.values())
    assert [(one.sys_flag, one.body) for one in result.unreadable] == [bad[:2] for bad in BAD]
    assert "grows beyond 67108864 bytes" in (result.unreadable[2].unreadable or "")
    assert result.unreadable[0].keys == ("k",)
    assert result.next_begin_offset == len(GOOD) + len(BAD)
    assert len(warnings(caplog)) == len(BAD)


@pytest.mark.parametrize("expression", ["a", "*"])
def test_what_cannot_be_read_is_filtered_by_its_tag_all_the_same(cluster, producer, expression):
    store(cluster, (ZLIB, b"broken", b"TAGS\x01b"), (0, b"good", b"TAGS\x01a"))
    consumer = cluster.pull_consumer("C", "g")
    cluster.start(consumer)
    result = cluster.run(consumer, consumer.pull(QUEUE, expression))
    assert [message.body for message in result.messages] == [b"good"]
    assert len(result.unreadable) == (1 if expression == "*" else 0)


def test_a_small_reply_of_huge_bodies_is_taken_in_several_pulls(cluster, producer):
    store(cluster, *[(ZSTD, zstandard.compress(bytes(DECOMPRESSED_MAX_BYTES // 2)), b"")] * 4)
    consumer = cluster.pull_consumer("C", "g")
    cluster.start(consumer)
    for offset, count, following in ((0, 3, 3), (3, 1, 4)):
        result = cluster.run(consumer, consumer.pull(QUEUE, offset=offset))
        assert [message.queue_offset for message in result.messages] == list(range(offset, offset + count))
        assert result.next_begin_offset == following
