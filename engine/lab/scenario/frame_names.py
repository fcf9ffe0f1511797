"""Names of requests, such as ``PULL_MESSAGE``, and the decoding of the frames of a world.

Frames to and from a Kafka broker use another protocol than all others: nothing in their bytes says which. The
replication frames of master and slave have no length prefix.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from engine.faults import frame_subject
from engine.kafka.wire.api_key import ApiKey
from engine.lab.scenario.scenario import Role, Scenario
from engine.lab.work.store_frames import StoreRequestCode
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.errors import ProtocolError
from engine.replication.ha import ha_frames
from engine.replication.raft.errors import RaftFrameRefused
from engine.replication.raft.raft_commands import COMMAND_MAGIC, COMMAND_NAME, RaftCommand, decode_command_frame
from engine.replication.raft.raft_messages import RAFT_MAGIC, decode_message, frame_name
from engine.runtime.frame_splitter import has_length_prefix
from engine.xa.request_codes import XaRequestCode

_OWN_NAMES = {code.value: code.name for code in (*XaRequestCode, *StoreRequestCode)}
#: After the length: api key, version and correlation id of a request; a response has only the last of them.
_KAFKA_REQUEST = Struct(">4xhhi")
_KAFKA_RESPONSE = Struct(">4xi")


def request_name(code: int) -> str:
    """Return ``PULL_MESSAGE``, or the number of an unknown code; two-phase commit and stores have codes of their
    own.
    """
    return _OWN_NAMES.get(code) or frame_subject.request_name(code)


def api_name(number: int) -> str:
    """Return ``FETCH``, or the number of a Kafka request that is unknown here."""
    try:
        return ApiKey(number).name
    except ValueError:
        return f"api {number}"


class FrameReading(NamedTuple):
    """Decoded fields of a frame.

    :ivar name: name of a request; empty: it is a reply.
    :ivar number: relates a reply to its request (RocketMQ: ``opaque``, Kafka: ``correlation_id``).
    :ivar code: RocketMQ's request or response code, Kafka's api key; of a reply of Kafka -1.
    :ivar command: None: it is a frame of Kafka, of Raft, or between a slave and its master.
    """

    name: str
    number: int
    code: int
    command: RemotingCommand | None


class FrameReader:
    """Decode the frames of one world."""

    def __init__(self, scenario: Scenario) -> None:
        self._brokers = {spec.name: None for spec in scenario.of_role(Role.BROKER)}
        servers = (*scenario.of_role(Role.KAFKA_BROKER), *scenario.of_role(Role.KAFKA_CONTROLLER))
        self._kafka_servers = {spec.name: None for spec in servers}

    def is_kafka(self, source: str, target: str) -> bool:
        """Return whether frames of this link are Kafka's."""
        return source in self._kafka_servers or target in self._kafka_servers

    def read(self, source: str, target: str, data: bytes) -> FrameReading | None:
        """Decode as ``decode`` does; return None if the frame cannot be decoded."""
        try:
            return self.decode(source, target, data)
        except ProtocolError:
            return None

    def decode(self, source: str, target: str, data: bytes) -> FrameReading:
        """Decode the frame ``data``, with its length. Raises ``ProtocolError``."""
        if data[4:8] in (RAFT_MAGIC, COMMAND_MAGIC):
            return _decode_raft(data[4:])
        if self.is_kafka(source, target):
            # A reply between two servers begins with a small number, which no request between them does.
            is_reply = source in self._kafka_servers and (target not in self._kafka_servers or data[4:6] == b"\0\0")
            return _decode_kafka(data, is_reply=is_reply)
        if source in self._brokers and target in self._brokers and not has_length_prefix(data):
            name = ha_frames.frame_name(data)
            if name is not None:
                return FrameReading(name, -1, -1, None)
        command = decode_command(data[4:])
        name = "" if command.is_response else request_name(command.code)
        return FrameReading(name, command.opaque, command.code, command)


def _decode_raft(frame: bytes) -> FrameReading:
    try:
        if frame.startswith(RAFT_MAGIC):
            return FrameReading(frame_name(decode_message(frame)), 0, -1, None)
        said = decode_command_frame(frame)
    except RaftFrameRefused as refusal:
        raise ProtocolError(str(refusal)) from refusal
    return FrameReading(COMMAND_NAME if isinstance(said, RaftCommand) else "", said.number, -1, None)


def _decode_kafka(data: bytes, *, is_reply: bool) -> FrameReading:
    least = (_KAFKA_RESPONSE if is_reply else _KAFKA_REQUEST).size
    if len(data) < least:
        raise ProtocolError(f"{len(data)} bytes are not a frame of Kafka: its header alone has {least}")
    if is_reply:
        (number,) = _KAFKA_RESPONSE.unpack_from(data)
        return FrameReading("", number, -1, None)
    api_key, _, number = _KAFKA_REQUEST.unpack_from(data)
    return FrameReading(api_name(api_key), number, api_key, None)
