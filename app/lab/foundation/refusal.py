"""A refusal with a text in both languages. The texts are in ``app/translations``, keys ``lab.error.*``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.foundation.translator import in_all_languages
from app.picture.refusal import Refusal
from engine.fields.refusal import FieldRefused
from engine.lab.scenario.errors import LabError, RunLimitReached


class LabRefused(Exception):
    """A request that cannot be carried out.

    :param reason: the last part of the text's key.
    :param values: the values of its placeholders; a mapping from language to text where that differs.
    """

    def __init__(self, reason: str, **values: object) -> None:
        self.reason = reason
        self.text = in_all_languages("lab.error." + reason, **values)
        super().__init__(self.text["en"])

    def as_json(self) -> Refusal:
        """Return the payload of ``refused``, and the body of an HTTP error."""
        return {"reason": self.reason, "text": dict(self.text), "error": self.text["en"]}


def refusal_of(error: LabError, reason: str = "command") -> LabRefused:
    """Return a refusal with the message of an error of the engine's lab, in every language. ``reason``: what it was
    about.
    """
    return LabRefused("limit" if isinstance(error, RunLimitReached) else reason, problem=error.text)


@contextmanager
def fields_refused(reason: str = "bad_request") -> Iterator[None]:
    """Turn what a table of fields refuses into :class:`LabRefused`. A block, or a decorator."""
    try:
        yield
    except FieldRefused as refused:
        raise LabRefused(reason, problem=refused.text) from refused
