"""Commands on half messages: what an administrator of a broker does by hand.

The deed becomes an event of the broker, as every command that needs engine code; it looks the message up once more
there, because an END_TRANSACTION may have been dealt with in between.
"""

from __future__ import annotations

import logging

from engine.broker.transactions.half_message_administrator import HalfMessageAdministrator
from engine.broker.transactions.half_message_lookup import Deed, HalfMessageRefused
from engine.lab.nodes.broker_role import BrokerRole
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command

_log = logging.getLogger("glassmq.lab")

_DEEDS = {"commit-half": Deed.COMMIT, "rollback-half": Deed.ROLLBACK, "resume-half": Deed.RESUME}


class HalfMessageCommandRefused(CommandRefused):
    """There is no such half message, or it is decided already."""


def act_on_half_message(role: BrokerRole, command: Command) -> None:
    """Do ``command`` on the broker, which runs. Raises :class:`HalfMessageCommandRefused`."""
    assert role.broker is not None, "a running broker has its engine"
    administrator, deed = HalfMessageAdministrator(role.broker), _DEEDS[command.kind]
    name, anyway = str(command.value["message"]), bool(command.value.get("anyway"))
    try:
        administrator.check(deed, name, anyway=anyway)
    except HalfMessageRefused as error:
        raise HalfMessageCommandRefused(error.text) from error
    role.spawn(_act(administrator, deed, name, anyway), "administrator")


async def _act(administrator: HalfMessageAdministrator, deed: Deed, name: str, anyway: bool) -> None:
    try:
        await administrator.act(deed, name, anyway=anyway)
    except HalfMessageRefused as error:
        _log.warning("an administrator cannot %s %s any more: %s", deed, name, error)
