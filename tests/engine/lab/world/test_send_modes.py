"""Ways to send in the lab: sync, async, oneway, requests with replies; and what the scenarios about them claim."""

from __future__ import annotations

import pytest

from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.history import SendReturned
from engine.lab.nodes.producer_node import ProducerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import apply, run_to_ms, small

TRAFFIC = "count: 20, every_ms: 100"
BODY = 'body: "body {n}"'


def stored_keys(run: LabRun, topic: str) -> dict[str, int]:
    """Return key -> number of copies in the topic's queues, on all brokers."""
    found: dict[str, int] = {}
    for role in run.world.brokers():
        assert role.broker is not None
        store = role.broker.store
        for queue_topic, queue_id, _ in store.consume_queues():
            for offset, _, _ in (
                store.consume_queue_entries(queue_topic, queue_id, 0, 10_000) if queue_topic == topic else ()
            ):
                message = store.message_at(offset)
                assert message is not None
                for key in message.keys:
                    found[key] = found.get(key, 0) + 1
    return found


def returned(run: LabRun, node: str) -> list[SendReturned]:
    return [entry for entry in run.world.history.sends_returned if entry.node == node]


def producer(run: LabRun, node: str) -> ProducerNode:
    role = run.world.nodes[node]
    assert isinstance(role, ProducerNode)
    return role


# --- modes ------------------------------------------------------------------------------------------------------------


def test_an_asynchronous_application_goes_on_before_the_answer():
    with LabRun(small((TRAFFIC, "count: 20, every_ms: 0"), (BODY, f"{BODY}, mode: async"))) as run:
        run_to_ms(run, 3_000)
        begun = [entry.time_us for entry in run.world.history.sends_invoked]
        ended = returned(run, "P1")
        assert begun[-1] < ended[0].time_us
        assert {entry.status for entry in ended} == {"ok"}
        assert sorted(entry.key for entry in ended) == sorted(f"k-{number}" for number in range(20))
        assert producer(run, "P1").sender.acknowledged == 20
        assert run.violations == []


@pytest.mark.parametrize(("heeds", "refused"), [("true", 0), ("false", 12)])
def test_an_application_that_does_not_wait_is_refused_where_one_that_waits_is_slowed_down(heeds: str, refused: int):
    settings = "    settings: {async_sends_in_flight_max: 3, async_sends_waiting_max: 5}\n  C1:"
    text = f"{BODY}, mode: async, back_pressure: {heeds}"
    with LabRun(small((TRAFFIC, "count: 20, every_ms: 0"), (BODY, text), ("  C1:", settings))) as run:
        most = 0
        while run.world.now_us < 3_000_000:
            assert run.step()
            current = producer(run, "P1").producer
            if current is not None:
                most = max(most, current.permits.in_flight)
        assert most == 3
        sender = producer(run, "P1").sender
        assert (sender.acknowledged, sender.refused) == (20 - refused, refused)
        assert len(stored_keys(run, "T")) == 20 - refused


def test_of_a_oneway_send_nobody_can_tell_what_became_of_it():
    with LabRun(small((BODY, f"{BODY}, mode: oneway"))) as run:
        run_to_ms(run, 1_150)
        apply(run, "drop-next", "P1->B1", frame="SEND_MESSAGE_V2")
        run_to_ms(run, 5_000)
        assert {(entry.status, entry.queue_id) for entry in returned(run, "P1")} == {("unknown", -1)}
        assert len(stored_keys(run, "T")) == 19
        sender = producer(run, "P1").sender
        assert (sender.sent, sender.unknown, sender.acknowledged) == (20, 20, 0)
        assert sender.is_done
        assert run.violations == []


def test_the_queue_is_chosen_in_every_mode():
    for mode in ("sync", "async", "oneway"):
        with LabRun(small((BODY, f"{BODY}, mode: {mode}, queue: 2"))) as run:
            run_to_ms(run, 5_000)
            store = run.world.brokers()[0].broker.store
            assert store.max_offset("T", 2) == 20, mode


def test_a_request_without_a_responder_gets_no_reply_and_is_stored():
    quick = "    settings: {send_msg_timeout_ms: 300}\n  C1:"
    with LabRun(small(("count: 20", "count: 3"), (BODY, f"{BODY}, mode: request"), ("  C1:", quick))) as run:
        run_to_ms(run, 600)
        assert [entry.status for entry in returned(run, "P1")] == ["ok"]
        assert list(producer(run, "P1").sender.in_flight) == [returned(run, "P1")[0].key], "until its reply has come"
        run_to_ms(run, 5_000)
        assert [entry.status for entry in run.world.history.requests_returned] == ["no-reply"] * 3
        sends = returned(run, "P1")
        assert [entry.status for entry in sends] == ["ok"] * 3
        assert sends[0].queue_offset >= 0
        sender = producer(run, "P1").sender
        assert (sender.replied, sender.not_replied, sender.acknowledged) == (0, 3, 3)
        asked = run.world.history.sends_invoked[0].time_us
        assert sends[0].time_us < asked + 50_000 < run.world.history.requests_returned[0].time_us


