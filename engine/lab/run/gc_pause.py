"""Garbage collection for worlds that are made by the thousand.

A world makes hardly any garbage in cycles while it runs, and is one large cycle when it is over. So collecting
meanwhile finds nothing, and moves the world to the old generation, which Python collects rarely, so that its memory is
not reused for the next world.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def with_gc_paused(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Let Python collect garbage only when ``function`` has returned, among the objects made in it. What an exception
    left is collected before the next call: the exception keeps it alive until then.
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
