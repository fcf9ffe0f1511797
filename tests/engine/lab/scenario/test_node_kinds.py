"""The table of kinds of nodes: each kind has its own fields only, and says who has the others."""

from __future__ import annotations

import re

import pytest

from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.kinds.node_kinds import NODE_KINDS
from engine.lab.scenario.scenario_nodes import parse_node
from engine.lab.scenario.scenario_yaml import read_yaml
from engine.lab.world.node_classes import NODE_CLASSES

#: The fields that a node of the kind must have; and a bank where other fields depend on it.
NEEDED = {
    "producer": "group: g\nbank: {name: A, account: a, opening: 1, amount: 1, to: b}\n",
    "consumer": "group: g\ntopic: T\n",
    "resource_manager": "bank: {name: A, account: a}\n",
    "kafka_consumer": "group: g\ntopic: T\n",
}
ALL_FIELDS = sorted({field for kind in NODE_KINDS.values() for field in kind.fields})


def parsed(role: str, more: str = "") -> None:
    parse_node("X1", read_yaml(f"role: {role}\n{NEEDED.get(role, '')}{more}"))


@pytest.mark.parametrize("role", NODE_KINDS)
def test_the_parser_of_a_kind_reads_the_fields_that_the_table_lists(role):
    with pytest.raises(ScenarioError) as caught:
        parsed(role, "unheard_of: 1\n")
    allowed = str(caught.value).partition("allowed: ")[2]
    assert sorted(allowed.split(", ")) == sorted(("role", "settings", *NODE_KINDS[role].fields))


@pytest.mark.parametrize("role", NODE_KINDS)
def test_a_field_of_another_kind_is_refused_by_naming_the_kinds_that_have_it(role):
    parsed(role)
    for field in ALL_FIELDS:
        if field not in NODE_KINDS[role].fields:
            owners = " or ".join(other for other, kind in NODE_KINDS.items() if field in kind.fields)
            with pytest.raises(
                ScenarioError, match=re.escape(f"is not allowed here, only with role {owners};")
            ) as caught:
                parsed(role, f"{field}: 1\n")
            assert caught.value.field == field


def test_an_unknown_role_is_refused_by_naming_all_kinds():
    with pytest.raises(ScenarioError, match=f"'brokr' is not allowed; allowed: {', '.join(NODE_KINDS)}"):
        parsed("brokr")


def test_each_kind_has_a_class_of_node():
    assert list(NODE_CLASSES) == list(NODE_KINDS)
