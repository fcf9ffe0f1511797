"""The marks of topics and groups follow from their names; in what is shipped no two of one scenario are the same."""

from __future__ import annotations

import pytest

from engine.lab.scenario.kinds.node_spec import MemberSpec
from engine.lab.scenario.scenario_files import load_scenario, scenario_names

MODULE = "common/palette.js"
#: The lab's own, and those of the made-up shop that the live page is tested with.
TOPICS, GROUPS = ["orders", "payments", "audit-trail"], ["billing", "ledger", "reports", "search-index"]


@pytest.fixture(scope="module")
def shipped() -> dict[str, tuple[list[str], list[str]]]:
    found = {"shop": (TOPICS, GROUPS)}
    for name in scenario_names():
        scenario = load_scenario(name)
        topics = [topic.name for topic in scenario.topics] + [each for node in scenario.nodes for each in node.topics]
        groups = [
            node.group for node in scenario.nodes if isinstance(node, MemberSpec) and node.role.endswith("consumer")
        ]
        found[name] = ([*dict.fromkeys(topics)], [*dict.fromkeys(groups)])
    return found


def test_no_scenario_has_two_topics_of_one_colour(javascript, shipped):
    alike = {}
    for name, (topics, _) in shipped.items():
        tones = [javascript(MODULE, "topicMark", topic)["tone"] for topic in topics if not topic.startswith("%")]
        if len(set(tones)) < len(tones) <= 8:
            alike[name] = [*zip(topics, tones, strict=False)]
    assert alike == {}


def test_no_scenario_has_two_groups_with_one_mark(javascript, shipped):
    alike = {}
    for name, (_, groups) in shipped.items():
        marks = [javascript(MODULE, "groupMark", group) for group in groups]
        if len({(mark["shape"], mark["letter"]) for mark in marks}) < len(marks):
            alike[name] = groups
    assert alike == {}
