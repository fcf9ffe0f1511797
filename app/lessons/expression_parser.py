"""Parses the text of an expression into an :class:`~app.lessons.expression.LessonExpression`, which describes the
language.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from app.lessons.errors import ExpressionError
from app.lessons.expression import (
    FUNCTIONS,
    Both,
    Calculation,
    Call,
    Comparison,
    ConstantNode,
    Everything,
    Filter,
    Index,
    LessonExpression,
    LessonValue,
    Name,
    NotNode,
    Path,
    PathStep,
    Test,
)

#: The beginnings of paths: the parts of the view that a lesson may use.
ROOTS = (
    "nodes",
    "history",
    "frames",
    "timers",
    "actors",
    "invariants",
    "faults",
    "commands",
    "settings",
    "event",
    "time_us",
    "is_over",
)
LENGTH_MAX = 500
_DEPTH_MAX = 20

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d+)?(?![\w%@]))
      | (?P<word>[A-Za-z0-9_%][\w%@-]*)
      | (?P<text>'[^']*'|"[^"]*")
      | (?P<sign><=|>=|!=|[.*()\[\],=<>+/-])
    )""",
    re.VERBOSE | re.ASCII,
)
_CONSTANTS = {"true": True, "false": False, "null": None}
_WORDS = ("and", "or", "not")


class _Token(NamedTuple):
    kind: str
    text: str


@lru_cache(maxsize=1_000)
def parse_expression(text: str) -> LessonExpression:
    """Parse an expression. Raises :class:`ExpressionError`."""
    parser = _Parser(text)
    expression = parser.either()
    parser.expect_end()
    return expression


def _tokens(text: str) -> list[_Token]:
    if len(text) > LENGTH_MAX:
        raise ExpressionError(f"the expression has {len(text)} characters; allowed: {LENGTH_MAX}")
    tokens: list[_Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:].lstrip()
            raise ExpressionError(f"{text!r}: {rest[:1]!r} is not allowed; paths, numbers, 'texts' and signs are")
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match.group(kind)))
        position = match.end()
    return tokens


class _Parser:
    """A recursive-descent parser with one method per level of precedence, the lowest first."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._place = 0
        self._depth = 0

    def either(self) -> LessonExpression:
        """Parse ``a or b``."""
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise ExpressionError(f"{self._text!r}: nested deeper than {_DEPTH_MAX} levels")
        left = self._all_of()
        while self._accept("or"):
            left = Both(left, self._all_of(), is_and=False)
        self._depth -= 1
        return left

    def _all_of(self) -> LessonExpression:
        left = self._negation()
        while self._accept("and"):
            left = Both(left, self._negation(), is_and=True)
        return left

    def _negation(self) -> LessonExpression:
        negations = 0
        while self._accept("not"):
            negations += 1
        operand = self._comparison()
        return NotNode(operand) if negations % 2 else operand

    def _comparison(self) -> LessonExpression:
        left = self._sum()
        for sign in ("<=", ">=", "!=", "=", "<", ">"):
            if self._accept(sign):
                return Comparison(sign, left, self._sum())
        return left

    def _sum(self) -> LessonExpression:
        left = self._product()
        while (sign := self._accept_one("+", "-")) is not None:
            left = Calculation(sign, left, self._product())
        return left

    def _product(self) -> LessonExpression:
        left = self._operand()
        while (sign := self._accept_one("*", "/")) is not None:
            left = Calculation(sign, left, self._operand())
        return left

    def _operand(self) -> LessonExpression:
        if self._accept("("):
            inner = self.either()
            self._expect(")")
            return inner
        if self._accept("-"):
            return Calculation("-", ConstantNode(0), self._operand())
        token = self._next("a path, a number, a 'text' or a function")
        match token.kind:
            case "number":
                return ConstantNode(_number(token.text))
            case "text":
                return ConstantNode(token.text[1:-1])
            case "word" if token.text in _CONSTANTS:
                return ConstantNode(_CONSTANTS[token.text])
            case "word" if self._accept("("):
                return self._call(token.text)
            case "word" if token.text not in _WORDS:
                return self._path(token.text)
        raise self._wrong(token, "a path, a number, a 'text' or a function")

    def _call(self, function: str) -> LessonExpression:
        if function not in FUNCTIONS:
            raise ExpressionError(f"{self._text!r}: there is no function {function!r}; allowed: {', '.join(FUNCTIONS)}")
        argument = self.either()
        self._expect(")")
        return Call(function, argument)

    # --------------------------------------------------------------------------------------------- paths

    def _path(self, root: str) -> LessonExpression:
        if root not in ROOTS:
            raise ExpressionError(f"{self._text!r}: a path cannot begin with {root!r}; allowed: {', '.join(ROOTS)}")
        steps: list[PathStep] = [Name(root)]
        while True:
            if self._accept("."):
                steps.append(self._path_part())
            elif self._accept("["):
                steps.append(self._bracket())
            else:
                return Path(tuple(steps))

    def _path_part(self) -> PathStep:
        if self._accept("*"):
            return Everything()
        token = self._next("a name or *")
        if token.kind in ("word", "number"):
            return Name(token.text)
        if token.kind == "text":
            return Name(token.text[1:-1])
        raise self._wrong(token, "a name or *")

    def _bracket(self) -> PathStep:
        is_negative = self._accept("-")
        token = self._next("a number, or field=value")
        if token.kind == "number":
            self._expect("]")
            index = int(_number(token.text))
            return Index(-index if is_negative else index)
        tests = [self._test(token)]
        while self._accept(","):
            tests.append(self._test(self._next("field=value")))
        self._expect("]")
        return Filter(tuple(tests))

    def _test(self, field: _Token) -> Test:
        if field.kind != "word":
            raise self._wrong(field, "the name of a field")
        sign = self._accept_one("=", "!=")
        if sign is None:
            raise self._wrong(self._next("= or !="), "= or !=")
        token = self._next("a word, a number or a 'text'")
        if token.kind == "sign":
            raise self._wrong(token, "a word, a number or a 'text'")
        return Test(field.text, _plain(token), sign == "=")

    # --------------------------------------------------------------------------------------------- tokens

    def _accept(self, text: str) -> bool:
        """Take the next token when it is this sign or word; return whether it was."""
        if self._place < len(self._tokens):
            token = self._tokens[self._place]
            if token.text == text and token.kind in ("sign", "word"):
                self._place += 1
                return True
        return False

    def _accept_one(self, *signs: str) -> str | None:
        for sign in signs:
            if self._accept(sign):
                return sign
        return None

    def _next(self, allowed: str) -> _Token:
        if self._place >= len(self._tokens):
            raise ExpressionError(f"{self._text!r} ends too early; {allowed} should follow")
        self._place += 1
        return self._tokens[self._place - 1]

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._wrong(self._next(repr(sign)), repr(sign))

    def expect_end(self) -> None:
        """Check that nothing follows."""
        if self._place < len(self._tokens):
            raise self._wrong(self._tokens[self._place], "the end, or a sign such as = < + and, or")

    def _wrong(self, token: _Token, allowed: str) -> ExpressionError:
        return ExpressionError(f"{self._text!r}: {token.text!r} is not allowed here; allowed: {allowed}")


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _plain(token: _Token) -> LessonValue:
    if token.kind == "number":
        return _number(token.text)
    if token.kind == "text":
        return token.text[1:-1]
    return _CONSTANTS.get(token.text, token.text)
