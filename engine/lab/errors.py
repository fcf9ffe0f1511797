"""What a person can do wrong in the lab. Every message names what was wrong and what is allowed."""

from __future__ import annotations


class LabError(Exception):
    """Base of the lab's errors."""


class ScenarioError(LabError):
    """A scenario cannot be read.

    :ivar line: line of the text, from 1; 0 when no line can be named.
    :ivar field: the field's full name, such as ``nodes.C1.listener.result``; empty for the whole text.
    :ivar message: what is wrong with it.
    """

    def __init__(self, line: int, field: str, message: str) -> None:
        self.line = line
        self.field = field
        self.message = message
        where = f"line {line}, {field}" if field else f"line {line}"
        super().__init__(f"{where}: {message}")


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
