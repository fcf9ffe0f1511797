"""The stores that tests of idempotence run over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.idempotence.store_kinds import (
    KINDS,
    StoreKind,
    kinds,
    real_servers,  # noqa: F401 (a fixture: pytest looks for it here)
)


@pytest.fixture(params=kinds())
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> StoreKind:
    """Every store."""
    return KINDS[request.param](request, tmp_path)


@pytest.fixture(params=kinds(but=("redis", "lab-redis")))
def sql(request: pytest.FixtureRequest, tmp_path: Path) -> StoreKind:
    """Every relational database."""
    return KINDS[request.param](request, tmp_path)


@pytest.fixture(params=kinds(but=("redis", "lab-redis", "lab-sql", "embedded-sqlite", "sqlalchemy-sqlite")))
def served(request: pytest.FixtureRequest, tmp_path: Path) -> StoreKind:
    """Every relational database in which several write at once."""
    return KINDS[request.param](request, tmp_path)
