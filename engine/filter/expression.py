"""The parsed form of a filter expression (RocketMQ: package ``filter.expression``).

Every node is small, frozen, and knows where in the text it stands. As in RocketMQ some forms are made of others::

    a <> b                 NOT (a = b)                    a IS NOT NULL              NOT (a IS NULL)
    a BETWEEN 1 AND 6      a >= 1 AND a <= 6              a NOT BETWEEN 1 AND 6      a < 1 OR a > 6

A property that stands where a condition is wanted is *cast*: a property is a text, never a boolean, so the cast is
false when the property is there and unknown when it is missing.
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
    """One look at one message."""

    __slots__ = ("properties",)

    def __init__(self, properties: Properties) -> None:
        self.properties = properties

    def value_of(self, expression: Expression) -> Value:
        """What ``expression`` is for this message. Raises :class:`EvaluationFailed`."""
        return expression.evaluate(self)

    def truth_of(self, expression: Expression) -> Truth:
        """As :meth:`value_of`, for an expression that is a condition."""
        value = self.value_of(expression)
        assert value is None or isinstance(value, bool), "the compiler lets only conditions stand here"
        return value


@dataclass(frozen=True, slots=True)
class Expression(ABC):
    """One node.

    :ivar start: 0-based index of its first character.
    :ivar end: behind its last one.
    :cvar is_condition: True when its value is true, false or unknown.
    """

    start: int
    end: int
    is_condition: ClassVar[bool] = True

    @property
    @abstractmethod
    def parts(self) -> tuple[Expression, ...]:
        """The nodes below it, in the order in which they are looked at."""

    @abstractmethod
    def evaluate(self, evaluation: Evaluation) -> Value:
        """See :meth:`Evaluation.value_of`."""

    @abstractmethod
    def __str__(self) -> str:
        """In the language of expressions."""

    def matches(self, properties: Properties) -> bool:
        """True when a message with ``properties`` is wanted; what is unknown or fails is not."""
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
        """Integer, long or double."""
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
    """The value of a property, a text; null when the message has none of that name."""

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
    """A property where a condition is wanted."""

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
    """The number with the other sign. A property is no number: its negative is null."""

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
    """The opposite; of unknown, unknown."""

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
    """Conditions side by side, looked at from left to right until one decides: what stands behind it is not evaluated.

    ``table`` joins two truths, ``decides`` is the one that no further condition can change.
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
    """True when all are; a false one decides."""

    __slots__ = ()
    word = "AND"
    table = AND
    decides = False


class Or(_Junction):
    """True when one is; a true one decides."""

    __slots__ = ()
    word = "OR"
    table = OR
    decides = True


@dataclass(frozen=True, slots=True)
class Equal(Expression):
    """``=``. Other than in SQL it asks for the left side only: unknown when that alone is missing, false when only the
    right side is, and true when both are.
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
    """Never unknown."""

    operand: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def evaluate(self, evaluation: Evaluation) -> Value:
        return evaluation.value_of(self.operand) is None

    def __str__(self) -> str:
        return f"{_bracketed(self.operand)} IS NULL"


#: Operator -> what it says of a comparison's sign.
ORDER_OPERATORS: Mapping[str, Callable[[int], bool]] = MappingProxyType(
    {">": lambda sign: sign > 0, ">=": lambda sign: sign >= 0, "<": lambda sign: sign < 0, "<=": lambda sign: sign <= 0}
)


@dataclass(frozen=True, slots=True)
class Ordered(Expression):
    """``<``, ``<=``, ``>``, ``>=``: unknown when either side is missing."""

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
    """``IN ('x', 'y')`` and, ``is_negated``, ``NOT IN``: unknown when the property is missing."""

    operand: Property
    values: tuple[str, ...]
    is_negated: bool
    #: ``values`` again, quick to ask.
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
    """``value`` in the language of expressions."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if isinstance(value, int) else repr(value)


def _bracketed(expression: Expression) -> str:
    return str(expression) if isinstance(expression, Constant | Property | Cast) else f"({expression})"
