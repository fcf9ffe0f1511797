"""A broker for the tests of the sink, with a topic for each test. Other tests here have a ``server`` of their own."""

from __future__ import annotations

from itertools import count

import pytest

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.writer.writer_options import WriteOptions
from tests.support.live.live_server import LiveServer

numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("writer"), page=False) as running:
        yield running


@pytest.fixture
def topic(server):
    name = f"Written{next(numbers)}"
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
