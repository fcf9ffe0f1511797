"""What all tests share: the tiers, Spark, and how tests are spread over processes."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

from engine.compiled.form import choose_form

if os.environ.get("GLASSMQ_FORM") == "compiled":  # `make test FORM=compiled`; before any of its modules is imported
    form = choose_form(wants_compiled=True)
    assert form.is_compiled, form.why

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.support import tiers
from tests.support.pipeline.spark import spark, spark_installed  # noqa: F401 (fixtures: pytest looks for them here)
from tests.support.tiers import real_client, seeds  # noqa: F401 (fixtures)

IN_CI = bool(os.environ.get("CI"))
#: Tests of real clients.
CLIENTS = "tests/interop/"
#: Tests that mostly use Spark: its start and its first queries cost more than all that follow.
SPARK = ("tests/engine/pipeline/", "tests/app/pipeline/", "tests/app/commands/test_spark_work.py")
#: Files of tests that take minutes each, some with many seeds, and share nothing: every test goes its own way.
TESTS_APART = (
    "tests/lab/test_sweep.py",
    "tests/lab/test_scenario_sweep.py",
    "tests/engine/broker/test_damaged_data_folder.py",
    "tests/lab/test_semantics_search.py",
    "tests/app/commands/test_documented_searches.py",
    "tests/engine/lab/sweep/test_shortest_loss.py",
    "tests/engine/pipeline/test_cluster_page.py",
    "tests/engine/pipeline/test_on_a_cluster.py",
)
#: What takes longest begins first, so that the end is made of small pieces.
LONGEST_FIRST = (
    CLIENTS,
    "tests/e2e/lessons/test_every_lesson.py",
    *SPARK,
    "tests/e2e/",
    "tests/app/commands/test_kill_nine.py",
    "tests/app/lessons/",
    "tests/engine/broker/test_power_loss.py",
    "tests/engine/broker/test_damaged_data_folder.py",
    "tests/app/commands/test_documented_searches.py",
    "tests/app/commands/test_lab_acknowledgement.py",
    "tests/engine/lab/sweep/",
    "tests/lab/test_golden_journals.py",
    "tests/lab/",
)

# In CI the examples are the same every time.
tiers.register_profiles(derandomize=IN_CI)


class FilesApart(LoadScopeScheduling):
    """Spreads test files over pytest's processes. Real clients, which mostly wait, are all in one of them, and so are
    the tests that share a Spark session.

    ``make test`` keeps pytest-xdist from putting the files with most tests first: see :data:`LONGEST_FIRST`.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(TESTS_APART):
            return nodeid
        if nodeid.startswith(SPARK) and self.config.option.markexpr != tiers.QUICK:
            return SPARK[0]
        return CLIENTS if nodeid.startswith(CLIENTS) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesApart:
    """Called by pytest-xdist under ``pytest -n 3``."""
    return FilesApart(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Before tests are collected."""
    tiers.choose_profile(config.option.markexpr)


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gives the tests their markers, and puts them in order: those of a file, and files that are equal in this, in the
    order in which they were found."""
    for item in items:
        tiers.mark(item)
    config.stash[tiers.COLLECTED] = {item.nodeid: {marker.name for marker in item.iter_markers()} for item in items}
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in LONGEST_FIRST])


@pytest.fixture(autouse=True)
def collector_stays_on() -> Iterator[None]:
    """A test that leaves Python's garbage collector off changes those that follow in its process."""
    yield
    is_on = gc.isenabled()
    gc.enable()
    assert is_on, "this test left the garbage collector off"
