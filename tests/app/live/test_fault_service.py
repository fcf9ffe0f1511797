"""A live broker broken on purpose under clients of ours, over real sockets: what they and the files go through."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from app.live.fault_service import HELD_SHOWN
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client import Message, TransactionMQProducer
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.faults.errors import FaultRefused
from engine.lab.scenario.errors import CommandRefused
from engine.protocol.enums import ConsumeFromWhere
from engine.runtime.live.engine_thread import EngineUnavailable
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from tests.support.live.live_server import LiveServer, message
from tests.support.live.producer_thread import ProducerThread
from tests.support.waiting import wait_until

COMMIT = LocalTransactionState.COMMIT_MESSAGE


@pytest.fixture
def live(tmp_path):
    with LiveServer(tmp_path / "data", allow_faults=True, page=False, broker=BrokerConfig(port=0)) as live:
        yield live


def stored(live, topic, key):
    return len(live.find(topic, key, 32))


def is_sent(live, one):
    """Send a message, and return whether the broker took it."""
    try:
        live.send(one)
    except MQClientError:
        return False
    return True


@contextmanager
def sending(live, one):
    """Send a message in a thread of its own; ``outcome`` gets its result or the error before the block ends."""
    outcome = []

    def send():
        try:
            outcome.extend(live.send(one))
        except MQClientError as error:
            outcome.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    yield outcome
    thread.join(60)


def hashes(folder):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


# --- frames -----------------------------------------------------------------------------------------------------------


def test_a_send_is_held_gets_another_key_and_is_stored_under_it(live):
    live.break_it("fault", what="hold", frame="SEND_MESSAGE_V2", times=1)
    with sending(live, message("orders", keys="k1")) as outcome:
        (held,) = live.faults_when(lambda view: view["held"])["held"]
        assert (held["name"], held["topics"], held["groups"], held["keys"][0]) == (
            "SEND_MESSAGE_V2",
            ["orders"],
            ["test_producer"],
            "k1",
        )
        assert (held["direction"], held["timeout_ms"], held["properties"]["KEYS"]) == ("in", 3_000, "k1")
        assert held["meaning"]["en"].endswith(f"sends k1 to broker-a, for Q{held['header']['e']}.")
        assert stored(live, "orders", "k1") == 0
        body = b"another body"
        view = live.host.faults.change(lambda service: service.let_pass(held["id"], {}, {"KEYS": "changed"}, body))
        assert view["held"] == []
    assert outcome[0].message_queue.topic == "orders"
    assert (stored(live, "orders", "k1"), stored(live, "orders", "changed")) == (0, 1)
    assert live.find("orders", "changed", 1)[0]["body_preview"] == "another body"


def test_of_many_held_frames_the_oldest_are_reported_and_all_are_counted(live):
    live.break_it("fault", what="hold", frame="SEND_MESSAGE_V2")
    with ProducerThread(live.name_servers, "shop") as producer:
        for number in range(HELD_SHOWN + 7):
            producer.send_oneway(message("orders", keys=f"k{number}"))
        view = live.faults_when(lambda view: view["held_count"] == HELD_SHOWN + 7)
        assert [one["keys"][0] for one in view["held"]] == [f"k{number}" for number in range(HELD_SHOWN)]
        assert live.host.faults.change(lambda service: service.injector.stop_holding())["held_count"] == 0


def test_a_delayed_send_is_reported_after_its_rule_is_spent_and_is_stored_when_all_is_cleared(live):
    live.break_it("fault", what="delay", frame="SEND_MESSAGE_V2", ms=3_600_000, times=1)
    with sending(live, message("orders", keys="k1")) as outcome:
        view = live.faults_when(lambda view: view["delayed_count"])
        assert (view["is_active"], view["rules"][0]["is_spent"], stored(live, "orders", "k1")) == (True, True, 0)
        view = live.host.faults.clear()
        assert (view["is_active"], view["delayed_count"]) == (False, 0)
    assert outcome[0].message_queue.topic == "orders"


def test_a_duplicated_send_is_stored_twice(live):
    live.break_it("fault", what="duplicate", frame="SEND_MESSAGE_V2", key="k1", times=1)
    live.send(message("orders", keys="k1"), message("orders", keys="k2"))
    assert (stored(live, "orders", "k1"), stored(live, "orders", "k2")) == (2, 1)
    (rule,) = live.host.faults.view()["rules"]
    assert (rule["hits"], rule["is_spent"]) == (1, True)


def test_a_rejected_send_is_refused_by_the_fault_and_the_next_one_succeeds(live):
    (rule,) = live.break_it("fault", what="reject", frame="SEND_MESSAGE_V2", code="NO_PERMISSION", key="k1")["rules"]
    with pytest.raises(MQClientError, match="refused by fault 1"):
        live.send(message("orders", keys="k1"))
    live.host.faults.change(lambda service: service.injector.remove(rule["rule_id"]))
    live.send(message("orders", keys="k1"))
    assert stored(live, "orders", "k1") == 1


def test_a_dropped_end_transaction_is_checked_back(tmp_path):
    class Listener:
        def execute_local_transaction(self, message, argument):
            return COMMIT

        def check_local_transaction(self, message):
            checked.append(message.keys[0])
            return COMMIT

    checked = []

    async def send():
        async with TransactionMQProducer(
            None, "bank", server.name_servers, Listener(), heartbeat_broker_interval_ms=100
        ) as producer:
            await producer.send_message_in_transaction(Message("Transfers", b"x", keys="t1"), None)
            assert await asyncio.to_thread(stored, server, "Transfers", "t1") == 0
            await until(lambda: "bank" in dict(server.host._machines.broker.producer_manager))
            server.break_it("advance", ms=60_000)
            await until(lambda: stored(server, "Transfers", "t1"))

    with LiveServer(tmp_path / "data", allow_faults=True, page=False) as server:
        server.break_it("fault", what="drop", frame="END_TRANSACTION", times=1)
        asyncio.run(send())
        assert checked == ["t1"]
        assert server.host.faults.view()["hits"][0]["frame"] == "END_TRANSACTION"


class Member:
    """A consumer that beats often: two minutes of the broker's clock must not take two minutes."""

    def __init__(self, live):
        self.consumer = DefaultMQPushConsumer(
            None,
            "g",
            live.name_servers,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            heartbeat_broker_interval_ms=100,
            rebalance_interval_ms=200,
        )
        self.consumer.subscribe("orders", "*")
        self.consumer.register_message_listener(self.listen)

    async def listen(self, messages, _context):
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    @property
    def queues(self):
        return {queue.queue_id for queue in self.consumer.process_queues if queue.topic == "orders"}


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)


