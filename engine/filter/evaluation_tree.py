"""The value of every part of an expression for one message, which explains why the message matches or not.

The parts are evaluated by the same nodes as in the broker. A part that was not evaluated, because the parts before it
had decided, is marked as such.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.filter.errors import EvaluationFailed
from engine.filter.expression import Cast, Constant, Evaluation, Expression, Properties, Property, text_of_value
from engine.filter.values import Value, java_type


class PartOutcome(StrEnum):
    """The outcome of a part."""

    TRUE = "true"
    FALSE = "false"
    #: A condition that a missing property leaves open.
    UNKNOWN = "unknown"
    #: A value rather than a condition, in ``EvaluatedPart.value``.
    VALUE = "value"
    #: A property that the message does not have, or a value derived from one.
    NULL = "null"
    #: The values could not be compared, or a part of it failed.
    ERROR = "error"
    NOT_EVALUATED = "not-evaluated"


@dataclass(frozen=True, slots=True)
class EvaluatedPart:
    """One node of the evaluation tree.

    :ivar kind: name of the node's class, such as ``And``.
    :ivar text: the part, in the language of expressions.
    :ivar start: 0-based index of its first character in the whole expression; ``end`` is after the last one.
    :ivar value: for the outcome ``VALUE``, as in an expression; else empty.
    :ivar java_type: the value's type in RocketMQ; empty without one.
    :ivar failure: the failure of the part whose values could not be compared; None for its parents, which failed with
        it.
    """

    kind: str
    text: str
    start: int
    end: int
    outcome: PartOutcome
    value: str
    java_type: str
    failure: EvaluationFailed | None
    parts: tuple[EvaluatedPart, ...]


class _TracedEvaluation(Evaluation):
    """An evaluation that remembers all results. Nodes are distinguished by identity, because equal ones may occur
    repeatedly.
    """

    __slots__ = ("failures", "values")

    def __init__(self, properties: Properties) -> None:
        super().__init__(properties)
        self.values: dict[int, Value] = {}
        self.failures: dict[int, EvaluationFailed] = {}

    def value_of(self, expression: Expression) -> Value:
        try:
            value = expression.evaluate(self)
        except EvaluationFailed as failure:
            self.failures[id(expression)] = failure
            raise
        self.values[id(expression)] = value
        return value


def evaluate_parts(expression: Expression, properties: Properties) -> EvaluatedPart:
    """Return the tree of ``expression`` for a message with ``properties``. Never raises :class:`EvaluationFailed`."""
    evaluation = _TracedEvaluation(properties)
    try:
        evaluation.value_of(expression)
    except EvaluationFailed:
        pass  # the tree contains the failure
    return _part(expression, evaluation)


def _part(expression: Expression, evaluation: _TracedEvaluation) -> EvaluatedPart:
    # A condition that is written once may be shared by two parts (the value of BETWEEN): its outcome is the same.
    parts = tuple(_part(part, evaluation) for part in expression.parts)
    failure = evaluation.failures.get(id(expression))
    has_failed_part = any(part.outcome is PartOutcome.ERROR for part in parts)
    outcome, value = _outcome(expression, evaluation)
    return EvaluatedPart(
        type(expression).__name__,
        str(expression),
        expression.start,
        expression.end,
        outcome,
        text_of_value(value) if outcome is PartOutcome.VALUE else "",
        java_type(value) if value is not None and outcome is PartOutcome.VALUE else "",
        failure if not has_failed_part else None,
        () if isinstance(expression, Constant | Property | Cast) else parts,
    )


def _outcome(expression: Expression, evaluation: _TracedEvaluation) -> tuple[PartOutcome, Value]:
    if id(expression) in evaluation.failures:
        return PartOutcome.ERROR, None
    if id(expression) not in evaluation.values:
        return PartOutcome.NOT_EVALUATED, None
    value = evaluation.values[id(expression)]
    if isinstance(value, bool):
        return (PartOutcome.TRUE if value else PartOutcome.FALSE), value
    if value is None:
        return (PartOutcome.UNKNOWN if expression.is_condition else PartOutcome.NULL), None
    return PartOutcome.VALUE, value
