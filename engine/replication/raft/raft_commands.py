"""Requests of a client to a peer and their answers: a command for the log, and its outcome. The format is our own.

A frame is its length (4 bytes), ``"RCMD"`` and a JSON object of the fields.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from enum import StrEnum

from engine.replication.raft.errors import RaftFrameRefused

COMMAND_MAGIC = b"RCMD"
#: Name of its frame.
COMMAND_NAME = "COMMAND"
KEY_MAX_LENGTH = 200


class CommandStatus(StrEnum):
    """Outcome of a command."""

    #: A majority has the command, and the leader has applied it.
    COMMITTED = "committed"
    #: This peer is not the leader; the command is in no log.
    NOT_LEADER = "not leader"
    #: The leader could not accept the command; it is in no log.
    REFUSED = "refused"
    #: The leader stepped down before the command was committed.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RaftClientConfig:
    """Timeouts of a client. The values are our own: longer than an election takes."""

    answer_timeout_ms: int = 500
    #: Delay before the client asks the next peer, when one does not know the leader or does not answer.
    retry_ms: int = 50
    give_up_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class RaftCommand:
    """A command: ``key`` is put into the log, and ``number`` relates the answer to the command."""

    number: int
    key: str


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer to a command. ``leader``: the leader's name, or empty; ``index``, ``term``: of the committed entry;
    ``detail``: why it was not committed.
    """

    number: int
    status: str
    leader: str = ""
    index: int = 0
    term: int = 0
    detail: str = ""


def encode_command_frame(said: RaftCommand | CommandAnswer) -> bytes:
    """Encode a whole frame with its length."""
    body = COMMAND_MAGIC + json.dumps(asdict(said)).encode()
    return struct.pack(">I", len(body)) + body


def decode_command_frame(frame: bytes) -> RaftCommand | CommandAnswer:
    """Decode a frame, given without its length. Raises :class:`RaftFrameRefused`."""
    try:
        fields = json.loads(frame.removeprefix(COMMAND_MAGIC)) if frame.startswith(COMMAND_MAGIC) else None
    except ValueError:
        fields = None
    kind = RaftCommand if isinstance(fields, dict) and "key" in fields else CommandAnswer
    if not isinstance(fields, dict) or not _fits(fields, kind):
        raise RaftFrameRefused(f"a frame of {len(frame)} bytes is neither a command nor an answer")
    return kind(**fields)


def _fits(fields: dict[str, object], kind: type[RaftCommand | CommandAnswer]) -> bool:
    numbers = ("number", "index", "term")
    return list(fields) == list(kind.__dataclass_fields__) and all(
        type(value) is int if name in numbers else isinstance(value, str) and len(value) <= KEY_MAX_LENGTH
        for name, value in fields.items()
    )
