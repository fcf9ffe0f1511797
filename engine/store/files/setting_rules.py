"""What settings must be beyond their type: rules that the classes of settings hold in ``RULES``.

RocketMQ checks almost nothing: what parses is taken, and fails later, if at all.
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
    """What one setting must be, whatever the others are.

    :ivar allowed: completes "it must be".
    """

    is_kept: Callable[[Any], bool]
    allowed: str


def between(low: float, high: float = math.inf, note: str = "") -> SettingRule:
    """A number, both bounds included."""
    allowed = f"at least {low}" if high == math.inf else f"{low} to {high}"
    return SettingRule(lambda value: low <= value <= high, allowed + note)


#: None: where there may be no port at all.
PORT = SettingRule(lambda value: value is None or 0 <= value <= 65_535, "a port, 1 to 65535, or 0 for any free one")


class SettingsContradict(ValueError):
    """Each of these settings may be so, but not all together.

    :ivar fields: they.
    """

    def __init__(self, fields: Iterable[str], text: str) -> None:
        super().__init__(text)
        self.fields = tuple(fields)


def check_rules(config: object, rules: Mapping[str, SettingRule]) -> None:
    """Raises ValueError that names the setting, what it is and what is allowed."""
    for field, rule in rules.items():
        value = getattr(config, field)
        if not rule.is_kept(value):
            raise ValueError(f"{field} is {value!r}; it must be {rule.allowed}")


def read_number(kind: type[int] | type[float], text: str) -> int | float:
    """Raises ValueError, also for what only Python takes for a number: 1_000, inf, digits of other scripts."""
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no number")
    return kind(text)
