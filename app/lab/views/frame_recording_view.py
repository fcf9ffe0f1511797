"""Frames between real clients and a real broker, as a film of the lab: the same page shows them, to the byte.

It is made of a file of frames (:func:`app.live.held_view.frame_file` writes it), which may come from anyone. What only
the lab knows is missing: no internals of the nodes, no causes except that a reply answers a request. The time of a
frame is known at the broker only; its flight is drawn with a fixed length.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.foundation.json_types import JsonObject, JsonValue
from app.foundation.patch import difference
from app.foundation.translator import in_all_languages
from app.lab.foundation.bounds import ARRIVED_FRAMES_SHOWN
from app.lab.foundation.refusal import LabRefused, fields_refused
from app.lab.views.frames import HEX_MAX_BYTES, command_detail, response_name
from engine.fields.field import Field, read_fields
from engine.lab.scenario.frame_names import request_name
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.errors import ProtocolError
from engine.protocol.request_code import RequestCode

FORMAT, VERSION = "glassmq-frames", 1
FRAMES_MAX = 2_000
FILE_BYTES_MAX = 8 * 1024 * 1024
#: How long a frame is drawn in flight; the real time is not known.
FLIGHT_US = 500
_CLIENTS_MAX = 60
_NAME_MAX = 255
#: Faults that keep a frame from arriving.
_LOST = ("drop", "cut", "reject")
_SENDS = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)


@dataclass(frozen=True, slots=True)
class _Frame:
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


def frame_recording_view(data: object) -> JsonObject:
    """Return the film of the file's content. Raises :class:`LabRefused` that names what is wrong with it."""
    frames, broker = _read(data)
    start_us = frames[0].at_us - 2 * FLIGHT_US
    frames = [replace(frame, at_us=frame.at_us - start_us) for frame in frames]
    names = _names(frames, broker)
    nodes = {name: _node(role, said) for name, (role, said) in names.values()}
    by_number = {frame.number: frame for frame in frames}
    details = {str(frame.number): _detail(frame, names, by_number) for frame in frames}
    summaries = {number: _summary(detail) for number, detail in details.items()}
    view = first = _view(0, 0, nodes, [])
    patches: list[JsonValue] = []
    for event, frame in enumerate(frames, 1):
        source, target = _ends(frame, names)
        nodes = _counted(nodes, source, "sent")
        if frame.action not in _LOST:
            nodes = _counted(nodes, target, "got")
        shown: list[JsonValue] = [
            summaries[str(one.number)] for one in frames[max(0, event - ARRIVED_FRAMES_SHOWN) : event]
        ]
        later = _view(event, frame.at_us + FLIGHT_US, nodes, shown)
        patches.append([*difference(view, later)])
        view = later
    journal: list[JsonValue] = []
    places = {frame.number: event for event, frame in enumerate(frames, 1)}
    for event, frame in enumerate(frames, 1):
        detail = details[str(frame.number)]
        label = f"reply to {detail['reply_to_name']}" if detail["reply_to"] else detail["name"]
        journal.append([event, frame.at_us, detail["source"], label, places.get(frame.answers, 0)])
    whole = {"events_total": len(frames), "time_total_us": view["time_us"]}
    return {
        "view": {**first, **whole},
        "patches": patches,
        "at": 0,
        "journal": journal,
        "frames": details,
        "sources": {},
        "records": {},
        "field_texts": {},
        "why": {},
    }


def frame_recording_strip(data: JsonObject) -> JsonObject:
    """Return the newest frames of a record for a sequence diagram: ``lanes`` [[short name, full name]], and ``frames``
    as in a view. A client keeps its short name as long as the record lasts.
    """
    frames, broker = _read(data)
    names = {"": ("B1", ("wire_broker", broker))}
    for place, client in enumerate(data["clients"], 1):
        names[client] = (f"C{place}", ("wire_consumer", client))
    by_number = {frame.number: frame for frame in frames}
    shown = [_summary(_detail(frame, names, by_number)) for frame in frames]
    seen = {frame.client: None for frame in frames}
    lanes = [[name, full] for client, (name, (_, full)) in names.items() if client in seen or client == ""]
    return {"lanes": lanes, "frames": shown}


# --- reading -------------------------------------------------------------------------------------------------------


_ROW = (
    Field("number", "integer"),
    Field("at_us", "integer"),
    Field("client", "text", 1, _NAME_MAX),
    Field("direction", "choice", allowed=("in", "out")),
    Field("frame", "text", 1, FILE_BYTES_MAX),
    Field("body_bytes", "integer"),
    Field("answers", "integer"),
    Field("action", "text", 0, _NAME_MAX),
)
FILE_FIELDS = (
    Field("format", "choice", allowed=(FORMAT,)),
    Field("version", "integer", VERSION, VERSION),
    Field("broker", "text", 0, _NAME_MAX),
    Field("frames", "list", 1, FRAMES_MAX, item=Field("", "row", fields=_ROW)),
)


