"""Parsing of a scenario's card for those who choose one: a sentence, tags, and the moment that its picture shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.scenario import Breaks, Difficulty, KeyMoment, ScriptLine, Tags
from engine.lab.scenario.scenario_yaml import Section

#: A summary is one line of a list.
SUMMARY_MAX_WORDS = 12
SUMMARY_MAX_CHARACTERS = 26

#: Value of a key moment besides the conditions of a breakpoint.
VIOLATION = "violation"
FROM_MAX_MS = 24 * 3_600_000

_Texts = Callable[[Section, str, int], Mapping[str, str]]


def parse_summary(root: Section, texts: _Texts) -> Mapping[str, str]:
    """Parse the summary; empty if it is missing. Raises :class:`ScenarioError`."""
    if not root.has("summary"):
        return {}
    summary = texts(root, "summary", 200)
    if (words := len(summary["en"].split())) > SUMMARY_MAX_WORDS:
        raise root.fail("summary", f"has {words} English words; allowed: {SUMMARY_MAX_WORDS}")
    if (characters := len(summary["zh"])) > SUMMARY_MAX_CHARACTERS:
        raise root.fail("summary", f"has {characters} Chinese characters; allowed: {SUMMARY_MAX_CHARACTERS}")
    return summary


def parse_tags(section: Section) -> Tags:
    """Parse the tags. Raises :class:`ScenarioError`."""
    difficulty = section.word("difficulty", Difficulty.MEDIUM)
    words = section.choices("breaks", list(Breaks), max_count=len(Breaks))
    return Tags(difficulty, tuple(Breaks(word) for word in words))


def parse_key_moment(
    section: Section,
    texts: _Texts,
    script: Callable[[Section, str], tuple[ScriptLine, ...]],
    condition: Callable[[Section], Condition],
) -> KeyMoment:
    """Parse the key moment. ``texts``, ``script``, ``condition`` read what other parts of a scenario have too.

    Raises :class:`ScenarioError`.
    """
    until = section.section("until")
    if until is None:
        raise section.fail("until", f"is missing; allowed: a condition as of breakpoints, or {{on: {VIOLATION}}}")
    waits_for = None
    if until.choice("on", [*ConditionKind, VIOLATION]) != VIOLATION:
        waits_for = condition(until)
    until.finish()
    return KeyMoment(
        shows=texts(section, "shows", 200),
        actions=script(section, "do"),
        from_ms=section.integer("from_ms", 0, FROM_MAX_MS, 0),
        until=waits_for,
        plus_ms=section.number("plus_ms", 0, 60_000, 0),
    )
