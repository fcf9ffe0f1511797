"""An article as rows: each claim of it with where it runs, and what the real systems do where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.lessons.prose import Prose


class ClaimVerdict(StrEnum):
    """The result of checking a claim."""

    RUNS = "runs"
    #: It runs, but lessons hardly mention it.
    HARDLY_TAUGHT = "hardly-taught"
    ONLY_TOLD = "only-told"
    MISSING = "missing"
    #: It runs, but the real systems do something else than the article says: the row's box says what.
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class LessonPlace:
    """A step of a lesson, ``summary``, or the whole lesson where ``step`` is empty."""

    lesson: str
    step: str


@dataclass(frozen=True, slots=True)
class TermPair:
    """A term of the article, and the term that this project uses for it."""

    theirs: str
    ours: str
    english: str


@dataclass(frozen=True, slots=True)
class ArticleClaim:
    """One claim of an article, a row of its table. Texts are by language.

    :ivar identity: ``A12``; stays the same for good, because lessons link to it.
    :ivar files: paths from the root of the source tree.
    :ivar pages: addresses on this server.
    :ivar note: how to read what runs; may be missing.
    :ivar box: what the real systems do; required where the verdict is ``differs``.
    """

    identity: str
    text: Mapping[str, Prose]
    verdict: ClaimVerdict
    places: tuple[LessonPlace, ...]
    scenarios: tuple[str, ...]
    commands: tuple[str, ...]
    files: tuple[str, ...]
    pages: tuple[str, ...]
    terms: tuple[TermPair, ...]
    note: Mapping[str, Prose] | None
    box: Mapping[str, Prose] | None

    @property
    def anchor(self) -> str:
        """Return the anchor of the row on its page."""
        return self.identity.lower()


@dataclass(frozen=True, slots=True)
class ClaimSection:
    """The claims below one heading of the article."""

    identity: str
    heading: Mapping[str, str]
    claims: tuple[ArticleClaim, ...]


@dataclass(frozen=True, slots=True)
class Article:
    """One article. ``title`` is its own, in the language in which it is written; ``source`` is what is known about its
    origin.
    """

    name: str
    title: str
    heading: Mapping[str, str]
    about: Mapping[str, Prose]
    source: Mapping[str, Prose]
    sections: tuple[ClaimSection, ...]

    def claims(self) -> Iterator[ArticleClaim]:
        """All rows, in the article's order."""
        for section in self.sections:
            yield from section.claims
