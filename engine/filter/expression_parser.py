"""The parser of expressions, which reports the position and the reason of errors (RocketMQ: ``SelectorParser``)."""

from __future__ import annotations

import re
from functools import cache

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from engine.filter.builder import ExpressionBuilder, PartRefused, as_condition
from engine.filter.errors import FilterProblem, FilterSyntaxError
from engine.filter.expression import Expression
from engine.filter.grammar import GRAMMAR, TERMINAL_NAMES


def parse_condition(text: str) -> Expression:
    """Parse the condition in ``text``, however deep. Raises :class:`FilterSyntaxError`."""
    try:
        return as_condition(_parser().parse(text))  # type: ignore[arg-type]  # the builder makes no trees
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    except PartRefused as refusal:
        details = {"found": _shortened(text[refusal.start : refusal.end]), **refusal.details}
        raise FilterSyntaxError(text, refusal.start, refusal.problem, details) from None


@cache
def _parser() -> Lark:
    # Without re.ASCII, case-insensitive matching would accept non-ASCII letters: U+017F for s, U+212A for k.
    return Lark(GRAMMAR, parser="lalr", lexer="basic", transformer=ExpressionBuilder(), g_regex_flags=re.ASCII)


def _syntax_error(text: str, error: UnexpectedInput) -> FilterSyntaxError:
    position = error.pos_in_stream
    assert position is not None, "the lexer knows where it is"
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        end = len(text.rstrip())
        return FilterSyntaxError(text, end, FilterProblem.UNEXPECTED_END, {}, _allowed_at(text, len(text)))
    if isinstance(error, UnexpectedCharacters):
        if text[position] == "'":
            return FilterSyntaxError(text, position, FilterProblem.OPEN_TEXT)
        if text.startswith("/*", position):
            return FilterSyntaxError(text, position, FilterProblem.OPEN_COMMENT)
        details = {"found": repr(text[position])}
        return FilterSyntaxError(
            text, position, FilterProblem.UNEXPECTED_CHARACTER, details, _allowed_at(text, position)
        )
    assert isinstance(error, UnexpectedToken), "an LALR parser raises nothing else"
    details = {"found": _shortened(str(error.token))}
    return FilterSyntaxError(text, position, FilterProblem.UNEXPECTED_WORD, details, _allowed_at(text, position))


def _shortened(word: str) -> str:
    return word if len(word) <= 40 else f"{word[:40]}..."


def _allowed_at(text: str, position: int) -> tuple[str, ...]:
    accepted = terminals_allowed_at(_parser(), text, position)
    return tuple(dict.fromkeys(name for terminal, name in TERMINAL_NAMES.items() if terminal in accepted))


def terminals_allowed_at(parser: Lark, text: str, position: int) -> list[str]:
    """Return the terminals that an LALR grammar accepts at ``position``, by parsing up to there again, sorted.

    An error of lark names fewer: it is raised after reductions that some of them would not have caused.
    """
    parsing = parser.parse_interactive(text)
    try:
        for token in parsing.lexer_thread.lex(parsing.parser_state):  # type: ignore[no-untyped-call]  # lark's gap
            if _start_of(token) >= position:
                break
            parsing.feed_token(token)
    except UnexpectedInput:
        pass  # the one at ``position``
    return sorted(parsing.accepts())  # type: ignore[no-untyped-call]  # lark's gap


def _start_of(token: Token) -> int:
    assert token.start_pos is not None, "the lexer knows where it is"
    return token.start_pos
