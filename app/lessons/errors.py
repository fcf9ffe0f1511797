"""Errors of a lesson's author."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.lab.scenario.errors import ScenarioError


class LessonError(Exception):
    """A lesson cannot be read. The message names the file, the line, the field, what is wrong and what is allowed.

    :ivar file: ``01-first-message/steps.yaml``, or empty for a single expression.
    :ivar line: from 1; 0 when no line can be named.
    """

    def __init__(self, file: str, line: int, message: str) -> None:
        self.file = file
        self.line = line
        self.message = message
        where = f"{file}, line {line}: " if file and line else f"{file}: " if file else ""
        super().__init__(where + message)

    @classmethod
    def of(cls, file: str, error: ScenarioError) -> LessonError:
        """Return what the reader of YAML said, as an error of this file."""
        return cls(file, error.line, f"{error.field}: {error.message}" if error.field else error.message)


class ExpressionError(Exception):
    """An expression cannot be read; the message shows it and names what is allowed there."""


class UnknownLesson(Exception):
    """There is no lesson of that name."""
