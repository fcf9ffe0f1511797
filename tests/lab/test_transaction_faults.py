"""What can go wrong with a transactional message, one fault per test: what the broker's queues hold then, and what
consumers get. The times are those of :mod:`tests.support.lab.one_payment`.
"""

from __future__ import annotations

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.protocol.names import TRANSACTION_HALF_TOPIC
from engine.runtime.lab.lab_file_content import PAGE_BYTES, SECTOR_BYTES
from tests.support.lab.checked_run import broker_of, broker_role, do, finish, run_to, run_until
from tests.support.lab.one_payment import (
    answers,
    consumed,
    copies,
    decided,
    given_up,
    payment,
    reported,
    stored,
    visible,
)

#: The broker carries out every decision that it hears, and asks about every copy that it finds.
AS_ROCKETMQ = ("transactionCheckMax: 3", "transactionCheckMax: 3, commitTransactionOnce: false")
#: As by default: the first decision counts.
ONCE = ("transactionCheckMax: 3", "transactionCheckMax: 3")
#: Another member of the producers' group, which sends nothing.
SPARE = ("  C1:\n", "  P2: {role: producer, group: payers, transaction: {}}\n  C1:\n")


# --- the producer dies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who_answers", ["P1", "P2"])
def test_a_producer_that_dies_before_it_commits_is_answered_for_by_another_or_by_its_next_process(who_answers):
    with payment(SPARE) as run:
        run_to(run, 1_050)
        do(run, "crash", "P1")
        if who_answers == "P1":
            do(run, "restart", "P1")
            do(run, "crash", "P2")
        assert finish(run) == []
        assert answers(run) == [(who_answers, 1, "rollback")], "no row in the database: it never happened"
        assert (copies(run), decided(run)) == ([0, 1], [1])
        assert visible(run) == consumed(run) == given_up(run) == []


@pytest.mark.parametrize("who_answers", ["P1", "P2"])
def test_what_a_producer_committed_before_it_died_is_delivered_though_it_could_tell_nobody(who_answers):
    with payment(SPARE) as run:
        run_until(run, reported(run, 1))
        do(run, "crash", "P1")  # after COMMIT, before END_TRANSACTION
        if who_answers == "P1":
            do(run, "restart", "P1")
            do(run, "crash", "P2")
        run_to(run, 2_500)
        assert consumed(run) == []
        assert finish(run) == []
        assert answers(run) == [("P1", 0, "commit"), (who_answers, 1, "commit")]
        assert (copies(run), decided(run)) == ([0, 1], [1])
        assert visible(run) == consumed(run) == ["order-0"]


def test_a_lost_end_transaction_costs_the_time_until_the_check_and_nothing_else():
    with payment() as run:
        do(run, "drop-next", "P1->B1", frame="END_TRANSACTION")
        run_to(run, 3_000)
        assert answers(run) == [("P1", 0, "commit")]
        assert (copies(run), decided(run), consumed(run)) == ([0], [], [])
        assert finish(run) == []
        assert answers(run) == [("P1", 0, "commit"), ("P1", 1, "commit")]
        assert (copies(run), decided(run)) == ([0, 1], [1])
        assert visible(run) == consumed(run) == ["order-0"]


def test_a_lost_question_counts_as_asked_and_the_next_round_asks_again():
    with payment() as run:
        do(run, "drop-next", "P1->B1", frame="END_TRANSACTION")
        do(run, "drop-next", "B1->P1", frame="CHECK_TRANSACTION_STATE")
        assert finish(run) == []
        assert answers(run) == [("P1", 0, "commit"), ("P1", 1, "commit")]
        assert (copies(run), decided(run)) == ([0, 1, 2], [2])
        assert visible(run) == consumed(run) == ["order-0"]


# --- nobody knows ----------------------------------------------------------------------------------------------------


def test_with_nobody_of_the_group_left_the_counter_grows_until_the_message_is_given_up():
    with payment() as run:
        run_until(run, reported(run, 1))
        do(run, "crash", "P1")
        assert finish(run) == []
        assert answers(run) == [("P1", 0, "commit")]
        assert (copies(run), decided(run)) == ([0, 1, 2, 3], [])
        assert given_up(run) == ["order-0"]
        assert consumed(run) == []
        assert broker_of(run).transactional_message_service.checks_sent == 0


