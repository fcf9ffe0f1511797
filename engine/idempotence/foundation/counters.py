"""What an idempotent listener has counted since its process began."""

from __future__ import annotations

from dataclasses import dataclass, fields

#: The property under which a consumer tells of its idempotent listener (307), as JSON text. RocketMQ's tools show it.
IDEMPOTENCE_PROPERTY = "GLASSMQ_IDEMPOTENCE"


@dataclass(slots=True)
class IdempotenceCounters:
    """One number per thing that can happen to a delivery.

    :ivar first: the work was done, and nobody was at it before.
    :ivar taken_over: it was done in the place of an owner whose record had expired.
    :ivar swallowed: a duplicate of what is done: acknowledged, nothing done.
    :ivar bounced: a duplicate of what is being done: it comes again later.
    :ivar failed: the work has failed; it comes again.
    :ivar store_errors: calls of the store that failed.
    :ivar unguarded: done without the store, as it was unreachable (fail open).
    :ivar late_finishes: the work was done, but its record had been taken over meanwhile: it was done twice, or will be.
    :ivar different_bodies: the key was used before by a message with another body.
    :ivar unusable_keys: messages without a key that a store can take.
    """

    first: int = 0
    taken_over: int = 0
    swallowed: int = 0
    bounced: int = 0
    failed: int = 0
    store_errors: int = 0
    unguarded: int = 0
    late_finishes: int = 0
    different_bodies: int = 0
    unusable_keys: int = 0

    def to_dict(self) -> dict[str, int]:
        """Name -> count, in the order above."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
