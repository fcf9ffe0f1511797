"""The invariants of transactional messages: broken on purpose, and held by the scenarios that send in transactions."""

from __future__ import annotations

import pytest

from engine.broker.transactions.transactional_message_service import TransactionalMessageService
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.protocol.message.message_properties import PROPERTY_KEYS, PROPERTY_UNIQUE_KEY, encode_properties
from engine.protocol.names import TRANSACTION_HALF_TOPIC
from engine.store.log.store_message import StoreMessage
from tests.support.lab.checked_run import broker_of, checked_run, finish, of, run_to

CONSUMED, DECIDED = "no-half-message-consumed", "half-messages-are-decided"
SCENARIOS = ["unknown-and-check-back", "producer-lost", "check-max-discard"]


def stored(run: LabRun, topic: str, key: str) -> None:
    """Put a message into the store without the broker's knowledge."""
    broker = broker_of(run)
    message = StoreMessage(
        topic=topic,
        queue_id=0,
        body=b"forged",
        properties_string=encode_properties({PROPERTY_KEYS: key, PROPERTY_UNIQUE_KEY: f"unique-{key}"}),
        born_timestamp=broker.runtime.clock.now_ms(),
        born_host=broker.where.store_host,
        store_host=broker.where.store_host,
    )
    run.world.lab.loop.call_soon(broker.store.put_message, message)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_scenarios_hold_both(name):
    with LabRun(load_scenario(name)) as run:
        assert finish(run) == []
        assert run.checkers is not None
        assert {CONSUMED, DECIDED} <= {checker.name for checker in run.checkers.checkers}


def test_they_mean_nothing_where_nobody_sends_in_transactions():
    with checked_run() as run:
        assert run.checkers is not None
        assert not {CONSUMED, DECIDED} & {checker.name for checker in run.checkers.checkers}


def test_a_message_that_is_delivered_before_its_producer_said_a_word_is_found():
    with LabRun(load_scenario("unknown-and-check-back")) as run:
        run_to(run, 2_600)  # the half message of transfer-1 is stored, its local transaction runs
        assert len(run.world.history.transactions_ended) == 1
        stored(run, "Transfers", "transfer-1")
        run_to(run, 2_750)
        (violation,) = of(run.violations, CONSUMED)
        assert violation.messages == ("transfer-1",)
        assert violation.anomaly == "ghost read"
        assert "has not reported an outcome yet" in violation.text["en"]


def test_a_message_that_was_never_committed_and_is_delivered_is_found():
    with LabRun(load_scenario("check-max-discard")) as run:
        run_to(run, 40_000)
        stored(run, "Transfers", "transfer-1")
        violations = of(finish(run), CONSUMED)
        assert [violation.messages for violation in violations] == [("transfer-1",)]
        assert "has only reported unknown" in violations[0].text["en"]


def test_a_second_delivery_of_a_committed_message_is_allowed():
    with LabRun(load_scenario("unknown-and-check-back")) as run:
        run_to(run, 5_000)
        stored(run, "Transfers", "transfer-0")
        assert of(finish(run), CONSUMED) == []
        assert [entry.key for entry in run.world.history.consumes_ended].count("transfer-0") == 2


def test_a_check_service_that_goes_past_a_half_message_without_asking_is_found(monkeypatch):
    def forget(self, half):
        return self.store.put_message(
            StoreMessage(
                topic="Transfers",
                queue_id=0,
                body=b"something else",
                properties_string="",
                born_timestamp=0,
                born_host=self.address.store_host,
                store_host=self.address.store_host,
            )
        )

    monkeypatch.setattr(TransactionalMessageService, "_check", forget)
    with LabRun(load_scenario("unknown-and-check-back")) as run:
        violations = of(finish(run), DECIDED)
        assert sorted(violation.messages[0] for violation in violations) == [
            "transfer-1",
            "transfer-2",
            "transfer-4",
            "transfer-5",
        ]
        assert {violation.anomaly for violation in violations} == {"skipped"}
        assert "it will not be checked again" in violations[0].text["en"]


def test_a_check_service_that_does_not_run_leaves_half_messages_waiting(monkeypatch):
    async def do_nothing(self):
        return

    monkeypatch.setattr(TransactionalMessageService, "check", do_nothing)
    with LabRun(load_scenario("unknown-and-check-back")) as run:
        violations = of(finish(run), DECIDED)
        assert len(violations) == 4
        assert {violation.anomaly for violation in violations} == {"stuck"}


def test_a_half_message_that_is_still_being_asked_about_is_no_violation():
    with LabRun(load_scenario("check-max-discard")) as run:
        run_to(run, 50_000)
        assert run.checkers is not None
        assert broker_of(run).store.max_offset(TRANSACTION_HALF_TOPIC, 0) > 3, "some were asked about"
        assert list(run.checkers.at_end()) == []
