"""The parsed form of a filter expression (RocketMQ: package ``filter.expression``).

Every node is small and frozen, and has its position in the text. As in RocketMQ some forms are composed of others::

    a <> b                 NOT (a = b)                    a IS NOT NULL              NOT (a IS NULL)
    a BETWEEN 1 AND 6      a >= 1 AND a <= 6              a NOT BETWEEN 1 AND 6      a < 1 OR a > 6

A property in place of a condition is *cast*: a property is a text, never a boolean, so the cast is false if the
property exists and unknown if it is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from engine.filter.errors import EvaluationFailed
from engine.filter.truth import AND, NOT, OR, Truth
from engine.filter.values import Value, compare, compare_in_order

#: The properties of a message.
Properties = Mapping[str, str]


class Evaluation:
    """The evaluation of one message."""

    __slots__ = ("properties",)

    def __init__(self, properties: Properties) -> None:
        self.properties = properties

    def value_of(self, expression: Expression) -> Value:
        """Return the value of ``expression`` for this message. Raises :class:`EvaluationFailed`."""
        return expression.evaluate(self)

    def truth_of(self, expression: Expression) -> Truth:
        """Return the value as :meth:`value_of` does, for an expression that is a condition."""
        value = self.value_of(expression)
        assert value is None or isinstance(value, bool), "the compiler lets only conditions stand here"
        return value


@dataclass(frozen=True, slots=True)
class Expression(ABC):
    """A node of an expression.

    :ivar start: 0-based index of its first character.
    :ivar end: the index after its last one. :cvar is_condition: True when its value is true, false or unknown.
    """

    start: int
    end: int
    is_condition: ClassVar[bool] = True

    @property
    @abstractmethod
    def parts(self) -> tuple[Expression, ...]:
        """Return the child nodes, in the order of their evaluation."""

    @abstractmethod
    def evaluate(self, evaluation: Evaluation) -> Value:
        """Evaluate the node; called by :meth:`Evaluation.value_of`."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the node in the language of expressions."""

    def matches(self, properties: Properties) -> bool:
        """Return True if a message with ``properties`` matches; an unknown result or a failure does not."""
        try:
            return Evaluation(properties).value_of(self) is True
        except EvaluationFailed:
            return False


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A literal. Only TRUE, FALSE and NULL are conditions."""

    value: Value

    @property
    def is_condition(self) -> bool:  # type: ignore[override]  # one class for all literals, as readers expect
        return self.value is None or isinstance(self.value, bool)

    @property
    def is_number(self) -> bool:
        """Return True for an integer, long or double."""
        return not self.is_condition and not isinstance(self.value, str)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()

    def evaluate(self, evaluation: Evaluation) -> Value:
        return self.value

    def __str__(self) -> str:
        return text_of_value(self.value)


@dataclass(frozen=True, slots=True)
class Property(Expression):
    """The value of a property, a text; null if the message does not have it."""

    name: str
    is_condition: ClassVar[bool] = False

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()

    def evaluate(self, evaluation: Evaluation) -> Value:
        return evaluation.properties.get(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """A property in place of a condition."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def evaluate(self, evaluation: Evaluation) -> Value:
        return None if evaluation.value_of(self.operand) is None else False

    def __str__(self) -> str:
        return str(self.operand)


