"""What all tests share: hypothesis' settings, and how tests are spread over processes."""

from __future__ import annotations

import os

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

IN_CI = bool(os.environ.get("CI"))
#: Tests of real clients.
CLIENTS = "tests/interop/"
#: Tests that mostly use Spark: its start and its first queries cost more than all that follow.
SPARK = ("tests/engine/pipeline/", "tests/app/pipeline/")
#: Files of tests that take minutes each when there are many seeds, and share nothing: every test goes its own way.
TESTS_APART = ("tests/lab/test_sweep.py", "tests/lab/test_scenario_sweep.py")
#: What takes longest begins first, so that the end is made of small pieces.
LONGEST_FIRST = (CLIENTS, "tests/e2e/test_every_lesson.py", *SPARK, "tests/e2e/", "tests/lab/test_sweep.py")

# No deadline: a slow moment of the machine is no failing example. In CI the examples are the same every time.
hypothesis.settings.register_profile("glassmq", deadline=None, derandomize=IN_CI, print_blob=True)
hypothesis.settings.load_profile("glassmq")


class FilesApart(LoadScopeScheduling):
    """Spreads test files over pytest's processes. Real clients, which mostly wait, are all in one of them, and so are
    the tests of ``make test`` that share a Spark session.

    ``make test`` keeps pytest-xdist from putting the files with most tests first: see :data:`LONGEST_FIRST`.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(TESTS_APART):
            return nodeid
        if nodeid.startswith(SPARK) and not self.runs_long_tests:
            return SPARK[0]
        return CLIENTS if nodeid.startswith(CLIENTS) else nodeid.partition("::")[0]

    @property
    def runs_long_tests(self) -> bool:
        """``make test-long``: each of them starts Spark itself."""
        return self.config.option.markexpr == "long"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesApart:
    """Called by pytest-xdist under ``pytest -n 3``."""
    return FilesApart(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests in order, those of a file and of other files in the order in which they were found."""
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in LONGEST_FIRST])
