"""Counters of an idempotent listener since its process started."""

from __future__ import annotations

from dataclasses import dataclass, fields

#: Property of a consumer's running info (307) with the state of its idempotent listener, as JSON text. RocketMQ's tools
#: show it.
IDEMPOTENCE_PROPERTY = "GLASSMQ_IDEMPOTENCE"


@dataclass(slots=True)
class IdempotenceCounters:
    """Counters, one for each outcome of a delivery.

    :ivar first: the work was done, and no other attempt came before.
    :ivar taken_over: it was done in place of an owner whose record had expired.
    :ivar swallowed: a duplicate of finished work: acknowledged, nothing done.
    :ivar bounced: a duplicate of work in progress: it is delivered again later.
    :ivar failed: the work has failed; the message is delivered again.
    :ivar store_errors: calls of the store that failed.
    :ivar unguarded: done without the store, which was unreachable (fail open).
    :ivar late_finishes: the work was done, but its record had been taken over meanwhile: it was or will be done twice.
    :ivar different_bodies: the key was used before by a message with another body.
    :ivar unusable_keys: messages without a key that every store accepts.
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
        """Return name -> count, in the order above."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
