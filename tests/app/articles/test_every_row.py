"""Every row of the articles leads to something that is there, and every box of a lesson to its row."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import click
import pytest

from app.articles.article import Article, ClaimVerdict
from app.articles.article_files import load_articles
from app.command_line import main
from app.lessons.lesson_files import lesson_names, load_lesson
from app.web_application import WebSettings, create_app
from engine.lab.scenario.scenario import LANGUAGES
from engine.lab.scenario.scenario_files import scenario_names
from tests.support.live.fixture_server import FixtureSource

ROOT = Path(__file__).parents[3]
ARTICLES = {article.name: article for article in load_articles()}
every_article = pytest.mark.parametrize("article", ARTICLES.values(), ids=ARTICLES)

#: What introduces a box, and the links that must follow it.
SAID = {"en": re.compile(r"<strong>The article says(.*)"), "zh": re.compile(r"<strong>文章说(.*)")}
NAMED = re.compile(r"</strong> ?[(（](?:(?:, |、)?<a href=\"/tutorials/articles/[\w-]+#\w+\">[^<]+</a>)+[)）][:：]")
ROW_LINK = re.compile(r'href="/tutorials/articles/([\w-]+)#(\w+)"')
PAGE_LINK = re.compile(r'href="([^"]+)"')
EXPLORED_FILE = re.compile(r"docs/[\w./-]+\.yaml")


@pytest.fixture(scope="module")
def pages():
    """The addresses of all pages, for links that a row names."""
    server = create_app(FixtureSource(0), WebSettings(lab_has_thread=False))
    yield server.app.url_map.bind("localhost")
    server.stop()


def test_each_article_has_all_its_claims_and_no_id_stands_twice():
    counts = {name: len(list(article.claims())) for name, article in ARTICLES.items()}
    assert counts == {
        "mq-overview": 92,
        "ordered-consumption": 33,
        "transactions-batches-filters": 48,
        "eventual-consistency": 28,
        "idempotence": 45,
    }
    identities = [claim.identity for article in ARTICLES.values() for claim in article.claims()]
    assert len(set(identities)) == len(identities)
    for article in ARTICLES.values():
        headings = [section.identity for section in article.sections]
        assert len({*headings, *(claim.anchor for claim in article.claims())}) == len(headings) + counts[article.name]
        assert len({claim.identity[0] for claim in article.claims()}) == 1


@every_article
def test_what_a_row_names_is_there(article: Article, pages):
    missing: list[tuple[str, ...]] = []
    for claim in article.claims():
        for lesson, step in ((place.lesson, place.step) for place in claim.places):
            known = load_lesson(lesson).texts["en"].steps if lesson in lesson_names() else {}
            if not known or step not in ("", "summary", *known):
                missing.append((claim.identity, lesson, step))
        missing += [(claim.identity, name) for name in claim.scenarios if name not in scenario_names()]
        missing += [(claim.identity, name) for name in claim.files if not (ROOT / name).is_file()]
        missing += [(claim.identity, page) for page in claim.pages if not pages.test(page)]
    assert missing == []


@every_article
def test_a_row_s_links_lead_somewhere(article: Article, pages):
    for claim in article.claims():
        prose = [text for texts in (claim.text, claim.note, claim.box) if texts for text in texts.values()]
        for address in PAGE_LINK.findall("".join(text.html({}) for text in prose)):
            path, _, row = address.partition("#")
            assert pages.test(path), claim.identity
            linked = re.fullmatch("/tutorials/articles/([a-z-]+)", path)
            anchors = [each.anchor for each in ARTICLES[linked[1]].claims()] if linked else []
            assert not row or row in anchors, claim.identity


@every_article
def test_a_row_that_runs_says_where_and_one_that_does_not_says_why(article: Article):
    for claim in article.claims():
        if claim.verdict is ClaimVerdict.MISSING:
            assert claim.note, claim.identity
        elif claim.verdict is not ClaimVerdict.ONLY_TOLD:
            named = (claim.places, claim.scenarios, claim.commands, claim.files, claim.pages)
            assert any(named), claim.identity
        if claim.verdict is ClaimVerdict.RUNS:
            steps = [place for place in claim.places if place.step not in ("", "summary")]
            programs = [path for path in claim.files if path.startswith(("tests/", "docs/examples/"))]
            assert steps or programs or claim.scenarios or claim.commands, f"{claim.identity}: nothing of it runs"


@every_article
def test_a_row_has_its_texts_in_both_languages_and_a_box_where_systems_differ(article: Article):
    for claim in article.claims():
        assert (claim.verdict is ClaimVerdict.DIFFERS) is (claim.box is not None), claim.identity
        for texts in (claim.text, claim.note, claim.box):
            if texts:
                assert set(texts) == set(LANGUAGES)
                assert re.search("[\u4e00-\u9fff]", "".join(texts["zh"].pieces)), claim.identity
                assert not re.search("[\u3000-\uffef]", "".join(texts["en"].pieces)), claim.identity


def test_as_many_rows_differ_and_are_missing_as_were_found():
    verdicts = Counter(claim.verdict for article in ARTICLES.values() for claim in article.claims())
    assert (verdicts[ClaimVerdict.DIFFERS], verdicts[ClaimVerdict.MISSING]) == (33, 3)
    assert verdicts[ClaimVerdict.ONLY_TOLD] == 0


def test_the_claims_of_the_storage_page_name_rows():
    source = (ROOT / "static" / "storage" / "page_cache.js").read_text(encoding="utf-8")
    rows = re.findall(r'^  \["\w+", "[^"]+", "(\w+)"\],$', source, re.MULTILINE)
    assert len(rows) == 9
    assert set(rows) <= {claim.identity for claim in ARTICLES["mq-overview"].claims()}


COMMANDS = sorted({command for each in ARTICLES.values() for claim in each.claims() for command in claim.commands})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_row_s_command_and_its_options_exist(command: str, monkeypatch, tmp_path):
    # A row's reader has such a file.
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "broker.conf").touch()
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "glassmq"
    assert accepted(main, "glassmq", arguments)
    assert [name for name in EXPLORED_FILE.findall(command) if not (ROOT / name).is_file()] == []
    if arguments[0] == "explore" and not arguments[1].startswith("docs/"):
        assert arguments[1] in scenario_names()


def accepted(command: click.Command, name: str, arguments: list[str], parent: click.Context | None = None) -> bool:
    """Whether the arguments are read, down to the last subcommand. Nothing is carried out."""
    with command.make_context(name, list(arguments), parent) as context:
        if isinstance(command, click.Group):
            found, inner, rest = command.resolve_command(context, arguments)
            return inner is not None and accepted(inner, str(found), rest, context)
    return True


@pytest.mark.parametrize(
    "command", ["glassmq nothing", "glassmq lab run --nothing x", "glassmq consume x --from middle"]
)
def test_a_command_that_does_not_exist_is_noticed(command: str):
    with pytest.raises(click.UsageError):
        accepted(main, "glassmq", shlex.split(command)[1:])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", lesson_names())
def test_where_a_lesson_says_what_the_article_says_it_names_the_row_and_the_row_names_the_step(name, language):
    lesson = load_lesson(name)
    text = lesson.texts[language]
    parts = {"": [text.intro], "summary": [text.summary]}
    parts |= {step: [*each.prose(), *each.explanations()] for step, each in text.steps.items()}
    for step, prose in parts.items():
        for piece in " ".join(" ".join(one.pieces) for one in prose).split("<aside"):
            for said in SAID[language].findall(piece):
                assert NAMED.match(said), f"{step}: name the article and link its row: {said[:80]}"
            for article, anchor in ROW_LINK.findall(piece):
                row = next(claim for claim in ARTICLES[article].claims() if claim.anchor == anchor)
                assert (name, step) in [(place.lesson, place.step) for place in row.places], row.identity
