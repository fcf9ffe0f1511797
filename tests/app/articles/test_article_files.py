"""How the rows of an article are read, and the errors that an author gets."""

from __future__ import annotations

import pytest

from app.articles.article_files import read_article
from app.lessons.errors import LessonError

HEAD = """\
title: 文章
heading: {en: Heading, zh: 标题}
about: {en: About, zh: 内容}
source: {en: Source, zh: 来源}
sections:
  - id: first
    heading: {en: First, zh: 第一}
    rows:
"""


def article(*rows: str) -> str:
    return HEAD + "".join(f"      - {row}\n" for row in rows)


def test_a_row_is_read_with_all_its_fields():
    row = (
        "{id: A1, claim: {en: '`A` is so', zh: 是}, verdict: runs, steps: [01-first-message append, 01-first-message],"
        " scenarios: [hello], commands: [glassmq topics list], files: [README.md], pages: [/live],"
        " terms: {offset: 位点（偏移）}, note: {en: n, zh: 注}, box: {en: b, zh: 框}}"
    )
    (claim,) = read_article(article(row), "x").claims()
    assert claim.text["en"].html({}) == "<code>A</code> is so"
    assert [(place.lesson, place.step) for place in claim.places] == [
        ("01-first-message", "append"),
        ("01-first-message", ""),
    ]
    assert [(term.theirs, term.ours, term.english) for term in claim.terms] == [("偏移", "位点", "offset")]
    assert claim.anchor == "a1"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{id: A1, claim: {en: x, zh: 是}, verdict: perhaps}", "only-told"),
        ("{id: A1, claim: {en: x}, verdict: runs}", "zh: is missing"),
        ("{id: A1, verdict: runs}", "claim: is missing"),
        ("{id: A1, claim: {en: x, zh: 是}, verdict: differs}", "box: is missing"),
        ("{id: A1, claim: {en: x, zh: 是}, verdict: runs, scenario: [hello]}", "scenario: is not allowed here"),
        ("{id: A1, claim: {en: x, zh: 是}, verdict: runs, terms: {offset: 位点}}", "brackets"),
        (
            "{id: A1, claim: {en: '{{ 1 +', zh: 是}, verdict: runs, note: {en: '{{ + }}', zh: 注}}",
            "'+' is not allowed at column 1",
        ),
    ],
)
def test_a_row_that_is_wrong_is_refused_with_its_line_and_what_is_allowed(row, said):
    with pytest.raises(LessonError, match=r"articles/x\.yaml, line 9") as error:
        read_article(article(row), "x")
    assert said in str(error.value)
