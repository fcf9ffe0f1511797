"""Fixtures: a running cluster for the session, clients for each test.

``INTEROP_CLUSTER=real`` runs the same tests against a real RocketMQ, which proves the tests themselves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.interop.harness.clients import Clients
from tests.interop.harness.cluster import NO_SETTINGS, Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.installs import announcer
from tests.interop.harness.ports import DEFAULT_NAME_SERVER_PORT, is_free
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.interop.harness.skips import pytest_runtest_makereport  # noqa: F401 (pytest looks for its hooks here)

_KINDS: Mapping[str, Callable[..., Cluster]] = {"glassmq": start_glassmq, "real": start_real_rocketmq}
_numbers = count(1)


def pytest_configure(config: pytest.Config) -> None:
    """What a first run fetches is said at once, not kept until a test fails."""
    announcer.write = partial(_write_past_the_capture, config)


def _write_past_the_capture(config: pytest.Config, line: str) -> None:
    with config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
        sys.stderr.write(line)
        sys.stderr.flush()


def _start_cluster_under_test(
    folder: Path, name_server_port: int | None = None, settings: Mapping[str, str] = NO_SETTINGS
) -> Cluster:
    kind = os.environ.get("INTEROP_CLUSTER", "glassmq")
    if kind not in _KINDS:
        raise pytest.UsageError(f"INTEROP_CLUSTER={kind}: allowed are {', '.join(_KINDS)}")
    return _KINDS[kind](folder, name_server_port, None, settings=settings)


@pytest.fixture(scope="session")
def start_cluster(real_client: None) -> Callable[..., Cluster]:
    """Starts a broker under test with ``settings`` of its own, in a folder."""
    return _start_cluster_under_test


@pytest.fixture(scope="session")
def cluster(start_cluster: Callable[..., Cluster], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The broker under test, shared by all tests: GlassMQ, unless ``INTEROP_CLUSTER`` says ``real``."""
    running = start_cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def faulty_cluster(real_client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A GlassMQ that may be broken on purpose, and asks about half messages after 2 s, every 2 s."""
    hasty = {"transactionTimeOut": "2000", "transactionCheckInterval": "2000", "transactionCheckMax": "18"}
    running = start_glassmq(tmp_path_factory.mktemp("faulty"), settings=hasty, options=("--allow-faults",))
    yield running
    running.stop()


@pytest.fixture
def faulty_clients(faulty_cluster: Cluster, tmp_path: Path) -> Iterator[Clients]:
    """Clients of that broker."""
    started = Clients(faulty_cluster, tmp_path)
    yield started
    started.stop_all()


@pytest.fixture(scope="module")
def fresh_cluster(start_cluster: Callable[..., Cluster], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The broker under test, with nothing in it but what this module puts there."""
    running = start_cluster(tmp_path_factory.mktemp("fresh"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def default_port_cluster(
    start_cluster: Callable[..., Cluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A fresh cluster whose name server has port 9876 where that is free.

    Some of RocketMQ's examples connect to that port whatever one tells them.
    """
    port = DEFAULT_NAME_SERVER_PORT if is_free(DEFAULT_NAME_SERVER_PORT) else None
    running = start_cluster(tmp_path_factory.mktemp("default-port"), port)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def real_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A fresh real RocketMQ: what the broker under test is compared with."""
    running = start_real_rocketmq(tmp_path_factory.mktemp("reference"))
    yield running
    running.stop()


@pytest.fixture
def clients(cluster: Cluster, tmp_path: Path) -> Iterator[Clients]:
    """Clients of the cluster under test."""
    started = Clients(cluster, tmp_path)
    yield started
    started.stop_all()


@pytest.fixture
def unique() -> partial[str]:
    """``unique("Topic")`` is a name that no other test of this run uses."""
    return partial(_unique_name)


def _unique_name(prefix: str) -> str:
    return f"{prefix}_{os.getpid()}_{next(_numbers)}"
