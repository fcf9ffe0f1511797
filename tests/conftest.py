"""What all tests share: the browser, and how tests are spread over processes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import hypothesis
import pytest
from playwright.sync_api import Browser, sync_playwright
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from scripts.chromium import LAUNCH_ARGUMENTS, find_chromium, how_to_get, missing_packages

IN_CI = bool(os.environ.get("CI"))
#: Tests that start browsers, and tests that start real clients.
BROWSERS, CLIENTS = "tests/e2e/", "tests/interop/"

# No deadline: a slow moment of the machine is no failing example. In CI the examples are the same every time.
hypothesis.settings.register_profile("glassmq", deadline=None, derandomize=IN_CI, print_blob=True)
hypothesis.settings.load_profile("glassmq")


class RealProgramsApart(LoadScopeScheduling):
    """Spreads test files over pytest's processes: browsers all in one of them, and real clients all in one of them.

    Two browsers disturb each other on a machine with two cores. Real clients mostly wait.
    """

    def _split_scope(self, nodeid: str) -> str:
        for folder in (BROWSERS, CLIENTS):
            if nodeid.startswith(folder):
                return folder
        return nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> RealProgramsApart:
    """Called by pytest-xdist under ``pytest -n 2``."""
    return RealProgramsApart(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browsers first: they take longest, and all else fills the other process meanwhile. Clients, which wait, last."""
    items.sort(key=lambda item: (not item.nodeid.startswith(BROWSERS), item.nodeid.startswith(CLIENTS)))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium. Without one the test is skipped, or fails where a browser is required (in CI).

    One per module, not per session: while Playwright's synchronous interface is open, its event loop counts
    as running in this thread, and ``asyncio.run`` of a later test would refuse.
    """
    if missing := missing_packages():
        reason = f"browser tests cannot run here: {how_to_get(missing)}"
        if IN_CI or os.environ.get("GLASSMQ_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=list(LAUNCH_ARGUMENTS))
        yield chromium
        chromium.close()
