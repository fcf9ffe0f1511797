"""The reading of a file of frames, which :mod:`engine.faults.frame_file` writes and anyone may send."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from app.lab.foundation.refusal import LabRefused, fields_refused
from engine.faults.fault_rule import RULE_FIELDS, FaultAction
from engine.faults.frame_file import FORMAT, TEXT_MAX, VERSION
from engine.faults.frame_record import RULES_MAX
from engine.faults.state_record import StateChange, StatePart
from engine.fields.field import EXACT_MAX, Field, read_fields
from engine.fields.json_input import parse_json
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.errors import ProtocolError

FRAMES_MAX = 2_000
FILE_BYTES_MAX = 8 * 1024 * 1024
#: A record keeps 5,000, and merges what changed before.
_CHANGES_MAX = 10_000

_ROW = (
    Field("number", "integer"),
    Field("at_us", "integer"),
    Field("client", "text", 1, TEXT_MAX),
    Field("direction", "choice", allowed=("in", "out")),
    Field("frame", "text", 1, FILE_BYTES_MAX),
    Field("body_bytes", "integer"),
    Field("answers", "integer"),
    Field("action", "text", 0, TEXT_MAX),
)
_RULE = (
    Field("what", "choice", allowed=tuple(action.value for action in FaultAction)),
    Field("frame", "text", 0, TEXT_MAX),
    *RULE_FIELDS,
    # Negative: before the record began.
    Field("made_ms", "integer", -EXACT_MAX),
    Field("hits", "integer"),
)
_STATE_ROW = (
    Field("frame", "integer"),
    Field("part", "choice", allowed=get_args(StatePart)),
    Field("name", "text", 0, TEXT_MAX),
    Field("values", "list", 0, 3, item=Field("", "any", 0, TEXT_MAX)),
)
FILE_FIELDS = (
    Field("format", "choice", allowed=(FORMAT,)),
    Field("version", "integer", VERSION, VERSION),
    Field("broker", "text", 0, TEXT_MAX),
    # A failed test adds its id and its failure.
    Field("title", "text", 0, TEXT_MAX, default=""),
    Field("note", "text", 0, TEXT_MAX, default=""),
    Field("names", "texts", default={}, each=TEXT_MAX),
    Field("frames", "list", 1, FRAMES_MAX, item=Field("", "row", fields=_ROW)),
    Field("rules", "list", 0, RULES_MAX, default=[], fields=_RULE),
    Field("states", "list", 0, _CHANGES_MAX, default=[], item=Field("", "row", fields=_STATE_ROW)),
)


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """One row of the file. ``action``: what a fault did to it; empty when it passed."""

    number: int
    at_us: int
    client: str
    is_in: bool
    data: bytes
    body_bytes: int
    answers: int
    action: str
    command: RemotingCommand


@dataclass(frozen=True, slots=True)
class RecordedFrames:
    """The content of a file.

    :ivar title: the id of the test, ``note`` its failure; empty in any other recording.
    :ivar frames: by time.
    :ivar names: short names that the broker's own page has for clients; a file of an older version has none.
    :ivar rules: fields of the fault rules that acted on frames, see :class:`engine.faults.frame_file.FrameFile`.
    """

    title: str
    note: str
    frames: list[RecordedFrame]
    broker: str
    names: Mapping[str, str]
    rules: list[dict[str, int | float | str]]
    states: list[StateChange]


@fields_refused("import")
def parse_frames(content: bytes | str) -> object:
    """Return the JSON of a file. Raises :class:`LabRefused` that names what is wrong with it."""
    return parse_json(content, "file")


@fields_refused("import")
def read_frames(data: object) -> RecordedFrames:
    """Return the content of a file. Raises :class:`LabRefused` that names what is wrong with it."""
    file = read_fields(FILE_FIELDS, data, what="file", is_open=True)
    frames: dict[int, RecordedFrame] = {}
    for place, (number, at_us, client, direction, encoded, body_bytes, answers, action) in enumerate(file["frames"], 1):
        try:
            content = base64.b64decode(encoded, validate=True)
            command = decode_command(content)
        except (ValueError, ProtocolError):
            raise LabRefused("frame_file_row", place=place) from None
        frame = RecordedFrame(number, at_us, client, direction == "in", content, body_bytes, answers, action, command)
        if frames.setdefault(number, frame) is not frame:
            raise LabRefused("frame_file_row", place=place)
    ordered = sorted(frames.values(), key=lambda frame: (frame.at_us, frame.number))
    own = {name: file[name] for name in ("title", "note", "broker", "names", "rules", "states")}
    return RecordedFrames(frames=ordered, **own)
