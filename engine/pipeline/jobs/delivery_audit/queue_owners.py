"""The clients that consumed one queue for a group, one after another, as their reports show them.

They are evidence about messages that nobody reported: a client that is killed loses its last reports, and the next one
continues where the group's offset is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

#: Clients of a queue that are remembered: those that reported last.
OWNERS_MAX = 64


@dataclass(frozen=True, slots=True)
class QueueOwner:
    """A client, and the offsets and times of its first and last report about a queue.

    :ivar client: the beginning of the unique ids that it makes, see
        :func:`~engine.protocol.message.message_id.client_of_unique_id`.
    """

    client: str
    first_offset: int
    last_offset: int
    first_ms: int
    last_ms: int

    def joined(self, other: QueueOwner) -> QueueOwner:
        """Return both as one."""
        return replace(
            self,
            first_offset=min(self.first_offset, other.first_offset),
            last_offset=max(self.last_offset, other.last_offset),
            first_ms=min(self.first_ms, other.first_ms),
            last_ms=max(self.last_ms, other.last_ms),
        )


@dataclass(slots=True)
class QueueOwners:
    """The owners of one queue. Adding one twice changes nothing."""

    _owners: dict[str, QueueOwner] = field(default_factory=dict)

    def __iter__(self) -> Iterator[QueueOwner]:
        return iter(self._owners.values())

    def add(self, owners: Iterable[QueueOwner]) -> None:
        """Add what clients reported."""
        for owner in owners:
            known = self._owners.get(owner.client)
            self._owners[owner.client] = owner if known is None else known.joined(owner)
        while len(self._owners) > OWNERS_MAX:
            del self._owners[min(self, key=lambda owner: owner.last_ms).client]

    def around(self, offset: int) -> tuple[QueueOwner | None, QueueOwner | None]:
        """Return the owner before an offset that nobody reported, and the next one, which began after it."""
        before = [owner for owner in self if owner.first_offset < offset]
        if not before:
            return None, None
        began_ms = min(owner.first_ms for owner in before)
        later = [owner for owner in self if owner.first_offset > offset and owner.first_ms >= began_ms]
        if not later:
            return max(before, key=lambda owner: owner.last_ms), None
        successor = min(later, key=lambda owner: owner.first_ms)
        earlier = [owner for owner in before if owner.first_ms <= successor.first_ms]
        return max(earlier, key=lambda owner: owner.last_ms), successor
