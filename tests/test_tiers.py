"""``make test`` and ``make test-rest``: together all tests, each in the tier of what it uses."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support import tiers
from tests.support.tiers import COLLECTED, FURTHER, QUICK, REST, SERVICES

PROJECT = Path(__file__).resolve().parent.parent
_CONFTEST = """
import pytest
from tests.conftest import pytest_collection_modifyitems, pytest_configure
from tests.support.tiers import seeds

for fixture in ("spark_installed", "chromium", "real_client"):
    globals()[fixture] = pytest.fixture(lambda: None, name=fixture)

@pytest.fixture
def open_page(chromium): ...
"""
_TESTS = """
import pytest
from hypothesis import given, settings, strategies as st
from tests.support.tiers import examples

pytestmark = pytest.mark.seeds(quick=2, full=7)
tried = [0]

def test_plain(): ...

def test_page(open_page): ...

@pytest.mark.further
def test_pages(open_page): ...

@pytest.mark.smoke
def test_smoke(spark_installed): ...

def test_client(real_client): ...

@pytest.mark.interop_java
def test_java(real_client): ...

def test_sweep(seeds):
    print("seeds", seeds)

@settings(max_examples=examples(quick=3, full=9))
@given(st.integers())
def test_property(number):
    tried[0] += 1

def test_tried():
    print("tried", tried[0])
"""


def test_of_many_names_about_one_in_five_is_not_further_and_others_change_nothing_for_it():
    names = [f"scenario-{number}" for number in range(500)]
    chosen = [each.values[0] for each in tiers.sampled(names) if not each.marks]
    assert 60 < len(chosen) < 140
    assert [each.values[0] for each in tiers.sampled(names)] == names
    assert [each.values[0] for each in tiers.sampled(names[::3]) if not each.marks] == [
        name for name in names[::3] if name in chosen
    ]


def test_what_is_further_needs_a_service_and_its_file_has_a_test_that_is_not(request):
    """Nothing is left to `make test-rest` alone."""
    found = request.config.stash[COLLECTED]
    further = {name for name, markers in found.items() if FURTHER in markers}
    assert all(SERVICES in found[name] for name in further)
    for name in further:
        path = name.partition("::")[0]
        assert any(other.startswith(f"{path}::") and other not in further for other in found), path


def test_the_two_tiers_together_are_all_tests_but_those_that_need_java(request):
    """Check the tests that were found with this one: under ``make test`` these are all."""
    for name, markers in request.config.stash[COLLECTED].items():
        tier = markers & {QUICK, REST}
        assert tier or tiers.JAVA in markers, f"{name} is run by neither"
        if {"spark", "browser", "interop"} & markers and "smoke" not in markers:
            assert tier <= {REST}, f"{name} is too slow for every change"


def test_one_test_of_spark_one_of_the_browser_and_one_of_a_client_are_run_every_time(request):
    smoke = {name: markers for name, markers in request.config.stash[COLLECTED].items() if "smoke" in markers}
    if not {Path(name.partition("::")[0]).parts[1] for name in request.config.stash[COLLECTED]} >= {"e2e", "interop"}:
        pytest.skip("only a part of the tests was found")
    for need in ("spark", "browser", "interop"):
        assert len([name for name, markers in smoke.items() if need in markers]) == 1


@pytest.mark.parametrize(
    ("expression", "run", "numbers"),
    [
        ("quick", {"plain", "smoke", "sweep", "property", "tried"}, ["seeds 2", "tried 3"]),
        ("rest", {"page", "pages", "client", "sweep", "property"}, ["seeds 7"]),
        (
            "quick or services",
            {"plain", "page", "pages", "smoke", "client", "sweep", "property", "tried"},
            ["seeds 2", "tried 3"],
        ),
        (
            "quick or services and not further",
            {"plain", "page", "smoke", "client", "sweep", "property", "tried"},
            ["seeds 2", "tried 3"],
        ),
        ("rest and not services", {"sweep", "property"}, ["seeds 7"]),
        (
            "",
            {"plain", "page", "pages", "smoke", "client", "java", "sweep", "property", "tried"},
            ["seeds 7", "tried 9"],
        ),
        ("browser", {"page", "pages"}, []),
        ("spark or interop", {"smoke", "client", "java"}, []),
    ],
)
def test_a_test_is_in_the_tier_of_the_fixtures_it_uses(tmp_path, expression, run, numbers):
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "test_it.py").write_text(_TESTS)
    options = ["-n", "0", "-s", "-v", "-m", expression, "-c", PROJECT / "pyproject.toml", "--rootdir", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", tmp_path],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert set(re.findall(r"::test_(\w+)", done.stdout)) == run
    assert re.findall(r"(?:seeds|tried) \d+", done.stdout) == numbers


def test_the_targets_choose_the_tiers_and_continuous_integration_runs_both():
    makefile = (PROJECT / "Makefile").read_text()
    recipes = dict(re.findall(r"^(test[a-z-]*):.*\n\t@\$\(PYTEST\) -m (\w+|\"[\w ]+\") \$", makefile, re.MULTILINE))
    assert recipes == {
        "test": QUICK,
        "test-rest": REST,
        "test-services": f'"{QUICK} or {SERVICES} and not {FURTHER}"',
        "test-thorough": f'"{REST} and not {SERVICES}"',
    }
    options = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    assert options[options.index("-m") + 1] == QUICK
    integration = (PROJECT / ".ci" / "run").read_text()
    checks = (
        r"^make format-check lint types\b.*\n(.*\n)*(WORKERS=\d )?tests test-services\n(.*\n)* *tests test-thorough\n"
    )
    assert re.search(checks, integration, re.MULTILINE)
    assert re.search(r"^check:.* test\b", makefile, re.MULTILINE)


@pytest.mark.parametrize(("minutes", "is_run"), [(0, True), (54, True), (55, False), (80, False)])
def test_continuous_integration_leaves_out_what_would_begin_too_late_and_says_so(minutes, is_run):
    integration = (PROJECT / ".ci" / "run").read_text()
    functions = "".join(re.findall(r"^(?:say|in_time)\(\) \{.*?\}\n", integration, re.MULTILINE | re.DOTALL))
    script = f"set -e\n{functions}\nSECONDS={minutes * 60}\nif in_time 55 'make it'; then echo ran; fi\n"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == (
        ["ran"] if is_run else f"==> LEFT OUT: make it (after {minutes} minutes; it begins within 55)".split()
    )
