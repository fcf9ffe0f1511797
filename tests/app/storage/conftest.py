"""The stores of a small traffic, built once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.storage.laboratory.laboratory import BuiltStores
from app.storage.laboratory.traffic import LaboratoryTraffic

#: Several files of each kind, and a message with the same key every 100.
TRAFFIC = LaboratoryTraffic(topics=2, queues=2, messages=4_000, body_bytes=200, distinct_keys=100, batch_records=10)


@pytest.fixture(scope="session")
def stores() -> Iterator[BuiltStores]:
    """Both stores with :data:`TRAFFIC`."""
    built = BuiltStores(TRAFFIC)
    yield built
    built.close()
