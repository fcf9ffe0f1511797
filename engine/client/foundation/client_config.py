"""Settings that every client has (RocketMQ: ``ClientConfig``); the defaults are those of version 4.9.8."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.client.foundation.errors import IllegalClientArgument
from engine.runtime.port import Runtime

if TYPE_CHECKING:
    from engine.runtime.live.live_tls import ClientTls

DEFAULT_INSTANCE_NAME = "DEFAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """Settings of one client instance; durations in milliseconds.

    :param name_server_addresses: ``"host:port"`` of every name server; all have the same data, so only one is used.
    :param instance_name: distinguishes clients of one process; ``"DEFAULT"`` becomes process id + a random number, as
        in RocketMQ since 4.9, so that every producer and consumer is its own client instance. A broadcasting consumer
        keeps ``"DEFAULT"``. A second client in the process with the same group and name is refused.
    :param client_ip: the IP address in the client id; default: the runtime's address.
    :param unit_name: appended to the client id when set.
    :param poll_missing_route_interval_ms: how often to ask for the route of a subscribed topic that does not exist yet.
        RocketMQ asks along with the others, every 30 s: a consumer that starts before its topic, or the first retry of
        a new group, waits for up to a minute. 0 behaves like RocketMQ.
    :param access_key: the account that signs requests, together with ``secret_key`` (RocketMQ: ``AclClientRPCHook``);
        ``security_token`` is sent along and signed when given.
    :param tls: encrypts the connections of a client without a runtime of its own (RocketMQ: ``ClientConfig.useTLS``).
    """

    name_server_addresses: tuple[str, ...]
    instance_name: str = DEFAULT_INSTANCE_NAME
    client_ip: str | None = None
    unit_name: str | None = None
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    security_token: str | None = field(default=None, repr=False)
    tls: ClientTls | None = None
    poll_name_server_interval_ms: int = 30_000  # ClientConfig.pollNameServerInterval
    poll_missing_route_interval_ms: int = 1_000
    heartbeat_broker_interval_ms: int = 30_000  # ClientConfig.heartbeatBrokerInterval
    persist_consumer_offset_interval_ms: int = 5_000  # ClientConfig.persistConsumerOffsetInterval
    rebalance_interval_ms: int = 20_000  # rocketmq.client.rebalance.waitInterval
    api_timeout_ms: int = 3_000  # ClientConfig.mqClientApiTimeout
    pull_time_delay_when_exception_ms: int = 1_000  # ClientConfig.pullTimeDelayMillsWhenException

    def __post_init__(self) -> None:
        if not self.name_server_addresses:
            raise IllegalClientArgument("no name server address was given; expected e.g. '127.0.0.1:9876'")
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise IllegalClientArgument(f"{name} must be greater than 0, got {getattr(self, name)}")
        if self.poll_missing_route_interval_ms < 0:
            raise IllegalClientArgument("poll_missing_route_interval_ms must not be negative")


_POSITIVE = (
    "poll_name_server_interval_ms",
    "heartbeat_broker_interval_ms",
    "persist_consumer_offset_interval_ms",
    "rebalance_interval_ms",
    "api_timeout_ms",
    "pull_time_delay_when_exception_ms",
)


def parse_name_server_addresses(addresses: str | Iterable[str]) -> tuple[str, ...]:
    """Parse ``"a:9876;b:9876"`` (RocketMQ's notation) or a sequence of ``"host:port"`` to a tuple.

    Raises :class:`IllegalClientArgument` naming the part that is not ``host:port``, or that there are no addresses.
    """
    parts = addresses.replace(",", ";").split(";") if isinstance(addresses, str) else list(addresses)
    cleaned = [part.strip() for part in parts if part.strip()]
    if not cleaned:
        raise IllegalClientArgument("no name server address was given; expected e.g. '127.0.0.1:9876'")
    for part in cleaned:
        host, _, port = part.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise IllegalClientArgument(
                f"{part!r} is not a name server address; expected host:port, e.g. 127.0.0.1:9876"
            )
    return tuple(dict.fromkeys(cleaned))


def build_client_id(runtime: Runtime, config: ClientConfig, *, unique: bool) -> str:
    """Return the client id ``ip@instance`` or ``ip@instance@unit``, by which brokers identify this client.

    With ``unique`` the default instance name becomes the process id and a random number (RocketMQ:
    ``System.nanoTime()``). A broadcasting consumer keeps ``DEFAULT``, because its local offsets are found by this name.
    """
    instance_name = config.instance_name
    if unique and instance_name == DEFAULT_INSTANCE_NAME:
        number = runtime.random_for("client instance name").getrandbits(48)
        instance_name = f"{runtime.identity.process_id}#{number}"
    client_id = f"{config.client_ip or runtime.identity.host_ip}@{instance_name}"
    return f"{client_id}@{config.unit_name}" if config.unit_name else client_id
