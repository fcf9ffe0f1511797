"""The consumer of a committed message fails, and cannot give it back: no message is lost, some come twice."""

from __future__ import annotations

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.checked_run import broker_of, do, finish, run_to, run_until
from tests.support.lab.one_payment import copies, payment, stored

#: The listener fails once with each message.
FAILS_ONCE = ("listener: {duration_ms: 20}", "listener: {duration_ms: 20, result: throws, fails_first: 1}")
#: The broker waits 1 s in each delay level, and the consumer one redelivery longer in each.
QUICK_LEVELS = ("transactionCheckMax: 3", 'transactionCheckMax: 3, messageDelayLevel: "1s 1s 1s 1s"')


def deliveries(run: LabRun) -> list[tuple[str, int, int, int, str]]:
    """Topic and offset from which each call of the listener got its message, how often before, at which second, end."""
    return [
        (call.topic, call.queue_offset, call.reconsume_times, round(call.time_us / 1e6), call.result)
        for call in run.world.history.consumes_ended
    ]


def test_a_message_that_failed_is_given_back_and_comes_again_from_the_retry_topic():
    with payment(FAILS_ONCE, QUICK_LEVELS) as run:
        assert finish(run) == []
        assert deliveries(run) == [
            ("Payments", 0, 0, 1, "throws"),
            ("%RETRY%shipping", 0, 1, 2, "success"),
        ]


def test_a_lost_send_back_is_replaced_by_a_copy_which_is_no_half_message():
    """Five seconds without an answer, then the consumer sends the message to its retry topic itself."""
    with payment(FAILS_ONCE, QUICK_LEVELS) as run:
        do(run, "drop-next", "C1->B1", frame="CONSUMER_SEND_MSG_BACK")
        assert finish(run) == []
        assert deliveries(run) == [
            ("Payments", 0, 0, 1, "throws"),
            ("%RETRY%shipping", 0, 1, 7, "success"),
        ]
        assert copies(run) == [0], "the copy does not say that it was sent in a transaction"


def test_a_send_back_whose_answer_is_lost_leaves_two_messages_in_the_retry_topic():
    with payment(FAILS_ONCE, QUICK_LEVELS) as run:
        do(run, "drop-next", "B1->C1", frame="reply to CONSUMER_SEND_MSG_BACK")
        assert finish(run) == []
        assert deliveries(run) == [
            ("Payments", 0, 0, 1, "throws"),
            ("%RETRY%shipping", 0, 1, 2, "success"),
            ("%RETRY%shipping", 1, 1, 7, "success"),
        ]


def test_what_cannot_be_given_back_at_all_is_consumed_again_here_after_five_seconds():
    """``submitConsumeRequestLater``: 5 s for the send-back, 3 s for the copy, 5 s of rest."""
    with payment(FAILS_ONCE, QUICK_LEVELS) as run:
        run_to(run, 1_000)
        run_until(run, lambda: run.world.history.consumes_began)
        do(run, "partition", left=["C1"], right=["B1", "N1"])
        run_to(run, 14_000)
        assert deliveries(run) == [("Payments", 0, 0, 1, "throws")]
        assert committed_offset(run) == 0, "the progress waits for it"
        run_to(run, 15_000)
        assert deliveries(run)[1:] == [("Payments", 0, 1, 14, "success")], "the network is still down"
        do(run, "heal")
        assert finish(run) == []
        assert len(deliveries(run)) == 2
        assert stored(run, "%RETRY%shipping") == []
        assert committed_offset(run) == 1


def test_local_tries_neither_end_at_the_maximum_nor_count_and_copies_count_one_more():
    """Scenario ``local-tries``, whose consumer may try each message four times."""
    with LabRun(load_scenario("local-tries")) as run:
        assert finish(run) == []
        tries = {
            key: [call.reconsume_times for call in run.world.history.consumes_ended if call.key == key]
            for key in ("order-0", "copied-0")
        }
        assert tries == {"order-0": [*range(8), 1, 2, 3], "copied-0": [0, 1, 2]}
        assert [message.keys[0] for message in stored(run, "%DLQ%shipping")] == ["order-0", "copied-0"]


def committed_offset(run: LabRun) -> int:
    """How far the group has come, as the broker knows; 0 when it knows nothing."""
    return max(0, broker_of(run).consumer_offset_manager.query_offset("shipping", "Payments", 0))
