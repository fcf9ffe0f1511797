"""What a slave's report is worth to a SYNC_MASTER's waiting senders."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.broker.broker import Broker
from engine.replication.ha.ha_config import HaConfig, HaRole, ReplicaAcks
from engine.replication.ha.ha_connection import SlaveState
from engine.replication.ha.ha_frames import PieceSplitter, decode_piece, encode_report
from engine.runtime.port import Connection
from engine.store.log.put_message_result import PutMessageStatus
from engine.store.log.store_message import StoreMessage
from tests.support.lab.replica_pair import MASTER, ReplicaPair, log_bytes

#: A quarter of a file of the log.
LARGE = bytes(3_800)
PORT_FOR_SLAVES = 10_912


class Slave:
    """A slave under the test's control: it keeps what it is sent, and reports what the test wants.

    :ivar kept: the bytes of the master's log that it has, by their offset.
    """

    def __init__(self, pair: ReplicaPair, name: str, end: int = 0) -> None:
        self.splitter = PieceSplitter()
        self.kept: dict[int, int] = {}
        self.end = end
        self.is_lost = False
        self._connection: Connection
        address = f"{pair.world.node(MASTER).identity.host_ip}:{PORT_FOR_SLAVES}"
        pair.world.run(pair.world.node(name).network.connect(address, self, 1_000), node=name)

    def connection_made(self, connection: Connection) -> None:
        self._connection = connection
        self.report(self.end)

    def frame_received(self, frame: bytes) -> None:
        offset, data = decode_piece(frame)
        self.kept.update(zip(range(offset, offset + len(data)), data, strict=True))
        if data:
            self.end = offset + len(data)

    def connection_lost(self, reason: str) -> None:
        self.is_lost = True

    def report(self, end: int) -> None:
        self._connection.send_frame(encode_report(end))

    def close(self) -> None:
        self._connection.close()


def message() -> StoreMessage:
    return StoreMessage("T", 0, LARGE, b"", 0, bytes(8), bytes(8))


class Senders:
    """Messages that are stored at the master and wait for its slaves.

    :ivar results: of those that were answered: offset and end of the message -> what became of it.
    """

    def __init__(self, pair: ReplicaPair) -> None:
        self.results: dict[tuple[int, int], PutMessageStatus] = {}
        self._pair = pair

    def put(self, count: int) -> list[tuple[int, int]]:
        async def send() -> list[tuple[int, int]]:
            sent = []
            for _ in range(count):
                result = self._pair.master.store.put_message(message())
                sent.append((result.offset, result.end_offset))
            self.tasks = [asyncio.ensure_future(self._wait(*bounds)) for bounds in sent]
            return sent

        return self._pair.world.run(send(), node=MASTER)

    async def _wait(self, offset: int, end_offset: int) -> None:
        service = self._pair.master.replication.service
        self.results[offset, end_offset] = await service.replicated(offset, end_offset)

    @property
    def acknowledged(self) -> list[tuple[int, int]]:
        return [bounds for bounds, status in self.results.items() if status is PutMessageStatus.PUT_OK]


def newest_file(broker: Broker) -> int:
    return broker.store.commit_log.files.files[-1].start_offset


def test_an_empty_slave_confirms_nothing_that_it_was_not_sent():
    with ReplicaPair(HaRole.SYNC_MASTER) as pair:
        silent = Slave(pair, "silent")
        pair.world.run_for(10)
        senders = Senders(pair)
        sent = senders.put(10)
        empty = pair.slave(2)
        pair.world.run_until(lambda: len(senders.results) == len(sent))
        begin = newest_file(pair.master)
        assert begin > 0
        assert empty.store.commit_log.min_offset == begin
        assert log_bytes(empty) == log_bytes(pair.master, begin)
        assert not silent.is_lost
        assert {offset >= begin: status for (offset, _), status in senders.results.items()} == {
            False: PutMessageStatus.FLUSH_SLAVE_TIMEOUT,
            True: PutMessageStatus.PUT_OK,
        }


def test_a_message_older_than_what_the_only_slave_is_sent_is_not_waited_for():
    with ReplicaPair(HaRole.SYNC_MASTER) as pair:
        Senders(pair).put(10)
        pair.slave(1)
        service = pair.master.replication.service
        status = pair.world.run(service.replicated(0, 4_000), node=MASTER)
        assert status is PutMessageStatus.SLAVE_NOT_AVAILABLE


def test_a_slave_that_repeats_that_it_is_empty_is_not_cut_off():
    with ReplicaPair() as pair:
        Senders(pair).put(10)
        slave = Slave(pair, "slow")
        slave.report(0)
        pair.world.run_for(1_000)
        assert not slave.is_lost
        slave.report(slave.end)
        pair.world.run_for(1_000)
        (connection,) = pair.master.replication.service.slaves
        assert (connection.state, connection.behind_bytes) == (SlaveState.SENDS, 0)


@pytest.mark.parametrize("lie", ["past the end", "before the begin", "back", "past what was sent", "negative"])
def test_a_report_that_cannot_be_true_ends_the_connection_and_confirms_nothing(lie):
    with ReplicaPair(HaRole.SYNC_MASTER) as pair:
        senders = Senders(pair)
        near = Slave(pair, "near")
        pair.world.run_for(10)
        senders.put(10)
        end, begin = pair.master.store.commit_log.max_offset, newest_file(pair.master)
        if lie in ("past the end", "negative"):
            slave = Slave(pair, "liar", end + 1 if lie == "past the end" else -1)
        else:
            slave = Slave(pair, "liar")
            pair.world.run_for(10)
            if lie == "back":
                slave.report(end)
            slave.report({"before the begin": begin - 1, "back": end - 1, "past what was sent": end + 1}[lie])
        pair.world.run_for(10)
        assert slave.is_lost
        assert not near.is_lost
        assert all(lie == "back" and offset >= begin for offset, _ in senders.acknowledged)


def test_what_a_slave_has_from_elsewhere_confirms_no_message():
    """A master lost its end in a power cut and went on: RocketMQ's slave reports an end that the new log has, too."""
    with ReplicaPair(HaRole.SYNC_MASTER) as pair:
        near = Slave(pair, "near")
        pair.world.run_for(10)
        senders = Senders(pair)
        sent = senders.put(6)
        diverged = Slave(pair, "diverged", sent[3][1] - 100)
        pair.world.run_for(100)
        diverged.report(diverged.end)
        pair.world.run_for(100)
        assert senders.acknowledged == sent[4:]
        near.report(near.end)
        pair.world.run_for(100)
        assert sorted(senders.acknowledged) == sent


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 6)),
        st.tuples(st.just("connect"), st.integers(0, 2), st.sampled_from(["empty", "end", "middle", "past"])),
        st.tuples(st.just("report"), st.integers(0, 2), st.sampled_from(["all", "half", "back"])),
        st.tuples(st.just("close"), st.integers(0, 2)),
        st.tuples(st.just("run"), st.sampled_from([1, 100, 1_100])),
    ),
    min_size=4,
    max_size=25,
)


