"""The page ``/glossary``: every term with its meaning, its other names, and where it is shown."""

from __future__ import annotations

import logging

from flask import Blueprint, Response, g, render_template

from app.glossary.glossary import Term, glossary
from app.picture.pages.article import ShownTerm
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario import LANGUAGES
from engine.lab.scenario.scenario_files import lesson_scenario_names

log = logging.getLogger("glassmq.http")


def create_glossary_page() -> Blueprint:
    """Return the blueprint with ``/glossary``."""
    pages = Blueprint("glossary", __name__)

    @pages.get("/glossary")
    def all_terms() -> str:
        lessons = frozenset(lesson_scenario_names())
        return render_template("glossary.html", terms=[_entry(term, g.language, lessons) for term in glossary()])

    @pages.errorhandler(ScenarioError)
    def broken(error: ScenarioError) -> Response:
        log.error("the glossary cannot be read: %s", error)
        return Response(f"glossary.yaml: {error}\n", status=500, mimetype="text/plain")

    return pages


def term_words() -> dict[str, str]:
    """Return the anchor of each term -> the words by which people may look for it, in both languages, in lower case."""
    return {term.anchor: " ".join([*term.all_names, *term.about.values()]).lower() for term in glossary()}


def _entry(term: Term, language: str, lessons: frozenset[str]) -> ShownTerm:
    [other] = [each for each in LANGUAGES if each != language]
    name = term.names[language][0]
    return {
        "anchor": term.anchor,
        "name": name,
        "more_names": list(term.names[language][1:]),
        "other_language": other,
        "other_names": [each for each in term.names[other] if each != name],
        "about": term.about[language],
        "synonyms": [*term.synonyms, *term.ruled_out],
        "examples": [[f"/{'tutorials' if each in lessons else 'lab'}/{each}", each] for each in term.examples],
    }
