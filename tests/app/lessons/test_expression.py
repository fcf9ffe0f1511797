"""What expressions mean, and what is said about those that mean nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lessons.errors import ExpressionError
from app.lessons.expression import LENGTH_MAX, figure_text
from app.lessons.expression_parser import parse_expression

VIEW = {
    "event": 12,
    "time_us": 3_060_000,
    "is_over": False,
    "nodes": {
        "B1": {
            "role": "broker",
            "status": "running",
            "commit_log": {"max": 382, "records": [{"key": "a", "size_bytes": 191}, {"key": "b", "size_bytes": 200}]},
            "topics": {"Orders": {"queues": {"0": {"max": 2}, "1": {"max": 3}}}},
        },
        "C1": {
            "role": "consumer",
            "status": "off",
            "failure": None,
            "process_queues": {"Orders@0": {"topic": "Orders"}, "%RETRY%g@0": {"topic": "%RETRY%g"}},
            "listener_calls": [{"keys": ["a", "b"], "queue_id": 0}],
            "members": {"10.0.0.4@C1": 7},
        },
    },
    "history": {
        "consumed": [
            {"node": "C1", "key": "a", "time_us": 10},
            {"node": "C2", "key": "a", "time_us": 20},
            {"node": "C1", "key": "b", "time_us": 30},
        ],
    },
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("event", 12),
        ("nodes.B1.commit_log.max", 382),
        ("nodes.B1.topics.Orders.queues.1.max", 3),
        ("nodes.B1.topics.Orders.queues.*.max", [2, 3]),
        ("sum(nodes.B1.topics.Orders.queues.*.max)", 5),
        ("min(nodes.B1.topics.Orders.queues.*.max)", 2),
        ("max(nodes.B1.topics.Orders.queues.*.max)", 3),
        ("nodes.B1.commit_log.records[-1].size_bytes", 200),
        ("nodes.B1.commit_log.records[key=a][0].size_bytes", 191),
        ("nodes.B1.commit_log.records.key", ["a", "b"]),
        ("nodes.*[role=consumer].status", ["off"]),
        ("count(nodes.*[role=consumer].process_queues.*[topic=Orders])", 1),
        ("count(nodes.*.listener_calls[keys=b])", 1),
        ("count(nodes.*.listener_calls[keys=c])", 0),
        ("keys(nodes.C1.process_queues)", ["Orders@0", "%RETRY%g@0"]),
        ("nodes.C1.process_queues.Orders@0.topic", "Orders"),
        ("nodes.C1.members.'10.0.0.4@C1'", 7),
        ("history.consumed[node=C1].key", ["a", "b"]),
        ("history.consumed[node=C1, key!=a].key", ["b"]),
        ("count(distinct(history.consumed.key))", 2),
        ("first(history.consumed.time_us)", 10),
        ("last(history.consumed.time_us)", 30),
        ("(time_us - 60000) / 1000000", 3),
        ("time_us / 1000000", 3.06),
        ("2 + 3 * 4", 14),
        ("(" * 200 + "event" + ")" * 200, 12),
        ("-" * 200 + "event", 12),
        ("history.and", None),
        ("-event + 20", 8),
        ("count(history.nothing)", 0),
        ("nodes.C9.status", None),
        ("nodes.C9.status + 1", None),
        ("event / 0", None),
        ("9" * 400 + " / 3", None),
        ("1.5 * " + "9" * 400, None),
        ("9" * 400 + ".5 - event", None),
        (" * ".join(["9" * 90] * 5), None),
        ("9" * 400 + " > 1.5", True),
        ("min(history.nothing)", None),
    ],
)
def test_an_expression_has_its_value(text, value):
    assert parse_expression(text).value(VIEW) == value


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("event >= 12 and event < 13", True),
        ("event > 12 or is_over", False),
        ("not is_over", True),
        ("not not is_over", False),
        ("nodes.B1.status = 'running'", True),
        ("nodes.C1.failure = null", True),
        ("nodes.C9.status = null", True),
        ("nodes.C9.x < 1", False),
        ("nodes.C9.x >= 1", False),
        ("not nodes.C9.x >= 1", True),
        ("is_over = 0", False),
        ("history.consumed[key=z]", False),
        ("(event = 1 or event = 12) and not (event = 1)", True),
        ("event = 1 or event = 12 and event = 13", False),
    ],
)
def test_a_condition_holds_or_not(text, holds):
    assert parse_expression(text).holds(VIEW) is holds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["ends too early"]),
        ("nodes.", ["ends too early", "a number | * | a 'text' | a name"]),
        ("node.B1", ["'node'", "nodes, history"]),
        ("lenght(nodes)", ["no function 'lenght'", "count, sum"]),
        ("count(nodes", ["ends too early", " | ) | "]),
        ("nodes.B1 nodes.B2", ["'nodes'", "column 10", "the end"]),
        ("1 < 2 < 3", ["'<'", "the end | and | - | or | + | / | *"]),
        ("nodes[role]", ["']'", "allowed: = | !="]),
        ("nodes[1.5]", ["'.'", "allowed: ]"]),
        ("nodes[-role=1]", ["'-'", "an integer | a name"]),
        ("nodes[1x=2", ["ends too early"]),
        ("nodes[='a']", ["'='", "an integer | a name"]),
        ("event = ;", ["';'", "not allowed"]),
        ("event = 'abc", ["the text that begins at column 9 has no end", "a 'text'"]),
        ('nodes."B1', ["the text that begins at column 7 has no end"]),
        ("event = １", ["'１'", "column 9"]),
        ("event\0", ["'\\x00'", "column 6"]),
        ("__import__('os')", ["no function '__import__'"]),
        ("nodes.B1.status = running", ["'running'", "a path cannot begin"]),
        ("1" * (LENGTH_MAX + 1), ["characters", "allowed"]),
        ("nodes.B1 and", ["ends too early"]),
        ("and", ["'and'"]),
    ],
)
def test_what_is_no_expression_is_refused_with_what_is_allowed(text, words):
    with pytest.raises(ExpressionError) as refused:
        parse_expression(text)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize(
    "text", ["-" * (LENGTH_MAX - 5) + "event", "not " * 120 + "event", "sum(" * 90 + "event" + ")" * 90]
)
def test_the_deepest_expression_has_a_value_far_down_a_stack(text):
    expression = parse_expression(text)

    def value_below(frames: int) -> object:
        return value_below(frames - 1) if frames else expression.value(VIEW)

    assert value_below(300) is not None


def test_nesting_that_has_no_end_is_refused_like_any_mistake():
    for text in ("(" * LENGTH_MAX, "-" * LENGTH_MAX, "not " * 125, "nodes" + ".*" * 200 + "[", "count(" * 83):
        with pytest.raises(ExpressionError, match="ends too early; allowed: "):
            parse_expression(text)


#: A text for each name in an error's list of what is allowed; others stand for themselves.
ALLOWED_TEXTS = {
    "a name": "event",
    "a number": "1",
    "an integer": "1",
    "a 'text'": "'x'",
    "true": "true",
    "the end": "",
}
_WORDS = [*"()[]=<+-.*,;", "event", "nodes", "count", "and", "not", "'x'", "7"]


@given(st.lists(st.sampled_from(_WORDS), max_size=8).map(" ".join))
def test_what_an_error_says_is_allowed_is_allowed_there(text):
    said = error_of(text)
    assert said is None or "; allowed: " in said
    if said and (refused := re.search(r"(?: column (\d+)|ends too early); allowed: (.*)", said)):
        before = text[: int(refused[1]) - 1] if refused[1] else text
        for name in refused[2].replace(" | false | null", "").split(" | "):
            after = error_of(f"{before} {ALLOWED_TEXTS.get(name, name)}")
            assert after is None or re.search("ends too early|cannot begin|no function", after), name


def error_of(text: str) -> str | None:
    """Return what is wrong with a text, None if nothing is."""
    try:
        parse_expression(text)
    except ExpressionError as error:
        return str(error)
    return None


def test_nothing_of_python_is_within_reach():
    assert parse_expression("event.__class__").value(VIEW) is None
    assert parse_expression("nodes.B1.keys").value(VIEW) is None


@given(st.text(alphabet="nodes.B1*[]()=<>!+-/ '\"0a@%&|andor,", max_size=40))
def test_any_text_is_an_expression_or_an_error_and_never_anything_else(text):
    try:
        expression = parse_expression(text)
    except ExpressionError:
        return
    expression.value(VIEW)


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_arithmetic_is_that_of_numbers(left, right):
    view = {**VIEW, "event": left, "time_us": right}
    assert parse_expression("event + time_us * 2").value(view) == left + right * 2
    assert parse_expression("event - time_us").value(view) == left - right
    assert parse_expression("event / time_us").value(view) == pytest.approx(left / right)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (3, "3"),
        (3.0, "3"),
        (3.06, "3.06"),
        (9_999, "9,999"),
        (-35_000, "-35,000"),
        (0.04000000001, "0.04"),
        (True, "true"),
        ([], "–"),
        (["a", "b"], "a, b"),
        ("x", "x"),
    ],
)
def test_a_figure_reads_well(value, text):
    assert figure_text(value) == text
