"""Tables of states: a change that is not in a table raises an error that names what is allowed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import TypeVar

_State = TypeVar("_State", bound=Enum)
_Event = TypeVar("_Event", bound=Enum)


class IllegalStateChange(Exception):
    """A state does not allow a change: a bug, or a request at the wrong time."""


def next_state(
    table: Mapping[tuple[_State, _Event], _State],
    state: _State,
    event: _Event,
    about: str,
    error: type[Exception] = IllegalStateChange,
) -> _State:
    """Return the state of ``about`` after ``event``. Raises ``error``."""
    after = table.get((state, event))
    if after is None:
        allowed = ", ".join(_name(known) for before, known in table if before is state) or "nothing"
        raise error(f"{about} is {_name(state)}: {_name(event)} is not allowed; allowed: {allowed}")
    return after


def successor(table: Mapping[_State, Collection[_State]], state: _State, after: _State, about: str) -> _State:
    """Return ``after`` if it may follow ``state``; a state without an entry is final. Raises
    :class:`IllegalStateChange`.
    """
    return next_state({(state, known): known for known in table.get(state, ())}, state, after, about)


def _name(member: Enum) -> str:
    return member.value if isinstance(member.value, str) else member.name
