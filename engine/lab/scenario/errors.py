"""User errors in the lab. Every message names what was wrong and what is allowed.

Users read these messages on the page, in their language: an error carries a :class:`~engine.texts.Text`. ``str(error)``
is the English one.
"""

from __future__ import annotations

from typing import Any, Self

from engine.texts import Text


class LabError(Exception):
    """Base of the lab's errors.

    :param text: what is wrong, or its key; ``arguments`` are then the values of its placeholders.
    """

    def __init__(self, text: Text | str, /, **arguments: object) -> None:
        self.text = text if isinstance(text, Text) else Text(text, **arguments)
        super().__init__(str(self.text))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error as it is: by default, the sentence would be taken for a key where it is unpickled."""
        return type(self)._empty, self.args, self.__dict__

    @classmethod
    def _empty(cls, sentence: str) -> Self:
        return cls.__new__(cls, sentence)


class ScenarioError(LabError):
    """A scenario cannot be parsed.

    Scenarios are written by authors, with English field names: errors of fields are in English only.

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
    """There is no scenario with this name."""


class CommandRefused(LabError):
    """A command is malformed, or cannot be carried out on this world now (a crash of a crashed node)."""


class SettingRefused(LabError):
    """A node has no such setting, or the value is not allowed."""


class RecordingRefused(LabError):
    """An exported run or a link cannot be parsed."""


class RunLimitReached(LabError):
    """A run has reached the limit of events or commands."""
