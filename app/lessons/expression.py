"""The small language of a lesson's conditions and figures, which are evaluated on a world.

    nodes.B1.commit_log.max                                    one value
    count(nodes.*.process_queues.*) >= 4                       `*` takes everything
    history.consumed[node=C1, key!=hello-0].time_us            [..] keeps the entries that match
    nodes.B1.commit_log.records[-1].size                       [n] takes one, from the end when negative
    nodes.B1.groups.listeners.lag = 0 and not nodes.C1.held    and, or, not, = != < <= > >= + - * /
    count(distinct(history.consumed.key))                      count sum min max first last distinct keys

What a path leads through is a :class:`app.picture.pages.lesson.LessonView`. What does not exist is ``null``: it equals
only ``null``, it is neither less nor more than anything, and it counts 0. Names in a path are letters, digits, ``_ % @
-``; anything else must be in quotes (``members.'10.0.0.4@C1'``). A minus between two values therefore needs spaces.
Where a field is a list, ``[keys=hello-0]`` tests whether it contains the value.

An expression is data from a file of this project, parsed by :mod:`app.lessons.expression_parser`: nothing is executed.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: A :class:`app.picture.pages.lesson.LessonView`; empty for texts without figures.
ShownWorld = Mapping[str, object]
#: Characters of an expression.
LENGTH_MAX = 500
#: Any value of the view, or a value computed from such.
LessonValue = Any


class LessonExpression(ABC):
    """Something that has a value in every world."""

    @abstractmethod
    def value(self, view: ShownWorld) -> LessonValue:
        """Return the value in the world that ``view`` shows; None if a path does not exist there."""

    def holds(self, view: ShownWorld) -> bool:
        """Return the value as a condition: null, false, 0 and empty values are false."""
        return bool(self.value(view))


@dataclass(frozen=True, slots=True)
class ConstantNode(LessonExpression):
    """A number, a text, ``true``, ``false`` or ``null``."""

    constant: LessonValue

    def value(self, view: ShownWorld) -> LessonValue:
        return self.constant


# ------------------------------------------------------------------------------------------------- paths


class PathStep(ABC):
    """One part of a path."""

    #: Whether the path stands for many values from here on.
    takes_many = False

    @abstractmethod
    def take(self, values: list[LessonValue]) -> list[LessonValue]:
        """Return where this part leads from each of ``values``."""


@dataclass(frozen=True, slots=True)
class Name(PathStep):
    """A field of an object; in a list: that field of every entry."""

    name: str

    def take(self, values: list[LessonValue]) -> list[LessonValue]:
        found: list[LessonValue] = []
        for value in values:
            if isinstance(value, Mapping):
                if self.name in value:
                    found.append(value[self.name])
            elif isinstance(value, list):
                found.extend(entry[self.name] for entry in value if isinstance(entry, Mapping) and self.name in entry)
        return found


@dataclass(frozen=True, slots=True)
class Everything(PathStep):
    """``*``: all values of an object, or all entries of a list."""

    takes_many = True

    def take(self, values: list[LessonValue]) -> list[LessonValue]:
        return _entries(values)


@dataclass(frozen=True, slots=True)
class Index(PathStep):
    """``[0]``, ``[-1]``: one entry of a list."""

    index: int

    def take(self, values: list[LessonValue]) -> list[LessonValue]:
        return [
            value[self.index] for value in values if isinstance(value, list) and -len(value) <= self.index < len(value)
        ]


@dataclass(frozen=True, slots=True)
class Test:
    """``field=value`` or ``field!=value`` of a filter."""

    field: str
    wanted: LessonValue
    is_equal: bool

    def fits(self, entry: LessonValue) -> bool:
        """Return whether ``entry`` matches."""
        value = entry.get(self.field) if isinstance(entry, Mapping) else None
        met = self.wanted in value if isinstance(value, list | Mapping) else _equal(value, self.wanted)
        return met is self.is_equal


@dataclass(frozen=True, slots=True)
class Filter(PathStep):
    """``[node=C1, key!=hello-0]``: the entries that pass every test."""

    takes_many = True
    tests: tuple[Test, ...]

    def take(self, values: list[LessonValue]) -> list[LessonValue]:
        return self.fitting(_entries(values))

    def fitting(self, entries: list[LessonValue]) -> list[LessonValue]:
        """Return the matching ``entries``."""
        return [entry for entry in entries if all(test.fits(entry) for test in self.tests)]


@dataclass(frozen=True, slots=True)
class Path(LessonExpression):
    """A path such as ``nodes.B1.commit_log.max``.

    Its value is a list when a part of it can stand for many values or it goes through a list.
    """

    steps: tuple[PathStep, ...]

    def value(self, view: ShownWorld) -> LessonValue:
        values: list[LessonValue] = [view]
        many = False
        for step in self.steps:
            if isinstance(step, Index) and many:
                values = Index(step.index).take([values])
                many = False
                continue
            if isinstance(step, Filter) and many:
                # Objects that `*` found are entries already; lists are still to be opened.
                values = step.fitting([entry for value in values for entry in _opened(value)])
                continue
            many = many or step.takes_many or (isinstance(step, Name) and any(isinstance(v, list) for v in values))
            values = step.take(values)
        if many:
            return values
        return values[0] if values else None


def _opened(value: LessonValue) -> list[LessonValue]:
    return value if isinstance(value, list) else [value]


def _entries(values: Sequence[LessonValue]) -> list[LessonValue]:
    found: list[LessonValue] = []
    for value in values:
        if isinstance(value, Mapping):
            found.extend(value.values())
        elif isinstance(value, list):
            found.extend(value)
    return found


# ------------------------------------------------------------------------------------------------- operators


@dataclass(frozen=True, slots=True)
class Both(LessonExpression):
    """A conjunction or disjunction: ``a and b``, ``a or b``."""

    left: LessonExpression
    right: LessonExpression
    is_and: bool

    def value(self, view: ShownWorld) -> LessonValue:
        if self.left.holds(view) is not self.is_and:
            return not self.is_and
        return self.right.holds(view)


@dataclass(frozen=True, slots=True)
class NotNode(LessonExpression):
    """A negation: ``not a``."""

    operand: LessonExpression

    def value(self, view: ShownWorld) -> LessonValue:
        return not self.operand.holds(view)


@dataclass(frozen=True, slots=True)
class Comparison(LessonExpression):
    """A comparison: ``a <= b``."""

    sign: str
    left: LessonExpression
    right: LessonExpression

    def value(self, view: ShownWorld) -> LessonValue:
        left, right = self.left.value(view), self.right.value(view)
        if self.sign in ("=", "!="):
            return _equal(left, right) is (self.sign == "=")
        if not (_is_number(left) and _is_number(right)):
            return False
        return _ORDER[self.sign](left, right)


@dataclass(frozen=True, slots=True)
class Calculation(LessonExpression):
    """A calculation with numbers: ``a + b``. It is null when one of them is not a number, on a division by 0, and when
    the result is too large.
    """

    sign: str
    left: LessonExpression
    right: LessonExpression

    def value(self, view: ShownWorld) -> LessonValue:
        left, right = self.left.value(view), self.right.value(view)
        if not (_is_number(left) and _is_number(right)) or (self.sign == "/" and right == 0):
            return None
        try:
            result = _ARITHMETIC[self.sign](left, right)
        except OverflowError:
            return None
        if not -_TOO_LARGE < result < _TOO_LARGE:
            return None
        return int(result) if isinstance(result, float) and result.is_integer() else result


@dataclass(frozen=True, slots=True)
class Call(LessonExpression):
    """A call of a function such as ``count(...)``."""

    function: str
    argument: LessonExpression

    def value(self, view: ShownWorld) -> LessonValue:
        return FUNCTIONS[self.function](self.argument.value(view))


#: Far beyond any count, size or time.
_TOO_LARGE = 10**100
_ORDER: Mapping[str, Callable[[LessonValue, LessonValue], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: Mapping[str, Callable[[LessonValue, LessonValue], LessonValue]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _is_number(value: LessonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(left: LessonValue, right: LessonValue) -> bool:
    """Compare values: true is not 1, and ``null`` equals only ``null``."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


