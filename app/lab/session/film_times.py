"""The moments of a run that a film of it shows: as many per second as it has pictures, at the pace of the page."""

from __future__ import annotations

from typing import Literal

from app.lab.session.pace import Pace
from engine.lab.run.recording import Recording
from engine.lab.run.run import LabRun

#: A film that never ends would fill the disk.
PICTURES_MAX = 600


#: Without a beginning, a film has the last virtual microseconds, and at least this many seconds of the viewer's.
USUAL_LENGTH_US = 1_000_000
LENGTH_MIN_S = 5


def film_times(
    recording: Recording, from_us: int | None, per_second: int, speed: float | Literal["auto"] = "auto"
) -> list[int]:
    """Return virtual times from ``from_us`` to the end of ``recording``; only the last part when the film would be too
    long.

    :param from_us: None: so that the film has what happens in its last second, and is not over at once.
    :param per_second: pictures per second.
    """
    if from_us is None:
        times = film_times(recording, max(0, recording.time_us - USUAL_LENGTH_US), per_second, speed)
        if len(times) >= LENGTH_MIN_S * per_second:
            return times
        return film_times(recording, 0, per_second, speed)[-LENGTH_MIN_S * per_second :]
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
