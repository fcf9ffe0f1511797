"""The terms of ``tutorials/glossary.yaml``, and the names that they add to a searched text."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario import LANGUAGES
from engine.lab.scenario.scenario_files import tutorials_folder
from engine.lab.scenario.scenario_yaml import Section, read_yaml

log = logging.getLogger("glassmq.http")

CHARACTERS_MAX = 100_000
_TERMS_MAX = 500


@dataclass(frozen=True, eq=False)  # hashed by identity: it is read once
class Term:
    """One thing and its names.

    :ivar names: the words in use, by language; the first names the term.
    :ivar synonyms: other names, in either language.
    :ivar ruled_out: Chinese words that no text may use; searches find the term by them.
    :ivar about: one line, by language.
    :ivar examples: names of scenarios and lessons that show it.
    """

    names: Mapping[str, tuple[str, ...]]
    synonyms: tuple[str, ...]
    ruled_out: tuple[str, ...]
    about: Mapping[str, str]
    examples: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """Return the anchor of the term on its page."""
        return re.sub(r"[^a-z0-9]+", "-", self.names["en"][0].lower()).strip("-")

    @property
    def all_names(self) -> tuple[str, ...]:
        """Return every name by which people may look for it."""
        return (*(name for names in self.names.values() for name in names), *self.synonyms, *self.ruled_out)

    def is_in(self, text: str) -> bool:
        """Return whether ``text``, in lower case, uses one of the names."""
        # Most names are not in most texts, and "in" is a hundred times as fast as a pattern.
        return any(name in text and (word is None or word.search(text) is not None) for name, word in self._words)

    @cached_property
    def _words(self) -> list[tuple[str, re.Pattern[str] | None]]:
        """Return each name with the pattern that finds it as a whole word or its plural; None for Chinese, which has no
        spaces between words.
        """
        names = map(str.lower, self.all_names)
        return [
            (name, re.compile(f"(?<![a-z0-9_]){re.escape(name)}s?(?![a-z0-9_])") if name.isascii() else None)
            for name in names
        ]


def glossary() -> tuple[Term, ...]:
    """Return all terms; they are read again when the file has changed.

    Raises :class:`ScenarioError`, :class:`OSError`.
    """
    path = tutorials_folder() / "glossary.yaml"
    return _read_once(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _read_once(path: Path, changed_at: int) -> tuple[Term, ...]:
    """Read the glossary, cached by ``changed_at``, the time at which its file last changed."""
    return read_glossary(path.read_text(encoding="utf-8"))


def read_glossary(text: str) -> tuple[Term, ...]:
    """Return the terms in ``text``.

    Raises :class:`ScenarioError` with line and field, also where two terms share a name.
    """
    root = read_yaml(text, CHARACTERS_MAX)
    owners: dict[str, Term] = {}
    terms = []
    for row in root.sections("terms", max_count=_TERMS_MAX):
        term = _term(row)
        for name in map(str.lower, term.all_names):
            owner = owners.setdefault(name, term)
            if owner is not term:
                message = f"{name!r} is also a name of {owner.names['en'][0]!r}; allowed: a name of one term only"
                raise ScenarioError(row.line, row.path, message)
        terms.append(term)
    root.finish()
    return tuple(terms)


def _term(row: Section) -> Term:
    about = row.section("about")
    if about is None:
        raise row.fail("about", f"is missing; allowed: a line in each of {', '.join(LANGUAGES)}")
    term = Term(
        names={language: row.words(language) for language in LANGUAGES},
        synonyms=row.words("also"),
        ruled_out=row.words("not"),
        about={language: about.text(language) for language in LANGUAGES},
        examples=row.words("see"),
    )
    about.finish()
    row.finish()
    for language, names in term.names.items():
        if not names:
            raise row.fail(language, "is missing; allowed: a list of names, the term first")
    return term


def searched_text(name: str, text: str) -> str:
    """Return what a scenario or lesson called ``name`` is found by: its ``text``, and all names of each of its terms.

    It has the terms that its text uses, by whatever name, and those that name it as an example. A search for a part of
    the returned text thus finds the same by each name of a term, in both languages. While the glossary cannot be read,
    only the text is searched.
    """
    words = text.lower()
    try:
        return _searched_once(name, words, glossary())
    except (ScenarioError, OSError) as error:
        log.error("searches know no other names of a term: %s", error)
        return words


@lru_cache(maxsize=512)
def _searched_once(name: str, words: str, terms: tuple[Term, ...]) -> str:
    """Return the searched text from a cache: a list shows the same hundred texts each time, and searching them for all
    terms takes longer than everything else.
    """
    found = [term for term in terms if name in term.examples or term.is_in(words)]
    return " ".join([words, *(name for term in found for name in term.all_names)]).lower()