@dataclass(frozen=True, slots=True)
class Negative(Expression):
    """The negative of a number. A property is not a number: its negative is null."""

    operand: Expression
    is_condition: ClassVar[bool] = False

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def evaluate(self, evaluation: Evaluation) -> Value:
        value = evaluation.value_of(self.operand)
        if value is None or isinstance(value, bool | str):
            return None
        return type(value)(-value)

    def __str__(self) -> str:
        return f"-{_bracketed(self.operand)}"


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """The negation of a condition; the negation of unknown is unknown."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def evaluate(self, evaluation: Evaluation) -> Value:
        return NOT[evaluation.truth_of(self.operand)]

    def __str__(self) -> str:
        return f"NOT {_bracketed(self.operand)}"


@dataclass(frozen=True, slots=True)
class _Junction(Expression):
    """Joined conditions, evaluated from left to right until one decides; the ones after it are not evaluated.

    ``table`` joins two truth values, ``decides`` is the one that no further condition can change.
    """

    operands: tuple[Expression, ...]
    word: ClassVar[str]
    table: ClassVar[Mapping[tuple[Truth, Truth], Truth]]
    decides: ClassVar[bool]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operands

    def evaluate(self, evaluation: Evaluation) -> Value:
        truth: Truth = not self.decides
        for operand in self.operands:
            truth = self.table[truth, evaluation.truth_of(operand)]
            if truth is self.decides:
                break
        return truth

    def __str__(self) -> str:
        return f" {self.word} ".join(_bracketed(operand) for operand in self.operands)


class And(_Junction):
    """A conjunction, true if all conditions are; a false one decides."""

    __slots__ = ()
    word = "AND"
    table = AND
    decides = False


class Or(_Junction):
    """A disjunction, true if one condition is; a true one decides."""

    __slots__ = ()
    word = "OR"
    table = OR
    decides = True


@dataclass(frozen=True, slots=True)
class Equal(Expression):
    """The comparison ``=``.

    Unlike SQL it is unknown only if the left side is missing and the right side is not, false if only the right side is
    missing, and true if both are.
    """

    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def evaluate(self, evaluation: Evaluation) -> Value:
        left, right = evaluation.value_of(self.left), evaluation.value_of(self.right)
        if left is None:
            return True if right is None else None
        if right is None:
            return False
        return compare(left, right) == 0

    def __str__(self) -> str:
        return f"{_bracketed(self.left)} = {_bracketed(self.right)}"


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    """The test ``IS NULL``, which is never unknown."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def evaluate(self, evaluation: Evaluation) -> Value:
        return evaluation.value_of(self.operand) is None

    def __str__(self) -> str:
        return f"{_bracketed(self.operand)} IS NULL"


#: Operator -> its test of a comparison's sign.
ORDER_OPERATORS: Mapping[str, Callable[[int], bool]] = MappingProxyType(
    {">": lambda sign: sign > 0, ">=": lambda sign: sign >= 0, "<": lambda sign: sign < 0, "<=": lambda sign: sign <= 0}
)


@dataclass(frozen=True, slots=True)
class Ordered(Expression):
    """The comparisons ``<``, ``<=``, ``>``, ``>=``, which are unknown if either side is missing."""

    operator: str
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def evaluate(self, evaluation: Evaluation) -> Value:
        left = evaluation.value_of(self.left)
        if left is None:
            return None
        right = evaluation.value_of(self.right)
        if right is None:
            return None
        return ORDER_OPERATORS[self.operator](compare_in_order(left, right))

    def __str__(self) -> str:
        return f"{_bracketed(self.left)} {self.operator} {_bracketed(self.right)}"


@dataclass(frozen=True, slots=True)
class In(Expression):
    """The tests ``IN ('x', 'y')`` and, with ``is_negated``, ``NOT IN``, which are unknown if the property is
    missing.
    """

    operand: Property
    values: tuple[str, ...]
    is_negated: bool
    #: ``values`` as a set, for fast lookups.
    lookup: frozenset[str]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def evaluate(self, evaluation: Evaluation) -> Value:
        value = evaluation.value_of(self.operand)
        return None if value is None else (value in self.lookup) is not self.is_negated

    def __str__(self) -> str:
        values = ", ".join(text_of_value(value) for value in self.values)
        return f"{self.operand} {'NOT ' if self.is_negated else ''}IN ({values})"


def text_of_value(value: Value) -> str:
    """Return ``value`` in the language of expressions."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if isinstance(value, int) else repr(value)


def _bracketed(expression: Expression) -> str:
    return str(expression) if isinstance(expression, Constant | Property | Cast) else f"({expression})"
