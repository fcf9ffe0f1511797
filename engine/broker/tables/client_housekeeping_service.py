"""Closes the connections of clients that fell silent (RocketMQ: ``ClientHousekeepingService``).

Every 10 s; a client without a heartbeat for 120 s is cut off. The scan only closes: the connection's end, however it
comes, removes the client from its groups and tells the others.
"""

from __future__ import annotations

import logging

from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.producer_manager import ProducerManager
from engine.remoting.channel import Channel
from engine.runtime.port import Clock

logger = logging.getLogger("glassmq.broker")


class ClientHousekeepingService:
    """Looks after the connections of producers and consumers."""

    def __init__(
        self,
        clock: Clock,
        consumer_manager: ConsumerManager,
        producer_manager: ProducerManager,
        channel_expired_timeout_ms: int = 120_000,
    ) -> None:
        self._clock = clock
        self._consumer_manager = consumer_manager
        self._producer_manager = producer_manager
        self._timeout_ms = channel_expired_timeout_ms

    def scan_exception_channel(self) -> None:
        """Close every connection whose client sent no heartbeat for too long."""
        now_ms = self._clock.now_ms()
        for manager in (self._consumer_manager, self._producer_manager):
            for channel in manager.expired_channels(now_ms, self._timeout_ms):
                logger.warning("closing %s: no heartbeat for %d ms", channel.remote_address, self._timeout_ms)
                channel.close()

    def channel_closed(self, channel: Channel) -> None:
        """A connection ended."""
        self._producer_manager.channel_closed(channel)
        self._consumer_manager.channel_closed(channel)
