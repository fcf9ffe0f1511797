"""Plain English: none of the words that make a native reader stop, in texts, documents, docstrings and comments.

Each fault is listed with its file, its line and what to write instead.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CATALOGUES = [ROOT / "app/translations/en.json", ROOT / "engine/texts/en.json"]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tutorials").rglob("*.en.md")])
DOCUMENTS = [path for path in DOCUMENTS if "zh" not in path.parts]
CODE = sorted(path for folder in ("app", "engine", "scripts", "tests") for path in (ROOT / folder).rglob("*.py"))

#: A pattern, and what to write instead.
AVOIDED = {
    r"\b(so|how)[- ]?man(i|y)eth\b": "every Nth, the Nth",
    r"\bbehind\b": "after, past the end (position); lags by (progress)",
    r"\bbeside\b": "next to, alongside",
    r"\banew\b": "again",
    r"\bfor ever\b": "forever",
    r"\bshall\b": "must, will",
    r"\bwhoever\b": "a consumer that, clients that",
    r"\b(is|are|was|were) none\b": "is not one; there is no ...",
    r"\b(is no|no whole) (switch|number|integer)\b": "is not an integer; is not true or false",
    r"\bso (many|long|often)\b(?!( [\w-]+){0,2} (as|that)\b)": "this long; N times; for N ms",
    r"\btold\b": "reported, notified, shown",
    r"\b(lie|lies|lay) (in|on|at|there|here|before|after|within|between|under|above|below|next|outside|beyond)\b": (
        "is, is stored"
    ),
}
#: How a docstring must not start: it has to stand on its own.
FRAGMENTS = {
    r"See [^.]*\.$": "nothing: a method that implements a protocol needs no docstring",
    r"Of\b": "a sentence with its verb, or a noun with its article",
}
CODE_IN_TEXT = re.compile(r"`[^`]*`|\{[^{}]*\}|\bNone\b|:ivar \w+:|:param \w+:")
#: Where a word to avoid is the right one.
FINE = re.compile(
    r"\blag\w*(\s+far)?\s+behind\b|\bwait(s|ed|ing)?\s+behind\b"
    r"|\btold\s+apart\b"
    r"|^## [a-z0-9-]+:"  # a step's name is a key
    r"|\bbehind\s+(a|the|an|its|one)\s+([\w-]+\s+)?(proxy|proxies|firewall|load\s+balancer|NAT|port|interface)\b",
    re.IGNORECASE | re.MULTILINE,
)


@cache
def any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that finds one of ``patterns``: most texts have none."""
    return re.compile("|".join(patterns).replace(" ", r"\s+"), re.IGNORECASE)


def faults_in(text: str, patterns: dict[str, str] = AVOIDED, line: int = 1) -> Iterator[str]:
    """Yield ``line: found -> instead`` for each place of a text that begins at a line of its file."""
    if not any_of(tuple(patterns)).search(text):
        return
    plain = text
    for left_alone in (CODE_IN_TEXT, FINE):
        plain = left_alone.sub(lambda found: "x" + "\n" * found[0].count("\n"), plain)
    for pattern, instead in patterns.items():
        for found in re.finditer(pattern.replace(" ", r"\s+"), plain, re.IGNORECASE):
            yield f"{line + plain.count(chr(10), 0, found.start())}: {found[0]!r} -> {instead}"


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring, and of the texts below attributes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each comment."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_string_of_the_page_or_the_engine_uses_a_word_to_avoid(path):
    strings = json.loads(path.read_text(encoding="utf-8"))
    assert [f"{key} {fault}" for key, text in strings.items() for fault in faults_in(text)] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_uses_a_word_to_avoid(path):
    blocks = re.split(r"(^```.*?^```)", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = "".join("\n" * block.count("\n") if block.startswith("```") else block for block in blocks)
    assert list(faults_in(prose)) == []


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with the docstrings and comments of a file."""
    source = path.read_text(encoding="utf-8")
    texts = list(docstrings(source))
    found = [fault for line, text in texts for fault in faults_in(text, FRAGMENTS_AT_START, line)]
    # Comments are parts of the source as it stands: most files have none of the words, and need not be taken apart.
    if any_of(tuple(AVOIDED)).search(source):
        texts += comments(source)
    return found + [fault for line, text in texts for fault in faults_in(text, AVOIDED, line)]


FRAGMENTS_AT_START = {rf"\A{pattern}": instead for pattern, instead in FRAGMENTS.items()}


@pytest.mark.parametrize("folder", ["app", "engine", "scripts", "tests"])
def test_no_docstring_and_no_comment_uses_a_word_to_avoid(folder):
    paths = [path for path in CODE if path.is_relative_to(ROOT / folder) and path != Path(__file__)]
    assert [f"{path.relative_to(ROOT)}:{fault}" for path in paths for fault in faults_of(path)] == []


@pytest.mark.parametrize(
    "text",
    [
        "ten bytes behind it",
        "Every so-manieth frame",
        "it waits so long",
        "There is\nnone",
        "It lies in the log",
        "it is told",
    ],
)
def test_a_word_to_avoid_is_found(text):
    assert list(faults_in(text))


@pytest.mark.parametrize(
    "text", ["it lags behind", "a broker behind a proxy", "so long as it runs", "`behind`", "none"]
)
def test_what_is_plain_is_left_alone(text):
    assert list(faults_in(text)) == []
