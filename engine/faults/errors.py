"""A refusal of what somebody wants to break."""

from __future__ import annotations

from engine.texts import Text


class FaultRefused(Exception):
    """A rule that cannot be, or a deed that comes too late. ``text`` says what is allowed, in each language."""

    def __init__(self, key: str, /, **arguments: object) -> None:
        self.text = Text(key, **arguments)
        super().__init__(str(self.text))
