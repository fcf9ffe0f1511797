"""Idempotence by name: which names, and which of them together."""

from __future__ import annotations

from typing import Any

import pytest

from engine.idempotence.idempotence_config import STRATEGIES, IdempotenceConfig


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_work_without_the_store_is_refused_where_the_store_is_part_of_the_work(strategy: str):
    in_transaction = ("message-table", "state-condition", "version", "select-for-update", "replace-into")
    if strategy not in in_transaction:
        IdempotenceConfig(idempotence_strategy=strategy, idempotence_when_unreachable="work")
        return
    with pytest.raises(ValueError, match=f"not allowed with {strategy}"):
        IdempotenceConfig(idempotence_strategy=strategy, idempotence_when_unreachable="work")


@pytest.mark.parametrize(
    "names",
    [
        {"idempotence_strategy": "exactly-once"},
        {"idempotence_key": "property:"},
        {"idempotence_key": "body"},
        {"idempotence_when_unreachable": "hope"},
    ],
)
def test_a_name_that_means_nothing_is_refused_with_what_is_allowed(names: dict[str, Any]):
    with pytest.raises(ValueError, match="allowed: "):
        IdempotenceConfig(**names)
