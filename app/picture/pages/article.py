"""Articles and terms as their pages show them, in one language. Keys that end in ``html`` hold safe HTML."""

from __future__ import annotations

from typing import TypedDict


class ArticleRow(TypedDict):
    """An article in the list."""

    name: str
    title: str
    heading: str
    about_html: str
    source_html: str
    claims: int
    #: By verdict.
    counts: dict[str, int]


class ClaimPlace(TypedDict):
    """A step of a lesson that shows a claim."""

    address: str
    number: int
    name: str


class ClaimTerm(TypedDict):
    """A term of the article, and ours for it."""

    theirs: str
    ours: str
    english: str


class ShownClaim(TypedDict):
    """A claim of an article."""

    id: str
    anchor: str
    html: str
    verdict: str
    #: Those that show it.
    filters: list[str]
    places: list[ClaimPlace]
    scenarios: list[str]
    commands: list[str]
    files: list[str]
    pages: list[str]
    terms: list[ClaimTerm]
    note_html: str
    box_html: str


class ArticleSection(TypedDict):
    """A section of an article."""

    id: str
    heading: str
    filters: list[str]
    claims: list[ShownClaim]


class ShownArticle(ArticleRow):
    """An article with all its rows."""

    #: By filter, or "all": how many claims it shows.
    filters: dict[str, int]
    sections: list[ArticleSection]


class ArticleOfLesson(TypedDict):
    """An article with a row that leads to a lesson."""

    heading: str
    #: Of the first such row.
    address: str
    claims: int


class ShownTerm(TypedDict):
    """A term of the glossary."""

    anchor: str
    name: str
    more_names: list[str]
    other_language: str
    other_names: list[str]
    about: str
    synonyms: list[str]
    #: Address and name.
    examples: list[list[str]]
