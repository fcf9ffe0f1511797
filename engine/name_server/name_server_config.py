"""Settings of a name server (RocketMQ: ``NamesrvConfig`` and the scan in ``NamesrvController``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.store.files.setting_rules import PORT, check_rules


@dataclass(slots=True)
class NameServerConfig:
    """The settings of a name server. Defaults are RocketMQ 4.9.8's unless said otherwise.

    A name server changes its copy when a tool requests it.
    """

    #: RocketMQ listens on all addresses; here loopback by default.
    host: str = "127.0.0.1"
    #: 0 takes any free port.
    port: int = 9876
    #: A broker that has not registered for this long is removed (``BROKER_CHANNEL_EXPIRED_TIME``).
    broker_channel_expired_time_ms: int = 120_000
    #: The delay of the first check after the start, and the interval of checks (``scheduleAtFixedRate`` in
    #: ``NamesrvController``).
    scan_not_active_broker_first_after_ms: int = 5_000
    scan_not_active_broker_interval_ms: int = 10_000
    #: Whether routes carry the order configuration of their topic (``updateOrderConf`` of mqadmin).
    order_message_enable: bool = False
    #: Whether a retry topic that does not exist yet has a route: one queue at each broker. A consumer asks for it
    #: before its first heartbeat, which creates the topic, and again after 30 s only. RocketMQ has no such setting; the
    #: test kit switches it on.
    route_missing_retry_topics: bool = False
    #: Bounds of the tables; RocketMQ has none.
    max_brokers: int = 1_000
    max_topics: int = 100_000
    max_kv_entries: int = 10_000

    def __post_init__(self) -> None:
        """Check the settings. Raises ValueError that names the setting, its value and what is allowed."""
        check_rules(self, {"port": PORT})
