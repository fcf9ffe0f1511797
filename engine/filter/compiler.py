"""The compiler of an expression's text to its parsed and checked form (RocketMQ: ``SqlFilter``, ``FilterFactory``,
``SelectorParser.parse``).

Expressions that could never match are refused here, as in RocketMQ: ``= NULL``, an order of texts or booleans, BETWEEN
with the greater value first. RocketMQ has no bounds: its parser recurses once per bracket, and a deep expression
overflows its thread's stack.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.filter.errors import FilterProblem, FilterSyntaxError

if TYPE_CHECKING:
    from engine.filter.expression import Expression

#: The maximum length of an expression in characters.
LENGTH_MAX = 8_192
#: The maximum number of names, texts, numbers, signs and brackets in an expression: parsing costs about 10 microseconds
#: each, and blocks the broker meanwhile.
WORDS_MAX = 2_500
#: The maximum depth of NOTs, signs, conditions in brackets and chained comparisons.
DEPTH_MAX = 100
#: As RocketMQ's ``PARSE_CACHE``, which also keeps failures.
CACHE_SIZE = 100

_WORD = re.compile(r"'(?:[^']|'')*'?|[A-Za-z0-9_$.]+|[<>=]+|\S")


def word_count(text: str) -> int:
    """Return the cost of ``text``, determined without parsing: its words, but at least one for every 32 characters.

    A text that is too long costs 1, because it is never parsed.
    """
    return max(len(_WORD.findall(text)), len(text) // 32) if len(text) <= LENGTH_MAX else 1


def compile_expression(text: str) -> Expression:
    """Compile the condition in ``text``. Raises :class:`FilterSyntaxError`.

    >>> compile_expression("age BETWEEN 0 AND 6").matches({"age": "7"})
    False
    """
    if len(text) > LENGTH_MAX:
        details = {"length": str(len(text)), "limit": str(LENGTH_MAX)}
        raise FilterSyntaxError(text[:LENGTH_MAX], LENGTH_MAX, FilterProblem.TOO_LONG, details)
    result = _compiled(text)
    if isinstance(result, FilterSyntaxError):
        raise result.again()
    return result


@lru_cache(maxsize=CACHE_SIZE)
def _compiled(text: str) -> Expression | FilterSyntaxError:
    if not text.strip():
        return FilterSyntaxError(text, 0, FilterProblem.EMPTY)
    words = word_count(text)
    if words > WORDS_MAX:
        details = {"count": str(words), "limit": str(WORDS_MAX)}
        return FilterSyntaxError(text, 0, FilterProblem.TOO_MANY_WORDS, details)
    # Imported here: loading lark and creating the parser takes 100 ms and 6 MB, which most starts do not need.
    from engine.filter.expression_parser import parse_condition

    try:
        expression = parse_condition(text)
    except FilterSyntaxError as error:
        return error.with_traceback(None)
    too_deep = _first_below(expression, DEPTH_MAX)
    if too_deep is not None:
        return FilterSyntaxError(text, too_deep.start, FilterProblem.TOO_DEEP, {"limit": str(DEPTH_MAX)})
    return expression


def _first_below(expression: Expression, depth: int) -> Expression | None:
    """Return the first node deeper than ``depth`` levels, without recursion, which the bound is to prevent."""
    waiting = [(expression, 1)]
    while waiting:
        node, level = waiting.pop()
        if level > depth:
            return node
        waiting += [(part, level + 1) for part in reversed(node.parts)]
    return None
