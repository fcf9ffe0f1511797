"""Links that pages and documents hold lead to the scenarios as they are now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.lab.run.recording import parse_link

LAB_FILES = sorted((Path(__file__).parents[3] / "static" / "lab").glob("*/*.json"))


def links_in(value):
    if isinstance(value, dict):
        for name, part in value.items():
            if name.endswith("link") and isinstance(part, str):
                yield part
            else:
                yield from links_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from links_in(part)


@pytest.mark.parametrize("file", LAB_FILES, ids=lambda file: file.name)
def test_every_link_leads_to_the_scenario_as_it_is_now(file):
    links = [link.rpartition("#")[2] for link in links_in(json.loads(file.read_text(encoding="utf-8"))) if link]
    assert links
    for link in links:
        assert not parse_link(link).is_changed, "the scenario has changed: make the file again"
