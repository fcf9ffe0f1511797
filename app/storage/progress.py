"""Long work in small steps: it reports its progress, and can be ended between two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class ProgressStep(NamedTuple):
    """The progress before step number ``number`` of ``total``, from 0; ``doing`` is a text for display."""

    number: int
    total: int
    doing: str


#: Called with each step; an exception that it raises ends the work.
ProgressCallback = Callable[[ProgressStep], None]


class Cancelled(Exception):
    """Raised by a ``ProgressCallback`` to end the work."""
