"""Long work in small steps: it says how far it is, and can be ended between two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Step(NamedTuple):
    """Before step number ``number`` of ``total``, from 0; ``doing`` is for people."""

    number: int
    total: int
    doing: str


#: Gets each step; what it raises ends the work.
Progress = Callable[[Step], None]


class Cancelled(Exception):
    """Raised by a ``Progress`` to end the work."""
