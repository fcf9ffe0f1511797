"""Parsing of the nodes in a scenario, each by its kind: see :mod:`engine.lab.scenario.kinds.node_kinds`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from engine.lab.scenario.errors import SettingRefused
from engine.lab.scenario.kinds.node_kinds import NODE_KINDS
from engine.lab.scenario.kinds.node_spec import NodeSpec, SettingValue
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_names import NOT_YET
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.settings import check_settings, find_setting


def parse_node(name: str, section: Section) -> NodeSpec:
    """Parse the node ``name``. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    kind = NODE_KINDS[section.choice("role", list(NODE_KINDS))]
    node = kind.read(name, section)
    node = dataclasses.replace(node, settings=_settings(section, kind.role))
    section.finish(NOT_YET, _roles_with)
    return node


def _roles_with(field: str) -> Sequence[str]:
    """Return the kinds that have ``field``."""
    return [role for role, kind in NODE_KINDS.items() if field in kind.fields]


def check_nodes(nodes: Section, scenario: Scenario) -> None:
    """Check the nodes together. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    for check in dict.fromkeys(check for kind in NODE_KINDS.values() for check in kind.checks):
        check(nodes, scenario)


def _settings(section: Section, role: str) -> dict[str, SettingValue]:
    values: dict[str, SettingValue] = {}
    fields = section.section("settings")
    if fields is None:
        return values
    for name in fields.names():
        try:
            setting = find_setting(role, name)
            if setting.name in values:
                raise SettingRefused("refusal.setting_twice", name=setting.name)
            values[setting.name] = setting.check(fields.plain(name))
        except SettingRefused as error:
            raise fields.fail(name, str(error)) from error
    try:
        check_settings(role, values)
    except SettingRefused as error:
        raise section.fail("settings", str(error)) from error
    return values
