"""Faults of a broker itself: rules for incoming frames, its lock table, its disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.broker.broker import Broker
from engine.faults.errors import FaultRefused
from engine.faults.fault_rule import FaultAction, FaultRule
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command
from engine.lab.world.world import ScenarioWorld
from engine.protocol.body.message_queue import MessageQueue


def rule_of(command: Command) -> FaultRule:
    """Return the rule that a ``fault`` describes. Raises :class:`FaultRefused` for fields that conflict."""
    return FaultRule(**command.value)  # type: ignore[arg-type]  # checked, field by field, when it was parsed


def switch_group_lock(broker: Broker, command: Command) -> None:
    """Switch off the broker lock for a group, so that all members get the queues they request; or switch it on."""
    groups_off, group = broker.rebalance_lock_manager.groups_off, str(command.value["group"])
    groups_off.pop(group, None)
    if not command.value["on"]:
        groups_off[group] = None


def give_lock(broker: Broker, command: Command, client_id: str) -> str:
    """Give a queue's lock to another client; return its former owner. Raises :class:`FaultRefused` if it is not
    held.
    """
    group, topic, queue_id = (command.value[name] for name in ("group", "topic", "queue_id"))
    queue = MessageQueue(str(topic), broker.config.broker_name, int(str(queue_id)))
    owner = broker.rebalance_lock_manager.give_away(str(group), queue, client_id)
    if not owner:
        raise FaultRefused("refusal.no_lock", group=group, topic=topic, queue_id=queue_id)
    return owner


# --- in the lab ------------------------------------------------------------------------------------------------------


def _add_rule(world: ScenarioWorld, role: BrokerNode, command: Command) -> None:
    try:
        rule = rule_of(command)
        if rule.what is FaultAction.HOLD:
            raise FaultRefused("refusal.no_hold_in_the_lab")
        role.injector.add(rule)
    except FaultRefused as refusal:
        raise CommandRefused(refusal.text) from refusal


def _clear(world: ScenarioWorld, role: BrokerNode, command: Command) -> None:
    role.injector.clear()


def _running(role: BrokerNode) -> Broker:
    if role.broker is None:
        raise CommandRefused("refusal.broker_is_off", name=role.name)
    return role.broker


def _group_lock(world: ScenarioWorld, role: BrokerNode, command: Command) -> None:
    switch_group_lock(_running(role), command)


def _give_lock(world: ScenarioWorld, role: BrokerNode, command: Command) -> None:
    name, known = command.value["to"], ", ".join(consumer.name for consumer in world.consumers())
    to = world.find(ConsumerNode, str(name))
    if to is None or to.consumer is None:
        raise CommandRefused("refusal.needs_consumer", kind=command.kind, name=name, role="-", known=known)
    try:
        give_lock(_running(role), command, to.consumer.instance.client_id)
    except FaultRefused as refusal:
        raise CommandRefused(refusal.text) from refusal


def _fail_fsync(world: ScenarioWorld, role: BrokerNode, command: Command) -> None:
    role.storage.flush_error = None if command.value["on"] else "the device reports an error"


BROKER_ACTIONS: Mapping[str, Callable[[ScenarioWorld, BrokerNode, Command], None]] = {
    "clear-faults": _clear,
    "fail-fsync": _fail_fsync,
    "fault": _add_rule,
    "give-lock": _give_lock,
    "group-lock": _group_lock,
}
