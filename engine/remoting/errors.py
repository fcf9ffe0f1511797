"""Refusals of requests, and failures of calls, which say whether the request may have taken effect nevertheless."""

from __future__ import annotations

from engine.protocol.response_code import ResponseCode


class RequestRefused(Exception):
    """A processor's refusal of a request. The reply has this remark and code.

    The default code is what RocketMQ answers when it has no specific one.
    """

    def __init__(self, remark: str, code: int = ResponseCode.SYSTEM_ERROR) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


class RemotingError(Exception):
    """The base of all failed calls. ``outcome_known`` is True if the request certainly had no effect."""

    outcome_known = False


class RemotingConnectFailed(RemotingError):
    """No connection could be made; nothing was sent."""

    outcome_known = True


class RemotingTooManyRequests(RemotingError):
    """The maximum number of unanswered calls on this connection is reached; nothing was sent."""

    outcome_known = True


class RemotingShutDown(RemotingError):
    """This client was shut down before the call; nothing was sent."""

    outcome_known = True


class RemotingTimeout(RemotingError):
    """There was no reply in time; the request may have been processed."""


class RemotingSendFailed(RemotingError):
    """The connection was lost before the reply arrived; the request may have been processed."""


class RemotingReplyUnreadable(RemotingError):
    """The header of a reply is unreadable; the request has probably been processed."""
