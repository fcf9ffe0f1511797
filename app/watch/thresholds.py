"""The thresholds of the rules as people set them, in a file in the data folder: rule -> number, or null to switch it
off. Missing ones have their defaults.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from app.foundation.json_types import JsonValue
from app.foundation.translator import in_all_languages
from app.foundation.whole_file import READ_MAX_BYTES, write_whole
from app.watch.rules import RULES, Rule
from engine.fields.field import Field, only_known
from engine.fields.refusal import FieldRefused
from engine.protocol.json_form import json_library
from engine.runtime.live.whole_file import read_whole

log = logging.getLogger("glassmq.host")

FILE_NAME = "verdict.json"
_BY_NAME = {rule.name: rule for rule in RULES}


class Thresholds:
    """The thresholds by rule. ``file`` None: kept in memory only."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._set: dict[str, int | None] = {}
        #: The file has content that is not used: it is kept under another name before the next one is written.
        self._is_unreadable = False
        if file is not None:
            self._read(file)

    def of(self, rule: Rule) -> int | None:
        """Return the threshold; None when the rule is off."""
        return self._set.get(rule.name, rule.default)

    def change(self, wanted: Mapping[str, JsonValue]) -> None:
        """Set all of these or none: raises :class:`FieldRefused`, ``OSError`` where the file cannot be written."""
        changed = {**self._set, **{name: checked(name, value) for name, value in wanted.items()}}
        # Defaults are not stored: they follow the defaults of later versions.
        changed = {name: value for name, value in changed.items() if value != _BY_NAME[name].default}
        if self._file is not None:
            if self._is_unreadable:
                write_whole(self._file.with_suffix(".damaged"), read_whole(self._file, READ_MAX_BYTES))
            write_whole(self._file, json_library.dumps_pretty(changed))
            self._is_unreadable = False
        self._set = changed

    def _read(self, file: Path) -> None:
        """Read the file. Unusable values are left out and logged: a broker starts all the same."""
        try:
            found = Field(file.name, "object").read(json_library.loads(read_whole(file, READ_MAX_BYTES)), file.name)
        except FileNotFoundError:
            return
        except (OSError, ValueError, FieldRefused) as error:
            log.warning("the thresholds in %s cannot be read, the defaults apply: %s", file, error)
            self._is_unreadable = True
            return
        for name, value in found.items():
            try:
                self._set[name] = checked(name, value)
            except FieldRefused as refused:
                log.warning("a threshold in %s is left out: %s", file, refused)
                self._is_unreadable = True


def checked(name: str, value: JsonValue) -> int | None:
    """Return ``value`` when rule ``name`` may have it. Raises :class:`FieldRefused`."""
    only_known([name], _BY_NAME)
    rule = _BY_NAME[name]
    says = in_all_languages("verdict.threshold_refused", rule=name, least=rule.least, most=rule.most)
    threshold: int | None = Field(name, "integer", rule.least, rule.most, default=None, says=says).read(value, name)
    return threshold
