"""Closes the lab worlds of a test: their services would otherwise be reported as forgotten tasks."""

from __future__ import annotations

import pytest

from tests.engine.store.store_world import open_worlds


@pytest.fixture(autouse=True)
def _close_worlds():
    yield
    while open_worlds:
        open_worlds.pop().close()
