"""Parsing of what a scenario says to viewers: the relevant parts of the stage, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.lab.scenario.condition import Condition
from engine.lab.scenario.scenario import Command, TryButton
from engine.lab.scenario.scenario_yaml import Section

#: Parts of the nodes' cards that a scenario can focus on. It names the most important one first. They are drawn
#: large, the others as a line.
PARTS = (
    "trees",
    "locks",
    "order_locks",
    "half_messages",
    "retry",
    "delay",
    "commit_log",
    "replication",
    "page_cache",
    "queues",
    "offsets",
    "bank",
    "sending",
    "filter",
    "xa",
    "routes",
    "idempotence",
    "database",
    "redis",
    "service",
    "accumulator",
    "sender",
    "partition_log",
    "fetcher",
    "positions",
)

BUTTONS_MAX = 6


def parse_buttons(
    section: Section,
    texts: Callable[[Section, str, int], Mapping[str, str]],
    command: Callable[[Section], Command],
    condition: Callable[[Section], Condition],
) -> tuple[TryButton, ...]:
    """Parse the buttons of a suggestion. ``texts``, ``command``, ``condition`` read what other parts of a scenario have
    too.

    Raises :class:`ScenarioError`.
    """
    buttons: list[TryButton] = []
    for each in section.sections("buttons", max_count=BUTTONS_MAX):
        button = TryButton(
            texts(each, "label", 60),
            each.part("command", command),
            each.part("run_until", condition),
            each.switch("search", default=False),
        )
        each.finish()
        if button.command is None and button.run_until is None and not button.search:
            raise each.fail("label", "does nothing; a button needs one of: command, run_until, search")
        buttons.append(button)
    return tuple(buttons)
