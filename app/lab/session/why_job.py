"""Explains why something happened to a message: the run is run again next to the world, in slices."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, cast

from engine.lab.why.why_run import WhyRun

if TYPE_CHECKING:
    from app.picture.session.why import Why
    from engine.lab.run.recording import Recording


class WhyJob:
    """One request for an explanation; a :class:`~app.lab.session.film.FilmJob`."""

    def __init__(self, recording: Recording, key: str, answer: Future[Why]) -> None:
        self.answer = answer
        self._run = WhyRun(recording, [key])

    def advance(self, until: Callable[[], bool]) -> bool:
        """Continue until ``until()`` is true; return True when there is an answer, or no request waits for it any
        more.
        """
        if self.answer.cancelled():
            return True
        answers = self._run.advance(until)
        if answers is None:
            return False
        self.answer.set_result(cast("Why", answers[0].to_dict()))
        return True

    def close(self) -> None:
        """Free the run."""
        self._run.close()
