"""Requests that were sent and are not answered yet (Kafka: ``InFlightRequests``).

A broker answers a connection's requests in their order, so the next answer belongs to the oldest one here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.kafka.client.errors import Disconnected
from engine.kafka.wire.fields import KafkaMessage

#: Receives the response, the reason why there will be none, or None if the request was sent and expects no response;
#: called by ``poll``.
Answered = Callable[[KafkaMessage | Disconnected | None], None]


@dataclass(slots=True)
class ClientRequest:
    """A request of a client.

    :ivar needs_answer: False: no response will come (a produce request with acks 0).
    :ivar sent_ms: when it was sent; 0 before.
    """

    request: KafkaMessage
    correlation_id: int
    answered: Answered
    needs_answer: bool = True
    sent_ms: int = 0


class InFlightRequests:
    """The requests of a connection that are not answered yet.

    :ivar limit: most requests at a time (``max.in.flight.requests.per.connection``).
    """

    def __init__(self, limit: int) -> None:
        assert limit >= 1
        self.limit = limit
        self._requests: deque[ClientRequest] = deque()

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def requests(self) -> tuple[ClientRequest, ...]:
        """Return the requests, oldest first."""
        return tuple(self._requests)

    @property
    def can_send_more(self) -> bool:
        """Return whether there is room for another request."""
        return len(self._requests) < self.limit

    def add(self, request: ClientRequest) -> None:
        """Add a request that has just been sent."""
        assert self.can_send_more
        self._requests.append(request)

    def complete_next(self) -> ClientRequest:
        """Remove and return the oldest request, which has been answered."""
        return self._requests.popleft()

    def clear(self) -> list[ClientRequest]:
        """Remove and return all requests; none of them will be answered."""
        requests = list(self._requests)
        self._requests.clear()
        return requests
