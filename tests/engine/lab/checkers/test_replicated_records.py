"""The checkers of a cluster of Kafka: each in a world in which it fires, and all where somebody dies and nothing may be
lost."""

from __future__ import annotations

import pytest

from engine.kafka.replication.replica import Replica
from engine.lab.run.run import LabRun
from tests.support.lab.kafka_scenarios import cluster
from tests.support.lab.lab_scenarios import apply

SURVIVE = "acknowledged-records-survive-elections"
STAY = "consumed-records-stay"
AGREE = "replicas-agree-up-to-the-high-watermark"


def end(run: LabRun) -> set[str]:
    run.run_to_time(run.world.end_us)
    return {violation.checker for violation in run.violations}


def leader_dies_while_followers_are_late(run: LabRun) -> None:
    run.run_to_time(900_000)
    for name in ("K2", "K3"):
        apply(run, "link-delay", f"K1->{name}", ms=300)
    run.run_to_time(1_500_000)
    apply(run, "crash", "K1")


def test_a_cluster_has_claims_of_its_own():
    with LabRun(cluster()) as run:
        assert run.checkers is not None
        names = [checker.name for checker in run.checkers.checkers]
        assert names == ["records-are-in-the-log-once", "records-are-in-order", SURVIVE, STAY, AGREE, "no-code-fails"]
        leader_dies_while_followers_are_late(run)
        run.run_to_time(10_000_000)
        apply(run, "restart", "K1")
        assert end(run) == set()


def test_acknowledged_and_consumed_records_are_lost_when_nobody_waits_for_followers(monkeypatch):
    def at_once(replica: Replica) -> bool:
        has_moved = replica.is_leader and replica.log.high_watermark < replica.log.log_end_offset
        if has_moved:
            replica.log.high_watermark = replica.log.log_end_offset
        return has_moved

    monkeypatch.setattr(Replica, "advance", at_once)
    with LabRun(cluster()) as run:
        leader_dies_while_followers_are_late(run)
        assert {SURVIVE, STAY} <= end(run)


def test_acks_one_promises_nothing_that_a_later_leader_must_have():
    with LabRun(cluster(producer="linger_ms: 0, acks: 1, enable_idempotence: false")) as run:
        leader_dies_while_followers_are_late(run)
        assert not {SURVIVE, STAY, AGREE} & end(run)


@pytest.mark.parametrize("cuts", [True, False])
def test_logs_differ_when_an_old_leader_keeps_what_nobody_has_copied(monkeypatch, cuts):
    if not cuts:
        monkeypatch.setattr(Replica, "truncated_to", lambda replica, offset: 0)
    settings = "linger_ms: 0, batch_size: 1, acks: 1, enable_idempotence: false, request_timeout_ms: 500"
    with LabRun(cluster(producer=settings, broker="replica_socket_timeout_ms: 1000")) as run:
        run.run_to_time(1_000_000)
        apply(run, "partition", left=["K1", "P1"], right=["K2", "K3", "Q"])
        run.run_to_time(1_600_000)
        apply(run, "partition", left=["K1"], right=["K2", "K3", "Q", "P1"])
        run.run_to_time(6_000_000)
        apply(run, "heal")
        assert (AGREE in end(run)) != cuts
