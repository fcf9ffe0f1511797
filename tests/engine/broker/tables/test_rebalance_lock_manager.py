from engine.broker.tables.rebalance_lock_manager import RebalanceLockManager
from engine.protocol.body.message_queue import MessageQueue

QUEUES = tuple(MessageQueue("T", "broker-a", queue_id) for queue_id in range(3))


class Clock:
    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms

    def monotonic_us(self) -> int:
        return self.ms * 1_000


def test_a_client_gets_every_free_queue():
    locks = RebalanceLockManager(Clock())
    assert locks.try_lock_batch("g", QUEUES, "c1") == QUEUES
    assert len(locks) == 3


def test_a_foreign_lock_within_its_lease_refuses():
    clock = Clock()
    locks = RebalanceLockManager(clock)
    locks.try_lock_batch("g", QUEUES[:2], "c1")
    clock.ms = 60_000
    assert locks.try_lock_batch("g", QUEUES, "c2") == QUEUES[2:]


def test_a_lock_expires_after_its_lease():
    clock = Clock()
    locks = RebalanceLockManager(clock)
    locks.try_lock_batch("g", QUEUES, "c1")
    clock.ms = 60_001
    assert locks.try_lock_batch("g", QUEUES, "c2") == QUEUES
    assert locks.try_lock_batch("g", QUEUES, "c1") == ()


def test_a_renewal_begins_the_lease_anew():
    clock = Clock()
    locks = RebalanceLockManager(clock)
    locks.try_lock_batch("g", QUEUES, "c1")
    clock.ms = 50_000
    assert locks.try_lock_batch("g", QUEUES, "c1") == QUEUES
    clock.ms = 100_000
    assert locks.try_lock_batch("g", QUEUES, "c2") == ()


def test_only_the_owner_unlocks():
    locks = RebalanceLockManager(Clock())
    locks.try_lock_batch("g", QUEUES, "c1")
    locks.unlock_batch("g", QUEUES, "c2")
    assert locks.try_lock_batch("g", QUEUES, "c2") == ()
    locks.unlock_batch("g", QUEUES[:1], "c1")
    assert locks.try_lock_batch("g", QUEUES, "c2") == QUEUES[:1]
    locks.unlock_batch("nobody", QUEUES, "c1")


def test_groups_lock_the_same_queue_independently():
    locks = RebalanceLockManager(Clock())
    assert locks.try_lock_batch("g1", QUEUES, "c1") == QUEUES
    assert locks.try_lock_batch("g2", QUEUES, "c2") == QUEUES
    assert {(group, entry.client_id) for group, _, entry in locks.entries()} == {("g1", "c1"), ("g2", "c2")}


def test_a_full_table_makes_room_only_by_expired_locks():
    clock = Clock()
    locks = RebalanceLockManager(clock, max_locks=2)
    assert locks.try_lock_batch("g", QUEUES, "c1") == QUEUES[:2]
    assert locks.try_lock_batch("h", QUEUES, "c2") == ()
    clock.ms = 60_001
    assert locks.try_lock_batch("h", QUEUES, "c2") == QUEUES[:2]
    assert len(locks) == 2


def test_switched_off_it_grants_everything_to_everybody_and_remembers_nothing():
    locks = RebalanceLockManager(Clock())
    locks.try_lock_batch("g", QUEUES[:1], "c1")
    locks.enabled = False
    assert locks.try_lock_batch("g", QUEUES, "c2") == QUEUES
    locks.enabled = True
    assert locks.try_lock_batch("g", QUEUES, "c3") == QUEUES[1:]


def test_a_lock_that_was_given_away_is_refused_to_its_owner_who_learns_of_it_when_it_renews():
    clock = Clock()
    locks = RebalanceLockManager(clock)
    locks.try_lock_batch("g", QUEUES, "c1")
    clock.ms = 50_000
    assert locks.give_away("g", QUEUES[0], "c2") == "c1"
    assert locks.try_lock_batch("g", QUEUES, "c1") == QUEUES[1:]
    clock.ms = 100_000
    assert locks.try_lock_batch("g", QUEUES[:1], "c1") == (), "its lease began when it was given"
    assert locks.give_away("g", QUEUES[0], "c1") == "c2"


def test_what_nobody_holds_cannot_be_given_away():
    locks = RebalanceLockManager(Clock())
    assert locks.give_away("g", QUEUES[0], "c1") == ""
    assert len(locks) == 0


def test_a_group_whose_locks_are_off_gets_all_that_it_asks_for_and_others_do_not():
    locks = RebalanceLockManager(Clock())
    for group in ("g", "h"):
        locks.try_lock_batch(group, QUEUES, "c1")
    locks.groups_off["g"] = None
    assert locks.try_lock_batch("g", QUEUES, "c2") == QUEUES
    assert locks.try_lock_batch("h", QUEUES, "c2") == ()
