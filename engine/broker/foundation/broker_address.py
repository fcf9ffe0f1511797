"""The address at which clients reach this broker, and its start time (RocketMQ: ``BrokerController.getBrokerAddr``)."""

from __future__ import annotations

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.errors import BrokerConfigRefused
from engine.protocol.errors import ProtocolError
from engine.protocol.message.addresses import encode_host

_WILDCARD_HOSTS = ("0.0.0.0", "::", "[::]")


class BrokerAddress:
    """The broker's address, empty until the broker listens.

    :ivar text: the ``"ip:port"`` that clients connect to.
    :ivar store_host: the same as bytes, as in every stored message.
    :ivar started_ms: when the broker was started.
    """

    def __init__(self) -> None:
        self.text = ""
        self.store_host = b""
        self.started_ms = 0

    def take(self, bound: str, config: BrokerConfig, host_ip: str) -> None:
        """Determine the address for clients: ``brokerIP1``, or the address on which the broker really listens
        (``bound``).

        Raises :class:`BrokerConfigRefused`.
        """
        ip, _, port = bound.rpartition(":")
        if config.broker_ip1 is not None:
            ip = config.broker_ip1
        elif ip in _WILDCARD_HOSTS:
            ip = host_ip
        self.text = f"{ip}:{port}"
        try:
            self.store_host = encode_host(self.text)
        except ProtocolError as error:
            raise BrokerConfigRefused(f"brokerIP1 must be an IP address: {error}") from error
