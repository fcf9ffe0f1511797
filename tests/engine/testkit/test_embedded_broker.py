"""A broker in the process of a test: started, emptied, stopped, and nothing of it is left."""

import logging
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.client import Message, NoRoute
from engine.testkit import GlassMQ, TestKitError
from tests.support.live.kit_clients import send
from tests.support.waiting import wait_until


def port_of(address):
    return int(address.rpartition(":")[2])


def test_a_reset_leaves_nothing_but_the_addresses(glassmq):
    addresses = glassmq.name_server_address, glassmq.broker_address
    send(glassmq, Message("orders", b"1"))
    glassmq.reset()
    assert (glassmq.name_server_address, glassmq.broker_address) == addresses
    assert (glassmq.messages("orders"), glassmq.groups()) == ([], {})
    send(glassmq, Message("orders", b"2"))
    assert [message.body for message in glassmq.messages("orders")] == [b"2"]


def test_two_brokers_in_one_process_do_not_know_each_other(glassmq):
    with GlassMQ() as other:
        send(glassmq, Message("orders", b"1"))
        send(other, Message("refunds", b"2"))
        assert (len(glassmq.messages("refunds")), len(other.messages("orders"))) == (0, 0)
        assert len(other.messages("refunds")) == 1


def test_a_stopped_broker_leaves_no_thread_file_or_port(tmp_path):
    before = {thread.ident for thread in threading.enumerate()}
    folder = tmp_path / "data"
    broker = GlassMQ(data_folder=folder)
    broker.start()
    send(broker, Message("orders", b"1"))
    ports = port_of(broker.name_server_address), port_of(broker.broker_address)
    broker.stop()
    broker.stop()
    left = [thread.name for thread in threading.enumerate() if thread.ident not in before]
    assert [name for name in left if name.startswith(("glassmq", "broker", "name-server"))] == []
    assert not folder.exists()
    for port in ports:
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))


def test_a_broker_that_nobody_stops_leaves_no_files_when_its_process_ends(tmp_path):
    code = "import sys, pathlib, engine.testkit as kit; kit.GlassMQ(data_folder=pathlib.Path(sys.argv[1])).start()"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "data")], check=True, timeout=60)
    assert not (tmp_path / "data").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets two sockets share a port")
def test_no_other_program_gets_the_port_of_a_broker_that_is_replaced(glassmq):
    with glassmq.faults.crash(), socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port_of(glassmq.broker_address)))


def test_a_reset_ends_waits_and_logs_no_warning(glassmq, caplog):
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(glassmq.wait_for, "orders", timeout=60)
        wait_until(lambda: glassmq._thread._answers, "the wait")
        glassmq.reset()
        with pytest.raises(TestKitError, match="was reset while this call waited"):
            waiting.result()
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


def test_a_stop_ends_waits():
    with ThreadPoolExecutor() as threads:
        with GlassMQ() as broker:
            waiting = threads.submit(broker.wait_for, "orders", timeout=60)
            wait_until(lambda: broker._thread._answers, "the wait")
        with pytest.raises(TestKitError, match="is stopped"):
            waiting.result()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_has_the_addresses_and_neither_asks_the_broker_nor_ends_it(tmp_path):
    def in_fork(broker, results):
        with pytest.raises(TestKitError, match=f"runs in process {os.getppid()}"):
            broker.messages("orders")
        broker.stop()
        broker._end_thread()  # as at the end of a process
        results.put(broker.name_server_address)

    with GlassMQ(data_folder=tmp_path / "data") as broker:
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        fork = context.Process(target=in_fork, args=(broker, results))
        fork.start()
        fork.join()
        assert fork.exitcode == 0
        assert results.get() == broker.name_server_address
        assert any((tmp_path / "data").iterdir())


def test_a_broker_may_be_started_again_after_its_stop():
    broker = GlassMQ()
    for body in (b"1", b"2"):
        with broker:
            send(broker, Message("orders", body))
            assert [message.body for message in broker.messages("orders")] == [body]


def test_settings_have_rocketmq_s_names_and_plain_values():
    settings = {"autoCreateTopicEnable": False}
    with GlassMQ(broker_settings=settings) as broker, pytest.raises(NoRoute, match="orders"):
        send(broker, Message("orders", b"1"))


@pytest.mark.parametrize(
    ("parameters", "parts"),
    [
        ({"broker_settings": {"autoCreateTopic": 1}}, ["broker_settings", "did you mean autoCreateTopicEnable"]),
        ({"broker_settings": {"listenPort": 1}}, ["listenPort is set by the kit itself, to a free port"]),
        ({"store_settings": {"flushDiskType": "never"}}, ["store_settings", "flushDiskType"]),
    ],
)
def test_an_unknown_setting_is_refused_with_what_is_allowed(parameters, parts):
    with pytest.raises(TestKitError) as refusal:
        GlassMQ(**parameters)
    assert all(part in str(refusal.value) for part in parts)


def test_a_folder_with_content_is_refused_and_kept(tmp_path):
    (tmp_path / "mine").write_text("x")
    for folder in (tmp_path, str(tmp_path / "mine")):
        with pytest.raises(TestKitError, match="is not an empty folder"):
            GlassMQ(data_folder=folder)
    assert (tmp_path / "mine").exists()


def test_a_host_that_is_not_of_this_machine_is_refused_by_name():
    with pytest.raises(TestKitError, match=r"192\.0\.2\.1"):
        GlassMQ(host="192.0.2.1").start()


def test_a_broker_that_does_not_run_says_so():
    broker = GlassMQ()
    with pytest.raises(TestKitError, match="is stopped"):
        broker.messages("orders")
    for call in (
        broker.reset,
        lambda: broker.name_server_address,
        lambda: broker.broker_address,
        broker.faults.crash,
        broker.faults.restart,
        broker.faults.full_disk,
    ):
        with pytest.raises(TestKitError, match="is stopped"):
            call()
    with broker, pytest.raises(TestKitError, match="runs already"):
        broker.start()
