"""Switches of a world: the three locks of ordered consumption, the ``consuming`` flag, idempotence.

A switch belongs to the machine, like its settings: it outlives the process and takes effect immediately.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.texts import Text

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer

BROKER_LOCK = "broker-lock"
MESSAGE_QUEUE_LOCK = "message-queue-lock"
PROCESS_QUEUE_LOCK = "process-queue-lock"
CONSUMING_FLAG = "consuming-flag"
IDEMPOTENT_CONSUMER = "idempotent-consumer"
#: Those of a consumer without a bank.
ORDERLY_SWITCHES = (MESSAGE_QUEUE_LOCK, PROCESS_QUEUE_LOCK, CONSUMING_FLAG)


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch. ``name`` and ``what`` are for users. A kind says which its nodes have: ``NodeSpec.switches``."""

    name: Text
    what: Text


SWITCHES: Mapping[str, Switch] = {
    name: Switch(Text(f"switch.{name}.name"), Text(f"switch.{name}.what"))
    # The last one is read at each call, see engine.lab.nodes.node_banks: nothing needs to be set.
    for name in (BROKER_LOCK, *ORDERLY_SWITCHES, IDEMPOTENT_CONSUMER)
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
