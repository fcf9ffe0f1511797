"""What a page gets over the Socket.IO namespace of the lab, besides
:class:`~app.picture.session.journal.JournalEntries` and :class:`~app.picture.refusal.Refusal`.
"""

from __future__ import annotations

from typing import TypedDict

from app.foundation.json_types import JsonValue
from app.picture.world.playing import PlayedWorld


class WorldSnapshot(TypedDict):
    """A world as a whole."""

    sequence: int
    #: Its id.
    world: str
    #: Whether the page may control it.
    mine: bool
    view: PlayedWorld


class WorldPatch(TypedDict):
    """The way from the view before it to the next one."""

    sequence: int
    #: Those of ``app.foundation.patch``.
    operations: list[list[JsonValue]]


class FoundRun(TypedDict):
    """A run of the scenario that the browser has begun: the page asks its user whether to join it."""

    event: int
    #: How many seconds ago it was made.
    age_s: int
