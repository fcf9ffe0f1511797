"""When Python looks for the garbage of worlds that are made by the thousand.

A world makes hardly any garbage in cycles while it runs, and is one large cycle when it is over. So collecting
meanwhile finds nothing, and moves the world among the old objects, which Python looks at seldom: memory that the next
world could use again grows cold.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def with_one_collection(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Let Python look for garbage only when ``function`` has returned, at what was made in it. At what an exception
    left it looks before the next one: while the exception travels, it holds all of that.
    """

    @wraps(function)
    def run_and_collect(*arguments: _Parameters.args, **more: _Parameters.kwargs) -> _Result:
        if not gc.isenabled():
            return function(*arguments, **more)
        gc.collect(1)
        gc.disable()
        try:
            result = function(*arguments, **more)
        finally:
            gc.enable()
        gc.collect(0)
        return result

    return run_and_collect
