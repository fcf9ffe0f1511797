"""Asks a broker of Kafka in its own frames, one request after the other."""

from __future__ import annotations

from typing import Any, Self

from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.frames import correlation_id_of, decode_response, encode_request, key_of
from engine.runtime.live.blocking_connection import BlockingConnection
from engine.runtime.port import Runtime
from tests.support.lab.runtime_handlers import CollectingHandler

_TIMEOUT_MS = 20_000
_CLIENT_ID = "asker"


def ask_over_tcp(address: str, request: KafkaMessage) -> Any:
    """The answer, which is of the kind that belongs to the request; over a connection of its own.

    Raises ``ConnectFailed``, ``ConnectionLost``, ``KafkaRefusal``.
    """
    with BlockingConnection(address, connect_timeout_ms=_TIMEOUT_MS) as connection:
        connection.send_frame(encode_request(request, 7, _CLIENT_ID), _TIMEOUT_MS)
        frame = connection.receive_frame(_TIMEOUT_MS)
    assert correlation_id_of(frame) == 7
    return decode_response(frame, key_of(request))


class Asker(CollectingHandler):
    """A connection through the port; a test may also send frames of its own and look at what comes."""

    @classmethod
    async def connected(cls, runtime: Runtime, address: str) -> Self:
        """Raises ``ConnectFailed``."""
        asker = cls()
        await runtime.network.connect(address, asker, _TIMEOUT_MS)
        return asker

    async def ask(self, request: KafkaMessage) -> Any:
        """The answer. Raises ``KafkaRefusal``."""
        self.connection.send_frame(encode_request(request, len(self.frames), _CLIENT_ID))
        frame = await self.next_frame()
        assert correlation_id_of(frame) == len(self.frames) - 1
        return decode_response(frame, key_of(request))

    async def next_frame(self) -> bytes:
        """The next one that comes from now on, without its length."""
        count = len(self.frames)
        await self.wait_until(lambda handler: len(handler.frames) > count)
        return self.frames[count]

    async def lost(self) -> str:
        """Wait until the other side has closed; why."""
        await self.wait_until(lambda handler: handler.lost_reasons)
        return self.lost_reasons[0]
