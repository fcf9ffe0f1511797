"""Requests that were sent and not answered yet (Kafka: ``InFlightRequests``).

A broker answers a connection's requests in their order, so the next answer belongs to the oldest one here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.kafka.client.errors import Disconnected
from engine.kafka.wire.fields import KafkaMessage

#: Gets the answer, or why there will be none, or None: it was sent, and nobody answers; called by ``poll``.
Answered = Callable[[KafkaMessage | Disconnected | None], None]


@dataclass(slots=True)
class ClientRequest:
    """:ivar needs_answer: False: nobody will answer (a produce request with acks 0).

    :ivar sent_ms: when it left; 0 before.
    """

    request: KafkaMessage
    correlation_id: int
    answered: Answered
    needs_answer: bool = True
    sent_ms: int = 0


class InFlightRequests:
    """:ivar limit: so many at most (``max.in.flight.requests.per.connection``)."""

    def __init__(self, limit: int) -> None:
        assert limit >= 1
        self.limit = limit
        self._requests: deque[ClientRequest] = deque()

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def requests(self) -> tuple[ClientRequest, ...]:
        """The oldest first."""
        return tuple(self._requests)

    @property
    def can_send_more(self) -> bool:
        """Whether there is room for another one."""
        return len(self._requests) < self.limit

    def add(self, request: ClientRequest) -> None:
        """It has been sent just now."""
        assert self.can_send_more
        self._requests.append(request)

    def complete_next(self) -> ClientRequest:
        """The oldest one has been answered."""
        return self._requests.popleft()

    def clear(self) -> list[ClientRequest]:
        """None of them will be answered."""
        requests = list(self._requests)
        self._requests.clear()
        return requests
