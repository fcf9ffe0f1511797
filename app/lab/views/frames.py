"""The frames that travel in a lab world, decoded when they are viewed. Their numbers are those of the witness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.lab.foundation.bounds import ARRIVED_FRAMES_SHOWN, FRAMES_SHOWN
from app.lab.views.kafka.frame_tree import frame_tree
from app.lab.views.raft.frame_tree import ha_tree, is_of_replicas, raft_tree
from engine.faults.frame_subject import REPLY
from engine.kafka.records.error_code import KafkaRefusal
from engine.lab.narration.store_words import action_of, refusal_name
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.replication.ha import ha_frames
from engine.runtime.lab.lab_link_fault import ParcelKind

if TYPE_CHECKING:
    from app.picture.frame import CommandPart, Frame, FrameBytes, FrameDetail, KafkaFrame, KafkaFrameHead
    from engine.lab.scenario.frame_names import FrameReading
    from engine.lab.witness.frame_log import SentParcel
    from engine.lab.world.world import ScenarioWorld
    from engine.protocol.command.remoting_command import RemotingCommand

#: Bytes of a frame that are shown in hexadecimal, and characters of a body.
HEX_MAX_BYTES = 16 * 1024
BODY_MAX_CHARACTERS = 2_000
#: Characters of a header field.
_FIELD_MAX = 500


class FramesView:
    """The frames of one world, as its witness has noted them."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._reader = world.frame_reader
        self._sent = world.witness.frames
        #: The last parcel that was read, and the earlier ones that may be shown again: a parcel that arrived before
        #: enough others is not.
        self._seen = 0
        self._candidates: list[int] = []
        #: Number -> a parcel, and its last summary.
        self._summaries: dict[int, tuple[SentParcel, Frame]] = {}

    def view(self, now_us: int) -> list[Frame]:
        """Return the frames in flight and the last that arrived, in the order of sending."""
        known = [sent for number in self._candidates if (sent := self._sent.parcel(number)) is not None]
        chosen: list[SentParcel] = []
        arrived = 0
        for sent in reversed([*known, *self._sent.after(self._seen)]):
            if sent.arrives_us <= now_us:
                arrived += 1
                if arrived > ARRIVED_FRAMES_SHOWN:
                    continue
            chosen.append(sent)
        chosen.reverse()
        self._seen, self._candidates = self._sent.count, [sent.number for sent in chosen]
        shown = chosen[-FRAMES_SHOWN:]
        self._summaries = {sent.number: (sent, self._known_summary(sent)) for sent in shown}
        return [summary for _, summary in self._summaries.values()]

    @property
    def oldest_us(self) -> int | None:
        """Return when the oldest frame that is kept was sent."""
        oldest = self._sent.oldest
        return None if oldest is None else oldest.time_us

    def between(self, left_us: int, right_us: int, most: int) -> list[Frame]:
        """Return the kept frames that were in flight at some time between the two; only every Nth when there are more
        than ``most``.
        """
        found = [
            sent
            for sent in self._sent.after(0)
            if sent.time_us <= right_us and sent.time_us + max(sent.delays_us, default=0) >= left_us
        ]
        every = max(1, -(-len(found) // most))
        return [self._known_summary(sent) for sent in found[::every]]

    def detail(self, number: int) -> FrameDetail | None:
        """Return everything about one frame: header fields, body, bytes. None when it is not kept (any more)."""
        noted = self._sent.parcel(number)
        if noted is None:
            return None
        data = noted.data
        detail: FrameBytes = {
            **self._summary(noted),
            "hex": data[:HEX_MAX_BYTES].hex(),
            "hex_omitted_bytes": max(0, len(data) - HEX_MAX_BYTES),
            "fields": {},
            "problem": None,
        }
        if not noted.is_frame:
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

    def _known_summary(self, sent: SentParcel) -> Frame:
        """Return the summary that was made before, unless a cut has changed the parcel since."""
        known = self._summaries.get(sent.number)
        return self._summary(sent) if known is None or known[0].delays_us != sent.delays_us else known[1]

    def _summary(self, noted: SentParcel) -> Frame:
        view: Frame = {
            "id": noted.number,
            "source": noted.source,
            "target": noted.target,
            "kind": noted.kind.lower(),
            "code": None,
            "name": ParcelKind[noted.kind].value,
            "action": "",
            "is_oneway": False,
            "reply_to": None,
            "size_bytes": len(noted.data),
            "sent_us": noted.time_us,
            "arrives_us": noted.arrives_us,
            "dropped": not noted.delays_us,
            "lost_share": 0.5 if noted.cut_share is None else noted.cut_share,
            "copies": len(noted.delays_us),
        }
        if noted.is_frame:
            said = self._sent.reading(noted)
            if said is None:
                view["name"] = "no frame of RocketMQ or Kafka"
            else:
                self._describe(view, noted, said)
        return view

    def _describe(self, view: Frame, noted: SentParcel, said: FrameReading) -> None:
        view["code"] = said.code if said.code >= 0 or said.command is not None else None
        if not said.name:
            view["kind"] = "response"
            view["name"] = REPLY if said.command is None else response_name(said.code)
            request = self._sent.request_of(noted)
            if request is not None:
                view["reply_to"], view["reply_to_name"] = request.number, self._sent.request_name_of(request)
            return
        view["kind"] = "request"
        view["name"] = said.name
        if said.command is not None:
            view["action"] = action_of(said.command)
            view["is_oneway"] = said.command.is_oneway

    def _kafka_frame(self, detail: FrameBytes, noted: SentParcel, said: FrameReading) -> KafkaFrameHead | KafkaFrame:
        frame: KafkaFrameHead = {**detail, "correlation_id": said.number}
        request = noted if said.name else self._sent.request_of(noted)
        asked = None if request is None else self._sent.reading(request)
        if asked is None:
            frame["problem"] = "its request is not kept any more: nothing tells what it answers"
            return frame
        try:
            return {**frame, "tree": frame_tree(noted.data, asked.code, is_request=bool(said.name))}
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
