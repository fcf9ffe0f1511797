"""The unit tests of the page's modules, ``tests/static/**/*.test.js``, run by Node.js' own test runner."""

from __future__ import annotations

import re

import pytest

from scripts.fetch_page_packages import PROJECT
from tests.support.javascript import TESTS, run_tests

FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.test.js"))


@pytest.mark.parametrize("file", FILES)
def test_the_unit_tests_of_a_module_pass(file):
    done = run_tests(TESTS / file)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert counted is not None
    assert int(counted[1]) > 0, f"{file} has no test"


@pytest.mark.parametrize("file", FILES)
def test_unit_tests_mirror_the_modules_of_the_page(file):
    assert (PROJECT / "static" / file.replace(".test.js", ".js")).is_file()


def test_a_failing_unit_test_is_a_failure_here_too(tmp_path):
    file = tmp_path / "wrong.test.js"
    file.write_text("import test from 'node:test'; test('wrong', () => { throw new Error('as it must'); });")
    done = run_tests(file)
    assert done.returncode != 0
    assert "as it must" in done.stdout
