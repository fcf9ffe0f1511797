"""How many stores are kept, and that all their files are removed."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from app.storage.laboratory import laboratory as module
from app.storage.laboratory.laboratory import KEPT_MAX, BuiltStores, Laboratory, LaboratoryBusy
from app.storage.laboratory.traffic import LaboratoryTraffic

SMALL = LaboratoryTraffic(topics=1, queues=1, messages=5, body_bytes=10)


def folder_of(stores: BuiltStores):
    return stores.sides["kafka"].runtime.folder.parent


def test_the_same_traffic_has_the_same_stores_and_the_oldest_goes():
    laboratory = Laboratory()
    traffics = [replace(SMALL, messages=number) for number in range(1, KEPT_MAX + 2)]
    built = []
    for traffic in traffics:
        with laboratory.stores(traffic) as stores:
            built.append(stores)
    assert not folder_of(built[0]).exists()
    assert all(folder_of(stores).exists() for stores in built[1:])
    with laboratory.stores(traffics[-1]) as stores:
        assert stores is built[-1]
    laboratory.close()
    assert not any(folder_of(stores).exists() for stores in built)


def test_who_waits_too_long_is_reported(monkeypatch):
    monkeypatch.setattr(module, "WAIT_S", 0.0)
    laboratory = Laboratory()
    refused: list[bool] = []

    def ask() -> None:
        with pytest.raises(LaboratoryBusy), laboratory.stores(SMALL):
            pass
        refused.append(True)

    with laboratory.stores(SMALL):
        asker = threading.Thread(target=ask)
        asker.start()
        asker.join()
    laboratory.close()
    assert refused == [True]


def test_the_same_traffic_gives_the_same_bytes():
    first, second = BuiltStores(SMALL), BuiltStores(SMALL)
    contents = [
        {
            path.relative_to(folder_of(stores)).as_posix(): path.read_bytes()
            for path in sorted(folder_of(stores).rglob("*"))
            if path.is_file() and path.name != "lock"
        }
        for stores in (first, second)
    ]
    first.close()
    second.close()
    assert contents[0] == contents[1]
    assert len(contents[0]) > 10