def test_a_message_that_was_given_up_is_decided_after_all_once_it_is_resumed_and_somebody_answers():
    with payment() as run:
        run_until(run, reported(run, 1))
        do(run, "crash", "P1")
        run_until(run, lambda: given_up(run))
        do(run, "restart", "P1")
        run_to(run, 40_000)
        assert consumed(run) == [], "nobody asks about it any more"
        do(run, "resume-half", "B1", message="order-0")
        assert finish(run) == []
        assert answers(run) == [("P1", 0, "commit"), ("P1", 1, "commit")]
        assert (copies(run), decided(run)) == ([0, 1, 2, 3, 0, 1], [5])
        assert visible(run) == consumed(run) == ["order-0"]


def test_whoever_says_unknow_for_ever_is_asked_so_many_times_and_no_more():
    with payment(("duration_ms: 100", "executes: unknown, checks: unknown")) as run:
        assert finish(run) == []
        assert answers(run) == [("P1", check, "unknown") for check in range(4)]
        assert (copies(run), decided(run)) == ([0, 1, 2, 3], [])
        assert given_up(run) == ["order-0"]
        assert visible(run) == consumed(run) == []


# --- two decisions about one message ---------------------------------------------------------------------------------


def test_a_local_transaction_slower_than_the_time_out_has_its_message_delivered_twice_by_rocketmq():
    """Its END_TRANSACTION names the place where the half message was put first. The check has given it another one,
    of which nobody has said a word: it is asked about once more, and committed as well.
    """
    with payment(AS_ROCKETMQ, ("duration_ms: 100", "duration_ms: 4000")) as run:
        run_until(run, reported(run, 2))
        assert answers(run) == [("P1", 1, "unknown"), ("P1", 0, "commit")], "asked while it still works"
        run_to(run, 5_500)
        assert decided(run) == [0], "the old place"
        assert consumed(run) == ["order-0"]
        assert finish(run) == []
        assert answers(run) == [("P1", 1, "unknown"), ("P1", 0, "commit"), ("P1", 2, "commit")]
        assert (copies(run), decided(run)) == ([0, 1, 2], [0, 2])
        assert visible(run) == consumed(run) == ["order-0", "order-0"]
        first, second = (message.prepared_transaction_offset for message in stored(run, "Payments"))
        assert first != second, "each names the copy that was committed"


def test_a_check_that_says_commit_too_early_cannot_be_taken_back():
    """Why a listener must answer UNKNOW while it still works: a rollback that comes later is refused."""
    slow_and_rash = ("duration_ms: 100", "duration_ms: 4000, executes: rollback, checks: commit")
    with payment(slow_and_rash) as run:
        assert finish(run) == []
        assert answers(run) == [("P1", 1, "commit"), ("P1", 0, "rollback")]
        assert (copies(run), decided(run)) == ([0, 1], [1])
        assert visible(run) == consumed(run) == ["order-0"]


@pytest.mark.parametrize("way", [AS_ROCKETMQ, ONCE])
def test_a_check_that_says_rollback_too_early_is_taken_back_by_rocketmq_only(way):
    """The database has committed: by RocketMQ's way the late commit is carried out, once; else it is refused."""
    slow_and_rash = ("duration_ms: 100", "duration_ms: 4000, executes: commit, checks: rollback")
    with payment(way, slow_and_rash) as run:
        assert finish(run) == []
        assert answers(run) == [("P1", 1, "rollback"), ("P1", 0, "commit")]
        is_refused = way is ONCE
        assert (copies(run), decided(run)) == ([0, 1], [1] if is_refused else [1, 0])
        assert visible(run) == consumed(run) == ([] if is_refused else ["order-0"])


@pytest.mark.parametrize(
    ("changed", "delivered"),
    [
        (("", ""), ["rash-0", "late-0"]),
        (("commitTransactionOnce: false", "commitTransactionOnce: true"), ["rash-0"]),
        (("transactionTimeOut: 6000", "transactionTimeOut: 20000"), ["late-0"]),
    ],
)
def test_the_scenario_of_contradicting_decisions_does_what_its_text_says(changed, delivered):
    text = load_scenario("rollback-then-commit").text.replace(*changed)
    with LabRun(parse_scenario(text, "contradictions")) as run:
        assert finish(run) == []
        assert consumed(run) == delivered


