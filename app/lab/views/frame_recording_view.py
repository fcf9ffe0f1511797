"""Frames between real clients and a real broker, as a film of the lab: the same page shows them, to the byte.

It is made of a file of frames (:mod:`engine.faults.frame_file` writes it), which may come from anyone. What only
the lab knows is missing: no internals of the nodes, no causes except that a reply answers a request. The time of a
frame is known at the broker only; its flight is drawn with a fixed length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import count, groupby
from typing import TYPE_CHECKING

from app.foundation.patch import Operation, difference
from app.foundation.translator import in_all_languages
from app.lab.foundation.bounds import ARRIVED_FRAMES_SHOWN
from app.lab.foundation.refusal import LabRefused
from app.lab.views.frames import HEX_MAX_BYTES, command_detail, response_name
from app.lab.views.recorded_frames import RecordedFrame, RecordedFrames, read_frames
from engine.lab.scenario.frame_names import request_name
from engine.protocol.request_code import SENDS, RequestCode

if TYPE_CHECKING:
    from app.picture.frame import CommandFrame, Frame
    from app.picture.session.film import BrokerParts, FrameStrip, RecordedFilm, RecordedNode, RecordedWorld
    from app.picture.session.journal import JournalRow
    from engine.faults.frame_file import FrameFile
    from engine.faults.state_record import StateChange

#: How long a frame is drawn in flight; the real time is not known.
FLIGHT_US = 500
_CLIENTS_MAX = 60
_SHORT_NAME = re.compile(r"[A-Z][0-9]{1,9}")
#: Faults that keep a frame from arriving.
_LOST = ("drop", "cut", "reject")


def frame_recording_view(file: RecordedFrames) -> RecordedFilm:
    """Return the film of a file. Raises :class:`LabRefused` for names that the lab cannot have."""
    names, states = _names(file), file.states
    start_us = file.frames[0].at_us - 2 * FLIGHT_US
    frames = [replace(frame, at_us=frame.at_us - start_us) for frame in file.frames]
    nodes = {name: _node(role, said) for name, (role, said) in names.values()}
    own_name = names[""][0]
    nodes[own_name]["state"] = _changed({}, [change for change in states if change[0] < frames[0].number])
    changes = {number: [*found] for number, found in groupby(states, lambda change: change[0])}
    by_number = {frame.number: frame for frame in frames}
    summaries = [_summary(frame, names, by_number) for frame in frames]
    view = first = _view(0, 0, nodes, [])
    patches: list[list[Operation]] = []
    for event, frame in enumerate(frames, 1):
        source, target = _ends(frame, names)
        nodes = {**nodes, source: {**nodes[source], "sent": nodes[source]["sent"] + 1}}
        if frame.action not in _LOST:
            nodes = {**nodes, target: {**nodes[target], "got": nodes[target]["got"] + 1}}
        if frame.number in changes:
            state = _changed(nodes[own_name]["state"], changes[frame.number])
            nodes = {**nodes, own_name: {**nodes[own_name], "state": state}}
        shown = summaries[max(0, event - ARRIVED_FRAMES_SHOWN) : event]
        later = _view(event, frame.at_us + FLIGHT_US, nodes, shown)
        patches.append(difference(view, later))
        view = later
    journal: list[JournalRow] = []
    places = {frame.number: event for event, frame in enumerate(frames, 1)}
    for event, (frame, summary) in enumerate(zip(frames, summaries, strict=True), 1):
        label = f"reply to {summary['reply_to_name']}" if summary["reply_to"] else summary["name"]
        journal.append([event, frame.at_us, summary["source"], label, places.get(frame.answers, 0)])
    return {
        "view": {**first, "events_total": len(frames), "time_total_us": view["time_us"]},
        "patches": patches,
        "at": 0,
        "journal": journal,
        "frames": {
            str(frame.number): _detail(frame, summary) for frame, summary in zip(frames, summaries, strict=True)
        },
        "sources": {},
        "records": {},
        "field_texts": {},
        "why": {},
    }


def frame_recording_strip(data: FrameFile) -> FrameStrip:
    """Return the newest frames of a record."""
    file = read_frames(data)
    names = _names(file)
    by_number = {frame.number: frame for frame in file.frames}
    shown = [_summary(frame, names, by_number) for frame in file.frames]
    return {"lanes": [[name, full] for name, (_, full) in names.values()], "frames": shown}


def _changed(state: BrokerParts, changes: list[StateChange]) -> BrokerParts:
    """Return ``state`` with the rows that changed; parts that did not are shared."""
    copies: BrokerParts = {part: {**state.get(part, {})} for _, part, _, _ in changes}
    later = {**state, **copies}
    for _, part, name, values in changes:
        if values:
            later[part][name] = values
        else:
            later[part].pop(name, None)
    return later


# --- nodes ---------------------------------------------------------------------------------------------------------


def _names(file: RecordedFrames) -> dict[str, tuple[str, tuple[str, str]]]:
    """Return client (empty: the broker) -> its short name, and its role and full name."""
    given = file.names
    sends: dict[str, bool] = {}
    for frame in file.frames:
        is_send = frame.is_in and not frame.command.is_response and frame.command.code in SENDS
        is_pull = frame.is_in and not frame.command.is_response and frame.command.code == RequestCode.PULL_MESSAGE
        sends[frame.client] = (sends.get(frame.client, False) or is_send) and not is_pull
        if is_pull:
            sends[frame.client] = False
    if len(sends) > _CLIENTS_MAX:
        raise LabRefused("frame_file_clients", most=_CLIENTS_MAX)
    named: dict[str, tuple[str, tuple[str, str]]] = {"": ("B1", ("wire_broker", file.broker))}
    taken = {"B1": ""}
    for client in sends:
        if _SHORT_NAME.fullmatch(given.get(client, "")):
            taken.setdefault(given[client], client)
    own = {client: name for name, client in taken.items()}
    for letter, role, wanted in (("P", "wire_producer", True), ("C", "wire_consumer", False)):
        free = (name for place in count(1) if (name := f"{letter}{place}") not in taken)
        for client in (client for client, is_sender in sends.items() if is_sender is wanted):
            named[client] = (own.get(client) or next(free), (role, client))
    return named


def _node(role: str, full_name: str) -> RecordedNode:
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
        "state": {},
        "sent": 0,
        "got": 0,
    }


# --- frames --------------------------------------------------------------------------------------------------------


def _ends(frame: RecordedFrame, names: Mapping[str, tuple[str, tuple[str, str]]]) -> tuple[str, str]:
    client, broker = names[frame.client][0], names[""][0]
    return (client, broker) if frame.is_in else (broker, client)


def _summary(
    frame: RecordedFrame, names: Mapping[str, tuple[str, tuple[str, str]]], by_number: Mapping[int, RecordedFrame]
) -> Frame:
    command = frame.command
    source, target = _ends(frame, names)
    asked = by_number.get(frame.answers)
    return {
        "id": frame.number,
        "source": source,
        "target": target,
        "kind": "response" if command.is_response else "request",
        "code": command.code,
        "name": response_name(command.code) if command.is_response else request_name(command.code),
        "is_oneway": command.is_oneway,
        "reply_to": None if asked is None else asked.number,
        "reply_to_name": None if asked is None else request_name(asked.command.code),
        "size_bytes": 4 + len(frame.data) + max(0, frame.body_bytes - len(command.body)),
        "sent_us": frame.at_us - (FLIGHT_US if frame.is_in else 0),
        "arrives_us": frame.at_us + (0 if frame.is_in else FLIGHT_US),
        "dropped": frame.action in _LOST,
        "copies": 2 if frame.action == "duplicate" else 1,
    }


def _detail(frame: RecordedFrame, summary: Frame) -> CommandFrame:
    command = frame.command
    whole = len(frame.data).to_bytes(4) + frame.data
    return {
        **summary,
        "hex": whole[:HEX_MAX_BYTES].hex(),
        "hex_omitted_bytes": max(0, len(whole) - HEX_MAX_BYTES) + frame.body_bytes - len(command.body),
        "problem": None,
        **command_detail(command, len(whole)),
    }


def _view(event: int, time_us: int, nodes: dict[str, RecordedNode], frames: list[Frame]) -> RecordedWorld:
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
        "nodes": nodes,
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
        "differs": None,
        "world": {"id": "", "published": False, "viewers": 0},
        "link": "",
    }
