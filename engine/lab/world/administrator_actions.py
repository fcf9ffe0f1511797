"""Commands that an administrator carries out by hand: on half messages, on dead letters, on records of idempotence.

The action becomes an event of the broker, like every command that needs engine code. It looks the message up again
there: an END_TRANSACTION may have been handled meanwhile, or the dead letter may have been resent.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from engine.broker.delivery.dead_letter import DeadLetterRefused, ResendTo
from engine.broker.transactions.half_message_lookup import HalfMessageAction, HalfMessageRefused
from engine.idempotence.foundation.record import RecordKey
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.scenario_node import ScenarioNode, WorldContext
from engine.lab.raft.raft_peer_node import RaftPeerNode
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command

_log = logging.getLogger("glassmq.lab")

_ACTIONS = {
    "commit-half": HalfMessageAction.COMMIT,
    "rollback-half": HalfMessageAction.ROLLBACK,
    "resume-half": HalfMessageAction.RESUME,
}


class HalfMessageCommandRefused(CommandRefused):
    """There is no such half message, or it is decided already."""


class DeadLetterCommandRefused(CommandRefused):
    """There is no such dead letter, or it was resent already."""


def change_membership(world: WorldContext, role: ScenarioNode) -> None:
    """Have the leader of the newest term add the peer ``role`` to its group, or remove it. Raises
    :class:`CommandRefused`."""
    leaders = [peer for peer in world.roles(RaftPeerNode) if peer.is_leader and peer.status == "running"]
    if world.find(RaftPeerNode, role.name) is None:
        raise CommandRefused("refusal.no_raft_peer", name=role.name, role=role.role)
    if not leaders:
        raise CommandRefused("refusal.no_leader")
    leader = max(leaders, key=lambda peer: peer.term)
    leader.spawn(leader.change_membership(role.name), "administrator")


def act_on_half_message(role: BrokerNode, command: Command) -> None:
    """Carry out ``command`` on the running broker. Raises :class:`HalfMessageCommandRefused`."""
    assert role.broker is not None, "a running broker has its engine"
    administrator, action = role.broker.half_message_administrator, _ACTIONS[command.kind]
    name, anyway = str(command.value["message"]), bool(command.value.get("anyway"))
    try:
        administrator.check(action, name, anyway=anyway)
    except HalfMessageRefused as error:
        raise HalfMessageCommandRefused(error.text) from error
    role.spawn(_do(lambda: administrator.act(action, name, anyway=anyway), f"{action} {name}"), "administrator")


def resend_dead_letter(role: BrokerNode, command: Command) -> None:
    """Carry out ``command`` on the running broker. Raises :class:`DeadLetterCommandRefused`."""
    assert role.broker is not None, "a running broker has its engine"
    administrator = role.broker.dead_letter_administrator
    group, name, to = str(command.value["group"]), str(command.value["message"]), ResendTo(str(command.value["to"]))
    anyway = bool(command.value["anyway"])
    try:
        administrator.check(group, name, to, anyway=anyway)
    except DeadLetterRefused as error:
        raise DeadLetterCommandRefused(error.text) from error
    role.spawn(_do(lambda: administrator.resend(group, name, to, anyway=anyway), f"resend {name}"), "administrator")


class RecordCommandRefused(CommandRefused):
    """There is no such record of idempotence."""


def free_record(role: ScenarioNode, command: Command) -> None:
    """Delete a record: its work may be done again. Raises :class:`RecordCommandRefused`."""
    key = RecordKey(str(command.value["scope"]), str(command.value["key"]))
    if not role.free_record(key):
        raise RecordCommandRefused("refusal.no_record", name=role.name, scope=key.scope, key=key.business_key)


async def _do(action: Callable[[], Awaitable[object]], what: str) -> None:
    try:
        await action()
    except (HalfMessageRefused, DeadLetterRefused) as error:
        _log.warning("an administrator cannot %s any more: %s", what, error)