def test_a_time_out_longer_than_the_local_transaction_spares_the_second_delivery():
    slow, patient = ("duration_ms: 100", "duration_ms: 4000"), ("transactionTimeOut: 2000", "transactionTimeOut: 6000")
    with payment(slow, patient) as run:
        assert finish(run) == []
        assert answers(run) == [("P1", 0, "commit")]
        assert (copies(run), decided(run)) == ([0], [0])
        assert visible(run) == consumed(run) == ["order-0"]


def test_the_first_decision_counts_however_often_and_wherever_it_comes_again():
    slow = ("duration_ms: 100", "duration_ms: 4000")
    with payment(slow) as run:
        do(run, "duplicate-next", "P1->B1", frame="END_TRANSACTION")
        assert finish(run) == []
        assert answers(run) == [("P1", 1, "unknown"), ("P1", 0, "commit")], "it names the old place, twice"
        assert (copies(run), decided(run)) == ([0, 1], [1])
        assert visible(run) == consumed(run) == ["order-0"]


def test_a_doubled_end_transaction_commits_twice_in_rocketmq_and_the_consumer_has_to_notice():
    with payment(AS_ROCKETMQ) as run:
        do(run, "duplicate-next", "P1->B1", frame="END_TRANSACTION")
        assert finish(run) == []
        assert answers(run) == [("P1", 0, "commit")], "the sender knows nothing of it"
        assert (copies(run), decided(run)) == ([0], [0, 0])
        assert visible(run) == consumed(run) == ["order-0", "order-0"]
        first, second = stored(run, "Payments")
        assert first.offset_message_id != second.offset_message_id, "for the broker these are two messages"
        assert first.unique_id == second.unique_id, "by this, or by its key, a consumer knows it again"
        service = broker_of(run).transactional_message_service
        assert (service.half_offset, service.op_offset) == (1, 2), "no round reads either op message again"


#: The order is a transfer between two banks, and its consumer may be one that credits without looking.
BANKS = (
    (', body: "order {n} is paid"', ""),
    ("transaction: {duration_ms: 100}", "bank: {name: ICBC, account: A, opening: 50000, to: B, amount: 10000}"),
    ("listener: {duration_ms: 20}", "bank: {name: CCB, account: B, idempotent: IDEMPOTENT}"),
)


@pytest.mark.parametrize(
    ("idempotent", "gained", "broken"),
    [(True, 10_000, []), (False, 20_000, ["money-is-conserved", "no-money-from-nowhere"])],
)
def test_an_idempotent_consumer_credits_a_transfer_once_that_was_committed_twice(idempotent, gained, broken):
    with payment(AS_ROCKETMQ, *BANKS, ("IDEMPOTENT", str(idempotent).lower())) as run:
        do(run, "duplicate-next", "P1->B1", frame="END_TRANSACTION")
        assert sorted({violation.checker for violation in finish(run)}) == broken
        assert visible(run) == consumed(run) == ["order-0", "order-0"]
        balances = {entry.account: entry.balance for entry in run.world.history.bank_entries}
        assert balances == {"A": 40_000, "B": gained}


# --- the broker crashes between half and op --------------------------------------------------------------------------


