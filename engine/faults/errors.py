"""The refusal of a fault injection."""

from __future__ import annotations

from engine.texts import Text


class FaultRefused(Exception):
    """An invalid rule, or an action that is too late. ``text`` says what is allowed, in each language."""

    def __init__(self, key: str, /, **arguments: object) -> None:
        self.text = Text(key, **arguments)
        super().__init__(str(self.text))
