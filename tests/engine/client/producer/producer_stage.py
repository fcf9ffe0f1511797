"""A producer among scripted stubs: a name server and two brokers."""

from __future__ import annotations

from engine.client import (
    DefaultMQProducer,
    Message,
    SendResult,
)
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.lab.stub_server import StubServer, answer_routes, route_of


class Stage:
    """A scripted name server, scripted brokers a and b, and one producer."""

    def __init__(self, **settings: object) -> None:
        self.world = LabMachines(seed=3)
        self.name_server = StubServer(self.world, "ns", 9876)
        self.a, self.b = StubServer(self.world, "a"), StubServer(self.world, "b")
        self.routes = {"T": route_of({"a": self.a.address, "b": self.b.address})}
        self.name_server.script(answer_routes(self.routes), codes=(RequestCode.GET_ROUTEINFO_BY_TOPIC,))
        self.producer = DefaultMQProducer(self.world.node("P"), "g", self.name_server.address, **settings)
        self.world.run(self.producer.start(), node="P")

    def send(self, message: Message | None = None, **arguments: object) -> SendResult:
        work = self.producer.send(message or Message("T", b"x"), **arguments)  # type: ignore[arg-type]
        return self.world.run(work, node="P")

    def both(self, *answers) -> None:
        self.a.script(*answers)
        self.b.script(*answers)

    @property
    def tries(self) -> int:
        return len(self.a.sends) + len(self.b.sends)
