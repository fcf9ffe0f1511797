"""Every scenario that has a fault model, under random faults within it: no invariant breaks.

Three seeds of each in ``make test``, a hundred in ``make test-rest``; more with
``GLASSMQ_SWEEP_SEEDS=500 make test TESTS=tests/lab/test_scenario_sweep.py``.
A thousand seeds of one scenario take one to three minutes of processor time.
"""

from __future__ import annotations

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario, preset_scenario_names
from engine.lab.sweep.sweep import run_seed

pytestmark = pytest.mark.seeds(quick=3, full=100)
#: One seed of these takes as long as ten of others.
LARGE = ("backlog-and-scale-out", "big-stage", "expiry-and-retries", "moved-aside")
#: What they are there to show is what breaks them: a scenario, and by what.
UNSAFE = {
    "bank-naive": "crashes at the wrong moment lose its money, see tests/lab/test_bank_sweep.py",
    "business-key": "its key takes a resend for another order",
    "consumer-crash-before-ack": "nothing remembers what was done, or it is acknowledged first",
    "expiry-and-timeout": "its records live shorter than its work",
    "forgetful-store": "a Redis that fails over forgets its records, see tests/lab/test_not_enough.py",
    "late-finisher": "it deletes records that others own",
    "loss-detector": "one group acknowledges first, and its script cuts the power under asynchronous flush",
    "lost-ack": "nothing remembers what was done",
    "naive-check-race": "two may look before either notes",
    "orderly-without-master": "a reader that goes on at a slave which is behind skips what it had in memory",
    "setnx-loses": "a key that was set drops what comes again, done or not",
    "slave-reads": "a reader that is sent to a slave which is behind skips what it had in memory",
    "six-steps": "a call that cannot be rolled back is made again, see tests/lab/test_not_enough.py",
    "state-table-expiry": "its records live shorter than its work",
}


def _sends_in_transactions(name: str) -> bool:
    return load_scenario(name).sends_in_transactions


#: Those that take longest come first.
SCENARIOS = sorted(
    (name for name in preset_scenario_names() if name not in UNSAFE and load_scenario(name).fault_model.kinds),
    key=lambda name: not _sends_in_transactions(name),
)


def test_those_with_transactions_have_the_two_invariants_of_transactions():
    with_transactions = [name for name in SCENARIOS if _sends_in_transactions(name)]
    assert len(with_transactions) >= 6
    for name in with_transactions:
        with LabRun(load_scenario(name)) as run:
            assert run.checkers is not None
            names = {checker.name for checker in run.checkers.checkers}
            assert {"half-messages-are-decided", "no-half-message-consumed"} <= names


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", SCENARIOS)
def test_random_faults_violate_nothing(name, seeds):
    scenario = load_scenario(name)
    count = seeds if _sends_in_transactions(name) else max(1, seeds // (20 if name in LARGE else 5))
    results = [run_seed(scenario, seed) for seed in range(1, count + 1)]
    bad = {result.seed: [violation["text"]["en"] for violation in result.violations] for result in results}
    assert {seed: texts for seed, texts in bad.items() if texts} == {}
    assert len({result.journal_hash for result in results}) == count, "every seed has a fate of its own"
    assert sum(result.faults for result in results) >= count


def test_no_message_moves_to_a_new_broker_and_order_breaks_at_both_steps():
    """``moved-queues``: eight queues from 8 s on, four again from 16 s on."""
    with LabRun(load_scenario("moved-queues")) as run:
        run.run_to_time(run.world.end_us)
        assert {violation.checker for violation in run.violations} == {"order-per-key"}
        times = [violation.time_us // 1_000_000 for violation in run.violations]
        assert {time_s < 16 for time_s in times} == {True, False}
        history = run.world.history
        places = {sent.key: (sent.broker, sent.queue_id, sent.queue_offset) for sent in history.sends_returned}
        consumed = {call.key: (call.broker, call.queue_id, call.queue_offset) for call in history.consumes_ended}
        assert consumed == places, "each message is consumed where it was stored"
        assert {sent.broker for sent in history.sends_returned if sent.time_us > 16_500_000} == {"B2"}


def test_the_price_of_more_queues_is_the_order_of_the_keys_that_move():
    """One whose invariants break by design: modulo moves more orders than the ring does."""
    result = run_seed(load_scenario("selector-and-queue-count"), 1)
    assert {violation["checker"] for violation in result.violations} == {"order-per-key"}
    topics = [violation["element"]["topic"] for violation in result.violations]
    assert topics.count("ByModulo") > topics.count("ByRing")
