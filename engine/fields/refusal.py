"""The refusal of outside input: where, what is wrong and what is allowed, in each language."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping

from engine.texts import Text

#: Characters of a given value that an error quotes.
SHOWN_MAX = 60
_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxdict, _REPR.maxlist, _REPR.maxstring = 2, 3, 3, 30


class FieldRefused(ValueError):
    """A field of outside input is missing, unknown or not allowed.

    :ivar path: where it is: ``keys.access_key``, ``commands[3].kind``.
    :ivar problem: what is wrong, by language, or a word that is the same in all of them; ``allowed`` likewise.
    :ivar sentence: what a form shows instead of all three.
    """

    def __init__(
        self,
        path: str,
        problem: Mapping[str, str] | str,
        allowed: Mapping[str, str] | str,
        sentence: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(path, problem, allowed, sentence)
        self.path, self.problem, self.allowed, self.sentence = path, problem, allowed, sentence

    @property
    def detail(self) -> Text:
        """Return problem and what is allowed, where the reader shows the place in another way."""
        return Text("field.detail", problem=self.problem, allowed=self.allowed)

    @property
    def text(self) -> Text:
        """Return the whole refusal."""
        return Text("field.refused", path=self.path, detail=self.detail)

    def __str__(self) -> str:
        return self.text["en"]


def in_language(words: Mapping[str, str] | str, language: str) -> str:
    """Return problem or what is allowed in ``language``."""
    return words if isinstance(words, str) else words[language]


def shown(value: object) -> str:
    """Return ``value`` as an error message quotes it: never longer than a line, never an error itself."""
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN_MAX else value[:SHOWN_MAX] + "...")
    try:
        text = _REPR.repr(value)
    except ValueError:  # Python does not write integers of more than 4,300 digits
        text = "..."
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."
