"""Errors for invalid bytes or names received from a peer or a user."""

from __future__ import annotations

from typing import NamedTuple


class ProtocolError(Exception):
    """The base of all errors that a peer can cause. The text names what was wrong and what is allowed."""


class FrameHead(NamedTuple):
    """The part of a command that is needed to answer it."""

    opaque: int
    flag: int
    is_binary: bool


class MalformedFrame(ProtocolError):
    """The bytes of a frame are not a RemotingCommand.

    RocketMQ closes the connection on each of these errors. Here only those that cannot be answered close it, so that a
    bad request does not break the others on its connection.

    :ivar head: None if the ``opaque`` cannot be read, so that an answer could not be matched to its request.
    """

    def __init__(self, text: str, head: FrameHead | None = None) -> None:
        super().__init__(text)
        self.head = head


class MalformedHeader(ProtocolError):
    """A field of a command's header is missing or has a wrong value."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"header field {field!r}: {why}")
        self.field = field


class MalformedBody(ProtocolError):
    """A command's body is not valid for its request code."""


class MalformedMessage(ProtocolError):
    """Bytes that should be a stored message (or a batch of messages) are not."""


class ReservedProperty(ProtocolError, ValueError):
    """A user property has a name that belongs to RocketMQ."""


class IllegalName(ProtocolError):
    """A topic or group name that RocketMQ does not allow."""
