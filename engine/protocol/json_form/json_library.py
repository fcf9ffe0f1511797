"""The JSON library that the protocol is written with: orjson, or the standard library where orjson is not installed.

A broker always has orjson. Spark's executors may run a Python that has only what Spark needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.protocol.json_form import standard_json

#: Compact text.
dumps: Callable[[object], bytes]
#: Compact, keys sorted; keys may be numbers.
dumps_sorted: Callable[[object], bytes]
#: Indented, keys sorted; keys may be numbers.
dumps_pretty: Callable[[object], bytes]
#: The value in a text. Raises ValueError.
loads: Callable[[bytes | str], Any]

try:
    import orjson
except ImportError:
    dumps = standard_json.dumps
    dumps_sorted = partial(standard_json.dumps, sort_keys=True)
    dumps_pretty = partial(standard_json.dumps, sort_keys=True, indent=2)
    loads = standard_json.loads
else:
    _SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    dumps = orjson.dumps
    dumps_sorted = partial(orjson.dumps, option=_SORTED)
    dumps_pretty = partial(orjson.dumps, option=_SORTED | orjson.OPT_INDENT_2)
    loads = orjson.loads
