"""Starts a real RocketMQ (Java) name server and broker with settings for a small machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from tests.interop.harness.cluster import NO_SETTINGS, Cluster
from tests.interop.harness.installs import tool
from tests.interop.harness.ports import free_broker_port, free_port
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.rocketmq_jars import server_jars
from tests.interop.harness.wire import write_queues
from tests.support.waiting import START_POLL_INTERVAL_S, wait_until

BROKER_NAME = "broker-a"
CLUSTER_NAME = "DefaultCluster"
_BOOT_DEADLINE_S = 120.0

#: RocketMQ 4.9.8 maps and unmaps files by reflection; JDK 17 has to allow this explicitly.
_OPENED_PACKAGES = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
_NAME_SERVER_HEAP = ("-Xms128m", "-Xmx128m")
_BROKER_HEAP = ("-Xms512m", "-Xmx512m", "-XX:MaxDirectMemorySize=256m")

#: 100 MiB commit-log files and a small index, so that a run leaves megabytes, not gigabytes.
_BROKER_SETTINGS = {
    "brokerClusterName": CLUSTER_NAME,
    "brokerName": BROKER_NAME,
    "brokerId": "0",
    "brokerIP1": "127.0.0.1",
    "brokerRole": "ASYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH",
    "autoCreateTopicEnable": "true",
    "mappedFileSizeCommitLog": "104857600",
    "maxHashSlotNum": "50000",
    "maxIndexNum": "200000",
    "diskMaxUsedSpaceRatio": "95",
    "enablePropertyFilter": "true",
    "deleteWhen": "04",
    "fileReservedTime": "48",
}
_LOGBACK = '<configuration><root level="WARN"/></configuration>\n'


def start_real_rocketmq(
    folder: Path,
    name_server_port: int | None = None,
    broker_port: int | None = None,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> Cluster:
    """Start both processes with all their files in ``folder``; return when the broker's route is known.

    ``settings`` are further lines of ``broker.conf``.

    ``start_seconds`` covers both processes, from the launch of the name server to the route of TBW102.
    Raises :class:`ClientUnavailable` where there is no Java or no jars.
    """
    name_server_port = name_server_port or free_port()
    broker_port = broker_port or free_broker_port()
    started = time.monotonic()
    name_server_settings = folder / "namesrv.conf"
    name_server_settings.write_text(f"listenPort={name_server_port}\n", "ascii")
    name_server = _start(
        "real name server", "namesrv.NamesrvStartup", _NAME_SERVER_HEAP, folder / "namesrv.log", name_server_settings
    )
    broker = start_real_broker(folder, f"127.0.0.1:{name_server_port}", broker_port, settings)
    cluster = Cluster(
        label=f"RocketMQ {server_jars().version}",
        name_server_port=name_server_port,
        broker_port=broker_port,
        broker_name=BROKER_NAME,
        cluster_name=CLUSTER_NAME,
        processes=[name_server, broker],
        ready_pattern="boot success",
    )
    try:
        for process in cluster.processes:
            process.wait_for_output("boot success", _BOOT_DEADLINE_S, poll_interval_s=START_POLL_INTERVAL_S)
        wait_for_route(cluster)
    except BaseException:
        cluster.stop()
        raise
    cluster.start_seconds = time.monotonic() - started
    return cluster


def start_real_broker(
    folder: Path, name_servers: str, broker_port: int, settings: Mapping[str, str] = NO_SETTINGS
) -> ManagedProcess:
    """Start a broker alone, on what ``folder`` holds already; ``name_servers`` are joined by semicolons."""
    broker_settings = _write_broker_settings(folder, name_servers, broker_port, settings)
    return _start("real broker", "broker.BrokerStartup", _BROKER_HEAP, folder / "broker.log", broker_settings)


def _start(name: str, main_class: str, heap: tuple[str, ...], log: Path, settings: Path) -> ManagedProcess:
    home = _write_home(log.parent / "home")
    command = [tool("java"), *heap, *_OPENED_PACKAGES, f"-Duser.home={home}", "-cp", server_jars().class_path]
    command += [f"org.apache.rocketmq.{main_class}", "-c", str(settings)]
    return ManagedProcess(name, command, log, {"ROCKETMQ_HOME": str(home)})


def wait_for_route(cluster: Cluster) -> None:
    """Wait until the name server hands out the route of TBW102: from then on any topic can be auto-created."""

    def known() -> bool:
        try:
            return write_queues(cluster.name_server, "TBW102") > 0
        except OSError:
            return False

    what = f"{cluster.label} to register its broker"
    wait_until(known, what, _BOOT_DEADLINE_S, cluster.logs, START_POLL_INTERVAL_S)


def _write_home(home: Path) -> Path:
    settings = home / "conf"
    settings.mkdir(parents=True, exist_ok=True)
    for part in ("namesrv", "broker", "tools"):
        (settings / f"logback_{part}.xml").write_text(_LOGBACK, "ascii")
    return home


def _write_broker_settings(folder: Path, name_servers: str, broker_port: int, further: Mapping[str, str]) -> Path:
    store = folder / "store"
    settings = {
        **_BROKER_SETTINGS,
        **further,
        "namesrvAddr": name_servers,
        "listenPort": str(broker_port),
        "haListenPort": str(broker_port + 1),
        "storePathRootDir": str(store),
        "storePathCommitLog": str(store / "commitlog"),
    }
    path = folder / "broker.conf"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
    return path
