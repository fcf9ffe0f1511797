"""The broker's connections and their clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from app.observation.bounds import CONNECTIONS_MAX, GROUPS_MAX, client_text
from app.observation.unchanged import Unchanged
from app.picture.connection import Connection
from engine.protocol.command.remoting_command import language_name
from engine.protocol.names import CLIENT_INNER_PRODUCER_GROUP

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.broker.tables.client_channel_info import ClientChannelInfo
    from engine.remoting.channel import Channel


class ConnectionsView:
    """Builds the ``connections`` part of the state."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._unchanged = Unchanged[Connection]()

    def build(self) -> tuple[dict[str, Connection], int]:
        """Return the oldest connections by remote address, and how many were left out."""
        channels = self._broker.server.channels
        shown = channels[:CONNECTIONS_MAX]
        wanted = dict.fromkeys(shown)
        producers = _groups(wanted, self._broker.producer_manager)
        consumers = _groups(
            wanted, ((info.group_name, info.channel_info_table) for info in self._broker.consumer_manager)
        )
        connections = {
            channel.remote_address: _connection(channel, producers.get(channel, {}), consumers.get(channel, {}))
            for channel in shown
        }
        return self._unchanged.reuse(connections), len(channels) - len(shown)


def _groups(
    wanted: dict[Channel, None], groups: Iterable[tuple[str, Mapping[Channel, ClientChannelInfo]]]
) -> dict[Channel, dict[str, ClientChannelInfo]]:
    """Return the groups of each channel, with its client there."""
    found: dict[Channel, dict[str, ClientChannelInfo]] = {}
    for group, clients in islice(groups, GROUPS_MAX):
        for channel, client in clients.items():
            if channel in wanted:
                found.setdefault(channel, {})[group] = client
    return found


def _connection(
    channel: Channel, producers: dict[str, ClientChannelInfo], consumers: dict[str, ClientChannelInfo]
) -> Connection:
    # Every client states this group, because it could answer requests; that does not make it a producer.
    produces = any(group != CLIENT_INNER_PRODUCER_GROUP for group in producers)
    roles = [role for role, applies in (("producer", produces), ("consumer", bool(consumers))) if applies]
    clients = (*producers.values(), *consumers.values())
    return {
        "client_ids": list(dict.fromkeys(client_text(client.client_id) for client in clients)),
        "language": language_name(channel.peer_language) if channel.frames_in else None,
        "version": channel.peer_version,
        # A client that has sent no heartbeat is a tool, or has only just connected.
        "role": roles or ["admin"],
        "producer_groups": list(producers),
        "consumer_groups": list(consumers),
        "frames_in": channel.frames_in,
        "frames_out": channel.frames_out,
        "unsent_bytes": channel.unsent_bytes,
    }
