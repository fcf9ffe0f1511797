"""A lab producer that sends in transactions."""

from __future__ import annotations

from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.producer import ProducerSpec, TransactionSpec, TransactionWord
from tests.support.lab.lab_scenarios import apply, run_to_ms, small, successes

SETTINGS = "transactionTimeOut: 3000, transactionCheckInterval: 2000, transactionCheckMax: 4"
BROKER = ('messageDelayLevel: "1s 1s 1s 1s"', SETTINGS)
FEW = ("count: 20", "count: 4")
#: Another member of the group, which sends nothing.
SPARE = ("  C1:\n", "  P2: {role: producer, group: senders, transaction: {}}\n  C1:\n")


def transactions(fields: str, *replacements: tuple[str, str]) -> LabRun:
    """Four messages in transactions that behave as ``fields`` say."""
    producer = ("    group: senders\n", f"    group: senders\n    transaction: {{{fields}}}\n")
    return LabRun(small(BROKER, FEW, producer, *replacements))


def answers(run: LabRun) -> list[tuple[str, int, str]]:
    return [(entry.key, entry.check, entry.result) for entry in run.world.history.transactions_ended]


def test_single_messages_end_in_another_way():
    with transactions("executes: commit, outcomes: {k-2: rollback}") as run:
        run_to_ms(run, 5_000)
        assert [result for _, _, result in answers(run)] == ["commit", "commit", "rollback", "commit"]


def test_by_default_a_local_transaction_commits_and_a_check_looks_it_up():
    with transactions("") as run:
        spec = run.scenario.spec_of(ProducerSpec, "P1").transaction
        assert spec == TransactionSpec((TransactionWord.COMMIT,), 10, (TransactionWord.LOOKED_UP,), 5)
        run_to_ms(run, 5_000)
        assert answers(run) == [(f"k-{n}", 0, "commit") for n in range(4)]
        assert sorted(successes(run)) == [f"k-{n}" for n in range(4)]


def test_the_words_take_turns_from_message_to_message_and_only_commits_are_consumed():
    with transactions("executes: 'commit, rollback'") as run:
        run_to_ms(run, 30_000)
        assert [result for _, _, result in answers(run)] == ["commit", "rollback"] * 2
        assert sorted(successes(run)) == ["k-0", "k-2"]
        assert run.violations == []


def test_the_nth_check_of_a_message_takes_the_nth_word_and_the_last_one_stands():
    with transactions("executes: throws, checks: 'unknown, throws, commit'") as run:
        run_to_ms(run, 30_000)
        assert [entry for entry in answers(run) if entry[0] == "k-1"] == [
            ("k-1", 0, "throws"),
            ("k-1", 1, "unknown"),
            ("k-1", 2, "throws"),
            ("k-1", 3, "commit"),
        ]
        assert sorted(set(successes(run))) == [f"k-{n}" for n in range(4)]
        assert run.violations == []


def test_what_a_dead_member_committed_another_one_finds_and_what_it_left_undone_is_rolled_back():
    with transactions("duration_ms: 300", SPARE) as run:
        run_to_ms(run, 1_000)
        apply(run, "drop-next", "P1->B1", frame="END_TRANSACTION")
        run_to_ms(run, 1_250)
        apply(run, "crash", "P1")
        done = [key for key, _, _ in answers(run)]
        assert done, "the crash comes in the middle of a later one"
        run_to_ms(run, 30_000)
        checked = {entry.key: entry.result for entry in run.world.history.transactions_ended if entry.check}
        assert checked == {done[-1]: "commit", f"k-{len(done)}": "rollback"}
        assert {entry.node for entry in run.world.history.transactions_ended if entry.check} == {"P2"}
        assert sorted(set(successes(run))) == sorted(done)
        assert run.violations == []


def test_a_check_in_the_middle_of_a_slow_local_transaction_learns_nothing():
    with transactions("duration_ms: 8000") as run:
        run_to_ms(run, 8_000)
        assert answers(run)
        assert all(result == "unknown" for _, check, result in answers(run) if check)
        run_to_ms(run, 12_000)
        assert "k-0" in successes(run)
        assert run.violations == []


def test_a_half_message_is_no_send_in_flight_any_more():
    with transactions("duration_ms: 2000") as run:
        run_to_ms(run, 1_500)
        (role,) = run.world.producers()
        assert role.sender.in_flight == {}
        assert [call.key for call in role.local_transactions.running.values()] == ["k-0"]
        assert not role.is_done
        apply(run, "crash", "P1")
        assert role.local_transactions.running == {}
