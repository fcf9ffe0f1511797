"""The service that closes connections without heartbeats (RocketMQ: ``ClientHousekeepingService``).

It runs every 10 s; a client without a heartbeat for 120 s is disconnected. The scan only closes connections: the end of
a connection, whatever its cause, removes the client from its groups and notifies the other members.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from engine.broker.tables.consumer_manager import ConsumerManager
from engine.broker.tables.producer_manager import ProducerManager
from engine.remoting.channel import Channel
from engine.runtime.port import Clock

logger = logging.getLogger("glassmq.broker")


@dataclass(frozen=True)
class ClientHousekeepingService:
    """A service that supervises the connections of producers and consumers."""

    clock: Clock
    consumers: ConsumerManager
    producers: ProducerManager
    channel_expired_timeout_ms: int = 120_000

    def scan_exception_channel(self) -> None:
        """Close every connection whose client has sent no heartbeat for too long."""
        now_ms = self.clock.now_ms()
        for manager in (self.consumers, self.producers):
            for channel in manager.expired_channels(now_ms, self.channel_expired_timeout_ms):
                logger.warning(
                    "closing %s: no heartbeat for %d ms", channel.remote_address, self.channel_expired_timeout_ms
                )
                channel.close()

    def postpone(self, ms: int) -> None:
        """Extend every client's heartbeat deadline by ``ms``, because the clock was set ahead by that much."""
        producers = [client for _, clients in self.producers for client in clients.values()]
        consumers = [client for group in self.consumers for client in group.channel_info_table.values()]
        for client in {id(client): client for client in (*producers, *consumers)}.values():
            client.last_update_ms += ms

    def channel_closed(self, channel: Channel) -> None:
        """Handle the end of a connection."""
        self.producers.channel_closed(channel)
        self.consumers.channel_closed(channel)