# ------------------------------------------------------------------------------------------------- functions


def _listed(value: LessonValue) -> list[LessonValue]:
    if value is None:
        return []
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else [value]


def _numbers(value: LessonValue) -> list[LessonValue]:
    return [entry for entry in _listed(value) if _is_number(entry)]


def _distinct(value: LessonValue) -> list[LessonValue]:
    found: list[LessonValue] = []
    for entry in _listed(value):
        if entry not in found:
            found.append(entry)
    return found


def _first(value: LessonValue) -> LessonValue:
    entries = _listed(value)
    return entries[0] if entries else None


def _last(value: LessonValue) -> LessonValue:
    entries = _listed(value)
    return entries[-1] if entries else None


#: Name of a function -> the function of its argument's value.
FUNCTIONS: Mapping[str, Callable[[LessonValue], LessonValue]] = {
    "count": lambda value: len(_listed(value)),
    "sum": lambda value: sum(_numbers(value)),
    "min": lambda value: min(_numbers(value), default=None),
    "max": lambda value: max(_numbers(value), default=None),
    "first": _first,
    "last": _last,
    "distinct": _distinct,
    "keys": lambda value: list(value) if isinstance(value, Mapping) else [],
}


def figure_text(value: LessonValue) -> str:
    """Return a value as text in a sentence; a missing value is a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(figure_text(entry) for entry in value) if value else "–"
    # As on the stage: with thousands separators.
    return f"{value:,}" if isinstance(value, int) else str(value)
