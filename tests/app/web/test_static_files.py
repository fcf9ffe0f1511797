"""The files of a version: modules are sent without the comments that only readers and type checkers need."""

from __future__ import annotations

import json
import subprocess

import pytest

from app.web.static_files import without_types
from scripts.fetch_page_packages import PROJECT
from tests.support.pythons.other_pythons import find_node

#: Prints which of the pairs of modules are not the same program: TypeScript writes both without comments.
SAME_PROGRAM = """
import ts from "typescript";
const options = { compilerOptions: { removeComments: true, target: "esnext", module: "esnext" } };
const program = (text) => ts.transpileModule(text, options).outputText;
const pairs = JSON.parse(await new Response(process.stdin).text());
console.log(JSON.stringify(Object.keys(pairs).filter((path) => program(pairs[path][0]) !== program(pairs[path][1]))));
"""


def modules() -> dict[str, str]:
    paths = [path for path in (PROJECT / "static").rglob("*.js") if "vendor" not in path.parts]
    return {str(path): path.read_text(encoding="utf-8") for path in paths}


def test_comments_above_a_line_go_and_each_line_keeps_its_number():
    module = (
        '/**\n * Adds.\n *\n * @param {number} n\n */\nexport const add = (n) => /** @type {any} */ (n) + "/**/";\n'
    )
    assert without_types(module) == '\n\n\n\n\nexport const add = (n) => /** @type {any} */ (n) + "/**/";\n'


def test_every_module_is_shorter_by_what_it_says_of_types_and_has_as_many_lines():
    sent = {path: without_types(text) for path, text in modules().items()}
    assert [path for path, text in modules().items() if text.count("\n") != sent[path].count("\n")] == []
    assert sum(map(len, sent.values())) < 0.95 * sum(map(len, modules().values()))


@pytest.mark.thorough
def test_every_module_stays_the_same_program():
    node = find_node()
    if node is None or not (PROJECT / "node_modules" / "typescript").exists():
        pytest.skip("TypeScript is not installed: npm ci")
    pairs = json.dumps({path: [text, without_types(text)] for path, text in modules().items()})
    command = [node, "--input-type=module", "--eval", SAME_PROGRAM]
    done = subprocess.run(command, input=pairs, capture_output=True, text=True, cwd=PROJECT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
