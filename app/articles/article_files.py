"""Reads the rows of the articles: ``tutorials/articles/NAME.yaml``.

Lists and texts that a row does not need are left out::

    - id: A2
      claim: {en: ..., zh: ...}
      verdict: runs
      steps: [04-three-locks join]
      scenarios: [three-locks]
      commands: [glassmq groups members shop]
      files: [engine/client/queues/rebalance_impl.py]
      pages: [/storage]
      terms: {rebalance: 重平衡（再平衡）}      # the article's word in brackets
      note: {en: ..., zh: ...}
      box: {en: ..., zh: ...}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from app.articles.article import Article, ArticleClaim, ClaimSection, ClaimVerdict, LessonPlace, TermPair
from app.lessons.errors import LessonError
from app.lessons.prose import Prose, read_prose
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario import LANGUAGES
from engine.lab.scenario.scenario_files import tutorials_folder
from engine.lab.scenario.scenario_yaml import Section, read_yaml

#: In the order in which a reader meets the subjects.
ARTICLE_NAMES = (
    "mq-overview",
    "ordered-consumption",
    "transactions-batches-filters",
    "eventual-consistency",
    "idempotence",
)
CHARACTERS_MAX = 100_000
_CLAIMS_MAX = 100
_TERM = re.compile(r"(?P<ours>[^（）]+)（(?P<theirs>[^（）]+)）")


def load_articles() -> tuple[Article, ...]:
    """Return all articles; they are read again when a file has changed. Raises :class:`LessonError`."""
    return tuple(load_article(name) for name in ARTICLE_NAMES)


def load_article(name: str) -> Article:
    """Return the article of that name, one of :data:`ARTICLE_NAMES`. Raises :class:`LessonError`."""
    path = tutorials_folder() / "articles" / f"{name}.yaml"
    try:
        return _read_once(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise LessonError(f"articles/{path.name}", 0, f"cannot be read: {error.strerror}") from error


@lru_cache(maxsize=16)
def _read_once(path: Path, changed_at: int) -> Article:
    """Read an article, cached by name and ``changed_at``, the time at which its file last changed."""
    return read_article(path.read_text(encoding="utf-8"), path.stem)


def read_article(text: str, name: str) -> Article:
    """Return the article in ``text``.

    Raises :class:`LessonError` with the file, the line, the field and what is allowed.
    """
    file = f"articles/{name}.yaml"
    try:
        root = read_yaml(text, CHARACTERS_MAX)
        article = Article(
            name=name,
            title=root.text("title"),
            heading=_words(root, "heading"),
            about=_prose(root, "about", file),
            source=_prose(root, "source", file),
            sections=tuple(_section(section, file) for section in root.sections("sections")),
        )
        root.finish()
    except ScenarioError as error:
        raise LessonError.of(file, error) from error
    return article


def _section(section: Section, file: str) -> ClaimSection:
    part = ClaimSection(
        identity=section.text("id", max_length=40),
        heading=_words(section, "heading"),
        claims=tuple(_claim(row, file) for row in section.sections("rows", max_count=_CLAIMS_MAX)),
    )
    section.finish()
    return part


def _claim(row: Section, file: str) -> ArticleClaim:
    claim = ArticleClaim(
        identity=row.text("id", max_length=8),
        text=_prose(row, "claim", file),
        verdict=ClaimVerdict(row.choice("verdict", list(ClaimVerdict))),
        places=tuple(LessonPlace(*_pair(word)) for word in row.words("steps")),
        scenarios=row.words("scenarios"),
        commands=row.words("commands"),
        files=row.words("files"),
        pages=row.words("pages"),
        terms=_terms(row),
        note=_prose(row, "note", file) if row.has("note") else None,
        box=_prose(row, "box", file) if row.has("box") else None,
    )
    row.finish()
    if claim.verdict is ClaimVerdict.DIFFERS and claim.box is None:
        raise row.fail("box", "is missing: a row that differs must say what the real systems do")
    return claim


def _pair(word: str) -> tuple[str, str]:
    lesson, _, step = word.partition(" ")
    return lesson, step.strip()


def _terms(row: Section) -> tuple[TermPair, ...]:
    terms = row.section("terms")
    pairs = []
    for english in () if terms is None else terms.names():
        match = _TERM.fullmatch(terms.text(english)) if terms is not None else None
        if match is None:
            raise row.fail("terms", f"{english!r} needs this project's word with the article's in brackets （）")
        pairs.append(TermPair(match["theirs"], match["ours"], english))
    return tuple(pairs)


def _words(section: Section, field: str) -> Mapping[str, str]:
    return dict(_texts(section, field))


def _prose(section: Section, field: str, file: str) -> Mapping[str, Prose]:
    return {language: read_prose(text, file, section.line, inline=True) for language, text in _texts(section, field)}


def _texts(section: Section, field: str) -> list[tuple[str, str]]:
    texts = section.section(field)
    if texts is None:
        raise section.fail(field, f"is missing; allowed: a text in each of {', '.join(LANGUAGES)}")
    pairs = [(language, texts.text(language)) for language in LANGUAGES]
    texts.finish()
    return pairs
