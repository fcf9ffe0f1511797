"""The document of the HTTP API names every route and only types that there are."""

from __future__ import annotations

import re
from pathlib import Path

from app.web_application import WebSettings, create_app
from scripts.picture_types import picture_types
from tests.support.live.fixture_server import FixtureSource

DOCUMENT = Path(__file__).parents[3] / "docs" / "operating" / "http-api.md"


def test_the_document_names_exactly_the_routes_of_the_server():
    server = create_app(FixtureSource(0), WebSettings(lab_has_thread=False))
    rules = [rule for rule in server.app.url_map.iter_rules() if rule.rule.startswith("/api/")]
    server.stop()
    served = {
        f"{method} {re.sub(r'<[a-z]+:', '<', rule.rule)}"
        for rule in rules
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    named = re.findall(r"^\| `([A-Z]+ /api/\S+)`", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(served)


def test_the_document_names_types_of_the_schema():
    named = set(re.findall(r"`([A-Z][a-z]+[A-Za-z]*)`", DOCUMENT.read_text(encoding="utf-8")))
    assert "ActiveFaults" in named
    assert named <= set(re.findall(r"(?:interface|type) (\w+)", picture_types()))
