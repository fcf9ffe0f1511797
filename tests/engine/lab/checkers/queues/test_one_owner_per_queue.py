from __future__ import annotations

from tests.support.lab.checked_run import checked_run, consumer_of, do, finish, of, run_to

NAME = "one-owner-per-queue"


class Everything:
    """Allocates every queue to everybody."""

    name = "EVERYTHING"

    def allocate(self, group, client_id, queues, client_ids):
        return list(queues)


def test_a_member_that_takes_every_queue_shares_them_for_ever():
    with checked_run(duration_ms=200_000) as run:
        run_to(run, 1_000)
        consumer_of(run, "C1")._impl.rebalance.strategy = Everything()
        violations = of(finish(run), NAME)
        assert {violation.element["queue"] for violation in violations} >= {2, 3}
        assert violations[0].anomaly == "two owners"
        assert "C1" in violations[0].text["en"]
        assert "C2" in violations[0].text["en"]
        assert violations[0].time_us > 60_000_000, "a rebalance and a heartbeat have to pass first"


def test_two_owners_for_a_moment_are_allowed():
    with checked_run(duration_ms=200_000) as run:
        run_to(run, 10_000)
        do(run, "add-consumer", "C3", like="C1")
        do(run, "partition", left=["C2"], right=["B1", "N1"])
        run_to(run, 60_000)
        do(run, "heal")
        assert finish(run) == []
        owned = [len(consumer_of(run, name).process_queues) for name in ("C1", "C2", "C3")]
        assert all(owned)
