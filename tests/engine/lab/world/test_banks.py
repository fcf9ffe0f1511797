"""Banks in a lab world: what becomes of the money when something goes wrong, and who notices."""

from __future__ import annotations

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.world.faults import NoSuchTarget
from engine.lab.world.next_step import next_step
from tests.support.lab.bank_scenarios import balances, bank_run, broken
from tests.support.lab.lab_scenarios import SECOND_CONSUMER, apply, run_to_ms, small

END_MS = 30_000
NOWHERE, CONSERVED = "no-money-from-nowhere", "money-is-conserved"


def until(run: LabRun, node: str, label: str) -> None:
    """Run until ``label`` is the next thing that the node does, for the first time."""
    for _ in range(50_000):
        following = next_step(run.world)
        if following is not None and (following.node, following.label) == (node, label):
            return
        run.step()
    raise AssertionError(f"{node} never came to {label}")


def outcomes(run: LabRun, doing: str) -> list[tuple[str, str]]:
    return [(entry.key, entry.outcome) for entry in run.world.history.bank_entries if entry.doing == doing]


@pytest.mark.parametrize("way", ["transaction", "send-then-debit", "debit-then-send"])
def test_when_nothing_goes_wrong_every_way_is_good(way):
    with bank_run(way, paying="duration_ms: 1") as run:
        run_to_ms(run, END_MS)
        assert balances(run) == (700, 300)
        assert broken(run) == {}


# --- naive ---------------------------------------------------------------------------------------------------------


def test_naive_an_overdraft_leaves_money_from_nowhere():
    with bank_run("send-then-debit", ("opening: 1000", "opening: 250"), paying="duration_ms: 1") as run:
        run_to_ms(run, END_MS)
        assert outcomes(run, "debit")[-1] == ("t-2", "overdraft")
        assert balances(run) == (50, 300)
        assert broken(run) == {NOWHERE: ["t-2"], CONSERVED: ["t-2"]}


def test_naive_a_process_that_dies_between_leaves_money_from_nowhere():
    with bank_run("send-then-debit", paying="duration_ms: 10") as run:
        until(run, "P1", "debits the account")
        apply(run, "crash", "P1")
        run_to_ms(run, 3_000)
        apply(run, "restart", "P1")
        run_to_ms(run, END_MS)
        assert balances(run) == (800, 300)
        assert broken(run) == {NOWHERE: ["t-0"], CONSERVED: ["t-0"]}


def test_naive_a_full_disk_leaves_money_from_nowhere():
    with bank_run("send-then-debit", paying="duration_ms: 1") as run:
        run_to_ms(run, 1_300)
        apply(run, "disk-full", "P1")
        run_to_ms(run, 1_800)
        apply(run, "disk-free", "P1")
        run_to_ms(run, END_MS)
        assert outcomes(run, "debit") == [("t-0", "committed"), ("t-1", "disk-full"), ("t-2", "committed")]
        assert broken(run) == {NOWHERE: ["t-1"], CONSERVED: ["t-1"]}


def test_naive_a_slow_debit_is_enough_for_a_while():
    with bank_run("send-then-debit", paying="duration_ms: 200") as run:
        run_to_ms(run, END_MS)
        assert balances(run) == (700, 300)
        assert broken(run) == {NOWHERE: ["t-0", "t-1", "t-2"]}, "in the end it is conserved"


def test_debit_first_a_process_that_dies_between_leaves_money_gone():
    with bank_run("debit-then-send") as run:
        until(run, "P1", "commits the local transaction")
        run.step()
        apply(run, "crash", "P1")
        run_to_ms(run, 3_000)
        apply(run, "restart", "P1")
        run_to_ms(run, END_MS)
        assert balances(run) == (700, 200)
        assert broken(run) == {CONSERVED: ["t-0"]}
        (violation,) = run.violations
        assert violation.anomaly == "skipped"
        assert "100 has been lost" in violation.text["en"]


# --- transaction ---------------------------------------------------------------------------------------------------


def test_an_overdraft_rolls_the_message_back():
    with bank_run("transaction", ("opening: 1000", "opening: 250")) as run:
        run_to_ms(run, END_MS)
        assert balances(run) == (50, 200)
        assert [entry.result for entry in run.world.history.transactions_ended] == ["commit", "commit", "rollback"]
        assert broken(run) == {}


