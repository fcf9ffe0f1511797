"""Low messages are moved aside, skipped and sent later on GlassMQ and on a real RocketMQ, by the same job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.support.pipeline.backlog import Backlog, consume

pytestmark = pytest.mark.interop_java

_BROKERS: Mapping[str, Callable[..., Cluster]] = {"glassmq": start_glassmq, "real": start_real_rocketmq}


@pytest.fixture(scope="module", params=["glassmq", "real"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """GlassMQ, then a real RocketMQ."""
    cluster = _BROKERS[request.param](tmp_path_factory.mktemp(request.param))
    yield cluster
    cluster.stop()


def test_what_is_moved_aside_is_skipped_and_comes_later_through_the_retry_topic(
    spark: Any, either: Cluster, tmp_path: Path
) -> None:
    backlog = Backlog(spark, either.name_server, tmp_path, either.create_topic("Relief", 4)).send()
    backlog.group_at(0)
    backlog.run()
    aside = sorted(backlog.stored())
    assert aside == backlog.low_beyond(1)

    consumed, left_out = asyncio.run(consume(backlog, lambda consumed: len(consumed) >= 24 - len(aside)))
    assert len(consumed) == 24 - len(aside) and left_out == len(aside)

    backlog.run(mode="send")
    consumed, _ = asyncio.run(consume(backlog, lambda consumed: len(consumed) >= len(aside)))
    assert sorted(consumed) == aside and set(consumed.values()) == {(1, backlog.topic)}
    backlog.cluster.close()
