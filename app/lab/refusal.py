"""A refusal that a person reads, in both languages. The texts stand in ``app/translations``, keys ``lab.error.*``."""

from __future__ import annotations

from app.json_types import JsonObject
from app.translator import LANGUAGES, translate


class LabRefused(Exception):
    """What was asked for cannot be done; ``reason`` is the last part of the text's key."""

    def __init__(self, reason: str, **values: object) -> None:
        self.reason = reason
        self.text = {language: translate(language, "lab.error." + reason, **values) for language in LANGUAGES}
        super().__init__(self.text["en"])

    def as_json(self) -> JsonObject:
        """The payload of ``refused``, and the body of an HTTP error."""
        return {"reason": self.reason, "text": self.text, "error": self.text["en"]}
