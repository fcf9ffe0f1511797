"""The frames that travel in a lab world: noted as bytes when they are sent, decoded when somebody looks.

A run notes every parcel that is handed to a link, in the order of sending; the number of a frame is therefore the same
in every re-execution of the run.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from app.json_types import JsonObject, JsonValue
from app.lab.bounds import ARRIVED_FRAMES_SHOWN, FRAMES_SHOWN
from engine.protocol.errors import ProtocolError
from engine.protocol.remoting_command import RemotingCommand, decode_command
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab_link_fault import Parcel, ParcelKind

if TYPE_CHECKING:
    from engine.runtime.lab_network import LabNetwork

#: Parcels that are kept, and the bytes that they may have together.
KEPT_PARCELS = 1_000
KEPT_BYTES = 4 << 20
#: Frames that one view decodes at most, and of which it chooses; those of a look before are not decoded again.
DECODED_MAX = 300
#: Bytes of a frame that are shown in hexadecimal, and characters of a body.
HEX_MAX_BYTES = 16 * 1024
BODY_MAX_CHARACTERS = 2_000
#: Requests whose answer may still come.
_REQUESTS_KEPT = 2_000
#: Characters of a header field.
_FIELD_MAX = 500

_KIND_NAMES = {
    ParcelKind.CONNECT: "connect",
    ParcelKind.ACCEPT: "accept",
    ParcelKind.FRAME: "frame",
    ParcelKind.CLOSE: "close",
}


class NotedParcel(NamedTuple):
    """One parcel on its way. ``delays_us``: of each copy; none: it was dropped."""

    number: int
    sent_us: int
    parcel: Parcel
    delays_us: tuple[int, ...]

    @property
    def arrives_us(self) -> int:
        """When the first copy arrives."""
        return self.sent_us + min(self.delays_us, default=0)


class FrameRecorder:
    """One of the network's ``parcel_watchers``, from the first parcel on."""

    def __init__(self, network: LabNetwork) -> None:
        self._network = network
        network.parcel_watchers.append(self._note)
        self._count = 0
        self._bytes = 0
        self._kept: deque[NotedParcel] = deque()
        #: Number -> what is shown of it. Of parcels that came while nobody looked only the last are decoded.
        self._summaries: dict[int, JsonObject] = {}
        self._decoded_up_to = 0
        #: (client, server, opaque) -> number and code of a request.
        self._requests: dict[tuple[str, str, int], tuple[int, int]] = {}

    def _note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        self._count += 1
        self._kept.append(NotedParcel(self._count, self._network.loop.now_us, parcel, delays_us))
        self._bytes += len(parcel.data)
        while len(self._kept) > KEPT_PARCELS or self._bytes > KEPT_BYTES:
            self._bytes -= len(self._kept.popleft().parcel.data)

    def view(self, now_us: int) -> list[JsonValue]:
        """Frames in flight and the last that arrived, in the order of sending."""
        self._decode_newest()
        shown: list[JsonValue] = []
        arrived = 0
        for summary in reversed(self._summaries.values()):
            if summary["arrives_us"] <= now_us:
                arrived += 1
                if arrived > ARRIVED_FRAMES_SHOWN:
                    continue
            shown.append(summary)
            if len(shown) >= FRAMES_SHOWN:
                break
        shown.reverse()
        return shown

    def _decode_newest(self) -> None:
        fresh = min(self._count - self._decoded_up_to, DECODED_MAX, len(self._kept))
        for noted in islice(self._kept, len(self._kept) - fresh, None):
            self._summaries[noted.number] = self._summary(noted)
        self._decoded_up_to = self._count
        if len(self._summaries) > 2 * DECODED_MAX:
            self._summaries = dict(islice(self._summaries.items(), len(self._summaries) - DECODED_MAX, None))

    def detail(self, number: int) -> JsonObject | None:
        """Everything about one frame: header fields, body, bytes. None when it is not kept (any more)."""
        if not self._kept or not self._kept[0].number <= number <= self._kept[-1].number:
            return None
        noted = self._kept[number - self._kept[0].number]
        data = noted.parcel.data
        detail: JsonObject = {
            **self._summary(noted),
            "hex": data[:HEX_MAX_BYTES].hex(),
            "hex_omitted_bytes": max(0, len(data) - HEX_MAX_BYTES),
            "fields": {},
            "problem": None,
        }
        if noted.parcel.kind is not ParcelKind.FRAME:
            return detail
        try:
            command = decode_command(data[4:])
        except ProtocolError as error:
            detail["problem"] = str(error)
            return detail
        detail.update(_command_detail(command, len(data)))
        return detail

    def _summary(self, noted: NotedParcel) -> JsonObject:
        parcel = noted.parcel
        view: JsonObject = {
            "id": noted.number,
            "source": parcel.source,
            "target": parcel.target,
            "kind": _KIND_NAMES[parcel.kind],
            "code": None,
            "name": parcel.kind.value,
            "oneway": False,
            "reply_to": None,
            "size": len(parcel.data),
            "sent_us": noted.sent_us,
            "arrives_us": noted.arrives_us,
            "dropped": not noted.delays_us,
            "copies": len(noted.delays_us),
        }
        if parcel.kind is ParcelKind.FRAME:
            try:
                command = decode_command(parcel.data[4:])
            except ProtocolError:
                view["name"] = "no frame of RocketMQ"
            else:
                self._describe(view, noted, command)
        return view

    def _describe(self, view: JsonObject, noted: NotedParcel, command: RemotingCommand) -> None:
        source, target = noted.parcel.source, noted.parcel.target
        view["code"] = command.code
        if command.is_response:
            request = self._requests.get((target, source, command.opaque))
            view["kind"] = "response"
            view["name"] = _response_name(command.code)
            if request is not None and request[0] < noted.number:
                view["reply_to"], view["reply_to_name"] = request[0], _request_name(request[1])
            return
        view["kind"] = "request"
        view["name"] = _request_name(command.code)
        view["oneway"] = command.is_oneway
        self._requests[(source, target, command.opaque)] = (noted.number, command.code)
        if len(self._requests) > _REQUESTS_KEPT:
            del self._requests[next(iter(self._requests))]


def _request_name(code: int) -> str:
    try:
        return RequestCode(code).name
    except ValueError:
        return f"request {code}"


def _response_name(code: int) -> str:
    try:
        return ResponseCode(code).name
    except ValueError:
        return f"response {code}"


def _command_detail(command: RemotingCommand, size: int) -> JsonObject:
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
