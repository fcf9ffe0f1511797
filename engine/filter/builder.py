"""The builder that creates nodes for the rules of the grammar, and refuses invalid comparisons (RocketMQ: the
``create...`` methods of ``ComparisonExpression``, ``LogicExpression``, ``UnaryExpression`` and ``ConstantExpression``).

The parser calls a method per rule, innermost first, so nothing here is recursive.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from lark import Token, Transformer

from engine.filter.errors import FilterProblem
from engine.filter.expression import (
    And,
    Cast,
    Constant,
    Equal,
    Expression,
    In,
    IsNull,
    Negative,
    Not,
    Or,
    Ordered,
    Property,
)
from engine.filter.values import INTEGER_MAX, LONG_MAX, JavaLong, compare

#: The maximum number of texts in one IN list.
IN_VALUES_MAX = 1_000
#: Java's ``Double.MIN_VALUE``. RocketMQ uses it as if it were the most negative double, so 0.0 is refused.
_DOUBLE_MIN = 4.9e-324

#: The arguments of a rule of the grammar: nodes and the words between them.
_Part = Expression | Token


class PartRefused(Exception):
    """A part of an expression that the grammar allows but RocketMQ does not (``FilterSyntaxError``).

    ``start`` and ``end`` are the part's position in the text.
    """

    def __init__(
        self, part: Expression | Token, problem: FilterProblem, details: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(problem)
        self.start, self.end = _span(part)
        self.problem = problem
        self.details = details


class ExpressionBuilder(Transformer[Token, Expression]):
    """A builder with one method per rule of :mod:`engine.filter.grammar`."""

    # --- literals and properties -------------------------------------------------------------------------------------

    def text(self, parts: Sequence[Token]) -> Expression:
        (token,) = parts
        return Constant(*_span(token), _decoded(token))

    def integer(self, parts: Sequence[Token]) -> Expression:
        (token,) = parts
        digits = token.rstrip("lL")
        if len(digits) > len(str(LONG_MAX)) or int(digits) > LONG_MAX:
            raise PartRefused(token, FilterProblem.INTEGER_TOO_LARGE)
        value = int(digits)
        # The L does not make it a long: RocketMQ removes it and checks whether the rest fits into 32 bits.
        return Constant(*_span(token), value if value <= INTEGER_MAX else JavaLong(value))

    def float(self, parts: Sequence[Token]) -> Expression:
        (token,) = parts
        value = float(token)
        if math.isinf(value) or value < _DOUBLE_MIN:
            raise PartRefused(token, FilterProblem.FLOAT_OUT_OF_RANGE)
        return Constant(*_span(token), value)

    def true(self, parts: Sequence[Token]) -> Expression:
        return Constant(*_span(parts[0]), True)

    def false(self, parts: Sequence[Token]) -> Expression:
        return Constant(*_span(parts[0]), False)

    def null(self, parts: Sequence[Token]) -> Expression:
        return Constant(*_span(parts[0]), None)

    def property(self, parts: Sequence[Token]) -> Expression:
        # One string per name, however often it occurs in expressions.
        return Property(*_span(parts[0]), sys.intern(str(parts[0])))

    # --- combined conditions -----------------------------------------------------------------------------------------

    def brackets(self, parts: Sequence[_Part]) -> Expression:
        return _nodes(parts)[0]

    def disjunction(self, parts: Sequence[_Part]) -> Expression:
        operands = tuple(as_condition(node) for node in _nodes(parts))
        return Or(operands[0].start, operands[-1].end, operands)

    def conjunction(self, parts: Sequence[_Part]) -> Expression:
        operands = tuple(as_condition(node) for node in _nodes(parts))
        return And(operands[0].start, operands[-1].end, operands)

    def negation(self, parts: Sequence[_Part]) -> Expression:
        (operand,) = _nodes(parts)
        return Not(_span(parts[0])[0], operand.end, as_condition(operand))

    def negative(self, parts: Sequence[_Part]) -> Expression:
        (operand,) = _nodes(parts)
        return Negative(_span(parts[0])[0], operand.end, operand)

    # --- comparisons -------------------------------------------------------------------------------------------------

    def equal(self, parts: Sequence[_Part]) -> Expression:
        left, right = _nodes(parts)
        for side in (left, right):
            if isinstance(side, Constant) and side.value is None:
                raise PartRefused(side, FilterProblem.EQUALS_NULL)
        if isinstance(left, Constant) and isinstance(right, Constant) and left.is_condition and not right.is_condition:
            details = {"left": str(left), "right": str(right)}
            raise PartRefused(right, FilterProblem.BOOLEAN_EQUALS_OTHER, details)
        return Equal(left.start, right.end, left, right)

    def not_equal(self, parts: Sequence[_Part]) -> Expression:
        return _opposite(self.equal(parts))

    def is_null(self, parts: Sequence[_Part]) -> Expression:
        (operand,) = _nodes(parts)
        return IsNull(operand.start, _span(parts[-1])[1], operand)

    def is_not_null(self, parts: Sequence[_Part]) -> Expression:
        return _opposite(self.is_null(parts))

    def ordered(self, parts: Sequence[_Part]) -> Expression:
        left, right = _nodes(parts)
        return _ordered(str(parts[1]), left, right, "< > <= >=")

    def between(self, parts: Sequence[_Part]) -> Expression:
        value, low, high = _nodes(parts)
        lower, upper = _ordered(">=", value, low, "BETWEEN"), _ordered("<=", value, high, "BETWEEN")
        if isinstance(low, Constant) and isinstance(high, Constant) and _is_greater(low, high):
            details = {"low": str(low), "high": str(high)}
            raise PartRefused(low, FilterProblem.BETWEEN_REVERSED, details)
        return And(value.start, high.end, (lower, upper))

    def not_between(self, parts: Sequence[_Part]) -> Expression:
        value, low, high = _nodes(parts)
        # As in RocketMQ, the order of the two values is not checked here.
        below, above = _ordered("<", value, low, "BETWEEN"), _ordered(">", value, high, "BETWEEN")
        return Or(value.start, high.end, (below, above))

    def texts(self, parts: Sequence[Token]) -> Sequence[Token]:
        if len(parts) > IN_VALUES_MAX:
            details = {"count": str(len(parts)), "limit": str(IN_VALUES_MAX)}
            raise PartRefused(parts[IN_VALUES_MAX], FilterProblem.TOO_MANY_VALUES, details)
        return parts

    def is_in(self, parts: Sequence[object]) -> Expression:
        return _in(parts, is_negated=False)

    def is_not_in(self, parts: Sequence[object]) -> Expression:
        return _in(parts, is_negated=True)


def as_condition(node: Expression) -> Expression:
    """Return ``node`` where a condition is required. Raises :class:`PartRefused` for a number, a text or a negative."""
    if node.is_condition:
        return node
    if isinstance(node, Property):
        return Cast(node.start, node.end, node)
    raise PartRefused(node, FilterProblem.NOT_BOOLEAN)


def _ordered(operator: str, left: Expression, right: Expression, words: str) -> Expression:
    for side in (left, right):
        if side.is_condition or (isinstance(side, Constant) and isinstance(side.value, str)):
            raise PartRefused(side, FilterProblem.NOT_ORDERED, {"operator": words})
    return Ordered(left.start, right.end, operator, left, right)


def _is_greater(low: Constant, high: Constant) -> bool:
    assert low.value is not None and high.value is not None, "NULL cannot be ordered"
    return compare(high.value, low.value) < 0


def _in(parts: Sequence[object], *, is_negated: bool) -> Expression:
    operand, close = cast("Expression", parts[0]), cast("Token", parts[-1])
    if not isinstance(operand, Property):
        raise PartRefused(operand, FilterProblem.IN_NEEDS_PROPERTY)
    tokens = cast("Sequence[Token]", parts[-2])
    values = tuple(_decoded(token) for token in tokens)
    return In(operand.start, _span(close)[1], operand, values, is_negated, frozenset(values))


def _opposite(condition: Expression) -> Expression:
    return Not(condition.start, condition.end, condition)


def _nodes(parts: Sequence[_Part]) -> list[Expression]:
    return [part for part in parts if isinstance(part, Expression)]


def _span(part: _Part) -> tuple[int, int]:
    if isinstance(part, Expression):
        return part.start, part.end
    assert part.start_pos is not None and part.end_pos is not None, "the lexer knows where it is"
    return part.start_pos, part.end_pos


def _decoded(token: Token) -> str:
    return token[1:-1].replace("''", "'")
