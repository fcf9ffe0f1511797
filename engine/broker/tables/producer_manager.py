"""The online producer groups (RocketMQ: ``ProducerManager``).

The broker needs producer groups for transactions (any member can report the outcome of a half message), for tools that
list connections, and, by client id, for clients that wait for the reply to a request. Added: the numbers of groups and
of their members are bounded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from engine.broker.foundation.errors import TooManyEntries
from engine.broker.tables.client_channel_info import ClientChannelInfo
from engine.remoting.channel import Channel

logger = logging.getLogger("glassmq.broker")


class ProducerManager:
    """The online producer groups, each a map from channel to client."""

    def __init__(self, max_groups: int, max_members: int) -> None:
        self._max_groups = max_groups
        self._max_members = max_members
        self._table: dict[str, dict[Channel, ClientChannelInfo]] = {}
        #: client id -> its newest connection (``clientChannelTable``).
        self._channels: dict[str, Channel] = {}
        #: The reverse: channel -> its groups.
        self._groups: dict[Channel, dict[str, None]] = {}
        self._members = 0

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[tuple[str, dict[Channel, ClientChannelInfo]]]:
        return iter(self._table.items())

    def clients_of_group(self, group: str) -> list[ClientChannelInfo]:
        """Return the members of ``group``, oldest connection first."""
        return list(self._table.get(group, {}).values())

    def find_channel(self, client_id: str) -> Channel | None:
        """Return the connection of the producer with that client id."""
        return self._channels.get(client_id)

    def check_room(self, groups: Iterable[str], channel: Channel) -> None:
        """Check whether a heartbeat with ``groups`` may be taken over. Raises :class:`TooManyEntries` naming
        the bound.
        """
        wanted = dict.fromkeys(groups)
        new_groups = sum(group not in self._table for group in wanted)
        if new_groups and len(self._table) + new_groups > self._max_groups:
            raise TooManyEntries("producer groups online", self._max_groups)
        known = self._groups.get(channel, {})
        new_members = sum(group not in known for group in wanted)
        if new_members and self._members + new_members > self._max_members:
            raise TooManyEntries("members of producer groups", self._max_members)

    def register_producer(self, group: str, client: ClientChannelInfo) -> None:
        """Register a producer whose heartbeat named ``group`` and passed :meth:`check_room`."""
        clients = self._table.setdefault(group, {})
        if client.channel not in clients:
            self._members += 1
            self._groups.setdefault(client.channel, {})[group] = None
            logger.info("%s joins producer group %s", client.client_id, group)
        clients[client.channel] = client
        self._channels[client.client_id] = client.channel

    def unregister_producer(self, group: str, channel: Channel) -> None:
        """Remove the client at ``channel`` from ``group``."""
        clients = self._table.get(group)
        if clients is None or channel not in clients:
            return
        client_id = clients.pop(channel).client_id
        self._members -= 1
        logger.info("%s leaves producer group %s", client_id, group)
        if not clients:
            del self._table[group]
        groups = self._groups[channel]
        del groups[group]
        if not groups:
            del self._groups[channel]
            # RocketMQ forgets the client here in any case: also one that has reconnected, or is in another group.
            if self._channels.get(client_id) is channel:
                del self._channels[client_id]

    def channel_closed(self, channel: Channel) -> None:
        """Remove the client of a closed connection from all groups."""
        for group in list(self._groups.get(channel, ())):
            self.unregister_producer(group, channel)

    def expired_channels(self, now_ms: int, timeout_ms: int) -> list[Channel]:
        """Return the connections whose client has sent no heartbeat for longer than ``timeout_ms``."""
        return [
            client.channel
            for clients in self._table.values()
            for client in clients.values()
            if now_ms - client.last_update_ms > timeout_ms
        ]
