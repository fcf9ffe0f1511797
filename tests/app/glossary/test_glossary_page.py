"""The page of the glossary, and the pages that lead to it, as a browser without scripts sees them."""

from __future__ import annotations

import html
import re

import pytest

from app.glossary import routes
from app.glossary.glossary import glossary
from app.web_application import create_app
from engine.lab.scenario.errors import ScenarioError
from tests.support.live.fixture_server import FixtureSource
from tests.support.page_files import module_at


@pytest.fixture(scope="module")
def http():
    server = create_app(FixtureSource(0))
    yield server.app.test_client()
    server.stop()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_term_has_its_row_with_all_its_names_in_both_languages(http, language):
    page = html.unescape(http.get(f"/glossary?lang={language}").text)
    rows = dict(re.findall(r'<li class="panel term" id="([\w-]+)"[^>]*>(.*?)</li>', page, re.DOTALL))
    assert list(rows) == [term.anchor for term in glossary()]
    for term in glossary():
        row = rows[term.anchor]
        assert term.about[language] in row
        assert [name for name in term.all_names if name not in row] == []


def test_the_examples_of_all_terms_lead_to_pages_that_exist(http):
    page = http.get("/glossary").text
    for address in set(re.findall(r'<a class="mono" href="([^"]+)"', page)):
        if address.startswith("/lab/"):
            assert http.get(address).status_code == 200
    assert 'href="/tutorials/04-three-locks"' in page


@pytest.mark.parametrize("path", ["/tutorials", "/tutorials/articles", "/lab"])
def test_lessons_articles_and_lab_lead_to_the_glossary(http, path):
    assert 'href="/glossary"' in http.get(path).text


@pytest.mark.parametrize("path", ["/tutorials", "/lab", "/glossary"])
def test_a_list_has_a_search_field_and_words_of_each_row_in_both_languages(http, path):
    page = http.get(f"{path}?lang=en").text
    [address] = re.findall(r'<input type="search" id="search" data-words="([^"]*)"', page)
    words = module_at(http, address)
    rows = re.findall(
        r'<li class="(?:panel (?:scenario|term)|lesson-item)\b[^>]* (?:data-name|data-lesson|id)="([^"]+)"', page
    )
    assert set(rows) == set(words)
    assert any("再平衡" in row and "rebalancing" in row for row in words.values())


def test_a_broken_glossary_is_named(http, monkeypatch):
    def broken():
        raise ScenarioError(3, "terms", "is broken")

    monkeypatch.setattr(routes, "glossary", broken)
    answer = http.get("/glossary")
    assert answer.status_code == 500
    assert answer.text.startswith("glossary.yaml: line 3, terms: is broken")
