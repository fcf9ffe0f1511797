"""What a person can do wrong in the lab. Every message names what was wrong and what is allowed.

People read these messages on the page, in their language: an error carries a :class:`~engine.texts.Text`.
``str(error)`` is the English one.
"""

from __future__ import annotations

from typing import Any, Self

from engine.texts import Text


class LabError(Exception):
    """Base of the lab's errors.

    :param text: what is wrong, or the key of it; then ``arguments`` are what its placeholders stand for.
    """

    def __init__(self, text: Text | str, /, **arguments: object) -> None:
        self.text = text if isinstance(text, Text) else Text(text, **arguments)
        super().__init__(str(self.text))

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is: an exception's own way would take the sentence for a key, where another process raised it."""
        return type(self)._empty, self.args, self.__dict__

    @classmethod
    def _empty(cls, sentence: str) -> Self:
        return cls.__new__(cls, sentence)


class ScenarioError(LabError):
    """A scenario cannot be read.

    Scenarios are written by authors, with English field names: what is wrong with a field is said in English only.

    :ivar line: line of the text, from 1; 0 when no line can be named.
    :ivar field: the field's full name, such as ``nodes.C1.listener.result``; empty for the whole text.
    :ivar message: what is wrong with it.
    """

    def __init__(self, line: int, field: str, message: str) -> None:
        self.line = line
        self.field = field
        self.message = message
        where = Text("refusal.line_and_field", line=line, field=field) if field else Text("refusal.line", line=line)
        super().__init__("refusal.scenario_error", where=where, message=message)


class UnknownScenario(LabError):
    """There is no scenario of that name."""


class CommandRefused(LabError):
    """A command is malformed, or cannot be carried out on this world now (a crash of a crashed node)."""


class SettingRefused(LabError):
    """A node has no such setting, or it may not have that value."""


class RecordingRefused(LabError):
    """An exported run or a link cannot be read."""


class RunLimitReached(LabError):
    """A run has as many events or commands as one run may have."""
