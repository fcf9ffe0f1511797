"""The data of the article templates, in one language. Texts are safe HTML where a key ends in ``html``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set

from app.articles.article import Article, ArticleClaim, ClaimVerdict, LessonPlace
from app.lessons.lesson_files import lesson_names, load_lesson, number_of
from app.lessons.prose import Prose
from app.picture.pages.article import ArticleOfLesson, ArticleRow, ClaimPlace, ShownArticle, ShownClaim

#: The choices of the page's filter, apart from "all", and which verdicts each shows.
FILTERS: Mapping[str, tuple[ClaimVerdict, ...]] = {
    "runs": (ClaimVerdict.RUNS, ClaimVerdict.HARDLY_TAUGHT),
    "differs": (ClaimVerdict.DIFFERS,),
    "open": (ClaimVerdict.ONLY_TOLD, ClaimVerdict.MISSING),
}


def article_entry(article: Article, language: str) -> ArticleRow:
    """Return the entry of an article in the list of all articles."""
    counts = Counter(claim.verdict for claim in article.claims())
    return {
        "name": article.name,
        "title": article.title,
        "heading": article.heading[language],
        "about_html": _html(article.about, language),
        "source_html": _html(article.source, language),
        "claims": counts.total(),
        "counts": {verdict.value: counts[verdict] for verdict in ClaimVerdict},
    }


def article_data(article: Article, language: str) -> ShownArticle:
    """Return one article with all its rows."""
    claims, lessons = list(article.claims()), frozenset(lesson_names())
    return {
        **article_entry(article, language),
        "filters": {"all": len(claims)} | {name: _shown(claims, name) for name in FILTERS},
        "sections": [
            {
                "id": section.identity,
                "heading": section.heading[language],
                "filters": [name for name in FILTERS if _shown(section.claims, name)],
                "claims": [_claim(claim, language, lessons) for claim in section.claims],
            }
            for section in article.sections
        ],
    }


def articles_of_lesson(articles: Iterable[Article], lesson: str, language: str) -> list[ArticleOfLesson]:
    """Return the articles with a row that leads to ``lesson``, each with the first such row."""
    found: list[ArticleOfLesson] = []
    for article in articles:
        claims = [claim for claim in article.claims() if any(place.lesson == lesson for place in claim.places)]
        if claims:
            address = f"/tutorials/articles/{article.name}#{claims[0].anchor}"
            found.append({"heading": article.heading[language], "address": address, "claims": len(claims)})
    return found


def _shown(claims: Iterable[ArticleClaim], name: str) -> int:
    return sum(claim.verdict in FILTERS[name] for claim in claims)


def _claim(claim: ArticleClaim, language: str, lessons: Set[str]) -> ShownClaim:
    return {
        "id": claim.identity,
        "anchor": claim.anchor,
        "html": _html(claim.text, language),
        "verdict": claim.verdict.value,
        "filters": [name for name in FILTERS if _shown([claim], name)],
        "places": [_place(place, language) for place in claim.places if place.lesson in lessons],
        "scenarios": list(claim.scenarios),
        "commands": list(claim.commands),
        "files": list(claim.files),
        "pages": list(claim.pages),
        "terms": [{"theirs": term.theirs, "ours": term.ours, "english": term.english} for term in claim.terms],
        "note_html": _html(claim.note, language) if claim.note else "",
        "box_html": _html(claim.box, language) if claim.box else "",
    }


def _place(place: LessonPlace, language: str) -> ClaimPlace:
    text = load_lesson(place.lesson).texts[language]
    step = text.steps.get(place.step)
    return {
        "address": f"/tutorials/{place.lesson}" + (f"?step={place.step}" if place.step else ""),
        "number": number_of(place.lesson),
        "name": text.title if step is None else step.heading,
    }


def _html(texts: Mapping[str, Prose], language: str) -> str:
    return texts[language].html({})
