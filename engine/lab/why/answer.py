"""Answers to "why?": one sentence, and the events that caused it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.texts import Text, plain

#: Most steps of one answer, and answers of one key: more are left out, and counted.
STEPS_MAX = 24
ANSWERS_MAX = 12


class WhyQuestion(StrEnum):
    """Questions about a message, ordered by severity."""

    LOST = "lost"
    TWICE = "twice"
    NOT_YET = "not-yet"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class WhyStep:
    """One event of the chain.

    :ivar event: its number; one that has not happened yet (``is_ahead``) comes if the run is not disturbed.
    :ivar node: the node that did it, or to which it was done.
    :ivar kind: its kind, for symbols and colours, one of :data:`STEP_KINDS`.
    :ivar span_us: duration, for a time span that begins there.
    """

    event: int
    time_us: int
    node: str
    kind: str
    text: Mapping[str, str]
    span_us: int | None = None
    is_ahead: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the step as a JSON object."""
        return {
            "event": self.event,
            "time_us": self.time_us,
            "node": self.node,
            "kind": self.kind,
            "text": dict(self.text),
            "span_us": self.span_us,
            "ahead": self.is_ahead,
        }


#: ``message``: it moves; ``listener``: a listener has it; ``offset``, ``lock``, ``owner``: the queue's owner and
#: progress; ``fault``: something broke, or a command was given; ``wait``: a time span.
STEP_KINDS = ("message", "listener", "offset", "lock", "owner", "fault", "wait")


#: A cause, the arguments of its sentence, and steps.
FoundCause = tuple[str, dict[str, object], list[WhyStep]]


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """The answer to one question for one group.

    :ivar group: the group whose consumption it is about; empty: all groups.
    :ivar cause: name of the root cause.
    :ivar omitted: how many steps were left out in the middle.
    """

    question: WhyQuestion
    group: str
    cause: str
    verdict: Mapping[str, str]
    steps: tuple[WhyStep, ...]
    omitted: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a JSON object."""
        return {
            "question": self.question.value,
            "group": self.group,
            "cause": self.cause,
            "verdict": dict(self.verdict),
            "steps": [step.to_dict() for step in self.steps],
            "omitted": self.omitted,
        }


@dataclass(frozen=True, slots=True)
class Why:
    """The answers about one key, the most severe first; empty if the key is unknown.

    :ivar event, time_us: position of the question.
    """

    key: str
    event: int
    time_us: int
    answers: tuple[WhyAnswer, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all answers as a JSON object."""
        return {
            "key": self.key,
            "event": self.event,
            "time_us": self.time_us,
            "answers": [answer.to_dict() for answer in self.answers],
        }


def answer(
    question: WhyQuestion, group: str, cause: str, verdict: Text, steps: list[WhyStep], *, is_in_order: bool = True
) -> WhyAnswer:
    """Return an answer with its steps in the order of time, and the middle left out if there are too many."""
    if is_in_order:
        once = {(step.event, step.node, str(step.text)): step for step in steps}
        steps = sorted(once.values(), key=lambda step: (step.is_ahead, step.event, step.time_us))
    omitted = max(0, len(steps) - STEPS_MAX)
    if omitted:
        half = STEPS_MAX // 2
        steps = [*steps[:half], *steps[-half:]] if is_in_order else steps[:STEPS_MAX]
    return WhyAnswer(question, group, cause, verdict, tuple(steps), omitted)


def span_text(us: int) -> Mapping[str, str]:
    """Return ``300 ms``, ``5.21 s``, ``12 min 5 s``, ``1 h 40 min``: the same in both languages."""
    ms = us / 1_000
    if ms < 1_000:
        return plain(f"{ms:.3g} ms" if ms < 10 else f"{ms:.0f} ms")
    seconds = round(ms / 1_000)
    if ms < 120_000:
        return plain(f"{ms / 1_000:.2f}".rstrip("0").rstrip(".") + " s")
    if seconds < 7_200:
        return plain(f"{seconds // 60} min {seconds % 60} s".removesuffix(" 0 s"))
    return plain(f"{seconds // 3_600} h {seconds % 3_600 // 60} min".removesuffix(" 0 min"))


def time_text(us: int) -> Mapping[str, str]:
    """Return ``5.780 s``: a moment of virtual time."""
    return plain(f"{us / 1_000_000:.3f} s")
