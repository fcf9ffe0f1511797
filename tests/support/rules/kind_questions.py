"""The rule that a node is asked what its kind answers, and not for its class."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.scenario.kinds.bank_spec import BankSpec
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.world.node_classes import NODE_CLASSES

#: Names of nodes and of their specifications in the code.
_NODES = ("spec", "role")


def _with_subclasses(kind: type) -> Iterator[str]:
    yield kind.__name__
    for subclass in kind.__subclasses__():
        yield from _with_subclasses(subclass)


def kind_names() -> set[str]:
    """The names of all classes of nodes, of their specifications and of the banks there."""
    assert NODE_CLASSES, "it has imported them"
    return {name for base in (NodeSpec, BankSpec, ScenarioNode) for name in _with_subclasses(base)}


def class_questions(source: str, kinds: Collection[str]) -> list[int]:
    """The lines that ask a node for its class: ``isinstance``, ``type``, a class pattern, or the name of a kind."""

    def names_kind(part: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and one.id in kinds for one in ast.walk(part))

    def asks(part: ast.AST) -> bool:
        match part:
            case ast.Call(func=ast.Name("isinstance"), args=[subject, asked]):
                return _is_node(subject) or names_kind(asked)
            case ast.Call(func=ast.Name("type"), args=[subject]):
                return _is_node(subject)
            case ast.MatchClass(cls=asked):
                return names_kind(asked)
            case ast.Compare(left=ast.Attribute(attr="role"), comparators=[asked]):
                return names_kind(asked)
        return False

    return sorted(part.lineno for part in ast.walk(ast.parse(source)) if hasattr(part, "lineno") and asks(part))


def _is_node(subject: ast.AST) -> bool:
    match subject:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name in _NODES
        case ast.Call(func=ast.Attribute(attr="node" | "spec_of")) | ast.Subscript(value=ast.Attribute(attr="nodes")):
            return True
    return False
