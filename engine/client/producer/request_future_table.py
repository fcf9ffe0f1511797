"""Requests that wait for their replies (RocketMQ: ``RequestFutureHolder``, ``RequestResponseFuture``)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from engine.client.foundation.errors import MQClientError, RequestTimedOut, TooManyPendingRequests
from engine.protocol.message.message import MessageExt
from engine.runtime.port import Clock

#: RequestFutureHolder.startScheduledTask: the delay of the first scan for expired requests, and its interval.
FIRST_SCAN_AFTER_MS = 3_000
SCAN_INTERVAL_MS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class RequestResponseFuture:
    """A request that waits for its reply.

    :ivar expires_us: the expiry time on the monotonic clock.
    :ivar response: done with the reply, or with the error.
    """

    correlation_id: str
    topic: str
    timeout_ms: int
    expires_us: int
    response: asyncio.Future[MessageExt] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def put_response(self, message: MessageExt) -> None:
        """Complete the request with its reply."""
        if not self.response.done():
            self.response.set_result(message)

    def fail(self, error: MQClientError) -> None:
        """Complete the request with an error."""
        if not self.response.done():
            self.response.set_exception(error)

    def timed_out(self) -> RequestTimedOut:
        """Return the error of an expired request."""
        return RequestTimedOut(
            f"the request {self.correlation_id} to topic {self.topic!r} was sent, but no reply came within "
            f"{self.timeout_ms} ms; is there a consumer that replies?"
        )


class RequestFutureTable:
    """A table: correlation id -> request.

    :param waiting_max: the maximum number of requests.
    """

    def __init__(self, clock: Clock, waiting_max: int) -> None:
        self._clock = clock
        self._waiting_max = waiting_max
        self._table: dict[str, RequestResponseFuture] = {}

    def __len__(self) -> int:
        return len(self._table)

    def put(self, correlation_id: str, topic: str, timeout_ms: int) -> RequestResponseFuture:
        """Add a request that is about to be sent. Raises :class:`TooManyPendingRequests`."""
        if len(self._table) >= self._waiting_max:
            raise TooManyPendingRequests(
                f"{len(self._table)} requests wait for their replies; allowed: {self._waiting_max} "
                "(requests_waiting_max)"
            )
        expires_us = self._clock.monotonic_us() + timeout_ms * 1_000
        request = RequestResponseFuture(correlation_id, topic, timeout_ms, expires_us)
        self._table[correlation_id] = request
        return request

    def take(self, correlation_id: str | None) -> RequestResponseFuture | None:
        """Remove the request with that id and return it; None if it no longer waits."""
        return None if correlation_id is None else self._table.pop(correlation_id, None)

    def scan_expired_requests(self) -> None:
        """Fail every expired request."""
        now_us = self._clock.monotonic_us()
        for request in [request for request in self._table.values() if request.expires_us <= now_us]:
            del self._table[request.correlation_id]
            request.fail(request.timed_out())

    def fail_all(self, error: MQClientError) -> None:
        """Fail all requests, because the client shuts down."""
        table, self._table = self._table, {}
        for request in table.values():
            request.fail(error)
