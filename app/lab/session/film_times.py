"""The moments of a run that a film of it shows: as many per second as it has pictures, at the pace of the page."""

from __future__ import annotations

from typing import Literal

from app.lab.session.pace import Pace
from engine.lab.run.recording import Recording
from engine.lab.run.run import LabRun

#: A film that never ends would fill the disk.
PICTURES_MAX = 600


def film_times(
    recording: Recording, from_us: int, per_second: int, speed: float | Literal["auto"] = "auto"
) -> list[int]:
    """Return virtual times from ``from_us`` to the end of ``recording``; only the last part when the film would be too
    long.

    :param per_second: pictures per second.
    """
    pace = Pace()
    pace.set_speed(speed)
    end_us = recording.time_us
    with LabRun(recording.scenario, recording.seed, recording.commands, check=False) as run:
        run.run_to_time(min(from_us, end_us))
        times = [run.now_us]
        pace.begin(0.0, run.now_us)
        while times[-1] < end_us and not run.is_over:
            pace.advance(run, len(times) / per_second, lambda: False)
            times.append(min(end_us, max(times[-1], run.now_us)))
    return times[-PICTURES_MAX:]
