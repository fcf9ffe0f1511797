"""What takes as long as a film, in slices: each browser in turn, so that none waits for all of what another wants."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import InvalidStateError

from app.lab.foundation.bounds import JOBS_MAX, JOBS_PER_BROWSER
from app.lab.foundation.refusal import LabRefused
from app.lab.session.film import FilmJob


class JobQueue:
    """Jobs by the browser that wants them. Used by the lab's thread only."""

    def __init__(self) -> None:
        #: Whoever is served next comes first. None: those who have no name, all together.
        self._jobs: dict[str | None, list[FilmJob]] = {}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def start(self, browser: str | None, make: Callable[[], FilmJob]) -> None:
        """Begin what ``make`` makes. Raises :class:`LabRefused`."""
        if len(self._jobs.get(browser, ())) >= JOBS_PER_BROWSER:
            raise LabRefused("too_many_jobs", limit=JOBS_PER_BROWSER)
        if sum(len(jobs) for jobs in self._jobs.values()) >= JOBS_MAX:
            raise LabRefused("server_busy")
        self.add(browser, make())

    def add(self, browser: str | None, job: FilmJob) -> None:
        """Take it, whatever else is under way."""
        self._jobs.setdefault(browser, []).append(job)

    def advance(self, until: Callable[[], bool]) -> None:
        """A slice of the oldest job of the browser whose turn it is."""
        browser, jobs = next(iter(self._jobs.items()))
        job = jobs[0]
        try:
            is_done = job.advance(until)
        except Exception as error:
            # Whoever asked may have given up meanwhile: a film is then over as well.
            with contextlib.suppress(InvalidStateError):
                job.answer.set_exception(error)
            is_done = True
        if is_done:
            jobs.pop(0)
            job.close()
        del self._jobs[browser]
        if jobs:
            self._jobs[browser] = jobs

    def close(self) -> None:
        """Give all of them up."""
        for jobs in self._jobs.values():
            for job in jobs:
                job.answer.cancel()
                job.close()
        self._jobs.clear()
