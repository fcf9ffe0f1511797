"""What the scenarios about backlogs claim, by figures of the engine: who gets what, what is lost, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from engine.client.consumer.pull_api_wrapper import PullApiWrapper
from engine.client.foundation.errors import MQBrokerError
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.world.backlog import BacklogWatch, GroupBacklog

Played = tuple[LabRun, BacklogWatch]


@pytest.fixture(scope="module")
def played() -> Iterator[Callable[[str], Played]]:
    """A function that plays a scenario to its end, once."""
    runs: dict[str, Played] = {}

    def play(name: str) -> Played:
        if name not in runs:
            run = LabRun(load_scenario(name))
            watch = BacklogWatch(run.world)
            run.on_event.append(watch.after_event)
            run.run_to_time(run.world.end_us)
            runs[name] = (run, watch)
        return runs[name]

    yield play
    for run, _ in runs.values():
        run.close()


def lag_at(group: GroupBacklog, second: float) -> int:
    return [sample for sample in group.samples if sample.time_us <= second * 1_000_000][-1].lag


def keys_of(run: LabRun, node: str) -> list[str]:
    """What the node's listener consumed successfully, in this order."""
    ended = run.world.history.consumes_ended
    return [entry.key for entry in ended if entry.node == node and entry.result == "success"]


def first_second(run: LabRun, node: str, topic: str) -> float:
    began = run.world.history.consumes_began
    return next(entry.time_us for entry in began if (entry.node, entry.topic) == (node, topic)) / 1_000_000


# --- backlog-and-scale-out --------------------------------------------------------------------------------------------


def test_members_help_up_to_the_number_of_queues_and_no_further(played):
    run, watch = played("backlog-and-scale-out")
    shop = watch.groups["shop"]
    assert lag_at(shop, 5) > 40, "one member is far too slow"
    assert lag_at(shop, 13) > lag_at(shop, 9), "three are nearly fast enough"
    assert lag_at(shop, 25) < lag_at(shop, 14), "four are"
    members = {sample.members: sample.owners for sample in shop.samples if sample.time_us < 26_000_000}
    assert (members[4], members[5]) == (4, 4), "the fifth owns nothing"
    began = [entry for entry in run.world.history.consumes_began if entry.node == "C5"]
    assert began[0].time_us > 26_000_000
    assert {entry.queue_id for entry in began} <= {4, 5, 6, 7}, "of the old queues it gets none"
    stored_us = {sent.key: sent.time_us for sent in run.world.history.sends_returned}
    assert all(stored_us[entry.key] > 26_000_000 for entry in began), "what waited stays where it was"
    assert {sample.owners for sample in shop.samples[-1:]} == {5}
    assert shop.samples[-1].lag == 0
    assert run.violations == []


# --- early-ack-loses --------------------------------------------------------------------------------------------------


def test_a_crash_loses_exactly_what_was_acknowledged_and_not_worked_on(played):
    run, watch = played("early-ack-loses")
    careless = run.world.nodes["C1"].hand_over
    done, gone = keys_of(run, "C1"), list(careless.gone)
    sent = [entry.key for entry in run.world.history.sends_returned]
    assert len(gone) > 20
    lost = [key for key in sent if key not in done]
    redelivered = [key for key in gone if key in done]
    assert sorted(lost + redelivered) == sorted(gone), "nothing else is missing"
    assert len(redelivered) <= 1, "only what the last report did not pass yet"
    assert len(done) == len(set(done))
    missing = [violation.messages[0] for violation in run.violations if violation.checker == "consumed-in-the-end"]
    assert sorted(missing) == sorted(lost)
    assert {violation.element["group"] for violation in run.violations} == {"careless"}
    assert max(sample.lag for sample in watch.groups["careless"].samples) <= 2, "the monitoring saw nothing"


def test_who_acknowledges_when_the_work_is_done_loses_nothing_and_repeats_a_little(played):
    run, watch = played("early-ack-loses")
    done = keys_of(run, "C2")
    assert len(set(done)) == 40
    assert 40 < len(done) < 45
    assert max(sample.lag for sample in watch.groups["careful"].samples) > 25, "the backlog is there to be seen"


# --- subscription-mismatch --------------------------------------------------------------------------------------------


def test_members_with_different_subscriptions_miss_messages_and_nobody_says_so(played):
    run, watch = played("subscription-mismatch")
    assert keys_of(run, "C1") == [], "it pulls food and throws it away"
    assert all(int(key.removeprefix("order-")) % 2 for key in keys_of(run, "C2"))
    consumed = {node: len(set(keys_of(run, node))) for node in ("C2", "C3", "C4", "C5")}
    assert consumed == {"C2": 10, "C3": 10, "C4": 10, "C5": 20}
    missed = [violation for violation in run.violations if violation.checker == "subscriptions-agree"]
    assert len(missed) == len(run.violations) == 40 + 20 + 20 - 30
    assert {violation.element["group"] for violation in missed} == {"kitchen", "office"}, "till is all right"
    assert watch.groups["kitchen"].samples[-1].lag == 0, "as if nothing were wrong"
    assert watch.groups["office"].samples[-1].lag == 20, "half of the queues belong to nobody"


