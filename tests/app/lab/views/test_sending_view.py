"""What the cards of producers and consumers say about sending: permits, requests, avoided brokers, replies, notes."""

from app.lab.views.client_view import consumer_view, producer_view
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.producer_node import ProducerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import small


def view_of(run: LabRun, name: str):
    role = run.world.nodes[name]
    if isinstance(role, ProducerNode):
        return producer_view(role)
    assert isinstance(role, ConsumerNode)
    return consumer_view(role)


def test_a_producer_that_only_sends_and_waits_has_nothing_to_say():
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        assert view_of(run, "P1")["sending"] is None
        assert view_of(run, "P1")["trace"] is None
        assert view_of(run, "C1")["replies"] is None


def test_permits_of_asynchronous_sends_stand_on_the_card():
    with LabRun(load_scenario("send-modes")) as run:
        run.run_to_time(700_000)
        assert view_of(run, "Async")["sending"] == {
            "modes": ["async"],
            "permits": {"in_flight": 4, "in_flight_max": 4, "waiting": 1},
            "requests": None,
            "avoided": None,
        }
        assert view_of(run, "Oneway")["sending"]["modes"] == ["oneway"]
        assert view_of(run, "Oneway")["unknown"] > 0


def test_requests_and_replies_stand_on_the_cards():
    with LabRun(load_scenario("request-reply")) as run:
        run.run_to_time(4_000_000)
        assert view_of(run, "Q1")["sending"]["requests"] == {"waiting": 1, "replied": 6, "not_replied": 0}
        assert view_of(run, "C1")["replies"] == {"replied": 4, "failed": 0, "expired": 0}
        run.run_to_time(8_500_000)
        assert view_of(run, "Q1")["sending"]["requests"]["not_replied"] == 2


def test_a_broker_that_is_avoided_stands_on_the_card_until_its_time_is_over():
    with LabRun(load_scenario("latency-fault-avoidance")) as run:
        run.run_to_time(4_000_000)
        assert view_of(run, "P1")["sending"]["avoided"] == []
        run.run_to_time(8_000_000)
        (avoided,) = view_of(run, "P1")["sending"]["avoided"]
        assert (avoided["broker"], 1_200 <= avoided["latency_ms"] < 1_210) == ("B2", True)
        answered = next(
            entry
            for entry in run.world.history.sends_returned
            if entry.broker == "B2" and entry.time_us > 5_000_000 and entry.node == "P1"
        )
        assert abs(avoided["until_us"] - answered.time_us - 60_000_000) < 1_000
        assert view_of(run, "P2")["sending"] is None
        run.run_to_time(avoided["until_us"] + 1_000)
        assert view_of(run, "P1")["sending"]["avoided"] == []


def test_message_trace_works_by_a_setting_of_the_nodes_and_is_counted_on_their_cards():
    traced = ("  C1:\n", "    settings: {enableMsgTrace: true}\n  C1:\n    settings: {enableMsgTrace: true}\n")
    with LabRun(small(traced)) as run:
        run.run_to_time(10_000_000)
        assert view_of(run, "P1")["trace"] == {"noted": 20, "sent": 20, "dropped": 0, "lost": 0}
        assert view_of(run, "C1")["trace"] == {"noted": 40, "sent": 40, "dropped": 0, "lost": 0}
        store = run.world.brokers()[0].broker.store
        assert "RMQ_SYS_TRACE_TOPIC" in store.topics()
        assert run.violations == []
