"""Random expressions, compiled and evaluated by RocketMQ's own filter and by ours.

The golden file ``tests/golden/sql92-expressions.json`` is a choice of what this compares. What RocketMQ ignores after a
whole expression is a mistake here, and is left out.
"""

from __future__ import annotations

import subprocess
from random import Random

import pytest

from tests.engine.filter.test_golden_expressions import outcome
from tests.interop.harness.installs import JAVA_SOURCES, tool
from tests.interop.harness.rocketmq_jars import server_jars

pytestmark = pytest.mark.interop_java

_COUNT = 10_000
_NAMES = ("a", "b", "u", "N_1", "$x")
#: ``u`` never has one of them.
_VALUES = (
    *("5", "7", "-3", "+4", "007", "2147483647", "2147483648", "3000000000", "9223372036854775807"),
    *("9223372036854775808", "5.0", "5.5", ".5", "1e3", "1E-2", "-0.0", "0.0", "0", "NaN", "Infinity", "-Infinity"),
    *("0x1p3", "5f", "5d", " 5 ", "true", "TRUE", "false", "x", "it's", "", "abc", "null", "٥", "1_0", "5L", "1e400"),
)
_NUMBERS = (
    *("0", "5", "7", "5L", "2147483647", "2147483648", "3000000000l", "9223372036854775807", "5.5", ".5", "5."),
    *("1E3", "1e-2", "0.25", "9223372036854775808", "0.0", "1E400"),
)
_TEXTS = ("'x'", "'5'", "''", "'it''s'", "'true'", "'abc'")
_WORDS = ("TRUE", "FALSE", "true", "NULL", "null")


class _Generator:
    """Expressions of which most compile."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def properties(self) -> dict[str, str]:
        return {name: self._pick(_VALUES) for name in _NAMES if name != "u" and self._random.random() < 0.75}

    def condition(self, depth: int = 0) -> str:
        forms = [
            lambda: f"{self._operand(depth)} {self._pick(('=', '<>', '<', '<=', '>', '>='))} {self._operand(depth)}",
            lambda: f"{self._name()} {self._maybe_not()}BETWEEN {self._operand(2)} AND {self._operand(2)}",
            lambda: f"{self._name()} {self._maybe_not()}IN ({', '.join([self._pick(_TEXTS)] * 2)})",
            lambda: f"{self._operand(depth)} IS {self._maybe_not()}NULL",
            lambda: f"NOT {self._operand(depth)}",
        ]
        if depth < 3:
            forms.append(lambda: f"NOT ({self.condition(depth + 1)})")
            join = (" AND ", " OR ", " and ", " Or ")
            forms += [lambda: f"{self.condition(depth + 1)}{self._pick(join)}{self.condition(depth + 1)}"] * 2
        return self._random.choice(forms)()

    def _operand(self, depth: int) -> str:
        chance = self._random.random()
        if chance < 0.45:
            return self._name()
        if chance < 0.72:
            return self._pick(_NUMBERS)
        if chance < 0.88:
            return self._pick((*_TEXTS, *_WORDS))
        if chance < 0.95 or depth >= 2:
            return f"{self._pick(('-', '+', '- -'))} {self._pick((*_NUMBERS, *_NAMES))}"
        return f"({self.condition(depth + 1)})"

    def _name(self) -> str:
        return self._pick(_NAMES)

    def _maybe_not(self) -> str:
        return self._pick(("", "NOT "))

    def _pick(self, words: tuple[str, ...]) -> str:
        return self._random.choice(words)


def test_every_expression_has_the_same_outcome_in_rocketmqs_filter_and_in_ours():
    generator = _Generator(7)
    rows = [(generator.condition(), generator.properties()) for _ in range(_COUNT)]
    lines = ["\t".join((text, *(word for pair in values.items() for word in pair))) for text, values in rows]
    program = JAVA_SOURCES / "filter" / "EvaluateExpressions.java"
    done = subprocess.run(
        [tool("java"), "-cp", server_jars().class_path, str(program)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    theirs = done.stdout.splitlines()
    assert len(theirs) == len(rows), done.stderr[-2_000:]
    different = [(row, java, outcome(*row)) for row, java in zip(rows, theirs, strict=True) if java != outcome(*row)]
    assert different == []
    assert {"true", "false", "unknown", "error", "mistake"} == set(theirs)
