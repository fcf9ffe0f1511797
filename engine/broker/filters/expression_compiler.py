"""The compiler of clients' expressions, with a limit per second (RocketMQ: ``FilterFactory``, which has no limit).

A parser written in Python takes up to 25 ms for an expression and blocks the broker meanwhile. So a broker caches what
it compiled last, errors included, and limits the rest by a budget of words that connections share: one that has used
its share has to try again later. An expression already in use by a group is never compiled again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.broker.filters.compile_budget import CompileBudget
from engine.filter.compiler import LENGTH_MAX, compile_expression, word_count
from engine.filter.errors import FilterSyntaxError
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused

if TYPE_CHECKING:
    from engine.filter.expression import Expression

#: The number of cached expressions, as in RocketMQ's ``PARSE_CACHE``. The cache is per broker: what another broker
#: compiled in the same process must not change this one's answers.
_CACHE_SIZE = 100


class CompilerBusy(RequestRefused):
    """Too many new expressions arrived in this second; the same one may be accepted later."""


class ExpressionCompiler:
    """A compiler with a cache and a budget.

    :param words_per_second: the budget for new expressions of all connections together.
    """

    def __init__(self, words_per_second: int, monotonic_us: Callable[[], int]) -> None:
        self._budget = CompileBudget(words_per_second, monotonic_us)
        self._known: OrderedDict[str, Expression | FilterSyntaxError] = OrderedDict()

    def compile(self, text: str, connection: str) -> Expression:
        """Compile the condition in ``text`` for the client at ``connection``. Raises ``FilterSyntaxError``,
        :class:`CompilerBusy`.
        """
        if len(text) > LENGTH_MAX:
            return compile_expression(text)  # refuses it, and caches nothing of it
        result = self._known.get(text)
        if result is None:
            result = self._known[text] = self._compile(text, connection)
            if len(self._known) > _CACHE_SIZE:
                self._known.popitem(last=False)
        self._known.move_to_end(text)
        if isinstance(result, FilterSyntaxError):
            raise result.again()
        return result

    def _compile(self, text: str, connection: str) -> Expression | FilterSyntaxError:
        if not self._budget.take(connection, word_count(text)):
            raise CompilerBusy(
                f"[RATE_LIMIT] the broker compiles new expressions of {self._budget.per_second} words a second "
                "(maxFilterWordsPerSecond), and this connection has used its share of them; try again later",
                ResponseCode.SYSTEM_BUSY,
            )
        try:
            return compile_expression(text)
        except FilterSyntaxError as error:
            return error.with_traceback(None)