def test_code_24_comes_again_and_again_and_25_once(monkeypatch):
    refused: list[tuple[str, int]] = []
    pull = PullApiWrapper.pull

    async def watched(self, *arguments, **options):
        try:
            return await pull(self, *arguments, **options)
        except MQBrokerError as error:
            refused.append((arguments[0].topic, error.code))
            raise

    monkeypatch.setattr(PullApiWrapper, "pull", watched)
    with LabRun(load_scenario("subscription-mismatch"), check=False) as run:
        run.run_to_time(run.world.end_us)
        assert first_second(run, "C5", "Payments") < 14
    assert refused.count(("Payments", 24)) > 30
    assert refused.count(("Payments", 25)) == 2, "one per queue, at the start of C5"


# --- consume-from-where-surprise --------------------------------------------------------------------------------------


def test_where_a_new_group_begins_depends_on_the_age_of_the_topic(played):
    run, _ = played("consume-from-where-surprise")
    assert keys_of(run, "C1") == [f"alarm-{number}" for number in range(5)], "LAST_OFFSET, and all the same from 0"
    assert [key for key in keys_of(run, "C2") if key.startswith("invoice")] == [], "the same setting, an older topic"
    assert len(keys_of(run, "C3")) == 60
    assert keys_of(run, "C4")[0] == "invoice-30", "the first one stored at 4 s"


def test_consume_from_where_counts_only_once(played):
    run, _ = played("consume-from-where-surprise")
    offline = [entry for entry in run.world.history.sends_returned if entry.key.startswith("offline")]
    assert all(20_000_000 < entry.time_us < 25_000_000 for entry in offline)
    assert [key for key in keys_of(run, "C2") if key.startswith("offline")] == [entry.key for entry in offline]


# --- first-delivery-after-30s -----------------------------------------------------------------------------------------


def test_a_consumer_that_is_older_than_its_topic_waits_for_the_next_look_at_the_routes(played):
    run, _ = played("first-delivery-after-30s")
    assert 30 < first_second(run, "C1", "News") < 31
    assert first_second(run, "C2", "News") < 8.2, "it started after the topic"
    assert first_second(run, "C3", "News") < 6, "it asks for a missing route every second"
    assert len(set(keys_of(run, "C1"))) == 10, "late, but nothing is lost"


def test_the_first_retry_of_a_new_group_waits_too(played):
    run, _ = played("first-delivery-after-30s")
    (stored,) = [
        entry for entry in run.world.history.consumes_began if entry.node == "C4" and entry.topic == "%RETRY%retrying"
    ]
    assert 30 < stored.time_us / 1_000_000 < 31, "the delay level is over after ten seconds"


# --- moved-aside ------------------------------------------------------------------------------------------------------


def test_orders_get_through_when_clicks_are_moved_aside(played):
    run, watch = played("moved-aside")
    history = run.world.history
    sent_us = {sent.key: sent.time_us for sent in history.sends_returned if sent.node == "P1"}

    def longest_wait(node: str) -> float:
        ended = [entry for entry in history.consumes_ended if entry.node == node and entry.result == "success"]
        orders = [entry for entry in ended if int(entry.key.removeprefix("event-")) % 4 == 0]
        assert len(orders) == 60
        return max(entry.time_us - sent_us[entry.key] for entry in orders) / 1_000_000

    assert longest_wait("C1") < 5 < 10 < longest_wait("C2")
    assert watch.groups["shop"].samples[-1].lag == watch.groups["night-shift"].samples[-1].lag == 0
    moved = [sent.key for sent in history.sends_returned if sent.node == "C1" and sent.status == "ok"]
    assert len(moved) > 60
    assert all(int(key.removeprefix("event-")) % 4 for key in moved), "clicks only"
    assert sorted(keys_of(run, "C3")) == sorted(moved), "put off, not dropped"
    assert run.violations == []


# --- rate-limited -----------------------------------------------------------------------------------------------------


def test_a_limit_holds_the_backlog_down_and_is_not_asked_twice(played):
    run, watch = played("rate-limited")
    sent = run.world.history.sends_returned
    clicks = [entry for entry in sent if entry.topic == "Clicks"]
    refused = [entry for entry in clicks if entry.status == "refused"]
    assert all(entry.status == "ok" for entry in sent if entry.topic == "Orders")
    assert 0.7 < len(refused) / len(clicks) < 0.8
    assert all("SYSTEM_BUSY" in entry.detail and "sendRateLimitPerTopic" in entry.detail for entry in refused)
    assert max(sample.lag for sample in watch.groups["statistics"].samples) < 20
    limit = run.world.nodes["B1"].broker.send_rate_limit
    assert limit.refused == {"Clicks": len(refused)}, "each was asked for once"


# --- gateway-buffer ---------------------------------------------------------------------------------------------------


def test_a_back_end_that_drops_expired_requests_is_soon_in_time_again_and_one_that_does_not_works_for_nobody(played):
    run, watch = played("gateway-buffer")
    assert [max(sample.lag for sample in watch.groups[name].samples) for name in ("guarded", "plain")] == [84, 84]
    assert lag_at(watch.groups["guarded"], 6) < 10 < 60 < lag_at(watch.groups["plain"], 6)
    returned = run.world.history.requests_returned
    replied = {name: [one for one in returned if (one.node, one.status) == (name, "replied")] for name in ("G1", "G2")}
    assert {name: len(entries) for name, entries in replied.items()} == {"G1": 95, "G2": 21}
    late = [one.key for one in returned if (one.node, one.status) == ("G2", "no-reply")]
    assert sum(key.startswith("calm") for key in late) == 75, "all that came after the peak, for fifteen seconds"
    back_ends = [role.replier for role in run.world.consumers() if role.replier is not None]
    assert [(one.replied + one.expired, one.expired > 0) for one in back_ends] == [(175, True), (175, False)]
    assert run.violations == []
