"""The language of filter expressions (RocketMQ: ``SelectorParser.jj``), as a grammar for an LALR(1) parser.

It has no arithmetic, no LIKE and no order of texts. It differs from SQL in two ways: NOT binds tighter than a
comparison (``NOT a = 1`` is ``(NOT a) = 1``), and IN accepts texts only. Words are reserved everywhere, in any case.

Different from RocketMQ, which reads as far as it understands and ignores the rest: here the whole text must be an
expression. RocketMQ reads ``a LIKE 'x%'`` as ``a``, which never matches; here it is an error at ``LIKE``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

GRAMMAR = r"""
?start: disjunction

?disjunction: conjunction (OR conjunction)*
?conjunction: equality (AND equality)*

?equality: comparison
    | equality EQUAL comparison             -> equal
    | equality NOT_EQUAL comparison         -> not_equal
    | equality IS NULL                      -> is_null
    | equality IS NOT NULL                  -> is_not_null

?comparison: unary
    | comparison GREATER unary              -> ordered
    | comparison GREATER_OR_EQUAL unary     -> ordered
    | comparison LESS unary                 -> ordered
    | comparison LESS_OR_EQUAL unary        -> ordered
    | comparison BETWEEN unary AND unary        -> between
    | comparison NOT BETWEEN unary AND unary    -> not_between
    | comparison IN _OPEN texts CLOSE           -> is_in
    | comparison NOT IN _OPEN texts CLOSE       -> is_not_in

texts: TEXT (_COMMA TEXT)*

?unary: primary
    | _PLUS unary
    | MINUS unary       -> negative
    | NOT unary         -> negation

?primary: TEXT          -> text
    | INTEGER           -> integer
    | FLOAT             -> float
    | TRUE              -> true
    | FALSE             -> false
    | NULL              -> null
    | NAME              -> property
    | _OPEN disjunction CLOSE    -> brackets

OR: /OR(?![A-Z0-9_$])/i
AND: /AND(?![A-Z0-9_$])/i
NOT: /NOT(?![A-Z0-9_$])/i
IS: /IS(?![A-Z0-9_$])/i
IN: /IN(?![A-Z0-9_$])/i
BETWEEN: /BETWEEN(?![A-Z0-9_$])/i
TRUE: /TRUE(?![A-Z0-9_$])/i
FALSE: /FALSE(?![A-Z0-9_$])/i
NULL: /NULL(?![A-Z0-9_$])/i
NAME: /(?!(?:OR|AND|NOT|IS|IN|BETWEEN|TRUE|FALSE|NULL)(?![A-Z0-9_$]))[A-Z_$][A-Z0-9_$]*/i
TEXT: /'(?:[^']|'')*'/
FLOAT.2: /[0-9]+\.[0-9]*(?:E[+-]?[0-9]+)?|\.[0-9]+(?:E[+-]?[0-9]+)?|[0-9]+E[+-]?[0-9]+/i
INTEGER.1: /(?:0|[1-9][0-9]*)L?/i
EQUAL: "="
NOT_EQUAL: "<>"
GREATER_OR_EQUAL: ">="
LESS_OR_EQUAL: "<="
GREATER: ">"
LESS: "<"
MINUS: "-"
_PLUS: "+"
_OPEN: "("
CLOSE: ")"
_COMMA: ","

BLANKS: /[ \t\n\r\f]+/
LINE_COMMENT.3: /--[^\n\r]*/
BLOCK_COMMENT.3: /\/\*[^*]*\*+(?:[^\/*][^*]*\*+)*\//
%ignore BLANKS
%ignore LINE_COMMENT
%ignore BLOCK_COMMENT
"""

#: The names in errors of what is allowed, in the order in which they are listed.
TERMINAL_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "NAME": "property",
        "TEXT": "'text'",
        "INTEGER": "number",
        "FLOAT": "number",
        "TRUE": "TRUE",
        "FALSE": "FALSE",
        "NULL": "NULL",
        "_OPEN": "(",
        "CLOSE": ")",
        "_COMMA": ",",
        "MINUS": "-",
        "_PLUS": "+",
        "NOT": "NOT",
        "EQUAL": "=",
        "NOT_EQUAL": "<>",
        "GREATER": ">",
        "GREATER_OR_EQUAL": ">=",
        "LESS": "<",
        "LESS_OR_EQUAL": "<=",
        "BETWEEN": "BETWEEN",
        "IN": "IN",
        "IS": "IS",
        "AND": "AND",
        "OR": "OR",
        "$END": "the end",
    }
)
