"""The pages of the articles as a browser without scripts sees them."""

from __future__ import annotations

import re

import pytest

from app.articles import routes
from app.articles.article_files import ARTICLE_NAMES, load_articles
from app.lessons.errors import LessonError
from app.lessons.lesson_files import lesson_names
from app.web_application import create_app
from tests.support.live.fixture_server import FixtureSource


@pytest.fixture(scope="module")
def http():
    server = create_app(FixtureSource(0))
    yield server.app.test_client()
    server.stop()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_names_each_article_by_its_own_title_and_by_ours(http, language):
    page = http.get(f"/tutorials/articles?lang={language}").text
    for article in load_articles():
        assert article.title in page
        assert article.heading[language] in page
        assert f'href="/tutorials/articles/{article.name}"' in page


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("article", load_articles(), ids=lambda article: article.name)
def test_an_article_has_a_row_for_each_claim_under_its_headings(http, article, language):
    page = http.get(f"/tutorials/articles/{article.name}?lang={language}").text
    anchors = re.findall(r'<li class="claim [^"]*" id="(\w+)"', page)
    assert anchors == [claim.anchor for claim in article.claims()]
    for section in article.sections:
        assert f'<a href="#{section.identity}">' in page
        assert f'<h2 id="{section.identity}">' in page
    for claim in article.claims():
        assert claim.text[language].html({}) in page
        assert claim.box is None or claim.box[language].html({}) in page
        for place in claim.places:
            assert f'href="/tutorials/{place.lesson}{f"?step={place.step}" if place.step else ""}"' in page
        for scenario in claim.scenarios:
            assert f'href="/lab/{scenario}"' in page


def test_an_article_that_does_not_exist_is_a_404(http):
    assert http.get("/tutorials/articles/nothing").status_code == 404


@pytest.mark.parametrize("path", ["/", "/tutorials"])
def test_the_start_page_and_the_lessons_lead_to_the_articles(http, path):
    assert 'href="/tutorials/articles"' in http.get(path).text


def of_lesson(http, name):
    page = http.get(f"/tutorials/{name}?lang=en").text
    links = re.search(r'id="lesson-articles".*?</nav>', page, re.DOTALL)
    return [] if links is None else re.findall(r'href="/tutorials/articles/([\w-]+)#(\w+)"', links[0])


def test_a_lesson_leads_to_the_first_row_of_each_article_that_speaks_of_it(http):
    assert of_lesson(http, "04-three-locks") == [("ordered-consumption", "a2")]
    assert [name for name, _ in of_lesson(http, "12-batches")] == [
        name for name in ARTICLE_NAMES if name != "idempotence"
    ]


def test_every_lesson_that_an_article_speaks_of_says_so(http):
    spoken_of = {place.lesson for article in load_articles() for claim in article.claims() for place in claim.places}
    assert set(lesson_names()) - spoken_of == set()


def test_a_lesson_opens_also_while_the_rows_of_an_article_cannot_be_read(http, monkeypatch):
    def broken():
        raise LessonError("articles/x.yaml", 1, "is broken")

    monkeypatch.setattr(routes, "load_articles", broken)
    assert of_lesson(http, "04-three-locks") == []
    assert http.get("/tutorials/articles").status_code == 500
