"""What is new to the verdict: counts that have grown lately, and latencies of the last seconds."""

from __future__ import annotations

import pytest

from tests.app.watch.test_verdict import IDEMPOTENCE_TROUBLE, Looks


def test_new_trouble_of_idempotent_listeners_is_said_and_old_trouble_is_not():
    looks = Looks()
    calm = dict.fromkeys(IDEMPOTENCE_TROUBLE, 3)
    assert looks.see(601, idempotence={"billing": calm}).startswith("All is well")
    line = looks.see(idempotence={"billing": calm | {"late_finishes": 4}})
    assert line == "1 message of billing was finished after its record expired: its work may be done twice"
    looks.see(601, idempotence={"billing": calm | {"late_finishes": 4}})
    assert looks.line.startswith("All is well")
    line = looks.see(idempotence={"billing": {"late_finishes": 4, "different_bodies": 5, "store_errors": 3}})
    assert line == "2 messages for billing reuse keys of messages with different bodies"
    line = looks.see(601, idempotence={"billing": {"late_finishes": 4, "different_bodies": 5, "store_errors": 3}})
    line = looks.see(idempotence={"billing": {"late_finishes": 4, "different_bodies": 5, "store_errors": 4}})
    assert line == "the idempotence store of billing failed 1 time"


def test_dead_letters_are_news_for_ten_minutes_and_those_from_before_are_none():
    looks = Looks()
    assert looks.see(1, dead_letters={"billing": 40}).startswith("All is well")
    assert looks.see(1, dead_letters={"billing": 43}) == "3 new dead letters of billing"
    assert looks.see(598, dead_letters={"billing": 43}) == "3 new dead letters of billing"
    assert looks.see(2, dead_letters={"billing": 43}).startswith("All is well")
    assert looks.see(1, dead_letters={"billing": 44}) == "1 new dead letter of billing"


def test_the_first_dead_letter_of_a_group_is_news_however_the_group_appears():
    looks = Looks()
    looks.see(1, dead_letters={"old": 40})
    assert looks.see(1, dead_letters={"old": 40, "billing": 1}) == "1 new dead letter of billing"
    assert looks.see(1, dead_letters={"old": 40, "billing": 3}) == "3 new dead letters of billing"
    # Its topic is deleted, and made again by the next one.
    looks.see(601, dead_letters={"old": 40})
    assert looks.see(1, dead_letters={"old": 40, "billing": 1}) == "1 new dead letter of billing"
    assert looks.see(601, dead_letters={"old": 40, "billing": 1}).startswith("All is well")


def test_what_a_log_that_was_cut_off_still_has_is_no_new_dead_letter():
    looks = Looks()
    looks.see(1, dead_letters={"billing": 40})
    assert looks.see(1, dead_letters={"billing": 38}).startswith("All is well")
    assert looks.see(1, dead_letters={"billing": 39}) == "1 new dead letter of billing"


@pytest.mark.parametrize(
    ("known", "line"),
    [
        ({"put_failures": 1}, "1 message could not be stored in the last minute"),
        ({"idempotence": {"billing": {"store_errors": 1}}}, "the idempotence store of billing failed 1 time"),
        (
            {"idempotence": {"billing": {"different_bodies": 2}}},
            "2 messages for billing reuse keys of messages with different bodies",
        ),
    ],
)
def test_what_is_counted_since_the_broker_began_is_news_at_its_first_look_and_after_another_beginning(known, line):
    if "idempotence" in known:
        (counters,) = known["idempotence"].values()
        known = {"idempotence": {"billing": dict.fromkeys(IDEMPOTENCE_TROUBLE, 0) | counters}}
    assert Looks().see(1, **known) == line
    looks = Looks()
    looks.see(1)
    assert looks.see(1, **known) == line
    # 40 of the broker that ended are no news any more; that of the next one is.
    looks = Looks()
    trouble = {"put_failures": 40, "idempotence": {"billing": dict.fromkeys(IDEMPOTENCE_TROUBLE, 40)}}
    looks.see(602, **trouble)
    assert looks.see(1, **(trouble | known)).startswith(line)


def test_one_slow_second_is_no_news_and_many_are():
    looks = Looks()
    looks.see(20, put_p99_us=800)
    assert looks.see(1, put_p99_us=900_000).startswith("All is well")
    assert looks.see(25, put_p99_us=250_000) == "storing a message takes up to 250 ms (99 of 100 are faster)"
    # Nothing is stored any more.
    assert looks.see(40).startswith("All is well")


def test_a_store_that_is_slow_and_used_every_third_second_is_slow():
    looks = Looks()
    for _ in range(10):
        looks.see(1, put_p99_us=250_000)
        looks.see(2)
    assert looks.line == "storing a message takes up to 250 ms (99 of 100 are faster)"
