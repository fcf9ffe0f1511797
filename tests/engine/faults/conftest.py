"""A gate with a node after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.faults.doorway import Doorway, doorways


@pytest.fixture
def doorway() -> Iterator[Doorway]:
    with doorways() as one:
        yield one
