"""500 expressions with the outcome that RocketMQ 4.9.8's own parser and evaluation give them.

They are a random choice of 80,000 that were compared, all with the same outcome: true, false, unknown, error (the
evaluation ends with an exception) and mistake (the expression does not compile).
"""

import json
from collections import Counter
from pathlib import Path

from engine.filter.bloom_filter import BloomFilter
from engine.filter.compiler import compile_expression
from engine.filter.errors import EvaluationFailed, FilterSyntaxError
from engine.filter.expression import Evaluation

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "sql92-expressions.json").read_text(encoding="utf-8"))


def outcome(expression: str, properties: dict[str, str]) -> str:
    try:
        value = Evaluation(properties).value_of(compile_expression(expression))
    except FilterSyntaxError:
        return "mistake"
    except EvaluationFailed:
        return "error"
    return "unknown" if value is None else str(value).lower()


def test_every_expression_has_the_outcome_that_it_has_in_rocketmq():
    different = [(row, outcome(*row[:2])) for row in GOLDEN if outcome(*row[:2]) != row[2]]
    assert different == []


def test_the_golden_expressions_have_every_outcome():
    counts = Counter(row[2] for row in GOLDEN)
    assert set(counts) == {"true", "false", "unknown", "error", "mistake"}
    assert min(counts.values()) >= 80


def test_bit_positions_are_those_of_rocketmq():
    small, large = BloomFilter(20, 32), BloomFilter(3, 1_000)
    assert small.positions("young#People") == (111, 22, 98)
    assert small.positions("g#T") == (90, 68, 28)
    assert small.positions("") == (0, 0, 0)
    assert small.positions("消费组#主题") == (101, 21, 111)
    assert large.positions("a-rather-long-group-name#and-a-long-topic-name") == (3044, 1571, 98, 5929, 4456, 2983)
