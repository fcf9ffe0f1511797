"""The document of the HTTP API names every route and only types that there are, and no answer is an untyped literal."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from app.web_application import WebSettings, create_app
from scripts.picture_types import picture_types
from tests.support.live.fixture_server import FixtureSource

PROJECT = Path(__file__).parents[3]
DOCUMENT = PROJECT / "docs" / "operating" / "http-api.md"
#: Modules with an answer that no type describes: how many, and why.
WITHOUT_A_TYPE = {
    "app/lab/routes/exploration_routes.py": (1, "a plan or its refusal, each with what was changed: both have types"),
    "app/web_application.py": (1, "a health check is no data of a page"),
}


def test_the_document_names_exactly_the_routes_of_the_server():
    server = create_app(FixtureSource(0), WebSettings(lab_has_thread=False))
    rules = [rule for rule in server.app.url_map.iter_rules() if rule.rule.startswith("/api/")]
    server.stop()
    served = {
        f"{method} {re.sub(r'<[a-z]+:', '<', rule.rule)}"
        for rule in rules
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    named = re.findall(r"^\| `([A-Z]+ /api/\S+)`", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(served)


def test_the_document_names_types_of_the_schema():
    named = set(re.findall(r"`([A-Z][a-z]+[A-Za-z]*)`", DOCUMENT.read_text(encoding="utf-8")))
    assert "ActiveFaults" in named
    assert named <= set(re.findall(r"(?:interface|type) (\w+)", picture_types()))


def untyped_answers(source: str) -> int:
    """How many answers of JSON are a display, which no type checks, or a name for one."""
    tree = list(ast.walk(ast.parse(source)))
    displays = (ast.Dict, ast.DictComp, ast.List, ast.ListComp)
    plain = {
        target.id
        for node in tree
        if isinstance(node, ast.Assign) and isinstance(node.value, displays)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = [node for node in tree if isinstance(node, ast.Call) and ast.unparse(node.func) == "json_answer"]
    values = [call.args[0] for call in calls]
    return sum(isinstance(one, displays) or (isinstance(one, ast.Name) and one.id in plain) for one in values)


def test_no_answer_is_an_untyped_literal():
    files = (PROJECT / "app").rglob("*.py")
    counts = {path.relative_to(PROJECT).as_posix(): untyped_answers(path.read_text(encoding="utf-8")) for path in files}
    allowed = {name: count for name, (count, _) in WITHOUT_A_TYPE.items()}
    assert {name: count for name, count in counts.items() if count} == allowed


def test_an_answer_without_a_type_is_caught():
    assert untyped_answers('def f():\n    return json_answer({"id": 1}, 201)')
    assert untyped_answers('def f():\n    answer = {"id": 1}\n    return json_answer(answer)')
    assert not untyped_answers('def f():\n    answer: StartedRun = {"id": 1}\n    return json_answer(answer)')
