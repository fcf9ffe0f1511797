"""The command that resends a dead letter: what an administrator of a broker does by hand.

The deed becomes an event of the broker, as every command that needs engine code; it looks once more there whether the
dead letter was resent in between.
"""

from __future__ import annotations

import logging

from engine.broker.delivery.dead_letter import DeadLetterRefused, ResendTo
from engine.broker.delivery.dead_letter_administrator import DeadLetterAdministrator
from engine.lab.nodes.broker_role import BrokerRole
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command

_log = logging.getLogger("glassmq.lab")


class DeadLetterCommandRefused(CommandRefused):
    """There is no such dead letter, or it was resent already."""


def resend_dead_letter(role: BrokerRole, command: Command) -> None:
    """Do ``command`` on the broker, which runs. Raises :class:`DeadLetterCommandRefused`."""
    assert role.broker is not None, "a running broker has its engine"
    administrator = DeadLetterAdministrator(role.broker)
    group, name, to = str(command.value["group"]), str(command.value["message"]), ResendTo(str(command.value["to"]))
    anyway = bool(command.value["anyway"])
    try:
        administrator.check(group, name, to, anyway=anyway)
    except DeadLetterRefused as error:
        raise DeadLetterCommandRefused(error.text) from error
    role.spawn(_resend(administrator, group, name, to, anyway), "administrator")


async def _resend(administrator: DeadLetterAdministrator, group: str, name: str, to: ResendTo, anyway: bool) -> None:
    try:
        await administrator.resend(group, name, to, anyway=anyway)
    except DeadLetterRefused as error:
        _log.warning("an administrator cannot resend %s any more: %s", name, error)
