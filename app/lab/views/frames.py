"""The frames that travel in a lab world: noted as bytes when they are sent, decoded when somebody looks.

A run notes every parcel that is handed to a link, in the order of sending; the number of a frame is therefore the same
in every re-execution of the run.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from app.foundation.json_types import JsonObject, JsonValue
from app.lab.foundation.bounds import ARRIVED_FRAMES_SHOWN, FRAMES_SHOWN
from engine.lab.scenario.frame_names import request_name
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind

if TYPE_CHECKING:
    from engine.runtime.lab.lab_network import LabNetwork

#: Parcels that are kept, and the bytes that they may have together.
KEPT_PARCELS = 2_000
KEPT_BYTES = 4 << 20
#: Bytes of a frame that are shown in hexadecimal, and characters of a body.
HEX_MAX_BYTES = 16 * 1024
BODY_MAX_CHARACTERS = 2_000
#: Characters of a header field.
_FIELD_MAX = 500

_FRAME = ParcelKind.FRAME.name


class NotedParcel(NamedTuple):
    """One parcel on its way. ``delays_us``: of each copy; none: it was dropped."""

    number: int
    sent_us: int
    kind: str
    source: str
    target: str
    data: bytes
    delays_us: tuple[int, ...]

    @property
    def arrives_us(self) -> int:
        """When the first copy arrives."""
        return self.sent_us + min(self.delays_us, default=0)


#: A parcel as it is kept: a plain tuple of texts and numbers is nothing to Python's garbage collector, see
#: :mod:`engine.runtime.lab.lab_journal`.
_Row = tuple[int, int, str, str, str, bytes, tuple[int, ...]]


class FrameRecorder:
    """One of the network's ``parcel_watchers``, from the first parcel on."""

    def __init__(self, network: LabNetwork) -> None:
        self._network = network
        network.parcel_watchers.append(self._note)
        network.cut_watchers.append(self._cut)
        self._count = 0
        self._bytes = 0
        self._kept: deque[_Row] = deque()
        #: Those of them that may be shown: what has arrived behind enough others never is again.
        self._candidates: deque[_Row] = deque(maxlen=KEPT_PARCELS)
        #: Number -> what was shown of it the last time.
        self._summaries: dict[int, JsonObject] = {}

    def _note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        self._count += 1
        kind, source, target, data = parcel
        row = (self._count, self._network.loop.now_us, kind.name, source, target, data, delays_us)
        self._kept.append(row)
        self._candidates.append(row)
        self._bytes += len(data)
        while len(self._kept) > KEPT_PARCELS or self._bytes > KEPT_BYTES:
            self._bytes -= len(self._kept.popleft()[5])

    def _cut(self, parcel: Parcel) -> None:
        """A frame was under way, and does not arrive after all."""
        for rows in (self._kept, self._candidates):
            for place in range(len(rows) - 1, -1, -1):
                number, *_, data, _ = row = rows[place]
                if data is parcel.data and (row[3], row[4]) == (parcel.source, parcel.target):
                    rows[place] = (*row[:6], ())
                    self._summaries.pop(number, None)
                    break

    def view(self, now_us: int) -> list[JsonValue]:
        """Frames in flight and the last that arrived, in the order of sending."""
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
        """When the oldest frame that is kept was sent."""
        return self._kept[0][1] if self._kept else None

    def between(self, left_us: int, right_us: int, most: int) -> list[JsonValue]:
        """The kept frames that were under way at some time between the two; of more than ``most`` one in so many."""
        rows = [row for row in self._kept if row[1] <= right_us and row[1] + max(row[6], default=0) >= left_us]
        every = max(1, -(-len(rows) // most))
        return [self._summaries.get(row[0]) or self._summary(NotedParcel(*row)) for row in rows[::every]]

    def detail(self, number: int) -> JsonObject | None:
        """Everything about one frame: header fields, body, bytes. None when it is not kept (any more)."""
        if not self._kept or not self._kept[0][0] <= number <= self._kept[-1][0]:
            return None
        noted = NotedParcel(*self._kept[number - self._kept[0][0]])
        data = noted.data
        detail: JsonObject = {
            **self._summary(noted),
            "hex": data[:HEX_MAX_BYTES].hex(),
            "hex_omitted_bytes": max(0, len(data) - HEX_MAX_BYTES),
            "fields": {},
            "problem": None,
        }
        if noted.kind != _FRAME:
            return detail
        try:
            command = decode_command(data[4:])
        except ProtocolError as error:
            detail["problem"] = str(error)
            return detail
        detail.update(command_detail(command, len(data)))
        return detail

    def _summary(self, noted: NotedParcel) -> JsonObject:
        view: JsonObject = {
            "id": noted.number,
            "source": noted.source,
            "target": noted.target,
            "kind": noted.kind.lower(),
            "code": None,
            "name": ParcelKind[noted.kind].value,
            "oneway": False,
            "reply_to": None,
            "size": len(noted.data),
            "sent_us": noted.sent_us,
            "arrives_us": noted.arrives_us,
            "dropped": not noted.delays_us,
            "copies": len(noted.delays_us),
        }
        if noted.kind == _FRAME:
            try:
                command = decode_command(noted.data[4:])
            except ProtocolError:
                view["name"] = "no frame of RocketMQ"
            else:
                self._describe(view, noted, command)
        return view

    def _describe(self, view: JsonObject, noted: NotedParcel, command: RemotingCommand) -> None:
        view["code"] = command.code
        if command.is_response:
            view["kind"] = "response"
            view["name"] = response_name(command.code)
            request = self._request_of(noted, command.opaque)
            if request is not None:
                view["reply_to"], view["reply_to_name"] = request
            return
        view["kind"] = "request"
        view["name"] = request_name(command.code)
        view["oneway"] = command.is_oneway

    def _request_of(self, reply: NotedParcel, opaque: int) -> tuple[int, str] | None:
        """Number and name of the newest frame before ``reply`` that it answers; None when that is not kept any more."""
        as_text, as_bytes = b'"opaque":%d' % opaque, opaque.to_bytes(4, "big", signed=True)
        for number, _, kind, source, target, data, _ in reversed(self._kept):
            if number >= reply.number or kind != _FRAME or source != reply.target or target != reply.source:
                continue
            # Looking for the digits first spares decoding the hundreds of frames that others sent meanwhile.
            if as_text not in data and as_bytes not in data:
                continue
            try:
                command = decode_command(data[4:])
            except ProtocolError:
                continue
            if command.opaque == opaque and not command.is_response:
                return number, request_name(command.code)
        return None


def response_name(code: int) -> str:
    """``SUCCESS``, or the number of a code that has no name here."""
    try:
        return ResponseCode(code).name
    except ValueError:
        return f"response {code}"


def command_detail(command: RemotingCommand, size: int) -> JsonObject:
    """Header and body; ``header_start`` and ``body_start`` are positions in the frame's bytes."""
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