@fields_refused("import")
def _read(data: object) -> tuple[list[_Frame], str]:
    file = read_fields(FILE_FIELDS, data, what="file", is_open=True)
    frames: dict[int, _Frame] = {}
    for place, (number, at_us, client, direction, encoded, body_bytes, answers, action) in enumerate(file["frames"], 1):
        try:
            content = base64.b64decode(encoded, validate=True)
            command = decode_command(content)
        except (ValueError, ProtocolError):
            raise LabRefused("frame_file_row", place=place) from None
        frame = _Frame(number, at_us, client, direction == "in", content, body_bytes, answers, action, command)
        if frames.setdefault(number, frame) is not frame:
            raise LabRefused("frame_file_row", place=place)
    return sorted(frames.values(), key=lambda frame: (frame.at_us, frame.number)), file["broker"]


# --- nodes ---------------------------------------------------------------------------------------------------------


def _names(frames: list[_Frame], broker: str) -> dict[str, tuple[str, tuple[str, str]]]:
    """Return client (empty: the broker) -> its short name, and its role and full name."""
    sends: dict[str, bool] = {}
    for frame in frames:
        is_send = frame.is_in and not frame.command.is_response and frame.command.code in _SENDS
        is_pull = frame.is_in and not frame.command.is_response and frame.command.code == RequestCode.PULL_MESSAGE
        sends[frame.client] = (sends.get(frame.client, False) or is_send) and not is_pull
        if is_pull:
            sends[frame.client] = False
    if len(sends) > _CLIENTS_MAX:
        raise LabRefused("frame_file_clients", most=_CLIENTS_MAX)
    named: dict[str, tuple[str, tuple[str, str]]] = {"": ("B1", ("wire_broker", broker))}
    for letter, role, wanted in (("P", "wire_producer", True), ("C", "wire_consumer", False)):
        clients = [client for client, is_sender in sends.items() if is_sender is wanted]
        for place, client in enumerate(clients, 1):
            named[client] = (f"{letter}{place}", (role, client))
    return named


def _node(role: str, full_name: str) -> JsonObject:
    return {
        "role": role,
        "status": "running",
        "incarnation": 0,
        "skew_ms": 0,
        "held": [],
        "failure": "",
        "ip": "",
        "xa_roles": None,
        "full_name": full_name,
        "sent": 0,
        "got": 0,
    }


def _counted(nodes: Mapping[str, JsonObject], name: str, what: str) -> dict[str, JsonObject]:
    return {**nodes, name: {**nodes[name], what: nodes[name][what] + 1}}


# --- frames --------------------------------------------------------------------------------------------------------


def _ends(frame: _Frame, names: Mapping[str, tuple[str, tuple[str, str]]]) -> tuple[str, str]:
    client, broker = names[frame.client][0], names[""][0]
    return (client, broker) if frame.is_in else (broker, client)


def _detail(
    frame: _Frame, names: Mapping[str, tuple[str, tuple[str, str]]], by_number: Mapping[int, _Frame]
) -> JsonObject:
    command = frame.command
    source, target = _ends(frame, names)
    whole = len(frame.data).to_bytes(4) + frame.data
    asked = by_number.get(frame.answers)
    return {
        "id": frame.number,
        "source": source,
        "target": target,
        "kind": "response" if command.is_response else "request",
        "code": command.code,
        "name": response_name(command.code) if command.is_response else request_name(command.code),
        "oneway": command.is_oneway,
        "reply_to": None if asked is None else asked.number,
        "reply_to_name": None if asked is None else request_name(asked.command.code),
        "size": len(whole) + max(0, frame.body_bytes - len(command.body)),
        "sent_us": frame.at_us - (FLIGHT_US if frame.is_in else 0),
        "arrives_us": frame.at_us + (0 if frame.is_in else FLIGHT_US),
        "dropped": frame.action in _LOST,
        "copies": 2 if frame.action == "duplicate" else 1,
        "hex": whole[:HEX_MAX_BYTES].hex(),
        "hex_omitted_bytes": max(0, len(whole) - HEX_MAX_BYTES) + frame.body_bytes - len(command.body),
        "problem": None,
        **command_detail(command, len(whole)),
    }


_SUMMARY = (
    *("id", "source", "target", "kind", "code", "name", "oneway", "reply_to", "reply_to_name"),
    *("size", "sent_us", "arrives_us", "dropped", "copies"),
)


def _summary(detail: JsonObject) -> JsonObject:
    return {name: detail[name] for name in _SUMMARY}


def _view(event: int, time_us: int, nodes: Mapping[str, JsonObject], frames: list[JsonValue]) -> JsonObject:
    nothing = {"en": "", "zh": ""}
    return {
        "scenario": "wire",
        "title": in_all_languages("wire.title"),
        "summary": in_all_languages("wire.summary"),
        "about": in_all_languages("wire.about"),
        "suggestion": nothing,
        "try_buttons": [],
        "focus": [],
        "seed": None,
        "duration_us": 0,
        "event": event,
        "time_us": time_us,
        "is_over": False,
        "life": {"total": 0, "in_trouble": 0, "omitted": 0, "messages": {}},
        "nodes": {**nodes},
        "money": None,
        "backlog": None,
        "xa": None,
        "frames": frames,
        "calls": [],
        "timers": [],
        "actors": [],
        "next": None,
        "caption": None,
        "invariants": [],
        "faults": [],
        "commands": [],
        "settings": [],
        "failures": [],
        "playing": False,
        "speed": "auto",
        "speed_now": None,
        "pace": "",
        "in_past": False,
        "busy": None,
        "stopped_by": None,
        "forked_from": None,
        "world": {"id": "", "published": False, "viewers": 0},
        "link": "",
    }
