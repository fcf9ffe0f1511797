"""Reads a page's query of a run's journal strictly; a refusal names the parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.foundation.json_types import JsonObject
from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.refusal import LabRefused
from app.lab.session.journal_pages import PAGE_MAX, JournalFilter, entries_after, search_backward, search_forward
from engine.lab.run.recording import EVENTS_MAX
from engine.lab.scenario.command import TEXT_MAX_LENGTH
from engine.lab.scenario.scenario_text import DURATION_MAX_MS
from engine.runtime.lab.lab_journal import LabJournal

_DIRECTIONS = ("after", "below", "above")
_TIME_MAX_US = DURATION_MAX_MS * 1_000


def read_journal_request(query: Mapping[str, str]) -> Callable[[LabJournal], JsonObject]:
    """Read one of three queries, and return the function that answers it from the journal::

        ?after=NUMBER&count=COUNT           entries after that one, without a gap
        ?below=NUMBER&text=TEXT&node=NAME   entries that match, before that one
        ?above=NUMBER&text=TEXT&node=NAME   entries that match, after that one
        ...&matters=yes                     without housekeeping

    Raises :class:`LabRefused`.
    """
    _only(query, (*_DIRECTIONS, "count", "text", "node", "matters"))
    asked = [name for name in _DIRECTIONS if name in query]
    if len(asked) != 1:
        raise LabRefused("bad_request", problem=f"journal: {' | '.join(_DIRECTIONS)}")
    number = _number(query, asked[0], EVENTS_MAX + 1)
    if asked[0] == "after":
        count = _number(query, "count", PAGE_MAX, PAGE_MAX)
        return lambda journal: entries_after(journal, number, count)
    if query.get("matters", "no") not in ("yes", "no"):
        raise LabRefused("bad_request", problem="matters: yes | no")
    wanted = JournalFilter(
        _text(query, "text", TEXT_MAX_LENGTH).lower(), _text(query, "node", NAME_MAX), query.get("matters") == "yes"
    )
    search = search_backward if asked[0] == "below" else search_forward
    return lambda journal: search(journal, wanted, number)


def read_window(query: Mapping[str, str]) -> tuple[int, int]:
    """Read ``?left_us=TIME&right_us=TIME``. Raises :class:`LabRefused`."""
    _only(query, ("left_us", "right_us"))
    left_us = _number(query, "left_us", _TIME_MAX_US)
    right_us = _number(query, "right_us", _TIME_MAX_US)
    if right_us < left_us:
        raise LabRefused("bad_request", problem="left_us <= right_us")
    return left_us, right_us


def _only(query: Mapping[str, str], known: tuple[str, ...]) -> None:
    for name in query:
        if name not in known:
            raise LabRefused("bad_request", problem=f"{name[:NAME_MAX]!r}: {' | '.join(known)}")


def _number(query: Mapping[str, str], name: str, maximum: int, default: int | None = None) -> int:
    text = query.get(name)
    if text is None and default is not None:
        return default
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 20 or int(text) > maximum:
        raise LabRefused("number", field=name, minimum=0, maximum=maximum)
    return int(text)


def _text(query: Mapping[str, str], name: str, maximum: int) -> str:
    text = query.get(name, "")
    if len(text) > maximum:
        raise LabRefused("bad_request", problem=f"{name}: <= {maximum}")
    return text
