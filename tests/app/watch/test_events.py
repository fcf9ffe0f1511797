"""What happened to a broker besides its figures: what is an event, what is none, and how many are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.watch.events import EVENTS_MAX, EVENTS_SHOWN, Events

START_MS = 1_800_000_000_000


def group(*members: str, omitted: int = 0):
    return {"members": {member: {} for member in members}, "omitted_members": omitted}


def said(events: Events) -> list[str]:
    return [event["text"]["en"] for event in events.newest()]


def test_members_that_were_there_before_the_first_sample_have_not_joined():
    events = Events()
    events.see_groups(START_MS, {"billing": group("a", "b")})
    events.see_groups(START_MS + 1_000, {"billing": group("b", "a")})
    assert events.newest() == []


def test_members_that_come_and_go_are_one_rebalance_a_sample():
    events = Events()
    events.see_groups(START_MS, {"billing": group("a"), "ledger": group("x"), "old": group("o")})
    events.see_groups(START_MS + 1_000, {"billing": group("b", "c"), "ledger": group("x"), "new": group("n")})
    assert said(events) == ["Rebalance: billing +2 −1, new +1, old −1"]
    assert events.newest()[0]["at_us"] == (START_MS + 1_000) * 1_000
    assert events.newest()[0]["text"]["zh"] == "重平衡：billing +2 −1、new +1、old −1"


def test_members_that_the_picture_leaves_out_count_too():
    events = Events()
    events.see_groups(START_MS, {"billing": group("a", omitted=3)})
    events.see_groups(START_MS, {"billing": group("a", omitted=1)})
    assert said(events) == ["Rebalance: billing −2"]


def test_of_many_groups_some_are_named():
    events = Events()
    events.see_groups(START_MS, {})
    events.see_groups(START_MS, {f"group-{number}": group("a") for number in range(9)})
    assert said(events) == ["Rebalance: group-0 +1, group-1 +1, group-2 +1, group-3 +1 and 5 more"]


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.frozensets(st.integers(0, 3))), min_size=1))
def test_there_is_an_event_exactly_where_a_group_has_other_members_than_before(samples):
    events = Events()
    for number, sample in enumerate(samples):
        events.see_groups(number, {name: group(*map(str, members)) for name, members in sample.items()})
    alive = [{name: members for name, members in sample.items() if members} for sample in samples]
    changed = [number for number in range(1, len(alive)) if alive[number] != alive[number - 1]]
    assert [event["at_us"] for event in events.between(0, 10**9)] == [number * 1_000 for number in changed]


def test_a_fault_is_an_event_when_it_begins_and_when_it_ends():
    events = Events()
    full = {"disk_full": {"en": "the disk is full", "zh": "磁盘已满"}}
    for at_ms, faults in ((1, {}), (2, full), (3, full), (4, {})):
        events.see_faults(at_ms, faults)
    assert [(event["at_us"], event["kind"]) for event in events.newest()] == [(2_000, "fault_on"), (4_000, "fault_off")]
    assert said(events) == ["Fault: the disk is full", "Fault over: the disk is full"]


def test_the_oldest_events_go_and_a_picture_shows_the_newest():
    events = Events()
    for number in range(EVENTS_MAX + 10):
        events.note(number * 1_000, "start")
    assert len(events.between(0, 10**9)) == EVENTS_MAX
    assert events.between(0, 10**9)[0]["at_us"] == 10_000_000
    assert [event["at_us"] for event in events.newest()] == [
        number * 1_000_000 for number in range(EVENTS_MAX + 10 - EVENTS_SHOWN, EVENTS_MAX + 10)
    ]


@pytest.mark.parametrize(("first", "last", "found"), [(0, 4, []), (5, 5, [5_999_000]), (6, 9, [6_000_000])])
def test_the_events_of_a_stretch_are_those_of_its_seconds(first, last, found):
    events = Events()
    events.note(5_999, "stop")
    events.note(6_000, "start")
    assert [event["at_us"] for event in events.between(first, last)] == found
