"""The fields of messages between replicas as a tree, for the frame's dialog: messages of Raft, commands of their
clients, and the copies that a master sends its slaves. The shape is that of :mod:`app.lab.views.kafka.frame_tree`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from enum import IntEnum
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import TREE_FIELDS_SHOWN
from engine.lab.raft.raft_peer_node import key_of
from engine.replication.ha import ha_frames
from engine.replication.raft.raft_commands import COMMAND_MAGIC, decode_command_frame
from engine.replication.raft.raft_messages import RAFT_MAGIC, AppendEntries, VoteVerdict, decode_message, frame_name

if TYPE_CHECKING:
    from app.picture.frame import FrameTreeField
    from engine.replication.raft.raft_log import RaftEntry

#: Bytes of the numbers: length and magic, kind, each number of a message, the length of the sender's name.
_HEAD, _KIND, _NUMBER, _NAME_LENGTH = 4, 1, 8, 1


class _Row:
    """Consecutive fields; ``at``: the position of the next one."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.fields: list[FrameTreeField] = []

    def add(self, name: str, value: object, length: int) -> None:
        """Add the next field, which has ``length`` bytes."""
        self.fields.append(_field(name, value, self.at, length))
        self.at += length


def is_of_replicas(frame: bytes) -> bool:
    """Return whether ``frame``, which begins with its length, is one of Raft's or of its clients."""
    return frame[_HEAD : 2 * _HEAD] in (RAFT_MAGIC, COMMAND_MAGIC)


def raft_tree(frame: bytes) -> list[FrameTreeField]:
    """Return the fields of ``frame``, which begins with its length. Raises ``RaftFrameRefused``."""
    row = _Row()
    row.add("length", len(frame) - _HEAD, _HEAD)
    row.add("magic", frame[_HEAD : 2 * _HEAD].decode(), _HEAD)
    if frame[_HEAD : 2 * _HEAD] == COMMAND_MAGIC:
        return row.fields + _command_fields(frame)
    message = decode_message(frame[_HEAD:])
    row.add("kind", f"{message.kind} ({frame_name(message)})", _KIND)
    for name in (one.name for one in fields(message) if one.name not in ("sender", "entries")):
        number = getattr(message, name)
        row.add(name, _named(VoteVerdict(number)) if name == "verdict" else number, _NUMBER)
    sender = message.sender.encode()
    row.add("sender length", len(sender), _NAME_LENGTH)
    row.add("sender", message.sender, len(sender))
    if isinstance(message, AppendEntries):
        begin = row.at
        entries: list[FrameTreeField] = [_entry(entry, row) for entry in message.entries]
        row.fields.append(_field("entries", len(entries), begin, row.at - begin, entries))
    return row.fields


def ha_tree(frame: bytes) -> list[FrameTreeField]:
    """Return the fields of a frame between slave and master, which :func:`~engine.replication.ha.ha_frames.frame_name`
    knows.
    """
    row = _Row()
    if len(frame) == ha_frames.REPORT_BYTES:
        row.add("end of the slave's log", ha_frames.decode_report(frame), ha_frames.REPORT_BYTES)
        return row.fields
    offset, piece = ha_frames.decode_piece(frame)
    row.add("offset in the log", offset, _NUMBER)
    row.add("size", len(piece), ha_frames.PIECE_HEAD_BYTES - _NUMBER)
    if piece:
        row.add("bytes of the log", f"{len(piece)} bytes, as they lie on the master's disk", len(piece))
    return row.fields


def _entry(entry: RaftEntry, row: _Row) -> FrameTreeField:
    """Return one entry, after the fields that ``row`` has."""
    inside = _Row(row.at)
    inside.add("index", entry.index, _NUMBER)
    inside.add("term", entry.term, _NUMBER)
    inside.add("kind", _named(entry.kind), _KIND)
    inside.add("data length", len(entry.data), _HEAD)
    if entry.data:
        inside.add("data", key_of(entry), len(entry.data))
    begin, row.at = row.at, inside.at
    return _field(f"entry {entry.index}", f"term {entry.term}", begin, inside.at - begin, inside.fields)


def _command_fields(frame: bytes) -> list[FrameTreeField]:
    """Return the members of the JSON object after the magic."""
    said = asdict(decode_command_frame(frame[_HEAD:]))
    found: list[FrameTreeField] = []
    at = 2 * _HEAD
    for name, value in said.items():
        member = json.dumps({name: value})[1:-1].encode()
        at = frame.index(member, at)
        found.append(_field(name, value, at, len(member)))
        at += len(member)
    return found


def _named(value: IntEnum) -> str:
    return f"{value.value} ({value.name})"


def _field(
    name: str, value: object, position: int, length: int, children: list[FrameTreeField] | None = None
) -> FrameTreeField:
    inside = children or []
    return {
        "name": name,
        "value": str(value),
        "position": position,
        "length": length,
        "children": inside[:TREE_FIELDS_SHOWN],
        "omitted": max(0, len(inside) - TREE_FIELDS_SHOWN),
    }
