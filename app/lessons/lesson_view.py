"""The data that a lesson's expressions use: the view of the stage, and the history of the clients so far.

:class:`engine.lab.nodes.history.LabHistory` describes the entries. A message that was consumed twice is there twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from app.foundation.json_types import JsonValue
    from app.picture.pages.lesson import LessonView
    from app.picture.world.world import WorldPicture
    from engine.lab.nodes.history import LabHistory


def lesson_view(view: WorldPicture, history: LabHistory) -> LessonView:
    """Return ``view`` with ``history``, up to the view's event (which may be in the past)."""
    event = view["event"]
    return {
        **view,
        "history": {
            "sending": _until(event, history.sends_invoked),
            "sent": _until(event, history.sends_returned),
            "begun": _until(event, history.consumes_began),
            "consumed": _until(event, history.consumes_ended),
            "dropped": _until(event, history.messages_dropped),
            "transactions": _until(event, history.transactions_ended),
            "bank": _until(event, history.bank_entries),
            "branches": _until(event, history.branches_changed),
            "globals": _until(event, history.globals_changed),
            "transfers": _until(event, history.transfers_ended),
            "lookups": _until(event, history.balance_lookups),
            "work": _until(event, history.work_done),
            "judged": _until(event, history.deliveries_judged),
            "commands": [
                {"event": done.event, "time_us": done.time_us, **done.command.to_dict()}
                for done in history.commands
                if done.event <= event
            ],
        },
    }


def _until(event: int, entries: Iterable[NamedTuple]) -> list[dict[str, JsonValue]]:
    rows = (entry._asdict() for entry in entries)
    return [_plain(row) for row in rows if row["event"] <= event]


def _plain(row: dict[str, JsonValue | tuple[JsonValue, ...]]) -> dict[str, JsonValue]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}
