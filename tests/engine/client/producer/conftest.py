"""A producer among stubs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.client.producer.producer_stage import Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.world.close()
