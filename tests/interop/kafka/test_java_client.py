"""Kafka's own Java client 4.1, idempotent as it is by default, produces to our broker and consumes from it; in
transactions, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.kafka.records.compression import Codec
from tests.interop.harness.installs import JAVA_SOURCES
from tests.interop.harness.real_kafka import SegmentsDump, dump_log_segments, run_kafka
from tests.support.kafka.brokers import TOPIC, with_live_broker

pytestmark = pytest.mark.interop_java

_COUNT = 300
_DRIVER = str(JAVA_SOURCES / "kafka" / "ProduceAndConsume.java")


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_it_reads_on_where_it_committed_in_each_codec(tmp_path: Path, codec: Codec) -> None:
    """Snappy too, for the broker never looks into a batch."""

    def work(address: str) -> None:
        output = run_kafka(tmp_path, _DRIVER, address, TOPIC, codec.name.lower(), str(_COUNT))
        lines = [f"{number} order-{number} paid {number}" for number in range(_COUNT // 2, _COUNT)]
        assert [line for line in output.splitlines() if line[:1].isdigit()] == lines

    with_live_broker(tmp_path / "broker", {TOPIC: 1}, work)


def test_its_transactions_count_as_a_whole_and_who_comes_later_fences_the_one_before(tmp_path: Path) -> None:
    driver = str(JAVA_SOURCES / "kafka" / "Transactions.java")
    topics = {TOPIC: 1, "Mails": 1}

    def work(address: str) -> None:
        output = run_kafka(tmp_path, driver, address, TOPIC, "Mails").splitlines()
        reported = [line for line in output if line.startswith(("fenced", "committed", "all"))]
        assert reported == [
            "fenced",
            f"committed {TOPIC}: paid, sent",
            f"all {TOPIC}: paid, never, left, sent",
            "committed Mails: paid, sent",
            "all Mails: paid, never, left, sent",
        ]

    with_live_broker(tmp_path / "broker", topics, work)
    paths = [path for path in (tmp_path / "broker").rglob(f"{TOPIC}-0/*") if path.suffix in (".log", ".txnindex")]
    assert len(paths) == 2
    # Four records, and a marker for each of the four transactions.
    assert dump_log_segments(tmp_path, paths) == SegmentsDump(8, [])
