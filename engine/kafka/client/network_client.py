"""Requests that wait to be sent, are on their way, or have been answered (Kafka: ``NetworkClient`` below
``ConsumerNetworkClient``).

``send`` only puts a request into ``unsent``; nothing leaves before ``poll`` is called, and ``poll`` hands the responses
to the senders. So all code of a client runs at known places, one after the other::

    send -> unsent -> poll -> in flight -> answers -> poll -> who asked

There is one connection to each broker that is used. Simplified: while a connection is being made, ``poll`` does nothing
else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from engine.kafka.client.broker_connection import CONNECT_TIMEOUT_MS, BrokerConnection
from engine.kafka.client.errors import Disconnected
from engine.kafka.client.in_flight_requests import Answered, ClientRequest
from engine.kafka.wire.fields import KafkaMessage
from engine.runtime.port import Runtime

_Message = TypeVar("_Message", bound=KafkaMessage)


class KafkaNetworkClient:
    """Send requests to brokers and hand out the responses.

    :param bootstrap: the broker for requests without an address.
    :param first_id: correlation id of the first request. Different values make the clients of one node distinguishable
        on the wire.
    """

    def __init__(
        self,
        runtime: Runtime,
        bootstrap: str,
        client_id: str,
        *,
        request_timeout_ms: int = 30_000,
        connect_timeout_ms: int = CONNECT_TIMEOUT_MS,
        max_in_flight: int = 5,
        first_id: int = 1,
    ) -> None:
        self._runtime = runtime
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._request_timeout_ms = request_timeout_ms
        self._connect_timeout_ms = connect_timeout_ms
        self._max_in_flight = max_in_flight
        self._connections: dict[str, BrokerConnection] = {}
        self._news = asyncio.Event()
        self._last_id = first_id - 1
        #: Requests that have been completed.
        self._handed_out = 0

    @property
    def unsent(self) -> tuple[ClientRequest, ...]:
        """Return the requests that wait for ``poll``."""
        return tuple(request for one in self._connections.values() for request in one.unsent)

    @property
    def in_flight(self) -> tuple[ClientRequest, ...]:
        """Return the requests that were sent."""
        return tuple(request for one in self._connections.values() for request in one.in_flight.requests)

    def send(self, request: KafkaMessage, answered: Answered, *, needs_answer: bool = True, address: str = "") -> None:
        """Queue a request for ``poll``. ``answered`` is called exactly once, by ``poll`` or ``close``."""
        self._last_id += 1
        connection = self._connection_to(address or self._bootstrap)
        connection.unsent.append(ClientRequest(request, self._last_id, answered, needs_answer))

    def _connection_to(self, address: str) -> BrokerConnection:
        known = self._connections.get(address)
        if known is None:
            known = self._connections[address] = BrokerConnection(
                self._runtime,
                address,
                self._client_id,
                self._request_timeout_ms,
                self._connect_timeout_ms,
                self._max_in_flight,
                self._news.set,
            )
        return known

    def wake(self) -> None:
        """End a waiting ``poll``: there is something to do."""
        self._news.set()

    async def poll(self, timeout_ms: int, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Send what can be sent and hand out responses, until there was a response, ``is_enough``, ``wake`` or the
        timeout.
        """
        clock = self._runtime.clock
        end_ms = clock.now_ms() + timeout_ms
        handed_out = self._handed_out
        while True:
            for connection in tuple(self._connections.values()):
                if connection.unsent:
                    self._handed_out += await connection.connect()
                self._handed_out += connection.exchange()
            left_ms = end_ms - clock.now_ms()
            if self._handed_out != handed_out or is_enough() or left_ms <= 0:
                return
            if self._news.is_set():
                self._news.clear()
                return
            await self._wait(min(left_ms, self._next_deadline_ms()))

    async def ask(self, request: KafkaMessage, response: type[_Message], address: str = "") -> _Message:
        """Send and poll until the response arrives. Raises :class:`Disconnected`."""
        answers: list[KafkaMessage | Disconnected | None] = []
        self.send(request, answers.append, address=address)
        while not answers:  # a wake ends a poll early
            await self.poll(self._request_timeout_ms, lambda: bool(answers))
        if isinstance(answers[0], Disconnected):
            raise answers[0]
        assert isinstance(answers[0], response)
        return answers[0]

    def close(self) -> None:
        """Close the connections; requests that wait for a response get :class:`Disconnected`."""
        for connection in tuple(self._connections.values()):
            self._handed_out += connection.close()

    def _next_deadline_ms(self) -> int:
        """Return the ms until the oldest request times out."""
        return min([self._request_timeout_ms, *(one.deadline_ms() for one in self._connections.values())])

    async def _wait(self, timeout_ms: int) -> None:
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await self._news.wait()
        except TimeoutError:
            return
        if any(one.has_news for one in self._connections.values()):
            self._news.clear()
