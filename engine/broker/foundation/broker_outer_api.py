"""Requests of a broker to name servers (RocketMQ: ``BrokerOuterAPI``). ``broker_registration.py`` decides when they are
sent.

A registration contains all topics, or only those that changed since the last one on this connection: a name server adds
them, and keeps all topics while the connection is open. RocketMQ sends only the changed topic when a tool creates one,
and all topics for a first send or a heartbeat; with thousands of topics that takes longer than all the rest.

The reply gives a slave the address of its master.

Simplified: always registers (RocketMQ's ``forceRegister``, on by default); no filter servers.
"""

from __future__ import annotations

import logging
import zlib
from dataclasses import replace

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.body.bodies import RegisterBrokerBody, TopicConfigSerializeWrapper
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.command.headers import (
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    UnregisterBrokerRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.errors import RemotingError
from engine.remoting.remoting_client import RemotingClient
from engine.runtime.port import Runtime

logger = logging.getLogger("glassmq.broker")

#: RocketMQ waits 3 s for each name server when it unregisters.
_UNREGISTER_TIMEOUT_MS = 3_000


class BrokerOuterApi:
    """The broker as a client of the name servers."""

    def __init__(self, runtime: Runtime, config: BrokerConfig) -> None:
        self.client = RemotingClient(runtime, f"{config.broker_name} to name servers")
        self._config = config
        #: Name server -> why the last registration failed; absent when it did not.
        self.failures: dict[str, str] = {}
        #: The address for slaves, as it is reported to name servers.
        self.ha_server_address = ""
        #: The master, as last reported by name servers: ``(its address, that for slaves)``.
        self.master_addresses: tuple[str, str] | None = None
        #: Name server -> the topics sent to it on the open connection.
        self._reported: dict[str, dict[str, TopicConfig]] = {}
        self.client.on_connection_closed(self._connection_closed)

    def _connection_closed(self, address: str, channel: Channel) -> None:
        self._reported.pop(address, None)

    async def register_broker(
        self, address: str, broker_addr: str, topics: TopicConfigSerializeWrapper, *, in_full: bool
    ) -> bool:
        """Register with the name server at ``address`` and return whether it accepted.

        Unless ``in_full``, only the topics that it does not know yet are sent.
        """
        reported = {} if in_full else self._reported.get(address, {})
        table = topics.topic_config_table
        # A configuration is replaced, never modified.
        news = {name: config for name, config in table.items() if reported.get(name) is not config}
        body = RegisterBrokerBody(replace(topics, topic_config_table=news)).to_json()
        header = RegisterBrokerRequestHeader(
            broker_name=self._config.broker_name,
            broker_addr=broker_addr,
            cluster_name=self._config.cluster_name,
            ha_server_addr=self.ha_server_address,
            broker_id=self._config.broker_id,
            body_crc32=zlib.crc32(body) & 0x7FFF_FFFF,
        )
        request = RemotingCommand.request(RequestCode.REGISTER_BROKER, header, body)
        try:
            reply = await self.client.call(address, request, self._config.register_broker_timeout_mills)
        except RemotingError as error:
            self._note_failure(address, str(error))
            return False
        if reply.code != ResponseCode.SUCCESS:
            self._note_failure(address, f"code {reply.code}: {reply.remark}")
            return False
        master = RegisterBrokerResponseHeader.decode(reply.ext_fields)
        if master.master_addr and master.ha_server_addr:
            self.master_addresses = (master.master_addr, master.ha_server_addr)
        if address in self.client.connected_addresses:
            self._reported[address] = table
        if self.failures.pop(address, None) is not None:
            logger.info("registered with name server %s again", address)
        return True

    def _note_failure(self, address: str, why: str) -> None:
        self._reported.pop(address, None)
        # Once per outage and reason, not every 30 s.
        if self.failures.get(address) != why:
            logger.warning("cannot register with name server %s: %s; trying again", address, why)
        self.failures[address] = why

    async def unregister_broker_all(self, broker_addr: str) -> None:
        """Unregister from all connected name servers."""
        header = UnregisterBrokerRequestHeader(
            self._config.broker_name, broker_addr, self._config.cluster_name, self._config.broker_id
        )
        connected = self.client.connected_addresses
        for address in self._config.name_server_addresses:
            if address not in connected:
                continue
            request = RemotingCommand.request(RequestCode.UNREGISTER_BROKER, header)
            try:
                await self.client.call(address, request, _UNREGISTER_TIMEOUT_MS)
            except RemotingError as error:
                logger.warning("cannot unregister from name server %s: %s", address, error)

    async def shutdown(self) -> None:
        """Close the connections."""
        await self.client.shutdown()
