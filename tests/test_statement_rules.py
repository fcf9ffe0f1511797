"""Rules about single statements: query strings, assertions, changes of a phase, docstrings.

Each rule is itself tested on a snippet that breaks it, so a rule that went blind is noticed.
"""

from __future__ import annotations

import ast
import re

from tests.test_repository_rules import APP_FILES, ENGINE_FILES, relative


def test_query_strings_are_read_by_tables_of_fields():
    """Apart from the language, and from switches of pages that mean nothing to the server."""
    reading = re.compile(r"\brequest\.args(\.get\(|\[)(.*?)[,)\]]")
    found = {relative(path): {one[1] for one in reading.findall(path.read_text())} for path in APP_FILES}
    assert {name: names for name, names in found.items() if names} == {
        "app/lab/routes/routes.py": {'"embed"'},
        "app/web/flask_application.py": {'"lang"'},
    }


#: What assertions may call: it changes nothing. ``python -O`` leaves assertions out with all that they call.
PURE_CALLS = {
    *("isinstance", "len", "set", "type", "any", "dataclasses.is_dataclass", "asyncio.current_task"),
    *("_current_party", "decode_batch", "states[partition].known"),
}


def calls_in_assertions(source: str) -> set[str]:
    """What the assertions of the source call."""
    assertions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert))
    return {ast.unparse(call.func) for one in assertions for call in ast.walk(one.test) if isinstance(call, ast.Call)}


def test_assertions_change_nothing_and_do_not_check_outside_input():
    called = {
        relative(path): calls_in_assertions(path.read_text()) - PURE_CALLS for path in (*ENGINE_FILES, *APP_FILES)
    }
    assert {name: calls for name, calls in called.items() if calls} == {}
    caught = re.compile(r"except \(?.*\bAssertionError\b")
    # The test kit's assertions belong to its users.
    assert [relative(path) for path in (*ENGINE_FILES, *APP_FILES) if caught.search(path.read_text())] == [
        "app/testkit/api_application.py"
    ]


def test_an_assertion_with_an_effect_is_caught():
    assert calls_in_assertions("assert run.step(), f'{run.name()} is over'\nassert isinstance(x, int)") == {
        "run.step",
        "isinstance",
    }


#: A phase that is set to a member of its enumeration, outside constructors: no table says whether it may follow.
_PHASE_BY_HAND = re.compile(r"\.phase\b[^=\n]*= *\(?\w*Phase\.[A-Z_]+")


def phases_by_hand(source: str) -> list[str]:
    """The lines that change a phase without a table of states."""
    functions = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    changes = (
        node for one in functions if one.name != "__init__" for node in ast.walk(one) if isinstance(node, ast.Assign)
    )
    return [line for line in map(ast.unparse, changes) if _PHASE_BY_HAND.search(line)]


def test_phases_change_by_tables_of_states():
    by_hand = {relative(path): phases_by_hand(path.read_text()) for path in (*ENGINE_FILES, *APP_FILES)}
    assert {name: lines for name, lines in by_hand.items() if lines} == {}


def test_a_phase_that_is_changed_by_hand_is_caught():
    by_hand = ["run.phase = RunPhase.ENDED", "run.phase, run.error = (RunPhase.FAILED, 'x')"]
    source = "\n    ".join(["def f(run):", *by_hand, "run.phase = follow(run.phase, RunPhase.ENDED)"])
    assert phases_by_hand(source) == by_hand


#: Modules that make click's usage errors by hand, and why. Others give an option a type of app.foundation.option_types,
#: several options a rule of app.foundation.option_rules, or raise ``FieldRefused`` below ``usage_errors``.
USAGE_ERRORS_BY_HAND = {
    "app/command_line.py": "bytes that are not text, before any command is known",
    "app/commands/pipeline.py": "which option it is about is known from the error",
    "app/foundation/option_rules.py": "rules of several options",
    "app/foundation/option_types.py": "types of options, and refusals as usage errors",
}
_USAGE_ERROR = re.compile(r"\b(UsageError|BadParameter|BadArgumentUsage|BadOptionUsage|MissingParameter)\(|ParamType\b")


def test_options_are_refused_in_one_place():
    by_hand = {relative(path) for path in APP_FILES if _USAGE_ERROR.search(path.read_text())}
    assert by_hand == set(USAGE_ERRORS_BY_HAND)


def test_a_usage_error_that_is_made_by_hand_is_caught():
    assert _USAGE_ERROR.search('raise click.UsageError("no")')
    assert _USAGE_ERROR.search("class Port(click.ParamType[int]):")
    assert not _USAGE_ERROR.search('"""Raises click.UsageError."""')


#: JSON with its keys. Its shape is a TypedDict of app/picture, which the type checker compares with the code.
_SHAPE = re.compile(r"""\{"\w|\{\w+(, \w+)+\}|\{\.\.\.\}""")


def shapes_in_the_module_docstring(source: str) -> list[str]:
    """The beginnings of JSON in it."""
    return [one[0] for one in _SHAPE.finditer(ast.get_docstring(ast.parse(source)) or "")]


def test_no_module_docstring_describes_a_shape_of_json():
    shapes = {relative(path): shapes_in_the_module_docstring(path.read_text()) for path in APP_FILES}
    assert {name: found for name, found in shapes.items() if found} == {}


def test_a_shape_of_json_in_a_module_docstring_is_caught():
    assert shapes_in_the_module_docstring('"""POST: {"topic": ...}; answers {topic, queues}, {...} else."""') == [
        '{"t',
        "{topic, queues}",
        "{...}",
    ]
    assert shapes_in_the_module_docstring('"""Fills in ``{{ expression }}`` and ``{name}``."""') == []