@pytest.mark.parametrize(
    ("label", "after"),
    [
        ("debits the account", (800, 200)),
        ("commits the local transaction", (800, 200)),
        ("ends the transaction", (700, 300)),
    ],
)
def test_a_process_that_dies_at_any_step_leaves_both_banks_agreeing(label, after):
    """Before its commit the first transfer never happened; after it, the check-back brings it to its end."""
    with bank_run("transaction", paying="duration_ms: 100") as run:
        until(run, "P1", label)
        apply(run, "crash", "P1")
        run_to_ms(run, 3_000)
        apply(run, "restart", "P1")
        run_to_ms(run, END_MS)
        assert balances(run) == after
        assert broken(run) == {}
        assert outcomes(run, "check") == [("t-0", "commit" if after == (700, 300) else "rollback")]


def test_a_lost_end_of_transaction_keeps_the_window_open_until_the_check():
    with bank_run() as run:
        run_to_ms(run, 900)
        apply(run, "drop-next", "P1->B1", frame="END_TRANSACTION")
        run_to_ms(run, 3_000)
        assert balances(run) == (700, 200)
        run_to_ms(run, END_MS)
        assert balances(run) == (700, 300)
        assert outcomes(run, "check") == [("t-0", "commit")]
        assert broken(run) == {}


@pytest.mark.parametrize("answer", ["unknown", "throws"])
def test_a_listener_that_says_unknown_is_asked_and_looks_up(answer):
    with bank_run(paying=f"answers: {answer}") as run:
        run_to_ms(run, END_MS)
        assert {entry.result for entry in run.world.history.transactions_ended if not entry.check} == {answer}
        assert sorted(outcomes(run, "check")) == [(f"t-{number}", "commit") for number in range(3)]
        assert balances(run) == (700, 300)
        assert broken(run) == {}


def test_the_answers_of_a_bank_take_turns():
    with bank_run(paying='answers: "outcome, unknown, throws"') as run:
        run_to_ms(run, END_MS)
        ended = run.world.history.transactions_ended
        assert [(one.key, one.result) for one in ended if one.check == 0] == [
            ("t-0", "commit"),
            ("t-1", "unknown"),
            ("t-2", "throws"),
        ]
        assert balances(run) == (700, 300)
        assert broken(run) == {}


def test_a_check_during_a_slow_local_transaction_learns_nothing():
    with bank_run(paying="duration_ms: 8000") as run:
        run_to_ms(run, END_MS)
        assert outcomes(run, "check")[:2] == [("t-0", "unknown")] * 2
        assert balances(run) == (700, 300)
        assert broken(run) == {}


# --- the receiving side --------------------------------------------------------------------------------------------


def duplicated(run: LabRun) -> None:
    """The listener fails after its commit: the message comes again."""
    run_to_ms(run, 900)
    apply(run, "listener", "C1", result="later", duration_ms=10)
    run_to_ms(run, 2_900)
    apply(run, "listener", "C1", result="success", duration_ms=10)


def test_what_comes_again_after_its_credit_is_ignored():
    with bank_run() as run:
        duplicated(run)
        run_to_ms(run, END_MS)
        assert ("t-0", "duplicate") in outcomes(run, "credit")
        assert balances(run) == (700, 300)
        assert broken(run) == {}
        (role,) = run.world.consumers()
        assert role.node_bank.duplicates_ignored >= 3


def test_a_consumer_killed_between_its_commit_and_its_acknowledgement_ignores_the_message_afterwards():
    with bank_run() as run:
        until(run, "C1", "commits the credit")
        run.step()
        apply(run, "kill-consumer", "C1")
        run_to_ms(run, 3_000)
        apply(run, "start-consumer", "C1")
        run_to_ms(run, END_MS)
        assert sorted(outcomes(run, "credit"))[:2] == [("t-0", "committed"), ("t-0", "duplicate")]
        assert balances(run) == (700, 300)
        assert broken(run) == {}


@pytest.mark.parametrize("how", ["scenario", "switch"])
def test_a_bank_that_is_not_idempotent_credits_again(how):
    with bank_run(receiving="idempotent: false" if how == "scenario" else "") as run:
        if how == "switch":
            apply(run, "lock-switch", lock="idempotent-consumer", on=False)
        duplicated(run)
        run_to_ms(run, END_MS)
        source, target = balances(run)
        assert source == 700
        assert target > 300
        assert sorted(broken(run)) == [CONSERVED, NOWHERE]
        assert {violation.anomaly for violation in run.violations} == {"duplicate"}


def test_a_full_disk_at_the_receiving_bank_only_delays_the_credit():
    with bank_run() as run:
        run_to_ms(run, 900)
        apply(run, "disk-full", "C1")
        run_to_ms(run, 2_500)
        assert balances(run) == (700, 0)
        apply(run, "disk-free", "C1")
        run_to_ms(run, END_MS)
        assert ("t-0", "disk-full") in outcomes(run, "credit")
        assert balances(run) == (700, 300)
        assert broken(run) == {}


