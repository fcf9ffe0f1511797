"""A delayed message is delivered once, whenever the broker dies; what a power cut takes is delivered again."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.message.message import MessageExt
from engine.protocol.response_code import ResponseCode
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab
from tests.support.tiers import examples

SYNC = MessageStoreConfig(flush_disk_type=FlushDiskType.SYNC_FLUSH)
LOG_FILE = "commitlog/00000000000000000000"


def delivered(lab: BrokerLab) -> list[bytes]:
    store = lab.broker.store
    entries = store.consume_queue_entries("T", 0, 0, 100_000)
    found = [store.message_at(place) for place, size, _ in entries if size != FILLER_SIZE]
    return [message.body for message in found if message is not None]


def crash(lab: BrokerLab, how: str) -> None:
    lab.world.crash("broker-a", how == "kill", torn=how == "torn")
    lab.world.restart("broker-a")
    lab.broker = lab._start_broker()


def send(client: LabClient, number: int, level: int = 1) -> None:
    assert client.send(body=b"%d" % number, delay_level=level).code == ResponseCode.SUCCESS


def test_a_kill_brings_no_delivered_message_twice():
    with broker_lab() as lab:
        client = lab.client()
        for number in range(50):
            send(client, number, level=1 + number % 2)
        lab.run_for(7_000)  # all are due, no offset is written yet
        assert not lab.world.storages["broker-a"].files.get("config/delayOffset.json")
        for _ in range(3):
            crash(lab, "kill")
            lab.run_for(3_000)
        assert Counter(delivered(lab)) == Counter(b"%d" % number for number in range(50))


def test_a_recovery_point_does_not_hide_what_was_delivered_before_it():
    """The levels' offsets are written with it, although their own interval is longer."""
    with broker_lab(BrokerConfig(flush_delay_offset_interval_ms=3_600_000)) as lab:
        client = lab.client()
        send(client, 0)
        lab.run_for(25_000)
        crash(lab, "kill")
        lab.run_for(5_000)
        assert delivered(lab) == [b"0"]


def test_offsets_are_not_written_before_the_deliveries_that_they_go_past():
    never_ms = 3_600_000
    lazy = MessageStoreConfig(flush_interval_commit_log_ms=never_ms, flush_commit_log_thorough_interval_ms=never_ms)
    with broker_lab(store_config=lazy) as lab:
        send(lab.client(), 0)
        lab.world.storages["broker-a"].flush_us = never_ms * 1_000
        lab.run_for(15_000)
        assert delivered(lab) == [b"0"]
        assert not lab.world.storages["broker-a"].files.get("config/delayOffset.json")


def test_a_delivery_that_a_power_cut_took_out_of_the_middle_is_made_again_and_no_other():
    with broker_lab(store_config=SYNC) as lab:
        client = lab.client()
        for number in range(3):
            send(client, number)
        lab.run_for(950)
        storage = lab.world.storages["broker-a"]
        storage.flush_us = 3_600_000_000
        lab.run_for(2_000)
        last = at(lab, 2)
        content = storage.files[LOG_FILE].read(last.commit_log_offset, last.store_size)
        storage.cut_power(None)
        log = storage.files[LOG_FILE]
        log.write(last.commit_log_offset, memoryview(content))
        log.end_flush(log.begin_flush(last.commit_log_offset, last.commit_log_offset + len(content)))
        storage.flush_us = 2_000
        crash(lab, "power")
        lab.run_for(5_000)
        assert sorted(delivered(lab)) == [b"0", b"1", b"2"]


def at(lab: BrokerLab, offset: int) -> MessageExt:
    ((place, _, _),) = lab.broker.store.consume_queue_entries("T", 0, offset, 1)
    message = lab.broker.store.message_at(place)
    assert message is not None
    return message


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 2)),
        st.tuples(st.just("wait"), st.sampled_from((1, 300, 1_000, 4_000, 11_000))),
        st.tuples(st.just("crash"), st.sampled_from(("kill", "kill", "power", "torn", "stop"))),
    ),
    max_size=25,
)


@settings(max_examples=examples(quick=15, full=60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS)
def test_what_was_acknowledged_is_delivered_and_a_kill_alone_brings_nothing_twice(operations):
    with broker_lab(store_config=SYNC) as lab:
        client, sent, only_kills = lab.client(), 0, True
        for operation, value in operations:
            if operation == "send":
                send(client, sent, value)
                sent += 1
            elif operation == "wait":
                lab.run_for(value)
            elif value == "stop":
                lab.stop_broker()
            else:
                only_kills = only_kills and value == "kill"
                crash(lab, value)
        lab.run_for(8_000)
        counts = Counter(delivered(lab))
        assert set(counts) == {b"%d" % number for number in range(sent)}
        if only_kills:
            assert set(counts.values()) <= {1}
