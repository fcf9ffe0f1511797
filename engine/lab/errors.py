"""What a person can do wrong in the lab. Every message names what was wrong and what is allowed.

People read these messages on the page, in their language: an error carries one of the texts of
:mod:`engine.lab.refusal_texts`, filled in every language. ``str(error)`` is the English one.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.lab.refusal_texts import SCENARIO_ERROR, RefusalText


class LabError(Exception):
    """Base of the lab's errors.

    :param text: what is wrong, from the table.
    :param values: what its placeholders stand for; a mapping from language to text where the value is itself words.
    :ivar text: language -> the filled text.
    """

    def __init__(self, text: RefusalText, **values: object) -> None:
        self.text: Mapping[str, str] = text.filled(values)
        super().__init__(self.text["en"])


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
        english = f"line {line}, {field}" if field else f"line {line}"
        chinese = f"第 {line} 行，{field}" if field else f"第 {line} 行"
        super().__init__(SCENARIO_ERROR, where={"en": english, "zh": chinese}, message=message)


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
