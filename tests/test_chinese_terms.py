"""One Chinese word for each thing: the glossary's words, and none of those that it rules out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "zh" / "glossary.md"
TEXTS = [
    ROOT / "app" / "translations" / "zh.json",
    ROOT / "engine" / "texts" / "zh.json",
    *sorted((ROOT / "tutorials").rglob("*.zh.md")),
    *sorted((ROOT / "tutorials").rglob("*.yaml")),
]
#: Another name in brackets explains the word before it.
EXPLANATION = re.compile(r"（\w+）")


def rows() -> list[list[str]]:
    """[English, Chinese, words that are not used] of each line of the glossary's table."""
    lines = [line for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def words(cell: str) -> list[str]:
    return [word for word in re.split(r"[、（）]", cell) if word]


RULED_OUT = sorted({word for _, _, unused in rows() for word in words(unused)})


def test_the_glossary_is_read():
    assert len(rows()) >= 40
    assert "偏移量" in RULED_OUT


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_uses_another_word(path):
    text = EXPLANATION.sub("", path.read_text(encoding="utf-8"))
    assert [word for word in RULED_OUT if word in text] == []


def test_the_words_of_the_glossary_are_those_in_use():
    texts = "".join(path.read_text(encoding="utf-8") for path in TEXTS)
    assert [word for _, chinese, _ in rows() for word in words(chinese) if word not in texts] == []
