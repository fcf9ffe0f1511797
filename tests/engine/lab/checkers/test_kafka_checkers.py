"""The checkers of Kafka's records: each in a world in which it fires, and all in a long calm run."""

from __future__ import annotations

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.fault_plan import draw_faults
from engine.lab.sweep.sweep import run_with_faults
from tests.support.lab.kafka_scenarios import small
from tests.support.lab.lab_scenarios import apply

#: Each record travels alone, and who gets no answer tries again soon.
ALONE = ('body: "body {n}"}\n', 'body: "body {n}", queue: 0}\n    settings: {SETTINGS}\n')
NOT_IDEMPOTENT = "linger_ms: 0, request_timeout_ms: 300, enable_idempotence: false"
IDEMPOTENT = "linger_ms: 0, request_timeout_ms: 300"


def producer(settings: str) -> tuple[str, str]:
    return ALONE[0], ALONE[1].replace("SETTINGS", settings)


def broken(run: LabRun) -> set[str]:
    run.run_to_time(run.world.end_us)
    return {violation.checker for violation in run.violations}


def lose(run: LabRun, at_ms: int, frame: str, way: str) -> None:
    run.run_to_time(at_ms * 1_000)
    apply(run, "drop-next", way, frame=frame)


def test_a_long_calm_run_violates_nothing_and_only_kafkas_claims_are_looked_at():
    with LabRun(small(("duration_ms: 30000", "duration_ms: 300000"))) as run:
        assert run.checkers is not None
        assert [checker.name for checker in run.checkers.checkers] == [
            "acknowledged-records-are-in-the-log",
            "records-are-in-the-log-once",
            "records-are-in-order",
            "committed-records-are-consumed",
            "no-code-fails",
        ]
        assert broken(run) == set()
        assert len(run.world.history.consumes_ended) == 40


def test_a_lost_answer_doubles_a_record_unless_its_producer_numbers_its_batches():
    for settings, expected in ((NOT_IDEMPOTENT, {"records-are-in-the-log-once"}), (IDEMPOTENT, set())):
        with LabRun(small(producer(f"{settings}, max_in_flight: 1"))) as run:
            lose(run, 550, "reply to PRODUCE", "K1->P1")
            assert broken(run) == expected


def test_a_lost_request_is_overtaken_unless_its_producer_numbers_its_batches():
    for settings, expected in ((NOT_IDEMPOTENT, True), (IDEMPOTENT, False)):
        with LabRun(small(producer(settings))) as run:
            lose(run, 550, "PRODUCE", "P1->K1")
            assert ("records-are-in-order" in broken(run)) == expected


def test_a_broker_that_knows_nothing_of_a_producer_takes_its_later_batch_first_as_kafkas_does():
    scenario = load_scenario("torn-segment")
    orders: list[str] = []

    def look(run: LabRun) -> None:
        records = run.checkers.watch.kafka_brokers["K1"].records
        orders.extend(key for _, (*_, key) in sorted(records.items())[:4])

    result = run_with_faults(scenario, 156, draw_faults(scenario, 156), look)
    assert orders == ["order-3", "order-1", "order-2", "order-3"], (
        "order-0 to order-2 were lost on their way, it was not"
    )
    assert result.violations == ()


def test_a_record_that_vanishes_from_the_disk_was_acknowledged():
    with LabRun(small(producer(IDEMPOTENT))) as run:
        run.run_to_time(900_000)
        storage = run.world.disk_of("K1")
        (path,) = [path for path in storage.files if path.endswith("T-0/00000000000000000000.log")]
        apply(run, "crash", "K1")
        storage.truncate(path, 200)
        apply(run, "restart", "K1")
        assert "acknowledged-records-are-in-the-log" in broken(run)


def test_what_a_power_cut_takes_before_it_was_flushed_nobody_was_promised():
    with LabRun(small(producer(IDEMPOTENT))) as run:
        run.run_to_time(620_000)
        apply(run, "crash-power", "K1")
        run.run_to_time(700_000)
        apply(run, "restart", "K1")
        assert broken(run) == set()
        acknowledged = [one for one in run.world.history.sends_returned if one.status == "ok"]
        watch = run.checkers.watch.kafka_brokers["K1"]
        assert len(watch.lost) > 10
        assert len(watch.records) < len(acknowledged)


def test_who_begins_at_the_end_and_commits_skips_what_was_there():
    late = ("    start_ms: 100\n", "    start_ms: 2000\n    settings: {commits_after_poll: true}\n")
    more = ('start_ms: 500, key: "k-{n}"', 'start_ms: 500, key: "k-{n}", orders: 3')
    with LabRun(small(late, more, ("count: 40, every_ms: 5", "count: 40, every_ms: 100"))) as run:
        assert broken(run) == {"committed-records-are-consumed"}
