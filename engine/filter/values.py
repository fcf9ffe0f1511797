"""The values in an expression and how two of them compare (RocketMQ: ``ComparisonExpression.__compare``).

A property is a text. Next to a number it is converted to that number's own Java type, next to a boolean to a boolean::

    age > 5           age must be an Integer: "7" is, "7.5" and "3000000000" are not
    age > 3000000000  age must be a Long
    age > 5.5         age must be a Double
    ok = TRUE         "true" in any case is true, every other text is false
    a = 'x'           texts are compared letter by letter
    a > b             both must be Doubles

A failed conversion is an error, and a message with an error does not match.
"""

from __future__ import annotations

import math
import re

from engine.filter.errors import EvaluationFailed, EvaluationProblem

INTEGER_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class JavaLong(int):
    """An integer that Java keeps in 64 bits. A plain ``int`` is one of 32 bits."""


#: An existing value. Never both a ``bool`` and a number, although Python's ``bool`` is an ``int``.
Present = str | bool | int | float
#: A value; None is that of a missing property, and unknown.
Value = Present | None

_WHOLE = re.compile(r"[+-]?\d+")
#: The doubled plus signs prevent quadratic time for a text of 30,000 digits and a letter.
_DOUBLE = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:(?P<decimal>(?:[0-9]++\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]++\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+))[fFdD]?)"
)
#: The characters that Java's ``String.trim`` removes.
_TRIMMED = "".join(map(chr, range(33)))
_LONGEST_WHOLE_DIGITS = 19


def parse_whole(text: str, limit: int) -> int | None:
    """Parse as ``Integer.valueOf`` and ``Long.valueOf`` do; ``limit`` is the type's greatest value. None: not a
    number.
    """
    if not _WHOLE.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _LONGEST_WHOLE_DIGITS:
        return None
    value = int(digits or "0")
    if text.startswith("-"):
        value = -value
    return value if -limit - 1 <= value <= limit else None


def parse_double(text: str) -> float | None:
    """Parse as ``Double.valueOf`` does: with blanks around, a type letter, or in hexadecimal. None: not a number."""
    trimmed = text.strip(_TRIMMED)
    match = _DOUBLE.fullmatch(trimmed)
    if match is None:
        return None
    sign = -1.0 if trimmed.startswith("-") else 1.0
    if match["hex"] is not None:
        try:
            return sign * float.fromhex(match["hex"])
        except OverflowError:
            return sign * math.inf
    if match["decimal"] is not None:
        return sign * float(match["decimal"])
    return sign * math.inf if trimmed.endswith("y") else math.nan


def java_type(value: Present) -> str:
    """Return the Java class of ``value`` in RocketMQ."""
    if isinstance(value, bool):
        return "Boolean"
    if isinstance(value, JavaLong):
        return "Long"
    if isinstance(value, int):
        return "Integer"
    return "Double" if isinstance(value, float) else "String"


def compare(left: Present, right: Present) -> int:
    """Return a negative number, 0 or a positive one, as Java's ``compareTo``; a boolean and a number are never equal.

    Raises :class:`EvaluationFailed`.
    """
    if isinstance(left, bool):
        if isinstance(right, str):
            # Java casts the boolean to a text here and fails; with exchanged sides it converts the text.
            raise EvaluationFailed(EvaluationProblem.BOOLEAN_BEFORE_TEXT, text=repr(right))
        return left - right if isinstance(right, bool) else -1
    if isinstance(left, str):
        if isinstance(right, str):
            return (left > right) - (left < right)
        return _compare_numbers(_converted(left, right), right)
    if isinstance(right, bool):
        return -1
    return _compare_numbers(left, _converted(right, left) if isinstance(right, str) else right)


def compare_in_order(left: Present, right: Present) -> int:
    """Compare as :func:`compare` does, for <, <=, > and >=: two texts must both be numbers."""
    if isinstance(left, str) and isinstance(right, str):
        left_number, right_number = parse_double(left), parse_double(right)
        if left_number is None or right_number is None:
            raise EvaluationFailed(EvaluationProblem.NO_ORDER_OF_TEXTS, left=repr(left), right=repr(right))
        return _compare_numbers(left_number, right_number)
    return compare(left, right)


def _converted(text: str, model: bool | int | float) -> bool | int | float:
    """Convert ``text`` to the type of ``model``."""
    if isinstance(model, bool):
        return text.lower() == "true"
    if isinstance(model, float):
        number: float | None = parse_double(text)
    else:
        number = parse_whole(text, LONG_MAX if isinstance(model, JavaLong) else INTEGER_MAX)
    if number is None:
        raise EvaluationFailed(EvaluationProblem.NO_NUMBER, text=repr(text), kind=java_type(model))
    return number


def _compare_numbers(left: int | float, right: int | float) -> int:
    if isinstance(left, float) or isinstance(right, float):
        return _compare_doubles(float(left), float(right))
    return (left > right) - (left < right)


def _compare_doubles(left: float, right: float) -> int:
    """Compare as ``Double.compareTo``: NaN equals itself and is greater than everything, -0.0 is less than 0.0."""
    left_key = (math.isnan(left), 0.0 if math.isnan(left) else left, math.copysign(1.0, left))
    right_key = (math.isnan(right), 0.0 if math.isnan(right) else right, math.copysign(1.0, right))
    if left_key[0] and right_key[0]:
        return 0
    return (left_key > right_key) - (left_key < right_key)
