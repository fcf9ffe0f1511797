"""The texts of a lesson in one language: ``lesson.en.md``, ``lesson.zh.md``.

# Title What the lesson is about.

## <step id>: <heading>
What to know, and what is about to happen.
### Look
What "Show me" displays about a thing that it points at: in plain words, and never the answer.
- <target>: <text>
### Predict
A question. For a choice, or for something to be clicked, its answers follow:
- <choice id>: <text>
### Wrong
Why each other answer is wrong: of a choice by its id, of things to click by their names, of numbers one by one, and
`less` and `more` for all others.
- <choice id>: <text>
### Do
The label of the step's button.
### Hint
Up to three of them.
### After
What has happened, and why.

## summary What to remember.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from app.lessons.errors import LessonError
from app.lessons.prose import Prose, read_prose

TEXT_MAX_CHARACTERS = 60_000
HINTS_MAX = 3
HEADING_MAX = 120
#: Headings of the parts of a step, in both languages.
PARTS = ("Look", "Predict", "Wrong", "Do", "Hint", "After")
SUMMARY = "summary"

_STEP = re.compile(r"##\s+(?P<identity>[a-z0-9-]{1,40}):\s*(?P<heading>\S.*)")
_CHOICE = re.compile(r"-\s+(?P<identity>[a-z0-9-]{1,40}):\s*(?P<text>\S.*)")
#: Matches a wrong answer, or a target.
_NAMED = re.compile(r"-\s+(?P<identity>[^:]{1,80}):\s*(?P<text>\S.*)")


@dataclass(frozen=True, slots=True)
class StepText:
    """One step in one language. ``question`` None: there is nothing to predict; ``action`` empty: nothing to do."""

    heading: str
    body: Prose
    look_for: Mapping[str, str]
    question: Prose | None
    choices: Mapping[str, Prose]
    wrong: Mapping[str, Prose]
    action: str
    hints: tuple[Prose, ...]
    after: Prose | None
    line: int

    def prose(self) -> Iterator[Prose]:
        """Yield all prose that is read before the step is done: all but ``after`` and ``wrong``."""
        yield self.body
        if self.question is not None:
            yield self.question
        yield from self.choices.values()
        yield from self.hints

    def explanations(self) -> Iterator[Prose]:
        """Yield the prose that is read when the step is done."""
        yield from self.wrong.values()
        if self.after is not None:
            yield self.after


@dataclass(frozen=True, slots=True)
class LessonText:
    """The whole lesson in one language. ``steps`` are by id, in order."""

    title: str
    intro: Prose
    steps: Mapping[str, StepText]
    summary: Prose
    file: str

    def prose(self) -> Iterator[Prose]:
        """Yield all prose of the lesson."""
        yield self.intro
        yield from chain.from_iterable(step.prose() for step in self.steps.values())
        for step in self.steps.values():
            yield from step.explanations()
        yield self.summary


@dataclass(frozen=True, slots=True)
class _Part:
    """A heading without its signs, the text below it, and the line in which the text begins."""

    heading: str
    text: str
    line: int


def read_lesson_text(text: str, file: str) -> LessonText:
    """Parse the texts of a lesson. Raises :class:`LessonError` with file, line, and what is allowed."""
    if len(text) > TEXT_MAX_CHARACTERS:
        raise LessonError(file, 1, f"the text has {len(text)} characters; allowed: {TEXT_MAX_CHARACTERS}")
    head, *sections = _split(text, "## ", 1)
    title, _, intro = head.text.strip("\n").partition("\n")
    if not title.startswith("# ") or not title[2:].strip():
        raise LessonError(file, 1, "a lesson begins with '# ' and its title")
    if not sections or sections[-1].heading != f"## {SUMMARY}":
        line = sections[-1].line - 1 if sections else 1
        raise LessonError(file, line, f"the last section must be '## {SUMMARY}'")
    steps: dict[str, StepText] = {}
    for section in sections[:-1]:
        match = _STEP.fullmatch(section.heading)
        if match is None:
            raise LessonError(
                file, section.line - 1, f"{section.heading!r}: allowed: '## <step id>: <heading>', the id of a-z 0-9 -"
            )
        identity, heading = match["identity"], match["heading"].strip()
        if identity in steps:
            raise LessonError(file, section.line - 1, f"step {identity!r} occurs twice")
        if len(heading) > HEADING_MAX:
            raise LessonError(file, section.line - 1, f"a heading has up to {HEADING_MAX} characters")
        steps[identity] = _read_step(section, heading, file)
    summary = sections[-1]
    if not summary.text.strip():
        raise LessonError(file, summary.line, "the summary is empty")
    return LessonText(
        title[2:].strip(),
        read_prose(intro, file, 2),
        steps,
        read_prose(summary.text, file, summary.line),
        file,
    )


def _split(text: str, sign: str, first_line: int) -> list[_Part]:
    """Return the text before the first heading of this level, then one part per heading. Code is left alone."""
    parts: list[_Part] = []
    heading, begun, lines, in_code = "", first_line, list[str](), False
    for number, line in enumerate(text.split("\n"), first_line):
        in_code ^= line.strip().startswith("```")
        if line.startswith(sign) and not in_code:
            parts.append(_Part(heading, "\n".join(lines), begun))
            heading, begun, lines = line.strip(), number + 1, []
        else:
            lines.append(line)
    parts.append(_Part(heading, "\n".join(lines), begun))
    return parts


def _read_step(section: _Part, heading: str, file: str) -> StepText:
    body, *parts = _split(section.text, "### ", section.line)
    if not body.text.strip():
        raise LessonError(file, body.line, "the step has no text")
    found: dict[str, list[_Part]] = {name: [] for name in PARTS}
    for part in parts:
        name = part.heading.removeprefix("### ").strip()
        if name not in found:
            raise LessonError(file, part.line - 1, f"{part.heading!r} is not allowed; allowed: {', '.join(PARTS)}")
        limit = HINTS_MAX if name == "Hint" else 1
        if len(found[name]) >= limit:
            raise LessonError(file, part.line - 1, f"a step has up to {limit} '### {name}'")
        if not part.text.strip():
            raise LessonError(file, part.line - 1, f"'### {name}' is empty")
        found[name].append(part)
    question, choices = _read_question(found["Predict"][0], file) if found["Predict"] else (None, {})
    return StepText(
        heading=heading,
        body=read_prose(body.text, file, body.line),
        look_for=_read_look_for(found["Look"][0], file) if found["Look"] else {},
        question=question,
        choices=choices,
        wrong=_read_wrong(found["Wrong"][0], file) if found["Wrong"] else {},
        action=" ".join(found["Do"][0].text.split()) if found["Do"] else "",
        hints=tuple(read_prose(part.text, file, part.line) for part in found["Hint"]),
        after=read_prose(found["After"][0].text, file, found["After"][0].line) if found["After"] else None,
        line=section.line - 1,
    )


def _read_question(part: _Part, file: str) -> tuple[Prose, dict[str, Prose]]:
    """Return the question, and the answers in the list at its end."""
    lines = part.text.rstrip().split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("- ")), len(lines))
    choices = _read_list(lines[first:], _CHOICE, file, part.line + first)
    question = "\n".join(lines[:first])
    if not question.strip():
        raise LessonError(file, part.line, "the question is missing")
    return read_prose(question, file, part.line), choices


def _read_wrong(part: _Part, file: str) -> dict[str, Prose]:
    return _read_list(part.text.rstrip().split("\n"), _NAMED, file, part.line)


def _read_look_for(part: _Part, file: str) -> dict[str, str]:
    items = _items(part.text.rstrip().split("\n"), _NAMED, file, part.line)
    return {target: " ".join(text.split()) for target, text, _ in items}


def _read_list(lines: list[str], item: re.Pattern[str], file: str, first_line: int) -> dict[str, Prose]:
    """Return a list of answers: id -> text."""
    return {
        identity: read_prose(text, file, number, inline=True)
        for identity, text, number in _items(lines, item, file, first_line)
    }


def _items(lines: list[str], item: re.Pattern[str], file: str, first_line: int) -> list[tuple[str, str, int]]:
    """Return (name, text, line) of each item; no name may occur twice."""
    found: list[tuple[str, str, int]] = []
    for number, line in enumerate(lines, first_line):
        match = item.fullmatch(line.strip())
        if match is not None:
            found.append((match["identity"], match["text"], number))
        elif found and line.startswith("  "):
            identity, text, begun = found[-1]
            found[-1] = (identity, f"{text}\n{line.strip()}", begun)
        else:
            raise LessonError(file, number, f"{line!r}: allowed: '- <choice id>: <text>', the id of a-z 0-9 -")
    seen: set[str] = set()
    for identity, _, number in found:
        if identity in seen:
            raise LessonError(file, number, f"choice {identity!r} occurs twice")
        seen.add(identity)
    return found