@given(steps=STEPS, acks=st.sampled_from([ReplicaAcks.ONE, ReplicaAcks.TWO]))
def test_no_message_is_acknowledged_before_enough_slaves_got_its_bytes(steps, acks):
    """Whatever slaves report: each that counts was sent the whole message."""
    with ReplicaPair(HaRole.SYNC_MASTER, replica_acks=acks) as pair:
        senders, slaves = Senders(pair), {0: Slave(pair, "slave-0")}
        every = [slaves[0]]
        pair.world.run_for(10)
        senders.put(10)
        log, needed = pair.master.store.commit_log, HaConfig(replica_acks=acks).slaves_needed
        for name, *arguments in steps:
            match name, arguments:
                case "put", (count,):
                    senders.put(count)
                case "connect", (number, kind) if number not in slaves:
                    end = log.max_offset
                    first = {"empty": 0, "end": end, "middle": end // 2, "past": end + 9}[kind]
                    slaves[number] = Slave(pair, f"slave-{number}", first)
                    every.append(slaves[number])
                case "report", (number, kind) if number in slaves:
                    end = slaves[number].end
                    slaves[number].report({"all": end, "half": end // 2, "back": 0}[kind])
                case "close", (number,) if number in slaves:
                    slaves.pop(number).close()
                case "run", (ms,):
                    pair.world.run_for(ms)
            pair.world.run_for(1)
            for offset, end_offset in senders.acknowledged:
                holders = sum(all(byte in slave.kept for byte in range(offset, end_offset)) for slave in every)
                assert holders >= needed
