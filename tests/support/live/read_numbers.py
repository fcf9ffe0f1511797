"""Reads the numbers of all stored messages at once, where the broker's own task would take its time."""

from __future__ import annotations

import asyncio

from app.observation.stored_numbers import StoredNumbers
from app.picture.numbers import Numbers


def see_all(numbers: StoredNumbers) -> Numbers | None:
    """Read everything stored by now to the end, and return the view."""
    numbers._find_topics()
    while numbers.look():
        pass
    asyncio.run(numbers._renew_view())
    return numbers.view
