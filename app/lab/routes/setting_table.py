"""Timers and sizes that people may change, for the page, and which of them explains each timer and part of the
stage.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.picture.pages.lab import SettingTable, ShownSetting
from engine.idempotence.idempotence_config import STRATEGIES
from engine.idempotence.idempotent_listener import WhenUnreachable
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.kafka import KafkaBrokerSpec, KafkaConsumerSpec, KafkaControllerSpec, KafkaProducerSpec
from engine.lab.scenario.kinds.name_server import NameServerSpec
from engine.lab.scenario.kinds.node_kinds import NODE_KINDS
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.kinds.raft import RaftClientSpec, RaftPeerSpec
from engine.lab.scenario.kinds.xa import CoordinatorSpec, ManagerSpec, ResourceManagerSpec
from engine.lab.scenario.settings import Setting, own_name, settings_of

#: Kind -> the beginning of a timer's name -> the setting with its duration.
TIMER_SETTINGS: Mapping[type[NodeSpec], Mapping[str, str]] = {
    NameServerSpec: {"scan brokers": "scan_not_active_broker_interval_ms"},
    BrokerSpec: {
        "clean-files": "clean_resource_interval_ms",
        "delay level": "message_delay_level",
        "flush-commit-log": "flush_interval_commit_log_ms",
        "flush-consume-queues": "flush_interval_consume_queue_ms",
        "hold service": "hold_check_interval_ms",
        "persist delay offsets": "flush_delay_offset_interval_ms",
        "persist filters": "flush_consumer_filter_interval_ms",
        "persist offsets": "flush_consumer_offset_interval_ms",
        "register": "register_name_server_period_ms",
        "scan channels": "channel_scan_interval_ms",
        "transaction check": "transaction_check_interval_ms",
        "write": "flush_config_interval_ms",
    },
    ProducerSpec: {
        "heartbeat": "heartbeat_broker_interval_ms",
        "missing route poller": "poll_missing_route_interval_ms",
        "route poller": "poll_name_server_interval_ms",
    },
    ConsumerSpec: {
        "expired message cleaner": "consume_timeout_ms",
        "heartbeat": "heartbeat_broker_interval_ms",
        "lock renewal": "rebalance_lock_interval_ms",
        "missing route poller": "poll_missing_route_interval_ms",
        "offset persister": "persist_consumer_offset_interval_ms",
        "pull ": "consumer_timeout_when_suspend_ms",
        "rebalance service": "rebalance_interval_ms",
        "route poller": "poll_name_server_interval_ms",
    },
    CoordinatorSpec: {"timeout scan": "timeout_scan_interval_ms"},
    ResourceManagerSpec: {"asks about branches in doubt": "query_interval_ms"},
}

#: Kind -> part of a node on the stage -> the setting that controls it.
STAGE_SETTINGS: Mapping[type[NodeSpec], Mapping[str, str]] = {
    BrokerSpec: {
        "commit_log": "flush_commit_log_thorough_interval_ms",
        "delay_levels": "message_delay_level",
        "held_pulls": "hold_check_interval_ms",
        "locks": "rebalance_lock_max_live_time_ms",
        "transaction_checks": "transaction_check_interval_ms",
        "transaction_limit": "transaction_check_max",
        "transactions": "transaction_time_out_ms",
    },
    ConsumerSpec: {
        "idempotence": "idempotence_expiry_ms",
        "process_queues": "pull_threshold_for_queue",
        "rebalance": "rebalance_interval_ms",
    },
    ProducerSpec: {"in_flight": "send_msg_timeout_ms"},
    KafkaBrokerSpec: {
        "index": "index_interval_bytes",
        "isr": "replica_lag_time_max_ms",
        "segments": "segment_bytes",
    },
    KafkaControllerSpec: {"sessions": "broker_session_timeout_ms"},
    KafkaProducerSpec: {
        "batch_size": "batch_size",
        "codec": "codec",
        "in_flight": "max_in_flight",
        "linger": "linger_ms",
    },
    KafkaConsumerSpec: {"poll": "max_poll_records", "work": "record_duration_ms"},
    RaftPeerSpec: {"election": "election_timeout_max_ms", "heartbeat": "heartbeat_ms"},
    RaftClientSpec: {"in_flight": "answer_timeout_ms"},
    CoordinatorSpec: {"coordinator": "transaction_timeout_ms"},
    ManagerSpec: {"manager": "order_again_ms"},
    ResourceManagerSpec: {"resource": "lock_wait_timeout_ms"},
}


#: Setting -> all its allowed values.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "idempotence_strategy": STRATEGIES,
    "idempotence_when_unreachable": tuple(one.value for one in WhenUnreachable),
}


def setting_table() -> SettingTable:
    """Return the settings, and where the stage shows each."""
    return {
        "settings": {
            role: {name: _setting_view(role, setting) for name, setting in settings_of(role).items()}
            for role in NODE_KINDS
        },
        "timers": {kind.role: dict(names) for kind, names in TIMER_SETTINGS.items()},
        "stage": {kind.role: dict(names) for kind, names in STAGE_SETTINGS.items()},
    }


def _setting_view(role: str, setting: Setting) -> ShownSetting:
    view: ShownSetting = {"java": own_name(role, setting.name), "default": setting.default, "unit": setting.unit}
    if isinstance(setting.default, int | float) and not isinstance(setting.default, bool):
        view["low"], view["high"] = setting.bounds
        view["is_whole"] = setting.kind is int
    choices = setting.choices or CHOICES.get(setting.name)
    if choices:
        view["choices"] = list(choices)
    return view
