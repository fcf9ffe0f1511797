"""Replacements of ``asyncio.shield`` and ``asyncio.gather`` with the same callbacks in every Python version.

A callback is an event of a lab world, so with a different number of callbacks recordings and links are replayed
differently: since Python 3.12 ``gather`` runs none for finished futures, and since 3.14 ``shield`` runs one more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


def shield(inner: asyncio.Future[_Result]) -> asyncio.Future[_Result]:
    """Return a future that gets the outcome of ``inner``; cancelling it does not affect ``inner``."""
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


def all_ended(futures: Iterable[asyncio.Future[Any]]) -> asyncio.Future[None]:
    """Return a future that is done when all ``futures`` are, however they ended; cancelling it cancels them."""
    waited_for = list(futures)
    ended = _AllEnded(waited_for)
    if not waited_for:
        ended.set_result(None)
    for future in waited_for:
        future.add_done_callback(ended.one_ended)
    return ended


def cancel_all(futures: Iterable[asyncio.Future[Any] | None]) -> asyncio.Future[None]:
    """Cancel all ``futures`` that exist; return a future that is done when they have ended."""
    cancelled = [future for future in futures if future is not None]
    for future in cancelled:
        future.cancel()
    return all_ended(cancelled)


class _AllEnded(asyncio.Future[None]):
    """A future that also waits for the rest if it is cancelled: only then no future is running any more."""

    def __init__(self, waited_for: list[asyncio.Future[Any]]) -> None:
        super().__init__(loop=waited_for[0].get_loop() if waited_for else asyncio.get_running_loop())
        self._waited_for = waited_for
        self._left = len(waited_for)
        self._is_cancelled = False

    def cancel(self, msg: object = None) -> bool:
        if self.done():
            return False
        self._is_cancelled = True
        for future in self._waited_for:
            future.cancel(msg)
        return True

    def one_ended(self, future: asyncio.Future[Any]) -> None:
        """Count a finished future; this is a callback of each of them."""
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not report it
        self._left -= 1
        if self._left:
            return
        if self._is_cancelled:
            super().cancel()
        else:
            self.set_result(None)
