"""The page's copy of the state: static/common/patch.js applies patches as app/foundation/patch.py means them."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.foundation.json_types import JsonValue
from app.foundation.patch import PatchRefused, apply_patch, difference
from tests.support.javascript import JavaScriptError
from tests.support.tiers import examples

keys = st.sampled_from(["a", "b", "0", "orders", "%RETRY%g", "__proto__", "constructor", "toString", "", "主题", "😀"])
scalars = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
) | st.text(max_size=4)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=14
)
reordered = st.lists(st.integers(0, 5), max_size=8).flatmap(
    lambda items: st.tuples(st.just(items), st.permutations(items))
)

MODULE = "common/patch.js"


def exact(tree: JsonValue) -> str:
    """JSON text tells 1 and true apart; 1 and 1.0 are one number in JavaScript, which writes -0 as 0."""
    return json.dumps(json.loads(json.dumps(tree), parse_int=float, parse_float=_not_negative_zero), sort_keys=True)


def _not_negative_zero(text: str) -> float:
    return float(text) + 0.0


@settings(max_examples=examples(quick=100, full=500))
@given(old=trees, new=trees)
def test_the_page_applies_patches_as_the_server_means_them(javascript, old, new):
    operations = difference(old, new)
    assert exact(javascript(MODULE, "applyPatch", old, operations)) == exact(new)


@given(lists=reordered)
def test_a_list_in_another_order_arrives_in_that_order(javascript, lists):
    old, new = lists
    assert javascript(MODULE, "applyPatch", {"list": old}, difference({"list": old}, {"list": new})) == {"list": new}


paths = st.lists(keys, max_size=2)
whole = st.integers(-1, 3)
operations_of_any_kind = st.one_of(
    st.builds(lambda path, value: ["set", path, value], paths, scalars),
    st.builds(lambda path: ["delete", path], paths),
    st.builds(lambda path, items, kept: ["append", path, items, kept], paths, st.lists(scalars, max_size=2), whole),
    st.builds(
        lambda path, start, count, items: ["splice", path, start, count, items],
        paths,
        whole,
        whole,
        st.lists(scalars, max_size=2),
    ),
)


@settings(max_examples=examples(quick=100, full=500))
@given(tree=trees, operations=st.lists(operations_of_any_kind, max_size=3))
def test_the_page_refuses_what_the_server_refuses(javascript, tree, operations):
    try:
        wanted = apply_patch(copy.deepcopy(tree), operations)
    except PatchRefused:
        with pytest.raises(JavaScriptError, match="PatchRefused"):
            javascript(MODULE, "applyPatch", tree, operations)
    else:
        assert exact(javascript(MODULE, "applyPatch", tree, operations)) == exact(wanted)


@pytest.mark.parametrize(
    "operation",
    [
        ["append", ["list"], 7, 3],
        ["append", ["list"], [1], 1, 1],
        ["append", ["list"], [1]],
        ["splice", ["list"], 0, 0, [], 1],
        ["splice", ["list"], 0, 0],
        ["rename", ["list"], 1],
        ["delete", []],
        ["delete", ["object", "a"], 1],
        ["delete", [7]],
        ["delete", ["object", 7]],
        ["set", ["list", "0"], 1],
        ["set", [7], 1],
        ["set", ["object"]],
        ["set", "object", 1],
        [["splice"], ["list"], 0, 0, []],
        ["set", None, 1],
        "set",
        None,
        [],
    ],
)
def test_malformed_operations_are_refused_by_both(javascript, operation):
    tree: JsonValue = {"list": [1, 2], "object": {"a": 1, "7": 2}, "7": 3}
    with pytest.raises(PatchRefused):
        apply_patch(copy.deepcopy(tree), [operation])
    with pytest.raises(JavaScriptError, match="PatchRefused"):
        javascript(MODULE, "applyPatch", tree, [operation])
