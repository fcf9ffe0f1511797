"""What can go wrong in the broker while it serves a request."""

from __future__ import annotations

from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode


class TooManyEntries(ProtocolError):
    """A table has reached its configured bound; the request that would have added to it is refused."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"too many {what}: this broker allows {limit}")
        self.limit = limit


class ConfigRefused(ProtocolError):
    """A topic or group configuration that cannot be; the text names the field and what is allowed."""


class ConfigNotSaved(ProtocolError):
    """A topic or group could not be written to its file, so it was not changed."""


class RequestRefused(Exception):
    """A tool's request cannot be carried out; carries the reply's code and its remark."""

    def __init__(self, code: ResponseCode, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark

    def reply_to(self, request: RemotingCommand) -> RemotingCommand:
        """The reply that says so."""
        return request.reply(self.code, self.remark)
