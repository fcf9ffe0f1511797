"""The lag of the groups of a world over time.

See :mod:`engine.lab.world.backlog` for what is counted and when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.lab.world.backlog import BacklogSample, BacklogWatch, GroupBacklog

if TYPE_CHECKING:
    from app.picture.world.backlog import Backlog, BacklogPoint
    from app.picture.world.backlog import GroupBacklog as GroupPicture
    from engine.lab.run.run import LabRun


class BacklogView:
    """The lags of one run; it watches the run from its first event on."""

    def __init__(self, run: LabRun) -> None:
        self._watch = BacklogWatch(run.world)
        run.on_event.append(self._watch.after_event)
        #: Group -> its last sample, and the part of the view that was made of it.
        self._built: dict[str, tuple[BacklogSample, GroupPicture]] = {}
        self._whole: Backlog | None = None

    def build(self) -> Backlog | None:
        """Return the view; the same object as long as nothing was sampled."""
        groups: dict[str, GroupPicture] = {}
        is_new = False
        for name, group in self._watch.groups.items():
            known = self._built.get(name)
            if known is None or known[0] is not group.samples[-1]:
                known = self._built[name] = (group.samples[-1], _group(group, known[1] if known else None))
                is_new = True
            groups[name] = known[1]
        if is_new:
            self._whole = {"groups": groups}
        return self._whole


def _group(group: GroupBacklog, before: GroupPicture | None) -> GroupPicture:
    peak, peak_us = _peak(group, before)
    return {
        "queues": [[*queue] for queue in group.queues],
        "series": _series(group, before),
        "peak": peak,
        "peak_us": peak_us,
    }


def _series(group: GroupBacklog, before: GroupPicture | None) -> list[BacklogPoint]:
    """Return the series. Points that existed before stay the same objects: then a patch has only the new ones."""
    known = {point[0]: point for point in before["series"] if isinstance(point[0], int)} if before is not None else {}
    return [
        known.get(sample.time_us)
        or [sample.time_us, sample.stored, sample.done, list(sample.lags), sample.members, sample.owners]
        for sample in group.samples
    ]


def _peak(group: GroupBacklog, before: GroupPicture | None) -> tuple[int, int]:
    """Return the peak: thinning must not remove it."""
    lag, time_us = (0, 0) if before is None else (before["peak"], before["peak_us"])
    for sample in group.samples:
        if sample.lag > lag:
            lag, time_us = sample.lag, sample.time_us
    return lag, time_us
