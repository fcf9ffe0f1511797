"""The glossary's file: what is wrong with it is named, and every name of a term finds what the term finds."""

from __future__ import annotations

import re

import pytest

from app.articles.article_files import load_articles
from app.glossary import glossary as module
from app.glossary.glossary import glossary, read_glossary, searched_text
from app.lab.routes.scenario_list import scenario_words
from app.lessons.routes import lesson_words
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario import LANGUAGES
from engine.lab.scenario.scenario_files import scenario_names

TERM = "terms: [{en: [offset], zh: [位点], about: {en: A place., zh: 位置。}}]"
NAMES = {name for term in glossary() for name in term.all_names}
#: Words of the articles that found nothing before there was a glossary, and what English readers would type.
WANTED = """再平衡 偏移量 延时 反查 半事务消息 积压 宕机 消费者组 削峰 解耦 分布式锁 零拷贝 主从 乐观锁 幂等 全局唯一
网关 sendfile mmap PageCache ZooKeeper SETNX TCC msgTreeMap TransactionListener
offset lag backlog idempotent decoupling"""
WANTED_PHRASES = {"dead letter", "exactly once", "peak shaving", "two-phase commit"}


def words_of_all_rows() -> list[str]:
    """What each row of ``/lab`` and of ``/tutorials`` is found by."""
    return [*scenario_words().values(), *lesson_words().values()]


@pytest.fixture(scope="module")
def rows() -> dict[str, str]:
    """Text of a row -> what it is found by."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "glossary", tuple)
        plain = words_of_all_rows()
    return dict(zip(plain, words_of_all_rows(), strict=True))


def finds(name: str, row: str) -> bool:
    """As ``static/common/list_search.js`` does it."""
    return all(word in row for word in name.lower().split())


def test_every_name_of_a_term_finds_a_scenario_or_a_lesson(rows):
    assert [name for name in NAMES if not any(finds(name, row) for row in rows.values())] == []


@pytest.mark.parametrize("term", glossary(), ids=lambda term: term.anchor)
def test_every_name_of_a_term_finds_whatever_has_another_name_of_it(rows, term):
    using = [row for plain, row in rows.items() if any(has_name(name, plain) for name in term.all_names)]
    assert [name for name in term.all_names if not all(finds(name, row) for row in using)] == []


def has_name(name: str, text: str) -> bool:
    """Whether ``text`` has ``name`` as a word; Chinese has no spaces around words."""
    if not name.isascii():
        return name.lower() in text
    return re.search(rf"(?<![a-z0-9_]){re.escape(name.lower())}(?![a-z0-9_])", text) is not None


def test_the_words_that_found_nothing_are_names_of_terms():
    assert {*WANTED.split(), *WANTED_PHRASES} - NAMES == set()


def test_the_words_of_the_articles_terms_are_names_too():
    theirs = {pair.theirs for article in load_articles() for claim in article.claims() for pair in claim.terms}
    assert theirs - NAMES == set()


def test_every_term_is_shown_by_a_scenario_or_lesson_that_exists():
    known = set(scenario_names())
    for term in glossary():
        assert term.examples
        assert set(term.examples) <= known


def test_places_on_the_page_differ():
    anchors = [term.anchor for term in glossary()]
    assert len(set(anchors)) == len(anchors)


def test_a_name_in_latin_letters_is_a_whole_word(monkeypatch):
    monkeypatch.setattr(module, "glossary", lambda: read_glossary(TERM.replace("offset", "lag")))
    assert searched_text("x", "A flag") == "a flag"
    assert searched_text("x", "Two lags") == "two lags lag 位点"
    assert searched_text("x", "队列位点为 3") == "队列位点为 3 lag 位点"


def test_an_example_is_found_although_its_text_has_no_name_of_the_term(monkeypatch):
    monkeypatch.setattr(module, "glossary", lambda: read_glossary(TERM.replace("about", "see: [hello], about")))
    assert searched_text("hello", "A text") == "a text offset 位点"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (TERM.replace("zh: [位点], ", ""), r"terms\[0\]\.zh.*is missing"),
        (TERM.replace(", about: {en: A place., zh: 位置。}", ""), r"terms\[0\]\.about.*is missing"),
        (TERM.replace("about", "alos: [x], about"), r"alos.*is not allowed here; allowed: about, en"),
        (TERM.replace("}]", "}, {en: [Offset], zh: [偏移], about: {en: x, zh: x}}]"), "'offset' is also a name"),
        (
            TERM.replace("}]", "}, {en: [place], zh: [位点], about: {en: x, zh: x}}]"),
            "'位点' is also a name of 'offset'",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_field_and_reason(wrong, message):
    with pytest.raises(ScenarioError, match=message):
        read_glossary(wrong)


def test_lists_are_searched_by_their_own_texts_while_the_glossary_cannot_be_read(monkeypatch, caplog):
    def broken():
        raise ScenarioError(3, "terms", "is broken")

    monkeypatch.setattr(module, "glossary", broken)
    assert searched_text("hello", "An offset") == "an offset"
    assert "is broken" in caplog.text


def test_each_language_has_its_line_and_names():
    for term in glossary():
        assert all(term.names[language] and term.about[language] for language in LANGUAGES)
