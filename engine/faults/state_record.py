"""What a node held at each recorded frame: only what changed, so that a long record stays small."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal

CHANGES_MAX = 5_000

StatePart = Literal["broker", "topics", "queues", "groups", "offsets", "half_messages", "locks", "held_pulls"]
#: Part of a broker -> name of a row -> its values.
NodeState = Mapping[StatePart, Mapping[str, list[int | str]]]
#: Number of the frame after which a row changed, its part, its name, and its values; none: it is gone.
StateChange = tuple[int, StatePart, str, list[int | str]]


class StateRecord:
    """A bounded record of changes. The oldest are merged: the state from then on stays complete.

    :param take: returns the state now; no row of it is empty.
    """

    def __init__(self, take: Callable[[], NodeState]) -> None:
        self._take = take
        self._last: NodeState = {}
        self._changes: deque[StateChange] = deque()
        self._merged: dict[tuple[StatePart, str], StateChange] = {}

    def note(self, frame: int) -> None:
        """Record what has changed; ``frame`` is the number of the last frame."""
        last, state = self._last, self._take()
        for part in dict.fromkeys((*last, *state)):
            before, now = last.get(part, {}), state.get(part, {})
            if before != now:
                self._changes += ((frame, part, name, []) for name in before if name not in now)
                self._changes += ((frame, part, name, row) for name, row in now.items() if before.get(name) != row)
        self._last = state
        while len(self._changes) > CHANGES_MAX:
            until, part, name, row = self._changes.popleft()
            self._merged.pop((part, name), None)
            if row:
                self._merged[part, name] = until, part, name, row

    def changes(self) -> list[StateChange]:
        """Return all changes, oldest first. Those that were merged come with the last of them."""
        until = max((change[0] for change in self._merged.values()), default=0)
        return [*((until, *change[1:]) for change in self._merged.values()), *self._changes]
