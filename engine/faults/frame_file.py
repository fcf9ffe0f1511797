"""Recorded frames as a file: what the live page offers for download, ``/lab/wire`` opens, and a failed test leaves."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TypedDict

from engine.faults.fault_rule import RULE_FIELDS, FaultAction, FaultRule
from engine.faults.frame_record import FrameRecord
from engine.faults.frame_subject import REPLY
from engine.faults.state_record import StateChange

FORMAT, VERSION = "glassmq-frames", 1
#: Characters of a name or of another text in a file.
TEXT_MAX = 1_000


class FrameFile(TypedDict):
    """A file of recorded frames."""

    #: Always :data:`FORMAT`.
    format: str
    version: int
    #: The broker's name.
    broker: str
    #: Milliseconds since 1970.
    started_ms: int
    #: Pattern of the recorded clients; empty: all.
    client: str
    #: Whether it has the bodies of the frames.
    bodies: bool
    #: Frames that were recorded; the oldest may be gone.
    count: int
    #: Client -> its short name, in the order of their first frame; a client without one is named by what it sends.
    names: dict[str, str]
    #: Number, microseconds since ``started_ms``, client, direction, the frame in base64, bytes of its body, number of
    #: the request that it answers (0: none), what a fault did to it.
    frames: list[list[int | str]]
    #: The fault rules that acted on frames: their fields, ``made_ms`` since ``started_ms``, and ``hits``.
    rules: list[dict[str, int | float | str]]
    #: How the state of the broker changed: number of the frame after which a row did, part, name of the row, its
    #: values; no values: it is gone. Empty if the state was not recorded.
    states: list[list[int | str | list[int | str]]]


def file_text(text: str) -> str:
    """Return a text as files have it: readers refuse longer ones, and halves of characters, which a client may send."""
    return text[:TEXT_MAX].encode("utf-8", "replace").decode()


def frame_file(
    record: FrameRecord, broker: str, names: Mapping[str, str] | None = None, last: int | None = None
) -> FrameFile:
    """Return the content of a file of frames. ``names``: short names of clients; ``last``: only the newest."""
    frames = [*record] if last is None else [*record][-last:]
    if record.states is not None:
        record.states.note(record.count)
    return {
        "format": FORMAT,
        "version": VERSION,
        "broker": broker,
        "started_ms": record.started_ms,
        "client": record.client,
        "bodies": record.with_bodies,
        "count": record.count,
        "names": {file_text(client): name for client, name in (names or {}).items()},
        "frames": [
            [
                one.number,
                one.at_us,
                file_text(record.clients.get(one.address, one.address)),
                one.direction.value,
                base64.b64encode(one.frame).decode("ascii"),
                one.body_bytes,
                one.answers,
                "" if one.action is None else one.action.value,
            ]
            for one in frames
        ],
        "rules": [_rule(rule, record.started_ms) for rule in record.rules.values()],
        "states": [] if record.states is None else [*map(_state, record.states.changes())],
    }


def _state(change: StateChange) -> list[int | str | list[int | str]]:
    frame, part, name, values = change
    return [frame, part, file_text(name), [file_text(one) if isinstance(one, str) else one for one in values]]


def _rule(rule: FaultRule, started_ms: int) -> dict[str, int | float | str]:
    """Return the fields from which the rule can be made again."""
    is_late = rule.what is FaultAction.ANSWER_LATE
    return {
        **{field.name: getattr(rule, field.name) for field in RULE_FIELDS},
        "what": rule.what.value,
        "frame": rule.frame.removeprefix(REPLY).removeprefix(" to ") if is_late else rule.frame,
        "direction": "" if is_late else str(rule.direction),
        "made_ms": rule.made_ms - started_ms,
        "hits": rule.hits,
    }
