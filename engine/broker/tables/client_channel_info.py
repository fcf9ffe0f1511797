"""A client on one connection (RocketMQ: ``ClientChannelInfo``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.command.remoting_command import language_name
from engine.remoting.channel import Channel


@dataclass(slots=True)
class ClientChannelInfo:
    """The client at the other end of ``channel``, as its heartbeat described it.

    ``language`` is a ``LanguageCode``, ``version`` the client's ``MQVersion`` ordinal; ``last_update_ms`` is the time
    of the last heartbeat.
    """

    channel: Channel
    client_id: str
    language: int
    version: int
    last_update_ms: int

    @property
    def language_name(self) -> str:
        """Return the language as "JAVA", "CPP", ..."""
        return language_name(self.language)
