"""A lab cluster with a producer and the topic T."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.client import DefaultMQProducer
from tests.support.lab.lab_cluster import LabCluster


@pytest.fixture
def cluster() -> Iterator[LabCluster]:
    with LabCluster(seed=11) as made:
        yield made


@pytest.fixture
def producer(cluster: LabCluster) -> DefaultMQProducer:
    made = cluster.producer("P", "producers")
    cluster.start(made)
    cluster.run(made, made.create_topic("T", queue_nums=1))
    return made
