"""``asyncio.shield`` with the same callbacks in every Python version.

Python 3.14 adds a callback for its own bookkeeping of who awaits whom. A callback is an event of a lab world, so
recordings and links would lead to other moments there.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

_Result = TypeVar("_Result")


def shield(inner: asyncio.Future[_Result]) -> asyncio.Future[_Result]:
    """Return a future that gets the outcome of ``inner``; cancelling it leaves ``inner`` as it is."""
    if inner.done():
        return inner
    outer: asyncio.Future[_Result] = inner.get_loop().create_future()

    def settle(_: asyncio.Future[_Result]) -> None:
        if inner.cancelled():
            outer.cancel()
        elif error := inner.exception():
            if not outer.cancelled():
                outer.set_exception(error)
        elif not outer.cancelled():
            outer.set_result(inner.result())

    def forget(_: asyncio.Future[_Result]) -> None:
        if not inner.done():
            inner.remove_done_callback(settle)

    inner.add_done_callback(settle)
    outer.add_done_callback(forget)
    return outer