def test_a_request_that_is_never_sent_ends_as_a_send_and_as_a_request():
    quick = "    settings: {send_msg_timeout_ms: 300}\n  C1:"
    with LabRun(small(("count: 20", "count: 3"), (BODY, f"{BODY}, mode: request"), ("  C1:", quick))) as run:
        run_to_ms(run, 400)
        apply(run, "crash", "B1")
        run_to_ms(run, 5_000)
        assert [entry.status for entry in run.world.history.requests_returned] == ["failed"] * 3
        assert len(returned(run, "P1")) == 3
        assert not producer(run, "P1").sender.in_flight


@pytest.mark.parametrize(
    ("addition", "complaint"),
    [
        ("mode: later", "mode"),
        ("mode: async, batch: 2", "mode: 'async' is not allowed with batch"),
        ('back_pressure: "false"', "back_pressure: is allowed only with mode: async or request"),
    ],
)
def test_a_mode_that_cannot_be_is_refused(addition: str, complaint: str):
    with pytest.raises(ScenarioError, match=complaint):
        small((BODY, f"{BODY}, {addition}"))


def test_a_transaction_is_sent_and_waited_for():
    with pytest.raises(ScenarioError, match="mode: must be sync: a transaction begins when the broker has answered"):
        small((BODY, f"{BODY}, mode: async"), ("  C1:", "    transaction: {duration_ms: 1}\n  C1:"))


# --- scenarios --------------------------------------------------------------------------------------------------------


def test_send_modes_oneway_loses_what_the_others_notice():
    with LabRun(load_scenario("send-modes")) as run:
        most = 0
        while run.step():
            current = producer(run, "Async").producer
            if current is not None:
                most = max(most, current.permits.in_flight)
        assert most == 4
        stored = stored_keys(run, "Orders")
        fates = {}
        for node in ("Sync", "Async", "Oneway"):
            ended = returned(run, node)
            assert len(ended) == 100
            fates[node] = [entry.key for entry in ended if entry.key not in stored]
            # What is missing without a report to any client.
            assert all(entry.key in stored for entry in ended if entry.status == "ok")
        lost = {entry.key for entry in run.world.history.sends_returned if entry.status == "unknown"} - stored.keys()
        refused = {entry.key for entry in run.world.history.sends_returned if entry.status == "refused"}
        assert len(fates["Sync"]) == len(fates["Async"]) == 1, "only the one whose frame was lost"
        assert [entry.status for entry in returned(run, "Sync") if entry.key in fates["Sync"]] == ["unknown"]
        assert len([key for key in lost if key.startswith("oneway")]) >= 3
        assert all(key.startswith("oneway") for key in refused)
        last = {node: max(entry.time_us for entry in returned(run, node)) for node in ("Sync", "Async")}
        assert last["Async"] * 2 < last["Sync"]
        assert run.violations == []


def test_request_reply_answers_what_is_read_in_time_and_tells_the_rest_that_nobody_answered():
    with LabRun(load_scenario("request-reply")) as run:
        while run.step():
            pass
        history = run.world.history
        fates = {entry.key: entry for entry in history.requests_returned}
        assert len(fates) == 15
        late = [key for key, entry in fates.items() if entry.status == "no-reply"]
        assert late == ["question-6", "question-7"], "those lay in the queues of C2 while it hung"
        for key, entry in fates.items():
            if key not in late:
                assert entry.detail in (f"C1 answers {key}", f"C2 answers {key}")
        replies = {reply.key: reply for reply in history.replies_sent}
        for key in late:
            assert replies[key].node == "C2"
            assert replies[key].time_us > fates[key].time_us > 3_000_000
            assert replies[key].problem == "", "the requester is there; it just does not wait any more"
        assert {entry.status for entry in history.sends_returned} == {"ok"}
        answering = [role for role in run.world.nodes.values() if isinstance(role, ConsumerNode)]
        assert sum(role.replier.replied for role in answering if role.replier) == 15
        assert run.violations == []


def test_a_requester_that_is_gone_fails_the_reply_and_the_request_is_consumed_all_the_same():
    with LabRun(load_scenario("request-reply")) as run:
        while not run.world.history.consumes_began:
            assert run.step()
        apply(run, "crash", "Q1")
        run_to_ms(run, 6_000)
        (reply,) = run.world.history.replies_sent
        assert "channel of <" in reply.problem
        assert [entry.result for entry in run.world.history.consumes_ended] == ["success"]


def test_latency_fault_avoidance_leaves_the_slow_broker_alone_and_comes_back_late():
    with LabRun(load_scenario("latency-fault-avoidance")) as run:
        while run.step():
            pass
        counts = {}
        for node in ("P1", "P2"):
            ended = returned(run, node)
            slow = [entry for entry in ended if 5_000_000 <= entry.time_us < 40_000_000]
            fast_again = [entry for entry in ended if 40_000_000 <= entry.time_us < 60_000_000]
            counts[node] = (
                len([entry for entry in slow if entry.broker == "B2"]),
                len(slow),
                len([entry for entry in fast_again if entry.broker == "B2"]),
            )
            assert {entry.status for entry in ended} == {"ok"}
            assert {entry.broker for entry in ended if entry.time_us > 70_000_000} == {"B1", "B2"}
        assert counts["P1"][0] == 1, "one slow answer is enough"
        assert counts["P1"][2] == 0, "it does not know that the broker is fast again"
        slow_at_p2, all_at_p2, after_at_p2 = counts["P2"]
        assert abs(slow_at_p2 * 2 - all_at_p2) <= 2
        assert after_at_p2 >= 18
        assert counts["P1"][1] > 1.4 * all_at_p2
        assert run.violations == []
