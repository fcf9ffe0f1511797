"""Parsing of a scenario's text into a :class:`~engine.lab.scenario.scenario.Scenario`, with an error for whatever is
not allowed.

The text is YAML; ``tutorials/scenarios/basics/general.yaml`` shows most of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from engine.lab.scenario.command import COMMANDS, Target, parse_command
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.name_server import NameServerSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec, SendingSpec, System
from engine.lab.scenario.scenario import (
    LANGUAGES,
    Command,
    FaultModel,
    GroupSpec,
    KeyMoment,
    Scenario,
    ScriptLine,
    Tags,
    TopicSpec,
    TryButton,
)
from engine.lab.scenario.scenario_card import parse_key_moment, parse_summary, parse_tags
from engine.lab.scenario.scenario_names import NODE_NAME, NODES_MAX
from engine.lab.scenario.scenario_nodes import check_nodes, parse_node
from engine.lab.scenario.scenario_stage import PARTS, parse_buttons
from engine.lab.scenario.scenario_yaml import Section, read_yaml
from engine.lab.scenario.spec_reader import read_spec
from engine.lab.scenario.switches import SWITCHES
from engine.protocol.errors import ProtocolError
from engine.protocol.names import validate_group, validate_topic

#: Bounds of a scenario.
TOPICS_MAX = 50
DURATION_MAX_MS = 24 * 3_600_000
SEED_MAX = (1 << 53) - 1
DEFAULT_DURATION_MS = 60_000
INVARIANTS_MAX = 50
SCRIPT_MAX = 100
ORDER_MAX = 10_000

_Spec = TypeVar("_Spec", TopicSpec, GroupSpec)

#: Targets that can only be a node of the scenario.
_NODE_TARGETS = (Target.NODE, Target.BROKER, Target.CONSUMER, Target.DISK, Target.PEER)

#: A space between two Chinese characters or their punctuation.
_FOLD_IN_CHINESE = re.compile(r"(?<=[\u3001-\u9fff\uff01-\uffee]) (?=[\u3001-\u9fff\uff01-\uffee])")

#: Words that later versions will support.
_NOT_YET = ("transactions", "replication", "controllers")


def parse_scenario(text: str, name: str) -> Scenario:
    """Return the scenario in ``text``. Raises :class:`ScenarioError` with line, field and what is allowed."""
    root = read_yaml(text)
    latency_ms, jitter_ms, bytes_per_s = root.part("network", _network) or (2.0, 0.0, None)
    nodes = _nodes(root)
    known = [node.name for node in nodes]
    suggestion, try_buttons = root.part("try", lambda section: _suggestion(section, known)) or ({}, ())
    scenario = Scenario(
        name=name,
        title=_texts(root, "title", 200),
        summary=parse_summary(root, _texts),
        tags=root.part("tags", parse_tags) or Tags(),
        key_moment=root.part("key_moment", lambda section: _key_moment(section, nodes, known)),
        about=_texts(root, "about", 4_000),
        seed=root.integer("seed", 0, SEED_MAX, 1),
        duration_ms=root.integer("duration_ms", 1, DURATION_MAX_MS, DEFAULT_DURATION_MS),
        latency_ms=latency_ms,
        jitter_ms=jitter_ms,
        bytes_per_s=bytes_per_s,
        nodes=nodes,
        topics=_named(root, "topics", validate_topic, TopicSpec),
        groups=_named(root, "groups", validate_group, GroupSpec),
        script=_script(root, nodes),
        breakpoints=_breakpoints(root, nodes),
        # The runner checks whether such checkers exist: checkers know scenarios, not vice versa.
        invariants=root.words("invariants", max_count=INVARIANTS_MAX),
        fault_model=root.part("faults", partial(read_spec, FaultModel)) or FaultModel(),
        switched_off=root.choices("switched_off", SWITCHES, max_count=len(SWITCHES)),
        text=text,
        order=root.integer("order", 0, ORDER_MAX, 1_000),
        suggestion=suggestion,
        try_buttons=try_buttons,
        focus=root.choices("focus", PARTS, max_count=len(PARTS)),
    )
    root.finish(_NOT_YET)
    _check_whole(root, scenario)
    return scenario


def _texts(root: Section, field: str, max_length: int) -> Mapping[str, str]:
    texts = root.part(field, lambda section: _by_language(section, max_length))
    if texts is None:
        raise root.fail(field, f"is missing; it must have a text for each of: {', '.join(LANGUAGES)}")
    return texts


def _by_language(section: Section, max_length: int) -> Mapping[str, str]:
    texts = {language: _unfolded(section.text(language, max_length=max_length)) for language in LANGUAGES}
    for language, text in texts.items():
        if not text:
            raise section.fail(language, "is empty")
    return texts


def _key_moment(section: Section, nodes: tuple[NodeSpec, ...], known: list[str]) -> KeyMoment:
    return parse_key_moment(
        section, _texts, lambda part, name: _script(part, nodes, name), lambda part: _condition(part, known)
    )


def _suggestion(section: Section, known: list[str]) -> tuple[Mapping[str, str], tuple[TryButton, ...]]:
    """Parse what to try: a sentence, and buttons that do it."""
    return _by_language(section, 500), parse_buttons(
        section, _texts, lambda part: _command(part, known), lambda part: _condition(part, known)
    )


def _unfolded(text: str) -> str:
    """Remove the space with which YAML folds lines, between two Chinese characters."""
    return _FOLD_IN_CHINESE.sub("", text.strip())


def _network(section: Section) -> tuple[float, float, int | None]:
    # Over a link without latency everything would arrive immediately, and no actor could run in between.
    latency_ms = section.number("latency_ms", 0.01, 60_000, 2.0)
    jitter_ms = section.number("jitter_ms", 0, 60_000, 0.0)
    return latency_ms, jitter_ms, section.optional_integer("bytes_per_s", 1_000, 10_000_000_000)


def _nodes(root: Section) -> tuple[NodeSpec, ...]:
    section = root.section("nodes")
    if section is None:
        raise root.fail("nodes", "is missing; at least one name server and one broker are needed")
    names = list(section.names())
    if len(names) > NODES_MAX:
        raise root.fail("nodes", f"has {len(names)} nodes; allowed: {NODES_MAX}")
    nodes: list[NodeSpec] = []
    for name in names:
        if not NODE_NAME.fullmatch(name):
            raise section.fail(
                name, "is not a valid name for a node; allowed: a letter, then up to 19 letters, digits, - or _"
            )
        node = section.section(name)
        if node is None:
            raise section.fail(name, "is empty; a node needs at least a role")
        nodes.append(parse_node(name, node))
    return tuple(nodes)


def _named(root: Section, what: str, validate: Callable[[str], None], kind: type[_Spec]) -> tuple[_Spec, ...]:
    """Parse topics or groups: names, with or without fields."""
    section = root.section(what)
    specs: list[_Spec] = []
    for name in section.names() if section is not None else ():
        assert section is not None
        try:
            validate(name)
        except ProtocolError as error:
            raise section.fail(name, str(error)) from error
        specs.append(section.part(name, partial(read_spec, kind, name=name)) or kind(name))
    if len(specs) > TOPICS_MAX:
        raise root.fail(what, f"has {len(specs)} {what}; allowed: {TOPICS_MAX}")
    return tuple(specs)


def _script(root: Section, nodes: tuple[NodeSpec, ...], name: str = "script") -> tuple[ScriptLine, ...]:
    lines: list[ScriptLine] = []
    known = [node.name for node in nodes]
    for section in root.sections(name, max_count=SCRIPT_MAX):
        at_ms = section.integer("at_ms", 0, DURATION_MAX_MS)
        lines.append(ScriptLine(at_ms, _command(section, known)))
    return tuple(lines)


def _command(section: Section, known: list[str]) -> Command:
    """Parse the command of a section. ``known``: names of nodes; those that the story itself adds are known from then
    on.
    """
    section.choice("kind", list(COMMANDS))
    fields = {name: section.any_value(name) for name in section.names() if name != "at_ms" and section.has(name)}
    try:
        command = parse_command(fields)
    except CommandRefused as error:
        raise section.fail("kind", str(error)) from error
    target = COMMANDS[command.kind].target
    if target in _NODE_TARGETS or (target is Target.ANY_NODE and command.target):
        section.choice("target", known)
    if target is Target.NEW_NODE:
        known.append(command.target)
    return command


def _breakpoints(root: Section, nodes: tuple[NodeSpec, ...]) -> tuple[Condition, ...]:
    known = [node.name for node in nodes]
    breakpoints: list[Condition] = []
    for section in root.sections("breakpoints", max_count=20):
        breakpoints.append(_condition(section, known))
        section.finish()
    return tuple(breakpoints)


def _condition(section: Section, known: list[str]) -> Condition:
    kind = ConditionKind(section.choice("on", list(ConditionKind)))
    node = section.choice("node", known, "")
    contains = section.text("contains", "", max_length=100)
    time_ms = section.number("time_ms", 0, DURATION_MAX_MS, 0)
    if kind is ConditionKind.TIME and not section.has("time_ms"):
        raise section.fail("time_ms", "is missing: a breakpoint on time needs it")
    return Condition(kind, node, contains, round(time_ms * 1_000))


def _check_whole(root: Section, scenario: Scenario) -> None:
    """Check the scenario as a whole: one name server, a broker, keys that name one message each."""
    nodes = root.section("nodes")
    assert nodes is not None
    if any(node.system is System.ROCKETMQ for node in scenario.nodes) or not scenario.nodes:
        name_servers = scenario.of_kind(NameServerSpec)
        if len(name_servers) != 1:
            raise root.fail("nodes", f"has {len(name_servers)} nodes with role name_server; allowed: exactly 1")
        if not scenario.of_kind(BrokerSpec):
            raise root.fail("nodes", "has no node with role broker; at least 1 is needed")
    keys: dict[str, str] = {}
    for node in scenario.of_kind(SendingSpec):
        for traffic in node.traffic:
            first = traffic.fill_in(traffic.key, node.name, 0)
            if first in keys:
                raise nodes.fail(
                    node.name,
                    f"traffic.key {traffic.key!r} gives the same keys as that of {keys[first]}; keys must differ, "
                    "because the checkers know messages by them: put {node} into it",
                )
            keys[first] = node.name
    check_nodes(nodes, scenario)
