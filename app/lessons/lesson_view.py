"""What a lesson's expressions look at: the view of the stage, and with it what the clients have seen so far.

history   sending    event, time_us, node, key, topic: a producer begins to send
          sent       the same with status ("ok" | "refused" | "unknown"), queue_id, queue_offset, broker, detail
          begun      event, time_us, node, group, topic, broker, queue_id, queue_offset, key, reconsume_times: a
                     listener gets a message
          consumed   the same with result ("success" | "later" | "throws"): it is done with it
          commands   event, time_us, kind, target: what was done to the world, by the script too

A message that was consumed twice stands there twice. Times are virtual microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from app.json_types import JsonObject
from engine.lab.history import LabHistory


def lesson_view(view: JsonObject, history: LabHistory) -> JsonObject:
    """``view`` with ``history``, as far as it had come at the view's event (which may lie in the past)."""
    event = view["event"]
    return {
        **view,
        "history": {
            "sending": _until(event, history.sends_invoked),
            "sent": _until(event, history.sends_returned),
            "begun": _until(event, history.consumes_began),
            "consumed": _until(event, history.consumes_ended),
            "commands": [
                {"event": done.event, "time_us": done.time_us, **done.command.to_dict()}
                for done in history.commands
                if done.event <= event
            ],
        },
    }


def _until(event: int, entries: Iterable[NamedTuple]) -> list[JsonObject]:
    rows = (entry._asdict() for entry in entries)
    return [row for row in rows if row["event"] <= event]
