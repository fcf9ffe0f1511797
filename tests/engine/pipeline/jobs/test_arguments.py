"""Arguments: texts and JSON values alike, every refusal names what was wrong and what is allowed, in both languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pipeline.errors import WrongArgument
from engine.pipeline.jobs.arguments import DURATION_UNITS_MS, ArgumentRefused, read_arguments
from engine.pipeline.jobs.description import JobDescription, JobParameter, ParameterKind
from engine.pipeline.jobs.registry import JOB_NAMES, describe

BOTH = {"en": "x", "zh": "x"}


def job(*parameters):
    return JobDescription("a-job", BOTH, BOTH, parameters)


def parameter(kind, **settings):
    return JobParameter("it", kind, text=BOTH, **settings)


def read(kind, value, **settings):
    return read_arguments(job(parameter(kind, **settings)), {"it": value})["it"]


@pytest.mark.parametrize(
    ("kind", "given_value", "expected"),
    [
        (ParameterKind.TOPIC, " orders ", "orders"),
        (ParameterKind.TOPIC, "%RETRY%billing", "%RETRY%billing"),
        (ParameterKind.TOPICS, "orders, payments,orders", "orders,payments"),
        (ParameterKind.TOPICS, ["orders", "payments"], "orders,payments"),
        (ParameterKind.GROUP, "billing", "billing"),
        (ParameterKind.GROUPS, "billing@Orders, mailing,billing@Orders", "billing@Orders,mailing"),
        (ParameterKind.TEXT, 7, "7"),
        (ParameterKind.FOLDER, "s3a://bucket/x", "s3a://bucket/x"),
        (ParameterKind.INTEGER, "12", 12),
        (ParameterKind.INTEGER, -3, -3),
        (ParameterKind.DURATION, "500ms", 500),
        (ParameterKind.DURATION, "10s", 10_000),
        (ParameterKind.DURATION, "5 min", 300_000),
        (ParameterKind.DURATION, "2h", 7_200_000),
        (ParameterKind.DURATION, "1500", 1_500),
        (ParameterKind.DURATION, 1_500, 1_500),
        (ParameterKind.SWITCH, "yes", True),
        (ParameterKind.SWITCH, False, False),
        (ParameterKind.SWITCH, "off", False),
    ],
)
def test_a_value_is_read_as_its_kind_says(kind, given_value, expected):
    assert read(kind, given_value) == expected


@pytest.mark.parametrize(
    ("kind", "value", "settings", "named"),
    [
        (ParameterKind.TOPIC, "a b", {}, "'a b' is not allowed; allowed: letters, digits and % | - _"),
        (ParameterKind.TOPIC, "x" * 300, {}, "at most"),
        (ParameterKind.TOPICS, "orders,,payments", {}, "it[1]: has 0 characters"),
        (ParameterKind.GROUP, "a/b", {}, "allowed"),
        (ParameterKind.GROUPS, "billing,,mailing", {}, "it[1]: has 0 characters"),
        (ParameterKind.GROUPS, "billing@", {}, "group@topic"),
        (ParameterKind.GROUPS, "@Orders", {}, "group@topic"),
        (ParameterKind.GROUPS, "billing@Orders@Mails", {}, "allowed"),
        (ParameterKind.GROUPS, "a/b@Orders", {}, "allowed"),
        (ParameterKind.TEXT, "two\nlines", {}, "one line"),
        (ParameterKind.TEXT, {"a": 1}, {}, "{'a': 1} is not allowed"),
        (ParameterKind.TEXT, True, {}, "True is not allowed"),
        (ParameterKind.INTEGER, "ten", {"minimum": 1}, "an integer from 1 to"),
        (ParameterKind.INTEGER, 1.5, {"minimum": 1, "maximum": 9}, "1 to 9"),
        (ParameterKind.INTEGER, True, {}, "an integer from"),
        (ParameterKind.INTEGER, 0, {"minimum": 1}, "an integer from 1 to"),
        (ParameterKind.INTEGER, 10, {"maximum": 9}, "to 9"),
        (ParameterKind.DURATION, "10 parsecs", {}, "10s"),
        (ParameterKind.DURATION, "1s", {"minimum": 2_000}, "a duration from 2000 to"),
        (ParameterKind.SWITCH, "perhaps", {}, "true or false"),
        (ParameterKind.CHOICE, "c", {"choices": ("a", "b")}, "a, b"),
        (ParameterKind.CHOICE, ["a"], {"choices": ("a", "b")}, "a, b"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_is_allowed(kind, value, settings, named):
    with pytest.raises(ArgumentRefused) as refused:
        read(kind, value, **settings)
    assert refused.value.parameter == "it"
    assert named in str(refused.value)
    assert set(refused.value.text) == {"en", "zh"} and len(str(refused.value)) < 400


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=9),
    lambda value: st.lists(value, max_size=3) | st.dictionaries(st.text(max_size=3), value, max_size=2),
    max_leaves=6,
)


@given(st.sampled_from(ParameterKind), JSON_VALUES, st.booleans())
def test_any_value_is_read_or_refused_in_both_languages(kind, value, required):
    refusal = None
    try:
        read(kind, value, required=required, choices=("a", "b"))
    except ArgumentRefused as refused:
        refusal = refused
    assert refusal is None or (refusal.parameter == "it" and refusal.text["en"] != refusal.text["zh"])


def test_a_parameter_without_argument_has_its_default_and_none_stays_none():
    described = job(JobParameter("first", ParameterKind.INTEGER, default=5), JobParameter("second", ParameterKind.TEXT))
    assert read_arguments(described, {"second": "  "}) == {"first": 5, "second": None}


def test_what_must_be_given_and_is_not_is_named():
    with pytest.raises(WrongArgument, match="it: is missing; allowed: letters"):
        read(ParameterKind.TOPIC, "", required=True)


def test_one_of_two_parameters_must_be_given():
    described = job(
        JobParameter("topics", ParameterKind.TOPICS, unless="folder"), JobParameter("folder", ParameterKind.FOLDER)
    )
    assert read_arguments(described, {"folder": "/data"})["topics"] is None
    assert read_arguments(described, {"topics": "orders"})["folder"] is None
    with pytest.raises(ArgumentRefused, match="topics: a value is required, unless folder is given"):
        read_arguments(described, {"topics": " "})


def test_an_unknown_argument_is_refused_with_the_known_ones():
    with pytest.raises(WrongArgument, match="topics: is not allowed here; allowed: it"):
        read_arguments(job(parameter(ParameterKind.TOPIC)), {"topics": "a"})


def test_names_may_be_written_with_dashes():
    described = job(JobParameter("trigger_ms", ParameterKind.DURATION))
    assert read_arguments(described, {"trigger-ms": "2s"}) == {"trigger_ms": 2_000}


@given(st.integers(0, 10**6), st.sampled_from(sorted(DURATION_UNITS_MS)))
def test_a_duration_is_its_number_times_its_unit_and_reading_it_twice_changes_nothing(number, unit):
    described = job(parameter(ParameterKind.DURATION))
    once = read_arguments(described, {"it": f"{number}{unit}"})
    assert once == {"it": number * DURATION_UNITS_MS[unit]} == read_arguments(described, once)


@pytest.mark.parametrize("name", JOB_NAMES)
def test_the_defaults_of_every_job_are_what_its_parameters_allow(name):
    description = describe(name)
    for one in description.parameters:
        assert one.help["en"] and one.help["zh"], one.name
        if one.default is not None:
            assert read_arguments(job(one), {one.name: one.default}) == {one.name: one.default}
    assert len({one.name for one in description.parameters}) == len(description.parameters)
    for table in description.tables:
        assert table.bad_column is None or table.bad_column in [column.name for column in table.columns]


@pytest.mark.parametrize("name", JOB_NAMES)
def test_every_number_and_every_duration_of_a_job_has_a_range(name):
    for one in describe(name).parameters:
        if one.kind in (ParameterKind.INTEGER, ParameterKind.DURATION):
            assert one.minimum is not None and one.maximum is not None, one.name
            for value in (one.minimum - 1, one.maximum + 1, f"{one.maximum + 1}"):
                with pytest.raises(ArgumentRefused, match=f"{one.minimum} to {one.maximum}"):
                    read_arguments(job(one), {one.name: value})
