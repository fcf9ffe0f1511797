"""Transactions are reconciled on GlassMQ and on a real RocketMQ, which does not let its op queue be read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from engine.client import LocalTransactionState, Message, TransactionMQProducer
from engine.pipeline.jobs.runner import run_job
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.support.live.live_server import ObedientListener
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

COMMIT, ROLLBACK, UNKNOWN = (
    LocalTransactionState.COMMIT_MESSAGE,
    LocalTransactionState.ROLLBACK_MESSAGE,
    LocalTransactionState.UNKNOW,
)
#: Checks come soon and go on for longer than the test.
SETTINGS = {"transactionCheckInterval": "500", "transactionTimeOut": "1000", "transactionCheckMax": "1000"}


@pytest.fixture(params=["glassmq", "real"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """GlassMQ, then a real RocketMQ."""
    folder = tmp_path_factory.mktemp(request.param)
    is_real = request.param == "real"
    cluster = start_real_rocketmq(folder, settings=SETTINGS) if is_real else start_glassmq(folder, settings=SETTINGS)
    yield cluster
    cluster.stop()


def test_half_messages_are_reported_by_status_whether_or_not_the_op_queue_can_be_read(
    spark: Any, either: Cluster, request: pytest.FixtureRequest
) -> None:
    topic = either.create_topic("Reconciled", 2)

    async def send() -> None:
        async with TransactionMQProducer(None, "payers", (either.name_server,), ObedientListener()) as producer:
            for state in (COMMIT, ROLLBACK, UNKNOWN, COMMIT):
                await producer.send_message_in_transaction(Message(topic, b"x", keys=state.name), state)

    def reconcile() -> MemoryReport:
        report = MemoryReport()
        cluster = {"nameServer": either.name_server}
        run_job("transaction-reconciliation", {}, cluster, "local[2]", report, threading.Event(), session=spark)
        return report

    asyncio.run(send())
    is_real = "real" in request.node.name
    undecided = "rolled back or open" if is_real else "open"
    expected = {undecided: 1, "rolled back": 1, "committed": 2}
    # On the real one the rolled-back message is known as such once the broker's own check has passed it.
    wait_until(
        lambda: {row[0]: row[1] for row in reconcile().tables["summary"]} == expected,
        f"the statuses {expected}",
        deadline_s=180,
    )
    report = reconcile()
    assert report.tables["findings"] == []
    ((_, reported_topic, group, key, *_),) = report.tables["open"]
    assert (reported_topic, group, key) == (topic, "payers", "UNKNOW")
    assert any("op queue" in note["en"] for note in report.notes) == is_real
