"""Jobs that take as long as a film, in slices: browsers take turns, so that none waits for all jobs of another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import InvalidStateError

from app.lab.foundation.bounds import JOBS_MAX, JOBS_PER_BROWSER
from app.lab.foundation.refusal import LabRefused
from app.lab.session.film import FilmJob


class JobQueue:
    """The jobs of each browser. Used by the lab's thread only."""

    def __init__(self) -> None:
        #: The browser that is served next comes first. None: browsers without an identity, all together.
        self._jobs: dict[str | None, list[FilmJob]] = {}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def start(self, browser: str | None, make: Callable[[], FilmJob]) -> None:
        """Start the job that ``make`` makes. Raises :class:`LabRefused`."""
        if len(self._jobs.get(browser, ())) >= JOBS_PER_BROWSER:
            raise LabRefused("too_many_jobs", limit=JOBS_PER_BROWSER)
        if sum(len(jobs) for jobs in self._jobs.values()) >= JOBS_MAX:
            raise LabRefused("server_busy")
        self.add(browser, make())

    def add(self, browser: str | None, job: FilmJob) -> None:
        """Add a job, whatever else is under way."""
        self._jobs.setdefault(browser, []).append(job)

    def advance(self, until: Callable[[], bool]) -> None:
        """Run a slice of the oldest job of the browser whose turn it is."""
        browser, jobs = next(iter(self._jobs.items()))
        job = jobs[0]
        try:
            is_done = job.advance(until)
        except Exception as error:
            # The request may have given up meanwhile: the film is then over as well.
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
        """Cancel all jobs."""
        for jobs in self._jobs.values():
            for job in jobs:
                job.answer.cancel()
                job.close()
        self._jobs.clear()
