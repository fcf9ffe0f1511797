"""What may be compiled: modules that are there, that do not wait, and whose classes nobody derives from."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from engine.compiled.compiled_modules import COMPILED_MODULES

PROJECT = Path(__file__).parents[3]
TREES = {name: ast.parse((PROJECT / f"{name.replace('.', '/')}.py").read_text()) for name in COMPILED_MODULES}


@pytest.mark.parametrize("module", [name for name in COMPILED_MODULES if not name.startswith("engine.runtime.live.")])
def test_what_waits_stays_interpreted_so_that_the_lab_can_show_its_line(module):
    coroutines = {node.name for node in ast.walk(TREES[module]) if isinstance(node, ast.AsyncFunctionDef)}
    is_protocol = module.endswith("send_message_checks")  # declares one, and has none
    assert coroutines <= ({"replicated"} if is_protocol else {"flush"})


def test_no_interpreted_class_is_derived_from_a_compiled_one():
    compiled = {node.name for tree in TREES.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    protocols = {"CountedConnection"}
    for file in [*(PROJECT / "engine").rglob("*.py"), *(PROJECT / "app").rglob("*.py")]:
        module = file.relative_to(PROJECT).with_suffix("").as_posix().replace("/", ".")
        if module in TREES:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                assert not bases & (compiled - protocols), f"{file}: {node.name}"
