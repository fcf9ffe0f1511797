"""Why a request is refused, or why a call got no reply and whether it may have taken effect all the same."""

from __future__ import annotations

from engine.protocol.response_code import ResponseCode


class RequestRefused(Exception):
    """Raised by a processor: the request is not carried out. The reply has this remark and code; the default is what
    RocketMQ answers wherever it has no code of its own.
    """

    def __init__(self, remark: str, code: int = ResponseCode.SYSTEM_ERROR) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


class RemotingError(Exception):
    """Base. ``outcome_known`` is True when the request certainly had no effect."""

    outcome_known = False


class RemotingConnectFailed(RemotingError):
    """No connection could be made: nothing was sent."""

    outcome_known = True


class RemotingTooManyRequests(RemotingError):
    """The bound of unanswered calls on this connection is reached: nothing was sent."""

    outcome_known = True


class RemotingShutDown(RemotingError):
    """This client was shut down before the call: nothing was sent."""

    outcome_known = True


class RemotingTimeout(RemotingError):
    """No reply in time: the request may have been processed."""


class RemotingSendFailed(RemotingError):
    """The connection was lost before the reply came: the request may have been processed."""


class RemotingReplyUnreadable(RemotingError):
    """A reply came whose header cannot be read: the request has probably been processed."""
