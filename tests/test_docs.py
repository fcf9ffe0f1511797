"""The documents say what the code does: settings, codes, files and links."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from engine.lab.scenario.scenario_files import scenario_names
from scripts import generated_documents

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
#: What looks like a file of the tree in running text.
NAMED_FILE = re.compile(r"`((?:engine|app|tests|docs|scripts|templates|static|tutorials)/[\w./-]*)`")
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")
LINK_TO_HEADING = re.compile(r"\]\((?!https?://)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("document", generated_documents.DOCUMENTS, ids=lambda path: path.name)
def test_generated_parts_are_up_to_date(document: Path) -> None:
    text = document.read_text()
    assert generated_documents.render(text) == text, "run python -m scripts.generated_documents"


@pytest.mark.parametrize("file", generated_documents.FILES, ids=lambda path: path.name)
def test_generated_files_are_up_to_date(file: Path) -> None:
    assert generated_documents.FILES[file]() == file.read_text(), "run python -m scripts.generated_documents"


def test_an_outdated_part_is_noticed() -> None:
    text = generated_documents.DOCUMENTS[0].read_text()
    assert "SEND_MESSAGE_V2" in text
    assert generated_documents.render(text.replace("SEND_MESSAGE_V2", "SOMETHING")) == text


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    named = [ROOT / name for name in NAMED_FILE.findall(text)]
    linked = [document.parent / name for name in LINK.findall(text)]
    assert [str(path) for path in [*named, *linked] if not path.exists()] == []


def anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a document."""
    headings = HEADING.findall(document.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_heading_that_a_document_links_to_exists(document: Path) -> None:
    links = LINK_TO_HEADING.findall(document.read_text())
    targets = [(document.parent / name if name else document, anchor) for name, anchor in links]
    assert [f"{path.name}#{anchor}" for path, anchor in targets if anchor not in anchors(path)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_scenario_that_a_document_lets_one_run_exists(document: Path) -> None:
    named = re.findall(r"glassmq lab run ([a-z][a-z0-9-]*)(?![a-z0-9.-])", document.read_text())
    assert [name for name in named if name not in (*scenario_names(), "my-scenario")] == []


def test_the_index_lists_every_document() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / name).resolve() for name in LINK.findall(index.read_text())}
    assert [str(path.relative_to(ROOT)) for path in DOCUMENTS if path != index and path not in listed] == []


def test_the_readme_fits_a_short_reading() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    paths = re.findall(r"(?<![\w/.])(?:engine|app|tests|docs|scripts|templates|static|tutorials)/[\w./-]*\w", text)
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"(?<![\w/.])\w+\.(?:py|js)\b", text)) - {Path(line).name for line in listed.splitlines()}
    assert [path for path in paths if not (ROOT / path).exists()] + sorted(names) == []
