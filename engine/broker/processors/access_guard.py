"""Checks every request before its processor sees it, with ``aclEnable`` (RocketMQ: ``BrokerController.initialAcl``).

A refused request is answered with SYSTEM_ERROR (1), as RocketMQ answers whatever its check throws, and with the reason.
Oneway requests are dropped.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from engine.acl.errors import AccessDenied
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode

if TYPE_CHECKING:
    from engine.acl.plain_permission_manager import PlainPermissionManager
    from engine.protocol.command.remoting_command import RemotingCommand
    from engine.remoting.channel import Channel

logger = logging.getLogger("glassmq.acl")

#: Refusals that are remembered as logged; a client that is refused repeats itself, and the log need not.
_LOGGED_MAX = 1_000
#: A client's own words may be in a reason.
_REASON_MAX_LENGTH: Final = 400


class AccessGuard:
    """Stands before the processors of one broker (see ``ProcessorTable.guard``)."""

    def __init__(self, manager: PlainPermissionManager) -> None:
        self._manager = manager
        self._logged: dict[tuple[str, str], None] = {}
        self.refused_requests = 0

    def check(self, channel: Channel, request: RemotingCommand) -> RemotingCommand | None:
        """None to let ``request`` through, else the refusal."""
        ip = channel.remote_address.rpartition(":")[0]
        try:
            self._manager.validate(ip, request)
        except AccessDenied as denied:
            return self._refuse(ip, request, f"AclException: {denied}")
        except ProtocolError as error:
            return self._refuse(ip, request, str(error))
        return None

    def refusal_of_slave(self, address: str) -> str | None:
        """Why nobody at ``address`` may have the log; None: it may. A slave signs nothing: its address counts."""
        if self._manager.rules.is_white(address.rpartition(":")[0]):
            return None
        return "with aclEnable a slave's address must be one of globalWhiteRemoteAddresses"

    def _refuse(self, ip: str, request: RemotingCommand, reason: str) -> RemotingCommand:
        self.refused_requests += 1
        reason = reason[:_REASON_MAX_LENGTH]
        if (ip, reason) not in self._logged:
            if len(self._logged) >= _LOGGED_MAX:
                self._logged.clear()
            self._logged[ip, reason] = None
            logger.warning("request %d of %s refused: %s", request.code, ip, reason)
        return request.reply(ResponseCode.SYSTEM_ERROR, reason)
