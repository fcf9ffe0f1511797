"""Switches of a world: the three locks of ordered consumption, the ``consuming`` flag, idempotence.

A switch belongs to the machine, like its settings: it outlives the process and takes effect immediately.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.texts import Text

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer

BROKER_LOCK = "broker-lock"
MESSAGE_QUEUE_LOCK = "message-queue-lock"
PROCESS_QUEUE_LOCK = "process-queue-lock"
CONSUMING_FLAG = "consuming-flag"
IDEMPOTENT_CONSUMER = "idempotent-consumer"


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch, for the nodes of ``kind``. ``name`` and ``what`` are for users."""

    kind: type[NodeSpec]
    name: Text
    what: Text


SWITCHES: Mapping[str, Switch] = {
    name: Switch(kind, Text(f"switch.{name}.name"), Text(f"switch.{name}.what"))
    for name, kind in (
        (BROKER_LOCK, BrokerSpec),
        (MESSAGE_QUEUE_LOCK, ConsumerSpec),
        (PROCESS_QUEUE_LOCK, ConsumerSpec),
        (CONSUMING_FLAG, ConsumerSpec),
        # Read at each call, see engine.lab.nodes.node_banks: nothing needs to be set.
        (IDEMPOTENT_CONSUMER, ConsumerSpec),
    )
}


def apply_to_broker(broker: Broker, switched_off: Mapping[str, None]) -> None:
    """Set the switches of a running process."""
    broker.rebalance_lock_manager.enabled = BROKER_LOCK not in switched_off


def apply_to_consumer(consumer: DefaultMQPushConsumer, switched_off: Mapping[str, None]) -> None:
    """Set the switches of a process that is running or about to start."""
    switches = consumer.orderly_switches
    switches.message_queue_lock = MESSAGE_QUEUE_LOCK not in switched_off
    switches.consume_lock = PROCESS_QUEUE_LOCK not in switched_off
    switches.consuming_flag = CONSUMING_FLAG not in switched_off
