"""Messages between peers, and their bytes (paper, figure 2; DLedger: ``VoteRequest``, ``PushEntryRequest``).

The format is our own. A frame is its length (4 bytes), then::

    "RAFT" | kind (1) | the message's numbers, 8 bytes each | sender (length 1, UTF-8) | entries

An entry is its index and term (8 bytes each), its kind (1), the length of its data (4), and the data.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar, get_args

from engine.replication.raft.errors import RaftFrameRefused
from engine.replication.raft.raft_log import EntryKind, RaftEntry

RAFT_MAGIC = b"RAFT"
_LENGTH = struct.Struct(">I")
_ENTRY = struct.Struct(">QQBI")
_NUMBER_MAX = (1 << 63) - 1


class VoteVerdict(IntEnum):
    """Answer of a voter to a candidate."""

    GRANTED = 0
    #: The candidate's term is outdated.
    OLD_TERM = 1
    #: The voter still hears from its leader (pre-vote only).
    HEARS_LEADER = 2
    #: The voter has given its vote of this term to another candidate.
    VOTED_FOR_ANOTHER = 3
    #: The candidate's log lacks entries that the voter has.
    LOG_BEHIND = 4
    #: The voter is joining: it may have forgotten a vote, or what it acknowledged.
    JOINING = 5


@dataclass(frozen=True, slots=True)
class RequestVote:
    """A candidate asks for a vote, or with ``pre_vote`` whether it would get one."""

    kind: ClassVar[int] = 1
    sender: str
    term: int
    last_index: int
    last_term: int
    pre_vote: int


@dataclass(frozen=True, slots=True)
class VoteAnswer:
    """The answer to a vote request. ``term`` is the voter's own, or the requested one when it grants a pre-vote.

    ``verdict``: a number of :class:`VoteVerdict`.
    """

    kind: ClassVar[int] = 2
    sender: str
    term: int
    pre_vote: int
    verdict: int


@dataclass(frozen=True, slots=True)
class AppendEntries:
    """The leader's entries after ``previous_index``; without entries, a heartbeat."""

    kind: ClassVar[int] = 3
    sender: str
    term: int
    previous_index: int
    previous_term: int
    commit_index: int
    entries: tuple[RaftEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class AppendAnswer:
    """The answer to entries. ``index``: if they matched, both logs are the same up to it; otherwise it is the last
    entry at which they may match.
    """

    kind: ClassVar[int] = 4
    sender: str
    term: int
    matched: int
    index: int


@dataclass(frozen=True, slots=True)
class JoiningAnswer:
    """The answer to entries from a member that is joining and does not count. ``joining``: as in ``HardState``."""

    kind: ClassVar[int] = 5
    sender: str
    term: int
    matched: int
    index: int
    joining: int


@dataclass(frozen=True, slots=True)
class Admission:
    """Sent by the leader to a joining member: it has all that may have been committed before, and counts again."""

    kind: ClassVar[int] = 6
    sender: str
    term: int
    joining: int


@dataclass(frozen=True, slots=True)
class FoundingQuestion:
    """A member whose folder was empty asks whether the receiver is new, too."""

    kind: ClassVar[int] = 7
    sender: str
    term: int
    joining: int


@dataclass(frozen=True, slots=True)
class FoundingAnswer:
    """The answer to :class:`FoundingQuestion`. ``is_new``: the sender has no entry and has lost none; ``joining`` is
    that of the question.
    """

    kind: ClassVar[int] = 8
    sender: str
    term: int
    joining: int
    is_new: int


RaftMessage = (
    RequestVote
    | VoteAnswer
    | AppendEntries
    | AppendAnswer
    | JoiningAnswer
    | Admission
    | FoundingQuestion
    | FoundingAnswer
)
_KINDS: dict[int, type[RaftMessage]] = {message.kind: message for message in get_args(RaftMessage)}
#: Frame names of the kinds that have only one name.
_NAMES: dict[type[RaftMessage], str] = {
    AppendAnswer: "APPEND_ANSWER",
    JoiningAnswer: "JOINING_ANSWER",
    Admission: "ADMISSION",
    FoundingQuestion: "FOUNDING_QUESTION",
    FoundingAnswer: "FOUNDING_ANSWER",
}
#: All frame names.
FRAME_NAMES = (
    *("REQUEST_PRE_VOTE", "REQUEST_VOTE", "PRE_VOTE", "VOTE", "HEARTBEAT", "APPEND_ENTRIES"),
    *_NAMES.values(),
)


def frame_name(message: RaftMessage) -> str:
    """Return the name of the message's frame, one of :data:`FRAME_NAMES`."""
    match message:
        case RequestVote():
            return "REQUEST_PRE_VOTE" if message.pre_vote else "REQUEST_VOTE"
        case VoteAnswer():
            return "PRE_VOTE" if message.pre_vote else "VOTE"
        case AppendEntries():
            return "APPEND_ENTRIES" if message.entries else "HEARTBEAT"
        case _:
            return _NAMES[type(message)]


def _number_names(kind: type[RaftMessage]) -> list[str]:
    return [field.name for field in fields(kind) if field.name not in ("sender", "entries")]


def encode_message(message: RaftMessage) -> bytes:
    """Encode a whole frame with its length."""
    numbers = [getattr(message, name) for name in _number_names(type(message))]
    sender = message.sender.encode()
    body = RAFT_MAGIC + struct.pack(f">B{len(numbers)}QB", message.kind, *numbers, len(sender)) + sender
    for entry in message.entries if isinstance(message, AppendEntries) else ():
        body += _ENTRY.pack(entry.index, entry.term, entry.kind, len(entry.data)) + entry.data
    return _LENGTH.pack(len(body)) + body


def decode_message(frame: bytes) -> RaftMessage:
    """Decode a frame, given without its length. Raises :class:`RaftFrameRefused`."""
    if frame[: len(RAFT_MAGIC)] != RAFT_MAGIC:
        raise RaftFrameRefused(f"a frame of {len(frame)} bytes begins with {frame[:4]!r}, not with {RAFT_MAGIC!r}")
    kind = _KINDS.get(frame[4]) if len(frame) > 4 else None
    if kind is None:
        raise RaftFrameRefused(f"kind {frame[4:5].hex() or 'missing'} is not one of {', '.join(map(str, _KINDS))}")
    names = _number_names(kind)
    layout = struct.Struct(f">{len(names)}QB")
    try:
        *numbers, sender_bytes = layout.unpack_from(frame, 5)
        at = 5 + layout.size + sender_bytes
        sender = frame[at - sender_bytes : at].decode()
        entries = _decode_entries(frame, at)
    except (struct.error, ValueError) as error:
        raise RaftFrameRefused(f"a frame of {len(frame)} bytes for {kind.__name__} is damaged: {error}") from error
    if at > len(frame) or max(numbers) > _NUMBER_MAX or not sender:
        raise RaftFrameRefused(f"a {kind.__name__} of {len(frame)} bytes has no sender, or a number beyond 63 bits")
    values = dict(zip(names, numbers, strict=True))
    if kind is not AppendEntries:
        if entries or (kind is VoteAnswer and values["verdict"] not in list(VoteVerdict)):
            raise RaftFrameRefused(f"a {kind.__name__} holds an invalid value")
        return kind(sender, **values)
    first = values["previous_index"] + 1
    if any(entry.index != first + number or entry.term > values["term"] for number, entry in enumerate(entries)):
        raise RaftFrameRefused(f"entries from {sender} do not follow on {values['previous_index']}")
    return AppendEntries(sender, **values, entries=tuple(entries))


def _decode_entries(frame: bytes, at: int) -> list[RaftEntry]:
    entries = []
    while at < len(frame):
        index, term, kind, size = _ENTRY.unpack_from(frame, at)
        at += _ENTRY.size
        if size > len(frame) - at:
            raise ValueError(f"entry {index} has {size} bytes, {len(frame) - at} are there")
        entries.append(RaftEntry(index, term, EntryKind(kind), frame[at : at + size]))
        at += size
    return entries
