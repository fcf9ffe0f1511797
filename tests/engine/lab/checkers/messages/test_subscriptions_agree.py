"""The checker of groups whose members subscribe to different things."""

from __future__ import annotations

import pytest

from engine.lab.checkers.messages.subscriptions_agree import SubscriptionsAgree
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.checked_run import TEXT, checked_run, finish, of, run_to

NAME = "subscriptions-agree"


def mismatched_text(first: str = "a", second: str = "b") -> str:
    text = TEXT.replace("DURATION", "60000").replace("FLUSH", "async")
    text = text.replace(
        "    topic: Orders\n    listener", f"    topic: Orders\n    expression: {first}\n    listener", 1
    )
    return text.replace(
        "    topic: Orders\n    start_ms", f"    topic: Orders\n    expression: {second}\n    start_ms", 1
    )


MISMATCHED = mismatched_text()


def mismatched(first: str = "a", second: str = "b") -> LabRun:
    return LabRun(parse_scenario(mismatched_text(first, second), "mismatched"))


def test_messages_that_a_member_wanted_and_the_group_passed_over_are_found():
    with mismatched() as run:
        run_to(run, 20_000)
        early = of(run.violations, NAME)
        assert early
        assert len({violation.element["queue"] for violation in early}) == len(early), "one per queue tells the story"
        found = of(finish(run), NAME)
        consumed = {entry.key for entry in run.world.history.consumes_ended if entry.result == "success"}
        given_back = {"order-7"}
        missed = {f"order-{number}" for number in range(40)} - consumed - given_back
        assert {violation.messages[0] for violation in found} == missed
        assert found[0].anomaly == "skipped"


@pytest.mark.parametrize("change", ["group: another", "model: broadcasting"])
def test_a_member_of_another_group_or_one_that_gets_everything_may_differ(change):
    head, tail = MISMATCHED.rsplit("    group: shop\n", 1)
    lines = "    group: another\n" if change.startswith("group") else f"    group: shop\n    {change}\n"
    assert not SubscriptionsAgree.applies(parse_scenario(head + lines + tail, "mismatched"))


def test_nothing_is_claimed_of_a_group_that_does_not_begin_at_the_first_message():
    with LabRun(parse_scenario(MISMATCHED.replace("group: shop\n", "group: shop\n    from: last\n"), "late")) as run:
        assert of(finish(run), NAME) == []


def test_it_claims_nothing_where_members_agree():
    with checked_run() as run:
        assert not SubscriptionsAgree.applies(run.scenario)
    with mismatched("a || b", "a || b") as run:
        assert not SubscriptionsAgree.applies(run.scenario)
