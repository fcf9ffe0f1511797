"""A live broker for tests, with a topic for each test, which some modules replace by their own, and a scripted one."""

from __future__ import annotations

from itertools import count

import pytest

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.writer.writer_options import WriteOptions
from tests.support.live.live_server import LiveServer
from tests.support.live.scripted_broker import ScriptedBroker

numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("writer"), page=False) as running:
        yield running


@pytest.fixture
def topic(server):
    name = f"Flow{next(numbers)}"
    server.create_topic(name)
    return name


@pytest.fixture
def options(server, topic):
    return WriteOptions.parse({"nameServer": server.name_servers[0], "topic": topic})


@pytest.fixture
def cluster(options):
    opened = Cluster(options.cluster)
    yield opened
    opened.close()


@pytest.fixture
def broker():
    with ScriptedBroker() as running:
        yield running
