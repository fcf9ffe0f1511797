"""Rules for settings beyond their types, which the classes of settings have in ``RULES``.

RocketMQ checks almost nothing: it accepts any value that parses, and fails later, if at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_NUMBER = re.compile(r"[-+]?[0-9]{1,19}(\.[0-9]{1,19})?")


@dataclass(frozen=True, slots=True)
class SettingRule:
    """The rule for one setting, independent of the others.

    :ivar allowed: completes "it must be".
    """

    is_kept: Callable[[Any], bool]
    allowed: str


def between(low: float, high: float = math.inf, note: str = "") -> SettingRule:
    """Return the rule for a number between two inclusive bounds."""
    allowed = f"at least {low}" if high == math.inf else f"{low} to {high}"
    return SettingRule(lambda value: low <= value <= high, allowed + note)


#: The rule for a port; None means no port at all, where that is allowed.
PORT = SettingRule(lambda value: value is None or 0 <= value <= 65_535, "a port, 1 to 65535, or 0 for any free one")


class SettingsContradict(ValueError):
    """Settings that are valid one by one, but not together.

    :ivar fields: the settings in conflict.
    """

    def __init__(self, fields: Iterable[str], text: str) -> None:
        super().__init__(text)
        self.fields = tuple(fields)


def check_rules(config: object, rules: Mapping[str, SettingRule]) -> None:
    """Check settings. Raises ValueError that names the setting, its value and what is allowed."""
    for field, rule in rules.items():
        value = getattr(config, field)
        if not rule.is_kept(value):
            raise ValueError(f"{field} is {value!r}; it must be {rule.allowed}")


def read_number(kind: type[int] | type[float], text: str) -> int | float:
    """Parse a number. Raises ValueError, also for text that only Python accepts: 1_000, inf, digits of other
    scripts.
    """
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a number")
    return kind(text)
