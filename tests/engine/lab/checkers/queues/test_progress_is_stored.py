from __future__ import annotations

from tests.support.lab.checked_run import broker_of, checked_run, do, finish, of, run_to

NAME = "progress-is-stored"


def test_progress_that_no_broker_takes_note_of_is_found(monkeypatch):
    with checked_run(duration_ms=200_000) as run:
        run_to(run, 3_000)
        manager = broker_of(run).consumer_offset_manager
        monkeypatch.setattr(manager, "commit_offset", lambda *arguments: None)
        found = [violation for violation in of(finish(run), NAME) if violation.element["topic"] == "Orders"]
        assert sorted(violation.element["queue"] for violation in found) == [0, 1, 2, 3]
        assert {violation.anomaly for violation in found} == {"duplicate"}
        for violation in found:
            stored = manager.query_offset("shop", "Orders", int(violation.element["queue"]))
            assert f"its stored offset is {stored}" in violation.text["en"]


def test_what_a_member_still_has_in_memory_reaches_the_broker_in_the_end():
    with checked_run(duration_ms=200_000) as run:
        run_to(run, 30_000)
        broker_of(run).consumer_offset_manager.commit_offset("somebody", "shop", "Orders", 2, 4)
        assert of(finish(run), NAME) == []


def test_nothing_is_claimed_while_a_fault_is_fresh():
    with checked_run(duration_ms=60_000) as run:
        run_to(run, 10_000)
        do(run, "crash", "C1")
        do(run, "crash", "C2")
        assert of(finish(run), NAME) == []