def test_a_dead_letter_takes_its_money_along():
    impatient = ("    start_ms: 100\n", "    start_ms: 100\n    settings: {maxReconsumeTimes: 1}\n")
    with bank_run("transaction", impatient) as run:
        run_to_ms(run, 900)
        apply(run, "disk-full", "C1")
        run_to_ms(run, 12_000)
        apply(run, "disk-free", "C1")
        run_to_ms(run, END_MS)
        assert balances(run) == (700, 0)
        assert broken(run) == {CONSERVED: ["t-0", "t-1", "t-2"]}


def test_what_an_administrator_commits_by_hand_is_money_from_nowhere():
    with bank_run(paying="duration_ms: 4000") as run:
        run_to_ms(run, 2_000)
        apply(run, "commit-half", "B1", message="t-0")
        run_to_ms(run, 3_000)
        assert broken(run) == {"no-half-message-consumed": ["t-0"], NOWHERE: ["t-0"]}


# --- bounds --------------------------------------------------------------------------------------------------------


def test_a_message_still_under_way_at_the_end_is_no_violation():
    with bank_run("transaction", ("duration_ms: 30000", "duration_ms: 2100"), paying="duration_ms: 100") as run:
        run_to_ms(run, 900)
        apply(run, "drop-next", "P1->B1", frame="END_TRANSACTION")
        run_to_ms(run, 2_100)
        assert run.is_over
        assert balances(run)[0] < 1_000
        assert broken(run) == {}


def test_a_second_member_of_a_banks_group_is_refused():
    with bank_run() as run:
        run_to_ms(run, 900)
        with pytest.raises(NoSuchTarget, match="C1 is a bank"):
            apply(run, "add-consumer", "C2", like="C1")


@pytest.mark.parametrize(("kind", "target"), [("disk-full", "N1"), ("disk-free", "N1")])
def test_only_what_has_a_disk_can_have_a_full_one(kind, target, started):
    with pytest.raises(NoSuchTarget, match="applies only to nodes with a disk"):
        apply(started(), kind, target)


def test_only_a_bank_can_be_made_to_credit_again(started):
    problem = r"C1 \(consumer\) has no switch idempotent-consumer; nodes with this switch: none$"
    with pytest.raises(NoSuchTarget, match=problem):
        apply(started(), "lock-switch", "C1", lock="idempotent-consumer", on=False)


PAYS = "{name: ICBC, account: A, opening: 1, amount: 1}"
RECEIVES = "{name: CCB, account: B}"


@pytest.mark.parametrize(
    ("producer", "consumer", "replacement", "reported"),
    [
        (PAYS, RECEIVES, ("key:", "body: x, key:"), "body: is not allowed: the bank writes it"),
        (PAYS.replace("amount: 1", "amount: 0"), RECEIVES, None, "amount"),
        (PAYS.replace("opening: 1, ", ""), RECEIVES, None, "opening: is missing"),
        (PAYS.replace("}", ", way: later}"), RECEIVES, None, "allowed: transaction, send-then-debit, debit-then-send"),
        (PAYS.replace("}", ", answers: maybe}"), RECEIVES, None, "allowed: outcome, unknown, throws"),
        (PAYS.replace("}", ", way: send-then-debit, answers: unknown}"), RECEIVES, None, "nobody asks the bank"),
        (PAYS.replace("}", ", to: C}"), RECEIVES, None, "there are: B"),
        (PAYS, RECEIVES.replace("CCB", "ICBC"), None, "bank.name 'ICBC' is that of P1"),
        (PAYS, RECEIVES, ("    topic: T\n", "    topic: T\n    model: broadcasting\n"), "must be clustering"),
        (PAYS, RECEIVES, SECOND_CONSUMER, "whose bank has its database on its own disk"),
        (PAYS, RECEIVES, ("    group: senders\n", "    group: senders\n    transaction: {}\n"), "with bank"),
    ],
)
def test_a_bank_that_makes_no_sense_is_refused_with_what_is_allowed(producer, consumer, replacement, reported):
    replacements = [
        (', body: "body {n}"', ""),
        ("    group: senders\n", f"    group: senders\n    bank: {producer}\n"),
        ("    group: g\n", f"    group: g\n    bank: {consumer}\n"),
        *([replacement] if replacement else []),
    ]
    with pytest.raises(ScenarioError, match=r"bank|body|model|transaction|group") as refused:
        small(*replacements)
    assert reported in str(refused.value)
