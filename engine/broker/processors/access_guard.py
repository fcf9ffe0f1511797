"""The access check of every request before its processor, with ``aclEnable`` (RocketMQ:
``BrokerController.initialAcl``).

A refused request is answered with SYSTEM_ERROR (1), as RocketMQ answers every exception of its check, and with the
reason. Oneway requests are dropped. An address that sends wrong signatures for an account is slowed down
(:mod:`engine.acl.guess_limit`); a connection on which that account has signed correctly is not, even if others share
its address.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from engine.acl.acl_signer import ACCESS_KEY
from engine.acl.errors import AccessDenied, WrongSignature
from engine.acl.guess_limit import GuessLimit
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode

if TYPE_CHECKING:
    from engine.acl.plain_permission_manager import PlainPermissionManager
    from engine.protocol.command.remoting_command import RemotingCommand
    from engine.remoting.channel import Channel

logger = logging.getLogger("glassmq.acl")

#: The number of refusals that are remembered as logged: a refused client repeats its requests, but the log need not.
_LOGGED_MAX = 1_000
#: The maximum length of a client's own words in a reason.
_REASON_MAX_LENGTH: Final = 400


class AccessGuard:
    """The guard before the processors of one broker (``ProcessorTable.guard``)."""

    def __init__(self, manager: PlainPermissionManager, monotonic_us: Callable[[], int]) -> None:
        self._manager = manager
        self._monotonic_us = monotonic_us
        self._wrong_signatures = GuessLimit()
        self._logged: dict[tuple[str, str], None] = {}
        self.refused_requests = 0

    def check(self, channel: Channel, request: RemotingCommand) -> RemotingCommand | None:
        """Return None to let ``request`` pass, or else the refusal."""
        ip = channel.remote_address.rpartition(":")[0]
        access_key = request.ext_fields.get(ACCESS_KEY, "")
        who, is_known = f"{ip} {access_key}", access_key == channel.signed_for
        if not is_known and self._wrong_signatures.is_slowed(who, self._now()):
            why = "AclException: too many wrong signatures from this address: one per second is checked"
            return self._refuse(ip, request, why)
        try:
            self._manager.validate(ip, request)
        except WrongSignature as denied:
            self._wrong_signatures.was_wrong(who, self._now())
            return self._refuse(ip, request, f"AclException: {denied}")
        except AccessDenied as denied:
            return self._refuse(ip, request, f"AclException: {denied}")
        except ProtocolError as error:
            return self._refuse(ip, request, str(error))
        channel.signed_for = access_key
        return None

    def _now(self) -> float:
        return self._monotonic_us() / 1_000_000

    def refusal_of_slave(self, address: str) -> str | None:
        """Return why a slave at ``address`` may not receive the log; None: it may. A slave signs nothing: its address
        decides.
        """
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
