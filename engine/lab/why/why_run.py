"""A repetition of a recording, to the moment of a question and a little further, which answers why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from engine.lab.run.recording import EVENTS_MAX, Recording
from engine.lab.run.run import LabRun
from engine.lab.why.answer import ANSWERS_MAX, Why, WhyAnswer, WhyQuestion
from engine.lab.why.case import Case, Subject, subjects
from engine.lab.why.evidence import Evidence
from engine.lab.why.late import why_late
from engine.lab.why.lost import why_lost
from engine.lab.why.not_yet import why_not_yet
from engine.lab.why.twice import why_twice

#: How far it looks ahead for what has not come yet.
LOOK_AHEAD_EVENTS = 20_000
#: Events between two checks of the clock, and of whether everything has come.
_EVENTS_PER_LOOK = 25


class WhyRun:
    """Answer questions: call :meth:`advance` until there are answers, then :meth:`close`.

    :param keys: keys of the messages in question.
    """

    def __init__(self, recording: Recording, keys: Sequence[str]) -> None:
        self._recording = recording
        self._keys = keys
        self._answers: list[Why] = []
        self._run = LabRun(recording.scenario, recording.seed, recording.commands, check=False)
        self.evidence = Evidence(self._run)
        #: Subjects that have not consumed a message yet, once the run has reached the moment; until its next try has
        #: ended.
        self._waiting: dict[tuple[str, Subject], None] | None = None
        self._ends_seen = 0

    def advance(self, until: Callable[[], bool]) -> list[Why] | None:
        """Continue until ``until()``; return the answers in the order of the keys, once all are there.

        Raises :class:`~engine.lab.scenario.errors.LabError`.
        """
        run, recording = self._run, self._recording
        while self._waiting is None:
            left = recording.event - run.event_number
            if left > 0:
                if until():
                    return None
                if run.run_events(min(_EVENTS_PER_LOOK, left)) > 0:
                    continue
            run.stand_at(recording.event, recording.time_us)
            self.evidence.stand_here()
            self._waiting = self._find_waiting()
            self._ends_seen = len(run.world.history.consumes_ended)
        limit = min(self.evidence.now_event + LOOK_AHEAD_EVENTS, EVENTS_MAX)
        while self._waiting and run.event_number < limit:
            if until():
                return None
            if run.run_events(min(_EVENTS_PER_LOOK, limit - run.event_number)) == 0:
                break
            self._note_ends()
        while len(self._answers) < len(self._keys):
            if until():
                return None
            self._answers.append(self._answer(self._keys[len(self._answers)]))
        return self._answers

    def _find_waiting(self) -> dict[tuple[str, Subject], None]:
        return {
            (key, subject): None
            for key in self._keys
            for subject in subjects(self.evidence, key)
            if (case := Case(self.evidence, key, subject)).is_waiting and why_lost(case) is None
        }

    def _note_ends(self) -> None:
        assert self._waiting is not None
        ends = self._run.world.history.consumes_ended
        for end in ends[self._ends_seen :]:
            self._waiting.pop((end.key, Subject(end.group)), None)
            self._waiting.pop((end.key, Subject(end.group, end.node)), None)
        self._ends_seen = len(ends)

    def _answer(self, key: str) -> Why:
        evidence = self.evidence
        answers: list[WhyAnswer] = []
        for subject in subjects(evidence, key):
            case = Case(evidence, key, subject)
            lost = why_lost(case)
            if lost is None and case.is_waiting:
                answers.append(why_not_yet(case, Case(evidence, key, subject, self._run.event_number)))
            answers += [one for one in (lost, why_twice(case), why_late(case)) if one is not None]
        order = list(WhyQuestion)
        answers.sort(key=lambda one: order.index(one.question))
        return Why(key, evidence.now_event, evidence.now_us, tuple(answers[:ANSWERS_MAX]))

    def close(self) -> None:
        """Free the run."""
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def why(recording: Recording, key: str) -> Why:
    """Answer the questions about a key in one call."""
    with WhyRun(recording, [key]) as run:
        answers = run.advance(lambda: False)
    assert answers is not None, "nothing said until"
    return answers[0]
