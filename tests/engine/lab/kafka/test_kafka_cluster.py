"""Three brokers of Kafka and a controller: copies, elections, what is acknowledged, and who may read what."""

from __future__ import annotations

import pytest

from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.replica import Replica
from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.kafka.kafka_controller_node import KafkaControllerNode
from engine.lab.kafka.kafka_producer_node import KafkaProducerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.kafka_scenarios import CLUSTER, cluster
from tests.support.lab.lab_scenarios import apply

T0 = TopicPartition("T", 0)


def replicas(run: LabRun) -> dict[str, Replica]:
    return {role.name: role.replicas[T0] for role in run.world.roles(KafkaBrokerNode) if role.replicas}


def stored(run: LabRun, name: str) -> list[str]:
    role = next(role for role in run.world.roles(KafkaBrokerNode) if role.name == name)
    return [key for one in role.stored.segments() for batch in one.batches for _, key in batch.record_keys()]


def producer(run: LabRun) -> KafkaProducerNode:
    return run.world.roles(KafkaProducerNode)[0]


def end(run: LabRun) -> None:
    run.run_to_time(run.world.end_us)
    assert not run.world.failures


def consumed(run: LabRun) -> list[str]:
    return [one.key for one in run.world.history.consumes_ended]


def test_every_broker_has_the_same_bytes_and_the_same_high_watermark_in_the_end():
    with LabRun(cluster()) as run:
        end(run)
        logs = [role.log.read(0, 100_000).data for role in replicas(run).values()]
        assert logs[0] == logs[1] == logs[2]
        assert [(one.log.log_end_offset, one.log.high_watermark) for one in replicas(run).values()] == [(40, 40)] * 3
        assert [one.isr for one in replicas(run).values()] == [(1, 2, 3)] * 3
        assert consumed(run) == [f"k-{number}" for number in range(40)]
        assert run.violations == []


def test_producer_and_consumer_find_the_next_leader_and_nothing_is_lost_or_doubled():
    with LabRun(cluster()) as run:
        run.run_to_time(1_500_000)
        apply(run, "crash", "K1")
        run.run_to_time(10_000_000)
        assert {name: one.leader for name, one in replicas(run).items()} == {"K2": 2, "K3": 2}
        assert replicas(run)["K2"].isr == (2, 3)
        apply(run, "restart", "K1")
        end(run)
        assert replicas(run)["K1"].isr == (1, 2, 3), "it has caught up"
        assert replicas(run)["K1"].leader_epoch == 1
        assert producer(run).acknowledged == 40
        assert stored(run, "K1") == stored(run, "K2") == [f"k-{number}" for number in range(40)]
        assert set(consumed(run)) == {f"k-{number}" for number in range(40)}
        assert run.violations == []


def test_the_controller_goes_on_with_what_its_disk_says():
    with LabRun(cluster()) as run:
        run.run_to_time(1_000_000)
        apply(run, "crash", "K1")
        run.run_to_time(4_000_000)
        apply(run, "crash-power", "Q")
        run.run_to_time(5_000_000)
        assert producer(run).acknowledged == 40, "who leads, leads"
        apply(run, "restart", "Q")
        end(run)
        (role,) = run.world.roles(KafkaControllerNode)
        assert role.controller is not None
        decided = role.controller.image.partitions[T0]
        assert (decided.leader, decided.leader_epoch, decided.isr) == (2, 1, (2, 3))


def test_a_record_is_shown_to_consumers_only_when_all_in_sync_replicas_have_it():
    with LabRun(cluster()) as run:
        run.run_to_time(1_000_000)
        for name in ("K2", "K3"):
            apply(run, "link-delay", f"K1->{name}", ms=300)
        run.run_to_time(1_300_000)
        leader = replicas(run)["K1"]
        assert leader.log.log_end_offset > leader.log.high_watermark
        assert len(consumed(run)) <= leader.log.high_watermark
        end(run)
        assert len(consumed(run)) == 40


