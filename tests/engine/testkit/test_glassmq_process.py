"""A broker in a process of its own: killed, started again, and gone at the end."""

import os
import signal

import pytest

from engine.client import Message
from engine.testkit import GlassMQProcess, TestKitError
from tests.support.live.kit_clients import send
from tests.support.waiting import wait_until


def test_a_killed_process_starts_again_at_the_same_addresses_with_what_it_acknowledged(tmp_path):
    with GlassMQProcess(tmp_path / "data", broker_settings={"defaultTopicQueueNums": 1}) as process:
        addresses, pid = (process.name_server_address, process.broker_address), process.pid
        (first,) = send(process, Message("orders", b"1"))
        process.kill()
        assert process.pid is None
        process.start()
        assert (process.name_server_address, process.broker_address) == addresses
        (second,) = send(process, Message("orders", b"2"))
        assert (first.queue_offset, second.queue_offset) == (0, 1)
        last = process.pid
        process.stop()
    for ended in (pid, last):
        assert ended is not None
        with pytest.raises(ProcessLookupError):
            os.kill(ended, signal.SIGCONT)


def test_packages_of_the_tests_do_not_hide_those_of_the_broker(tmp_path, monkeypatch):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with GlassMQProcess(tmp_path / "data") as process:
        assert process.pid


def test_a_process_that_does_not_start_says_why(tmp_path):
    with pytest.raises(TestKitError, match="autoCreateTopicEnable") as failure:
        GlassMQProcess(tmp_path / "data", broker_settings={"autoCreateTopic": 1}).start()
    assert "glassmq serve did not start" in str(failure.value)


def test_an_interrupted_start_leaves_no_process(tmp_path, monkeypatch):
    started = []

    def interrupted(process):
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.testkit.glassmq_process._read_addresses", interrupted)
    with pytest.raises(KeyboardInterrupt):
        GlassMQProcess(tmp_path / "data").start()
    assert started[0].poll() is not None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_the_test_ends_by_a_signal_starts_again(tmp_path, number):
    with GlassMQProcess(tmp_path / "data") as process:
        address = process.name_server_address
        assert process.pid is not None
        os.kill(process.pid, number)
        wait_until(lambda: process.pid is None, "the end of the process")
        process.start()
        assert process.name_server_address == address
        send(process, Message("orders", b"1"))


def test_a_process_runs_once(tmp_path):
    with GlassMQProcess(tmp_path / "data") as process, pytest.raises(TestKitError, match="runs already"):
        process.start()
