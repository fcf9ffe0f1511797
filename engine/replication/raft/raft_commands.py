"""What a client says to a peer, and its bytes: a command for the log, and what became of it. A format of our own.

A frame is its length (4 bytes), ``"RCMD"`` and a JSON object of the fields.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from enum import StrEnum

from engine.replication.raft.errors import RaftFrameRefused

COMMAND_MAGIC = b"RCMD"
#: What its frame is called.
COMMAND_NAME = "COMMAND"
KEY_MAX_LENGTH = 200


class CommandStatus(StrEnum):
    """What became of a command."""

    #: A majority has it, and the leader has applied it.
    COMMITTED = "committed"
    #: This peer does not lead; it is in no log.
    NOT_LEADER = "not leader"
    #: The leader could not take it; it is in no log.
    REFUSED = "refused"
    #: The leader lost its office meanwhile.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RaftClientConfig:
    """How a client waits. The values are ours: longer than an election takes."""

    answer_timeout_ms: int = 500
    #: Until it asks the next peer, when one does not know the leader or is not there.
    retry_ms: int = 50
    give_up_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class RaftCommand:
    """``key`` is put into the log; by ``number`` its answer finds back."""

    number: int
    key: str


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """``leader``: whom to ask, or empty; ``index``, ``term``: of the committed entry; ``detail``: why there is none."""

    number: int
    status: str
    leader: str = ""
    index: int = 0
    term: int = 0
    detail: str = ""


def encode_command_frame(said: RaftCommand | CommandAnswer) -> bytes:
    """A whole frame, with its length."""
    body = COMMAND_MAGIC + json.dumps(asdict(said)).encode()
    return struct.pack(">I", len(body)) + body


def decode_command_frame(frame: bytes) -> RaftCommand | CommandAnswer:
    """What a frame says, given without its length. Raises :class:`RaftFrameRefused`."""
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
