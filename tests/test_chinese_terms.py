"""One Chinese word for each thing: the glossary's words, and none of those that it rules out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.glossary.glossary import glossary

ROOT = Path(__file__).parents[1]
TEXTS = [
    ROOT / "app" / "translations" / "zh.json",
    ROOT / "engine" / "texts" / "zh.json",
    *sorted((ROOT / "tutorials").rglob("*.zh.md")),
    *sorted(path for path in (ROOT / "tutorials").rglob("*.yaml") if path.name != "glossary.yaml"),
]
#: Another name in brackets explains the word before it.
EXPLANATION = re.compile(r"（\w+）")
RULED_OUT = sorted({word for term in glossary() for word in term.ruled_out})


def test_the_glossary_is_read():
    assert len(glossary()) >= 40
    assert "偏移量" in RULED_OUT


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_uses_another_word(path):
    text = EXPLANATION.sub("", path.read_text(encoding="utf-8"))
    assert [word for word in RULED_OUT if word in text] == []


def test_what_the_glossary_says_uses_no_other_word():
    lines = [line for term in glossary() for line in (*term.about.values(), *term.names["zh"])]
    assert [(word, line) for word in RULED_OUT for line in lines if word in line] == []


def test_the_words_of_the_glossary_are_those_in_use():
    texts = "".join(path.read_text(encoding="utf-8") for path in TEXTS)
    assert [word for term in glossary() for word in term.names["zh"] if word not in texts] == []
