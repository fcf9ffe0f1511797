"""Parses the text of an expression into an :class:`~app.lessons.expression.LessonExpression`, which describes the
language.

It is imported when there is something to parse: what shows no lesson begins sooner.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput, UnexpectedToken

from app.lessons.errors import ExpressionError
from app.lessons.expression import (
    FUNCTIONS,
    LENGTH_MAX,
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
from engine.filter.expression_parser import terminals_allowed_at

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

# With the contextual lexer, `and` is a name where only a name may follow.
_GRAMMAR = r"""
?start: disjunction
?disjunction: conjunction | disjunction OR conjunction      -> both
?conjunction: negation | conjunction AND negation           -> both
?negation: comparison | _NOT negation                       -> negation
?!comparison: sum | sum ("=" | "!=" | "<" | "<=" | ">" | ">=") sum
?!sum: product | sum ("+" | "-") product                    -> calculation
?!product: operand | product ("*" | "/") operand            -> calculation
?operand: (NUMBER | TEXT | CONSTANT)                        -> constant
    | "-" operand                                           -> negative
    | "(" disjunction ")"
    | WORD "(" disjunction ")"                              -> call
    | WORD step*                                            -> path
?step: "." "*"                                              -> everything
    | "." (WORD | NUMBER | TEXT)                            -> name
    | "[" INTEGER "]"                                       -> index
    | "[" test ("," test)* "]"                              -> filter
!test: WORD ("=" | "!=") (WORD | NUMBER | TEXT)

_NOT.2: /not(?![\w%@-])/
CONSTANT.2: /(?:true|false|null)(?![\w%@-])/
NUMBER.2: /\d+(?:\.\d+)?(?![\w%@])/
INTEGER.2: /-?\d+(?![\w%@])/
OR: /or(?![\w%@-])/
AND: /and(?![\w%@-])/
WORD: /[A-Za-z0-9_%][\w%@-]*/
TEXT: /'[^']*'|"[^"]*"/
%ignore /\s+/
"""

#: The names of terminals in errors; all others are named by their sign.
_TERMINAL_NAMES = {
    "WORD": "a name",
    "NUMBER": "a number",
    "INTEGER": "an integer",
    "TEXT": "a 'text'",
    "CONSTANT": "true | false | null",
    "_NOT": "not",
    "AND": "and",
    "OR": "or",
    "$END": "the end",
}
_CONSTANTS = {"true": True, "false": False, "null": None}


@lru_cache(maxsize=1_000)
def parse_expression(text: str) -> LessonExpression:
    """Parse an expression. Raises :class:`ExpressionError`."""
    if len(text) > LENGTH_MAX:
        raise ExpressionError(f"the expression has {len(text)} characters; allowed: {LENGTH_MAX}")
    try:
        return _parser().parse(text)  # type: ignore[return-value]  # the builder makes no trees
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    except _NameRefused as refusal:
        raise ExpressionError(f"{text!r}: {refusal}") from None


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", lexer="contextual", transformer=_Builder(), g_regex_flags=re.ASCII)


def _syntax_error(text: str, error: UnexpectedInput) -> ExpressionError:
    start = error.pos_in_stream
    assert start is not None, "the lexer knows where it is"
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        start, problem = len(text), "ends too early"
    elif isinstance(error, UnexpectedToken):
        problem = f"{str(error.token)!r} is not allowed at column {start + 1}"
    elif text[start] in "'\"":
        problem = f"the text that begins at column {start + 1} has no end"
    else:
        problem = f"{text[start]!r} is not allowed at column {start + 1}"
    terminals = terminals_allowed_at(_parser(), text, start)
    names = dict.fromkeys(_TERMINAL_NAMES.get(name) or _parser().get_terminal(name).pattern.value for name in terminals)
    return ExpressionError(f"{text!r}: {problem}; allowed: {' | '.join(names)}")


class _NameRefused(Exception):
    """A name is neither a function nor the beginning of a path."""


@v_args(inline=True)
class _Builder(Transformer[Token, LessonExpression]):
    """A builder with one method per rule of the grammar."""

    def both(self, left: LessonExpression, word: Token, right: LessonExpression) -> LessonExpression:
        return Both(left, right, is_and=word == "and")

    def negation(self, operand: LessonExpression) -> LessonExpression:
        return NotNode(operand)

    def comparison(self, left: LessonExpression, sign: Token, right: LessonExpression) -> LessonExpression:
        return Comparison(str(sign), left, right)

    def calculation(self, left: LessonExpression, sign: Token, right: LessonExpression) -> LessonExpression:
        return Calculation(str(sign), left, right)

    def negative(self, operand: LessonExpression) -> LessonExpression:
        return Calculation("-", ConstantNode(0), operand)

    def constant(self, token: Token) -> LessonExpression:
        return ConstantNode(_value(token))

    def call(self, function: Token, argument: LessonExpression) -> LessonExpression:
        if function not in FUNCTIONS:
            raise _NameRefused(f"there is no function {str(function)!r}; allowed: {', '.join(FUNCTIONS)}")
        return Call(str(function), argument)

    def path(self, root: Token, *steps: PathStep) -> LessonExpression:
        if root not in ROOTS:
            raise _NameRefused(f"a path cannot begin with {str(root)!r}; allowed: {', '.join(ROOTS)}")
        return Path((Name(str(root)), *steps))

    def everything(self) -> PathStep:
        return Everything()

    def name(self, token: Token) -> PathStep:
        return Name(_unquoted(token))

    def index(self, integer: Token) -> PathStep:
        return Index(int(integer))

    def filter(self, *tests: Test) -> PathStep:
        return Filter(tests)

    def test(self, field: Token, sign: Token, wanted: Token) -> Test:
        return Test(str(field), _value(wanted), sign == "=")


def _unquoted(token: Token) -> str:
    return token[1:-1] if token.type == "TEXT" else str(token)


def _value(token: Token) -> LessonValue:
    """Return the value of a number, a text, a constant or a word."""
    if token.type == "NUMBER":
        return float(token) if "." in token else int(token)
    return _unquoted(token) if token.type == "TEXT" else _CONSTANTS.get(str(token), str(token))
