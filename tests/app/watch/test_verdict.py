"""The verdict: each rule by the looks that make it speak and fall silent again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.watch.facts import Facts, GroupFacts, QueueOf, QueueProgressFacts, facts_of
from app.watch.rules import RULES, Level
from app.watch.thresholds import Thresholds
from app.watch.verdict import CLAUSES_MAX, ClusterVerdict, rules_as_json
from engine.texts import LANGUAGES
from tests.support.live.healthy_facts import HEALTHY

START_MS = 1_800_000_000_000
QUEUE = QueueOf("orders", 2)
IDEMPOTENCE_TROUBLE = ("late_finishes", "different_bodies", "store_errors")


def group(lag: int = 0, members: int = 1, **queues: QueueProgressFacts) -> GroupFacts:
    return GroupFacts(lag, members, {QueueOf("orders", int(name[1:])): progress for name, progress in queues.items()})


def reads(lag: int, committed: int, members: int = 1) -> GroupFacts:
    return group(lag, members, q0=QueueProgressFacts(committed, lag, is_owned=True))


def facts(at_s: float = 0, **known: object) -> Facts:
    whole = Facts(now_ms=START_MS + round(1_000 * at_s), connections=4, groups={"billing": group()})
    return replace(whole, **known)  # type: ignore[arg-type]


class Looks:
    """A verdict, and what it says after looks at one thing or another."""

    def __init__(self, **thresholds: int | None) -> None:
        chosen = Thresholds()
        chosen.change(thresholds)
        self.verdict = ClusterVerdict(chosen)
        self.at_s = 0

    def see(self, seconds: int = 1, **known: Any) -> str:
        """Return the English line of the last of this many seconds."""
        for _ in range(seconds):
            self.verdict.look(facts(self.at_s, **known))
            self.at_s += 1
        return self.line

    def see_lag(self, lags: list[int], **known: Any) -> str:
        """Return the line for a group that reads 100 messages a second."""
        for lag in lags:
            self.see(groups={"reports": reads(lag, 10_000 + 100 * self.at_s)}, **known)
        return self.line

    @property
    def line(self) -> str:
        text = self.verdict.as_json()["text"]["en"]
        assert isinstance(text, str)
        return text


def test_a_slave_that_does_not_follow_says_so_after_ten_seconds_and_stops_when_it_does():
    looks = Looks()
    assert "slave" not in looks.see(5, is_apart=True)
    assert "this slave has not followed its master for 12 s: it accepts no messages" in looks.see(8, is_apart=True)
    assert "slave" not in looks.see()


def test_a_synchronous_master_that_lacks_slaves_says_that_its_acknowledgements_mean_little():
    looks = Looks()
    said = looks.see(12, slaves=1, slaves_needed=2)
    assert "SYNC_MASTER has had 1 of 2 slaves for 11 s: acknowledged messages may exist only here" in said
    assert "SYNC_MASTER" not in looks.see(slaves=2, slaves_needed=2)


def test_a_broker_where_nothing_waits_is_well():
    assert Looks().see() == "All is well: 4 clients, 1 group reads, no messages wait"


def test_a_broker_that_nobody_uses_or_has_looked_at_is_not_called_well():
    assert Looks().line == "Checking the broker …"
    assert Looks().see(connections=0) == "Nothing to report: no client is connected"


def test_a_lag_below_the_threshold_is_named_in_the_good_news():
    assert Looks().see_lag([3]) == "All is well: 4 clients, 1 group reads, 3 messages wait"


def test_numbers_that_are_missing_are_reported_by_topic_and_in_the_singular():
    looks = Looks()
    assert looks.see(missing_numbers={"orders": 1}) == (
        "1 number is missing in orders: a message was lost, or never stored"
    )
    assert looks.verdict.clauses()[0].rule.panel == "numbers"
    assert looks.see(missing_numbers={"orders": 0}, unknown_numbers={"orders": 2}) == (
        "2 numbers of orders are unknown: they are not stored, and their producers got no answer"
    )
    assert looks.see(missing_numbers={"orders": 0}, unknown_numbers={"orders": 0}).startswith("All is well")


def test_a_group_that_falls_behind_is_reported_with_its_growth():
    line = Looks().see_lag([2_000 + 12 * second for second in range(80)])
    assert line == "reports lags by 2,948, growing by 12/s"


def test_a_growing_lag_is_named_before_it_is_a_fault_and_nothing_is_called_well():
    looks, growing = Looks(group_behind=5_000), [2_000 + 12 * second for second in range(80)]
    assert looks.see_lag(growing) == "4 clients, 1 group reads; reports lags by 2,948, growing by 12/s"
    assert looks.verdict.as_json()["level"] == "well"
    assert Looks(group_behind=None).see_lag(growing).startswith("All is well")


def test_a_small_lag_that_shrinks_or_stands_is_no_early_news():
    for change in (-12, 0):
        assert Looks(group_behind=5_000).see_lag([3_000 + change * at for at in range(80)]).startswith("All is well")


def test_a_group_that_catches_up_is_shown_with_the_time_left():
    assert Looks().see_lag([9_000 - 50 * second for second in range(60)]) == (
        "reports lags by 6,050, caught up in about 2 min"
    )


def test_a_lag_of_which_little_is_known_has_no_trend():
    assert Looks().see_lag([5_000, 5_100]) == "reports lags by 5,100"


def test_a_lag_that_only_sways_gets_no_nearer():
    line = Looks().see_lag([5_000 + (second % 2) * 40 for second in range(60)])
    assert line == "reports lags by 5,040 and is not catching up"


def test_a_lag_that_sways_about_the_threshold_does_not_come_and_go():
    looks = Looks()
    looks.see_lag([999])
    assert looks.verdict.clauses() == []
    looks.see_lag([1_000])
    (said,) = looks.verdict.clauses()
    for lag in (999, 800, 701, 1_100, 700):
        looks.see_lag([lag])
        assert [clause.since_ms for clause in looks.verdict.clauses()] == [said.since_ms]
    looks.see_lag([699])
    assert looks.verdict.clauses() == []
    looks.see_lag([999])
    assert looks.verdict.clauses() == []


def test_messages_of_a_group_without_members_are_said_to_wait_and_not_to_be_behind():
    looks = Looks()
    left = {"reports": group(5_000, members=0)}
    # At once, but as no fault: a consumer that starts again is away for some seconds.
    assert (
        looks.see(4, groups=left)
        == "4 clients, 0 groups read; reports has had no consumers for 3 s: 5,000 messages wait"
    )
    assert looks.verdict.as_json()["level"] == "well"
    looks.see(26, groups=left)
    assert looks.verdict.as_json()["level"] == "well"
    assert looks.see(1, groups=left) == "reports has had no consumers for 30 s: 5,000 messages wait"
    assert looks.verdict.as_json()["level"] == "warning"
    assert looks.see(1, groups={"reports": group(5_000)}) == "reports lags by 5,000"


def test_messages_that_wait_are_reported_although_no_client_is_connected():
    line = Looks().see(3, connections=0, groups={"reports": group(7, members=0)})
    assert line == "0 clients, 0 groups read; reports has had no consumers for 2 s: 7 messages wait"


def test_who_reads_without_being_a_member_is_not_called_nobody():
    looks = Looks()
    for second in range(90):
        looks.see(1, groups={"on-spark": reads(400, 50 * second, members=0)})
    assert looks.verdict.clauses() == []
    looks.see(31, groups={"on-spark": reads(400, 4_450, members=0)})
    assert looks.line == "on-spark has had no consumers for 31 s: 400 messages wait"


def test_a_group_that_has_nothing_to_do_is_well_with_and_without_members():
    assert Looks().see(90, groups={"billing": group(0), "left": group(0, members=0)}).startswith("All is well")


def test_a_rule_that_is_off_is_not_reported_early_either():
    looks = Looks(group_offline=None)
    assert looks.see(5, groups={"reports": group(5_000, members=0)}).startswith("All is well")


def test_what_a_busy_group_reads_within_ten_seconds_is_no_backlog():
    looks = Looks()
    for second in range(40):
        looks.see(1, groups={"busy": reads(4_000 + 300 * (second % 5), 2_000 * second)})
    assert looks.line.startswith("All is well")


def test_a_group_that_has_been_gone_for_a_day_is_no_news_any_more():
    looks = Looks()
    left = {"reports": group(5_000, members=0)}
    looks.see(1, groups=left)
    looks.at_s = 86_000
    assert looks.see(1, groups=left).startswith("reports has had no consumers for 23 h 53 min")
    looks.at_s = 86_500
    assert looks.see(1, groups=left).startswith("All is well")


def test_a_queue_with_unread_messages_that_nobody_pulls_is_named():
    looks = Looks()
    alone = {
        "billing": group(3, q2=QueueProgressFacts(7, 3, is_owned=False), q1=QueueProgressFacts(9, 0, is_owned=False))
    }
    looks.see(30, groups=alone)
    assert looks.verdict.clauses() == []
    assert looks.see(11, groups=alone) == "queue 2 of orders has had no owner in billing for 40 s"
    owned = {"billing": group(3, q2=QueueProgressFacts(7, 3, is_owned=True))}
    assert looks.see(1, groups=owned).startswith("All is well")


def test_queues_of_one_topic_are_said_in_one_clause():
    alone = QueueProgressFacts(7, 3, is_owned=False)
    line = Looks().see(41, groups={"billing": group(12, q3=alone, q0=alone, q2=alone, q1=alone)})
    assert line == "queues 0, 1, 2, … of orders have had no owner in billing for 40 s"


def test_a_queue_whose_offset_stands_still_is_distinguished_from_one_that_moves():
    looks = Looks()
    for second in range(90):
        moving = {
            "billing": group(
                9, q2=QueueProgressFacts(7, 5, is_owned=True), q3=QueueProgressFacts(second, 4, is_owned=True)
            ),
        }
        looks.see(1, groups=moving)
    assert looks.line == "billing has not moved in queue 2 of orders for 89 s"
    moved = {
        "billing": group(8, q2=QueueProgressFacts(8, 4, is_owned=True), q3=QueueProgressFacts(90, 4, is_owned=True))
    }
    assert looks.see(1, groups=moved).startswith("All is well")


def test_a_half_message_is_said_by_its_age_until_it_is_decided():
    looks = Looks()
    assert looks.see(1, undecided=(START_MS - 20_000,)).startswith("All is well")
    assert looks.see(1, undecided=(START_MS - 39_000,)) == "1 half message has been undecided for 40 s"
    assert looks.see(1, undecided=(START_MS - 3_598_000, START_MS)) == (
        "2 half messages are undecided, the oldest for 60 min"
    )
    assert looks.see(1).startswith("All is well")


def test_half_messages_that_were_given_up_are_said_for_an_hour():
    looks = Looks()
    assert looks.see(1, given_up=(START_MS - 10, START_MS - 4_000_000)) == (
        "1 half message was given up in the last hour"
    )


def test_damage_and_failures_of_the_store_are_broken_and_come_first():
    looks = Looks()
    looks.see(1, groups={"reports": group(5_000)})
    line = looks.see(1, damaged=1, put_failures=2, groups={"reports": group(5_000)})
    assert line == (
        "1 stored message is damaged and not delivered; 2 messages could not be stored in the last minute; "
        "reports lags by 5,000"
    )
    assert looks.verdict.as_json()["level"] == "broken"


def test_a_client_that_does_not_read_and_a_full_disk_are_named():
    assert Looks().see(1, unsent={"10.0.0.7:4711": 9_300_000}, disk_used=0.93) == (
        "the disk is 93 % full; 10.0.0.7:4711 is not reading: 9.3 MB pending"
    )


def test_a_rule_that_is_off_is_silent_at_once_and_a_threshold_holds_at_once():
    looks = Looks(group_behind=None, damaged=5)
    assert looks.see(1, damaged=4, groups={"reports": group(5_000)}).startswith("All is well")
    looks.verdict.thresholds.change({"group_behind": 5_000})
    assert looks.see(1, groups={"reports": group(5_000)}) == "reports lags by 5,000"


def test_many_clauses_are_cut_and_counted():
    looks = Looks()
    looks.see(1, groups={f"g{number:02}": group(2_000 + number) for number in range(CLAUSES_MAX + 3)})
    reported = looks.verdict.as_json()
    assert len(reported["clauses"]) == CLAUSES_MAX
    assert reported["clauses"][0]["subject"] == f"g{CLAUSES_MAX + 2:02}"
    assert reported["omitted"] == 3
    assert reported["text"]["en"].endswith("; and 3 more")
    assert looks.verdict.rules_said()["group_behind"] == CLAUSES_MAX + 3


def test_a_clock_that_goes_back_breaks_nothing():
    looks = Looks()
    looks.see_lag([2_000 + 10 * second for second in range(60)])
    looks.at_s = -500
    assert looks.see_lag([2_600]) == "reports lags by 2,600"


def test_what_is_forgotten_leaves_nothing_behind():
    looks = Looks()
    many = {f"g{number}": group(3, q0=QueueProgressFacts(1, 3, is_owned=True)) for number in range(50)}
    looks.see(3, groups=many, dead_letters=dict.fromkeys(many, 4))
    looks.see(1, groups={}, dead_letters={})
    memory = looks.verdict.memory
    assert not memory.backlogs._looks and not memory._since
    assert list(memory._counts) == ["put_failures"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_and_every_form_has_its_words(language):
    looks = Looks(**{rule.name: rule.least for rule in RULES})
    busy = {
        "behind": group(500, q0=QueueProgressFacts(1, 3, is_owned=False), q1=QueueProgressFacts(1, 3, is_owned=True)),
        "left": group(1, members=0),
    }
    looks.see(
        3,
        groups=busy,
        undecided=(START_MS - 9_000,),
        given_up=(START_MS,),
        put_p99_us=5_000,
        unsent={"a": 9_000_000},
        disk_used=0.5,
    )
    looks.see(
        1,
        groups=busy,
        damaged=1,
        put_failures=1,
        dead_letters={"behind": 0},
        idempotence={"behind": dict.fromkeys(IDEMPOTENCE_TROUBLE, 0)},
        unsent={"a": 9_000_000},
    )
    looks.see(
        1,
        groups=busy,
        damaged=1,
        put_failures=2,
        dead_letters={"behind": 2},
        idempotence={"behind": dict.fromkeys(IDEMPOTENCE_TROUBLE, 2)},
        missing_numbers={"orders": 2},
        unknown_numbers={"orders": 2},
        undecided=(START_MS - 9_000,),
        given_up=(START_MS,),
        put_p99_us=5_000,
        unsent={"a": 9_000_000},
        disk_used=0.5,
        is_apart=True,
        slaves_needed=1,
    )
    assert {clause.rule.name for clause in looks.verdict.clauses()} == {rule.name for rule in RULES}
    for clause in looks.verdict.clauses():
        assert clause.text()[language]
    assert all(rule["text"][language] for rule in rules_as_json(Thresholds()))
    assert {clause.rule.level for clause in looks.verdict.clauses()} == {Level.WARNING, Level.BROKEN}


def test_facts_are_read_from_the_live_state():
    state: Any = {
        **HEALTHY,
        "cluster": {"now_us": START_MS * 1000},
        "connections": {"a:1": {"client_ids": ["c1"]}, "b:2": {"client_ids": []}},
        "client_names": {"c1": "consumer 1"},
        "unsent": {"a:1": 5},
        "dead_letters": {"billing": 4},
        "omitted": {"connections": 30},
        "topics": {
            "once": {"kind": "normal", "queues": {"0": {"max": 9, "committed": {"billing": 1}}}},
            "orders": {"kind": "normal", "queues": {"2": {"max": 10, "committed": {"billing": 7, "all": 1}}}},
        },
        "groups": {
            "billing": {
                "lag": 3,
                "members": {"c1": {}},
                "omitted_members": 1,
                "assignment": {"orders": {"2": "c1"}},
                "subscriptions": {"orders": {}},
            },
            "all": {"lag": None, "members": {"c2": {}}, "omitted_members": 0, "assignment": {}, "subscriptions": {}},
        },
        "transactions": {
            "messages": [
                {"id": "m", "born_us": 5_000, "decided_by": None},
                {"id": "m", "born_us": 5_000, "decided_by": None},
                {"id": "n", "born_us": 6_000, "decided_by": 3},
            ],
            "given_up": [{"given_up_us": 8_000, "checked_again": None}, {"given_up_us": 9_000, "checked_again": 1}],
        },
        "rates": {"in_messages": 1, "put_p99_us": 70},
        "commit_log": {"damage": {"count": 2}},
        "numbers": {"topics": {"orders": {"missing": 3, "unknown": 2}}},
        "put_failures": 1,
        "idempotence": {"billing": {"counters": {"late_finishes": 1}, "members": {}}},
        "disk_used": 0.25,
    }
    assert facts_of(state) == Facts(
        now_ms=START_MS,
        connections=32,
        groups={"billing": GroupFacts(3, 2, {QUEUE: QueueProgressFacts(7, 3, is_owned=True)})},
        undecided=(5,),
        given_up=(8,),
        dead_letters={"billing": 4},
        damaged=2,
        put_failures=1,
        put_p99_us=70,
        unsent={"a:1": 5},
        client_names={"a:1": "consumer 1"},
        idempotence={"billing": {"late_finishes": 1}},
        missing_numbers={"orders": 3},
        unknown_numbers={"orders": 2},
        disk_used=0.25,
    )