@pytest.mark.parametrize(("acks", "at_once"), [(-1, 0), (1, 9)])
def test_acks_all_waits_for_a_silent_follower_until_it_is_no_more_in_sync(acks, at_once):
    settings = f"linger_ms: 0, acks: {acks}, enable_idempotence: false, request_timeout_ms: 400"
    with LabRun(cluster(producer=settings)) as run:
        run.run_to_time(400_000)
        apply(run, "pause-node", "K3")
        run.run_to_time(950_000)
        assert producer(run).acknowledged == at_once
        end(run)
        assert producer(run).acknowledged == 40
        assert replicas(run)["K1"].isr == (1, 2)


def test_with_fewer_in_sync_than_wanted_a_send_to_all_is_refused_until_one_comes_back():
    with LabRun(cluster(broker="min_insync_replicas: 2")) as run:
        run.run_to_time(1_000_000)
        for name in ("K2", "K3"):
            apply(run, "crash", name)
        run.run_to_time(6_000_000)
        before = producer(run).acknowledged
        assert before < 40
        assert replicas(run)["K1"].isr == (1,)
        end_offset = replicas(run)["K1"].log.log_end_offset
        run.run_to_time(8_000_000)
        assert replicas(run)["K1"].log.log_end_offset == end_offset, "nothing is appended"
        apply(run, "restart", "K3")
        end(run)
        assert producer(run).acknowledged == 40
        assert run.violations == []


def test_who_was_asked_for_is_waited_for_when_the_answer_of_the_controller_is_lost():
    with LabRun(cluster()) as run:
        run.run_to_time(600_000)
        apply(run, "pause-node", "K3")
        run.run_to_time(2_300_000)
        leader = replicas(run)["K1"]
        assert leader.isr == (1, 2)
        apply(run, "resume-node", "K3")
        (role,) = run.world.roles(KafkaControllerNode)
        assert role.controller is not None
        while role.controller.image.partitions[T0].isr != (1, 2, 3):  # so it may elect K3
            run.run_to_time(run.world.now_us + 500)
        assert leader.isr == (1, 2)
        apply(run, "partition", left=["Q"], right=["K1"], one_way=True)
        apply(run, "pause-node", "K3")
        run.run_to_time(3_000_000)
        assert leader.asked_isr == (1, 2, 3)
        assert leader.log.high_watermark < leader.log.log_end_offset, "K2 alone is not enough"
        apply(run, "heal")
        apply(run, "resume-node", "K3")
        end(run)
        assert replicas(run)["K1"].asked_isr is None
        assert run.violations == []


def test_where_no_in_sync_replica_lives_nobody_leads_unless_the_election_may_be_unclean():
    for settings, leader in (("", -1), ("unclean_leader_election_enable: true", 2)):
        with LabRun(cluster(controller=settings)) as run:
            run.run_to_time(600_000)
            for name in ("K2", "K3"):
                apply(run, "crash", name)
            run.run_to_time(5_000_000)
            assert replicas(run)["K1"].isr == (1,)
            apply(run, "crash", "K1")
            for name in ("K2", "K3"):
                apply(run, "restart", name)
            run.run_to_time(10_000_000)
            assert replicas(run)["K2"].leader == leader
            apply(run, "restart", "K1")
            end(run)
            broken = {one.checker for one in run.violations}
            assert ("acknowledged-records-survive-elections" in broken) == bool(settings)


def test_the_text_of_a_scenario_says_what_a_cluster_must_be():
    def refused(old: str, new: str) -> str:
        text = CLUSTER.replace("settings: {BROKER}", "settings: {}").replace("settings: {PRODUCER}", "settings: {}")
        with pytest.raises(ScenarioError) as refusal:
            parse_scenario(text.replace(old, new), "cluster")
        return str(refusal.value)

    assert "1 is allowed" in refused("  P1:", "  Q2: {role: kafka_controller}\n  P1:")
    assert "broker is not allowed" in refused("    group: g\n", "    group: g\n    broker: K1\n")
