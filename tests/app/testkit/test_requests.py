"""The request types of the test kit's HTTP API, and the tables that are made from them."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.testkit.operations import OPERATIONS
from app.testkit.requests import AddFault, Matching, fields_of
from engine.faults.fault_rule import RULE_FIELDS
from engine.fields.field import read_fields
from engine.fields.refusal import FieldRefused
from tests.support.tiers import examples

REQUESTS = list(dict.fromkeys(operation.request for operation in OPERATIONS))
REQUIRED = {"topic": "a", "group": "a", "keys": ["a", "b"], "what": "drop", "fault_id": 1, "ms": 1}
TEXTS = st.text("a*7", max_size=3) | st.just("x" * 256)


def test_a_rule_may_be_what_a_rule_of_the_engine_may_be():
    mine = {one.name: one for one in fields_of(AddFault)}
    assert {one.name for one in RULE_FIELDS} == mine.keys() - {"what", "frame"}
    for one in RULE_FIELDS:
        assert mine[one.name] == replace(one, default=None, allowed=tuple(sorted(one.allowed)))
    assert {one.name for one in fields_of(Matching)} == mine.keys() - {"what", "ms", "code"}


@pytest.mark.parametrize("request_type", REQUESTS, ids=lambda one: one.__name__)
def test_the_table_of_a_request_allows_what_its_type_allows(request_type):
    table = fields_of(request_type)
    given_always = {one.name: REQUIRED[one.name] for one in table if one.default is ...}
    texts = TEXTS | st.sampled_from([str(word) for one in table for word in one.allowed] or [""])
    lists = st.lists(TEXTS, max_size=3) | st.dictionaries(TEXTS, TEXTS, max_size=2)
    values = texts | st.integers(-1, 1_001) | st.floats(-1, 2) | st.booleans() | lists
    changes = st.dictionaries(st.sampled_from([*(one.name for one in table), "other"]), values, max_size=2)

    @settings(max_examples=examples(quick=40, full=400), deadline=None)
    @given(changes)
    def check(changed):
        data = {**given_always, **changed}
        try:
            expected = msgspec.convert(data, request_type)
        except msgspec.ValidationError:
            with pytest.raises(FieldRefused):
                read_fields(table, data)
        else:
            assert request_type(**read_fields(table, data)) == expected

    check()
