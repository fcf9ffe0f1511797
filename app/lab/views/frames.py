"""The frames that travel in a lab world: recorded as bytes when they are sent, decoded when they are viewed.

A run records every parcel that is handed to a link, in the order of sending; the number of a frame is therefore the
same in every re-execution of the run.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from app.lab.foundation.bounds import ARRIVED_FRAMES_SHOWN, FRAMES_SHOWN
from app.lab.views.kafka.frame_tree import frame_tree
from app.lab.views.raft.frame_tree import ha_tree, is_of_replicas, raft_tree
from app.picture.frame import CommandPart, Frame, FrameBytes, FrameDetail, KafkaFrame, KafkaFrameHead
from engine.faults.frame_subject import REPLY
from engine.kafka.records.error_code import KafkaRefusal
from engine.lab.narration.store_words import action_of, refusal_name
from engine.lab.scenario.frame_names import FrameReading
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.replication.ha import ha_frames
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld

#: Parcels that are kept, and their bytes together.
KEPT_PARCELS = 2_000
KEPT_BYTES = 4 << 20
#: Bytes of a frame that are shown in hexadecimal, and characters of a body.
HEX_MAX_BYTES = 16 * 1024
BODY_MAX_CHARACTERS = 2_000
#: Characters of a header field.
_FIELD_MAX = 500

_FRAME = ParcelKind.FRAME.name


class NotedParcel(NamedTuple):
    """One parcel on its way. ``delays_us``: of each copy; empty when it was dropped."""

    number: int
    sent_us: int
    kind: str
    source: str
    target: str
    data: bytes
    delays_us: tuple[int, ...]

    @property
    def arrives_us(self) -> int:
        """Return when the first copy arrives."""
        return self.sent_us + min(self.delays_us, default=0)


#: A parcel as it is kept: a plain tuple of texts and numbers costs Python's garbage collector nothing, see
#: :mod:`engine.runtime.lab.lab_journal`.
_Row = tuple[int, int, str, str, str, bytes, tuple[int, ...]]


class FrameRecorder:
    """Records frames as one of the network's ``parcel_watchers``, from the first parcel on."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._reader = world.frame_reader
        network = self._network = world.lab.network
        network.parcel_watchers.append(self._note)
        network.cut_watchers.append(self._cut)
        self._count = 0
        self._bytes = 0
        self._kept: deque[_Row] = deque()
        #: Number of a frame that a cut has lost -> how far it came: 0 to 1.
        self._lost_shares: dict[int, float] = {}
        #: Those that may be shown: a parcel that arrived before enough others is never shown again.
        self._candidates: deque[_Row] = deque(maxlen=KEPT_PARCELS)
        #: Number -> its last summary.
        self._summaries: dict[int, Frame] = {}

    def _note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        self._count += 1
        kind, source, target, data = parcel
        row = (self._count, self._network.loop.now_us, kind.name, source, target, data, delays_us)
        self._kept.append(row)
        self._candidates.append(row)
        self._bytes += len(data)
        while len(self._kept) > KEPT_PARCELS or self._bytes > KEPT_BYTES:
            number, *_, data, _ = self._kept.popleft()
            self._bytes -= len(data)
            self._lost_shares.pop(number, None)

    def _cut(self, parcel: Parcel) -> None:
        """Note that a frame in flight does not arrive."""
        for rows in (self._kept, self._candidates):
            for place in range(len(rows) - 1, -1, -1):
                number, *_, data, _ = row = rows[place]
                if data is parcel.data and (row[3], row[4]) == (parcel.source, parcel.target):
                    if row[6]:
                        passed_us = self._network.loop.now_us - row[1]
                        self._lost_shares[number] = min(1.0, passed_us / max(1, *row[6]))
                    rows[place] = (*row[:6], ())
                    self._summaries.pop(number, None)
                    break

    def view(self, now_us: int) -> list[Frame]:
        """Return the frames in flight and the last that arrived, in the order of sending."""
        chosen: list[_Row] = []
        arrived = 0
        for row in reversed(self._candidates):
            if row[1] + min(row[6], default=0) <= now_us:
                arrived += 1
                if arrived > ARRIVED_FRAMES_SHOWN:
                    continue
            chosen.append(row)
        chosen.reverse()
        self._candidates = deque(chosen, KEPT_PARCELS)
        known, self._summaries = self._summaries, {}
        for row in chosen[-FRAMES_SHOWN:]:
            self._summaries[row[0]] = known.get(row[0]) or self._summary(NotedParcel(*row))
        return list(self._summaries.values())

    @property
    def oldest_us(self) -> int | None:
        """Return when the oldest frame that is kept was sent."""
        return self._kept[0][1] if self._kept else None

    def between(self, left_us: int, right_us: int, most: int) -> list[Frame]:
        """Return the kept frames that were in flight at some time between the two; only every Nth when there are more
        than ``most``.
        """
        rows = [row for row in self._kept if row[1] <= right_us and row[1] + max(row[6], default=0) >= left_us]
        every = max(1, -(-len(rows) // most))
        return [self._summaries.get(row[0]) or self._summary(NotedParcel(*row)) for row in rows[::every]]

    def detail(self, number: int) -> FrameDetail | None:
        """Return everything about one frame: header fields, body, bytes. None when it is not kept (any more)."""
        if not self._kept or not self._kept[0][0] <= number <= self._kept[-1][0]:
            return None
        noted = NotedParcel(*self._kept[number - self._kept[0][0]])
        data = noted.data
        detail: FrameBytes = {
            **self._summary(noted),
            "hex": data[:HEX_MAX_BYTES].hex(),
            "hex_omitted_bytes": max(0, len(data) - HEX_MAX_BYTES),
            "fields": {},
            "problem": None,
        }
        if noted.kind != _FRAME:
            return detail
        try:
            said = self._reader.decode(noted.source, noted.target, data)
        except ProtocolError as error:
            detail["problem"] = str(error)
            return detail
        if is_of_replicas(data):
            return {**detail, "tree": raft_tree(data)}
        if ha_frames.frame_name(data) == said.name:
            return {**detail, "tree": ha_tree(data)}
        if said.command is None:
            return self._kafka_frame(detail, noted, said)
        return {**detail, **command_detail(said.command, len(data))}

    def _summary(self, noted: NotedParcel) -> Frame:
        view: Frame = {
            "id": noted.number,
            "source": noted.source,
            "target": noted.target,
            "kind": noted.kind.lower(),
            "code": None,
            "name": ParcelKind[noted.kind].value,
            "action": "",
            "oneway": False,
            "reply_to": None,
            "size": len(noted.data),
            "sent_us": noted.sent_us,
            "arrives_us": noted.arrives_us,
            "dropped": not noted.delays_us,
            "lost_share": self._lost_shares.get(noted.number, 0.5),
            "copies": len(noted.delays_us),
        }
        if noted.kind == _FRAME:
            said = self._reader.read(noted.source, noted.target, noted.data)
            if said is None:
                view["name"] = "no frame of RocketMQ or Kafka"
            else:
                self._describe(view, noted, said)
        return view

    def _describe(self, view: Frame, noted: NotedParcel, said: FrameReading) -> None:
        view["code"] = said.code if said.code >= 0 or said.command is not None else None
        if not said.name:
            view["kind"] = "response"
            view["name"] = REPLY if said.command is None else response_name(said.code)
            request = self._request_of(noted, said.number)
            if request is not None:
                view["reply_to"], view["reply_to_name"] = request[0], request[1].name
            return
        view["kind"] = "request"
        view["name"] = said.name
        if said.command is not None:
            view["action"] = action_of(said.command)
            view["oneway"] = said.command.is_oneway

    def _request_of(self, reply: NotedParcel, wanted: int) -> tuple[int, FrameReading] | None:
        """Return the newest frame before ``reply`` that it answers, its number first; None when it is no longer
        kept.
        """
        as_text, as_bytes = b'"opaque":%d' % wanted, wanted.to_bytes(4, "big", signed=True)
        of_raft = b'"number": %d,' % wanted
        for number, _, kind, source, target, data, _ in reversed(self._kept):
            if number >= reply.number or kind != _FRAME or source != reply.target or target != reply.source:
                continue
            # Searching for the digits first avoids decoding the hundreds of frames that others sent meanwhile.
            if as_text not in data and as_bytes not in data and of_raft not in data:
                continue
            said = self._reader.read(source, target, data)
            if said is not None and said.name and said.number == wanted:
                return number, said
        return None

    def _kafka_frame(self, detail: FrameBytes, noted: NotedParcel, said: FrameReading) -> KafkaFrameHead | KafkaFrame:
        frame: KafkaFrameHead = {**detail, "correlation_id": said.number}
        request = (noted.number, said) if said.name else self._request_of(noted, said.number)
        if request is None:
            frame["problem"] = "its request is not kept any more: nothing tells what it answers"
            return frame
        try:
            return {**frame, "tree": frame_tree(noted.data, request[1].code, is_request=bool(said.name))}
        except KafkaRefusal as error:
            frame["problem"] = str(error)
            return frame


def response_name(code: int) -> str:
    """Return ``SUCCESS`` or another name, or the number of a code that has no name here."""
    try:
        return refusal_name(code) or ResponseCode(code).name
    except ValueError:
        return f"response {code}"


def command_detail(command: RemotingCommand, size: int) -> CommandPart:
    """Return header and body; ``header_start`` and ``body_start`` are positions in the frame's bytes."""
    text = command.body[: BODY_MAX_CHARACTERS * 4].decode("utf-8", "replace")
    return {
        "opaque": command.opaque,
        "flag": command.flag,
        "language": int(command.language),
        "version": command.version,
        "remark": command.remark,
        "serialize_type": command.serialize_type.name,
        "fields": {name: value[:_FIELD_MAX] for name, value in command.ext_fields.items()},
        "header_start": 8,
        "body_start": size - len(command.body),
        "body_bytes": len(command.body),
        "body_text": text[:BODY_MAX_CHARACTERS],
    }