LOG_FILE = "commitlog/00000000000000000000"
#: So long that the committed message ends in the first sector of the log (512 bytes), and its op message in the second.
SHORT = ("order {n} is paid", "paid")
#: So long that the committed message ends in the first page of the log, and its op message in the second.
LONG = ("order {n} is paid", "x" * (PAGE_BYTES // 2 - 270))


def run_until_committed(run: LabRun) -> None:
    """Run to the event in which the broker commits. It writes both in one go: no process dies in between."""
    run_until(run, reported(run, 1))
    end = broker_of(run).store.commit_log.max_offset
    run_until(run, lambda: broker_of(run).store.commit_log.max_offset > end)


def write_sectors(run: LabRun, count: int) -> None:
    """The disk has written the first ``count`` sectors of the log when the power goes."""
    log = broker_role(run).storage.files[LOG_FILE]
    content = log.read(0, count * SECTOR_BYTES)
    log.clean[0] = content + bytes(PAGE_BYTES - len(content))


@pytest.mark.parametrize(
    ("way", "sectors", "kept", "consumed_in_the_end"),
    [
        (AS_ROCKETMQ, 0, ([], [], []), []),
        (AS_ROCKETMQ, 1, ([0], [], ["order-0"]), ["order-0", "order-0"]),
        (AS_ROCKETMQ, 2, ([0], [0], ["order-0"]), ["order-0"]),
        (ONCE, 1, ([0], [0], ["order-0"]), ["order-0"]),
    ],
)
def test_a_power_cut_that_tears_the_op_message_off_has_the_message_committed_again_by_rocketmq(
    way, sectors, kept, consumed_in_the_end
):
    """Nothing is on the disk, or the committed message but not its op message, or both."""
    with payment(way, SHORT) as run:
        run_until_committed(run)
        write_sectors(run, sectors)
        do(run, "crash-power", "B1")
        run_to(run, 2_000)
        do(run, "restart", "B1")
        run_to(run, 2_500)
        assert (copies(run), decided(run), visible(run)) == kept
        assert finish(run) == []
        assert visible(run) == consumed(run) == consumed_in_the_end


@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize("way", [AS_ROCKETMQ, ONCE])
def test_a_disk_without_room_for_the_op_message_has_the_message_committed_again_by_rocketmq(way, crashes):
    """Also when the broker dies before there is room: the page cache keeps the committed message, and it alone."""
    with payment(way, LONG) as run:
        run_until(run, reported(run, 1))
        do(run, "disk-full", "B1")
        run_until_committed(run)
        run_to(run, 5_000)
        if crashes:
            do(run, "crash", "B1")
        do(run, "disk-free", "B1")
        if crashes:
            do(run, "restart", "B1")
        run_to(run, 5_900)
        if way is AS_ROCKETMQ:
            assert (copies(run), decided(run), visible(run)) == ([0], [], ["order-0"])
        assert finish(run) == []
        if way is ONCE:
            assert (copies(run), decided(run), consumed(run)) == ([0], [0], ["order-0"])
            return
        assert answers(run) == [("P1", 0, "commit"), ("P1", 1, "commit")]
        assert (copies(run), decided(run)) == ([0, 1], [1])
        assert visible(run) == consumed(run) == ["order-0", "order-0"]


# --- three tags ------------------------------------------------------------------------------------------------------

#: A bank tells by the tag how its debit ends. The settings are those of a broker.conf with transactionTimeout=20,
#: transactionCheckMax=5 and transactionCheckInterval=10.
THREE_TAGS = (
    ("transactionTimeOut: 2000", "transactionTimeOut: 20000"),
    ("transactionCheckInterval: 2000", "transactionCheckInterval: 10000"),
    ("transactionCheckMax: 3", "transactionCheckMax: 5"),
    ("count: 1", "count: 3, every_ms: 1000, tag: 'TAGA|TAGB|TAGC'"),
    ("duration_ms: 100", "executes: 'commit, rollback, unknown', checks: commit"),
)


def test_a_transfer_is_delivered_at_once_or_never_or_after_the_check_back():
    with payment(*THREE_TAGS) as run:
        run_to(run, 5_000)
        assert [half.tags for half in stored(run, TRANSACTION_HALF_TOPIC)] == ["TAGA", "TAGB", "TAGC"]
        assert consumed(run) == ["order-0"]
        assert decided(run) == [0, 1]
        assert finish(run) == []
        assert [entry[1:] for entry in answers(run)] == [(0, "commit"), (0, "rollback"), (0, "unknown"), (1, "commit")]
        assert consumed(run) == ["order-0", "order-2"]
        assert [message.tags for message in stored(run, "Payments")] == ["TAGA", "TAGC"]
        assert (copies(run), decided(run)) == ([0, 0, 0, 1], [0, 1, 3])
        checked = run.world.history.transactions_ended[-1]
        assert 3 + 20 <= checked.time_us / 1e6 <= 3 + 20 + 10, "transactionTimeOut, then the next round"
