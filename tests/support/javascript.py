"""Runs the page's modules in Node.js, without a browser: their unit tests, and functions with arguments from Python."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.fetch_page_packages import PROJECT
from tests.support.pythons.other_pythons import find_node

TESTS = PROJECT / "tests" / "static"
SUPPORT = TESTS / "support"
#: The oldest Node.js that has ``module.register`` and a test runner that is no experiment.
NODE_VERSION_LEAST = 20
#: "1": a missing Node.js is a failure and no reason to skip.
REQUIRE_VARIABLE = "GLASSMQ_REQUIRE_NODE"


@functools.cache
def _lacking() -> str:
    """Return what keeps JavaScript tests from running here, or nothing."""
    node = find_node()
    if node is None:
        return "there is no Node.js"
    asked = subprocess.run([node, "--version"], capture_output=True, text=True)
    version = asked.stdout.strip().removeprefix("v")
    if asked.returncode != 0 or int(version.partition(".")[0] or 0) < NODE_VERSION_LEAST:
        return f"Node.js {version or 'that does not start'} is here; {NODE_VERSION_LEAST} or newer is needed"
    return ""


def node_command() -> list[str]:
    """The command that runs a file which imports the page's modules; skips the test where Node.js is missing."""
    if lacking := _lacking():
        if os.environ.get(REQUIRE_VARIABLE) == "1":
            pytest.fail(lacking)
        pytest.skip(lacking)
    return [str(find_node()), "--import", (SUPPORT / "page_imports.js").as_uri()]


class Functions:
    """Calls functions that the page's modules export."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, module: str, name: str, *arguments: Any) -> Any:
        """Return what ``name`` of ``static/<module>`` returns. Raises :class:`JavaScriptError` with what it throws."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"module": module, "name": name, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "thrown" in answer:
            raise JavaScriptError(answer["thrown"], answer["text"])
        return answer.get("returned")


class JavaScriptError(Exception):
    """A function has thrown: the name of the class, and the message."""


@pytest.fixture(scope="module")
def javascript() -> Iterator[Functions]:
    """Functions of the page's modules, in one process of Node.js."""
    program = str(SUPPORT / "call_functions.js")
    with subprocess.Popen(
        [*node_command(), program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield Functions(process)
        assert process.stdin is not None
        process.stdin.close()


def run_tests(file: Path) -> subprocess.CompletedProcess[str]:
    """Run a file of tests by Node.js' test runner; what it prints is in TAP."""
    command = [*node_command(), "--test-reporter", "tap", str(file)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, encoding="utf-8")
