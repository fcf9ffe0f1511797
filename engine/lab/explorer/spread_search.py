"""A spread search: the schedules run elsewhere, in several processes or on Spark.

The search is unchanged: outcomes are put in the order in which one process would have run the schedules, so the same
schedule is found first, and as many are counted. Schedules run beyond that are wasted and discarded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from engine.lab.explorer.gated_run import ScheduleOutcome
from engine.lab.explorer.search import RunBranches, SearchBounds, SearchBranch, schedules_after
from engine.lab.explorer.stage import StageSetting, execute_on_stage
from engine.lab.run.spread import Spread, in_order, silence_logging

#: Least number of points per piece of work: a schedule takes some ten milliseconds, or fifty.
_POINTS_OF_PIECE = 10
#: Most pieces, each of which has a cost for the distributor.
_PIECES_MAX = 4_000


class ScheduleTask(NamedTuple):
    """The settings that all pieces of a search share."""

    setting: StageSetting
    bounds: SearchBounds
    keeps_steps: bool


def spread_branches(spread: Spread, setting: StageSetting) -> RunBranches:
    """Return the function with which :class:`~engine.lab.explorer.search.StallSearch` runs its schedules."""

    def run(branches: Sequence[SearchBranch], bounds: SearchBounds, keeps_steps: bool) -> Iterator[ScheduleOutcome]:
        pieces = cut_into_pieces(branches, _POINTS_OF_PIECE)
        task = ScheduleTask(setting, bounds, keeps_steps)
        with closing(spread(partial(run_piece, task), pieces)) as coming:
            for outcomes in in_order(coming):
                yield from outcomes

    return run


def cut_into_pieces(branches: Sequence[SearchBranch], least: int) -> list[tuple[SearchBranch, ...]]:
    """Return the same points in order, in pieces of about ``least`` of them, or more if there are very many."""
    size = max(least, sum(len(branch.points) for branch in branches) // _PIECES_MAX)
    pieces: list[tuple[SearchBranch, ...]] = []
    piece: list[SearchBranch] = []
    room = size
    for branch in branches:
        points = branch.points
        while points:
            piece.append(SearchBranch(branch.stalls, points[:room]))
            points, room = points[room:], room - len(piece[-1].points)
            if room == 0:
                pieces.append(tuple(piece))
                piece, room = [], size
    if piece:
        pieces.append(tuple(piece))
    return pieces


def run_piece(task: ScheduleTask, piece: Sequence[SearchBranch]) -> list[ScheduleOutcome]:
    """Return the outcome of each schedule of a piece."""
    silence_logging()
    outcomes: list[ScheduleOutcome] = []
    for branch in piece:
        for stalls in schedules_after(branch, task.bounds):
            outcome = execute_on_stage(task.setting, stalls)
            if outcome.violation is None and not task.keeps_steps:
                outcome = replace(outcome, steps=(), begun=(), commands=())  # not needed, and costly to transport
            outcomes.append(outcome)
    return outcomes
