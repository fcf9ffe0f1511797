"""Batches in the lab: what producers send together, and what becomes of a batch of which one message fails."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lab.nodes.batch_answer import answer
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.listener_spec import BatchAck, ListenerResult
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.sweep import run_seed
from engine.protocol.message.message_id import decode_offset_message_id
from tests.support.lab.lab_scenarios import apply, run_to_ms, small

BATCHES = ("count: 20, every_ms: 100", "count: 20, every_ms: 100, batch: 8")
SUCCESS, LATER, THROWS = ListenerResult.SUCCESS, ListenerResult.LATER, ListenerResult.THROWS

# --- sending ----------------------------------------------------------------------------------------------------------


def test_the_messages_of_a_batch_have_their_own_records_and_lie_side_by_side():
    with LabRun(small(BATCHES)) as run:
        run_to_ms(run, 5_000)
        sent = run.world.history.sends_returned
        assert [entry.key for entry in sent] == [f"k-{number}" for number in range(20)]
        assert [len(entry.batch) for entry in sent] == [8] * 8 + [8] * 8 + [4] * 4
        store = run.world.brokers()[0].broker.store
        for first in (0, 8, 16):
            batch = sent[first : first + 8]
            assert {entry.batch for entry in batch} == {tuple(entry.key for entry in batch)}
            assert len({(entry.queue_id, entry.event) for entry in batch}) == 1
            assert [entry.queue_offset - batch[0].queue_offset for entry in batch] == list(range(len(batch)))
        for entry in sent:
            stored = store.message_at(decode_offset_message_id(entry.offset_message_id)[1])
            assert (stored.keys, stored.queue_id, stored.queue_offset) == (
                (entry.key,),
                entry.queue_id,
                entry.queue_offset,
            )
        begun = run.world.history.sends_invoked
        assert [entry.time_us for entry in begun[:9:8]] == [500_000, 600_000]
        assert begun[0].batch == sent[0].batch
        assert run.violations == []


def test_batches_take_turns_by_their_own_number():
    with LabRun(small(BATCHES, ('body: "body {n}"', 'body: "body {n}", queue: "{n}"'))) as run:
        run_to_ms(run, 5_000)
        queues = [entry.queue_id for entry in run.world.history.sends_returned]
        assert queues == [0] * 8 + [1] * 8 + [2] * 4


def test_bodies_are_filled_up():
    with LabRun(small(('body: "body {n}"', 'body: "body {n}", body_bytes: 100'))) as run:
        run_to_ms(run, 3_000)
        entry = run.world.history.sends_returned[3]
        stored = run.world.brokers()[0].broker.store.message_at(decode_offset_message_id(entry.offset_message_id)[1])
        assert stored.body == b"body 3".ljust(100, b".")


@pytest.mark.parametrize(
    ("field", "detail"),
    [
        ("delay_level: 2", "message 0 has delay level 2; delayed messages cannot be batched"),
        ("body_bytes: 600000", "the batch of 8 messages takes 4800"),
    ],
)
def test_a_batch_that_may_not_be_is_refused_as_a_whole(field, detail):
    with LabRun(small(BATCHES, ('body: "body {n}"', f'body: "body {{n}}", {field}'), ("count: 20", "count: 8"))) as run:
        run_to_ms(run, 5_000)
        sent = run.world.history.sends_returned
        assert [entry.status for entry in sent] == ["refused"] * 8
        assert all(detail in entry.detail for entry in sent)
        assert [(entry.queue_id, entry.queue_offset, entry.offset_message_id) for entry in sent] == [(-1, -1, "")] * 8
        assert run.world.producers()[0].sender.refused == 8
        assert run.world.brokers()[0].broker.store.commit_log.max_offset == 0


def test_a_batch_whose_answers_are_lost_is_unknown_as_a_whole_and_was_stored():
    with LabRun(small(BATCHES, ("count: 20", "count: 8"))) as run:
        apply(run, "drop-next", "B1->P1", frame="reply to SEND_BATCH_MESSAGE")
        run_to_ms(run, 30_000)
        assert [entry.status for entry in run.world.history.sends_returned] == ["unknown"] * 8
        assert run.world.producers()[0].sender.unknown == 8
        assert {entry.key for entry in run.world.history.consumes_ended} == {f"k-{number}" for number in range(8)}
        assert run.violations == []


def test_the_broker_has_a_limit_of_its_own_for_a_whole_batch():
    limited = ('settings: {messageDelayLevel: "1s 1s 1s 1s"}', "settings: {maxMessageSize: 1000}")
    bodies = ('body: "body {n}"', 'body: "body {n}", body_bytes: 200')
    with LabRun(small(BATCHES, limited, bodies, ("count: 20", "count: 8"))) as run:
        run_to_ms(run, 5_000)
        sent = run.world.history.sends_returned
        assert [entry.status for entry in sent] == ["refused"] * 8
        assert "allowed: 1000 (maxMessageSize of the broker)" in sent[0].detail
        assert run.world.brokers()[0].broker.store.commit_log.max_offset == 0
    with LabRun(small(limited, bodies)) as run:
        run_to_ms(run, 5_000)
        assert {entry.status for entry in run.world.history.sends_returned} == {"ok"}, "each alone is small enough"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("batch: 0", ["batch", "1 to 1024"]),
        ("batch: 4, queue: by-hash", ["queue", "'by-hash' is not allowed with batch"]),
        ("body_bytes: 4000000", ["body_bytes", "80,000,000 bytes of 20 messages", "64,000,000"]),
    ],
)
def test_traffic_that_makes_no_sense_is_refused_with_its_field(field, words):
    with pytest.raises(ScenarioError) as raised:
        small(('body: "body {n}"', f'body: "body {{n}}", {field}'))
    for word in words:
        assert word in str(raised.value)


def test_an_orderly_listener_has_no_ack_index():
    with pytest.raises(ScenarioError, match="per-message is not allowed with orderly"):
        small(("listener: {duration_ms: 20}", "orderly: true\n    listener: {batch_ack: per-message}"))


@pytest.mark.parametrize("field", ["transaction: {}", "bank: {name: B, account: A, opening: 9, to: C, amount: 1}"])
def test_transactions_cannot_be_batched(field):
    with pytest.raises(ScenarioError, match="batch: is not allowed"):
        small(BATCHES, ("group: senders", f"group: senders\n    {field}"), (', body: "body {n}"', ""))


# --- answering --------------------------------------------------------------------------------------------------------

RESULTS = st.lists(st.sampled_from([SUCCESS, LATER, THROWS, ListenerResult.SUSPEND]), min_size=1, max_size=12)


@given(RESULTS, st.sampled_from(BatchAck))
def test_a_batch_without_failure_is_answered_alike_in_every_way(results, way):
    fine = [SUCCESS] * len(results)
    assert answer(way, fine) == (SUCCESS, tuple(fine), len(fine), None)


@given(RESULTS)
def test_ack_index_covers_what_was_done_before_the_first_failure(results):
    answered = answer(BatchAck.PER_MESSAGE, results)
    acknowledged = len(results) if answered.ack_index is None else answered.ack_index + 1
    assert answered.result is SUCCESS
    assert list(answered.results[:acknowledged]) == [SUCCESS] * acknowledged == results[:acknowledged]
    assert SUCCESS not in answered.results[acknowledged:]
    assert acknowledged == len(results) or results[acknowledged] is not SUCCESS
    assert answered.worked_on == min(len(results), acknowledged + 1)


@given(RESULTS)
def test_all_or_nothing_takes_back_what_it_has_done_and_drop_failed_nothing(results):
    taken_back, dropped = answer(BatchAck.ALL_OR_NOTHING, results), answer(BatchAck.DROP_FAILED, results)
    has_failure = any(result is not SUCCESS for result in results)
    assert (taken_back.result is LATER) == has_failure
    assert taken_back.results == answer(BatchAck.PER_MESSAGE, results).results
    assert dropped.result is SUCCESS
    assert dropped.results == tuple(results)
    assert dropped.ack_index is taken_back.ack_index is None


@given(RESULTS)
def test_a_whole_batch_ends_as_its_worst_message(results):
    worst = next((result for result in (THROWS, LATER, ListenerResult.SUSPEND) if result in results), SUCCESS)
    assert answer(BatchAck.WHOLE, results) == (worst, (worst,) * len(results), len(results), None)


# --- the scenario -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def side_by_side():
    with LabRun(load_scenario("batch-partial-ack")) as run:
        run.run_to_time(run.world.end_us)
        yield run


def deliveries(run, node):
    return Counter(entry.key for entry in run.world.history.consumes_began if entry.node == node)


def consumed(run, node):
    return Counter(
        entry.key for entry in run.world.history.consumes_ended if entry.node == node and entry.result == "success"
    )


BATCH_OF_3 = [f"order-{number}" for number in range(8)]
BATCH_OF_21 = [f"order-{number}" for number in range(16, 24)]


def test_a_failure_brings_the_whole_batch_back_unless_the_listener_says_where_it_failed(side_by_side):
    again = {node: [key for key, n in deliveries(side_by_side, node).items() if n > 1] for node in ("C1", "C2")}
    assert sorted(again["C1"]) == sorted(BATCH_OF_3 + BATCH_OF_21)
    assert sorted(again["C2"]) == sorted(BATCH_OF_3[3:] + BATCH_OF_21[5:])
    for node in ("C1", "C2"):
        assert max(deliveries(side_by_side, node).values()) == 2
        assert consumed(side_by_side, node) == Counter(f"order-{number}" for number in range(32))


def test_what_comes_again_comes_alone_from_the_retry_topic(side_by_side):
    began = [entry for entry in side_by_side.world.history.consumes_began if entry.node == "C2"]
    retried = [entry for entry in began if entry.reconsume_times == 1]
    assert {entry.topic for entry in retried} == {"%RETRY%ack-index"}
    assert max(Counter(entry.event for entry in retried).values()) == 1
    assert max(Counter(entry.event for entry in began).values()) == 8


def test_all_or_nothing_consumes_twice_what_it_had_done_and_the_queue_waits(side_by_side):
    assert [key for key, n in consumed(side_by_side, "C3").items() if n > 1] == BATCH_OF_3[:3] + BATCH_OF_21[:5]
    began = [entry for entry in side_by_side.world.history.consumes_began if entry.node == "C3"]
    assert {entry.topic for entry in began} == {"Orders"}
    assert set(Counter(entry.event for entry in began).values()) == {8}
    assert all(n == 2 for key, n in deliveries(side_by_side, "C3").items() if key in BATCH_OF_3 + BATCH_OF_21)


def test_committing_all_the_same_loses_what_failed_and_the_checkers_say_so(side_by_side):
    assert set(deliveries(side_by_side, "C4").values()) == {1}
    lost = [key for key in deliveries(side_by_side, "C4") if key not in consumed(side_by_side, "C4")]
    assert lost == ["order-3", "order-21"]
    blamed = {(found.checker, found.element["group"], found.messages) for found in side_by_side.violations}
    assert blamed == {
        ("offsets-never-pass-unconsumed", "kafka-commits", ("order-3",)),
        ("consumed-in-the-end", "kafka-commits", ("order-3",)),
        ("consumed-in-the-end", "kafka-commits", ("order-21",)),
    }


def test_the_three_that_lose_nothing_keep_all_invariants_under_faults():
    text = load_scenario("batch-partial-ack").text
    begin, end = text.index("  C4:"), text.index("topics:\n  Orders")
    survivors = parse_scenario(
        text[:begin] + text[end:] + "faults: {kinds: [crash, pause, loss, delay], max: 3}\n", "three"
    )
    for seed in range(8):
        assert run_seed(survivors, seed).violations == (), seed


def test_a_batch_that_was_under_way_at_a_crash_is_not_sent_again():
    """The application goes on after it, as one whose database says that it was sent."""
    with LabRun(small(BATCHES)) as run:
        run_to_ms(run, 499)
        while len(run.world.history.sends_invoked) < 8:
            run.step()
        apply(run, "crash", "P1")
        run_to_ms(run, 1_000)
        apply(run, "restart", "P1")
        run_to_ms(run, 8_000)
        keys = [entry.key for entry in run.world.history.sends_invoked]
        assert keys == [f"k-{number}" for number in range(20)]
