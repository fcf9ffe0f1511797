"""A client on one connection (RocketMQ: ``ClientChannelInfo``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.command.remoting_command import language_name
from engine.remoting.channel import Channel


@dataclass(slots=True)
class ClientChannelInfo:
    """What a heartbeat said about the client behind ``channel``.

    ``language`` is a ``LanguageCode``, ``version`` the client's ``MQVersion`` ordinal; ``last_update_ms`` is when the
    last heartbeat came.
    """

    channel: Channel
    client_id: str
    language: int
    version: int
    last_update_ms: int

    @property
    def language_name(self) -> str:
        """ "JAVA", "CPP", ..."""
        return language_name(self.language)
