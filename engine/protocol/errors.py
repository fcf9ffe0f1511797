"""What can be wrong with bytes or names that come from outside."""

from __future__ import annotations

from typing import NamedTuple


class ProtocolError(Exception):
    """Base of everything that a peer can do wrong. The text names what was wrong and what is allowed."""


class FrameHead(NamedTuple):
    """As much of a command as its answer needs."""

    opaque: int
    flag: int
    is_binary: bool


class MalformedFrame(ProtocolError):
    """The bytes of a frame are not a RemotingCommand.

    RocketMQ closes the connection on each. Here only on those that cannot be answered: the fault of one request does
    not cost the others their connection.

    :ivar head: None: the ``opaque`` cannot be read, so that nobody would know what an answer is to.
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
    """A command's body is not what its request code demands."""


class MalformedMessage(ProtocolError):
    """Bytes that should be a stored message (or a batch of messages) are not."""


class ReservedProperty(ProtocolError, ValueError):
    """A user property has a name that belongs to RocketMQ."""


class IllegalName(ProtocolError):
    """A topic or group name that RocketMQ does not allow."""
