"""The page's copy of the state equals the server's after every patch."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.foundation.json_types import JsonObject
from app.foundation.patch import PatchRefused, apply_patch, difference

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.5]) | st.sampled_from("abc")
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=25,
)


def exact(value):
    """JSON text tells 1, 1.0 and true apart; Python's == does not."""
    return json.dumps(value, sort_keys=True)


@given(trees, trees)
def test_applying_the_difference_of_two_trees_turns_one_into_the_other(old, new):
    operations = json.loads(json.dumps(difference(old, new)))  # as it comes over the wire
    assert exact(apply_patch(copy.deepcopy(old), operations)) == exact(new)


@given(trees, trees)
def test_the_difference_changes_neither_tree(old, new):
    before = exact(old), exact(new)
    difference(old, new)
    assert (exact(old), exact(new)) == before


@given(trees)
def test_equal_trees_have_no_difference(tree):
    assert difference(tree, copy.deepcopy(tree)) == []


@given(st.lists(st.integers(0, 9), min_size=1), st.lists(st.integers(0, 9), min_size=1), st.integers(0, 5))
def test_a_list_that_grows_at_its_end_is_never_sent_whole(old, added, dropped):
    kept = min(dropped, len(old) - 1)
    new = old[kept:] + added
    for operation in difference({"log": old}, {"log": new}):
        items = operation[2] if operation[0] == "append" else operation[-1]
        assert operation[0] in ("append", "splice")
        assert isinstance(items, list)
        assert len(items) <= len(added)


@given(st.lists(st.integers(0, 9), max_size=8), st.lists(st.integers(0, 9), max_size=8), st.integers(10, 19))
def test_one_changed_item_of_a_list_is_sent_alone(before, after, changed):
    old, new = [*before, 20, *after], [*before, changed, *after]
    if len(new) > 1:
        assert difference({"list": old}, {"list": new}) == [["splice", ["list"], len(before), 1, [changed]]]


kept_objects = st.tuples(*[st.builds(dict, number=st.just(number)) for number in range(6)]).map(list)


@given(kept_objects, st.data())
def test_objects_that_stay_in_a_list_are_not_sent_again(old, data):
    stay = [item for item in old if data.draw(st.booleans())]
    added = {place: {"added": place} for place in data.draw(st.sets(st.integers(0, len(stay))))}
    new = [part for place, item in enumerate([*stay, None]) for part in (added.get(place), item) if part]
    operations = difference({"list": old}, {"list": new})
    sent = [item for operation in operations for item in operation[2 if operation[0] in ("set", "append") else 4]]
    assert sent == [*added.values()]
    assert apply_patch({"list": [*old]}, operations) == {"list": new}


@given(kept_objects.flatmap(lambda old: st.tuples(st.just(old), st.lists(st.sampled_from(old)))))
def test_moved_and_repeated_objects_of_a_list_arrive_where_they_are(lists):
    old, new = lists
    assert apply_patch({"list": [*old]}, difference({"list": old}, {"list": new})) == {"list": new}


def test_a_moved_offset_is_one_small_operation():
    old: JsonObject = {"topics": {"T": {"queues": {"0": {"max": 10, "min": 0}}}}}
    new: JsonObject = {"topics": {"T": {"queues": {"0": {"max": 11, "min": 0}}}}}
    assert difference(old, new) == [["set", ["topics", "T", "queues", "0", "max"], 11]]


def test_a_group_that_left_is_deleted():
    assert difference({"groups": {"g": {}, "h": {}}}, {"groups": {"h": {}}}) == [["delete", ["groups", "g"]]]


@pytest.mark.parametrize(
    "operation",
    [
        ["set", ["missing", "key"], 1],
        ["set", ["list", "0"], 1],
        ["delete", ["missing"]],
        ["append", ["number"], [1], 5],
        ["append", ["list"], [1], 0],
        ["splice", ["list"], 0, 9, []],
        ["splice", ["list"], -1, 0, []],
        ["splice", ["object"], 0, 0, []],
        ["rename", ["list"], "x"],
        [],
    ],
)
def test_an_operation_that_does_not_fit_is_refused_by_name(operation):
    with pytest.raises(PatchRefused):
        apply_patch({"list": [1], "number": 3}, [operation])
