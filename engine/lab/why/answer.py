"""What is answered to "why?": one sentence, and the events that made it so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.texts import Text, plain

#: Steps of one answer, answers of one key: what is more is left out, and counted.
STEPS_MAX = 24
ANSWERS_MAX = 12


class Question(StrEnum):
    """What one may ask about a message, in the order of how much it hurts."""

    LOST = "lost"
    TWICE = "twice"
    NOT_YET = "not-yet"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class WhyStep:
    """One event of the chain.

    :ivar event: its number; one that has not happened yet (``is_ahead``) comes when nobody interferes.
    :ivar node: who did it, or to whom it was done.
    :ivar kind: what sort of thing, for signs and colours: see :data:`STEP_KINDS`.
    :ivar span_us: how long it took, of a stretch of time that begins there.
    """

    event: int
    time_us: int
    node: str
    kind: str
    text: Mapping[str, str]
    span_us: int | None = None
    is_ahead: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "event": self.event,
            "time_us": self.time_us,
            "node": self.node,
            "kind": self.kind,
            "text": dict(self.text),
            "span_us": self.span_us,
            "ahead": self.is_ahead,
        }


#: ``message``: it moves on; ``listener``: a listener has it; ``offset``, ``lock``, ``owner``: whose the queue is, and
#: how far; ``fault``: something broke, or somebody did something; ``wait``: a stretch of time.
STEP_KINDS = ("message", "listener", "offset", "lock", "owner", "fault", "wait")


#: A cause, what its sentence needs, and steps.
Found = tuple[str, dict[str, object], list[WhyStep]]


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """The answer to one question for one group.

    :ivar group: whose consumption it is about; empty: everybody's.
    :ivar cause: what it comes down to, a name.
    :ivar omitted: how many steps were left out in the middle.
    """

    question: Question
    group: str
    cause: str
    verdict: Mapping[str, str]
    steps: tuple[WhyStep, ...]
    omitted: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As a JSON object."""
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
    """All answers about one key, the one that hurts most first; none where nobody knows the key.

    :ivar event, time_us: where one asked.
    """

    key: str
    event: int
    time_us: int
    answers: tuple[WhyAnswer, ...]

    def to_dict(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "key": self.key,
            "event": self.event,
            "time_us": self.time_us,
            "answers": [answer.to_dict() for answer in self.answers],
        }


def answer(
    question: Question, group: str, cause: str, verdict: Text, steps: list[WhyStep], *, is_in_order: bool = True
) -> WhyAnswer:
    """With its steps in the order of time, and the middle left out where there are too many."""
    if is_in_order:
        once = {(step.event, step.node, str(step.text)): step for step in steps}
        steps = sorted(once.values(), key=lambda step: (step.is_ahead, step.event, step.time_us))
    omitted = max(0, len(steps) - STEPS_MAX)
    if omitted:
        half = STEPS_MAX // 2
        steps = [*steps[:half], *steps[-half:]] if is_in_order else steps[:STEPS_MAX]
    return WhyAnswer(question, group, cause, verdict, tuple(steps), omitted)


def span_text(us: int) -> Mapping[str, str]:
    """``300 ms``, ``5.21 s``, ``12 min 5 s``, ``1 h 40 min``: said alike in both languages."""
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
    """``5.780 s``: a moment of virtual time."""
    return plain(f"{us / 1_000_000:.3f} s")
