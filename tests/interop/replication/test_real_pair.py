"""A real RocketMQ broker follows ours as its slave, and ours follows a real master: under load, with a restart of each
side, the commit logs end up the same byte by byte.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.message.message import Message
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.ports import free_broker_port, free_port
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.real_rocketmq import start_real_broker, start_real_rocketmq
from tests.support.live.glass_process import GlassProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

FILE_BYTES = 8 * 1024 * 1024
_SMALL_FILES = {"mappedFileSizeCommitLog": str(FILE_BYTES)}
_OUR_SMALL_FILES = ("--store-setting", f"mappedFileSizeCommitLog={FILE_BYTES}")
_REAL_SLAVE = {"brokerRole": "SLAVE", "brokerId": "1", **_SMALL_FILES}
#: Not so long that it is compressed.
_BODY = b"0123456789" * 300
MESSAGES_OF_A_FILE = FILE_BYTES // len(_BODY)
_DEADLINE_S = 90.0


class Load:
    """Sends one message after the other, whatever happens to the broker.

    :ivar acknowledged: how many were.
    """

    def __init__(self, name_server: str) -> None:
        self.acknowledged = 0
        self._name_server = name_server
        self._must_stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._send()))

    async def _send(self) -> None:
        async with DefaultMQProducer(group="load", name_server_addresses=self._name_server) as producer:
            while not self._must_stop.is_set():
                try:
                    await producer.send(Message("Load", _BODY), timeout_ms=1_000)
                except MQClientError:
                    await asyncio.sleep(0.1)
                else:
                    self.acknowledged += 1

    def wait_for_more(self, count: int) -> None:
        """Wait until this many more are acknowledged."""
        wanted = self.acknowledged + count
        wait_until(lambda: self.acknowledged >= wanted, f"{wanted} messages to be acknowledged", _DEADLINE_S, str)

    def stop(self) -> None:
        """Send no more."""
        self._must_stop.set()
        self._thread.join()

    @contextmanager
    def running(self) -> Iterator[Load]:
        self._thread.start()
        try:
            yield self
        finally:
            self.stop()


def _log(folder: Path) -> dict[str, bytes]:
    """Return file name -> its content, without the zeros after the last message."""
    return {path.name: path.read_bytes().rstrip(b"\0") for path in sorted(folder.iterdir())}


def _used(log: dict[str, bytes]) -> dict[str, bytes]:
    """Real brokers make files ahead."""
    return {name: data for name, data in log.items() if data}


def _wait_until_it_grows(slave: Path, logs: Callable[[], str]) -> None:
    """The slave copies again: what was sent before alone does not tell that it is connected."""

    def size() -> int:
        return sum(map(len, _log(slave).values())) if slave.exists() else 0

    before = size()
    wait_until(lambda: size() > before, f"{slave} to grow", _DEADLINE_S, logs)


def _wait_until_same(master: Path, slave: Path, logs: Callable[[], str]) -> None:
    """An empty slave begins with the newest file that its master has then: earlier ones it never gets."""

    def same() -> bool:
        ours, theirs = _used(_log(master)), _used(_log(slave))
        begun = min(theirs, default="")
        return len(theirs) > 1 and theirs == {name: data for name, data in ours.items() if name >= begun}

    wait_until(same, f"{slave} to hold the same bytes as {master}", _DEADLINE_S, logs)


def test_a_real_slave_follows_our_master_through_restarts_of_both(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    ports = free_port(), free_broker_port()
    slave_port, ha_port = free_broker_port(), free_port()
    slave_log = theirs / "store" / "commitlog"

    def start_master() -> Cluster:
        settings = {"haListenPort": str(ha_port)}
        return start_glassmq(ours, *ports, settings=settings, options=_OUR_SMALL_FILES)

    def start_slave() -> ManagedProcess:
        slave = start_real_broker(theirs, f"127.0.0.1:{ports[0]}", slave_port, _REAL_SLAVE)
        slave.wait_for_output("boot success", _DEADLINE_S)
        return slave

    master = start_master()
    slave = start_slave()
    try:
        with Load(master.name_server).running() as load:
            _wait_until_it_grows(slave_log, slave.output_end)
            load.wait_for_more(MESSAGES_OF_A_FILE)
            slave.kill()
            load.wait_for_more(500)
            slave = start_slave()
            _wait_until_it_grows(slave_log, slave.output_end)
            master.processes[0].kill()
            master = start_master()
            _wait_until_it_grows(slave_log, slave.output_end)
            load.wait_for_more(500)
        _wait_until_same(
            ours / "data" / "commitlog",
            slave_log,
            lambda: master.logs() + slave.output_end(),
        )
    finally:
        slave.stop()
        master.stop()


def test_our_slave_follows_a_real_master_through_restarts_of_both(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    master = start_real_rocketmq(theirs, settings=_SMALL_FILES)
    slave = GlassProcess(ours / "data", "--slave-of", master.broker)
    slave_log = ours / "data" / "commitlog"
    try:
        with Load(master.name_server).running() as load:
            with slave:
                _wait_until_it_grows(slave_log, lambda: slave.errors)
                load.wait_for_more(MESSAGES_OF_A_FILE)
                slave.kill()
            load.wait_for_more(500)
            with slave:
                _wait_until_it_grows(slave_log, lambda: slave.errors)
                master.processes[1].kill()
                master.processes[1] = start_real_broker(theirs, master.name_server, master.broker_port, _SMALL_FILES)
                _wait_until_it_grows(slave_log, lambda: slave.errors)
                load.wait_for_more(500)
                load.stop()
                _wait_until_same(
                    theirs / "store" / "commitlog",
                    slave_log,
                    lambda: master.logs() + slave.errors[-3_000:],
                )
    finally:
        master.stop()