def test_held_heartbeats_lead_to_a_rebalance_after_two_minutes_of_the_brokers_clock(live):
    live.create_topic("orders", 4)

    async def scenario():
        first, second = Member(live), Member(live)
        await first.consumer.start()
        await second.consumer.start()
        await until(lambda: len(first.queues) == len(second.queues) == 2)
        silent = second.consumer.instance.client_id
        live.break_it("fault", what="hold", frame="HEART_BEAT", client=silent)
        live.break_it("advance", ms=60_000)
        beaten = first.consumer.instance.client_id
        await asyncio.to_thread(live.faults_when, lambda view: any(one["client"] == silent for one in view["held"]))
        await until(lambda: last_heard_ms(live, beaten) >= live.host.faults.view()["now_us"] // 1_000 + 59_000)
        live.break_it("advance", ms=61_000)
        await until(lambda: len(first.queues) == 4)
        await second.consumer.shutdown()
        await first.consumer.shutdown()

    asyncio.run(scenario())


def last_heard_ms(live, client_id):
    manager = live.host._machines.broker.consumer_manager
    channels = manager.get_consumer_group_info("g").channel_info_table.values()
    return max(info.last_update_ms for info in channels if info.client_id == client_id)


def test_a_rejected_pull_makes_the_consumer_back_off_and_it_goes_on_afterwards(live):
    live.create_topic("orders", 1)
    rule = live.break_it("fault", what="reject", frame="PULL_MESSAGE", group="g", topic="orders")["rules"][0]

    async def scenario():
        member = Member(live)
        heard = []
        member.consumer.register_message_listener(lambda messages, context: heard.extend(messages))
        await member.consumer.start()
        began = time.monotonic()
        await asyncio.to_thread(live.faults_when, lambda view: view["rules"][0]["hits"] >= 3)
        assert time.monotonic() - began >= 2 * member.consumer.instance.config.pull_time_delay_when_exception_ms / 1_000
        await asyncio.to_thread(live.send, message("orders"))
        live.host.faults.change(lambda service: service.injector.remove(rule["rule_id"]))
        await until(lambda: heard)
        await member.consumer.shutdown()

    asyncio.run(scenario())


def test_a_batch_whose_answer_is_cut_is_sent_again_as_a_whole(live):
    live.break_it("fault", what="cut", frame="reply to SEND_BATCH_MESSAGE", times=1)
    keys = [f"k{number}" for number in range(20)]

    async def send():
        async with DefaultMQProducer(None, "p", live.name_servers) as producer:
            await producer.send_batch([message("orders", keys=key) for key in keys])

    asyncio.run(send())
    assert {stored(live, "orders", key) for key in keys} == {2}


# --- the broker -------------------------------------------------------------------------------------------------------


def test_a_killed_broker_leaves_its_files_as_they_are_and_a_new_one_finds_all(tmp_path):
    with LiveServer(tmp_path / "data", allow_faults=True, page=False) as live:
        live.send(*[message("orders", keys=f"k{number}") for number in range(50)])
        address = live.host.broker_address
        assert live.break_it("crash")["broken"]["broker_crashed"]
        left = hashes(tmp_path / "data")
        assert any(path.name == "abort" for path in left), "nobody shut it down"
        with pytest.raises(EngineUnavailable, match="killed the broker"):
            live.host.state()
        with pytest.raises(FaultRefused) as refused:
            live.break_it("crash")
        assert {*dict(refused.value.text)} == {"en", "zh"}
        assert hashes(tmp_path / "data") == left
        assert not live.break_it("restart")["broken"]["broker_crashed"]
        assert live.host.state()["cluster"]["broker_address"] == address
        assert {stored(live, "orders", f"k{number}") for number in range(50)} == {1}
        live.send(message("orders", keys="after"))
        with pytest.raises(FaultRefused):
            live.break_it("restart")


def test_a_broker_that_crashes_between_half_and_op_knows_the_half_message_again(tmp_path):
    class Listener:
        def execute_local_transaction(self, message, argument):
            server.break_it("crash")
            return COMMIT

        def check_local_transaction(self, message):
            return COMMIT

    async def send():
        async with TransactionMQProducer(
            None, "bank", server.name_servers, Listener(), heartbeat_broker_interval_ms=100
        ) as producer:
            await producer.send_message_in_transaction(Message("Transfers", b"x", keys="t1"), None)
            server.break_it("restart")
            assert [half["key"] for half in server.host.state()["transactions"]["messages"]] == ["t1"]
            assert stored(server, "Transfers", "t1") == 0
            await until(lambda: "bank" in dict(server.host._machines.broker.producer_manager))
            server.break_it("advance", ms=60_000)
            await until(lambda: stored(server, "Transfers", "t1"))

    with LiveServer(tmp_path / "data", allow_faults=True, page=False) as server:
        asyncio.run(send())


def test_a_name_server_is_killed_and_started_again_and_the_broker_registers_by_itself(live):
    live.send(message("orders"))
    assert live.break_it("crash", "name-server")["broken"]["name_server_crashed"]
    with pytest.raises(MQClientError):
        live.send(message("orders"))
    assert not live.break_it("restart", "name-server")["broken"]["name_server_crashed"]
    live.break_it("advance", ms=30_000)
    wait_until(lambda: is_sent(live, message("orders", keys="again")), "a send that succeeds")
    assert stored(live, "orders", "again") == 1


def test_two_clients_that_start_the_same_broker_are_distinguished(live):
    live.break_it("crash")
    outcomes = []

    def restart():
        try:
            live.break_it("restart")
            outcomes.append("runs")
        except FaultRefused as refused:
            outcomes.append(refused.text.key)

    threads = [threading.Thread(target=restart) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert Counter(outcomes) == {"runs": 1, "refusal.runs_already": 3}
    live.send(message("orders", keys="k1"))
    assert stored(live, "orders", "k1") == 1


def test_a_paused_engine_answers_nobody_until_it_is_resumed(live):
    live.break_it("pause", ms=30_000)
    view = live.faults_when(lambda view: "paused_ms" in view)
    assert view["is_active"]
    assert 0 < view["paused_ms"] <= 30_000
    with pytest.raises(EngineUnavailable, match="a fault pauses the engine"):
        live.host.state()
    with sending(live, message("orders", keys="k1")) as outcome:
        view = live.host.faults.apply({"kind": "resume"})
    assert (view["is_active"], view["rules"]) == (False, [])
    assert outcome[0].message_queue.topic == "orders"
    assert live.host.state()


def test_a_broker_stops_in_order_however_it_is_broken(tmp_path):
    with LiveServer(tmp_path / "data", allow_faults=True, page=False) as live:
        live.send(message("orders", keys="k1"))
        live.break_it("slow-fsync", ms=30_000)
        live.break_it("disk-full")
        live.break_it("fault", what="drop")
        live.break_it("pause", ms=30_000)
        live.faults_when(lambda view: "paused_ms" in view)
    assert not (tmp_path / "data" / "abort").exists()
    with LiveServer(tmp_path / "data", allow_faults=True, page=False) as live:
        assert stored(live, "orders", "k1") == 1
        assert not live.host.faults.view()["is_active"]


# --- the disk ---------------------------------------------------------------------------------------------------------


def test_a_full_disk_refuses_messages_until_there_is_room(tmp_path):
    store = MessageStoreConfig(mapped_file_size_commit_log=64 * 1024, clean_resource_interval_ms=100)
    with LiveServer(tmp_path / "data", allow_faults=True, page=False, store=store) as live:
        assert live.break_it("disk-full")["broken"]["disk_full"]
        filling = [message("orders", "x" * 8_000, keys=f"k{number}") for number in range(200)]
        with pytest.raises(MQClientError, match=r"No space left|disk is full"):
            live.send(*filling)
        live.break_it("disk-free")
        wait_until(lambda: is_sent(live, message("orders", keys="free")), "a send that succeeds")
        assert stored(live, "orders", "free") > 0


def test_a_flush_that_fails_makes_the_broker_refuse_until_it_is_started_on_a_sound_disk(tmp_path):
    store = MessageStoreConfig(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    with LiveServer(tmp_path / "data", allow_faults=True, page=False, store=store) as live:
        live.break_it("fail-fsync", on=False)
        (first,) = live.send(message("orders", keys="k1"))
        assert first.status.name == "FLUSH_DISK_TIMEOUT"
        with pytest.raises(MQClientError, match="failed to keep"):
            live.send(message("orders", keys="k2"))
        assert not live.host.faults.clear()["broken"]["flushes_fail"]
        live.break_it("crash")
        live.break_it("restart")
        (sent,) = live.send(message("orders", keys="k3"))
        assert sent.status.name == "SEND_OK"


# --- locks ------------------------------------------------------------------------------------------------------------


def test_a_lock_is_given_away_and_the_broker_lock_of_a_group_is_switched_off(live):
    live.create_topic("orders", 1)
    with pytest.raises(FaultRefused):
        live.break_it("give-lock", group="g", topic="orders", queue_id=0, to="c2")
    assert live.lock("g", "orders", 0, "c1")
    live.break_it("give-lock", group="g", topic="orders", queue_id=0, to="c2")
    assert not live.lock("g", "orders", 0, "c1")
    assert live.break_it("group-lock", group="g", on=False)["broken"]["groups_off"] == ["g"]
    assert live.lock("g", "orders", 0, "c1")
    assert live.break_it("lock-switch", lock="broker-lock", on=False)["broken"]["broker_lock_off"]
    assert not any(live.host.faults.clear()["broken"].values())
    assert not live.lock("g", "orders", 0, "c1")


# --- what cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"kind": "fault", "target": "broker-b", "what": "drop"}, "broker-a"),
        ({"kind": "crash", "target": "broker-b"}, "broker-a, name-server"),
        ({"kind": "pause", "target": "broker-a", "ms": 30_001}, "30,?000"),
        ({"kind": "slow-fsync", "target": "broker-a", "ms": 30_001}, "30,?000"),
        ({"kind": "advance", "target": "broker-a", "ms": -1}, "ms"),
        ({"kind": "partition", "left": ["a"], "right": ["b"]}, "fault, drop-next"),
        ({"kind": "drop-next", "target": "C1->C2", "frame": "HEART_BEAT"}, "broker-a"),
        ({"kind": "fault", "target": "broker-a", "what": "drop", "frame": "APPEND_ENTRIES"}, "frame"),
        (
            {"kind": "lock-switch", "target": "broker-a", "lock": "process-queue-lock", "on": False},
            "process-queue-lock",
        ),
        ([], "kind"),
        ({}, "fault, drop-next"),
    ],
)
def test_what_a_live_engine_cannot_obey_is_refused_with_what_it_can(live, command, words):
    with pytest.raises((FaultRefused, CommandRefused), match=words) as refused:
        live.host.faults.apply(command)
    error = refused.value
    assert isinstance(error, FaultRefused | CommandRefused)
    assert {*dict(error.text)} == {"en", "zh"}
    assert not live.host.faults.view()["is_active"]


@pytest.mark.parametrize(
    ("target", "direction", "client"), [("", "", ""), ("*->broker-a", "in", ""), ("broker-a->c1*", "out", "c1*")]
)
def test_the_next_frame_of_a_link_is_a_rule_that_acts_once(live, target, direction, client):
    (rule,) = live.break_it("drop-next", target, frame="PULL_MESSAGE")["rules"]
    assert (rule["what"], rule["direction"], rule["client"], rule["times"]) == ("drop", direction, client, 1)


def test_an_engine_that_allows_no_faults_has_no_interceptor(tmp_path):
    with LiveServer(tmp_path / "data", page=False) as live:
        assert live.host.faults is None
        assert type(live.host._machines.broker_runtime.network).__name__ == "LiveNetwork"
