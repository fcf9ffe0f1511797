"""The two checkers of stored offsets."""

from __future__ import annotations

import pytest

from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from tests.support.lab.checked_run import broker_of, checked_run, consumer_of, do, finish, names, of, run_to

PASSED = "offsets-never-pass-unconsumed"
WITHIN = "committed-offsets-within-queue"


def test_an_offset_that_is_skipped_loses_a_message():
    with checked_run() as run:
        do(run, "listener", "C1", result="success", duration_ms=3_000)
        do(run, "listener", "C2", result="success", duration_ms=3_000)
        run_to(run, 2_000)
        broker_of(run).consumer_offset_manager.commit_offset("a test", "shop", "Orders", 0, 2)
        run_to(run, 2_100)
        found = of(run.violations, PASSED)
        assert [violation.element["offset"] for violation in found] == [0, 1]
        assert found[0].anomaly == "skipped"
        assert found[0].element["group"] == "shop"
        assert len(found[0].messages) == 1


def test_a_consumer_that_reports_what_it_has_not_consumed_is_found():
    with checked_run() as run:
        do(run, "listener", "C1", result="hangs")
        run_to(run, 2_000)
        consumer = consumer_of(run, "C1")
        queue, process_queue = next(
            (queue, held)
            for queue, held in consumer.process_queues.items()
            if queue.topic == "Orders" and held.msg_count
        )
        consumer.offset_store.update_offset(queue, process_queue.queue_offset_max + 1, increase_only=True)
        run_to(run, 20_000)
        assert names(run.violations) == [PASSED]


def test_an_offset_that_goes_back_is_allowed():
    with checked_run() as run:
        run_to(run, 10_000)
        do(run, "kill-consumer", "C1")
        do(run, "kill-consumer", "C2")
        run_to(run, 11_000)
        broker_of(run).consumer_offset_manager.commit_offset("a test", "shop", "Orders", 0, 0)
        run_to(run, 12_000)
        do(run, "start-consumer", "C1")
        do(run, "start-consumer", "C2")
        assert finish(run) == []
        places = [(entry.topic, entry.queue_id, entry.queue_offset) for entry in run.world.history.consumes_ended]
        assert places.count(("Orders", 0, 0)) == 2


def test_an_offset_behind_the_end_of_its_queue_is_found():
    with checked_run() as run:
        run_to(run, 1_000)
        broker_of(run).consumer_offset_manager.commit_offset("a test", "shop", "Orders", 3, 77)
        run_to(run, 1_100)
        (violation,) = of(run.violations, WITHIN)
        assert violation.element["offset"] == 77
        assert violation.element["queue"] == 3


@pytest.mark.parametrize("cuts", [True, False])
def test_a_broker_that_starts_with_an_offset_behind_its_queue_must_cut_it(cuts, monkeypatch):
    with checked_run() as run:
        run_to(run, 1_000)
        offsets = broker_of(run).consumer_offset_manager
        offsets.commit_offset("a test", "shop", "Orders", 3, 77)
        offsets._config_file.save(offsets.to_dict())
        do(run, "crash", "B1")
        if not cuts:
            monkeypatch.setattr(ConsumerOffsetManager, "cut_offsets", lambda self, max_offset_of: None)
        do(run, "restart", "B1")
        run_to(run, 1_100)
        assert names(run.violations) == ([] if cuts else [WITHIN])
