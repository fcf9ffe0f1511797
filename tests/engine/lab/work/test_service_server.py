"""A service with calls: what it does, does once for a key it knows, and takes back."""

from __future__ import annotations

import pytest

from engine.lab.work.service_server import ServiceServer
from engine.lab.work.store_clients import LabService, StoreClient
from engine.lab.work.store_frames import STORE_PORT
from engine.lab.work.work_spec import ServiceConfig
from engine.runtime.lab.lab_runtime import LabMachines


class Service:
    """One service, and one who calls it."""

    def __init__(self, world: LabMachines) -> None:
        self.config = ServiceConfig()
        self.done: list[str] = []
        node, self._caller = world.node("S1"), world.node("C1")
        server = ServiceServer(node, "S1", lambda: self.config, {}, lambda *action: self.done.append(" ".join(action)))
        node.run(server.start(node.identity.host_ip, STORE_PORT))
        self._client = LabService(StoreClient(self._caller, "C1"), f"{node.identity.host_ip}:{STORE_PORT}", "C1")

    def call(self, operation: str, key: str, undoes: str = "", *, changes: bool = True) -> int:
        return self._caller.run(self._client.call(operation, key, undoes, changes=changes))


@pytest.fixture
def service():
    with LabMachines(seed=1, latency_us=1_000) as world:
        yield Service(world)


def test_it_does_at_once_what_it_is_asked_however_often(service):
    assert [service.call("lock", "order-1") for _ in range(2)] == [1, 2]
    assert service.call("lock", "order-2") == 1
    assert service.done == ["lock order-1 C1 ", "lock order-1 C1 ", "lock order-2 C1 "]


def test_one_that_knows_its_callers_keys_does_a_thing_once_for_each_from_when_it_does(service):
    service.call("lock", "order-1")
    service.config = ServiceConfig(service_is_idempotent=True)
    assert service.call("lock", "order-1") == 1
    assert len(service.done) == 1


def test_what_it_takes_back_can_be_done_again(service):
    service.config = ServiceConfig(service_is_idempotent=True)
    service.call("lock", "order-1")
    assert service.call("unlock", "order-1", "lock") == 0
    assert service.call("lock", "order-1") == 1
    assert service.done == ["lock order-1 C1 ", "unlock order-1 C1 lock", "lock order-1 C1 "]


def test_what_was_never_done_is_not_taken_back_and_a_question_changes_nothing(service):
    assert service.call("unlock", "order-1", "lock") == 0
    assert service.call("look", "order-1", changes=False) == 0
    assert service.done == []
