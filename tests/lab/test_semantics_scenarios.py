"""The scenarios of delivery semantics: what their texts say is what their runs do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.node_spec import SettingValue
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario


@contextmanager
def played(name: str, until_ms: int | None = None, **changed: Mapping[str, SettingValue]) -> Iterator[LabRun]:
    """To its end, or until then; ``changed``: settings by node, which count from the beginning."""
    with LabRun(load_scenario(name)) as run:
        for node, settings in changed.items():
            for setting, value in settings.items():
                run.apply(Command("setting", node, {"name": setting, "value": value}))
        run.run_to_time(run.world.end_us if until_ms is None else until_ms * 1_000)
        yield run


def taken(run: LabRun, node: str = "D1") -> dict[str, int]:
    """Order -> how often it was taken from the stock."""
    times: dict[str, int] = {}
    for work in run.world.history.work_done:
        if work.node == node:
            times[work.key] = times.get(work.key, 0) + 1
    return times


def verdicts(run: LabRun, node: str, key: str) -> list[tuple[int, str]]:
    """(seconds, verdict) of a message's deliveries."""
    judged = run.world.history.deliveries_judged
    return [(one.time_us // 1_000_000, one.verdict) for one in judged if (one.node, one.key) == (node, key)]


def broken(run: LabRun) -> set[str]:
    return {violation.checker for violation in run.violations}


def stored(run: LabRun, topic: str) -> int:
    (role,) = run.world.brokers()
    assert role.broker is not None
    return role.broker.store.max_offset(topic, 0)


def test_a_send_whose_answer_is_lost_with_its_connection_is_stored_twice_under_one_id_and_silence_is_not_sent_again():
    with played("lost-ack") as run:
        assert taken(run) == {"order-0": 2, "order-1": 1, "order-2": 1, "order-3": 1}
        ids = [one.business_key for one in run.world.history.deliveries_judged if one.order == "order-0"]
        assert len(ids) == 2
        assert len(set(ids)) == 1
        (silent,) = [one for one in run.world.history.sends_returned if one.key == "order-1"]
        assert silent.status == "unknown"
        assert "tried 1 times in 3000 ms" in silent.detail
    with played("lost-ack", C1={"idempotence_strategy": "message-table"}) as run:
        assert set(taken(run).values()) == {1}


def test_a_crash_between_work_and_acknowledgement_means_twice_or_never_as_one_acknowledges_late_or_early():
    with played("consumer-crash-before-ack") as run:
        assert taken(run) == {"order-0": 1, "order-1": 1, "order-2": 1, "order-3": 2}
        assert taken(run, "D2") == {"order-0": 1, "order-1": 1, "order-3": 1}
        assert {"work-done-once", "acknowledged-work-is-done"} <= broken(run)
    table = {"idempotence_strategy": "message-table"}
    with played("consumer-crash-before-ack", C1=table, C2=table) as run:
        assert set(taken(run).values()) == {1}
    memory = {"idempotence_strategy": "memory-set"}
    with played("consumer-crash-before-ack", C1=memory, C2=memory) as run:
        assert taken(run)["order-3"] == 2


@pytest.mark.parametrize(
    ("strategy", "times"),
    [("check-then-act", 2), ("select-for-update", 2), ("state-condition", 1), ("message-table", 1)],
)
def test_a_check_catches_the_slow_duplicate_only_and_a_condition_both(strategy, times):
    settings = {"idempotence_strategy": strategy}
    with played("naive-check-race", C1=settings, C2=settings) as run:
        assert taken(run) == {"slow-0": 1, "quick-0": times}


def test_a_transaction_that_dies_leaves_no_record_that_the_duplicate_would_have_to_wait_for():
    with played("message-table") as run:
        assert taken(run) == {"order-0": 1, "order-1": 1, "order-2": 1}
        assert verdicts(run, "C2", "again-0") == [(1, "swallowed")]
        assert verdicts(run, "C2", "again-1") == [(3, "first")]
        assert run.violations == []


def test_a_key_that_is_set_first_loses_what_dies_or_fails_after_it_and_a_state_brings_it_back():
    with played("setnx-loses") as run:
        assert taken(run) == {"order-0": 1}
        assert verdicts(run, "C2", "again-0") == [(1, "swallowed")]
        assert verdicts(run, "C2", "order-1") == [(3, "swallowed")]
        assert broken(run) == {"acknowledged-work-is-done"}
    table = {"idempotence_strategy": "state-table"}
    with played("setnx-loses", C1=table, C2=table) as run:
        assert taken(run) == {"order-0": 1, "order-1": 1, "order-2": 1}
        assert run.violations == []


def test_a_record_that_lives_shorter_than_the_work_is_taken_over_and_one_that_lives_longer_bounces():
    with played("state-table-expiry") as run:
        assert taken(run) == {"order-0": 2, "order-1": 1}
        assert verdicts(run, "C1", "order-0") == [(1, "late-finish")]
        assert verdicts(run, "C2", "again-0") == [(1, "taken-over")]
        assert verdicts(run, "C2", "again-1") == [(7, "bounced")]
        assert verdicts(run, "C1", "again-1") == [(17, "swallowed")]
    with played("state-table-expiry", C1={"idempotence_expiry_ms": 60_000}) as run:
        assert set(taken(run).values()) == {1}


def test_a_late_finisher_deletes_the_record_of_another_unless_it_compares_owners():
    with played("late-finisher") as run:
        assert taken(run) == {"order-0": 2}
        assert verdicts(run, "C2", "third-0") == [(13, "first")]
    compares = {"idempotence_checks_owner": True}
    with played("late-finisher", C1=compares, C2=compares) as run:
        assert taken(run) == {"order-0": 1}
        assert verdicts(run, "C2", "third-0") == [(9, "bounced")]
        assert verdicts(run, "C1", "third-0") == [(19, "swallowed")]


def test_five_retries_bounce_off_the_record_of_a_dead_consumer_and_the_sixth_goes_through():
    with played("expiry-and-retries") as run:
        bounced = [(second, "bounced") for second in (2, 12, 42, 102, 222, 402)]
        assert verdicts(run, "C1", "order-0") == [*bounced, (642, "taken-over")]
        assert verdicts(run, "C2", "order-0") == bounced
        assert stored(run, "%DLQ%five") == 1
        assert set(taken(run).values()) == {1}
        assert "order-0" not in taken(run, "D2"), "nobody has consumed it"
        behind = [work.time_us for work in run.world.history.work_done if (work.node, work.key) == ("D3", "order-1")]
        assert behind[0] > 600_000_000, "the orderly queue waited for ten minutes"
        assert run.violations == []
    with played("expiry-and-retries", 410_000, C2={"idempotence_expiry_ms": 300_000}) as run:
        assert taken(run, "D2")["order-0"] == 1
        assert stored(run, "%DLQ%five") == 0


def test_work_that_is_given_back_by_its_time_out_is_worked_on_beside_itself_when_its_record_has_expired():
    with played("expiry-and-timeout") as run:
        assert taken(run) == {"order-0": 2}
        assert taken(run, "D2") == {"order-0": 1}
        assert verdicts(run, "C2", "order-0") == [(50, "bounced"), (56, "first"), (80, "swallowed")]
    with played("expiry-and-timeout", C1={"idempotence_expiry_ms": 60_000}) as run:
        assert taken(run) == {"order-0": 1}


def test_a_resend_by_hand_passes_the_unique_id_and_not_the_number_of_the_order():
    with played("business-key") as run:
        assert taken(run) == {"order-0": 2, "order-1": 1}
        assert verdicts(run, "C1", "resend-1") == [(8, "swallowed")]
        (first, second) = [one for one in run.world.history.deliveries_judged if one.order == "order-0"]
        assert first.business_key != second.business_key


@pytest.mark.parametrize(
    "strategy", ["message-table", "state-table", "state-condition", "version", "lease-lock", "setnx"]
)
def test_of_order_and_stock_each_order_is_taken_once(strategy):
    settings = {"idempotence_strategy": strategy}
    with played("order-and-stock", C1=settings, C2=settings) as run:
        assert taken(run) == {f"order-{number}": 1 for number in range(6)}


@pytest.mark.parametrize("strategy", ["none", "check-then-act", "select-for-update", "replace-into", "memory-set"])
def test_of_order_and_stock_each_order_is_taken_twice(strategy):
    settings = {"idempotence_strategy": strategy}
    with played("order-and-stock", C1=settings, C2=settings) as run:
        assert set(taken(run).values()) == {2}
