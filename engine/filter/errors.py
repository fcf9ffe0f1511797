"""Errors in filter expressions (RocketMQ: ``MQFilterException``).

RocketMQ's texts name Java's exceptions; here each problem has a name, so that a page can translate it, and a position
in the text, so that it can be marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

#: The maximum length of a line's excerpt around the marked column.
_WINDOW_CHARACTERS = 60


class FilterProblem(StrEnum):
    """The reasons for which an expression is refused."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    TOO_MANY_WORDS = "too_many_words"
    TOO_DEEP = "too_deep"
    TOO_MANY_VALUES = "too_many_values"
    UNEXPECTED_CHARACTER = "unexpected_character"
    UNEXPECTED_WORD = "unexpected_word"
    UNEXPECTED_END = "unexpected_end"
    OPEN_TEXT = "open_text"
    OPEN_COMMENT = "open_comment"
    INTEGER_TOO_LARGE = "integer_too_large"
    FLOAT_OUT_OF_RANGE = "float_out_of_range"
    NOT_BOOLEAN = "not_boolean"
    NOT_ORDERED = "not_ordered"
    EQUALS_NULL = "equals_null"
    BOOLEAN_EQUALS_OTHER = "boolean_equals_other"
    BETWEEN_REVERSED = "between_reversed"
    IN_NEEDS_PROPERTY = "in_needs_property"


_TEXTS: Mapping[FilterProblem, str] = MappingProxyType(
    {
        FilterProblem.EMPTY: "the expression is empty; allowed: a condition such as age > 5",
        FilterProblem.TOO_LONG: "the expression has {length} characters; allowed: {limit}",
        FilterProblem.TOO_MANY_WORDS: "the expression has {count} words, signs and brackets; allowed: {limit}",
        FilterProblem.TOO_DEEP: "the expression is nested deeper than {limit} levels",
        FilterProblem.TOO_MANY_VALUES: "IN lists {count} values; allowed: {limit}",
        FilterProblem.UNEXPECTED_CHARACTER: "{found} is not part of this language; allowed here: {allowed}",
        FilterProblem.UNEXPECTED_WORD: "{found} is not allowed here; allowed: {allowed}",
        FilterProblem.UNEXPECTED_END: "the expression ends too early; allowed here: {allowed}",
        FilterProblem.OPEN_TEXT: "the text that begins here has no closing quote '",
        FilterProblem.OPEN_COMMENT: "the comment that begins here has no closing */",
        FilterProblem.INTEGER_TOO_LARGE: "{found} does not fit into 64 bits; allowed: up to 9223372036854775807",
        FilterProblem.FLOAT_OUT_OF_RANGE: (
            "{found} is not a number that RocketMQ accepts; allowed: 4.9E-324 to 1.7976931348623157E308, "
            "and 0 without a point"
        ),
        FilterProblem.NOT_BOOLEAN: (
            "{found} is neither true nor false; allowed here: a comparison, a property, TRUE, FALSE"
        ),
        FilterProblem.NOT_ORDERED: ("{found} cannot be ordered; allowed with {operator}: a property or a number"),
        FilterProblem.EQUALS_NULL: "nothing equals NULL; allowed: IS NULL and IS NOT NULL",
        FilterProblem.BOOLEAN_EQUALS_OTHER: "{left} cannot be compared with {right}; allowed: a property",
        FilterProblem.BETWEEN_REVERSED: "BETWEEN needs the smaller value first: {low} is greater than {high}",
        FilterProblem.IN_NEEDS_PROPERTY: "only a property can be IN a list; {found} is not one",
    }
)


class FilterSyntaxError(Exception):
    """An expression that cannot be compiled.

    :ivar expression: its whole text.
    :ivar position: 0-based index of the character at fault; the length of the text when something is missing.
    :ivar problem: what is wrong; ``details`` are the values in its text.
    :ivar allowed: what is allowed there, if known.
    """

    def __init__(
        self,
        expression: str,
        position: int,
        problem: FilterProblem,
        details: Mapping[str, str] = MappingProxyType({}),
        allowed: tuple[str, ...] = (),
    ) -> None:
        self.expression = expression
        self.position = position
        self.problem = problem
        self.details = dict(details)
        self.allowed = allowed
        self.why = _TEXTS[problem].format(allowed=", ".join(allowed), **self.details)
        super().__init__(f"{self.place}: {self.why}\n{self.marked()}")

    @property
    def line(self) -> int:
        """Return the 1-based line of ``position``."""
        return self.expression.count("\n", 0, self.position) + 1

    @property
    def column(self) -> int:
        """Return the 1-based column of ``position`` in its line."""
        return self.position - self.expression.rfind("\n", 0, self.position)

    @property
    def place(self) -> str:
        """Return the position in words."""
        return f"column {self.column}" if "\n" not in self.expression else f"line {self.line}, column {self.column}"

    def marked(self) -> str:
        """Return the faulty line (an excerpt, if it is long) and below it a caret at the column."""
        begin = self.position - self.column + 1
        end = self.expression.find("\n", begin)
        line = self.expression[begin : end if end >= 0 else None]
        first = max(0, self.column - 1 - _WINDOW_CHARACTERS // 2)
        shown = line[first : first + _WINDOW_CHARACTERS].translate(_BLANK_CONTROLS)
        return f"  {shown}\n  {' ' * (self.column - 1 - first)}^"

    def again(self) -> FilterSyntaxError:
        """Return a copy of the error to raise again: an exception that is raised twice would keep both tracebacks."""
        return FilterSyntaxError(self.expression, self.position, self.problem, self.details, self.allowed)


#: Replaces tabs, which would misalign the caret.
_BLANK_CONTROLS = dict.fromkeys((*range(32), 127), " ")


class EvaluationProblem(StrEnum):
    """The reasons for which an expression could not be evaluated for a message."""

    NO_NUMBER = "no_number"
    NO_ORDER_OF_TEXTS = "no_order_of_texts"
    BOOLEAN_BEFORE_TEXT = "boolean_before_text"


_EVALUATION_TEXTS: Mapping[EvaluationProblem, str] = MappingProxyType(
    {
        EvaluationProblem.NO_NUMBER: "{text} is not of type {kind}, which the other side has",
        EvaluationProblem.NO_ORDER_OF_TEXTS: "{left} and {right} are not both numbers, and texts have no order",
        EvaluationProblem.BOOLEAN_BEFORE_TEXT: (
            "RocketMQ cannot compare a boolean on the left with the text {text}; write the property first"
        ),
    }
)


class EvaluationFailed(Exception):
    """A value cannot be converted to the type of the other side.

    The message does not match then, whatever the rest of the expression is: RocketMQ's evaluation ends with an
    exception.
    """

    def __init__(self, problem: EvaluationProblem, **details: str) -> None:
        self.problem = problem
        self.details = details
        super().__init__(_EVALUATION_TEXTS[problem].format(**details))
