"""The JSON library of the protocol: orjson, or the standard library where orjson is not installed.

A broker always has orjson. Spark's executors may run a Python that has only what Spark needs: there the standard
library gives orjson's results, and what orjson refuses is refused with the same kind of error; a test compares the two.
They differ in speed, and in how they spell small numbers (``1e-7`` and ``1e-07``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

_SURROGATE = re.compile("[\ud800-\udfff]")
_SMALLEST_INTEGER = -(1 << 63)
_INTEGERS_END = 1 << 64


def standard_dumps(value: object, *, sort_keys: bool = False, indent: int | None = None) -> bytes:
    """Encode ``value`` as UTF-8 text. Raises TypeError for values that JSON cannot express and for numbers over 64
    bits.
    """
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        _checked(value), ensure_ascii=False, allow_nan=False, separators=separators, sort_keys=sort_keys, indent=indent
    )
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TypeError("str is not valid UTF-8: surrogates not allowed") from error


def standard_loads(data: bytes | str) -> Any:
    """Decode the value in ``data``. Raises ValueError."""
    text = data if isinstance(data, str) else data.decode()
    if text.startswith("\ufeff"):
        raise ValueError("unexpected character: a byte order mark")
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_float)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if _SURROGATE.search(text) or "\\u" in text:
        _refuse_surrogates(value)
    return value


def _checked(value: object) -> object:
    """Return ``value`` with the parts replaced that the standard library would write differently."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        if not _SMALLEST_INTEGER <= value < _INTEGERS_END:
            raise TypeError("Integer exceeds 64-bit range")
        return int(value)
    if isinstance(value, float):
        return value if value - value == 0 else None  # neither infinite nor NaN
    if isinstance(value, dict):
        return {_key(key): _checked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_checked(item) for item in value]
    raise TypeError(f"Type is not JSON serializable: {type(value).__name__}")


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    text: str = json.dumps(_checked(key))
    return text


def _integer(digits: str) -> int | float:
    value = int(digits) if len(digits) <= 20 else None
    return value if value is not None and _SMALLEST_INTEGER <= value < _INTEGERS_END else float(digits)


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError("number out of range")
    return value


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"unexpected {word}")


def _refuse_surrogates(value: object) -> None:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise ValueError("a string holds a lone surrogate")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_surrogates(key)
            _refuse_surrogates(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_surrogates(item)


#: Compact text.
dumps: Callable[[object], bytes] = standard_dumps
#: Compact, keys sorted; keys may be numbers.
dumps_sorted: Callable[[object], bytes] = partial(standard_dumps, sort_keys=True)
#: Indented, keys sorted; keys may be numbers.
dumps_pretty: Callable[[object], bytes] = partial(standard_dumps, sort_keys=True, indent=2)
#: Decodes the value in a text. Raises ValueError.
loads: Callable[[bytes | str], Any] = standard_loads

try:
    import orjson
except ImportError:
    pass
else:
    _SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    dumps, loads = orjson.dumps, orjson.loads
    dumps_sorted = partial(orjson.dumps, option=_SORTED)
    dumps_pretty = partial(orjson.dumps, option=_SORTED | orjson.OPT_INDENT_2)
