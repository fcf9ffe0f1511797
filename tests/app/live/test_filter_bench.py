"""The filter bench over HTTP, and its page."""

import pytest

from app.foundation.translator import texts
from app.live.filter_bench import EXPRESSION_MAX, PROPERTIES_MAX, VALUE_MAX
from app.web_application import create_app
from engine.filter.errors import EvaluationProblem, FilterProblem
from engine.filter.evaluation_tree import PartOutcome
from tests.support.live.fixture_server import FixtureSource


@pytest.fixture
def client():
    return create_app(FixtureSource(0, clock=lambda: 1_800_000_000.0)).app.test_client()


def post(client, what, body, status=200):
    response = client.post(f"/api/filter/{what}", json=body)
    assert response.status_code == status, response.text
    return response.get_json()


def evaluate(client, expression, **properties):
    return post(client, "evaluate", {"expression": expression, "properties": properties})


def test_an_expression_is_evaluated_part_by_part(client):
    answer = evaluate(client, "age > 6 OR city = 'Lyon'", age="7", city="Oslo")
    assert answer["matches"] is True
    tree = answer["tree"]
    assert (tree["kind"], tree["outcome"], tree["start"], tree["end"]) == ("Or", "true", 0, 24)
    assert [part["outcome"] for part in tree["parts"]] == ["true", "not-evaluated"]
    assert tree["parts"][0]["parts"][0] == {
        "kind": "Property",
        "text": "age",
        "start": 0,
        "end": 3,
        "outcome": "value",
        "value": "'7'",
        "java_type": "String",
        "failure": None,
        "parts": [],
    }


def test_unknown_and_failed_expressions_do_not_match(client):
    assert evaluate(client, "NOT (age > 6)")["tree"]["outcome"] == "unknown"
    answer = evaluate(client, "age > 6 OR TRUE", age="seven")
    assert answer["matches"] is False
    assert answer["tree"]["parts"][0]["failure"] == {
        "problem": "no_number",
        "details": {"text": "'seven'", "kind": "Integer"},
    }


def test_a_mistake_is_answered_with_its_column_and_what_is_allowed(client):
    mistake = evaluate(client, "age BETWEN 0 AND 6")["mistake"]
    assert (mistake["problem"], mistake["line"], mistake["column"], mistake["position"]) == ("unexpected_word", 1, 5, 4)
    assert mistake["marked"] == "  age BETWEN 0 AND 6\n      ^"
    assert "BETWEEN" in mistake["allowed"]
    assert mistake["text"].startswith("column 5: BETWEN is not allowed here")


def test_an_empty_expression_is_a_mistake_like_any_other(client):
    assert evaluate(client, "")["mistake"]["problem"] == "empty"


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ([], "body"),
        ({}, "expression"),
        ({"expression": 5}, "expression"),
        ({"expression": "a" * (EXPRESSION_MAX + 1)}, "expression"),
        ({"expression": "a", "properties": []}, "properties"),
        ({"expression": "a", "properties": {"a": 5}}, "properties.a"),
        ({"expression": "a", "properties": {"a": "x" * (VALUE_MAX + 1)}}, "properties.a"),
        ({"expression": "a", "properties": {"": "x"}}, "properties"),
        ({"expression": "a", "properties": {f"p{n}": "" for n in range(PROPERTIES_MAX + 1)}}, "properties"),
        ({"expression": "a", "more": 1}, "more"),
    ],
)
def test_a_bad_request_is_refused_by_name(client, body, parameter):
    answer = post(client, "evaluate", body, 400)
    assert answer["parameter"] == parameter
    assert answer["allowed"]


def test_only_json_is_read(client):
    assert client.post("/api/filter/evaluate", data="expression=a").status_code == 400
    assert client.post("/api/filter/evaluate", data="{", content_type="application/json").status_code == 400
    assert client.get("/api/filter/evaluate").status_code == 405


@pytest.mark.parametrize(
    ("expression", "tag", "broker", "client_takes"),
    [
        ("Aa || Cc", "BB", True, False),
        ("Aa || Cc", "Cc", True, True),
        ("Aa", "Dd", False, False),
        ("Aa", None, False, False),
        ("*", None, True, True),
    ],
)
def test_tags_are_compared_as_broker_and_client_do(client, expression, tag, broker, client_takes):
    answer = post(client, "tags", {"expression": expression, "tag": tag})
    assert (answer["broker_lets_through"], answer["client_takes"]) == (broker, client_takes)


def test_tags_come_with_their_codes(client):
    answer = post(client, "tags", {"expression": "Aa||Cc", "tag": "BB"})
    assert answer["wanted"] == [{"tag": "Aa", "code": 2112}, {"tag": "Cc", "code": 2176}]
    assert answer["code"] == 2112
    assert post(client, "tags", {"expression": "||", "tag": "a"}, 400)["parameter"] == "expression"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_is_there_in_both_languages(client, language):
    page = client.get(f"/filters?lang={language}")
    assert page.status_code == 200
    assert texts(language)["filter.title"] in page.text
    assert "/filters" in client.get(f"/lab?lang={language}").text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_problem_and_outcome_has_a_text(language):
    keys = set(texts(language))
    assert {f"filter.problem.{problem}" for problem in FilterProblem} <= keys
    assert {f"filter.failure.{problem}" for problem in EvaluationProblem} <= keys
    assert {f"filter.outcome.{outcome}" for outcome in PartOutcome} <= keys
    assert {f"filter.matches_not_{outcome}" for outcome in ("false", "unknown", "error")} <= keys
