"""Requests that wait for their replies (RocketMQ: ``RequestFutureHolder``, ``RequestResponseFuture``)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from engine.client.foundation.errors import MQClientError, RequestTimedOut, TooManyPendingRequests
from engine.protocol.message.message import MessageExt
from engine.runtime.port import Clock

#: RequestFutureHolder.startScheduledTask: when expired requests are first looked for, and how often.
FIRST_SCAN_AFTER_MS = 3_000
SCAN_INTERVAL_MS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class RequestResponseFuture:
    """One request.

    :ivar expires_us: on the monotonic clock.
    :ivar response: done with the reply, or with what went wrong.
    """

    correlation_id: str
    topic: str
    timeout_ms: int
    expires_us: int
    response: asyncio.Future[MessageExt] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def put_response(self, message: MessageExt) -> None:
        """The reply is here."""
        if not self.response.done():
            self.response.set_result(message)

    def fail(self, error: MQClientError) -> None:
        """There will be no reply."""
        if not self.response.done():
            self.response.set_exception(error)

    def timed_out(self) -> RequestTimedOut:
        """What to raise when the time is over."""
        return RequestTimedOut(
            f"the request {self.correlation_id} to topic {self.topic!r} was sent, but no reply came within "
            f"{self.timeout_ms} ms; is there a consumer that replies?"
        )


class RequestFutureTable:
    """Correlation id -> request.

    :param waiting_max: most requests at a time.
    """

    def __init__(self, clock: Clock, waiting_max: int) -> None:
        self._clock = clock
        self._waiting_max = waiting_max
        self._table: dict[str, RequestResponseFuture] = {}

    def __len__(self) -> int:
        return len(self._table)

    def put(self, correlation_id: str, topic: str, timeout_ms: int) -> RequestResponseFuture:
        """A request is about to be sent. Raises :class:`TooManyPendingRequests`."""
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
        """The request with that id, which leaves the table; None: nobody waits for it any more."""
        return None if correlation_id is None else self._table.pop(correlation_id, None)

    def scan_expired_requests(self) -> None:
        """Let every request fail whose time is over."""
        now_us = self._clock.monotonic_us()
        for request in [request for request in self._table.values() if request.expires_us <= now_us]:
            del self._table[request.correlation_id]
            request.fail(request.timed_out())

    def fail_all(self, error: MQClientError) -> None:
        """The client shuts down: nobody will get a reply."""
        table, self._table = self._table, {}
        for request in table.values():
            request.fail(error)
