"""Reads a page's query of a run's journal; a refusal names the parameter and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import NAME_MAX
from app.lab.session.journal_pages import PAGE_MAX, JournalFilter, entries_after, search_backward, search_forward
from app.web.api_parameters import read_query
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused
from engine.lab.run.recording import EVENTS_MAX
from engine.lab.scenario.command import TEXT_MAX_LENGTH
from engine.lab.scenario.scenario_text import DURATION_MAX_MS
from engine.texts import Text

if TYPE_CHECKING:
    from app.picture.session.journal import JournalPage
    from engine.runtime.lab.lab_journal import LabJournal

_DIRECTIONS = ("after", "below", "above")
_TIME_MAX_US = DURATION_MAX_MS * 1_000
_QUERY = (
    *(Field(name, "integer", 0, EVENTS_MAX + 1, default=None) for name in _DIRECTIONS),
    Field("count", "integer", 0, PAGE_MAX, default=PAGE_MAX),
    Field("text", "text", 0, TEXT_MAX_LENGTH, default=""),
    Field("node", "text", 0, NAME_MAX, default=""),
    Field("matters", "choice", default="no", allowed=("yes", "no")),
)


def read_journal_request() -> Callable[[LabJournal], JournalPage]:
    """Read one of three queries of the current request, and return the function that answers it from the journal::

        ?after=NUMBER&count=COUNT           entries after that one, without a gap
        ?below=NUMBER&text=TEXT&node=NAME   entries that match, before that one
        ?above=NUMBER&text=TEXT&node=NAME   entries that match, after that one
        ...&matters=yes                     without housekeeping

    Raises :class:`FieldRefused`.
    """
    read = read_query(*_QUERY)
    asked = [name for name in _DIRECTIONS if read[name] is not None]
    if len(asked) != 1:
        raise FieldRefused("journal", Text("field.count", count=len(asked)), f"1: {' | '.join(_DIRECTIONS)}")
    number = read[asked[0]]
    if asked[0] == "after":
        return lambda journal: entries_after(journal, number, read["count"])
    wanted = JournalFilter(read["text"].lower(), read["node"], read["matters"] == "yes")
    search = search_backward if asked[0] == "below" else search_forward
    return lambda journal: search(journal, wanted, number)


def read_window() -> tuple[int, int]:
    """Read ``?left_us=TIME&right_us=TIME`` of the current request. Raises :class:`FieldRefused`."""
    left_us, right_us = read_query(
        *(Field(name, "integer", 0, _TIME_MAX_US) for name in ("left_us", "right_us"))
    ).values()
    return left_us, Field("right_us", "integer", left_us, _TIME_MAX_US).read(right_us, "right_us")
